// Captures: which calls become nodes, which are refused, and what ends a capture.
#include "runtime/capture.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/diag_of.hpp"

namespace warploom::runtime {
namespace {

thread_local CaptureMode thread_mode = CaptureMode::global;

Diag capture_error(ErrorId id, std::string what, std::string remedy) {
  return diag_of(id, std::move(what), std::move(remedy), "stream capture");
}

Diag invalidated() {
  return capture_error(ErrorId::stream_capture_invalidated,
                       "the capture of this stream has been invalidated by an earlier error",
                       "end the capture, and capture again without what went wrong");
}

Diag unsupported(std::string_view call) {
  return capture_error(ErrorId::stream_capture_unsupported,
                       std::string(call) + " is not permitted while the stream is being captured",
                       "call it before begin_capture() or after end_capture()");
}

Diag stale_event() {
  return capture_error(ErrorId::invalid_value,
                       "the event was last recorded in a capture that has ended or has been invalidated",
                       "record it again outside of captures first");
}

Diag illegal_state(const char* what) {
  return capture_error(ErrorId::illegal_state, what, "end the capture first; capture_status() tells of it");
}

}  // namespace

CaptureMode Captures::exchange_mode(CaptureMode mode) { return std::exchange(thread_mode, mode); }

std::shared_ptr<Capture> Captures::of(const Stream& stream) const {
  const auto found = streams_.find(&stream);
  return found == streams_.end() ? nullptr : found->second;
}

Result<void> Captures::begin(const std::shared_ptr<Stream>& stream, bool is_legacy, CaptureMode mode) {
  const std::lock_guard lock(mutex_);
  if (is_legacy) WL_TRY(permit_legacy("begin_capture()"));
  if (is_legacy)
    return capture_error(ErrorId::stream_capture_unsupported, "the legacy default stream cannot be captured",
                         "make a stream, or use a per-thread default stream");
  if (of(*stream)) return illegal_state("the stream is being captured already");
  auto capture = std::make_shared<Capture>(next_id_++, mode, stream.get());
  capture->tails_[stream.get()];
  streams_[stream.get()] = std::move(capture);
  count();
  return {};
}

void Captures::finish(Capture& capture) {
  capture.ended_ = true;
  std::erase_if(streams_, [&](const auto& entry) { return entry.second.get() == &capture; });
  count();
}

Result<LaunchGraph> Captures::end(const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(mutex_);
  const auto capture = of(*stream);
  if (!capture) return illegal_state("the stream is not being captured");
  if (capture->origin != stream.get()) {
    capture->invalid_ = true;
    return capture_error(ErrorId::stream_capture_unmatched, "the capture did not begin in this stream",
                         "end it in the stream in which it began");
  }
  if (capture->mode != CaptureMode::relaxed && capture->thread != std::this_thread::get_id()) {
    finish(*capture);
    return capture_error(ErrorId::stream_capture_wrong_thread, "the capture began in another thread",
                         "end it in the thread that began it, or begin it with CaptureMode::relaxed");
  }
  const bool invalid = capture->invalid_;
  std::vector<Node> others = capture->lost_;
  for (const auto& [other, tail] : capture->tails_) others.insert(others.end(), tail.begin(), tail.end());
  const std::vector<Node> left = capture->graph_.beyond(capture->tails_[stream.get()], others);
  finish(*capture);
  if (invalid) return invalidated();
  if (!left.empty())
    return capture_error(
        ErrorId::stream_capture_unjoined,
        "work of a stream that joined the capture is not waited for: node " + std::to_string(left.front()),
        "record an event in that stream and have the stream in which the capture began wait for it");
  return std::move(capture->graph_);
}

Captures::Info Captures::info(const Stream& stream) const {
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  if (!capture) return {};
  return {capture->invalid_ ? CaptureStatus::invalidated : CaptureStatus::active, capture->id};
}

// A blocking stream that is captured would be waited for by the legacy stream's work, and the other way round.
Result<void> Captures::permit_legacy(std::string_view call) {
  bool found = false;
  for (const auto& [stream, capture] : streams_) {
    if (!stream->blocking()) continue;
    found = true;
    capture->invalid_ = true;
  }
  if (!found) return {};
  return capture_error(ErrorId::stream_capture_implicit,
                       std::string(call) + " on the legacy default stream depends on a stream that is being captured",
                       "use another stream, or capture a stream that was made with blocking = false");
}

Result<bool> Captures::add(const Stream& stream, bool is_legacy, Operation& operation) {
  const std::lock_guard lock(mutex_);
  if (is_legacy) {
    WL_TRY(permit_legacy("work"));
    return false;
  }
  const auto capture = of(stream);
  if (!capture) return false;
  if (capture->invalid_) return invalidated();
  std::vector<Node>& tail = capture->tails_[&stream];
  auto node = capture->graph_.add(tail, std::move(operation));
  if (!node) return std::move(node.error());
  tail = {*node};
  return true;
}

Result<Captures::Allocated> Captures::allocate(const Stream& stream, GraphMemory& memory, std::size_t bytes,
                                               std::shared_ptr<GraphBlock> block) {
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  if (!capture) return Allocated{};
  if (capture->invalid_) return invalidated();
  std::vector<Node>& tail = capture->tails_[&stream];
  auto made = capture->graph_.allocate(memory, tail, bytes, std::move(block));
  if (!made) return std::move(made.error());
  if (made->address != nullptr) tail = {made->node};
  return Allocated{true, made->address};
}

Result<bool> Captures::deallocate(const Stream& stream, GraphMemory& memory, const void* address) {
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  if (!capture) return false;
  if (capture->invalid_) return invalidated();
  std::vector<Node>& tail = capture->tails_[&stream];
  auto node = capture->graph_.deallocate(memory, tail, address);
  if (!node) return std::move(node.error());  // as a GPU's driver, which leaves the capture as it was
  tail = {*node};
  return true;
}

bool Captures::deallocate_own(const Stream& stream, GraphMemory& memory, const void* address) {
  if (!any()) return false;
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  if (!capture || capture->invalid_ || !capture->graph_.allocates(address)) return false;
  std::vector<Node>& tail = capture->tails_[&stream];
  auto node = capture->graph_.deallocate(memory, tail, address);
  if (node) tail = {*node};
  return true;
}

Result<bool> Captures::record(const Stream& stream, bool is_legacy, Event& event) {
  const std::lock_guard lock(mutex_);
  if (is_legacy) {
    WL_TRY(permit_legacy("an event"));
    return false;
  }
  const auto capture = of(stream);
  if (!capture) return false;
  if (capture->invalid_) return invalidated();
  event.set({capture, capture->tails_[&stream]});
  return true;
}

Result<bool> Captures::wait(const Stream& stream, bool is_legacy, const Event& event) {
  const Event::Captured captured = event.captured();
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  if (!captured.capture) {
    if (is_legacy) WL_TRY(permit_legacy("a wait"));
    if (!capture) return false;
    if (capture->invalid_) return invalidated();
    if (!event.recorded()) return true;
    capture->invalid_ = true;
    return capture_error(ErrorId::stream_capture_isolation,
                         "a stream that is being captured cannot wait for an event that was recorded outside",
                         "record the event in a stream of the same capture, or wait before begin_capture()");
  }
  if (captured.capture->ended_ || captured.capture->invalid_) {
    if (is_legacy) WL_TRY(permit_legacy("a wait"));
    if (capture) capture->invalid_ = true;
    return stale_event();
  }
  if (is_legacy) {
    captured.capture->invalid_ = true;
    return capture_error(ErrorId::stream_capture_implicit, "the legacy default stream cannot join a capture",
                         "have another stream wait for the event");
  }
  if (capture && capture != captured.capture) {
    capture->invalid_ = captured.capture->invalid_ = true;
    return capture_error(ErrorId::stream_capture_merge, "the wait would merge two captures",
                         "end one of them first, and launch its graph in the other");
  }
  std::vector<Node>& tail = captured.capture->tails_[&stream];
  tail.insert(tail.end(), captured.nodes.begin(), captured.nodes.end());
  std::sort(tail.begin(), tail.end());
  tail.erase(std::unique(tail.begin(), tail.end()), tail.end());
  streams_[&stream] = captured.capture;
  count();
  return true;
}

Result<void> Captures::permit_on(const Stream& stream, bool is_legacy, std::string_view call) {
  const std::lock_guard lock(mutex_);
  if (is_legacy) return permit_legacy(call);
  const auto capture = of(stream);
  if (!capture) return {};
  capture->invalid_ = true;
  return unsupported(call);
}

Result<void> Captures::permit_wait(const Stream& stream, bool is_legacy, std::string_view call) {
  WL_TRY(permit_on(stream, is_legacy, call));
  return permit_unsafe(call);
}

Result<void> Captures::permit_info() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [stream, capture] : streams_)
    if (stream->blocking())
      return capture_error(ErrorId::stream_capture_implicit,
                           "the legacy default stream depends on a stream that is being captured", "ask that stream");
  return {};
}

Result<void> Captures::permit_unsafe(std::string_view call) {
  if (thread_mode == CaptureMode::relaxed) return {};
  const std::lock_guard lock(mutex_);
  bool found = false;
  for (const auto& [stream, capture] : streams_) {
    const bool own = capture->thread == std::this_thread::get_id();
    if (capture->mode == CaptureMode::relaxed) continue;
    if (!own && (capture->mode != CaptureMode::global || thread_mode != CaptureMode::global)) continue;
    found = true;
    capture->invalid_ = true;
  }
  if (!found) return {};
  return unsupported(call);
}

Result<void> Captures::permit_device(std::string_view call) {
  const std::lock_guard lock(mutex_);
  if (streams_.empty()) return {};
  for (const auto& [stream, capture] : streams_) capture->invalid_ = true;
  return unsupported(call);
}

Result<void> Captures::permit_event(const Event& event, std::string_view call) {
  const Event::Captured captured = event.captured();
  if (!captured.capture) return {};
  const std::lock_guard lock(mutex_);
  if (captured.capture->ended_ || captured.capture->invalid_) return stale_event();
  captured.capture->invalid_ = true;
  return capture_error(ErrorId::captured_event,
                       std::string(call) + " is not possible: the event was last recorded in a captured stream",
                       "record it outside of captures first");
}

void Captures::forget(const Stream& stream) {
  if (!any()) return;
  const std::lock_guard lock(mutex_);
  const auto capture = of(stream);
  if (!capture) return;
  if (capture->origin == &stream) {
    finish(*capture);
    return;
  }
  // Its work can still be joined by an event that was recorded in it.
  const auto tail = capture->tails_.find(&stream);
  capture->lost_.insert(capture->lost_.end(), tail->second.begin(), tail->second.end());
  capture->tails_.erase(tail);
  streams_.erase(&stream);
  count();
}

void Captures::clear() {
  const std::lock_guard lock(mutex_);
  for (const auto& [stream, capture] : streams_) capture->invalid_ = capture->ended_ = true;
  streams_.clear();
  count();
}

}  // namespace warploom::runtime
