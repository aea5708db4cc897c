// The public API over the CPU device, through libwarploom.so: results, streams, variables, options.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <thread>

#include "warploom/warploom.hpp"

namespace warploom {
namespace {

constexpr const char* kSource = R"(
__constant__ float weights[4];
__device__ int counter;

__global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void weigh(float* y) { y[threadIdx.x] = weights[threadIdx.x % 4]; }
__global__ void count() { atomicAdd(&counter, 1); }
__global__ void reverse(int* data) {
  extern __shared__ int buffer[];
  buffer[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}
struct Pair { int first; double second; };
__global__ void unpack(Pair pair, char c, short s, bool flag, double* out) {
  out[0] = pair.first; out[1] = pair.second; out[2] = c; out[3] = s; out[4] = flag;
}
template <class T, int N>
__global__ void times(T* data) { data[threadIdx.x] *= N; }
template __global__ void times<float, 2>(float*);
template __global__ void times<float, 3>(float*);
template __global__ void times<int, 2>(int*);
)";

class OnCpu : public testing::Test {
 protected:
  Device device = Device::open("cpu");
  Module module = device.compile(kSource);
};

TEST_F(OnCpu, Saxpy) {
  constexpr int n = 10007;
  std::vector<float> x(n), y(n);
  std::iota(x.begin(), x.end(), 0.0f);
  std::iota(y.begin(), y.end(), 5.0f);
  DeviceArray<float> device_x(device, x), device_y(device, y);
  module.kernel("saxpy").launch({blocks_for(n, 96), 96}, 2.0f, device_x, device_y.data(), n);
  const std::vector<float> result = device_y.to_vector();
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(result[i], 2.0f * x[i] + y[i]) << i;
}

TEST_F(OnCpu, PipelineOverStreamsAndEvents) {
  constexpr int n = 4096, parts = 4;
  std::vector<float> host(n, 1.0f), back(n);
  DeviceArray<float> x(device, host), y(device, n);
  const Kernel saxpy = module.kernel("saxpy");
  std::vector<Stream> streams;
  Event ready(device), done(device);
  const Stream first(device);
  ready.record(first);
  y.zero(first);
  ready.record(first);
  for (int p = 0; p < parts; ++p) {
    streams.emplace_back(device);
    streams.back().wait(ready);
    saxpy.launch({8, 128, 0, streams.back()}, float(p + 1), x.data() + p * n / parts, y.data() + p * n / parts,
                 n / parts);
    done.record(streams.back());
    first.wait(done);
  }
  y.copy_to(back, first);
  first.synchronize();
  for (int i = 0; i < n; ++i) ASSERT_EQ(back[static_cast<std::size_t>(i)], float(i / (n / parts) + 1)) << i;
  EXPECT_GT(Event::elapsed_ms(ready, done), 0.0);
}

TEST_F(OnCpu, Variables) {
  const Global<float> weights = module.global<float>("weights");
  EXPECT_EQ(weights.size(), 4u);
  weights.copy_from(std::vector<float>{1, 2, 3, 4});
  DeviceArray<float> y(device, 8);
  module.kernel("weigh").launch({1, 8}, y);
  EXPECT_EQ(y.to_vector(), (std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4}));

  const Global<int> counter = module.global<int>("counter");
  EXPECT_EQ(counter.get(), 0);
  module.kernel("count").launch({7, 33});
  EXPECT_EQ(counter.get(), 7 * 33);
  counter.set(-1);
  module.kernel("count").launch({1, 1});
  EXPECT_EQ(counter.get(), 0);
}

TEST_F(OnCpu, ModulesHaveTheirOwnVariables) {
  const Module other = device.compile(kSource);
  module.global<int>("counter").set(5);
  EXPECT_EQ(other.global<int>("counter").get(), 0);
}

TEST_F(OnCpu, DynamicSharedMemory) {
  std::vector<int> data(100), expected(100);
  std::iota(data.begin(), data.end(), 0);
  std::iota(expected.rbegin(), expected.rend(), 0);
  DeviceArray<int> array(device, data);
  module.kernel("reverse").launch({1, 100, 400}, array);
  EXPECT_EQ(array.to_vector(), expected);
}

TEST_F(OnCpu, ArgumentsOfManyTypes) {
  struct Pair {
    int first;
    double second;
  };
  DeviceArray<double> out(device, 5);
  module.kernel("unpack").launch({1, 1}, Pair{-3, 0.5}, 'A', short{-2}, true, out);
  EXPECT_EQ(out.to_vector(), (std::vector<double>{-3, 0.5, 65, -2, 1}));
}

TEST_F(OnCpu, KernelsByCxxName) {
  DeviceArray<float> data(device, std::vector<float>{1, 2});
  module.kernel("times<float, 3>").launch({1, 2}, data);
  EXPECT_EQ(data.to_vector(), (std::vector<float>{3, 6}));
  EXPECT_NE(module.kernel("times<int, 2>").name(), module.kernel("times<float, 2>").name());
  EXPECT_THROW((void)module.kernel("times"), Error);
}

TEST_F(OnCpu, WhatAKernelNeeds) {
  const Kernel saxpy = module.kernel("saxpy");
  const std::vector<Parameter> parameters = saxpy.parameters();
  ASSERT_EQ(parameters.size(), 4u);
  EXPECT_EQ(parameters[1].offset, 8u);
  EXPECT_EQ(parameters[1].bytes, 8u);
  EXPECT_EQ(parameters[3].bytes, 4u);
  EXPECT_EQ(saxpy.attributes().static_shared_bytes, 0u);
  EXPECT_GT(saxpy.attributes().registers, 0u);
  EXPECT_EQ(saxpy.max_active_blocks(1024), 2u);             // 2048 threads on a multiprocessor
  EXPECT_EQ(saxpy.max_active_blocks(32), 32u);              // 32 blocks on a multiprocessor
  EXPECT_EQ(saxpy.max_active_blocks(256, 100 * 1024), 2u);  // 228 KiB of shared memory
  EXPECT_EQ(saxpy.max_active_blocks(2048), 0u);
}

TEST_F(OnCpu, Properties) {
  const DeviceProperties properties = device.properties();
  EXPECT_EQ(properties.profile, "h200");
  EXPECT_EQ(properties.compute_capability_major, 9);
  EXPECT_EQ(properties.warp_size, 32u);
  EXPECT_EQ(properties.max_block, (Dim3{1024, 1024, 64}));
  EXPECT_GE(properties.total_memory, device.free_memory());
  const std::vector<std::string> profiles = Device::profiles();
  EXPECT_NE(std::find(profiles.begin(), profiles.end(), "a100"), profiles.end());
}

TEST_F(OnCpu, ManyThreadsLaunch) {
  std::vector<std::thread> pool;
  std::vector<bool> good(6);
  std::mutex lock;
  for (std::size_t t = 0; t < good.size(); ++t)
    pool.emplace_back([&, t] {
      const Stream stream(device);
      const Kernel times = module.kernel("times<float, 2>");
      DeviceArray<float> data(device, 64);
      data.fill(1.0f, stream);
      for (int i = 0; i < 10; ++i) times.launch({1, 64, 0, stream}, data);
      std::vector<float> back(64);
      data.copy_to(back, stream);
      stream.synchronize();
      const std::lock_guard guard(lock);
      good[t] = back == std::vector<float>(64, 1024.0f);
    });
  for (std::thread& thread : pool) thread.join();
  EXPECT_EQ(good, std::vector<bool>(good.size(), true));
}

TEST(Options, MemoryLimit) {
  const Device small = Device::open("cpu", {.memory_limit = 1 << 20});
  DeviceArray<char> half(small, 1 << 19);
  EXPECT_THROW(DeviceArray<char>(small, 1 << 20), Error);
}

TEST(Options, Profile) {
  EXPECT_EQ(Device::open("cpu", {.profile = "a100"}).properties().compute_capability_major, 8);
  EXPECT_THROW((void)Device::open("cpu", {.profile = "riva128"}), Error);
  EXPECT_THROW((void)Device::open("voodoo"), Error);
}

// The environment is what `warploom run` and `warploom explain` set.
TEST(Options, EnvironmentWins) {
  setenv("WARPLOOM_PROFILE", "t4", 1);
  EXPECT_EQ(Device::open("cpu", {.profile = "a100"}).properties().profile, "t4");
  unsetenv("WARPLOOM_PROFILE");
  for (const char* name : {"WARPLOOM_THREADS", "WARPLOOM_DETERMINISTIC", "WARPLOOM_UNOPTIMISED", "WARPLOOM_OBSERVE"}) {
    setenv(name, "perhaps", 1);
    try {
      (void)Device::open("cpu");
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), error_id::invalid_value);
      EXPECT_NE(error.message().find(name), std::string::npos);
    }
    unsetenv(name);
  }
  setenv("WARPLOOM_THREADS", "1", 1);
  setenv("WARPLOOM_DETERMINISTIC", "1", 1);
  setenv("WARPLOOM_UNOPTIMISED", "1", 1);
  const Device device = Device::open("cpu");
  DeviceArray<float> data(device, std::vector<float>{1, 2});
  device.compile(kSource).kernel("times<float, 3>").launch({1, 2}, data);
  EXPECT_EQ(data.to_vector(), (std::vector<float>{3, 6}));
  for (const char* name : {"WARPLOOM_THREADS", "WARPLOOM_DETERMINISTIC", "WARPLOOM_UNOPTIMISED"}) unsetenv(name);
}

}  // namespace
}  // namespace warploom
