// Recording and timing of events.
#include "runtime/event.hpp"

#include <string>
#include <tuple>
#include <utility>

#include "runtime/context.hpp"

namespace warploom::runtime {

Result<void> Event::record(Context& context, const std::shared_ptr<Stream>& stream) {
  if (context.captures().any()) {
    auto captured = context.captures().record(*stream, context.is_legacy(stream), *this);
    if (!captured) return std::move(captured.error());
    if (*captured) return {};
  }
  auto record = std::make_shared<Record>();
  auto ticket = context.submit(stream, [record] { return record->reach(); }, {}, {.always = true});
  if (!ticket) return std::move(ticket.error());
  record->set_ticket(std::move(*ticket));
  set(std::move(record));
  return {};
}

Result<void> Event::Record::reach() {
  if (device::Queue* queue = device::Queue::current()) {
    auto made = queue->mark();
    if (!made) return std::move(made.error());
    mark_ = std::move(*made);
    return {};
  }
  time = std::chrono::steady_clock::now();
  return {};
}

void Event::Record::set_ticket(Ticket reached) {
  ticket = std::move(reached);
  ticket.mark = mark_;
}

void Event::set(std::shared_ptr<const Record> record) {
  Captured gone;  // let go of outside the lock
  const std::lock_guard lock(mutex_);
  record_ = std::move(record);
  std::swap(captured_, gone);
}

void Event::set(Captured captured) {
  const std::lock_guard lock(mutex_);
  std::swap(captured_, captured);
}

std::shared_ptr<const Event::Record> Event::last() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

Ticket Event::ticket() const {
  const auto record = last();
  return record ? record->ticket : Ticket{};
}

bool Event::recorded() const { return last() != nullptr; }

Event::Captured Event::captured() const {
  const std::lock_guard lock(mutex_);
  return captured_;
}

Result<double> Event::elapsed_ms(const Event& start, const Event& end) {
  const auto first = start.last(), second = end.last();
  for (const auto& [event, record, word] : {std::tuple{&start, first, "start"}, std::tuple{&end, second, "end"}}) {
    Diag diag;
    diag.id = ErrorId::invalid_handle;
    if (const auto capture = event->captured().capture) {
      diag.id = capture->over() ? ErrorId::invalid_value : ErrorId::captured_event;
      diag.what = std::string("the ") + word + " event was last recorded in a stream that was being captured";
      diag.remedy = "record it with a graph's event node, or outside of captures";
      return diag;
    }
    if (!event->timing_) {
      diag.what = std::string("the ") + word + " event was made without timing";
      diag.remedy = "make it with EventOptions::timing = true";
      return diag;
    }
    if (!record) {
      diag.what = std::string("the ") + word + " event was never recorded";
      diag.remedy = "call record() on a stream first";
      return diag;
    }
    if (!record->ticket.done()) {
      diag.id = ErrorId::not_ready;
      diag.what = std::string("the ") + word + " event has not been reached yet";
      diag.remedy = "synchronize() the event before asking for the time";
      return diag;
    }
  }
  if (first->ticket.mark && second->ticket.mark) return second->ticket.mark->ms_since(*first->ticket.mark);
  return std::chrono::duration<double, std::milli>(second->time - first->time).count();
}

}  // namespace warploom::runtime
