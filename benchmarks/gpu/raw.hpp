// What the benchmarks of GPUs share: time, medians, and libraries of the system whose raw calls are the comparison.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Library {
 public:
  // The file that the environment variable names, else `name`.
  Library(const char* variable, const char* name) {
    const char* named = std::getenv(variable);
    name_ = named == nullptr || *named == '\0' ? name : named;
    handle_ = dlopen(name_.c_str(), RTLD_NOW);
  }
  [[nodiscard]] bool found() const { return handle_ != nullptr; }
  [[nodiscard]] const std::string& name() const { return name_; }
  template <class F>
  F* entry(const char* name) const {
    auto* at = reinterpret_cast<F*>(dlsym(handle_, name));
    if (at == nullptr) throw std::runtime_error(name_ + " has no entry point " + name);
    return at;
  }

 private:
  std::string name_;
  void* handle_ = nullptr;
};

// The driver, in the context that the device has made current.
inline Library raw_driver() { return {"WARPLOOM_CUDA_DRIVER", "libcuda.so.1"}; }

inline void ok(int status) {
  if (status != 0) throw std::runtime_error("a raw call reports " + std::to_string(status));
}

}  // namespace bench
