// The fixture of the device tests: a device that runs optimised, unoptimised or cached code, and the kernels of one
// file.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

#include "frontend/cuda/cuda_compiler.hpp"

namespace device_test {

// The PTX of a kernel file, compiled once for each process; a copy is left in the folder that WARPLOOM_TEST_PTX names,
// or taken from there, for machines without a compiler.
inline const std::string& ptx_of(const std::string& file) {
  static std::map<std::string, std::string> cache;
  std::string& ptx = cache[file];
  if (!ptx.empty()) return ptx;
  const char* folder = std::getenv("WARPLOOM_TEST_PTX");
  const std::string copy = folder == nullptr ? "" : std::string(folder) + "/" + file + ".ptx";
  if (std::ifstream in(copy); in) return ptx.assign(std::istreambuf_iterator<char>(in), {});
  auto compiled = warploom::frontend::compile_cuda_file(std::string(WARPLOOM_TEST_DATA) + "/" + file);
  if (!compiled) throw std::runtime_error(compiled.error().to_string());
  if (folder != nullptr) std::ofstream(copy) << *compiled;
  return ptx = *compiled;
}

enum class Code {
  optimised,    // compiled by this test
  unoptimised,  // DeviceOptions::unoptimised, without the disk cache
  cached,       // what the same test compiled before
  interpreted,  // by the interpreter alone
  mixed,        // by the interpreter and compiled code by turns
  hardware,     // by the GPU that WARPLOOM_TEST_DEVICE names
};

// The ways of the CPU device, or the GPU alone.
inline std::vector<Code> ways() {
  if (std::getenv("WARPLOOM_TEST_DEVICE") != nullptr) return {Code::hardware};
  return {Code::optimised, Code::unoptimised, Code::cached, Code::interpreted, Code::mixed};
}

inline warploom::Device open_device(Code code) {
  if (code == Code::hardware) return warploom::Device::open(std::getenv("WARPLOOM_TEST_DEVICE"));
  return warploom::Device::open("cpu", {.threads = 2, .unoptimised = code == Code::unoptimised});
}

// Folders of the disk cache, one for each test; they go at the end of the process.
class CacheFolders {
 public:
  // Sets the environment that Device::open reads. True if the folder was there before.
  static bool use(Code code) {
    static const CacheFolders all;
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = std::string(test.name()).substr(0, std::string_view(test.name()).rfind('/'));
    const std::filesystem::path folder = all.root_ / test.test_suite_name() / name;
    const bool known = std::filesystem::exists(folder / "kernels");
    const bool by_interpreter = code == Code::interpreted || code == Code::mixed;
    setenv("WARPLOOM_TIER", code == Code::mixed ? "mixed" : by_interpreter ? "interpreter" : "compiled", 1);
    setenv("WARPLOOM_CACHE", by_interpreter || code == Code::unoptimised ? "0" : "1", 1);
    setenv("WARPLOOM_CACHE_DIR", folder.c_str(), 1);
    return known;
  }
  CacheFolders(const CacheFolders&) = delete;
  CacheFolders& operator=(const CacheFolders&) = delete;

 private:
  CacheFolders() {
    std::string name = (std::filesystem::temp_directory_path() / "warploom-device-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder can be made");
    root_ = name;
  }
  ~CacheFolders() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::filesystem::path root_;
};

class DeviceTest : public testing::TestWithParam<Code> {
 protected:
  explicit DeviceTest(const char* file)
      : known_(CacheFolders::use(GetParam())),
        before_(warploom::code_cache::statistics()),
        device(open_device(GetParam())),
        module(device.load_ptx(ptx_of(file), file)),
        file_(file) {}

  ~DeviceTest() override {
    if (GetParam() != Code::cached || !known_) return;
    const auto after = warploom::code_cache::statistics();
    EXPECT_TRUE(after.loaded > before_.loaded || after.compiled == before_.compiled) << "nothing came from the cache";
  }

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

 private:
  bool known_;
  warploom::code_cache::Statistics before_;

 protected:
  warploom::Device device;
  warploom::Module module;

 private:
  std::string file_;
};

inline std::string instance_name(const testing::TestParamInfo<Code>& instance) {
  static constexpr const char* kNames[] = {"optimised", "unoptimised", "cached", "interpreted", "mixed", "hardware"};
  return kNames[static_cast<int>(instance.param)];
}

// Declares the fixture of one kernel file and its instances, in this order for each test.
#define DEVICE_TEST_FILE(fixture, file)            \
  class fixture : public device_test::DeviceTest { \
   protected:                                      \
    fixture() : DeviceTest(file) {}                \
  };                                               \
  INSTANTIATE_TEST_SUITE_P(Device, fixture, testing::ValuesIn(device_test::ways()), device_test::instance_name)

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
