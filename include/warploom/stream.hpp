// Stream and Event: ordered asynchronous work and points in it (CUDA Programming Guide, "Asynchronous Concurrent
// Execution").
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "warploom/device.hpp"
#include "warploom/export.hpp"

namespace warploom {

class Event;
class Graph;
namespace detail {
struct StreamState;
struct EventState;
}  // namespace detail

/// How a stream is made (cuStreamCreateWithPriority).
struct StreamOptions {
  bool blocking = true;  ///< false: the legacy default stream does not wait for this one, nor the other way round
  /// From -5, the most urgent, to 0; values outside are clamped. Where blocks of several launches wait for a core,
  /// those of the more urgent stream begin first; blocks that have begun are not interrupted.
  int priority = 0;
};

/// Which calls a capture forbids because they may depend on what is captured (cuStreamBeginCapture): allocations, and
/// waiting for or asking after other work.
enum class CaptureMode : std::uint8_t {
  global,       ///< in all threads whose own mode is global
  this_thread,  ///< in the thread that began the capture
  relaxed,      ///< nowhere
};

/// What cuStreamIsCapturing says of a stream.
enum class CaptureStatus : std::uint8_t {
  none,
  active,
  invalidated,  ///< by an error; end_capture() ends it and throws
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
  /// Later work waits, on the device, for what the event (also of another device of its kind) last recorded; one never
  /// recorded holds nothing up. After a record in a captured stream this stream joins the capture (cuStreamWaitEvent).
  void wait(const Event& event) const;
  /// Queues a call of `function` on a thread of the library. It must not wait for the device: that throws not_permitted
  /// inside it. An exception that leaves it becomes host_function_failed at the next synchronising call. It is not
  /// called when an earlier sticky error has stopped the device (cuLaunchHostFunc).
  void host_function(std::function<void()> function) const;

  /// From here on work of this stream is not run but becomes nodes of a graph, with the dependencies that it would have
  /// had (cuStreamBeginCapture). Streams that wait for an event recorded here join the capture, and must be joined
  /// again before its end: an event recorded in them, waited for by this stream. Throws stream_capture_unsupported for
  /// the legacy default stream, illegal_state when the stream is being captured already.
  ///
  /// Until end_capture() these calls throw, and invalidate the capture: waiting for a captured stream or the device, or
  /// asking how far it is; launching an instantiated graph; what the mode forbids; using the legacy default stream
  /// while a blocking stream is captured. The codes are those that an H200's driver gives.
  void begin_capture(CaptureMode mode = CaptureMode::global) const;
  /// The graph that was captured since begin_capture() (cuStreamEndCapture). Throws illegal_state when the stream is
  /// not being captured, stream_capture_invalidated, _unjoined, _unmatched when the capture began in another stream,
  /// _wrong_thread when it began in another thread and is not relaxed. Except for the first and _unmatched, the capture
  /// has ended then too.
  [[nodiscard]] Graph end_capture() const;
  /// Adds all of another graph to the capture, as one node (cuGraphAddChildGraphNode). Throws illegal_state when the
  /// stream is not being captured. Launching an instantiated graph on a captured stream is an error, as in CUDA.
  void add_graph(const Graph& graph) const;
  [[nodiscard]] CaptureStatus capture_status() const;
  /// A number for the capture, the same in all streams that take part; 0 when there is none (cuStreamGetCaptureInfo).
  [[nodiscard]] std::uint64_t capture_id() const;

  [[nodiscard]] bool blocking() const;
  [[nodiscard]] int priority() const;
  /// The number by which other libraries know the stream, as a CUstream: 1 is the legacy default stream, 2 the calling
  /// thread's default stream of the CPU device, all others are unique in the process. On a GPU it is the CUstream
  /// itself, and waiting for the stream also waits for what others queued on it. See Device::external_stream().
  [[nodiscard]] std::uintptr_t handle() const;
  /// False for a moved-from handle, which throws invalid_handle when used.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::Access;
  explicit Stream(std::shared_ptr<detail::StreamState> state) noexcept;
  std::shared_ptr<detail::StreamState> state_;
};

/// Sets the calling thread's mode, which is global at first, and gives the one before
/// (cuThreadExchangeStreamCaptureMode). A thread in relaxed mode may make every call that does not concern a captured
/// stream or event itself; one in this_thread mode ignores the captures of other threads.
WARPLOOM_API CaptureMode exchange_capture_mode(CaptureMode mode);

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

  /// Captures the work queued so far on the stream; replaces an earlier record (cuEventRecord). In a stream that is
  /// being captured the record is a place in the graph: other streams may wait for it, query() and synchronize() throw
  /// captured_event.
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
