// The hardware counters of a GPU that explain shows: by the names of CUPTI's metrics, which are Nsight Compute's too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace warploom::observe {

// What one launch counted, by metric; a GPU may lack some.
using GpuCounters = std::map<std::string, double>;

// Row by row: the sum of the metrics in it.
struct GpuCounterRow {
  const char* id;     // stable, for reports
  const char* title;  // as the text report says it
  std::vector<const char*> metrics;
};
const std::vector<GpuCounterRow>& gpu_counter_rows();

// All metrics of the rows.
std::vector<std::string> gpu_counter_metrics();
// None when the GPU lacks one of its metrics.
std::optional<double> value_of(const GpuCounterRow& row, const GpuCounters& counters);

}  // namespace warploom::observe
