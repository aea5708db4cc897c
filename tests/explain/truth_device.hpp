// Runs kernels on the CPU device with a recorder attached, and hands back what each launch counted.
#pragma once

#include <cxxabi.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "frontend/cuda/cuda_compiler.hpp"
#include "observe/explain/explain.hpp"

namespace warploom::truth {

using observe::explain::AccessGroup;
using observe::explain::Explain;
using observe::explain::KernelData;

struct Dim {
  std::uint32_t x = 1, y = 1, z = 1;
};

class TruthDevice {
 public:
  TruthDevice() : device_(checked(device::open_cpu({}))) {}

  // Kernels are known by their names without template arguments' types and parameters: "matmul_tiled<16>".
  void load(const std::string& file, bool nvcc = false) {
    frontend::CudaOptions options;
    options.use_nvcc = nvcc;
    auto ptx = checked(frontend::compile_cuda_file(file, options));
    auto module = checked(device_->load(ptx, file));
    for (const std::string& name : module->kernel_names()) kernels_[short_name(name)] = {module, name};
    modules_.push_back(module);
  }

  void* allocate(std::size_t bytes) { return checked(device_->allocate(bytes)); }
  template <class T>
  T* upload(const std::vector<T>& host) {
    void* address = allocate(host.size() * sizeof(T));
    upload_to(address, host);
    return static_cast<T*>(address);
  }
  template <class T>
  void upload_to(void* address, const std::vector<T>& host) {
    if (auto done = device_->copy(address, host.data(), host.size() * sizeof(T)); !done)
      throw std::runtime_error(done.error().to_string());
  }
  // Address of a module variable.
  void* variable(const std::string& name) { return checked(modules_.front()->global(name)).address; }

  template <class... Args>
  KernelData launch(const std::string& name, Dim grid, Dim block, Args... args) {
    const auto found = kernels_.find(name);
    if (found == kernels_.end()) throw std::runtime_error("no kernel " + name);
    device::Kernel* kernel = checked(found->second.module->kernel(found->second.mangled));
    device::Launch launch;
    launch.grid = {grid.x, grid.y, grid.z};
    launch.block = {block.x, block.y, block.z};
    launch.params.resize(kernel->param_bytes());
    std::size_t index = 0;
    const auto pack = [&](const auto& value) {
      const device::ParamInfo& param = kernel->params()[index++];
      if (param.bytes != sizeof value)
        throw std::runtime_error(name + ": parameter " + param.name + " has another size");
      std::memcpy(launch.params.data() + param.offset, &value, sizeof value);
    };
    (pack(args), ...);
    auto explain = std::make_shared<Explain>(device_->profile());
    device_->clear_observers();
    device_->add_observer(explain);
    if (auto done = device_->run(*kernel, launch); !done)
      throw std::runtime_error(name + ": " + done.error().to_string());
    return explain->analyse().at(0);
  }

 private:
  struct Loaded {
    std::shared_ptr<device::Module> module;
    std::string mangled;
  };

  template <class T>
  static T checked(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().to_string());
    return std::move(*result);
  }

  static std::string short_name(const std::string& mangled) {
    int status = 0;
    char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    std::string name = status == 0 ? text : mangled;
    std::free(text);
    name = name.substr(0, name.find('('));
    if (name.rfind("void ", 0) == 0) name = name.substr(5);
    return name;
  }

  std::unique_ptr<device::Device> device_;
  std::vector<std::shared_ptr<device::Module>> modules_;
  std::map<std::string, Loaded> kernels_;
};

}  // namespace warploom::truth
