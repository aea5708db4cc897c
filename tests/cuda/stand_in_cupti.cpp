// A stand-in for CUPTI that needs three passes for any metrics, insists on the order of calls, and counts the letters
// of a metric's name. STAND_IN_CUPTI: "denies" counters, "fails" in the second pass, or "lacks" metrics of L2.
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/cupti_types.hpp"

namespace {

using namespace warploom::device::cuda::cupti;

constexpr Status kInvalidParameter = 1, kInvalidOperation = 3, kUnknown = 999;
constexpr std::size_t kPasses = 3;
constexpr std::size_t kConfigBytes = 24, kDataBytes = 48;

bool told(const char* what) {
  const char* variable = std::getenv("STAND_IN_CUPTI");
  return variable != nullptr && std::strcmp(variable, what) == 0;
}

bool started = false;

template <class T>
bool good(const T* call) {
  return started && call != nullptr && call->header.bytes == kKnownBytes<T> && call->header.reserved == nullptr;
}

}  // namespace

namespace warploom::device::cuda::cupti {

struct Host {
  std::vector<std::string> metrics;
};

struct Ranges {
  enum class State { made, set, started, pushed, popped, stopped, decoded } state = State::made;
  std::size_t pass = 0;
  std::uint8_t* data = nullptr;

  bool go(State from, State to) {
    if (state != from) return false;
    state = to;
    return true;
  }
};

}  // namespace warploom::device::cuda::cupti

using State = Ranges::State;

#define ENTRY extern "C" [[gnu::visibility("default")]] int

ENTRY cuptiGetResultString(Status status, const char** text) {
  *text = status == kInsufficientPrivileges ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_OF_THE_STAND_IN";
  return 0;
}

ENTRY cuptiProfilerInitialize(Initialize* call) {
  started = true;
  return good(call) ? 0 : kInvalidParameter;
}

ENTRY cuptiDeviceGetChipName(ChipName* call) {
  if (!good(call) || call->device > 1) return kInvalidParameter;
  call->name = "SI100";
  return 0;
}

ENTRY cuptiProfilerHostInitialize(HostInitialize* call) {
  if (!good(call) || call->profiler != kRangeProfiler || std::strcmp(call->chip, "SI100") != 0)
    return kInvalidParameter;
  call->host = new Host;
  return 0;
}

ENTRY cuptiProfilerHostDeinitialize(HostObject* call) {
  if (!good(call)) return kInvalidParameter;
  delete call->host;
  return 0;
}

ENTRY cuptiProfilerHostConfigAddMetrics(AddMetrics* call) {
  if (!good(call) || call->count == 0) return kInvalidParameter;
  for (std::size_t i = 0; i < call->count; ++i) {
    if (told("lacks") && std::string_view(call->names[i]).starts_with("lts__")) return kInvalidParameter;
    call->host->metrics.emplace_back(call->names[i]);
  }
  return 0;
}

ENTRY cuptiProfilerHostGetConfigImageSize(ConfigSize* call) {
  if (!good(call) || call->host->metrics.empty()) return kInvalidParameter;
  call->size = kConfigBytes;
  return 0;
}

ENTRY cuptiProfilerHostGetConfigImage(ConfigImage* call) {
  if (!good(call) || call->size != kConfigBytes) return kInvalidParameter;
  std::memset(call->image, 0x5c, kConfigBytes);
  return 0;
}

ENTRY cuptiProfilerHostEvaluateToGpuValues(Evaluate* call) {
  if (!good(call) || call->data_size != kDataBytes || call->data[0] != kPasses || call->range != 0)
    return kInvalidParameter;
  for (std::size_t i = 0; i < call->count; ++i) call->values[i] = static_cast<double>(std::strlen(call->names[i]));
  return 0;
}

ENTRY cuptiRangeProfilerEnable(Enable* call) {
  if (!good(call) || call->context == nullptr) return kInvalidParameter;
  if (told("denies")) return kInsufficientPrivileges;
  call->ranges = new Ranges;
  return 0;
}

ENTRY cuptiRangeProfilerDisable(RangesObject* call) {
  if (!good(call)) return kInvalidParameter;
  delete call->ranges;
  return 0;
}

ENTRY cuptiRangeProfilerGetCounterDataSize(DataSize* call) {
  if (!good(call) || call->count == 0 || call->most_ranges != 1 || call->most_nodes < 1) return kInvalidParameter;
  call->size = kDataBytes;
  return 0;
}

ENTRY cuptiRangeProfilerCounterDataImageInitialize(DataInitialize* call) {
  if (!good(call) || call->size != kDataBytes) return kInvalidParameter;
  std::memset(call->data, 0, kDataBytes);
  return 0;
}

ENTRY cuptiRangeProfilerSetConfig(SetConfig* call) {
  if (!good(call) || call->config_size != kConfigBytes || call->config[0] != 0x5c || call->data_size != kDataBytes ||
      call->range != kUserRange || call->replay != kUserReplay || call->ranges_per_pass != 1 ||
      call->nesting_levels != 1 || call->lowest_nesting_level != 1 || call->nesting_level != 1)
    return kInvalidParameter;
  call->ranges->data = call->data;
  return call->ranges->go(State::made, State::set) ? 0 : kInvalidOperation;
}

ENTRY cuptiRangeProfilerStart(RangesObject* call) {
  if (!good(call)) return kInvalidParameter;
  Ranges& r = *call->ranges;
  return r.go(State::set, State::started) || (r.pass < kPasses && r.go(State::stopped, State::started))
             ? 0
             : kInvalidOperation;
}

ENTRY cuptiRangeProfilerPushRange(PushRange* call) {
  if (!good(call) || call->name == nullptr) return kInvalidParameter;
  return call->ranges->go(State::started, State::pushed) ? 0 : kInvalidOperation;
}

ENTRY cuptiRangeProfilerPopRange(RangesObject* call) {
  if (!good(call)) return kInvalidParameter;
  return call->ranges->go(State::pushed, State::popped) ? 0 : kInvalidOperation;
}

ENTRY cuptiRangeProfilerStop(Stop* call) {
  if (!good(call)) return kInvalidParameter;
  if (!call->ranges->go(State::popped, State::stopped)) return kInvalidOperation;
  call->pass = ++call->ranges->pass;
  if (call->pass == 2 && told("fails")) return kUnknown;
  call->all_passes_done = call->pass == kPasses ? 1 : 0;
  return 0;
}

ENTRY cuptiRangeProfilerDecodeData(Decode* call) {
  if (!good(call)) return kInvalidParameter;
  if (call->ranges->pass != kPasses || !call->ranges->go(State::stopped, State::decoded)) return kInvalidOperation;
  call->ranges->data[0] = kPasses;
  return 0;
}
