// What operations that programs repeat ask of the driver: counted by the stand-in.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <warploom/shared_memory.hpp>
#include <warploom/warploom.hpp>

namespace {

using namespace warploom;

constexpr const char* kPtx = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry take_three(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }
.extern .shared .align 4 .b8 dynamic[];
.visible .entry takes_shared(.param .u64 a) { ret; }
)";

class DriverCalls : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("WARPLOOM_CUDA_DRIVER", STAND_IN_DRIVER, 1); }
  void SetUp() override {
    void* library = dlopen(STAND_IN_DRIVER, RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr);
    told_ = reinterpret_cast<const char* (*)()>(dlsym(library, "stand_in_calls"));
    ASSERT_NE(told_, nullptr);
  }
  // The calls that `times` repetitions make after the first ones, as lines of name and count.
  std::string calls(const std::function<void()>& operation, int times = 10) {
    for (int i = 0; i < 3; ++i) operation();
    device.synchronize();
    told_();
    for (int i = 0; i < times; ++i) operation();
    return told_();
  }

  static std::map<std::string, int> parsed(const std::string& lines) {
    std::map<std::string, int> out;
    std::istringstream in(lines);
    std::string name;
    for (int count = 0; in >> name >> count;) out[name] = count;
    return out;
  }

  Device device = Device::open("cuda:0");
  Module module = device.load_ptx(kPtx, "kernels.ptx");
  const char* (*told_)() = nullptr;
};

TEST_F(DriverCalls, ALaunchIsOne) {
  DeviceArray<float> a(device, 16), b(device, 16), c(device, 16);
  const Kernel kernel = module.kernel("take_three");
  EXPECT_EQ(calls([&] { kernel.launch({1, 32}, a, b, c); }), "cuLaunchKernel 10\n");
  const Stream stream(device);
  EXPECT_EQ(calls([&] { kernel.launch({.grid = {1}, .block = {32}, .stream = stream}, a, b, c); }),
            "cuLaunchKernel 10\n");
  EXPECT_EQ(calls([&] { kernel.launch({.grid = {2}, .block = {32}, .cluster = Dim3(2)}, a, b, c); }),
            "cuLaunchKernelEx 10\n");
  const Kernel shared = module.kernel("takes_shared");
  EXPECT_EQ(calls([&] { shared.launch({.grid = {1}, .block = {32}, .shared_bytes = 50000}, a); }),
            "cuLaunchKernel 10\n");
}

TEST_F(DriverCalls, ALaunchInAnotherContextEntersItsOwn) {
  const Device other = Device::open("cuda:1");
  DeviceArray<float> a(device, 16), there(other, 16);
  const Kernel kernel = module.kernel("take_three");
  kernel.launch({1, 32}, a, a, a);
  device.synchronize();
  there.zero();  // the other context is the thread's now
  told_();
  kernel.launch({1, 32}, a, a, a);
  EXPECT_EQ(std::string(told_()), "cuCtxGetCurrent 1\ncuCtxSetCurrent 1\ncuLaunchKernel 2\n");
  device.synchronize();
  std::thread([&] {
    told_();
    kernel.launch({1, 32}, a, a, a);
    EXPECT_EQ(std::string(told_()), "cuCtxGetCurrent 1\ncuCtxSetCurrent 1\ncuLaunchKernel 2\n");
  }).join();
  device.synchronize();
}

TEST_F(DriverCalls, MemoryOfThePoolIsNone) {
  const DeviceArray<float> keeps_the_segment(device, 1024);
  EXPECT_EQ(calls([&] { const DeviceArray<float> array(device, 1024); }), "");
  const Stream stream(device);
  EXPECT_EQ(calls([&] { const DeviceArray<float> array(stream, 1024); }), "");
}

// Memory that a running kernel may use is not given to others: a stream is asked once how far it has come.
TEST_F(DriverCalls, MemoryBetweenLaunchesAsksOnce) {
  const DeviceArray<float> keeps_the_segment(device, 1024);
  const Stream stream(device), idle(device);
  const Kernel kernel = module.kernel("take_three");
  std::promise<void> go;
  stream.host_function([future = go.get_future().share()] { future.wait(); });
  const auto use = [&] {
    const DeviceArray<float> array(device, 1024);
    kernel.launch({.grid = {1}, .block = {32}, .stream = stream}, array, array, array);
  };
  for (int i = 0; i < 20; ++i) use();
  told_();
  for (int i = 0; i < 20; ++i) use();
  const auto counts = parsed(told_());
  go.set_value();
  EXPECT_EQ(counts.at("cuLaunchKernel"), 20);
  EXPECT_LE(counts.at("cuStreamQuery"), 20);
  EXPECT_EQ(counts.count("cuMemAlloc_v2"), 0U);
  EXPECT_LE(counts.at("cuEventRecord"), 1);  // one for many
  stream.synchronize();
}

TEST_F(DriverCalls, ALimitBoundsWhatTheProcessAllocates) {
  const Device limited = Device::open("cuda:1", {.memory_limit = std::uint64_t{8} << 20});
  EXPECT_EQ(limited.properties().total_memory, std::uint64_t{8} << 20);
  const DeviceArray<std::byte> large(limited, std::size_t{6} << 20);
  try {
    const DeviceArray<std::byte> more(limited, std::size_t{3} << 20);
    FAIL() << "the limit was not seen";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), error_id::out_of_memory);
    const std::string text = error.what();
    EXPECT_NE(text.find("3145728 bytes asked for, 2097152 of 8388608 free"), std::string::npos) << text;
    EXPECT_NE(text.find("largest live allocations: 6291456 bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("larger limit"), std::string::npos) << text;
  }
  EXPECT_EQ(limited.free_memory(), std::size_t{2} << 20);
  const DeviceArray<std::byte> fits(limited, std::size_t{2} << 20);
  limited.set_memory_limit(limited.properties().total_memory * 2);
  const DeviceArray<std::byte> now(limited, std::size_t{3} << 20);
  EXPECT_THROW(limited.set_memory_limit(0), Error);
}

TEST_F(DriverCalls, MemoryForOtherProcessesIsNamedByItsAllocation) {
  const DeviceArray<float> first(device, 1024), second(device, 1024);
  const SharedMemoryHandle one = share_memory(device, first.data()), other = share_memory(device, second.data() + 2);
  EXPECT_EQ(one.handle, other.handle);  // both lie in a segment of the pool
  EXPECT_EQ(other.offset - one.offset,
            reinterpret_cast<std::uintptr_t>(second.data() + 2) - reinterpret_cast<std::uintptr_t>(first.data()));
  // Not in the process that made it, as the driver says.
  EXPECT_THROW(SharedMemory(device, one), Error);
  int on_the_stack = 0;
  EXPECT_THROW((void)share_memory(device, &on_the_stack), Error);
  const Device cpu = Device::open("cpu");
  const DeviceArray<float> of_the_cpu(cpu, 16);
  try {
    (void)share_memory(cpu, of_the_cpu.data());
    FAIL() << "shared";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), error_id::not_supported);
  }
}

// What the saved calls rest on, as an H200 answered: a call on a stream is done wherever the thread is; a launch on a
// default stream is done in its context only, and says otherwise by one of two codes.
TEST(OutsideTheContext, TheDriverSaysSoOrDoesTheWork) {
  std::ifstream table(CONTEXT_CODES);
  int on_streams = 0, refused = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream row(line);
    std::string place, call, code, done;
    for (std::string* cell : {&place, &call, &code, &done}) std::getline(row, *cell, '\t');
    if (call.find("a stream") != std::string::npos) {
      EXPECT_TRUE(code == "0" && done != "no") << line;
      ++on_streams;
    } else if (call.find("cuLaunchKernel") == 0) {
      EXPECT_TRUE((code == "201" || code == "400") && done == "no") << line;
      ++refused;
    }
  }
  EXPECT_EQ(on_streams, 3 * 7);
  EXPECT_EQ(refused, 3 * 3);
}

TEST_F(DriverCalls, ACopyOnAStreamIsOne) {
  DeviceArray<float> a(device, 1024), b(device, 1024);
  HostMemory pinned(device, 4096);
  const Stream stream(device);
  EXPECT_EQ(calls([&] { copy(stream, b.data(), a.data(), 4096); }), "cuMemcpyAsync 10\n");
  EXPECT_EQ(calls([&] { copy(stream, b.data(), pinned.data(), 4096); }), "cuMemcpyAsync 10\n");
  EXPECT_EQ(calls([&] { copy(stream, pinned.data(), a.data(), 4096); }), "cuMemcpyAsync 10\n");
}

TEST_F(DriverCalls, AnEventIsOne) {
  const Stream stream(device), other(device);
  const Event event(device);
  EXPECT_EQ(calls([&] { event.record(stream); }), "cuEventRecord 10\n");
  EXPECT_EQ(calls([&] { other.wait(event); }), "cuEventQuery 10\n");  // it has been reached
  EXPECT_TRUE(event.query());
  EXPECT_EQ(calls([&] { EXPECT_TRUE(event.query()); }), "cuEventQuery 10\n");
}

}  // namespace
