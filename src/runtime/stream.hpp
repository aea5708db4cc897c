// A stream's queue and its worker thread: items run in order, each after the tickets it was submitted with.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.hpp"

namespace warploom::runtime {

class Context;
class Stream;

using Work = std::function<Result<void>()>;

// Stands for all items of a stream up to a position. Without a stream: nothing to wait for.
struct Ticket {
  std::shared_ptr<Stream> stream;
  std::uint64_t position = 0;

  [[nodiscard]] bool done() const;
  void wait() const;
};

struct Item {
  std::uint64_t position = 0;
  std::vector<Ticket> after;  // submitted earlier, therefore waiting for them cannot form a cycle
  Work work;
  bool always = false;  // runs even on a poisoned context
};

// Only Context submits, under its order lock; anyone may wait.
class Stream {
 public:
  Stream(Context& context, bool blocking, int priority);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] bool blocking() const { return blocking_; }
  [[nodiscard]] int priority() const { return priority_; }

  // Position of the last item submitted.
  [[nodiscard]] std::uint64_t tail() const { return tail_.load(std::memory_order_acquire); }
  [[nodiscard]] bool done(std::uint64_t position) const {
    return completed_.load(std::memory_order_acquire) >= position;
  }
  void wait(std::uint64_t position);

  // Starts the worker at the first item. Returns the item's position; 0 when the stream is closed.
  std::uint64_t push(Item item);
  // Takes the next position for work that the calling thread runs itself, which spares two switches of threads; 0 when
  // something is queued or running. Every begin() needs its end().
  std::uint64_t begin();
  void end(std::uint64_t position);
  // No more items; the worker ends when the queue is empty.
  void close();
  [[nodiscard]] bool closed() const { return closed_.load(std::memory_order_acquire); }
  // Waits for the worker's end and for work in a caller's thread; only after close(), only by the context.
  void join();
  [[nodiscard]] bool finished() const;

 private:
  void work();

  Context& context_;
  const bool blocking_;
  const int priority_;
  mutable std::mutex mutex_;
  std::condition_variable pushed_, advanced_;
  std::deque<Item> queue_;
  std::atomic<std::uint64_t> tail_{0}, completed_{0};
  std::atomic<bool> closed_{false};
  bool lent_ = false;  // between begin() and end(); needs mutex_
  std::thread worker_;
};

// True on a worker thread and in work that a caller's thread runs: waiting for the device there could wait for itself.
[[nodiscard]] bool on_worker_thread();

// Makes the current thread a worker thread for a while.
class AsWorker {
 public:
  AsWorker();
  ~AsWorker();
  AsWorker(const AsWorker&) = delete;
  AsWorker& operator=(const AsWorker&) = delete;
};

}  // namespace warploom::runtime
