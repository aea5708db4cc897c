// A queue of a device's own, for devices that run work beside the host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.hpp"

namespace warploom::device {

// A point in a queue.
class Mark {
 public:
  virtual ~Mark() = default;
  // An error of earlier work counts as reached.
  virtual Result<bool> reached() = 0;
  virtual Result<void> wait() = 0;
  // On the device's clock; both have been reached.
  virtual Result<double> ms_since(const Mark& earlier) const = 0;
};

// While a queue is the thread's current one, copies, fills and launches of its device go to it and return before they
// are done. Safe to use from several threads, one at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual Result<std::shared_ptr<Mark>> mark() = 0;
  // Later work comes after a mark of any queue of the device.
  virtual Result<void> after(const Mark& mark) = 0;
  // Queues a call on a thread of the device's, which may not use the device. Its error goes where report_to() says.
  virtual Result<void> call(std::function<Result<void>()> function) = 0;
  virtual void report_to(std::function<void(Diag)> report) = 0;
  // Is all work done?
  virtual Result<bool> idle() = 0;
  virtual Result<void> wait() = 0;
  // By which other libraries know it, as a CUstream.
  [[nodiscard]] virtual std::uint64_t number() const = 0;

  [[nodiscard]] static Queue* current() { return current_; }

 private:
  friend class UseQueue;
  static thread_local Queue* current_;
};

inline thread_local Queue* Queue::current_ = nullptr;

// Makes a queue the current one for a while.
class UseQueue {
 public:
  explicit UseQueue(Queue& queue) : before_(Queue::current_) { Queue::current_ = &queue; }
  ~UseQueue() { Queue::current_ = before_; }
  UseQueue(const UseQueue&) = delete;
  UseQueue& operator=(const UseQueue&) = delete;

 private:
  Queue* before_;
};

}  // namespace warploom::device
