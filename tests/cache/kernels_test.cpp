// Kernels that run from the disk cache: same results, same reports, and nothing that damage or another process breaks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <warploom/warploom.hpp>

#include "cache/store.hpp"

namespace {

namespace fs = std::filesystem;
using namespace warploom;

// Uses a variable of the module, patterns, a divergent branch and a loop whose count differs by lane.
constexpr const char* kSource = R"cu(
__device__ float scale = 2.0f;
__device__ int calls[4];
extern "C" __global__ void work(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < (i & 7); ++k) x = x * scale + 0.25f;
  if (i % 3 == 1) x = sqrtf(x) - in[n - 1 - i];
  out[i] = x;
  if (i < 4) calls[i] += 1;
}
extern "C" __global__ void wild(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == n) out[1ull << 40] = 1.0f;
}
)cu";

class CachedKernels : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "warploom-kernels-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
    setenv("WARPLOOM_CACHE_DIR", root.c_str(), 1);
    setenv("WARPLOOM_CACHE", "1", 1);
    setenv("WARPLOOM_TIER", "compiled", 1);  // what may be needed is compiled, and nothing else
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(root, ignored);
    setenv("WARPLOOM_CACHE", "0", 1);
    unsetenv("WARPLOOM_CACHE_DIR");
    unsetenv("WARPLOOM_TIER");
  }

  struct Run {
    Device device = Device::open("cpu", {.threads = 2});
    Module module;
    explicit Run(const std::string& source = kSource) : module(device.compile(source, {}, "cached.cu")) {}

    std::vector<float> work(int n = 1000) const {
      std::vector<float> in(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = 0.5f + static_cast<float>(i % 37);
      const DeviceArray<float> source(device, in), out(device, in.size());
      module.kernel("work").launch({static_cast<unsigned>(n + 127) / 128, 128}, out, source, n);
      return out.to_vector();
    }
    // Launches until the background has compiled or loaded `count` more versions, or a minute has passed.
    bool work_until(std::uint64_t count) const {
      const auto start = std::chrono::steady_clock::now();
      const auto done = [] { return code_cache::statistics().compiled + code_cache::statistics().loaded; };
      for (const std::uint64_t before = done(); done() < before + count;) {
        if (std::chrono::steady_clock::now() - start > std::chrono::minutes(1)) return false;
        work();
      }
      return true;
    }
  };

  // Waits until the files of `count` versions are there.
  static bool files(std::size_t count) {
    for (int i = 0; i < 6000 && code_cache::entries().size() < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return code_cache::entries().size() >= count;
  }

  std::string root;
};

TEST_F(CachedKernels, ASecondDeviceCompilesNothing) {
  std::vector<float> fresh;
  {
    const Run run;
    ASSERT_TRUE(run.work_until(2));
    fresh = run.work();
    ASSERT_TRUE(files(2));
  }
  const auto before = code_cache::statistics();
  const Run run;
  ASSERT_TRUE(run.work_until(2));
  EXPECT_EQ(run.work(), fresh);
  EXPECT_EQ(code_cache::statistics().compiled, before.compiled);
  EXPECT_GE(code_cache::statistics().loaded, before.loaded + 2);
  for (const auto& e : code_cache::entries()) {
    EXPECT_EQ(e.kind, "kernels");
    EXPECT_EQ(e.name.substr(0, 5), "work ");
  }
}

TEST_F(CachedKernels, EachModuleHasItsOwnVariables) {
  const Run first;
  ASSERT_TRUE(first.work_until(2));
  ASSERT_TRUE(files(2));
  const Module second = first.device.compile(kSource, {}, "cached.cu");
  second.global<float>("scale").set(3.0f);
  Run other;
  other.module = second;
  other.device = first.device;
  ASSERT_TRUE(other.work_until(2));
  Run expected;
  expected.module.global<float>("scale").set(3.0f);
  const std::vector<float> at_three = other.work(), at_two = first.work();
  EXPECT_EQ(at_three, expected.work());
  EXPECT_NE(at_three, at_two);
  EXPECT_EQ(at_two, Run().work());
}

TEST_F(CachedKernels, AFaultStillHasItsLine) {
  const auto message = [] {
    const Run run;
    const DeviceArray<float> out(run.device, 32);
    // Compiled or loaded first, so that the fault is in machine code.
    const auto before = code_cache::statistics();
    for (int i = 0; i < 20000; ++i) {
      run.module.kernel("wild").launch({8, 128}, out, -1);
      run.device.synchronize();
      const auto now = code_cache::statistics();
      if (now.compiled + now.loaded > before.compiled + before.loaded) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    try {
      run.module.kernel("wild").launch({8, 128}, out, 200);
      run.device.synchronize();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string fresh = message();
  EXPECT_NE(fresh.find("cached.cu:15:31"), std::string::npos) << fresh;
  ASSERT_TRUE(files(1));
  const std::string cached = message();
  EXPECT_NE(cached.find("cached.cu:15:31"), std::string::npos) << cached;
}

TEST_F(CachedKernels, WhatCannotBeLinkedIsCompiledAgain) {
  std::vector<float> fresh;
  {
    const Run run;
    ASSERT_TRUE(run.work_until(2));
    fresh = run.work();
    ASSERT_TRUE(files(2));
  }
  const cache::Store store(root, "kernels");
  int kind = 0;
  for (const auto& e : code_cache::entries()) {
    const fs::path path = e.path;
    const std::string digest = path.parent_path().filename().string() + path.stem().string();
    std::string value = store.load(digest).value();
    // Nonsense, and an object that ends early: both with a good checksum.
    value = kind++ == 0 ? std::string(500, '\x7f') : value.substr(0, value.size() / 2);
    store.save(digest, e.name, value, 1ULL << 30);
  }
  const auto before = code_cache::statistics();
  const Run run;
  ASSERT_TRUE(run.work_until(2));
  EXPECT_EQ(run.work(), fresh);
  EXPECT_GE(code_cache::statistics().compiled, before.compiled + 2);
  EXPECT_EQ(code_cache::statistics().loaded, before.loaded);
}

TEST_F(CachedKernels, OffMeansNoFiles) {
  setenv("WARPLOOM_CACHE", "0", 1);
  const Run run;
  EXPECT_FALSE(code_cache::enabled());
  ASSERT_TRUE(run.work_until(2));
  EXPECT_TRUE(code_cache::entries().empty());
  setenv("WARPLOOM_CACHE", "1", 1);
  const Device again = Device::open("cpu");
  EXPECT_TRUE(code_cache::enabled());
}

TEST_F(CachedKernels, LimitIsKept) {
  EXPECT_EQ(code_cache::folder(), root);
  EXPECT_EQ(code_cache::limit(), 1ULL << 30);
  const Run run;
  ASSERT_TRUE(run.work_until(2));
  ASSERT_TRUE(files(2));
  EXPECT_EQ(code_cache::set_limit(5), 0U);
  EXPECT_EQ(code_cache::limit(), 5ULL << 20);
  EXPECT_GT(code_cache::set_limit(0), 1000U);
  EXPECT_TRUE(code_cache::entries().empty());
  setenv("WARPLOOM_CACHE_DIR", "/proc/warploom", 1);
  EXPECT_THROW(code_cache::set_limit(1), Error);
}

TEST_F(CachedKernels, ProcessesShareIt) {
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::vector<float> out;
      {
        const Run run;
        if (!run.work_until(2)) _exit(2);
        out = run.work();
      }
      const Run again;
      _exit(again.work() == out && files(2) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

// A straight run of many operations takes long to compile.
std::string long_kernel() {
  std::string body;
  for (int i = 0; i < 1500; ++i) body += "x = x * " + std::to_string(i % 17) + ".5f + y; y = y - x * 0.25f;\n";
  return "extern \"C\" __global__ void work(float* out, const float* in, int n) {\n"
         "const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;\n"
         "float x = in[i], y = 1.0f;\n" +
         body + "out[i] = x + y; }\n";
}

int end_of(pid_t child) {
  // A child that hangs is killed and reported.
  for (int i = 0; i < 6000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

TEST_F(CachedKernels, AForkDuringACompilationHangsNoChild) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "[SKIP] a forked child cannot free what threads held that it does not have: the sanitizer calls it a leak";
#endif
  const std::string source = long_kernel();
  const Run run(source);
  std::thread launches([&] { run.work(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const pid_t ends = fork();
  if (ends == 0) std::exit(0);  // with what runs at an exit
  EXPECT_EQ(end_of(ends), 0);
  launches.join();
}

TEST_F(CachedKernels, ProcessesMayEndAndModulesMayGoWhileCompiling) {
  // The masked version is asked for in the background and not waited for.
  const pid_t child = fork();
  if (child == 0) {
    setenv("WARPLOOM_CACHE", "0", 1);
    const Run run;
    run.work();
    std::exit(0);  // with what runs at an exit
  }
  EXPECT_EQ(end_of(child), 0);
  for (int i = 0; i < 3; ++i) {
    const Run run;
    run.work();
  }
}

}  // namespace
