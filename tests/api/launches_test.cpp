// Records of launches on the CPU device.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "warploom/warploom.hpp"

namespace warploom::test {
namespace {

const char* kSource = R"cu(
template <class T>
__global__ void scale(T* data, T factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}
template __global__ void scale<float>(float*, float, int);
__global__ void trap(int* p) { if (threadIdx.x == 3) *p = 1; }
)cu";

TEST(LaunchRecords, SayWhatEachLaunchTook) {
  const Device device = Device::open();
  const Module module = device.compile(kSource);
  const Kernel kernel = module.kernel("scale<float>");
  const int n = 1000;
  DeviceArray<float> data(device, std::vector<float>(n, 1.0f));
  kernel.launch({4, 256}, data, 2.0f, n);
  device.synchronize();
  EXPECT_TRUE(device.take_launches().empty()) << "nobody asked for records";

  // [records]
  device.record_launches();
  for (int i = 0; i < 3; ++i) kernel.launch({warploom::blocks_for(n, 256), 256}, data, 2.0f, n);
  device.synchronize();
  for (const LaunchRecord& launch : device.take_launches())
    std::printf("%s took %.3f ms\n", launch.kernel.c_str(), launch.ms);
  // [/records]
  EXPECT_TRUE(device.take_launches().empty());

  kernel.launch({{2, 2}, 64, 512}, data, 2.0f, n);
  kernel.launch({1, 32}, data, 2.0f, n);
  device.synchronize();
  const std::vector<LaunchRecord> records = device.take_launches();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].kernel, "void scale<float>(float*, float, int)");
  EXPECT_EQ(records[0].grid.x, 2u);
  EXPECT_EQ(records[0].grid.y, 2u);
  EXPECT_EQ(records[0].block.x, 64u);
  EXPECT_EQ(records[0].shared_bytes, 512u);
  EXPECT_FALSE(records[0].failed);
  EXPECT_GE(records[0].ms, 0);
  EXPECT_GE(records[1].start_ms, records[0].start_ms + records[0].ms) << "launches of one stream do not overlap";

  device.record_launches(false);
  kernel.launch({1, 32}, data, 2.0f, n);
  device.synchronize();
  EXPECT_TRUE(device.take_launches().empty());
}

TEST(LaunchRecords, CompileTimeStandsApartAndBelongsToTheFirstLaunch) {
  const Device device = Device::open("cpu", {.unoptimised = true});
  const Kernel kernel = device.compile(kSource).kernel("scale<float>");
  DeviceArray<float> data(device, std::vector<float>(32, 1.0f));
  device.record_launches();
  for (int i = 0; i < 2; ++i) kernel.launch({1, 32}, data, 2.0f, 32);
  device.synchronize();
  const std::vector<LaunchRecord> records = device.take_launches();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_GT(records[0].compile_ms, 0);
  EXPECT_EQ(data.to_vector()[0], 4.0f);
}

TEST(LaunchRecords, KeepLaunchesThatFailed) {
  const Device device = Device::open();
  const Kernel kernel = device.compile(kSource).kernel("trap");
  device.record_launches();
  kernel.launch({1, 32}, nullptr);
  EXPECT_THROW(device.synchronize(), Error);
  device.reset();
  const std::vector<LaunchRecord> records = device.take_launches();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kernel, "trap(int*)");
  EXPECT_TRUE(records[0].failed);
}

}  // namespace
}  // namespace warploom::test
