// Pushing, driving and waiting.
#include "runtime/stream.hpp"

#include <chrono>

#include "base/spin.hpp"
#include "runtime/context.hpp"

namespace warploom::runtime {
namespace {

// A thread that launches more than this ahead waits, unless nothing ends for so long.
constexpr std::uint64_t kAhead = 1024;
constexpr auto kLongestHold = std::chrono::milliseconds(100);

thread_local bool is_worker = false;

// CUDA reserves the lowest handles for its default streams.
std::uint64_t next_handle() {
  static std::atomic<std::uint64_t> next{0x100};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

bool on_worker_thread() { return is_worker; }

AsWorker::AsWorker() : before_(is_worker) { is_worker = true; }
AsWorker::~AsWorker() { is_worker = before_; }

bool Ticket::done() const {
  if (!mark) return !stream || stream->done(position);
  auto reached = mark->reached();
  if (reached) return *reached;
  if (stream) stream->report(std::move(reached.error()));
  return true;
}

void Ticket::wait() const {
  // The stream reports what has gone wrong.
  if (mark && mark->wait()) return;
  if (stream) stream->wait(position);
}

void Item::clear() {
  after.clear();
  kernel = nullptr;
  keep.reset();
  graph.reset();
  work = nullptr;
}

Stream::Producing::Producing(Stream& stream) : stream_(stream) {
  for (unsigned turn = 0; stream_.producing_.test_and_set(std::memory_order_acquire); ++turn) {
    if (turn < 64)
      relax_cpu();
    else
      std::this_thread::yield();
  }
}

Stream::Stream(Context& context, bool blocking, int priority, bool is_default, std::unique_ptr<device::Queue> queue)
    : context_(context),
      handle_(is_default ? 1
              : queue    ? queue->number()
                         : next_handle()),
      blocking_(blocking),
      counted_(blocking && !is_default),
      priority_(priority),
      queue_(std::move(queue)),
      segments_(std::make_unique<Segment>()) {
  filling_ = running_ = segments_.get();
  filling_->last = kSegment;
  if (queue_) queue_->report_to([&context](Diag diag) { context.report(std::move(diag)); });
}

Stream::~Stream() {
  close();
  join();
  // One by one: a long chain must not be destroyed recursively.
  while (segments_) segments_ = std::move(segments_->owned);
}

// Not for ever: what holds the queue up may be waiting for the thread that pushes.
void Stream::make_room() {
  const auto full = [&] {
    return tail_.load(std::memory_order_relaxed) - completed_.load(std::memory_order_relaxed) > kAhead;
  };
  if (!full() || is_worker) return;
  std::uint64_t at = completed_.load(std::memory_order_relaxed);
  auto since = std::chrono::steady_clock::now();
  while (full() && gave_up_.load(std::memory_order_relaxed) != at) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    const auto now = std::chrono::steady_clock::now();
    if (const std::uint64_t seen = completed_.load(std::memory_order_relaxed); seen != at) {
      at = seen;
      since = now;
    } else if (now - since > kLongestHold) {
      gave_up_.store(at, std::memory_order_relaxed);
    }
  }
}

// The segment that follows is chosen before the last item of this one can run, so that whoever runs it finds the way.
std::uint64_t Stream::publish(bool wake) {
  const std::uint64_t position = tail_.load(std::memory_order_relaxed) + 1;
  if (position % kSegment == 0) {
    if (!done(filling_->next->last)) {
      auto fresh = std::make_unique<Segment>();
      fresh->next = filling_->next;
      filling_->next = fresh.get();
      fresh->owned = std::move(segments_);
      segments_ = std::move(fresh);
    }
    filling_ = filling_->next;
    filling_->last = position + kSegment;
  }
  if (counted_) context_.blocking_item_pushed();
  tail_.store(position, std::memory_order_seq_cst);
  if (wake && !worker_.joinable()) worker_ = std::thread([this] { work(); });
  return position;
}

void Stream::close() {
  {
    const Producing producing(*this);
    closed_.store(true, std::memory_order_seq_cst);
  }
  wake_worker();
}

void Stream::reopen() {
  const Producing producing(*this);
  closed_.store(false, std::memory_order_release);
}

void Stream::join() {
  if (worker_.joinable()) worker_.join();
  wait(tail());
}

bool Stream::finished() const { return closed() && done(tail()); }

bool Stream::idle_with_work() const {
  return !driving_.load(std::memory_order_seq_cst) &&
         completed_.load(std::memory_order_relaxed) < tail_.load(std::memory_order_seq_cst);
}

bool Stream::can_help() const {
  return idle_with_work() &&
         completed_.load(std::memory_order_relaxed) + 1 != for_worker_.load(std::memory_order_relaxed);
}

void Stream::wake_worker() {
  if (asleep_.load(std::memory_order_seq_cst) != 0 && asleep_.exchange(0) != 0) asleep_.notify_one();
}

void Stream::wake_waiting() {
  if (waiting_.load(std::memory_order_seq_cst) == 0) return;
  advanced_.fetch_add(1, std::memory_order_seq_cst);
  advanced_.notify_all();
}

void Stream::drive(std::uint64_t until, bool by_worker) {
  if (driving_.exchange(true, std::memory_order_seq_cst)) return;
  for (;;) {
    const std::uint64_t position = completed_.load(std::memory_order_relaxed) + 1;
    if (position > until || position > tail_.load(std::memory_order_acquire)) break;
    Item& item = running_->items[(position - 1) % kSegment];
    if (!by_worker && !item.any_thread) {
      for_worker_.store(position, std::memory_order_relaxed);
      break;
    }
    for (const Ticket& ticket : item.after) ticket.wait();
    {
      const AsWorker worker;
      context_.execute(item);
      // What the work holds on to is let go before anyone can see the item as done.
      item.clear();
    }
    if (position % kSegment == 0) running_ = running_->next;
    completed_.store(position, std::memory_order_seq_cst);
    wake_waiting();
    context_.item_finished(counted_);
  }
  driving_.store(false, std::memory_order_seq_cst);
  // Others may have relied on this thread to go on.
  const bool left = idle_with_work();
  if (!by_worker && (left || closed())) wake_worker();
  if (left) wake_waiting();
}

void Stream::wait(std::uint64_t position) {
  if (queue_) {
    wait_for_queue(position);
    return;
  }
  // A worker leaves the work of other streams to their own threads.
  const bool helps = !is_worker;
  for (Spin spin;;) {
    if (done(position)) return;
    if (helps && can_help()) drive(position, false);
    if (done(position)) return;
    if (spin.again()) continue;
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = advanced_.load(std::memory_order_seq_cst);
    if (completed_.load(std::memory_order_seq_cst) < position && !(helps && can_help())) advanced_.wait(seen);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void Stream::work() {
  is_worker = true;
  for (;;) {
    drive(~std::uint64_t{0}, true);
    if (closed() && done(tail())) return;
    for (Spin spin; !idle_with_work() && !closed() && spin.again();) {
    }
    asleep_.store(1, std::memory_order_seq_cst);
    if (idle_with_work() || (closed_.load(std::memory_order_seq_cst) && done(tail())))
      asleep_.store(0, std::memory_order_relaxed);
    else
      asleep_.wait(1);
  }
}

}  // namespace warploom::runtime
