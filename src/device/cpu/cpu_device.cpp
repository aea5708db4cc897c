// Launches: checks against the profile, the grid over the workers, counters to observers.
#include "device/cpu/cpu_device.hpp"
#include "device/cpu/launch_clock.hpp"
#include "device/launch_checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "base/cores.hpp"
#include "base/readable.hpp"
#include "cache/store.hpp"

namespace warploom::device {

namespace {

std::uint64_t default_limit(const CpuOptions& options, const isa::GpuProfile& profile) {
  if (options.memory_limit != 0) return options.memory_limit;
  const auto host =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  return profile.memory_bytes == 0 ? host / 10 * 9 : std::min(profile.memory_bytes, host / 10 * 9);
}

unsigned worker_count(const CpuOptions& options) {
  if (options.deterministic) return 1;
  return options.threads != 0 ? options.threads : usable_cores();
}

// Of the largest cache.
std::uint64_t cache_bytes() {
  static const std::uint64_t bytes = [] {
    const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    constexpr std::uint64_t usual = 32ULL << 20;
    return l3 > 0 ? static_cast<std::uint64_t>(l3) : l2 > 0 ? static_cast<std::uint64_t>(l2) : usual;
  }();
  return bytes;
}

// From the raw counters of all workers to counts by site.
observe::LaunchCounts collect(const codegen::KernelCode& code, const std::vector<std::uint64_t>& raw) {
  const codegen::KernelPlan& plan = code.plan();
  const codegen::CounterLayout layout{plan.f().blocks.size(), plan.sites.size()};
  observe::LaunchCounts out;
  out.access.resize(plan.sites.size());
  out.branch.resize(plan.sites.size());
  for (std::size_t b = 0; b < plan.f().blocks.size(); ++b) {
    const std::uint64_t full = raw[layout.block(b)], part = raw[layout.block(b) + 1], lanes = raw[layout.block(b) + 2];
    const auto& insts = plan.f().blocks[b].insts;
    out.warp_instructions += (full + part) * insts.size();
    out.thread_instructions += (full * 32 + lanes) * insts.size();
    for (const ir::Inst& inst : insts) {
      for (const std::int32_t site : {inst.site, inst.second_site}) {
        if (site < 0) continue;
        const auto s = static_cast<std::size_t>(site);
        const std::uint64_t* dynamic = &raw[layout.site(s)];
        if (plan.sites[s].kind == observe::Site::Kind::branch) {
          out.branch[s].executed = full + part;
          out.branch[s].active_lanes = full * 32 + lanes;
          out.branch[s].divergent = dynamic[0];
          continue;
        }
        if (plan.sites[s].kind != observe::Site::Kind::access) continue;
        const codegen::StaticCount& fixed = code.static_counts()[s];
        std::size_t k = s;
        do {  // a generic access's alternatives too
          observe::AccessCounts& a = out.access[k];
          a = {dynamic[0], dynamic[1], dynamic[2], dynamic[3], dynamic[4], dynamic[5]};
          dynamic += codegen::CounterLayout::kStep;
        } while (++k < plan.sites.size() && plan.sites[k].alternative);
        out.access[s] += {full * fixed.requests,   full * fixed.sectors,          full * fixed.ideal_sectors,
                          full * fixed.wavefronts, full * fixed.ideal_wavefronts, full * fixed.lanes};
      }
    }
  }
  return out;
}

}  // namespace

CpuDevice::CpuDevice(const CpuOptions& options, isa::GpuProfile profile)
    : options_(options),
      profile_(std::move(profile)),
      memory_(default_limit(options, profile_)),
      pool_(worker_count(options)) {
  install_fault_handler();
}

CpuDevice::~CpuDevice() {
  for (const observe::ManagedFacts& facts : managed_.all())
    tell_memory_observers([&](observe::MemoryObserver& o) { o.managed_memory(facts); });
}

Result<std::unique_ptr<Device>> open_cpu(const CpuOptions& options) {
  cache::read_settings();
  auto profile = isa::find_profile(options.profile);
  if (!profile) return std::move(profile.error());
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(options, *profile));
}

Result<std::shared_ptr<Module>> CpuDevice::load(std::string ptx, std::string name) {
  auto module = CpuModule::load(*this, std::move(ptx), std::move(name));
  if (!module) return std::move(module.error());
  return std::shared_ptr<Module>(*module);
}

Result<std::shared_ptr<Module>> CpuDevice::load_linked(std::vector<PtxText> texts, std::string name) {
  auto module = CpuModule::load_linked(*this, std::move(texts), std::move(name));
  if (!module) return std::move(module.error());
  return std::shared_ptr<Module>(*module);
}

void CpuDevice::add_observer(std::shared_ptr<observe::Observer> observer) {
  const std::lock_guard lock(observers_mutex_);
  observers_.push_back(std::move(observer));
  observed_.store(true, std::memory_order_release);
}

void CpuDevice::clear_observers() {
  const std::lock_guard lock(observers_mutex_);
  observers_.clear();
  observed_.store(false, std::memory_order_release);
}

void CpuDevice::tell_memory_observers(const std::function<void(observe::MemoryObserver&)>& tell) {
  if (!observed()) return;
  Observers observers;
  {
    const std::lock_guard lock(observers_mutex_);
    observers = observers_;
  }
  for (const auto& observer : observers)
    if (auto* memory = dynamic_cast<observe::MemoryObserver*>(observer.get())) tell(*memory);
}

void CpuDevice::report_releases(const observe::ReleaseFacts& facts) {
  tell_memory_observers([&](observe::MemoryObserver& o) { o.releases(facts); });
}

Result<void*> CpuDevice::allocate_managed(std::size_t bytes, bool tracked, Origin origin) {
  auto address = managed_.allocate(bytes, tracked || observed(), origin);
  if (!address) return address;
  if (auto registered = memory_.register_host(*address, bytes); !registered) {
    managed_.release(*address);
    return std::move(registered.error());
  }
  return address;
}

void CpuDevice::release_managed(void* address) {
  memory_.unregister_host(address);
  if (const auto facts = managed_.release(address))
    tell_memory_observers([&](observe::MemoryObserver& o) { o.managed_memory(*facts); });
}

// A launch, as managed memory sees it.
class CpuDevice::Launching {
 public:
  explicit Launching(CpuDevice& device) : device_(device), seen_(device.managed_.any_tracked()) {
    if (seen_) device_.managed_.launch_begins();
  }
  ~Launching() {
    if (!seen_) return;
    device_.managed_.launch_ends();
    if (!device_.observed()) return;
    for (const observe::ManagedFacts& facts : device_.managed_.all())
      device_.tell_memory_observers([&](observe::MemoryObserver& o) { o.managed_memory(facts); });
  }
  Launching(const Launching&) = delete;
  Launching& operator=(const Launching&) = delete;

 private:
  CpuDevice& device_;
  const bool seen_;
};

void CpuDevice::set_launch_log(std::shared_ptr<observe::LaunchLog> log) {
  const std::lock_guard lock(observers_mutex_);
  launch_log_ = std::move(log);
  logged_ = launch_log_ != nullptr;
}

std::shared_ptr<observe::LaunchLog> CpuDevice::launch_log() {
  if (!logged_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(observers_mutex_);
  return launch_log_;
}

// Large copies are shared out: one core does not use all of the memory's bandwidth, and pages that are touched for the
// first time are cleared.
Result<void> CpuDevice::copy(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t piece = std::size_t{2} << 20;
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const bool apart = std::less_equal<>()(target + bytes, source) || std::less_equal<>()(source + bytes, target);
  if (bytes < 4 * piece || !apart) return Device::copy(to, from, bytes);
  pool_.share((bytes + piece - 1) / piece, [&](std::uint64_t i) {
    const std::size_t at = i * piece;
    std::memcpy(target + at, source + at, std::min(piece, bytes - at));
  });
  return {};
}

bool CpuDevice::reads(const void* address) const {
  // Tracked managed memory lets kernels in when they touch it, and nobody else.
  return memory_.contains(reinterpret_cast<std::uint64_t>(address), 1) || managed_.any_tracked() || readable(address);
}

Result<void> CpuDevice::check_launch(Kernel& kernel_, const Launch& launch) {
  auto& kernel = static_cast<CpuKernel&>(kernel_);
  WL_TRY(check_shape(profile_, kernel.declaration(), launch));
  auto function = kernel.function();
  if (!function) return std::move(function.error());
  auto shared = kernel.shared_bytes(launch.shared_bytes);
  if (!shared) return std::move(shared.error());
  return check_resources(profile_, kernel.declaration(), launch, {(*function)->shared_bytes, *shared});
}

Result<void> CpuDevice::run(Kernel& kernel, const Launch& launch) {
  WL_TRY(check_launch(kernel, launch));
  return run_checked(kernel, launch);
}

Result<void> CpuDevice::run_checked(Kernel& kernel_, const Launch& launch) {
  auto& kernel = static_cast<CpuKernel&>(kernel_);
  LaunchClock clock(launch_log(), kernel, launch);
  Observers observers;
  if (observed_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(observers_mutex_);
    observers = observers_;
  }
  AddressRanges forbidden = peers_.forbidden(launch.params);
  const bool checking = !forbidden.empty();
  auto found = kernel.version(launch.block, !observers.empty(), checking);
  if (!found) return std::move(found.error());
  clock.has(*(*found)->code);
  if (!checking) request_versions(*(*found)->code, launch);
  auto shared = kernel.shared_bytes(launch.shared_bytes);
  if (!shared) return std::move(shared.error());
  auto done = run_version(kernel, **found, launch, *shared, observers, std::move(forbidden));
  if (done) clock.succeeded();
  return done;
}

// A kernel's version for a block shape and its shared memory, found once.
class CpuDevice::Prepared final : public PreparedLaunch {
 public:
  Prepared(CpuDevice& device, CpuKernel& kernel, Launch launch, CpuKernel::Version& version, std::uint32_t shared_bytes)
      : device_(device), kernel_(kernel), launch_(std::move(launch)), version_(version), shared_bytes_(shared_bytes) {}
  Result<void> run() override {
    if (device_.observed_.load(std::memory_order_acquire) || device_.logged_.load(std::memory_order_acquire) ||
        !device_.peers_.forbidden(launch_.params).empty())
      return device_.run_checked(kernel_, launch_);
    return device_.run_version(kernel_, version_, launch_, shared_bytes_, {}, {});
  }

 private:
  CpuDevice& device_;
  CpuKernel& kernel_;
  const Launch launch_;
  CpuKernel::Version& version_;
  const std::uint32_t shared_bytes_;
};

Result<std::unique_ptr<PreparedLaunch>> CpuDevice::prepare(Kernel& kernel_, Launch launch) {
  auto& kernel = static_cast<CpuKernel&>(kernel_);
  auto found = kernel.version(launch.block, false, false);
  if (!found) return std::move(found.error());
  request_versions(*(*found)->code, launch);
  auto shared = kernel.shared_bytes(launch.shared_bytes);
  if (!shared) return std::move(shared.error());
  return std::unique_ptr<PreparedLaunch>(
      std::make_unique<Prepared>(*this, kernel, std::move(launch), **found, *shared));
}

Result<void> CpuDevice::run_version(CpuKernel& kernel, CpuKernel::Version& version, const Launch& launch,
                                    std::uint32_t shared_bytes, const Observers& observers, AddressRanges forbidden) {
  codegen::KernelCode& code = *version.code;
  Grid grid;
  grid.code = &code;
  grid.device = this;
  grid.forbidden = std::move(forbidden);
  const bool conservative = options_.unoptimised || !grid.forbidden.empty();
  if (observers.empty() && !conservative && options_.tier != Tier::compiled) {
    grid.tier = options_.tier;
    grid.program = [&kernel, &version] { return kernel.program(version); };
    grid.loop_code = [&kernel, &version] { return kernel.loop_code(version); };
  }
  grid.launch = &launch;
  grid.pool = &pool_;
  grid.priority = launch.priority;
  grid.params = launch.params.data();
  grid.shared_bytes = shared_bytes;
  grid.blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  grid.id = next_grid_.fetch_add(1, std::memory_order_relaxed);
  grid.one_by_one = code.plan().spins || launch.cooperative;
  const std::uint64_t all_threads = grid.blocks * launch.block[0] * launch.block[1] * launch.block[2];
  grid.stream_from = static_cast<std::uint32_t>(std::min<std::uint64_t>(cache_bytes() / all_threads + 1, UINT32_MAX));
  grid.cluster = cluster_of(launch, kernel.declaration());
  grid.in_clusters = launch.cluster[0] != 0 || kernel.declaration().reqnctapercluster.x != 0;
  grid.cluster_blocks = grid.cluster[0] * grid.cluster[1] * grid.cluster[2];
  // Memory in which blocks of a cooperative grid count themselves: its size, and the barrier's word.
  struct Workspace {
    DeviceMemory& memory;
    void* at = nullptr;
    ~Workspace() {
      if (at != nullptr && !memory.release(at)) at = nullptr;
    }
  } workspace{memory_};
  if (launch.cooperative) {
    constexpr std::size_t bytes = 16;
    auto at = memory_.allocate(bytes, "barrier of a cooperative grid");
    if (!at) return std::move(at.error());
    workspace.at = *at;
    const std::uint32_t words[4] = {bytes, 0, 0, 0};
    std::memcpy(workspace.at, words, sizeof words);
    grid.workspace = reinterpret_cast<std::uint64_t>(workspace.at);
  }
  grid.order = BlockOrder(launch.grid, !grid.one_by_one && !options_.deterministic);
  if (grid.in_clusters) {
    grid.order.in_clusters(grid.cluster);
    grid.blocks /= grid.cluster_blocks;
  }
  grid.start_conservative = conservative;
  grid.resolve = [&kernel](const std::string& name) { return kernel.module().address_of(name); };
  if (!observers.empty())
    grid.counters.assign(codegen::CounterLayout{code.plan().f().blocks.size(), code.plan().sites.size()}.size(), 0);
  const float block_seconds = version.block_seconds.load(std::memory_order_relaxed);
  const std::optional<Launching> launching(std::in_place, *this);
  const auto start = std::chrono::steady_clock::now();
  const unsigned threads = pool_.run(grid, static_cast<double>(block_seconds) * static_cast<double>(grid.blocks));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // Forgets slowly, because a helper too many costs less than one too few.
  const auto measured = static_cast<float>(seconds * threads / static_cast<double>(grid.blocks));
  version.block_seconds.store(std::max(measured, block_seconds * 0.75F), std::memory_order_relaxed);

  if (!observers.empty()) {
    auto facts = kernel.facts();
    if (!facts) return std::move(facts.error());
    facts->sites = code.plan().sites;
    observe::LaunchFacts lf{launch.grid, launch.block, launch.shared_bytes, seconds};
    const observe::LaunchCounts counts = collect(code, grid.counters);
    for (const auto& o : observers) {
      if (grid.error)
        o->launch_failed(*facts, lf, *grid.error);
      else
        o->launch_done(*facts, lf, counts);
    }
  }
  if (grid.error) return std::move(*grid.error);
  return {};
}

// The versions that a launch begins with are compiled together.
void CpuDevice::request_versions(codegen::KernelCode& code, const Launch& launch) const {
  const auto request = [&](codegen::Mode mode) {
    if (code.ready(mode) == nullptr) code.request(mode);
  };
  if (options_.tier == Tier::interpreter) return;
  if (options_.unoptimised) {
    request(codegen::Mode::conservative);
    return;
  }
  const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads >= 32) request(code.plan().main_mode());
  if (threads % 32 != 0) request(codegen::Mode::masked);
  if (options_.tier != Tier::mixed) return;
  // The test of changes wants all of them; errors come again at the launch.
  for (const codegen::Mode mode : {code.plan().main_mode(), codegen::Mode::uniform, codegen::Mode::masked})
    if (auto made = code.entry(mode); !made) return;
}

}  // namespace warploom::device
