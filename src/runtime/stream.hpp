// A stream's queue and who runs it: items run in order, each after the tickets it was submitted with.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"

namespace warploom::runtime {

class Context;
class GraphRun;
class Stream;

using Work = std::function<Result<void>()>;

// Stands for all items of a stream up to a position. Without a stream: nothing to wait for.
struct Ticket {
  std::shared_ptr<Stream> stream;
  std::uint64_t position = 0;
  std::shared_ptr<device::Mark> mark{};  // of the position exactly, where the device has queues

  [[nodiscard]] bool done() const;
  void wait() const;
};

// A place of the queue, used again and again: its vectors keep their memory, so that launches allocate nothing.
struct Item {
  std::vector<Ticket> after;         // submitted earlier, therefore waiting for them cannot form a cycle
  device::Kernel* kernel = nullptr;  // of a launch that has been checked
  device::Launch launch;
  std::shared_ptr<const void> keep;       // what the kernel belongs to
  std::shared_ptr<const GraphRun> graph;  // instead of a kernel
  Work work;                              // without either
  bool always = false;                    // runs even on a poisoned context
  bool any_thread = true;                 // a thread that waits may run it

  // Lets go of everything but memory that the next item can use.
  void clear();
};

// Anyone may push and wait. Where the device has queues, an item goes to the stream's queue at once, in the thread that
// pushes it; everything else here is for devices whose work the host runs.
// An item is run by the thread that holds the stream's `driving_` flag: its worker, or a
// thread that waits for the item and would sleep otherwise.
class Stream {
 public:
  Stream(Context& context, bool blocking, int priority, bool is_default, std::unique_ptr<device::Queue> queue);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // No other stream of the process has it; see Stream::handle() of the public interface.
  [[nodiscard]] std::uint64_t handle() const { return handle_; }
  [[nodiscard]] bool blocking() const { return blocking_; }
  [[nodiscard]] int priority() const { return priority_; }
  // To the context; an error that work met on its way.
  void report(Diag diag) const;
  [[nodiscard]] bool has_queue() const { return queue_ != nullptr; }

  // Position of the last item submitted.
  [[nodiscard]] std::uint64_t tail() const { return tail_.load(std::memory_order_acquire); }
  // A position after all work of the stream, with what other libraries put into its queue.
  std::uint64_t end() { return queue_ ? tail_.fetch_add(1, std::memory_order_acq_rel) + 1 : tail(); }
  // The same when another library may have its handle.
  std::uint64_t known_end() { return lent_.load(std::memory_order_relaxed) ? end() : tail(); }
  void lend() { lent_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool done(std::uint64_t position) const {
    return known_done(position) || (queue_ && queue_reached(position));
  }
  // Of what somebody has found done: asks no queue.
  [[nodiscard]] bool known_done(std::uint64_t position) const {
    return completed_.load(std::memory_order_acquire) >= position;
  }
  void wait(std::uint64_t position);
  // Lets done() tell whether the queue has come this far while later work keeps it busy. Another library may be
  // capturing a stream whose handle it has.
  void mark_end() {
    if (!lent_.load(std::memory_order_relaxed)) (void)mark_for(tail());
  }

  // Fills the next place and gives its position; 0 when the stream is closed. With `wake` false the caller promises to
  // wait for it, and no worker is woken.
  template <class Fill>
  std::uint64_t push(bool wake, Fill&& fill) {
    if (queue_) {
      const Producing producing(*this);
      if (closed_.load(std::memory_order_relaxed)) return 0;
      fill(queued_);
      return send(queued_);
    }
    make_room();
    std::uint64_t position = 0;
    {
      const Producing producing(*this);
      if (closed_.load(std::memory_order_relaxed)) return 0;
      fill(next_place());
      position = publish(wake);
    }
    if (wake) wake_worker();
    return position;
  }
  // A checked launch that comes after nothing else, straight to the queue; its position, 0 when the stream is closed.
  std::uint64_t launch_now(device::Kernel& kernel, const device::Launch& launch);
  // No more items; the worker ends when the queue is empty.
  void close();
  // Takes items again; only after join().
  void reopen();
  [[nodiscard]] bool closed() const { return closed_.load(std::memory_order_acquire); }
  // Waits for the worker's end and for work in other threads; only after close(), only by the context.
  void join();
  [[nodiscard]] bool finished() const;

 private:
  static constexpr std::uint64_t kSegment = 64;
  // Segments form a circle. One whose items are done is used again, otherwise the circle grows.
  struct Segment {
    std::array<Item, kSegment> items;
    std::uint64_t last = 0;  // position of its last item
    Segment* next = this;
    std::unique_ptr<Segment> owned;  // the one inserted before
  };
  // One thread pushes at a time, for as long as it takes to write an item.
  class Producing {
   public:
    explicit Producing(Stream& stream);
    ~Producing() { stream_.producing_.clear(std::memory_order_release); }
    Producing(const Producing&) = delete;
    Producing& operator=(const Producing&) = delete;

   private:
    Stream& stream_;
  };

  // Hands an item to the queue; its position.
  std::uint64_t send(Item& item);
  void send_after(const Ticket& ticket);
  [[nodiscard]] bool queue_reached(std::uint64_t position) const;
  // A mark at the position, or after it.
  Result<std::shared_ptr<device::Mark>> mark_for(std::uint64_t position);
  void wait_for_queue(std::uint64_t position);
  // Work up to the position is done; needs marks_mutex_.
  void complete(std::uint64_t position) const;

  void make_room();
  Item& next_place() { return filling_->items[tail_.load(std::memory_order_relaxed) % kSegment]; }
  std::uint64_t publish(bool wake);
  void wake_worker();
  void wake_waiting();
  void work();
  // Runs items up to a position, unless someone else does; the worker runs all.
  void drive(std::uint64_t until, bool by_worker);
  // Is there something that a thread could run now?
  [[nodiscard]] bool idle_with_work() const;
  // May a thread that is not the worker run it?
  [[nodiscard]] bool can_help() const;

  Context& context_;
  const std::uint64_t handle_;
  const bool blocking_;
  const bool counted_;  // its items hold up the default stream
  const int priority_;

  const std::unique_ptr<device::Queue> queue_;
  std::atomic<bool> lent_{false};
  Item queued_;  // used again and again, under producing_
  mutable std::mutex marks_mutex_;
  mutable std::deque<std::pair<std::uint64_t, std::shared_ptr<device::Mark>>> marks_;  // by position

  // Of those who push, under producing_.
  alignas(64) std::atomic_flag producing_;
  Segment* filling_;
  std::unique_ptr<Segment> segments_;
  std::thread worker_;
  std::atomic<std::uint64_t> tail_{0};
  std::atomic<std::uint64_t> gave_up_{~std::uint64_t{0}};  // see make_room

  // Of the thread that drives.
  alignas(64) std::atomic<bool> driving_{false};
  Segment* running_;
  mutable std::atomic<std::uint64_t> completed_{0};
  std::atomic<std::uint64_t> for_worker_{0};  // position of an item that another thread found it may not run

  // Those who sleep: a sleeper says so and looks again; who changes something looks for sleepers afterwards.
  alignas(64) std::atomic<std::uint32_t> asleep_{0};  // the worker
  std::atomic<std::uint32_t> waiting_{0};             // threads in wait()
  std::atomic<std::uint32_t> advanced_{0};            // changes when completed_ does and someone waits
  std::atomic<bool> closed_{false};
};

// The error of a push that gave no position.
Diag stream_closed();

// Runs a host function, or queues it when the device has queues.
Result<void> run_host_work(const Work& work);

// True on a worker thread and in work that another thread runs for it: waiting for the device there could wait for
// itself.
[[nodiscard]] bool on_worker_thread();

// Makes the current thread a worker thread for a while.
class AsWorker {
 public:
  AsWorker();
  ~AsWorker();
  AsWorker(const AsWorker&) = delete;
  AsWorker& operator=(const AsWorker&) = delete;

 private:
  bool before_;
};

}  // namespace warploom::runtime
