// A device's context: its streams and the order between them, its memory, and the error it is in.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "runtime/capture.hpp"
#include "runtime/graph.hpp"
#include "runtime/helpers.hpp"
#include "runtime/pending.hpp"
#include "runtime/pool.hpp"
#include "runtime/stream.hpp"

namespace warploom::runtime {

class Context : public std::enable_shared_from_this<Context> {
 public:
  // Safe to let go of on any thread, a worker included.
  static std::shared_ptr<Context> open(std::unique_ptr<device::Device> device, PendingReleases::Limits limits = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] device::Device& device() { return *device_; }
  // Counts resets; what was made in an earlier generation is invalid.
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // The sticky error, when there is one: itself the first time, context_poisoned afterwards.
  Result<void> usable();

  // The same object as long as the context lives.
  [[nodiscard]] const std::shared_ptr<Stream>& default_stream() const { return default_; }
  Result<std::shared_ptr<Stream>> make_stream(bool blocking, int priority);
  // The calling thread's own default stream, made at its first use; it closes when the thread ends.
  Result<std::shared_ptr<Stream>> thread_stream();
  // The stream that has the handle; null when none has.
  [[nodiscard]] std::shared_ptr<Stream> find_stream(std::uint64_t handle) const;
  // A stream over a queue of another library's, which may destroy it once the result is gone; null where the device has
  // no queues.
  Result<std::shared_ptr<Stream>> adopt_stream(std::uint64_t handle);
  // Queued work still runs.
  void close_stream(const std::shared_ptr<Stream>& stream);

  struct How {
    bool always = false;     // runs even on a poisoned context
    bool any_thread = true;  // a thread that waits for the device may run it
    bool wake = true;        // false: the caller waits for it
  };
  // Queues work after `after` and after what the legacy default stream's rules ask for.
  Result<Ticket> submit(const std::shared_ptr<Stream>& stream, Work work, std::vector<Ticket> after, How how);
  Result<Ticket> submit(const std::shared_ptr<Stream>& stream, Work work) {
    return submit(stream, std::move(work), {}, How{});
  }
  // Queues what becomes a node when the stream is captured; nothing else may be queued on such a stream. The ticket of
  // a node is done.
  Result<Ticket> enqueue(const std::shared_ptr<Stream>& stream, Operation operation);
  // Queues a launch that Device::check_launch has passed; `keep` lives until it has run. Allocates nothing once the
  // stream's queue has grown to what its work needs, and takes no lock unless streams hold each other up.
  Result<void> launch(const std::shared_ptr<Stream>& stream, device::Kernel& kernel, const device::Launch& launch,
                      std::shared_ptr<const void> keep);
  // The same for a graph: one item, whatever the number of its nodes.
  Result<void> launch(const std::shared_ptr<Stream>& stream, GraphInstance& graph);
  // Queues work and waits for it: in the calling thread when nothing is before it.
  Result<void> run(const std::shared_ptr<Stream>& stream, Work work);

  [[nodiscard]] Captures& captures() { return captures_; }
  [[nodiscard]] bool is_legacy(const std::shared_ptr<Stream>& stream) const { return stream == default_; }

  // Waiting calls return the error of asynchronous work, once when it is not sticky.
  Result<void> wait(const Ticket& ticket);
  Result<void> wait(const std::shared_ptr<Stream>& stream);
  Result<void> synchronize();
  Result<void> take_error();
  // An error that has no caller: the next call that waits returns it.
  void report(Diag diag) { record_error(std::move(diag)); }
  // Waits for the work queued so far and reports nothing; does not wait on a worker.
  void drain();

  // Ends all work, frees all memory, closes all streams, clears errors.
  Result<void> reset();

  struct Request {
    const std::shared_ptr<Pool>* pool = nullptr;      // null: the default pool, or the current one for a stream
    const std::shared_ptr<Stream>* stream = nullptr;  // whose later work uses it; null: anybody's
    device::Origin origin{};
  };
  // When there is not enough: idle memory of pools goes back, then what is pending, then queued work is waited for.
  Result<void*> allocate(std::size_t bytes, const Request& request);
  // The same of the default pool, without waiting for anyone or asking the device; null when that cannot be done now.
  void* allocate_idle(std::size_t bytes, device::Origin origin);
  // Frees once all work queued so far has finished; does nothing for memory of an earlier generation.
  void release(void* address, std::uint64_t generation, Pool* pool = nullptr);
  // Frees what allocate() gave, after waiting for all work queued so far (cuMemFree).
  Result<void> release_now(void* address);
  // Frees what was allocated in a captured stream: by a node while the same capture goes on, else when it is there.
  void release_captured(const std::shared_ptr<Stream>& stream, void* address);
  // Memory for a graph's allocations.
  Result<std::shared_ptr<GraphBlock>> graph_block(std::size_t bytes, device::Origin origin);
  [[nodiscard]] GraphMemory& graph_memory() { return graph_memory_; }
  [[nodiscard]] Pool& graph_pool() { return *graph_pool_; }
  // Frees in the stream's order, whichever pool it is from; invalid_value when it is no allocation.
  Result<void> release_on(const std::shared_ptr<Stream>& stream, void* address);
  // Later work of the stream comes after the ticket.
  void note_wait(const std::shared_ptr<Stream>& stream, const Ticket& ticket) { known_.add(stream, ticket); }

  [[nodiscard]] const std::shared_ptr<Pool>& default_pool() const { return default_pool_; }
  std::shared_ptr<Pool> make_pool(const Pool::Policy& policy);
  // Nobody can name it any more; it goes when its allocations have gone.
  void abandon_pool(const std::shared_ptr<Pool>& pool);
  [[nodiscard]] std::shared_ptr<Pool> current_pool();
  void set_current_pool(const std::shared_ptr<Pool>& pool);
  // What the device has, and what pools hold without using it.
  [[nodiscard]] std::size_t free_bytes();

  // Two queues: memory, and everything else that is released late.
  [[nodiscard]] PendingReleases& memory_releases() { return memory_releases_; }
  [[nodiscard]] PendingReleases& object_releases() { return object_releases_; }
  // Releases late; what fails is the error of the next call that waits.
  void release_later(PendingReleases& queue, PendingReleases::Release release, std::uint64_t bytes);
  // Tells observers how the queues stand.
  void report_releases();

  // Called by streams. Items of blocking streams are counted, except those of the default stream.
  void execute(const Item& item);
  void execute(device::Kernel& kernel, const device::Launch& launch);
  void blocking_item_pushed() { blocking_items_.fetch_add(1, std::memory_order_relaxed); }
  void item_finished(bool counted) {
    // Who reads that there are none sees what they did.
    if (counted) blocking_items_.fetch_sub(1, std::memory_order_release);
  }

 private:
  Context(std::unique_ptr<device::Device> device, PendingReleases::Limits limits);

  // Need streams_mutex_.
  void add_pending(std::vector<Ticket>& tickets) const;
  void close_all();

  // What an item waits for is read before the item is pushed, so items only wait for those that were pushed earlier.
  void add_default_order(const std::shared_ptr<Stream>& stream, std::vector<Ticket>& after) const;

  void record_error(Diag diag);
  Diag sticky_error();  // needs error_mutex_
  // After the device was waited for.
  void pools_synchronized();
  [[nodiscard]] std::vector<std::shared_ptr<Pool>> pools();  // all, that of graphs included
  void trim_pools();
  void forget_if_unused(const Pool& pool);
  Result<void*> allocate_again(std::size_t bytes, const Request& request, Pool& pool, std::vector<Ticket>& after);
  void describe_pending(Diag& diag);
  Result<void*> capture_allocation(std::size_t bytes, const Request& request);
  // Of the pools and the memory of graphs; false when the address is no allocation of theirs.
  [[nodiscard]] Diag no_allocation(void* address) const;
  bool release_anywhere(void* address, const std::vector<Ticket>& after);

  std::unique_ptr<device::Device> device_;
  std::atomic<std::uint64_t> generation_{1};
  Captures captures_;
  Helpers helpers_;  // with the branches of graphs

  std::shared_ptr<Stream> default_;
  std::atomic<std::uint64_t> blocking_items_{0};
  mutable std::mutex streams_mutex_;
  std::vector<std::shared_ptr<Stream>> streams_;  // the default stream included, closed ones until they are reaped
  std::vector<std::weak_ptr<Stream>> adopted_;
  bool has_adopted_ = false;  // or had

  Dependencies known_;
  std::mutex pools_mutex_;
  std::shared_ptr<Pool> default_pool_;
  std::vector<std::shared_ptr<Pool>> pools_;  // the others
  std::shared_ptr<Pool> graph_pool_;          // of graphs alone
  GraphMemory graph_memory_;
  std::shared_ptr<Pool> current_;
  std::vector<Pool*> abandoned_;
  std::atomic<bool> several_pools_{false};
  PendingReleases memory_releases_, object_releases_;

  std::mutex error_mutex_;
  std::atomic<bool> failed_{false};  // there may be an error to take
  std::atomic<bool> poisoned_{false};
  std::optional<Diag> sticky_, pending_;
  bool sticky_reported_ = false;
};

}  // namespace warploom::runtime
