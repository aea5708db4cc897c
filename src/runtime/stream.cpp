// The worker loop of a stream.
#include "runtime/stream.hpp"

#include "runtime/context.hpp"

namespace warploom::runtime {
namespace {

thread_local bool is_worker = false;

}  // namespace

bool on_worker_thread() { return is_worker; }

AsWorker::AsWorker() { is_worker = true; }
AsWorker::~AsWorker() { is_worker = false; }

bool Ticket::done() const { return !stream || stream->done(position); }

void Ticket::wait() const {
  if (stream) stream->wait(position);
}

Stream::Stream(Context& context, bool blocking, int priority)
    : context_(context), blocking_(blocking), priority_(priority) {}

Stream::~Stream() {
  close();
  join();
}

void Stream::wait(std::uint64_t position) {
  if (done(position)) return;
  std::unique_lock lock(mutex_);
  advanced_.wait(lock, [&] { return done(position); });
}

std::uint64_t Stream::push(Item item) {
  const std::lock_guard lock(mutex_);
  if (closed_) return 0;
  const std::uint64_t position = tail_.load(std::memory_order_relaxed) + 1;
  item.position = position;
  queue_.push_back(std::move(item));
  tail_.store(position, std::memory_order_release);
  if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
  pushed_.notify_one();
  return position;
}

std::uint64_t Stream::begin() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (closed_ || lent_ || !done(tail)) return 0;
  lent_ = true;
  tail_.store(tail + 1, std::memory_order_release);
  return tail + 1;
}

void Stream::end(std::uint64_t position) {
  const std::lock_guard lock(mutex_);
  lent_ = false;
  completed_.store(position, std::memory_order_release);
  advanced_.notify_all();
  pushed_.notify_one();
}

void Stream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  pushed_.notify_one();
}

void Stream::join() {
  {
    std::unique_lock lock(mutex_);
    advanced_.wait(lock, [&] { return !lent_; });
  }
  if (worker_.joinable()) worker_.join();
}

bool Stream::finished() const { return closed() && done(tail()); }

void Stream::work() {
  is_worker = true;
  for (;;) {
    std::uint64_t position = 0;
    {
      Item item;
      {
        std::unique_lock lock(mutex_);
        pushed_.wait(lock, [&] { return !lent_ && (!queue_.empty() || closed_); });
        if (queue_.empty()) return;
        item = std::move(queue_.front());
        queue_.pop_front();
      }
      for (const Ticket& ticket : item.after) ticket.wait();
      context_.execute(item);
      position = item.position;
      // What the work holds on to is let go before anyone can see the item as done.
    }
    {
      const std::lock_guard lock(mutex_);
      completed_.store(position, std::memory_order_release);
      advanced_.notify_all();
    }
    context_.item_finished();
  }
}

}  // namespace warploom::runtime
