// The CUDA device: the runtime's interface on the installed driver.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/cuda_math.hpp"
#include "device/cuda/cuda_queue.hpp"
#include "device/cuda/driver.hpp"
#include "device/device.hpp"
#include "ptx/module.hpp"

namespace warploom::device::cuda {

class Counters;
class CudaDevice;
class CudaModule;

class CudaKernel final : public Kernel {
 public:
  CudaKernel(CudaModule& module, const ptx::Function& function, FunctionHandle* handle);
  [[nodiscard]] const std::string& name() const override { return function_.name; }
  [[nodiscard]] std::span<const ParamInfo> params() const override { return params_; }
  [[nodiscard]] std::uint32_t param_bytes() const override { return function_.param_bytes; }
  // What the driver made of the kernel: registers and local memory are those of its machine code.
  Result<observe::KernelFacts> facts() override;

  [[nodiscard]] const ptx::Function& declaration() const { return function_; }
  [[nodiscard]] FunctionHandle* handle() const { return handle_; }
  [[nodiscard]] CudaModule& module() const { return module_; }
  // The name, in memory that is never given back.
  [[nodiscard]] const std::string& lasting_name() const { return lasting_name_; }
  // Bytes of shared memory that the kernel declares.
  Result<std::uint32_t> fixed_shared_bytes();
  // Before a launch with more dynamic shared memory than kernels get without asking for it.
  Result<void> allow_shared(std::uint32_t dynamic_bytes);

 private:
  Result<int> attribute(FunctionAttribute which);

  CudaModule& module_;
  const ptx::Function& function_;
  FunctionHandle* const handle_;
  const std::string& lasting_name_;
  std::vector<ParamInfo> params_;
  std::mutex mutex_;
  // -1 until the driver was asked.
  std::atomic<std::int64_t> fixed_shared_{-1};
  std::atomic<std::uint32_t> allowed_shared_{0};
};

class CudaModule final : public Module {
 public:
  // The driver compiles the PTX of all kernels here.
  static Result<std::shared_ptr<CudaModule>> load(CudaDevice& device, std::shared_ptr<const ptx::Module> text,
                                                  const void* image, std::string name);
  ~CudaModule() override;
  Result<Kernel*> kernel(const std::string& name) override;
  [[nodiscard]] std::vector<std::string> kernel_names() const override;
  Result<Global> global(const std::string& name) override;
  [[nodiscard]] std::vector<std::string> global_names() const override;

  [[nodiscard]] CudaDevice& device() const { return device_; }

 private:
  CudaModule(CudaDevice& device, std::shared_ptr<const ptx::Module> text);

  CudaDevice& device_;
  const std::shared_ptr<const ptx::Module> text_;
  const unsigned generation_;  // a later one has unloaded it
  ModuleHandle* handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<CudaKernel>> kernels_;
};

// Every call makes the device's primary context that of the calling thread, so that programs which share it (CuPy,
// PyTorch) see the same memory.
class CudaDevice final : public Device {
 public:
  static Result<std::unique_ptr<CudaDevice>> open(const CudaOptions& options);
  ~CudaDevice() override;

  [[nodiscard]] const isa::GpuProfile& profile() const override { return profile_; }
  [[nodiscard]] bool is_hardware() const override { return true; }

  Result<void*> allocate(std::size_t bytes) override;
  Result<void> release(void* address) override;
  Result<void*> reserve(std::size_t bytes) override;
  void unreserve(void* address) override;
  void mark(void* address, std::size_t bytes, Origin origin) override;
  void unmark(void* address) override;
  [[nodiscard]] std::string describe_address(const void* address) const override;
  [[nodiscard]] bool addressable(const void* address, std::size_t bytes) const override;
  // Whether it lies in an allocation of this device.
  [[nodiscard]] bool holds(const void* address) const;
  [[nodiscard]] std::size_t free_bytes() const override;
  Result<void> set_memory_limit(std::uint64_t bytes) override;
  Result<SharedMemory> share(const void* address) override;
  Result<void*> open_shared(const std::array<std::byte, 64>& handle) override;
  void close_shared(void* address) override;
  Result<void> register_host(void* address, std::size_t bytes) override;
  void unregister_host(void* address) override;
  Result<void*> allocate_managed(std::size_t bytes, bool tracked, Origin origin) override;
  void release_managed(void* address) override;
  Result<void> advise(void* address, std::size_t bytes, MemoryAdvice advice, bool host) override;
  Result<void> prefetch(void* address, std::size_t bytes, bool to_host) override;
  Result<void> attach(void* address, Attachment how) override;
  // Its size only: the driver tells nobody where pages are.
  [[nodiscard]] std::optional<observe::ManagedFacts> managed_facts(void* address) const override;
  Result<void> copy(void* to, const void* from, std::size_t bytes) override;
  Result<void> fill(void* to, const void* element, std::size_t element_bytes, std::size_t count) override;

  [[nodiscard]] Result<bool> can_access(const Device& peer) const override;
  Result<void> enable_peer(Device& peer) override;
  Result<void> disable_peer(Device& peer) override;
  Result<void> copy_to_peer(Device& peer, void* to, const void* from, std::size_t bytes) override;

  Result<std::uint64_t> create_texture(const TextureSetup& setup) override;
  void destroy_texture(std::uint64_t handle) override;
  void destroy_surface(std::uint64_t handle) override;
  void forget_textures() override;
  [[nodiscard]] bool has_texel_arrays() const override { return true; }
  Result<std::uint64_t> allocate_texels(const isa::ref::Image& image) override;
  void release_texels(std::uint64_t texels) override;
  Result<void> copy_texels(std::uint64_t texels, const isa::ref::Image& image, const TexelCopy& part) override;

  Result<std::shared_ptr<Module>> load(std::string ptx, std::string name) override;
  Result<std::shared_ptr<Module>> load_linked(std::vector<PtxText> texts, std::string name) override;

  Result<void> check_launch(Kernel& kernel, const Launch& launch) override;
  Result<void> run(Kernel& kernel, const Launch& launch) override;
  Result<void> run_checked(Kernel& kernel, const Launch& launch) override;
  Result<std::optional<std::uint32_t>> resident_blocks(Kernel& kernel, std::uint32_t threads,
                                                       std::size_t dynamic_shared) override;
  Result<std::optional<std::uint32_t>> resident_clusters(Kernel& kernel, const Launch& launch) override;
  Result<std::optional<BlockChoice>> best_block(Kernel& kernel,
                                                const std::function<std::size_t(std::uint32_t)>& dynamic_shared,
                                                std::uint32_t limit) override;
  Result<void> synchronize() override;
  Result<void> reset() override;
  Result<std::unique_ptr<Queue>> make_queue(const QueueOptions& options) override;
  [[nodiscard]] unsigned concurrency() const override { return 1; }

  void add_observer(std::shared_ptr<observe::Observer> observer) override { (void)observer; }
  void clear_observers() override {}
  void set_launch_log(std::shared_ptr<observe::LaunchLog> log) override;
  void set_gpu_times(std::shared_ptr<observe::GpuTimes> times) override;
  Math* math() override { return &math_; }

  [[nodiscard]] const Driver& driver() const { return driver_; }
  [[nodiscard]] DeviceNumber number() const { return number_; }
  // Counts resets, which end what was made in the context before.
  [[nodiscard]] unsigned generation() const { return generation_.load(std::memory_order_acquire); }
  // Makes the context that of the calling thread.
  Result<void> enter() const;
  // The status of a call that needs the context to be the thread's and does nothing where it is not: asking first would
  // be a second call of the driver.
  template <class Call>
  Result<Status> inside(Call&& call) const {
    constexpr Status kNoContext = 201, kAnotherContext = 400;
    WL_TRY(usable());
    const Status status = call();
    if (status != kNoContext && status != kAnotherContext) return status;
    WL_TRY(enter());
    return call();
  }
  // The same for a call on a stream that the driver takes in any context; the default ones, CU_STREAM_LEGACY and
  // CU_STREAM_PER_THREAD, are those of the thread's.
  template <class Call>
  Result<Status> inside(StreamHandle* stream, Call&& call) const {
    constexpr std::uintptr_t kPerThread = 2;
    if (reinterpret_cast<std::uintptr_t>(stream) <= kPerThread) WL_TRY(enter());
    return inside(std::forward<Call>(call));
  }
  template <class Call>
  Result<void> checked_inside(StreamHandle* stream, std::string_view what, Call&& call) const {
    auto status = inside(stream, std::forward<Call>(call));
    if (!status) return std::move(status.error());
    return checked(*status, what);
  }
  [[nodiscard]] SpareEvents& spare_events() const { return spare_events_; }
  Result<void> checked(Status status, std::string_view what) const;
  [[nodiscard]] int attribute(DeviceAttribute which) const;
  // The thread's current queue, else the device's own.
  [[nodiscard]] CudaQueue& here() const;
  // Waits for what went to the device's own queue.
  Result<void> finish(CudaQueue& queue) const;
  // Until the process ends: for libraries, which keep what they made in the context.
  void keep_context();

 private:
  CudaDevice(const Driver& driver, DeviceNumber number, isa::GpuProfile profile);
  struct Allocation {
    std::size_t bytes;
    Origin origin;
  };
  struct Texels {  // one of the two; levels are parts of the second
    ArrayHandle* array = nullptr;
    MipmapHandle* mipmap = nullptr;
  };
  Result<void> usable() const;
  [[nodiscard]] std::string place() const;  // for messages
  static std::string named(std::uintptr_t address, const Allocation& block);
  [[nodiscard]] Diag no_memory(Status status, std::size_t bytes) const;
  [[nodiscard]] Diag out_of_memory(std::size_t bytes) const;
  Result<void*> take(std::size_t bytes);
  void give(DevicePointer address);
  Result<Texels> texels_of(std::uint64_t number) const;
  Result<ArrayHandle*> level_of(std::uint64_t number, unsigned level) const;
  Result<void> enqueue(const CudaKernel& kernel, const Launch& launch, StreamHandle* stream) const;
  std::shared_ptr<observe::LaunchLog> launch_log();
  class Snapshot;
  // Runs a launch to its end and says how long it took; the first of its kind several times, as if it were once.
  Result<void> measure(CudaKernel& kernel, const Launch& launch, CudaQueue& queue, observe::GpuTimes& times);
  Result<std::map<std::string, double>> read_counters(const std::function<Result<void>()>& prepare,
                                                      const std::function<Result<void>()>& run);

  const Driver& driver_;
  const DeviceNumber number_;
  isa::GpuProfile profile_;
  ContextHandle* context_ = nullptr;
  mutable SpareEvents spare_events_;
  std::unique_ptr<CudaQueue> own_;  // of work that is given no queue
  std::atomic<unsigned> generation_{1};
  std::atomic<bool> kept_{false};
  // After an error that CUDA lets no process recover from (cudaErrorIllegalAddress and its like).
  std::atomic<bool> lost_{false};

  mutable std::mutex memory_mutex_;
  std::map<std::uintptr_t, Allocation> allocations_, reserved_;  // by address; the first with managed ones
  std::map<std::uintptr_t, std::size_t> managed_, host_ranges_;  // of registered host memory
  std::map<std::uintptr_t, std::size_t> taken_;                  // of the driver: what the limit counts
  std::uint64_t taken_bytes_ = 0, limit_;

  mutable std::mutex textures_mutex_;
  std::map<std::uint64_t, Texels> texels_;  // by numbers of our own
  std::uint64_t next_texels_ = 1;
  std::set<std::uint64_t> texture_objects_, surface_objects_;

  std::atomic<bool> logged_{false};
  std::mutex log_mutex_;
  std::shared_ptr<observe::LaunchLog> launch_log_;
  std::mutex measure_mutex_;
  std::shared_ptr<observe::GpuTimes> gpu_times_;  // set before the first launch
  std::unique_ptr<Counters> counters_;            // needs measure_mutex_
  bool no_counters_ = false;                      // and are not tried again; needs measure_mutex_

  CudaMath math_{*this};
};

}  // namespace warploom::device::cuda
