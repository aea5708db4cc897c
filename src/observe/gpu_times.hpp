// How long kernels took on a GPU, by the GPU's clock: what `warploom explain` shows beside its counts.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "observe/gpu_counters.hpp"
#include "observe/launch_times.hpp"

namespace warploom::observe {

// The GPU that launches ran on; what the driver does not say is 0.
struct GpuFacts {
  std::string name;
  std::uint32_t driver = 0;  // 13000 for CUDA 13.0
  std::uint32_t multiprocessors = 0;
  double clock_hz = 0;                 // of the multiprocessors, the highest
  double memory_bytes_per_second = 0;  // of the memory's pins
};

// All launches of one kernel and shape.
struct GpuKernelTimes {
  std::string kernel;  // mangled
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint32_t shared_bytes = 0;  // dynamic
  std::vector<double> seconds{};   // of each run that was timed
  bool warm = false;               // it was run again from the same memory, and the first run does not count
  GpuCounters counters{};          // of one more run of the first launch; empty when they were not read

  [[nodiscard]] double median() const;
};

struct GpuMeasurement {
  GpuFacts gpu;
  std::vector<GpuKernelTimes> kernels;  // in the order of their first launch
  std::string why_no_counters;          // of kernels that have none
};

// Gathers them, from several threads.
class GpuTimes {
 public:
  static constexpr unsigned kRepeats = 7;  // of the first launch of a shape

  void set_gpu(const GpuFacts& facts);
  void set_why_no_counters(std::string why);
  // Is it the first launch of its kernel and shape?
  [[nodiscard]] bool is_new(const LaunchTime& launch) const;
  void add(const LaunchTime& launch, const std::vector<double>& seconds, bool warm, GpuCounters counters = {});
  [[nodiscard]] GpuMeasurement measurement() const;

 private:
  [[nodiscard]] std::size_t index_of(const LaunchTime& launch) const;  // needs mutex_

  mutable std::mutex mutex_;
  GpuMeasurement measurement_;
};

}  // namespace warploom::observe
