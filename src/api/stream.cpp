// Stream and Event over the runtime's queues.
#include "warploom/stream.hpp"

#include <algorithm>
#include <exception>
#include <vector>

#include "api/launch.hpp"
#include "api/state.hpp"
#include "base/diag_of.hpp"

namespace warploom {
namespace api {

const std::shared_ptr<runtime::Stream>& queue_of(const Stream& stream, const detail::DeviceState& device) {
  const auto& state = detail::Access::state(stream);
  use(state, "the stream");
  if (state->device.get() != &device)
    fail(ErrorId::invalid_handle, "the stream belongs to another device", "use a stream of the same device");
  return state->stream;
}

std::shared_ptr<runtime::Stream> default_queue(runtime::Context& context, const detail::DeviceState& device) {
  if (!device.per_thread_default) return context.default_stream();
  return checked(context.thread_stream());
}

namespace {

void refuse_worker() {
  if (!runtime::on_worker_thread()) return;
  fail(ErrorId::not_permitted, "a host function may not wait for a copy",
       "copy on the thread that queued the function, or name a stream", "inside a function queued with host_function");
}

// The same copy from memory of its own.
runtime::Operation staged(device::Device& device, const runtime::Operation& copy) {
  const auto* from = static_cast<const std::byte*>(copy.from);
  return runtime::Operation::other(runtime::NodeKind::copy,
                                   [&device, to = copy.to, bytes = std::vector<std::byte>(from, from + copy.count)] {
                                     return device.copy(to, bytes.data(), bytes.size());
                                   });
}

}  // namespace

void run_on(runtime::Context& context, const detail::DeviceState& device, const Stream* stream,
            runtime::Operation operation) {
  if (stream == nullptr) {
    refuse_worker();
    checked(context.run(default_queue(context, device), std::move(operation).as_work(context.device())));
    return;
  }
  if (operation.kind == runtime::NodeKind::copy && operation.from != nullptr) {
    CopyPlaces places{operation.to, operation.count, operation.from, operation.count, nullptr};
    if (operation.count <= kStagedBytes || runtime::on_worker_thread())
      places.stage = [&] { return staged(context.device(), operation); };
    run_copy(context, device, stream, places, operation);
    return;
  }
  checked(context.enqueue(queue_of(*stream, device), std::move(operation)));
}

void run_copy(runtime::Context& context, const detail::DeviceState& device, const Stream* stream,
              const CopyPlaces& places, runtime::Operation operation) {
  if (stream == nullptr) {
    run_on(context, device, nullptr, std::move(operation));
    return;
  }
  const auto& queue = queue_of(*stream, device);
  bool waits = false;
  if (context.captures().info(*queue).status == runtime::CaptureStatus::none) {
    const bool from_pageable = context.device().pageable(places.from, places.from_bytes);
    const bool to_pageable = context.device().pageable(places.to, places.to_bytes);
    if (from_pageable && !to_pageable && places.stage)
      operation = places.stage();
    else
      waits = (from_pageable || to_pageable) && !runtime::on_worker_thread();  // a host function cannot wait
  }
  const runtime::Ticket ticket = checked(context.enqueue(queue, std::move(operation)));
  if (waits) ticket.wait();
}

void run_on(runtime::Context& context, const detail::DeviceState& device, const Stream* stream, runtime::Work work) {
  if (stream != nullptr) {
    checked(context.submit(queue_of(*stream, device), std::move(work)));
    return;
  }
  refuse_worker();
  checked(context.run(default_queue(context, device), std::move(work)));
}

runtime::Work host_work(std::function<void()> function) {
  if (!function) fail(ErrorId::invalid_value, "the host function is empty", "pass something that can be called");
  return [function = std::move(function)]() -> Result<void> {
    const auto failed = [](const std::string& what) {
      return diag_of(ErrorId::host_function_failed, "a host function ended with an exception: " + what,
                     "catch exceptions inside the function");
    };
    try {
      function();
      return {};
    } catch (const std::exception& exception) {
      return failed(exception.what());
    } catch (...) {
      return failed("not a std::exception");
    }
  };
}

}  // namespace api

namespace {

static_assert(static_cast<int>(CaptureMode::relaxed) == static_cast<int>(runtime::CaptureMode::relaxed) &&
              static_cast<int>(CaptureStatus::invalidated) == static_cast<int>(runtime::CaptureStatus::invalidated));

runtime::CaptureMode capture_mode(CaptureMode mode) {
  if (mode > CaptureMode::relaxed)
    api::fail(ErrorId::invalid_value, "there is no such capture mode", "pass a CaptureMode");
  return static_cast<runtime::CaptureMode>(mode);
}

}  // namespace

// ---- Stream ----

Stream::Stream(const Device& device, const StreamOptions& options) {
  const auto& owner = detail::Access::state(device);
  runtime::Context& context = api::use(owner);
  // The range that cuCtxGetStreamPriorityRange reports on current GPUs; values outside are clamped as CUDA does.
  auto queue = api::checked(context.make_stream(options.blocking, std::clamp(options.priority, -5, 0)));
  state_ = std::make_shared<detail::StreamState>(owner, std::move(queue), true);
}

Stream::Stream(std::shared_ptr<detail::StreamState> state) noexcept : state_(std::move(state)) {}
Stream::~Stream() = default;

void Stream::synchronize() const {
  runtime::Context& context = api::use(state_, "the stream");
  api::checked(context.wait(state_->stream));
}

bool Stream::query() const {
  runtime::Context& context = api::use(state_, "the stream");
  if (context.captures().any())
    api::checked(context.captures().permit_wait(*state_->stream, context.is_legacy(state_->stream), "asking a stream"));
  if (!state_->stream->done(state_->stream->end())) return false;
  api::checked(context.take_error());
  return true;
}

void Stream::wait(const Event& event) const {
  runtime::Context& context = api::use(state_, "the stream");
  const auto& other = detail::Access::state(event);
  api::use(other, "the event");
  if (other->device != state_->device) {
    const auto& theirs = other->device->context;
    if (theirs->device().is_hardware() != context.device().is_hardware())
      api::fail(ErrorId::invalid_handle, "the event belongs to a device of another kind",
                "wait for it on the host: Event::synchronize()");
    if (context.captures().any())
      api::checked(context.captures().permit_on(*state_->stream, context.is_legacy(state_->stream),
                                                "an event of another device"));
    api::checked(theirs->captures().permit_event(*other->event, "waiting for an event of another device"));
    runtime::Ticket elsewhere = other->event->ticket();
    if (!elsewhere.done())
      api::checked(context.submit(state_->stream, [] { return Result<void>(); }, {std::move(elsewhere)}, {}));
    return;
  }
  if (context.captures().any() || other->event->captured().capture)
    if (api::checked(context.captures().wait(*state_->stream, context.is_legacy(state_->stream), *other->event)))
      return;
  runtime::Ticket ticket = other->event->ticket();
  context.note_wait(state_->stream, ticket);
  if (ticket.done()) return;
  api::checked(context.submit(state_->stream, [] { return Result<void>(); }, {std::move(ticket)}, {}));
}

void Stream::host_function(std::function<void()> function) const {
  runtime::Context& context = api::use(state_, "the stream");
  api::checked(context.enqueue(state_->stream, runtime::Operation::host(api::host_work(std::move(function)))));
}

void Stream::begin_capture(CaptureMode mode) const {
  runtime::Context& context = api::use(state_, "the stream");
  api::checked(context.captures().begin(state_->stream, context.is_legacy(state_->stream), capture_mode(mode)));
}

CaptureStatus Stream::capture_status() const {
  runtime::Context& context = api::use(state_, "the stream");
  if (context.is_legacy(state_->stream)) api::checked(context.captures().permit_info());
  return static_cast<CaptureStatus>(context.captures().info(*state_->stream).status);
}

std::uint64_t Stream::capture_id() const {
  runtime::Context& context = api::use(state_, "the stream");
  return context.captures().info(*state_->stream).id;
}

CaptureMode exchange_capture_mode(CaptureMode mode) {
  return static_cast<CaptureMode>(runtime::Captures::exchange_mode(capture_mode(mode)));
}

bool Stream::blocking() const {
  if (!state_) api::fail_moved_from("the stream");
  return state_->stream->blocking();
}

int Stream::priority() const {
  if (!state_) api::fail_moved_from("the stream");
  return state_->stream->priority();
}

std::uintptr_t Stream::handle() const {
  if (!state_) api::fail_moved_from("the stream");
  state_->stream->lend();
  return state_->stream->handle();
}

// ---- Event ----

namespace {

void permit(runtime::Context& context, const runtime::Event& event, const char* call) {
  api::checked(context.captures().permit_event(event, call));
  if (context.captures().any()) api::checked(context.captures().permit_unsafe(call));
}

}  // namespace

Event::Event(const Device& device, const EventOptions& options) {
  const auto& owner = detail::Access::state(device);
  api::use(owner);
  state_ = std::make_shared<detail::EventState>(owner, options.timing);
}

Event::~Event() = default;

void Event::record(const Stream& stream) const {
  runtime::Context& context = api::use(state_, "the event");
  api::checked(state_->event->record(context, api::queue_of(stream, *state_->device)));
}

void Event::record() const {
  runtime::Context& context = api::use(state_, "the event");
  api::checked(state_->event->record(context, api::default_queue(context, *state_->device)));
}

bool Event::query() const {
  runtime::Context& context = api::use(state_, "the event");
  permit(context, *state_->event, "asking an event");
  if (!state_->event->ticket().done()) return false;
  api::checked(context.take_error());
  return true;
}

void Event::synchronize() const {
  runtime::Context& context = api::use(state_, "the event");
  permit(context, *state_->event, "waiting for an event");
  api::checked(context.wait(state_->event->ticket()));
}

double Event::elapsed_ms(const Event& start, const Event& end) {
  api::use(start.state_, "the start event");
  api::use(end.state_, "the end event");
  return api::checked(runtime::Event::elapsed_ms(*start.state_->event, *end.state_->event));
}

}  // namespace warploom
