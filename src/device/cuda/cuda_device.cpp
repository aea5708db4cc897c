// The CUDA device: opening and resetting it, launches and what the driver says of them.
#include "device/cuda/counters.hpp"
#include "base/diag_of.hpp"
#include "device/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "device/cuda/narrow_stores.hpp"
#include "device/launch_checks.hpp"
#include "ir/flatten.hpp"
#include "ptx/link.hpp"

namespace warploom::device {
namespace cuda {
namespace {

// The GPU's limits as its driver tells them; what no attribute tells is that of the nearest modelled GPU.
Result<isa::GpuProfile> profile_of(const Driver& driver, DeviceNumber number) {
  char title[256] = {};
  std::size_t memory = 0;
  Status status = driver.device_name(title, sizeof title - 1, number);
  if (status == 0) status = driver.device_memory(&memory, number);
  const auto ask = [&](DeviceAttribute which) {
    int value = 0;
    if (status == 0) status = driver.device_attribute(&value, which, number);
    return static_cast<std::uint32_t>(value);
  };
  using enum DeviceAttribute;
  const std::uint32_t sm = ask(compute_major) * 10 + ask(compute_minor);
  isa::GpuProfile out;
  for (const std::string& name : isa::profile_names()) {
    auto modelled = isa::find_profile(name);
    if (!modelled) return std::move(modelled.error());
    const bool same = modelled->title == title;
    if (same || (modelled->sm == sm && out.sm != sm)) out = *modelled;
    if (same) break;
  }
  if (out.title != title) out.name = "cuda";
  out.title = title;
  out.sm = sm;
  out.memory_bytes = memory;
  out.sm_count = ask(multiprocessors);
  out.max_threads_per_block = ask(max_threads_per_block);
  out.max_block = {ask(max_block_x), ask(max_block_y), ask(max_block_z)};
  out.max_grid = {ask(max_grid_x), ask(max_grid_y), ask(max_grid_z)};
  out.static_shared_limit = ask(max_shared_per_block);
  out.shared_per_block = ask(max_shared_per_block_optin);
  out.shared_per_sm = ask(max_shared_per_multiprocessor);
  out.reserved_shared_per_block = ask(reserved_shared_per_block);
  out.registers_per_sm = ask(max_registers_per_multiprocessor);
  out.threads_per_sm = ask(max_threads_per_multiprocessor);
  out.blocks_per_sm = ask(max_blocks_per_multiprocessor);
  if (status != 0) return driver_error(driver, status, "the GPU does not tell its limits");
  return out;
}

// A launch with what the plain call has no parameters for.
struct FullSettings {
  FullSettings(const Launch& launch, StreamHandle* stream)
      : settings{{launch.grid[0], launch.grid[1], launch.grid[2]},
                 {launch.block[0], launch.block[1], launch.block[2]},
                 launch.shared_bytes,
                 stream,
                 attributes,
                 0} {
    if (launch.cooperative) {
      LaunchAttribute& a = attributes[settings.attribute_count++];
      a.id = kAttributeCooperative;
      a.value.cooperative = 1;
    }
    if (launch.cluster[0] != 0) {
      LaunchAttribute& a = attributes[settings.attribute_count++];
      a.id = kAttributeCluster;
      std::copy(launch.cluster.begin(), launch.cluster.end(), a.value.cluster);
    }
  }
  FullSettings(const FullSettings&) = delete;
  FullSettings& operator=(const FullSettings&) = delete;

  LaunchAttribute attributes[2] = {};
  LaunchSettings settings;
};

// cuOccupancyMaxPotentialBlockSize calls back without a place for our function.
thread_local const std::function<std::size_t(std::uint32_t)>* shared_of_block = nullptr;

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const CudaOptions& options) {
  auto driver = find_driver();
  if (!driver) return std::move(driver.error());
  const Driver& d = **driver;
  if (options.number >= static_cast<unsigned>(d.devices)) {
    Diag diag;
    diag.id = ErrorId::invalid_device;
    diag.what = fmt::format("there is no GPU number {}: the driver has {}", options.number, d.devices);
    diag.remedy = "count GPUs from 0; CUDA_VISIBLE_DEVICES may hide some";
    return diag;
  }
  DeviceNumber number = 0;
  if (const Status status = d.device_get(&number, static_cast<int>(options.number)); status != 0)
    return driver_error(d, status, "the GPU cannot be opened");
  auto profile = profile_of(d, number);
  if (!profile) return std::move(profile.error());
  std::unique_ptr<CudaDevice> device(new CudaDevice(d, number, *profile));
  WL_TRY(device->checked(d.retain_context(&device->context_, number), "the GPU gives no context"));
  WL_TRY(device->enter());
  auto own = CudaQueue::make(*device, false, 0);
  if (!own) return std::move(own.error());
  device->own_ = std::move(*own);
  return device;
}

CudaDevice::CudaDevice(const Driver& driver, DeviceNumber number, isa::GpuProfile profile)
    : driver_(driver), number_(number), profile_(std::move(profile)), limit_(profile_.memory_bytes) {}

CudaDevice::~CudaDevice() {
  math_.forget();
  own_.reset();
  for (EventHandle* event : spare_events_.take_all())
    if (enter()) (void)driver_.event_destroy(event);
  if (context_ != nullptr && !lost_) (void)driver_.release_context(number_);
}

std::string CudaDevice::place() const { return fmt::format("cuda:{} ({})", number_, profile_.title); }

Result<void> CudaDevice::checked(Status status, std::string_view what) const {
  if (status == 0) return {};
  Diag d = driver_error(driver_, status, what);
  d.where = place();
  return d;
}

int CudaDevice::attribute(DeviceAttribute which) const {
  int value = 0;
  (void)driver_.device_attribute(&value, which, number_);
  return value;
}

Result<void> CudaDevice::usable() const {
  if (!lost_.load(std::memory_order_acquire)) return {};
  return diag_of(ErrorId::invalid_context, "the GPU's context was lost to an earlier error",
                 "start the process again: CUDA lets no process use a GPU after such an error", place());
}

Result<void> CudaDevice::enter() const {
  WL_TRY(usable());
  ContextHandle* current = nullptr;
  if (driver_.get_context(&current) == 0 && current == context_) return {};
  return checked(driver_.set_context(context_), "the GPU's context cannot be used");
}

CudaQueue& CudaDevice::here() const {
  auto* queue = static_cast<CudaQueue*>(Queue::current());
  return queue != nullptr && &queue->device() == this ? *queue : *own_;
}

Result<void> CudaDevice::finish(CudaQueue& queue) const {
  if (&queue != own_.get()) return {};
  return queue.wait();
}

void CudaDevice::keep_context() {
  ContextHandle* same = nullptr;
  if (!kept_.exchange(true)) (void)driver_.retain_context(&same, number_);
}

Result<std::unique_ptr<Queue>> CudaDevice::make_queue(const QueueOptions& options) {
  if (options.legacy) return std::unique_ptr<Queue>(CudaQueue::legacy(*this));
  auto made = options.adopt != 0 ? CudaQueue::adopt(*this, options.adopt)
                                 : CudaQueue::make(*this, options.blocking, options.priority);
  if (!made) return std::move(made.error());
  return std::unique_ptr<Queue>(std::move(*made));
}

// ---- modules ----

Result<std::shared_ptr<Module>> CudaDevice::load(std::string ptx, std::string name) {
  auto text = ptx::parse(ptx, name);
  if (!text) return std::move(text.error());
  auto module = CudaModule::load(*this, *text, with_narrow_stores_kept(**text).c_str(), std::move(name));
  if (!module) return std::move(module.error());
  return std::shared_ptr<Module>(std::move(*module));
}

Result<std::shared_ptr<Module>> CudaDevice::load_linked(std::vector<PtxText> texts, std::string name) {
  // Our own linker first: its messages are better, and its module says what kernels and variables there are.
  std::vector<std::shared_ptr<const ptx::Module>> modules;
  for (PtxText& one : texts) {
    auto module = ptx::parse(one.text, one.name);
    if (!module) return std::move(module.error());
    modules.push_back(*module);
    one.text = with_narrow_stores_kept(**module);
  }
  auto linked = ptx::link(modules, name, ir::is_provided);
  if (!linked) return std::move(linked.error());
  WL_TRY(enter());
  LinkHandle* link = nullptr;
  JitLog log;
  WL_TRY(checked(driver_.link_create(JitLog::kOptions, log.keys, log.values, &link), "no linker"));
  struct Owner {
    const Driver& driver;
    LinkHandle* link;
    ~Owner() { (void)driver.link_destroy(link); }
  } owner{driver_, link};
  constexpr int kPtx = 1;  // CU_JIT_INPUT_PTX
  for (PtxText& one : texts) {
    const Status status =
        driver_.link_add(link, kPtx, one.text.data(), one.text.size() + 1, one.name.c_str(), 0, nullptr, nullptr);
    WL_TRY(checked(status, fmt::format("{} is not taken by the driver's linker: {}", one.name, log.text)));
  }
  void* image = nullptr;
  std::size_t bytes = 0;
  WL_TRY(checked(driver_.link_complete(link, &image, &bytes),
                 fmt::format("the driver does not link {}: {}", name, log.text)));
  auto module = CudaModule::load(*this, *linked, image, std::move(name));
  if (!module) return std::move(module.error());
  return std::shared_ptr<Module>(std::move(*module));
}

// ---- launches ----

Result<void> CudaDevice::check_launch(Kernel& kernel_, const Launch& launch) {
  auto& kernel = static_cast<CudaKernel&>(kernel_);
  WL_TRY(check_shape(profile_, kernel.declaration(), launch));
  auto fixed = kernel.fixed_shared_bytes();
  if (!fixed) return std::move(fixed.error());
  const std::uint64_t all = std::uint64_t{*fixed} + launch.shared_bytes;
  WL_TRY(check_resources(profile_, kernel.declaration(), launch, {*fixed, all}));
  if (all > profile_.static_shared_limit) return kernel.allow_shared(launch.shared_bytes);
  return {};
}

Result<void> CudaDevice::run(Kernel& kernel, const Launch& launch) {
  WL_TRY(check_launch(kernel, launch));
  return run_checked(kernel, launch);
}

Result<void> CudaDevice::enqueue(const CudaKernel& kernel, const Launch& launch, StreamHandle* stream) const {
  thread_local std::vector<void*> parameters;
  parameters.clear();
  for (const ParamInfo& p : kernel.params())
    parameters.push_back(const_cast<std::byte*>(launch.params.data()) + p.offset);
  const auto& g = launch.grid;
  const auto& b = launch.block;
  const auto call = [&] {
    if (!launch.cooperative && launch.cluster[0] == 0)
      return driver_.launch(kernel.handle(), g[0], g[1], g[2], b[0], b[1], b[2], launch.shared_bytes, stream,
                            parameters.data(), nullptr);
    const FullSettings full(launch, stream);
    return driver_.launch_with(&full.settings, kernel.handle(), parameters.data(), nullptr);
  };
  auto given = inside(call);
  if (!given) return std::move(given.error());
  const Status status = *given;
  if (status == 0) return {};
  return driver_error(driver_, status, "the launch of kernel " + kernel.name());
}

Result<void> CudaDevice::run_checked(Kernel& kernel_, const Launch& launch) {
  auto& kernel = static_cast<CudaKernel&>(kernel_);
  CudaQueue& queue = here();
  queue.launched({&kernel.lasting_name(), launch.site});
  const auto log = launch_log();
  if (log == nullptr) {
    if (gpu_times_ != nullptr) {
      WL_TRY(enter());
      return measure(kernel, launch, queue, *gpu_times_);
    }
    WL_TRY(enqueue(kernel, launch, queue.handle()));
    return finish(queue);
  }
  // A launch that is timed is waited for.
  WL_TRY(queue.wait());
  const auto start = std::chrono::steady_clock::now();
  auto done =
      gpu_times_ != nullptr ? measure(kernel, launch, queue, *gpu_times_) : enqueue(kernel, launch, queue.handle());
  if (done) done = queue.wait();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  log->launch_ended({kernel.name(), launch.grid, launch.block, launch.shared_bytes, start, passed.count(), 0, !done});
  return done;
}

Result<std::optional<std::uint32_t>> CudaDevice::resident_blocks(Kernel& kernel_, std::uint32_t threads,
                                                                 std::size_t dynamic_shared) {
  auto& kernel = static_cast<CudaKernel&>(kernel_);
  WL_TRY(enter());
  WL_TRY(kernel.allow_shared(static_cast<std::uint32_t>(dynamic_shared)));
  int blocks = 0;
  WL_TRY(checked(driver_.resident_blocks(&blocks, kernel.handle(), static_cast<int>(threads), dynamic_shared),
                 "the occupancy of kernel " + kernel.name()));
  return std::optional(static_cast<std::uint32_t>(blocks));
}

Result<std::optional<std::uint32_t>> CudaDevice::resident_clusters(Kernel& kernel_, const Launch& launch) {
  auto& kernel = static_cast<CudaKernel&>(kernel_);
  WL_TRY(enter());
  WL_TRY(kernel.allow_shared(launch.shared_bytes));
  const FullSettings full(launch, nullptr);
  int clusters = 0;
  WL_TRY(checked(driver_.resident_clusters(&clusters, kernel.handle(), &full.settings),
                 "the occupancy of kernel " + kernel.name()));
  return std::optional(static_cast<std::uint32_t>(clusters));
}

Result<std::optional<Device::BlockChoice>> CudaDevice::best_block(
    Kernel& kernel_, const std::function<std::size_t(std::uint32_t)>& dynamic_shared, std::uint32_t limit) {
  auto& kernel = static_cast<CudaKernel&>(kernel_);
  WL_TRY(enter());
  auto fixed = kernel.fixed_shared_bytes();
  if (!fixed) return std::move(fixed.error());
  WL_TRY(kernel.allow_shared(profile_.shared_per_block - std::min(*fixed, profile_.shared_per_block)));
  int grid = 0, block = 0;
  shared_of_block = &dynamic_shared;
  const Status status = driver_.best_block(
      &grid, &block, kernel.handle(), [](int size) { return (*shared_of_block)(static_cast<std::uint32_t>(size)); }, 0,
      static_cast<int>(limit));
  shared_of_block = nullptr;
  WL_TRY(checked(status, "the best block of kernel " + kernel.name()));
  return std::optional(BlockChoice{static_cast<std::uint32_t>(grid), static_cast<std::uint32_t>(block)});
}

Result<void> CudaDevice::synchronize() {
  WL_TRY(enter());
  return checked(driver_.synchronize(), "work on the GPU failed");
}

Result<void> CudaDevice::reset() {
  math_.forget();
  {
    const std::lock_guard lock(memory_mutex_);
    allocations_.clear();
    reserved_.clear();
    managed_.clear();
    host_ranges_.clear();
    taken_.clear();
    taken_bytes_ = 0;
  }
  // The context is the same object afterwards; what was made in it is gone.
  ContextHandle* context = nullptr;
  Status status = driver_.reset_context(number_);
  if (status == 0) status = driver_.retain_context(&context, number_);
  if (status == 0) status = driver_.release_context(number_);  // the reset left the first one
  if (status == 0) status = driver_.set_context(context);
  if (status != 0) {
    lost_.store(true, std::memory_order_release);
    return enter();
  }
  context_ = context;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  auto own = CudaQueue::make(*this, false, 0);
  if (!own) return std::move(own.error());
  own_ = std::move(*own);
  return {};
}

void CudaDevice::set_launch_log(std::shared_ptr<observe::LaunchLog> log) {
  const std::lock_guard lock(log_mutex_);
  launch_log_ = std::move(log);
  logged_.store(launch_log_ != nullptr, std::memory_order_release);
}

std::shared_ptr<observe::LaunchLog> CudaDevice::launch_log() {
  if (!logged_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(log_mutex_);
  return launch_log_;
}

}  // namespace cuda

Result<std::unique_ptr<Device>> open_cuda(const CudaOptions& options) {
  auto device = cuda::CudaDevice::open(options);
  if (!device) return std::move(device.error());
  return std::unique_ptr<Device>(std::move(*device));
}

unsigned cuda_device_count() {
  auto driver = cuda::find_driver();
  return driver ? static_cast<unsigned>((*driver)->devices) : 0;
}

}  // namespace warploom::device
