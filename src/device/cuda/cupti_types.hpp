// What CUPTI's host profiler and range profiler take, declared from its documentation ("CUPTI", API reference: Profiler
// Host API, Range Profiling API).
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda/driver_types.hpp"

namespace warploom::device::cuda::cupti {

using Status = int;  // CUptiResult
constexpr Status kInsufficientPrivileges = 35;

struct Host;    // CUpti_Profiler_Host_Object
struct Ranges;  // CUpti_RangeProfiler_Object

// Each call takes one structure, which begins with its own size up to the end of the last member that the caller knows.
struct Header {
  std::size_t bytes;
  void* reserved;
};

struct Initialize {
  Header header;
};

struct ChipName {
  Header header;
  std::size_t device;
  const char* name;  // out
};

struct HostInitialize {
  Header header;
  int profiler;  // CUpti_ProfilerType
  const char* chip;
  const std::uint8_t* availability;
  Host* host;  // out
};
constexpr int kRangeProfiler = 0;

struct HostObject {
  Header header;
  Host* host;
};

struct AddMetrics {
  Header header;
  Host* host;
  const char** names;
  std::size_t count;
};

struct ConfigSize {
  Header header;
  Host* host;
  std::size_t size;  // out
};

struct ConfigImage {
  Header header;
  Host* host;
  std::size_t size;
  std::uint8_t* image;
};

struct Evaluate {
  Header header;
  Host* host;
  const std::uint8_t* data;
  std::size_t data_size;
  std::size_t range;
  const char** names;
  std::size_t count;
  double* values;
};

struct Enable {
  Header header;
  ContextHandle* context;
  Ranges* ranges;  // out
};

struct RangesObject {
  Header header;
  Ranges* ranges;
};

struct DataSize {
  Header header;
  Ranges* ranges;
  const char** names;
  std::size_t count;
  std::size_t most_ranges;
  std::uint32_t most_nodes;
  std::size_t size;  // out
};

struct DataInitialize {
  Header header;
  Ranges* ranges;
  std::size_t size;
  std::uint8_t* data;
};

struct SetConfig {
  Header header;
  Ranges* ranges;
  std::size_t config_size;
  const std::uint8_t* config;
  std::size_t data_size;
  std::uint8_t* data;
  int range;   // CUpti_ProfilerRange
  int replay;  // CUpti_ProfilerReplayMode
  std::size_t ranges_per_pass;
  std::uint16_t nesting_levels, lowest_nesting_level;
  std::size_t pass;
  std::uint16_t nesting_level;
};
constexpr int kUserRange = 2, kUserReplay = 3;

struct PushRange {
  Header header;
  Ranges* ranges;
  const char* name;
};

struct Stop {
  Header header;
  Ranges* ranges;
  std::size_t pass, nesting_level;  // out
  std::uint8_t all_passes_done;     // out
};

struct Decode {
  Header header;
  Ranges* ranges;
  std::size_t dropped;  // out
};

// Padding after the last member does not belong to it.
template <class T>
constexpr std::size_t kKnownBytes = sizeof(T);
template <>
inline constexpr std::size_t kKnownBytes<SetConfig> = offsetof(SetConfig, nesting_level) + sizeof(std::uint16_t);
template <>
inline constexpr std::size_t kKnownBytes<Stop> = offsetof(Stop, all_passes_done) + sizeof(std::uint8_t);

template <class T>
T made() {
  T out{};
  out.header.bytes = kKnownBytes<T>;
  return out;
}

// WL_CUPTI_ENTRY(member, name of the entry point, structure).
#define WARPLOOM_CUPTI_ENTRIES(WL_CUPTI_ENTRY)                                                    \
  WL_CUPTI_ENTRY(initialize, "cuptiProfilerInitialize", Initialize)                               \
  WL_CUPTI_ENTRY(chip_name, "cuptiDeviceGetChipName", ChipName)                                   \
  WL_CUPTI_ENTRY(host_initialize, "cuptiProfilerHostInitialize", HostInitialize)                  \
  WL_CUPTI_ENTRY(host_deinitialize, "cuptiProfilerHostDeinitialize", HostObject)                  \
  WL_CUPTI_ENTRY(add_metrics, "cuptiProfilerHostConfigAddMetrics", AddMetrics)                    \
  WL_CUPTI_ENTRY(config_size, "cuptiProfilerHostGetConfigImageSize", ConfigSize)                  \
  WL_CUPTI_ENTRY(config_image, "cuptiProfilerHostGetConfigImage", ConfigImage)                    \
  WL_CUPTI_ENTRY(evaluate, "cuptiProfilerHostEvaluateToGpuValues", Evaluate)                      \
  WL_CUPTI_ENTRY(enable, "cuptiRangeProfilerEnable", Enable)                                      \
  WL_CUPTI_ENTRY(disable, "cuptiRangeProfilerDisable", RangesObject)                              \
  WL_CUPTI_ENTRY(data_size, "cuptiRangeProfilerGetCounterDataSize", DataSize)                     \
  WL_CUPTI_ENTRY(data_initialize, "cuptiRangeProfilerCounterDataImageInitialize", DataInitialize) \
  WL_CUPTI_ENTRY(set_config, "cuptiRangeProfilerSetConfig", SetConfig)                            \
  WL_CUPTI_ENTRY(start, "cuptiRangeProfilerStart", RangesObject)                                  \
  WL_CUPTI_ENTRY(push_range, "cuptiRangeProfilerPushRange", PushRange)                            \
  WL_CUPTI_ENTRY(pop_range, "cuptiRangeProfilerPopRange", RangesObject)                           \
  WL_CUPTI_ENTRY(stop, "cuptiRangeProfilerStop", Stop)                                            \
  WL_CUPTI_ENTRY(decode, "cuptiRangeProfilerDecodeData", Decode)

}  // namespace warploom::device::cuda::cupti
