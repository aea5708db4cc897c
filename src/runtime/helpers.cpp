// Calling threads to help, and sending them away.
#include "runtime/helpers.hpp"

#include <algorithm>

#include "runtime/stream.hpp"

namespace warploom::runtime {

Helpers::~Helpers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  called_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Helpers::call(Job& job, unsigned count) {
  count = std::min(count, most_);
  if (count == 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (job.wanted_ == 0) calls_.push_back(&job);
    job.wanted_ = std::max(job.wanted_, count);
    for (; threads_.size() < most_ && idle_ < count; ++idle_) threads_.emplace_back([this] { work(); });
  }
  if (count == 1)
    called_.notify_one();
  else
    called_.notify_all();
}

void Helpers::dismiss(Job& job) {
  std::unique_lock lock(mutex_);
  if (job.wanted_ != 0) {
    job.wanted_ = 0;
    std::erase(calls_, &job);
  }
  left_.wait(lock, [&] { return job.inside_ == 0; });
}

void Helpers::work() {
  const AsWorker worker;
  std::unique_lock lock(mutex_);
  for (;;) {
    called_.wait(lock, [&] { return stop_ || !calls_.empty(); });
    if (calls_.empty()) return;
    Job& job = *calls_.front();
    if (--job.wanted_ == 0) calls_.pop_front();
    ++job.inside_;
    --idle_;
    lock.unlock();
    job.help();
    lock.lock();
    ++idle_;
    if (--job.inside_ == 0) left_.notify_all();
  }
}

}  // namespace warploom::runtime
