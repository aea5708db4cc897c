// Launches of kernels whose argument types are known.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"

namespace warploom::python {

struct PyLaunchConfig {
  Held<LaunchConfig> config;
};

class Launcher {
 public:
  Launcher(const PyKernel& kernel, const std::vector<std::string>& types);
  // Both need the GIL.
  void launch(const LaunchConfig& config, PyObject* const* arguments, std::size_t count);
  void launch(const LaunchConfig& config, const Packed& packed);
  [[nodiscard]] const std::vector<TypePlan>& types() const { return types_; }
  [[nodiscard]] std::size_t parameters() const { return parameters_; }
  [[nodiscard]] const Kernel& kernel() const { return *kernel_; }
  [[nodiscard]] const Device& device() const { return (*open_)->device; }

 private:
  Held<Kernel> kernel_;
  Held<std::shared_ptr<OpenDevice>> open_;
  std::vector<TypePlan> types_;
  std::size_t parameters_ = 0;
  bool warm_ = false;
};

}  // namespace warploom::python
