// Stream and Event over the runtime's queues.
#include "warploom/stream.hpp"

#include <algorithm>
#include <exception>

#include "api/launch.hpp"
#include "api/state.hpp"

namespace warploom {
namespace api {

const std::shared_ptr<runtime::Stream>& queue_of(const Stream& stream, const detail::DeviceState& device) {
  const auto& state = detail::Access::state(stream);
  use(state, "the stream");
  if (state->device.get() != &device)
    fail(ErrorId::invalid_handle, "the stream belongs to another device", "use a stream of the same device");
  return state->stream;
}

void run_on(runtime::Context& context, const detail::DeviceState& device, const Stream* stream, runtime::Work work) {
  if (stream != nullptr) {
    checked(context.submit(queue_of(*stream, device), std::move(work)));
    return;
  }
  if (runtime::on_worker_thread())
    fail(ErrorId::not_permitted, "a host function may not wait for a copy",
         "copy on the thread that queued the function, or name a stream",
         "inside a function queued with host_function");
  checked(context.run(context.default_stream(), std::move(work)));
}

runtime::Work host_work(std::function<void()> function) {
  if (!function) fail(ErrorId::invalid_value, "the host function is empty", "pass something that can be called");
  return [function = std::move(function)]() -> Result<void> {
    const auto failed = [](const std::string& what) {
      return make_diag(ErrorId::host_function_failed, "a host function ended with an exception: " + what,
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
  if (!state_->stream->done(state_->stream->tail())) return false;
  api::checked(context.take_error());
  return true;
}

void Stream::wait(const Event& event) const {
  runtime::Context& context = api::use(state_, "the stream");
  const auto& other = detail::Access::state(event);
  api::use(other, "the event");
  if (other->device != state_->device)
    api::fail(ErrorId::invalid_handle, "the event belongs to another device", "use an event of the same device");
  runtime::Ticket ticket = other->event.ticket();
  if (ticket.done()) return;
  api::checked(context.submit(state_->stream, [] { return Result<void>(); }, {std::move(ticket)}, {}));
}

void Stream::host_function(std::function<void()> function) const {
  runtime::Context& context = api::use(state_, "the stream");
  api::checked(context.submit(state_->stream, api::host_work(std::move(function)), {}, {.any_thread = false}));
}

bool Stream::blocking() const {
  if (!state_) api::fail_moved_from("the stream");
  return state_->stream->blocking();
}

int Stream::priority() const {
  if (!state_) api::fail_moved_from("the stream");
  return state_->stream->priority();
}

// ---- Event ----

Event::Event(const Device& device, const EventOptions& options) {
  const auto& owner = detail::Access::state(device);
  api::use(owner);
  state_ = std::make_shared<detail::EventState>(owner, options.timing);
}

Event::~Event() = default;

void Event::record(const Stream& stream) const {
  runtime::Context& context = api::use(state_, "the event");
  api::checked(state_->event.record(context, api::queue_of(stream, *state_->device)));
}

void Event::record() const {
  runtime::Context& context = api::use(state_, "the event");
  api::checked(state_->event.record(context, context.default_stream()));
}

bool Event::query() const {
  runtime::Context& context = api::use(state_, "the event");
  if (!state_->event.ticket().done()) return false;
  api::checked(context.take_error());
  return true;
}

void Event::synchronize() const {
  runtime::Context& context = api::use(state_, "the event");
  api::checked(context.wait(state_->event.ticket()));
}

double Event::elapsed_ms(const Event& start, const Event& end) {
  api::use(start.state_, "the start event");
  api::use(end.state_, "the end event");
  return api::checked(runtime::Event::elapsed_ms(start.state_->event, end.state_->event));
}

}  // namespace warploom
