// The fixture of the device tests: a device, optimised or not, and the kernels of one file.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

#include "frontend/cuda/cuda_compiler.hpp"

namespace device_test {

// The PTX of a kernel file, compiled once for each process.
inline const std::string& ptx_of(const std::string& file) {
  static std::map<std::string, std::string> cache;
  std::string& ptx = cache[file];
  if (ptx.empty()) {
    auto compiled = warploom::frontend::compile_cuda_file(std::string(WARPLOOM_TEST_DATA) + "/" + file);
    if (!compiled) throw std::runtime_error(compiled.error().to_string());
    ptx = *compiled;
  }
  return ptx;
}

// The parameter is DeviceOptions::unoptimised.
class DeviceTest : public testing::TestWithParam<bool> {
 protected:
  explicit DeviceTest(const char* file)
      : device(warploom::Device::open("cpu", {.threads = 2, .unoptimised = GetParam()})),
        module(device.load_ptx(ptx_of(file), file)),
        file_(file) {}

  [[nodiscard]] warploom::Kernel kernel(const char* name) const { return module.kernel(name); }
  template <class T>
  [[nodiscard]] warploom::DeviceArray<T> array(const std::vector<T>& values) const {
    return warploom::DeviceArray<T>(device, values);
  }
  // `count` elements of `value`.
  template <class T>
  [[nodiscard]] warploom::DeviceArray<T> filled(std::size_t count, T value) const {
    return array(std::vector<T>(count, value));
  }

  // After Device::reset().
  void reload() { module = device.load_ptx(ptx_of(file_), file_); }

  warploom::Device device;
  warploom::Module module;

 private:
  std::string file_;
};

inline std::string instance_name(const testing::TestParamInfo<bool>& instance) {
  return instance.param ? "unoptimised" : "optimised";
}

// Declares the fixture of one kernel file and its two instances.
#define DEVICE_TEST_FILE(fixture, file)            \
  class fixture : public device_test::DeviceTest { \
   protected:                                      \
    fixture() : DeviceTest(file) {}                \
  };                                               \
  INSTANTIATE_TEST_SUITE_P(Device, fixture, testing::Bool(), device_test::instance_name)

// Reproducible numbers that use all 32 bits.
inline std::vector<std::uint32_t> random_words(std::size_t count, std::uint32_t seed = 1) {
  std::vector<std::uint32_t> words(count);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (std::uint32_t& word : words) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    word = static_cast<std::uint32_t>(state >> 32);
  }
  return words;
}

inline std::vector<int> counting(int count, int first = 0) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

// The expectation of an element-wise kernel.
template <class T, class F>
std::vector<T> expected(int count, F function) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) values.push_back(static_cast<T>(function(i)));
  return values;
}

}  // namespace device_test
