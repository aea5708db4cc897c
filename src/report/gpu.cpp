// Times on a GPU as JSON, and the roofline that counts give.
#include "report/gpu.hpp"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

namespace warploom::report {

using nlohmann::ordered_json;
using namespace observe::explain;  // NOLINT: the whole file reads its data

std::string gpu_times_to_json(const observe::GpuMeasurement& m) {
  ordered_json out{{"schema", "warploom-gpu-times-1"},
                   {"gpu",
                    {{"name", m.gpu.name},
                     {"driver", m.gpu.driver},
                     {"multiprocessors", m.gpu.multiprocessors},
                     {"clock_hz", m.gpu.clock_hz},
                     {"memory_bytes_per_second", m.gpu.memory_bytes_per_second}}},
                   {"why_no_counters", m.why_no_counters},
                   {"kernels", ordered_json::array()}};
  for (const observe::GpuKernelTimes& k : m.kernels)
    out["kernels"].push_back({{"kernel", k.kernel},
                              {"grid", k.grid},
                              {"block", k.block},
                              {"dynamic_shared_bytes", k.shared_bytes},
                              {"seconds", k.seconds},
                              {"warm", k.warm},
                              {"counters", k.counters}});
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::optional<observe::GpuMeasurement> gpu_times_from_json(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    observe::GpuMeasurement out;
    const auto& gpu = json.at("gpu");
    gpu.at("name").get_to(out.gpu.name);
    gpu.at("driver").get_to(out.gpu.driver);
    gpu.at("multiprocessors").get_to(out.gpu.multiprocessors);
    gpu.at("clock_hz").get_to(out.gpu.clock_hz);
    gpu.at("memory_bytes_per_second").get_to(out.gpu.memory_bytes_per_second);
    json.at("why_no_counters").get_to(out.why_no_counters);
    for (const auto& entry : json.at("kernels")) {
      observe::GpuKernelTimes k;
      entry.at("kernel").get_to(k.kernel);
      entry.at("grid").get_to(k.grid);
      entry.at("block").get_to(k.block);
      entry.at("dynamic_shared_bytes").get_to(k.shared_bytes);
      entry.at("seconds").get_to(k.seconds);
      entry.at("warm").get_to(k.warm);
      entry.at("counters").get_to(k.counters);
      out.kernels.push_back(std::move(k));
    }
    return out;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

const observe::GpuKernelTimes* times_of(const observe::GpuMeasurement& measurement, const KernelData& kernel) {
  for (const observe::GpuKernelTimes& k : measurement.kernels)
    if (k.kernel == kernel.facts.name && k.grid == kernel.grid && k.block == kernel.block &&
        k.shared_bytes == kernel.dynamic_shared_bytes && !k.seconds.empty())
      return &k;
  return nullptr;
}

bool has_counters(const observe::GpuMeasurement& measurement) {
  return std::any_of(measurement.kernels.begin(), measurement.kernels.end(),
                     [](const observe::GpuKernelTimes& k) { return !k.counters.empty(); });
}

std::optional<double> counted(const observe::GpuCounterRow& row, const KernelData& k) {
  if (k.launches == 0) return std::nullopt;
  const std::string id = row.id;
  if (id == "active_warps_percent") return 100 * k.occupancy.fraction();
  const auto each = [&](std::uint64_t total) { return static_cast<double>(total) / static_cast<double>(k.launches); };
  if (id == "warp_instructions") return each(k.warp_instructions);
  if (id == "thread_instructions") return each(k.thread_instructions);
  for (std::size_t i = 0; i < kAccessGroups; ++i) {
    const GroupCounts &group = k.groups[i], &elsewhere = k.elsewhere[i];
    const std::string prefix = std::string(key(static_cast<AccessGroup>(i))) + "_";
    if (id == prefix + "requests") return each(group.counts.requests - elsewhere.counts.requests);
    if (id == prefix + "sectors") return each(group.counts.sectors - elsewhere.counts.sectors);
    if (id == prefix + "wavefronts") return each(group.counts.wavefronts - elsewhere.counts.wavefronts);
    if (id == prefix + "conflicts") return each(group.conflicts() - elsewhere.conflicts());
  }
  return std::nullopt;
}

std::optional<Prediction> predict(const observe::GpuFacts& gpu, const KernelData& k) {
  if (gpu.clock_hz <= 0 || gpu.multiprocessors == 0 || k.launches == 0 || k.warp_instructions == 0) return std::nullopt;
  const double launches = static_cast<double>(k.launches);
  const double cycles = gpu.clock_hz * static_cast<double>(std::min<std::uint64_t>(
                                           gpu.multiprocessors, std::max<std::uint64_t>(1, k.blocks())));
  double sectors = 0, wavefronts = 0;
  for (std::size_t i = 0; i < kAccessGroups; ++i) {
    const observe::AccessCounts& counts = k.groups[i].counts;
    (is_shared(static_cast<AccessGroup>(i)) ? wavefronts : sectors) +=
        static_cast<double>(is_shared(static_cast<AccessGroup>(i)) ? counts.wavefronts : counts.sectors);
  }
  // A multiprocessor issues four instructions a cycle, does one pass over shared memory, and moves 128 bytes through
  // its first cache (CUDA Programming Guide, compute capabilities 7.0 and later).
  const struct {
    const char* name;
    double seconds;
  } parts[] = {{"instructions", static_cast<double>(k.warp_instructions) / (4 * cycles)},
               {"shared memory", wavefronts / cycles},
               {"L1 cache", sectors / (4 * cycles)}};
  Prediction out;
  for (const auto& part : parts)
    if (part.seconds / launches > out.least) out = {part.seconds / launches, part.name, 0};
  out.uncached = out.least;
  if (gpu.memory_bytes_per_second > 0)
    out.uncached = std::max(out.least, 32 * sectors / gpu.memory_bytes_per_second / launches);
  return out;
}

}  // namespace warploom::report
