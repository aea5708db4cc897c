// Reading of hardware counters through CUPTI ("CUPTI", sections "CUPTI Profiler Host API" and "CUPTI Range Profiling
// API"): one range, replayed by us, pass after pass.
#include "device/cuda/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/diag_of.hpp"
#include "base/library.hpp"
#include "device/cuda/cupti_types.hpp"

namespace warploom::device::cuda {
namespace {

using namespace cupti;  // NOLINT: the whole file speaks its language

struct Cupti {
#define WL_CUPTI_ENTRY(member, name, type) Status (*member)(type*) = nullptr;
  WARPLOOM_CUPTI_ENTRIES(WL_CUPTI_ENTRY)
#undef WL_CUPTI_ENTRY
  Status (*result_string)(Status, const char**) = nullptr;

  [[nodiscard]] Result<void> checked(Status status, std::string_view what) const;
};

Result<Cupti> load() {
  auto library = Library::open(
      {"WARPLOOM_CUPTI",
       {"libcupti.so.13", "libcupti.so.12", "libcupti.so", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"},
       "CUPTI",
       "install CUPTI 12.6 or later, of the driver's CUDA version (pip install nvidia-cuda-cupti, or the CUDA "
       "toolkit), or name its file in WARPLOOM_CUPTI"});
  if (!library) return std::move(library.error());
  Cupti cupti;
#define WL_CUPTI_ENTRY(member, name, type) library->take(cupti.member, name);
  WARPLOOM_CUPTI_ENTRIES(WL_CUPTI_ENTRY)
#undef WL_CUPTI_ENTRY
  library->take(cupti.result_string, "cuptiGetResultString");
  WL_TRY(library->complete());
  return cupti;
}

Result<const Cupti*> find_cupti() {
  static const auto& loaded = *new Result<Cupti>(load());
  if (!loaded) return Diag(loaded.error());
  return &*loaded;
}

// The driver lets only administrators read counters unless its module was loaded with another setting.
bool for_administrators_only() {
  std::ifstream file("/proc/driver/nvidia/params");
  for (std::string line; std::getline(file, line);)
    if (line == "RmProfilingAdminOnly: 1") return true;
  return false;
}

Result<void> Cupti::checked(Status status, std::string_view what) const {
  if (status == 0) return {};
  const char* text = nullptr;
  if (result_string(status, &text) != 0 || text == nullptr) text = "an unknown error";
  Diag d;
  d.id = ErrorId::driver_error;
  d.what = fmt::format("{}: CUPTI reports {} ({})", what, text, status);
  d.where = "CUPTI";
  if (status == kInsufficientPrivileges) {
    d.id = ErrorId::not_permitted;
    if (for_administrators_only()) d.what += "; this driver permits counters to administrators alone";
    d.remedy =
        "run as administrator, or load the driver's module with NVreg_RestrictProfilingToAdminUsers=0 (in a container: "
        "give it CAP_SYS_ADMIN)";
  }
  return d;
}

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> out(names.size());
  std::transform(names.begin(), names.end(), out.begin(), [](const std::string& name) { return name.c_str(); });
  return out;
}

// A profiler of the host side, of one chip.
class HostProfiler {
 public:
  static Result<HostProfiler> make(const Cupti& cupti, const char* chip) {
    auto call = made<HostInitialize>();
    call.profiler = kRangeProfiler;
    call.chip = chip;
    WL_TRY(cupti.checked(cupti.host_initialize(&call), fmt::format("counters of the chip {} are not known", chip)));
    return HostProfiler(cupti, call.host);
  }
  HostProfiler(HostProfiler&& other) noexcept : cupti_(other.cupti_), host_(std::exchange(other.host_, nullptr)) {}
  HostProfiler& operator=(HostProfiler&& other) noexcept {
    std::swap(host_, other.host_);
    return *this;
  }
  ~HostProfiler() {
    if (host_ == nullptr) return;
    auto call = made<HostObject>();
    call.host = host_;
    (void)cupti_->host_deinitialize(&call);
  }

  Status add(const std::vector<std::string>& metrics) {
    auto names = pointers(metrics);
    auto call = made<AddMetrics>();
    call.host = host_;
    call.names = names.data();
    call.count = names.size();
    return cupti_->add_metrics(&call);
  }

  Result<std::vector<std::uint8_t>> config() {
    auto size = made<ConfigSize>();
    size.host = host_;
    WL_TRY(cupti_->checked(cupti_->config_size(&size), "the counters cannot be scheduled"));
    std::vector<std::uint8_t> image(size.size);
    auto call = made<ConfigImage>();
    call.host = host_;
    call.size = image.size();
    call.image = image.data();
    WL_TRY(cupti_->checked(cupti_->config_image(&call), "the counters cannot be scheduled"));
    return image;
  }

  // Of the first range.
  Result<std::map<std::string, double>> values(const std::vector<std::uint8_t>& data,
                                               const std::vector<std::string>& metrics) {
    auto names = pointers(metrics);
    std::vector<double> values(metrics.size());
    auto call = made<Evaluate>();
    call.host = host_;
    call.data = data.data();
    call.data_size = data.size();
    call.names = names.data();
    call.count = names.size();
    call.values = values.data();
    WL_TRY(cupti_->checked(cupti_->evaluate(&call), "the counters cannot be evaluated"));
    std::map<std::string, double> out;
    for (std::size_t i = 0; i < metrics.size(); ++i) out[metrics[i]] = values[i];
    return out;
  }

 private:
  HostProfiler(const Cupti& cupti, Host* host) : cupti_(&cupti), host_(host) {}
  const Cupti* cupti_;
  Host* host_;
};

// The profiler of a context, for as long as one kernel is read.
class RangeProfiler {
 public:
  static Result<RangeProfiler> make(const Cupti& cupti, ContextHandle* context) {
    auto call = made<Enable>();
    call.context = context;
    WL_TRY(cupti.checked(cupti.enable(&call), "hardware counters cannot be read"));
    return RangeProfiler(cupti, call.ranges);
  }
  RangeProfiler(RangeProfiler&& other) noexcept
      : cupti_(other.cupti_), ranges_(std::exchange(other.ranges_, nullptr)) {}
  RangeProfiler& operator=(RangeProfiler&&) = delete;
  ~RangeProfiler() {
    if (ranges_ != nullptr) (void)simple(cupti_->disable);
  }

  // Room for what one range counts.
  Result<std::vector<std::uint8_t>> data(const std::vector<std::string>& metrics) {
    auto names = pointers(metrics);
    auto size = made<DataSize>();
    size.ranges = ranges_;
    size.names = names.data();
    size.count = names.size();
    size.most_ranges = 1;
    size.most_nodes = 1;
    WL_TRY(cupti_->checked(cupti_->data_size(&size), "the counters have no room"));
    std::vector<std::uint8_t> out(size.size);
    auto call = made<DataInitialize>();
    call.ranges = ranges_;
    call.size = out.size();
    call.data = out.data();
    WL_TRY(cupti_->checked(cupti_->data_initialize(&call), "the counters have no room"));
    return out;
  }

  Result<void> configure(const std::vector<std::uint8_t>& config, std::vector<std::uint8_t>& data) {
    auto call = made<SetConfig>();
    call.ranges = ranges_;
    call.config_size = config.size();
    call.config = config.data();
    call.data_size = data.size();
    call.data = data.data();
    call.range = kUserRange;
    call.replay = kUserReplay;
    call.ranges_per_pass = 1;
    call.nesting_levels = call.lowest_nesting_level = call.nesting_level = 1;
    return cupti_->checked(cupti_->set_config(&call), "the counters cannot be set up");
  }

  // True after the last pass.
  Result<bool> pass(const std::function<Result<void>()>& run) {
    WL_TRY(cupti_->checked(simple(cupti_->start), "a pass over the counters does not begin"));
    auto push = made<PushRange>();
    push.ranges = ranges_;
    push.name = "kernel";
    WL_TRY(cupti_->checked(cupti_->push_range(&push), "a pass over the counters does not begin"));
    auto ran = run();
    const Status popped = simple(cupti_->pop_range);
    auto call = made<Stop>();
    call.ranges = ranges_;
    const Status stopped = cupti_->stop(&call);
    WL_TRY(std::move(ran));
    WL_TRY(cupti_->checked(popped != 0 ? popped : stopped, "a pass over the counters does not end"));
    return call.all_passes_done != 0;
  }

  Result<void> decode() {
    auto call = made<Decode>();
    call.ranges = ranges_;
    WL_TRY(cupti_->checked(cupti_->decode(&call), "the counters cannot be decoded"));
    if (call.dropped == 0) return {};
    return diag_of(ErrorId::driver_error, "CUPTI dropped the range", {}, "CUPTI");
  }

 private:
  RangeProfiler(const Cupti& cupti, Ranges* ranges) : cupti_(&cupti), ranges_(ranges) {}
  Status simple(Status (*entry)(RangesObject*)) {
    auto call = made<RangesObject>();
    call.ranges = ranges_;
    return entry(&call);
  }
  const Cupti* cupti_;
  Ranges* ranges_;
};

constexpr unsigned kMostPasses = 200;

}  // namespace

struct Counters::State {
  const Cupti& cupti;
  HostProfiler host;
  std::vector<std::string> metrics;
  std::vector<std::uint8_t> config;
};

Counters::Counters(std::unique_ptr<State> state) : state_(std::move(state)) {}
Counters::~Counters() = default;

Result<std::unique_ptr<Counters>> Counters::make(DeviceNumber device, std::vector<std::string> metrics) {
  auto found = find_cupti();
  if (!found) return std::move(found.error());
  const Cupti& cupti = **found;
  auto initialize = made<Initialize>();
  WL_TRY(cupti.checked(cupti.initialize(&initialize), "CUPTI does not start"));
  auto chip = made<ChipName>();
  chip.device = static_cast<std::size_t>(device);
  WL_TRY(cupti.checked(cupti.chip_name(&chip), "CUPTI does not know the GPU"));
  const std::string name = chip.name;
  auto host = HostProfiler::make(cupti, name.c_str());
  if (!host) return std::move(host.error());
  if (Status status = host->add(metrics); status != 0) {
    // One that the chip lacks spoils the others, and what a failed call has added is not said.
    std::vector<std::string> there;
    for (std::string& metric : metrics) {
      auto alone = HostProfiler::make(cupti, name.c_str());
      if (!alone) return std::move(alone.error());
      if (alone->add({metric}) == 0) there.push_back(std::move(metric));
    }
    metrics = std::move(there);
    host = HostProfiler::make(cupti, name.c_str());
    if (!host) return std::move(host.error());
    if (!metrics.empty()) status = host->add(metrics);
    WL_TRY(cupti.checked(status, fmt::format("the chip {} has none of the counters", name)));
  }
  auto config = host->config();
  if (!config) return std::move(config.error());
  return std::unique_ptr<Counters>(
      new Counters(std::unique_ptr<State>(new State{cupti, std::move(*host), std::move(metrics), std::move(*config)})));
}

Result<std::map<std::string, double>> Counters::read(ContextHandle* context,
                                                     const std::function<Result<void>()>& prepare,
                                                     const std::function<Result<void>()>& run) {
  // Kernels between readings run without a profiler.
  auto ranges = RangeProfiler::make(state_->cupti, context);
  if (!ranges) return std::move(ranges.error());
  auto data = ranges->data(state_->metrics);
  if (!data) return std::move(data.error());
  WL_TRY(ranges->configure(state_->config, *data));
  for (unsigned pass = 0;; ++pass) {
    WL_TRY(prepare());
    auto done = ranges->pass(run);
    if (!done) return std::move(done.error());
    if (*done) break;
    if (pass == kMostPasses)
      return diag_of(ErrorId::driver_error, fmt::format("CUPTI wants more than {} passes", kMostPasses), {}, "CUPTI");
  }
  WL_TRY(ranges->decode());
  return state_->host.values(*data, state_->metrics);
}

}  // namespace warploom::device::cuda
