// Stream capture: streams whose work becomes nodes of a graph instead of being run, and what is forbidden meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/graph.hpp"

namespace warploom::runtime {

enum class CaptureMode : std::uint8_t { global, this_thread, relaxed };
enum class CaptureStatus : std::uint8_t { none, active, invalidated };

// One capture sequence: the stream it began in and those that joined it.
class Capture {
 public:
  Capture(std::uint64_t number, CaptureMode how, const Stream* stream)
      : id(number), mode(how), origin(stream), thread(std::this_thread::get_id()) {}

  const std::uint64_t id;
  const CaptureMode mode;
  const Stream* const origin;
  const std::thread::id thread;

  // What was recorded in it can no longer be waited for.
  [[nodiscard]] bool over() const { return ended_ || invalid_; }

 private:
  friend class Captures;
  LaunchGraph graph_;
  std::unordered_map<const Stream*, std::vector<Node>> tails_;  // what the next node of each stream waits for
  std::vector<Node> lost_;                                      // the same of streams that are gone
  std::atomic<bool> invalid_{false}, ended_{false};
};

// All captures of a context. Functions fail with the errors stream_capture_*, and what must not be invalidates.
class Captures {
 public:
  // Whether a stream is being captured: nothing else has to be asked if none is.
  [[nodiscard]] bool any() const { return streams_captured_.load(std::memory_order_acquire) != 0; }

  Result<void> begin(const std::shared_ptr<Stream>& stream, bool is_legacy, CaptureMode mode);
  Result<LaunchGraph> end(const std::shared_ptr<Stream>& stream);
  struct Info {
    CaptureStatus status = CaptureStatus::none;
    std::uint64_t id = 0;
  };
  [[nodiscard]] Info info(const Stream& stream) const;

  // True when the stream is captured: the operation is then a node. False: it is left to the caller.
  // Takes the operation when it is captured.
  Result<bool> add(const Stream& stream, bool is_legacy, Operation& operation);
  // An allocation on the stream: null when it is captured and its graph has no memory to use again, as long as there is
  // no block.
  struct Allocated {
    bool captured = false;
    void* address = nullptr;
  };
  Result<Allocated> allocate(const Stream& stream, GraphMemory& memory, std::size_t bytes,
                             std::shared_ptr<GraphBlock> block);
  Result<bool> deallocate(const Stream& stream, GraphMemory& memory, const void* address);
  // The same for what the stream's capture has allocated; false when it is not captured or has not.
  bool deallocate_own(const Stream& stream, GraphMemory& memory, const void* address);
  Result<bool> record(const Stream& stream, bool is_legacy, Event& event);
  Result<bool> wait(const Stream& stream, bool is_legacy, const Event& event);

  // Fails when the call is forbidden now; `call` names it.
  // For calls on a stream that cannot become nodes.
  Result<void> permit_on(const Stream& stream, bool is_legacy, std::string_view call);
  Result<void> permit_unsafe(std::string_view call);
  Result<void> permit_wait(const Stream& stream, bool is_legacy, std::string_view call);
  // Asking whether the legacy stream is captured: an error that invalidates nothing.
  Result<void> permit_info() const;
  Result<void> permit_device(std::string_view call);  // waits for all streams
  // The same for an event; also when nothing is captured now.
  Result<void> permit_event(const Event& event, std::string_view call);

  // The stream is gone. Ends what began in it.
  void forget(const Stream& stream);
  void clear();

  // The calling thread's mode; gives the one before.
  static CaptureMode exchange_mode(CaptureMode mode);

 private:
  [[nodiscard]] std::shared_ptr<Capture> of(const Stream& stream) const;  // needs the mutex
  Result<void> permit_legacy(std::string_view call);                      // needs the mutex
  void count() { streams_captured_.store(streams_.size(), std::memory_order_release); }
  void finish(Capture& capture);

  mutable std::mutex mutex_;
  std::unordered_map<const Stream*, std::shared_ptr<Capture>> streams_;
  std::atomic<std::size_t> streams_captured_{0};
  std::uint64_t next_id_ = 1;
};

}  // namespace warploom::runtime
