// The CPU device: modules and kernels, launches on a pool of workers.
#pragma once

#include <atomic>
#include <map>

#include "device/cpu/block.hpp"
#include "device/cpu/managed.hpp"
#include "device/cpu/math.hpp"
#include "device/cpu/memory.hpp"
#include "device/cpu/peers.hpp"
#include "device/cpu/pool.hpp"
#include "device/cpu/textures.hpp"

namespace warploom::device {

class CpuDevice;
class CpuModule;

class CpuKernel final : public Kernel {
 public:
  CpuKernel(CpuModule& module, const ptx::Function& function);
  [[nodiscard]] const std::string& name() const override { return function_.name; }
  [[nodiscard]] std::span<const ParamInfo> params() const override { return params_; }
  [[nodiscard]] std::uint32_t param_bytes() const override { return function_.param_bytes; }
  Result<observe::KernelFacts> facts() override;

  // What was made of the kernel for a class of block shapes.
  struct Version {
    struct Key {
      passes::BlockShape shape;
      bool counting, checking;
      auto operator<=>(const Key&) const = default;
    } key;
    std::shared_ptr<codegen::KernelPlan> plan;
    std::unique_ptr<codegen::KernelCode> code;
    std::shared_ptr<const interp::Program> program;  // made when it is first needed
    bool decoded = false;
    std::unique_ptr<codegen::KernelCode> loop_code;  // the same
    Version* next = nullptr;
    // Of one block on one thread, from earlier launches; 0 when there was none.
    std::atomic<float> block_seconds{0};
  };
  // Made on first use; `counting` code carries probes. Takes no lock for versions there are.
  Result<Version*> version(const std::array<std::uint32_t, 3>& block, bool counting, bool checking);
  Result<codegen::KernelCode*> code(const std::array<std::uint32_t, 3>& block, bool counting, bool checking);
  // The kernel decoded for the interpreter; nullptr when that does not cover it.
  const interp::Program* program(Version& version);
  // Code whose uniform version can be entered at loops; save areas are as those of the version's own code.
  codegen::KernelCode* loop_code(Version& version);
  Result<const ir::Function*> function();
  [[nodiscard]] const ptx::Function& declaration() const { return function_; }
  [[nodiscard]] CpuModule& module() { return module_; }
  // Bytes of shared memory a launch with `dynamic` bytes lays out.
  Result<std::uint32_t> shared_bytes(std::uint32_t dynamic);

 private:
  CpuModule& module_;
  const ptx::Function& function_;
  std::vector<ParamInfo> params_;
  std::mutex mutex_;
  std::shared_ptr<ir::Function> ir_;
  std::atomic<const ir::Function*> built_{nullptr};  // ir_, once it is there
  std::optional<Diag> broken_;
  std::optional<observe::KernelFacts> facts_;
  std::vector<std::unique_ptr<Version>> versions_;
  std::atomic<Version*> first_version_{nullptr};  // the same as a list that is read without the mutex
};

class CpuModule final : public Module {
 public:
  static Result<std::shared_ptr<CpuModule>> load(CpuDevice& device, std::string ptx, std::string name);
  static Result<std::shared_ptr<CpuModule>> load_linked(CpuDevice& device, std::vector<PtxText> texts,
                                                        std::string name);
  ~CpuModule() override;
  Result<Kernel*> kernel(const std::string& name) override;
  [[nodiscard]] std::vector<std::string> kernel_names() const override;
  Result<Global> global(const std::string& name) override;
  [[nodiscard]] std::vector<std::string> global_names() const override;

  [[nodiscard]] std::shared_ptr<const ptx::Module> text() const { return text_; }
  [[nodiscard]] CpuDevice& device() const { return device_; }
  [[nodiscard]] void* address_of(const std::string& variable) const;

 private:
  explicit CpuModule(CpuDevice& device) : device_(device) {}
  static Result<std::shared_ptr<CpuModule>> load(CpuDevice& device, std::shared_ptr<const ptx::Module> text);
  Result<void> place_variables();

  CpuDevice& device_;
  std::shared_ptr<const ptx::Module> text_;
  std::map<std::string, Global> variables_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<CpuKernel>> kernels_;
};

class CpuDevice final : public Device {
 public:
  CpuDevice(const CpuOptions& options, isa::GpuProfile profile);
  ~CpuDevice() override;
  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;
  [[nodiscard]] const isa::GpuProfile& profile() const override { return profile_; }
  [[nodiscard]] const CpuOptions& options() const { return options_; }
  [[nodiscard]] unsigned concurrency() const override { return pool_.threads(); }
  Result<void*> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  Result<void> release(void* address) override { return memory_.release(address); }
  Result<void*> reserve(std::size_t bytes) override { return memory_.reserve(bytes); }
  void unreserve(void* address) override { memory_.unreserve(address); }
  void mark(void* address, std::size_t bytes, Origin origin) override { memory_.mark(address, bytes, origin); }
  void unmark(void* address) override { memory_.unmark(address); }
  Result<void> set_memory_limit(std::uint64_t bytes) override { return memory_.set_limit(bytes); }
  Result<void*> allocate_managed(std::size_t bytes, bool tracked, Origin origin) override;
  void release_managed(void* address) override;
  Result<void> advise(void* address, std::size_t bytes, MemoryAdvice advice, bool host) override {
    return managed_.advise(address, bytes, advice, host);
  }
  Result<void> prefetch(void* address, std::size_t bytes, bool to_host) override {
    return managed_.prefetch(address, bytes, to_host);
  }
  [[nodiscard]] std::optional<observe::ManagedFacts> managed_facts(void* address) const override {
    return managed_.facts(address);
  }
  void report_releases(const observe::ReleaseFacts& facts) override;
  [[nodiscard]] bool observed() const override { return observed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::string describe_address(const void* address) const override { return memory_.describe(address); }
  [[nodiscard]] bool addressable(const void* address, std::size_t bytes) const override {
    return memory_.addressable(reinterpret_cast<std::uint64_t>(address), bytes);
  }
  Result<void> register_host(void* address, std::size_t bytes) override {
    return memory_.register_host(address, bytes);
  }
  Result<void> copy(void* to, const void* from, std::size_t bytes) override;
  void unregister_host(void* address) override { memory_.unregister_host(address); }
  Result<void> enable_peer(Device& peer) override {
    peers_.allow(peer, true);
    return {};
  }
  Result<void> disable_peer(Device& peer) override {
    peers_.allow(peer, false);
    return {};
  }
  [[nodiscard]] bool pageable(const void* address, std::size_t bytes) const override {
    return memory_.pageable(reinterpret_cast<std::uint64_t>(address), bytes);
  }
  [[nodiscard]] std::size_t free_bytes() const override { return memory_.free_bytes(); }
  Result<std::uint64_t> create_texture(const TextureSetup& setup) override { return textures_.create(setup); }
  void destroy_texture(std::uint64_t handle) override { textures_.destroy(handle); }
  void forget_textures() override { textures_.clear(); }
  Result<std::shared_ptr<Module>> load(std::string ptx, std::string name) override;
  Result<std::shared_ptr<Module>> load_linked(std::vector<PtxText> texts, std::string name) override;
  Result<void> check_launch(Kernel& kernel, const Launch& launch) override;
  Result<void> run(Kernel& kernel, const Launch& launch) override;
  Result<void> run_checked(Kernel& kernel, const Launch& launch) override;
  Result<std::unique_ptr<PreparedLaunch>> prepare(Kernel& kernel, Launch launch) override;
  void add_observer(std::shared_ptr<observe::Observer> observer) override;
  void clear_observers() override;
  void set_launch_log(std::shared_ptr<observe::LaunchLog> log) override;
  Math* math() override { return &math_; }

  DeviceMemory& memory() { return memory_; }
  // False for what libraries would fault at, such as memory of a GPU.
  [[nodiscard]] bool reads(const void* address) const;
  [[nodiscard]] const TextureTable& textures() const { return textures_; }
  // Runs one block again with every access checked, to name the thread that faulted.
  std::optional<Diag> replay(Grid& grid, std::uint64_t block, std::uint64_t fault_address);

 private:
  class Prepared;
  class Launching;
  using Observers = std::vector<std::shared_ptr<observe::Observer>>;
  void request_versions(codegen::KernelCode& code, const Launch& launch) const;
  std::shared_ptr<observe::LaunchLog> launch_log();
  // Calls what there is of the observers that look at memory.
  void tell_memory_observers(const std::function<void(observe::MemoryObserver&)>& tell);
  Result<void> run_version(CpuKernel& kernel, CpuKernel::Version& version, const Launch& launch,
                           std::uint32_t shared_bytes, const Observers& observers, AddressRanges forbidden);

  CpuOptions options_;
  isa::GpuProfile profile_;
  DeviceMemory memory_;
  Peers peers_{*this, memory_};
  ManagedMemory managed_;
  TextureTable textures_;
  WorkerPool pool_;
  CpuMath math_{*this, pool_.threads()};
  std::mutex observers_mutex_;
  Observers observers_;
  std::atomic<bool> observed_{false};               // there are observers
  std::atomic<bool> logged_{false};                 // there is a launch log
  std::shared_ptr<observe::LaunchLog> launch_log_;  // under observers_mutex_
  std::atomic<std::uint64_t> next_grid_{1};
};

}  // namespace warploom::device
