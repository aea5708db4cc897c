// The CPU device: modules and kernels, launches on a pool of workers.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <thread>

#include "device/cpu/block.hpp"
#include "device/cpu/memory.hpp"

namespace warploom::device {

class CpuDevice;
class CpuModule;

// Threads that help with launches. The thread that launches works too, so a launch never waits for a free worker.
class WorkerPool {
 public:
  explicit WorkerPool(unsigned threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  void run(Grid& grid);
  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

 private:
  struct Job {
    Grid* grid = nullptr;
    unsigned wanted = 0;  // helpers that may still join
    unsigned joined = 0;
  };
  void work();

  std::mutex mutex_;
  std::condition_variable wake_, left_;
  std::deque<Job*> jobs_;
  std::vector<std::thread> workers_;
  bool stop_ = false;
};

class CpuKernel final : public Kernel {
 public:
  CpuKernel(CpuModule& module, const ptx::Function& function);
  [[nodiscard]] const std::string& name() const override { return function_.name; }
  [[nodiscard]] std::span<const ParamInfo> params() const override { return params_; }
  [[nodiscard]] std::uint32_t param_bytes() const override { return function_.param_bytes; }
  Result<observe::KernelFacts> facts() override;

  // Code for a block shape, made on first use; `counting` code carries probes.
  Result<codegen::KernelCode*> code(const std::array<std::uint32_t, 3>& block, bool counting, bool checking);
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
  std::optional<Diag> broken_;
  std::optional<observe::KernelFacts> facts_;
  struct Key {
    passes::BlockShape shape;
    bool counting, checking;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::unique_ptr<codegen::KernelCode>> codes_;
};

class CpuModule final : public Module {
 public:
  static Result<std::shared_ptr<CpuModule>> load(CpuDevice& device, std::string ptx, std::string name);
  ~CpuModule() override;
  Result<Kernel*> kernel(const std::string& name) override;
  [[nodiscard]] std::vector<std::string> kernel_names() const override;
  Result<Global> global(const std::string& name) override;
  [[nodiscard]] std::vector<std::string> global_names() const override;

  [[nodiscard]] std::shared_ptr<const ptx::Module> text() const { return text_; }
  [[nodiscard]] void* address_of(const std::string& variable) const;

 private:
  explicit CpuModule(CpuDevice& device) : device_(device) {}
  Result<void> place_variables();

  CpuDevice& device_;
  std::shared_ptr<ptx::Module> text_;
  std::map<std::string, Global> variables_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<CpuKernel>> kernels_;
};

class CpuDevice final : public Device {
 public:
  CpuDevice(const CpuOptions& options, isa::GpuProfile profile);
  [[nodiscard]] const isa::GpuProfile& profile() const override { return profile_; }
  Result<void*> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  Result<void> release(void* address) override { return memory_.release(address); }
  [[nodiscard]] std::string describe_address(const void* address) const override { return memory_.describe(address); }
  [[nodiscard]] bool addressable(const void* address, std::size_t bytes) const override {
    return memory_.addressable(reinterpret_cast<std::uint64_t>(address), bytes);
  }
  Result<void> register_host(void* address, std::size_t bytes) override {
    return memory_.register_host(address, bytes);
  }
  void unregister_host(void* address) override { memory_.unregister_host(address); }
  [[nodiscard]] std::size_t free_bytes() const override { return memory_.free_bytes(); }
  Result<std::shared_ptr<Module>> load(std::string ptx, std::string name) override;
  Result<void> check_launch(Kernel& kernel, const Launch& launch) override;
  Result<void> run(Kernel& kernel, const Launch& launch) override;
  void add_observer(std::shared_ptr<observe::Observer> observer) override;
  void clear_observers() override;

  DeviceMemory& memory() { return memory_; }
  // Runs one block again with every access checked, to name the thread that faulted.
  std::optional<Diag> replay(Grid& grid, std::uint64_t block, std::uint64_t fault_address);

 private:
  CpuOptions options_;
  isa::GpuProfile profile_;
  DeviceMemory memory_;
  WorkerPool pool_;
  std::mutex observers_mutex_;
  std::vector<std::shared_ptr<observe::Observer>> observers_;
  std::atomic<std::uint64_t> next_grid_{1};
};

}  // namespace warploom::device
