// What the benchmarks of GPUs share: time, medians, libraries of the system whose raw calls are the comparison, and the
// table of figures and expectations.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
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

class Figures {
 public:
  explicit Figures(int width) : width_(width) {}
  void note(const std::string& name, double value, const char* unit) {
    json["figures"][name] = value;
    std::printf("%-*s %10.3f %s\n", width_, name.c_str(), value, unit);
  }
  void expect(std::string name, double wanted, double measured, bool at_least, const char* unit) {
    expectations_.push_back({std::move(name), wanted, measured, at_least, unit});
  }
  // Prints what was expected, and writes all to a file; none when its name is empty.
  void report(const std::string& file) {
    std::printf("\n%-*s %10s %12s\n", width_, "expectation", "wanted", "measured");
    for (const Expectation& e : expectations_) {
      const bool met = e.at_least ? e.measured >= e.wanted : e.measured <= e.wanted;
      std::printf("%-*s %s %7.3f %12.3f %-8s %s\n", width_, e.name.c_str(), e.at_least ? ">=" : "<=", e.wanted,
                  e.measured, e.unit, met ? "met" : "MISSED");
      json["expectations"].push_back({{"name", e.name}, {"wanted", e.wanted}, {"measured", e.measured}, {"met", met}});
    }
    if (!file.empty()) std::ofstream(file) << json.dump(1) << '\n';
  }

  nlohmann::json json;

 private:
  struct Expectation {
    std::string name;
    double wanted, measured;
    bool at_least;
    const char* unit;
  };
  const int width_;
  std::vector<Expectation> expectations_;
};

}  // namespace bench
