// An event: the point of a stream that its last record captured, and when that was reached.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/stream.hpp"

namespace warploom::runtime {

class Capture;

class Event {
 public:
  explicit Event(bool timing) : timing_(timing) {}

  struct Record {
    Ticket ticket;
    std::chrono::steady_clock::time_point time;  // written by the worker, read once the ticket is done
    // Says that the stream has come here: called in the order of the stream.
    Result<void> reach();
    void set_ticket(Ticket reached);

   private:
    std::shared_ptr<device::Mark> mark_;  // written by reach()
  };
  // A record in a stream that was being captured: nodes of its graph.
  struct Captured {
    std::shared_ptr<Capture> capture;
    std::vector<std::uint32_t> nodes;
  };

  Result<void> record(Context& context, const std::shared_ptr<Stream>& stream);
  void set(std::shared_ptr<const Record> record);
  void set(Captured captured);
  // What to wait for; nothing for an event that was never recorded.
  [[nodiscard]] Ticket ticket() const;
  [[nodiscard]] bool recorded() const;  // and not in a capture
  // Without a capture: the last record was none in one.
  [[nodiscard]] Captured captured() const;

  static Result<double> elapsed_ms(const Event& start, const Event& end);

 private:
  [[nodiscard]] std::shared_ptr<const Record> last() const;

  const bool timing_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Record> record_;
  Captured captured_;
};

}  // namespace warploom::runtime
