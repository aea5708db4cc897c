// Timing of launches by the GPU's clock for `warploom explain`: warm, several times from the same memory, and once more
// for hardware counters.
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/counters.hpp"
#include "device/cuda/cuda_device.hpp"
#include "observe/gpu_times.hpp"

namespace warploom::device::cuda {
namespace {

// CU_DEVICE_ATTRIBUTE_CLOCK_RATE, _MEMORY_CLOCK_RATE and _GLOBAL_MEMORY_BUS_WIDTH: kilohertz, kilohertz and bits.
constexpr auto kClock = static_cast<DeviceAttribute>(13), kMemoryClock = static_cast<DeviceAttribute>(36),
               kBusWidth = static_cast<DeviceAttribute>(37);

bool counters_wanted() {
  const char* variable = std::getenv("WARPLOOM_GPU_COUNTERS");
  return variable == nullptr || std::string_view(variable) != "0";
}

}  // namespace

// The memory that a launch can change, kept aside.
class CudaDevice::Snapshot {
 public:
  // None: there is too much of it.
  static std::unique_ptr<Snapshot> take(CudaDevice& device, CudaModule& module, StreamHandle* stream) {
    std::unique_ptr<Snapshot> out(new Snapshot(device, stream));
    std::size_t total = 0;
    const auto add = [&](std::uintptr_t address, std::size_t bytes) {
      if (bytes == 0) return;
      out->ranges_.push_back({address, total, bytes});
      total += (bytes + 255) / 256 * 256;
    };
    {
      const std::lock_guard lock(device.memory_mutex_);
      for (const auto& [address, block] : device.allocations_) add(address, block.bytes);
      for (const auto& [address, bytes] : device.host_ranges_) add(address, bytes);
    }
    for (const std::string& name : module.global_names())
      if (const auto global = module.global(name))
        add(reinterpret_cast<std::uintptr_t>(global->address), global->bytes);
    constexpr std::size_t most = std::size_t{16} << 30;
    if (total > most || total > device.free_bytes() / 2) return nullptr;
    if (total != 0 && device.driver_.allocate(&out->kept_, total) != 0) return nullptr;
    for (const Range& r : out->ranges_)
      if (device.driver_.copy(out->kept_ + r.at, r.address, r.bytes, stream) != 0) return nullptr;
    return out;
  }
  ~Snapshot() {
    (void)device_.driver_.stream_synchronize(stream_);
    if (kept_ != 0) (void)device_.driver_.release(kept_);
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  Result<void> restore() const {
    for (const Range& r : ranges_)
      WL_TRY(device_.checked(device_.driver_.copy(r.address, kept_ + r.at, r.bytes, stream_), "memory as it was"));
    return {};
  }

 private:
  struct Range {
    DevicePointer address;
    std::size_t at, bytes;
  };
  Snapshot(CudaDevice& device, StreamHandle* stream) : device_(device), stream_(stream) {}

  CudaDevice& device_;
  StreamHandle* const stream_;
  DevicePointer kept_ = 0;
  std::vector<Range> ranges_;
};

void CudaDevice::set_gpu_times(std::shared_ptr<observe::GpuTimes> times) {
  const auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    return driver_.device_attribute(&value, which, number_) == 0 && value > 0 ? value : 0;
  };
  observe::GpuFacts facts;
  facts.name = profile_.title;
  facts.driver = static_cast<std::uint32_t>(driver_.version);
  facts.multiprocessors = profile_.sm_count;
  facts.clock_hz = 1e3 * attribute(kClock);
  // Both edges of the memory's clock carry data.
  facts.memory_bytes_per_second = 2e3 * attribute(kMemoryClock) * attribute(kBusWidth) / 8;
  times->set_gpu(facts);
  times->set_why_no_counters(counters_wanted() ? "no kernel could be run again" : "they were not asked for");
  gpu_times_ = std::move(times);
}

Result<void> CudaDevice::measure(CudaKernel& kernel, const Launch& launch, CudaQueue& queue, observe::GpuTimes& times) {
  StreamHandle* const stream = queue.handle();
  const observe::LaunchTime what{kernel.name(), launch.grid, launch.block, launch.shared_bytes, {}, 0, 0, false};
  // One launch at a time, and nothing beside it.
  const std::lock_guard lock(measure_mutex_);
  WL_TRY(checked(driver_.synchronize(), "earlier work"));
  auto first = CudaMark::make(*this, stream), last = CudaMark::make(*this, stream);
  if (!first) return std::move(first.error());
  if (!last) return std::move(last.error());
  const auto run = [&](std::vector<double>& seconds) -> Result<void> {
    WL_TRY(checked(driver_.event_record((*first)->handle(), stream), "an event cannot be recorded"));
    WL_TRY(enqueue(kernel, launch, stream));
    WL_TRY(checked(driver_.event_record((*last)->handle(), stream), "an event cannot be recorded"));
    WL_TRY(queue.wait());
    auto ms = (*last)->ms_since(**first);
    if (!ms) return std::move(ms.error());
    seconds.push_back(*ms * 1e-3);
    return {};
  };
  std::vector<double> seconds;
  const auto snapshot = times.is_new(what) ? Snapshot::take(*this, kernel.module(), stream) : nullptr;
  WL_TRY(run(seconds));
  if (snapshot) {
    seconds.clear();
    for (unsigned i = 0; i < observe::GpuTimes::kRepeats; ++i) {
      WL_TRY(snapshot->restore());
      WL_TRY(run(seconds));
    }
  }
  observe::GpuCounters counters;
  if (snapshot && counters_wanted() && !no_counters_) {
    auto read = read_counters([&] { return snapshot->restore(); },
                              [&]() -> Result<void> {
                                WL_TRY(enqueue(kernel, launch, stream));
                                return queue.wait();
                              });
    if (read) {
      counters = std::move(*read);
    } else {
      no_counters_ = true;
      const Diag& why = read.error();
      times.set_why_no_counters(why.remedy.empty() ? why.what : why.what + " (" + why.remedy + ")");
      // A pass may have ended anywhere.
      WL_TRY(snapshot->restore());
      WL_TRY(run(seconds));
      seconds.pop_back();
    }
  }
  times.add(what, seconds, snapshot != nullptr, std::move(counters));
  return {};
}

Result<observe::GpuCounters> CudaDevice::read_counters(const std::function<Result<void>()>& prepare,
                                                       const std::function<Result<void>()>& run) {
  if (!counters_) {
    auto made = Counters::make(number_, observe::gpu_counter_metrics());
    if (!made) return std::move(made.error());
    counters_ = std::move(*made);
  }
  return counters_->read(context_, prepare, run);
}

}  // namespace warploom::device::cuda
