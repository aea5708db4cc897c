// Streams of devices that have queues of their own.
#include <algorithm>

#include "runtime/context.hpp"
#include "runtime/stream.hpp"

namespace warploom::runtime {

Result<void> run_host_work(const Work& work) {
  device::Queue* queue = device::Queue::current();
  if (queue == nullptr) return work();
  return queue->call([work]() -> Result<void> {
    const AsWorker worker;
    return work();
  });
}

std::uint64_t Stream::send(Item& item) {
  for (const Ticket& ticket : item.after) send_after(ticket);
  {
    const device::UseQueue use(*queue_);
    context_.execute(item);
  }
  item.clear();
  return tail_.fetch_add(1, std::memory_order_acq_rel) + 1;
}

std::uint64_t Stream::launch_now(device::Kernel& kernel, const device::Launch& launch) {
  const Producing producing(*this);
  if (closed_.load(std::memory_order_relaxed)) return 0;
  {
    const device::UseQueue use(*queue_);
    context_.execute(kernel, launch);
  }
  return tail_.fetch_add(1, std::memory_order_acq_rel) + 1;
}

void Stream::report(Diag diag) const { context_.report(std::move(diag)); }

void Stream::send_after(const Ticket& ticket) {
  std::shared_ptr<device::Mark> mark = ticket.mark;
  if (!mark && ticket.stream) {
    if (ticket.stream.get() == this || ticket.done()) return;
    auto made = ticket.stream->mark_for(ticket.position);
    if (!made) {
      context_.report(std::move(made.error()));
      return;
    }
    mark = std::move(*made);
  }
  if (!mark) return;
  if (auto ordered = queue_->after(*mark); !ordered) context_.report(std::move(ordered.error()));
}

Result<std::shared_ptr<device::Mark>> Stream::mark_for(std::uint64_t position) {
  const std::lock_guard lock(marks_mutex_);
  for (const auto& [at, mark] : marks_)
    if (at >= position) return mark;
  const std::uint64_t tail = this->tail();
  auto made = queue_->mark();
  if (made) marks_.emplace_back(tail, *made);
  return made;
}

void Stream::complete(std::uint64_t position) const {
  if (completed_.load(std::memory_order_relaxed) < position) completed_.store(position, std::memory_order_release);
}

bool Stream::queue_reached(std::uint64_t position) const {
  const std::lock_guard lock(marks_mutex_);
  // An error ends all work that there was.
  while (!marks_.empty()) {
    auto reached = marks_.front().second->reached();
    if (reached && !*reached) break;
    if (!reached) report(std::move(reached.error()));
    complete(marks_.front().first);
    marks_.pop_front();
  }
  if (completed_.load(std::memory_order_relaxed) >= position) return true;
  if (!marks_.empty() && marks_.front().first >= position) return false;
  const std::uint64_t tail = this->tail();
  auto idle = queue_->idle();
  if (idle && !*idle) return false;
  if (!idle) report(std::move(idle.error()));
  complete(tail);
  return true;
}

void Stream::wait_for_queue(std::uint64_t position) {
  if (completed_.load(std::memory_order_acquire) >= position) return;
  std::shared_ptr<device::Mark> mark;
  std::uint64_t reached = 0;
  {
    const std::lock_guard lock(marks_mutex_);
    for (const auto& [at, made] : marks_) {
      if (at < position) continue;
      mark = made;
      reached = at;
      break;
    }
    if (!mark) reached = tail();
  }
  auto waited = mark ? mark->wait() : queue_->wait();
  if (!waited) context_.report(std::move(waited.error()));
  const std::lock_guard lock(marks_mutex_);
  complete(reached);
}

}  // namespace warploom::runtime
