// Adding up of launch times.
#include "observe/launch_times.hpp"

#include <algorithm>

namespace warploom::observe {

void KernelTimes::add(const LaunchTime& launch) {
  least = launches == 0 ? launch.seconds : std::min(least, launch.seconds);
  most = std::max(most, launch.seconds);
  ++launches;
  total += launch.seconds;
  compile += launch.compile_seconds;
}

void LaunchTimes::launch_ended(const LaunchTime& launch) {
  const std::lock_guard lock(mutex_);
  totals_.kernels[launch.kernel].add(launch);
  if (totals_.launches.size() < kept_) totals_.launches.push_back(launch);
  ++totals_.count;
}

LaunchTimes::Totals LaunchTimes::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace warploom::observe
