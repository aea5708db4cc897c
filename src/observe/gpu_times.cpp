// Gathering of times on a GPU.
#include "observe/gpu_times.hpp"

#include <algorithm>
#include <utility>

namespace warploom::observe {

double GpuKernelTimes::median() const {
  if (seconds.empty()) return 0;
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

void GpuTimes::set_gpu(const GpuFacts& facts) {
  const std::lock_guard lock(mutex_);
  measurement_.gpu = facts;
}

void GpuTimes::set_why_no_counters(std::string why) {
  const std::lock_guard lock(mutex_);
  measurement_.why_no_counters = std::move(why);
}

std::size_t GpuTimes::index_of(const LaunchTime& launch) const {
  const auto& kernels = measurement_.kernels;
  std::size_t i = 0;
  while (i < kernels.size() && (kernels[i].kernel != launch.kernel || kernels[i].grid != launch.grid ||
                                kernels[i].block != launch.block || kernels[i].shared_bytes != launch.shared_bytes))
    ++i;
  return i;
}

bool GpuTimes::is_new(const LaunchTime& launch) const {
  const std::lock_guard lock(mutex_);
  return index_of(launch) == measurement_.kernels.size();
}

void GpuTimes::add(const LaunchTime& launch, const std::vector<double>& seconds, bool warm, GpuCounters counters) {
  const std::lock_guard lock(mutex_);
  const std::size_t i = index_of(launch);
  auto& kernels = measurement_.kernels;
  if (i == kernels.size()) kernels.push_back({launch.kernel, launch.grid, launch.block, launch.shared_bytes});
  kernels[i].seconds.insert(kernels[i].seconds.end(), seconds.begin(), seconds.end());
  kernels[i].warm |= warm;
  if (!counters.empty()) kernels[i].counters = std::move(counters);
}

GpuMeasurement GpuTimes::measurement() const {
  const std::lock_guard lock(mutex_);
  return measurement_;
}

}  // namespace warploom::observe
