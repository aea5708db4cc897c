// An event: the point of a stream that its last record captured, and when that was reached.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include "runtime/stream.hpp"

namespace warploom::runtime {

class Event {
 public:
  explicit Event(bool timing) : timing_(timing) {}

  Result<void> record(Context& context, const std::shared_ptr<Stream>& stream);
  // What to wait for; nothing for an event that was never recorded.
  [[nodiscard]] Ticket ticket() const;

  static Result<double> elapsed_ms(const Event& start, const Event& end);

 private:
  struct Record {
    Ticket ticket;
    std::chrono::steady_clock::time_point time;  // written by the worker, read once the ticket is done
  };
  [[nodiscard]] std::shared_ptr<const Record> last() const;

  const bool timing_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Record> record_;
};

}  // namespace warploom::runtime
