// Where the device's launches are logged: for the program that asked, and for `warploom run --time`.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "device/device.hpp"
#include "observe/launch_times.hpp"
#include "warploom/device.hpp"

namespace warploom::api {

// One for each device.
class LaunchRecorder final : public observe::LaunchLog {
 public:
  // `session` also hears of every launch; nullptr: nobody asked for that.
  explicit LaunchRecorder(std::shared_ptr<observe::LaunchLog> session) : session_(std::move(session)) {}
  void launch_ended(const observe::LaunchTime& launch) override;

  // True when launches have to be logged from now on.
  bool record(bool on);
  [[nodiscard]] std::vector<LaunchRecord> take();

 private:
  const std::shared_ptr<observe::LaunchLog> session_;
  std::mutex mutex_;
  bool recording_ = false;
  std::chrono::steady_clock::time_point start_;
  std::vector<observe::LaunchTime> launches_;
};

}  // namespace warploom::api
