// The worker pool.
#include "device/cpu/cpu_device.hpp"

namespace warploom::device {

WorkerPool::WorkerPool(unsigned threads) {
  for (unsigned i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : workers_) t.join();
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    Job* job = jobs_.front();
    ++job->joined;
    if (--job->wanted == 0) jobs_.pop_front();
    lock.unlock();
    work_on(*job->grid);
    lock.lock();
    if (--job->joined == 0) left_.notify_all();
  }
}

void WorkerPool::run(Grid& grid) {
  const auto helpers = static_cast<unsigned>(std::min<std::uint64_t>(workers_.size(), grid.blocks - 1));
  if (helpers == 0) {
    work_on(grid);
    return;
  }
  Job job{&grid, helpers, 0};
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
  }
  if (helpers == 1)
    wake_.notify_one();
  else
    wake_.notify_all();
  work_on(grid);
  std::unique_lock lock(mutex_);
  if (job.wanted != 0) std::erase(jobs_, &job);
  left_.wait(lock, [&] { return job.joined == 0; });
}

}  // namespace warploom::device
