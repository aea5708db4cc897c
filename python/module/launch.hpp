// Launches of kernels whose argument types are known.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"

namespace warploom::python {

struct PyLaunchConfig {
  Held<LaunchConfig> config;
};

// An array argument: parameters from `parameter` on are its address, shape and strides.
struct ArrayPlace {
  std::size_t parameter, ndim, element;  // element: bytes
  bool written;
};

class Launcher {
 public:
  Launcher(const PyKernel& kernel, const std::vector<std::string>& types);
  // `kernel` runs instead when an array that is written overlaps another one.
  void when_overlapping(const PyKernel& kernel, std::vector<ArrayPlace> arrays);
  // Both need the GIL.
  void launch(const LaunchConfig& config, PyObject* const* arguments, std::size_t count);
  void launch(const LaunchConfig& config, const Packed& packed);
  [[nodiscard]] const std::vector<TypePlan>& types() const { return types_; }
  [[nodiscard]] std::size_t parameters() const { return parameters_; }
  [[nodiscard]] const Kernel& kernel_for(const Packed& packed) const;
  [[nodiscard]] const OpenDevice& device() const { return **open_; }

 private:
  Held<Kernel> kernel_;
  Held<std::shared_ptr<OpenDevice>> open_;
  std::vector<TypePlan> types_;
  std::size_t parameters_ = 0;
  std::optional<Held<Kernel>> overlapping_;
  std::vector<ArrayPlace> arrays_;
  const Kernel* warm_ = nullptr;  // the last one launched: it is built
};

}  // namespace warploom::python
