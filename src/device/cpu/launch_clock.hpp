// Times one launch for the device's log.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "codegen/jit.hpp"
#include "device/device.hpp"
#include "observe/launch_times.hpp"

namespace warploom::device {

// From its beginning to its end in scope; does nothing without a log.
class LaunchClock {
 public:
  LaunchClock(std::shared_ptr<observe::LaunchLog> log, const Kernel& kernel, const Launch& launch)
      : log_(std::move(log)), kernel_(kernel), launch_(launch) {
    if (log_ != nullptr) start_ = std::chrono::steady_clock::now();
  }
  LaunchClock(const LaunchClock&) = delete;
  LaunchClock& operator=(const LaunchClock&) = delete;
  // The launch has its code; what it took until now is compile time, and what it will wait for more of it.
  void has(const codegen::KernelCode& code) {
    if (log_ == nullptr) return;
    code_ = &code;
    waited_ = code.waited_seconds();
    planning_ = since_start();
  }
  void succeeded() { failed_ = false; }
  ~LaunchClock() {
    if (log_ == nullptr) return;
    const double compile = planning_ + (code_ == nullptr ? 0 : code_->waited_seconds() - waited_);
    log_->launch_ended({kernel_.name(), launch_.grid, launch_.block, launch_.shared_bytes, start_,
                        std::max(0.0, since_start() - compile), compile, failed_});
  }

 private:
  [[nodiscard]] double since_start() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  std::shared_ptr<observe::LaunchLog> log_;
  const Kernel& kernel_;
  const Launch& launch_;
  const codegen::KernelCode* code_ = nullptr;
  std::chrono::steady_clock::time_point start_;
  double planning_ = 0, waited_ = 0;
  bool failed_ = true;
};

}  // namespace warploom::device
