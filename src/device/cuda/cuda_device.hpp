// The CUDA device: the runtime's interface on the installed driver.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/cuda_math.hpp"
#include "device/cuda/cuda_queue.hpp"
#include "device/cuda/driver.hpp"
#include "device/device.hpp"
#include "ptx/module.hpp"

namespace warploom::device::cuda {

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
  std::optional<std::uint32_t> fixed_shared_;
  std::uint32_t allowed_shared_ = 0;
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
  CudaModule(CudaDevice& device, std::shared_ptr<const ptx::Module> text) : device_(device), text_(std::move(text)) {}

  CudaDevice& device_;
  const std::shared_ptr<const ptx::Module> text_;
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
  [[nodiscard]] std::size_t free_bytes() const override;
  Result<void> register_host(void* address, std::size_t bytes) override;
  void unregister_host(void* address) override;
  Result<void> copy(void* to, const void* from, std::size_t bytes) override;
  Result<void> fill(void* to, const void* element, std::size_t element_bytes, std::size_t count) override;

  Result<std::shared_ptr<Module>> load(std::string ptx, std::string name) override;
  Result<std::shared_ptr<Module>> load_linked(std::vector<PtxText> texts, std::string name) override;

  Result<void> check_launch(Kernel& kernel, const Launch& launch) override;
  Result<void> run(Kernel& kernel, const Launch& launch) override;
  Result<void> run_checked(Kernel& kernel, const Launch& launch) override;
  Result<void> synchronize() override;
  Result<void> reset() override;
  Result<std::unique_ptr<Queue>> make_queue(const QueueOptions& options) override;
  [[nodiscard]] unsigned concurrency() const override { return 1; }

  void add_observer(std::shared_ptr<observe::Observer> observer) override { (void)observer; }
  void clear_observers() override {}
  void set_launch_log(std::shared_ptr<observe::LaunchLog> log) override;
  Math* math() override { return &math_; }

  [[nodiscard]] const Driver& driver() const { return driver_; }
  // Makes the context that of the calling thread.
  Result<void> enter() const;
  Result<void> checked(Status status, std::string_view what) const;
  // The stream of the thread's current queue, else the device's own.
  [[nodiscard]] StreamHandle* here() const;
  // Waits for what went to the device's own stream.
  Result<void> finish(const char* what) const;

 private:
  CudaDevice(const Driver& driver, DeviceNumber number, isa::GpuProfile profile)
      : driver_(driver), number_(number), profile_(std::move(profile)) {}
  Result<void*> take(std::size_t bytes);
  Result<void> enqueue(const CudaKernel& kernel, const Launch& launch, StreamHandle* stream) const;
  std::shared_ptr<observe::LaunchLog> launch_log();

  const Driver& driver_;
  const DeviceNumber number_;
  isa::GpuProfile profile_;
  ContextHandle* context_ = nullptr;
  StreamHandle* stream_ = nullptr;
  // After an error that CUDA lets no process recover from (cudaErrorIllegalAddress and its like).
  std::atomic<bool> lost_{false};

  mutable std::mutex memory_mutex_;
  std::map<std::uintptr_t, std::size_t> allocations_, reserved_;  // by address

  std::atomic<bool> logged_{false};
  std::mutex log_mutex_;
  std::shared_ptr<observe::LaunchLog> launch_log_;

  CudaMath math_{*this};
};

}  // namespace warploom::device::cuda
