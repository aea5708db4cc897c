// When launches began and ended: what `warploom run --time` and the API's launch records are made of.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace warploom::observe {

// One launch that has ended.
struct LaunchTime {
  std::string kernel;  // mangled
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint32_t shared_bytes = 0;  // dynamic
  std::chrono::steady_clock::time_point start;
  double seconds = 0;          // on the device, without compile_seconds
  double compile_seconds = 0;  // in which the launch waited for the compiler
  bool failed = false;
};

// Told of every launch when it ends; from several threads.
class LaunchLog {
 public:
  virtual ~LaunchLog() = default;
  virtual void launch_ended(const LaunchTime& launch) = 0;
};

// All launches of one kernel, in seconds.
struct KernelTimes {
  std::uint64_t launches = 0;
  double total = 0, least = 0, most = 0, compile = 0;
  void add(const LaunchTime& launch);
};

// Sums by kernel, and the first launches one by one.
class LaunchTimes final : public LaunchLog {
 public:
  explicit LaunchTimes(std::size_t kept) : kept_(kept) {}
  void launch_ended(const LaunchTime& launch) override;

  struct Totals {
    std::map<std::string, KernelTimes> kernels;
    std::vector<LaunchTime> launches;  // in the order of their ends, `kept` at most
    std::uint64_t count = 0;           // of all launches
  };
  [[nodiscard]] Totals totals() const;

 private:
  const std::size_t kept_;
  mutable std::mutex mutex_;
  Totals totals_;
};

}  // namespace warploom::observe
