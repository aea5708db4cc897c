// Device::record_launches() and take_launches().
#include "api/launches.hpp"

#include "api/state.hpp"
#include "base/demangle.hpp"

namespace warploom {
namespace api {
namespace {

Dim3 dim3(const std::array<std::uint32_t, 3>& e) { return {e[0], e[1], e[2]}; }

}  // namespace

void LaunchRecorder::launch_ended(const observe::LaunchTime& launch) {
  if (session_) session_->launch_ended(launch);
  const std::lock_guard lock(mutex_);
  if (recording_) launches_.push_back(launch);
}

bool LaunchRecorder::record(bool on) {
  const std::lock_guard lock(mutex_);
  if (on && !recording_) {
    start_ = std::chrono::steady_clock::now();
    launches_.clear();
  }
  recording_ = on;
  return recording_ || session_ != nullptr;
}

std::vector<LaunchRecord> LaunchRecorder::take() {
  std::vector<observe::LaunchTime> launches;
  const std::lock_guard lock(mutex_);
  launches.swap(launches_);
  std::vector<LaunchRecord> records;
  records.reserve(launches.size());
  for (const observe::LaunchTime& launch : launches) {
    const std::chrono::duration<double, std::milli> start = launch.start - start_;
    records.push_back({demangle(launch.kernel), dim3(launch.grid), dim3(launch.block), launch.shared_bytes,
                       start.count(), 1e3 * launch.seconds, 1e3 * launch.compile_seconds, launch.failed});
  }
  return records;
}

}  // namespace api

void Device::record_launches(bool on) const {
  runtime::Context& context = api::use(state_);
  context.device().set_launch_log(state_->launches->record(on) ? state_->launches : nullptr);
}

std::vector<LaunchRecord> Device::take_launches() const {
  api::use(state_);
  return state_->launches->take();
}

}  // namespace warploom
