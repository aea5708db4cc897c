// Stream and Event: ordered asynchronous work and points in it (CUDA Programming Guide, "Asynchronous Concurrent
// Execution").
#pragma once

#include <functional>
#include <memory>

#include "warploom/device.hpp"
#include "warploom/export.hpp"

namespace warploom {

class Event;
namespace detail {
struct StreamState;
struct EventState;
}  // namespace detail

/// How a stream is made (cuStreamCreateWithPriority).
struct StreamOptions {
  bool blocking = true;  ///< false: the default stream does not wait for this one, nor the other way round
  int priority = 0;      ///< lower is more urgent; a hint that the CPU device accepts and does not use
};

/// A queue of work that runs in order, asynchronously to the caller and to other streams. Copies are handles to the
/// same stream. Destroying the last handle does not wait: work already queued still runs (cuStreamDestroy).
class WARPLOOM_API Stream {
 public:
  /// Throws invalid_handle for a moved-from device and the device's sticky error.
  explicit Stream(const Device& device, const StreamOptions& options = {});

  Stream(const Stream&) = default;
  Stream(Stream&&) noexcept = default;
  Stream& operator=(const Stream&) = default;
  Stream& operator=(Stream&&) noexcept = default;
  ~Stream();

  /// Waits for all work queued so far; throws the error of asynchronous work, if there was one (cuStreamSynchronize).
  void synchronize() const;
  /// True when all work queued so far has finished. Throws as synchronize() does (cuStreamQuery).
  [[nodiscard]] bool query() const;
  /// Work queued later waits, on the device, for what the event's last record captured; a never recorded event does not
  /// hold anything up (cuStreamWaitEvent).
  void wait(const Event& event) const;
  /// Queues a call of `function` on a thread of the library. It must not wait for the device: that throws not_permitted
  /// inside it. An exception that leaves it becomes host_function_failed at the next synchronising call. It is not
  /// called when an earlier sticky error has stopped the device (cuLaunchHostFunc).
  void host_function(std::function<void()> function) const;

  [[nodiscard]] bool blocking() const;
  [[nodiscard]] int priority() const;
  /// False for a moved-from handle, which throws invalid_handle when used.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::Access;
  explicit Stream(std::shared_ptr<detail::StreamState> state) noexcept;
  std::shared_ptr<detail::StreamState> state_;
};

/// How an event is made (cuEventCreate).
struct EventOptions {
  bool timing = true;  ///< false: elapsed times throw invalid_handle
};

/// A point in a stream's work. Copies are handles to the same event.
class WARPLOOM_API Event {
 public:
  explicit Event(const Device& device, const EventOptions& options = {});

  Event(const Event&) = default;
  Event(Event&&) noexcept = default;
  Event& operator=(const Event&) = default;
  Event& operator=(Event&&) noexcept = default;
  ~Event();

  /// Captures the work queued so far on the stream; replaces an earlier record (cuEventRecord).
  void record(const Stream& stream) const;
  /// The same on the default stream.
  void record() const;
  /// True when the captured work has finished, and for a never recorded event (cuEventQuery).
  [[nodiscard]] bool query() const;
  /// Waits for the captured work; throws the error of asynchronous work, if there was one (cuEventSynchronize).
  void synchronize() const;

  /// Milliseconds from `start` to `end`, steady clock of this machine, resolution below a microsecond. Throws
  /// invalid_handle when one was never recorded or has no timing, not_ready when one has not been reached yet
  /// (cuEventElapsedTime).
  [[nodiscard]] static double elapsed_ms(const Event& start, const Event& end);

  /// False for a moved-from handle, which throws invalid_handle when used.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::Access;
  std::shared_ptr<detail::EventState> state_;
};

}  // namespace warploom
