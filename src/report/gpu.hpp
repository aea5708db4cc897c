// Times on a GPU in reports: their file, and what a kernel's counts predict for that GPU.
#pragma once

#include <optional>
#include <string>

#include "observe/explain/data.hpp"
#include "observe/gpu_times.hpp"

namespace warploom::report {

// The file by which one process hands its times to another.
std::string gpu_times_to_json(const observe::GpuMeasurement& measurement);
std::optional<observe::GpuMeasurement> gpu_times_from_json(const std::string& text);

// The times of a kernel and shape; null when it did not run there.
const observe::GpuKernelTimes* times_of(const observe::GpuMeasurement& measurement,
                                        const observe::explain::KernelData& kernel);

// Were hardware counters read of any kernel?
bool has_counters(const observe::GpuMeasurement& measurement);

// What explain counted, for one launch, of what a row of hardware counters counts: none for what it does not count.
std::optional<double> counted(const observe::GpuCounterRow& row, const observe::explain::KernelData& kernel);

// Seconds of one launch, from counts alone: latencies, and what caches save, are not modelled.
struct Prediction {
  double least = 0;          // of what is busy longest, when nothing is waited for
  const char* limiter = "";  // what that is
  double uncached = 0;       // when every sector comes from the GPU's memory; not below `least`
};
// None without a clock or without counts.
std::optional<Prediction> predict(const observe::GpuFacts& gpu, const observe::explain::KernelData& kernel);

}  // namespace warploom::report
