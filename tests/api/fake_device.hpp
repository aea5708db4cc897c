// A Device whose kernels are host lambdas, so that order, lifetime and errors are tested apart from code generation.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>

#include "api/state.hpp"
#include "device/device.hpp"
#include "warploom/warploom.hpp"

namespace warploom::test {

class FakeKernel final : public device::Kernel {
 public:
  using Body = std::function<Result<void>(const device::Launch&)>;

  FakeKernel(std::string name, std::vector<std::uint32_t> sizes, Body body)
      : name_(std::move(name)), body_(std::move(body)) {
    for (const std::uint32_t size : sizes) {
      bytes_ = (bytes_ + size - 1) / size * size;
      params_.push_back({"param_" + std::to_string(params_.size()), bytes_, size, size});
      bytes_ += size;
    }
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::span<const device::ParamInfo> params() const override { return params_; }
  [[nodiscard]] std::uint32_t param_bytes() const override { return bytes_; }
  Result<observe::KernelFacts> facts() override {
    observe::KernelFacts facts;
    facts.name = name_;
    facts.static_shared_bytes = 1024;
    facts.registers_estimate = 32;
    return facts;
  }
  Result<void> run(const device::Launch& launch) { return body_(launch); }

 private:
  std::string name_;
  std::vector<device::ParamInfo> params_;
  std::uint32_t bytes_ = 0;
  Body body_;
};

class FakeModule final : public device::Module {
 public:
  Result<device::Kernel*> kernel(const std::string& name) override { return kernels.at(name).get(); }
  [[nodiscard]] std::vector<std::string> kernel_names() const override {
    std::vector<std::string> names;
    for (const auto& [name, kernel] : kernels) names.push_back(name);
    return names;
  }
  Result<Global> global(const std::string&) override { return Global{weights, sizeof(weights)}; }
  [[nodiscard]] std::vector<std::string> global_names() const override { return {"weights"}; }

  std::map<std::string, std::unique_ptr<FakeKernel>> kernels;
  float weights[9] = {};
};

class FakeDevice final : public device::Device {
 public:
  static constexpr std::size_t kMemory = 1 << 20;

  [[nodiscard]] const isa::GpuProfile& profile() const override { return profile_; }
  Result<void*> allocate(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (bytes > kMemory - used_) {
      Diag diag;
      diag.id = ErrorId::out_of_memory;
      diag.what = "out of fake memory";
      return diag;
    }
    used_ += bytes;
    void* address = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    live_[address] = bytes;
    return address;
  }
  Result<void> release(void* address) override {
    const std::lock_guard lock(mutex_);
    used_ -= live_.at(address);
    live_.erase(address);
    std::free(address);
    return {};
  }
  [[nodiscard]] std::string describe_address(const void*) const override { return "somewhere"; }
  [[nodiscard]] std::size_t free_bytes() const override {
    const std::lock_guard lock(mutex_);
    return kMemory - used_;
  }
  Result<std::shared_ptr<device::Module>> load(std::string text, std::string) override {
    if (text != "fake") {
      Diag diag;
      diag.id = ErrorId::ptx_syntax;
      diag.what = "not fake PTX";
      diag.loc = {"fake.ptx", 3, 7};
      return diag;
    }
    auto module = std::make_shared<FakeModule>();
    for (const auto& make : makers) {
      auto kernel = make();
      module->kernels[kernel->name()] = std::move(kernel);
    }
    return std::shared_ptr<device::Module>(std::move(module));
  }
  Result<void> check_launch(device::Kernel&, const device::Launch& launch) override {
    Diag diag;
    diag.id = ErrorId::launch_dimensions;
    diag.what = "the block has a size of 0 or too many threads";
    const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    if (threads == 0 || threads > 1024) return diag;
    return {};
  }
  Result<void> run(device::Kernel& kernel, const device::Launch& launch) override {
    ++launches;
    return static_cast<FakeKernel&>(kernel).run(launch);
  }
  void add_observer(std::shared_ptr<observe::Observer>) override {}
  void clear_observers() override {}

  // Adds a kernel to every module loaded later.
  void define(std::string name, std::vector<std::uint32_t> sizes, FakeKernel::Body body) {
    makers.push_back([=] { return std::make_unique<FakeKernel>(name, sizes, body); });
  }

  std::vector<std::function<std::unique_ptr<FakeKernel>()>> makers;
  std::atomic<int> launches{0};

 private:
  isa::GpuProfile profile_;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;
  std::map<void*, std::size_t> live_;
};

template <class T>
T param(const device::Launch& launch, std::size_t offset) {
  T value;
  std::memcpy(&value, launch.params.data() + offset, sizeof(T));
  return value;
}

// A gate that kernels wait at until the test opens it.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

}  // namespace warploom::test
