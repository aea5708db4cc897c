// Copies and fills by address, and host memory that kernels may access.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "fixture.hpp"

namespace warploom::test {
namespace {

// Kernels: store(int*, value) writes one element, peek(int*) reads one.
constexpr const char* kStore = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 out, .param .u32 value)
{
  .reg .b64 %d<2>; .reg .b32 %r<2>;
  ld.param.u64 %d1, [out];
  ld.param.u32 %r1, [value];
  st.global.u32 [%d1], %r1;
  ret;
}
)";

class RawMemory : public testing::Test {
 protected:
  Device device = Device::open("cpu", {.threads = 1});
  DeviceArray<int> array{device, std::vector{1, 2, 3, 4}};
};

TEST_F(RawMemory, CopiesInEveryDirection) {
  std::vector<int> host{5, 6};
  copy(device, array.data() + 2, host.data(), 8);
  copy(device, array.data(), array.data() + 3, 4);
  EXPECT_EQ(array.to_vector(), (std::vector{6, 2, 5, 6}));
  copy(device, host.data(), array.data(), 8);
  EXPECT_EQ(host, (std::vector{6, 2}));
  std::vector<int> other(2);
  copy(device, other.data(), host.data(), 8);
  EXPECT_EQ(other, host);
}

TEST_F(RawMemory, CopiesOverlappingRanges) {
  copy(device, array.data() + 1, array.data(), 12);
  EXPECT_EQ(array.to_vector(), (std::vector{1, 1, 2, 3}));
}

// Large enough to be shared out among threads.
TEST_F(RawMemory, CopiesLargeRanges) {
  const Device several = Device::open("cpu", {.threads = 3});
  const std::size_t count = (std::size_t{21} << 20) + 12345;
  std::vector<unsigned char> host(count), back(count);
  for (std::size_t i = 0; i < count; ++i) host[i] = static_cast<unsigned char>(i * 2654435761U >> 24);
  DeviceArray<unsigned char> large(several, count);
  copy(several, large.data(), host.data(), count);
  copy(several, back.data(), large.data(), count);
  EXPECT_EQ(back, host);
  // Ranges that overlap keep their order.
  copy(several, large.data() + 1000, large.data(), count - 1000);
  copy(several, back.data(), large.data(), count);
  EXPECT_TRUE(std::equal(host.begin(), host.end() - 1000, back.begin() + 1000));
}

TEST_F(RawMemory, CopiesInAStreamInOrder) {
  const Stream stream(device);
  const int nine = 9;
  fill(stream, array.data(), &nine, 4, 4);
  int out = 0;
  copy(stream, &out, array.data() + 3, 4);
  stream.synchronize();
  EXPECT_EQ(out, 9);
}

TEST_F(RawMemory, FillsWithElements) {
  const std::uint16_t half = 0x0102;
  fill(device, array.data(), &half, 2, 4);
  EXPECT_EQ(array.to_vector(), (std::vector{0x01020102, 0x01020102, 3, 4}));
}

TEST_F(RawMemory, RefusesDeviceRangesOutsideAnAllocation) {
  int host[8] = {};
  EXPECT_ERROR(copy(device, array.data() + 1, host, 16), invalid_value);
  EXPECT_ERROR(copy(device, host, array.data() - 1, 4), invalid_value);
  EXPECT_ERROR(copy(device, host, nullptr, 4), invalid_value);
  EXPECT_ERROR(fill(device, array.data(), host, 4, 5), invalid_value);
  EXPECT_ERROR(fill(device, array.data(), host, 0, 1), invalid_value);
  int* old = array.data();
  array = DeviceArray<int>(device, 0);
  EXPECT_ERROR(copy(device, host, old, 4), invalid_value);
  copy(device, nullptr, nullptr, 0);
}

TEST_F(RawMemory, KernelsUseHostMemory) {
  const Kernel store = device.load_ptx(kStore).kernel("store");
  HostMemory host(device, 4096);
  auto* cell = static_cast<int*>(host.data());
  EXPECT_EQ(host.bytes(), 4096u);
  EXPECT_EQ(cell[0], 0);
  const std::size_t free = device.free_memory();
  store.launch({1, 1}, cell, 7);
  device.synchronize();
  EXPECT_EQ(cell[0], 7);
  EXPECT_EQ(device.free_memory(), free);
  const HostMemory moved(std::move(host));
  EXPECT_EQ(moved.data(), cell);
  EXPECT_EQ(host.data(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(HostMemory(device, 0).data(), nullptr);
}

TEST_F(RawMemory, EndingHostMemoryWaitsForItsUsers) {
  const Kernel store = device.load_ptx(kStore).kernel("store");
  const Stream stream(device);
  {
    const HostMemory host(device, 64);
    for (int i = 0; i < 100; ++i) store.launch({1, 1, 0, stream}, static_cast<int*>(host.data()), i);
  }
  device.flush_pending();
  EXPECT_TRUE(stream.query());
}

// What an H200's driver gives, where all page-locked memory is mapped and portable.
TEST_F(RawMemory, TellsFlagsOfHostMemory) {
  std::vector<int> plain(16);
  EXPECT_ERROR((void)host_memory_flags(device, plain.data()), invalid_value);
  {
    const HostMemory usual(device, 100, {.portable = true}), combined(device, 100, {.write_combined = true});
    EXPECT_EQ(host_memory_flags(device, usual.data()), 2u);
    EXPECT_EQ(host_memory_flags(device, static_cast<char*>(combined.data()) + 99), 6u);
    const HostRegistration pinned(device, plain.data(), 64);
    EXPECT_EQ(host_memory_flags(device, plain.data()), 2u);
    EXPECT_ERROR((void)host_memory_flags(device, plain.data() + 16), invalid_value);
  }
  EXPECT_ERROR((void)host_memory_flags(device, plain.data()), invalid_value);
}

TEST_F(RawMemory, RegistersHostMemoryOnce) {
  std::vector<int> host(64);
  EXPECT_ERROR(HostRegistration(device, nullptr, 4), invalid_value);
  EXPECT_ERROR(HostRegistration(device, host.data(), 0), invalid_value);
  {
    const HostRegistration first(device, host.data(), 128);
    const HostRegistration beside(device, host.data() + 32, 128);
    EXPECT_ERROR(HostRegistration(device, host.data() + 31, 4), host_memory_registered);
    EXPECT_ERROR(HostRegistration(device, host.data() + 40, 4), host_memory_registered);
  }
  const HostRegistration again(device, host.data(), 256);
  EXPECT_EQ(again.bytes(), 256u);
}

// The replay that names a faulting thread must not blame an access to registered memory that came before.
TEST_F(RawMemory, FaultsAreNotBlamedOnRegisteredMemory) {
  const Kernel both = device
                          .load_ptx(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry both(.param .u64 good, .param .u64 bad)
{
  .reg .b64 %d<3>; .reg .b32 %r<2>;
  ld.param.u64 %d1, [good];
  ld.param.u64 %d2, [bad];
  mov.u32 %r1, 3;
  st.global.u32 [%d1], %r1;
  st.global.u32 [%d2], %r1;
  ret;
}
)")
                          .kernel("both");
  int cell = 0;
  const HostRegistration registered(device, &cell, sizeof(cell));
  both.launch({1, 1}, &cell, std::uint64_t{4096});
  const Error error = error_of([&] { device.synchronize(); });
  EXPECT_EQ(error.id(), error_id::illegal_address);
  EXPECT_NE(error.message().find("0x1000"), std::string::npos) << error.message();
  EXPECT_EQ(error.line(), 12u);
}

TEST_F(RawMemory, RunsAKernelBetweenCopies) {
  const Kernel store = device.load_ptx(kStore).kernel("store");
  std::vector<int> host{1, 2, 3, 4};
  int* target = array.data() + 1;
  const int value = 8;
  const Argument arguments[] = {{&target, 8, nullptr}, {&value, 4, nullptr}};
  const Transfer before[] = {{array.data(), host.data(), 16}}, after[] = {{host.data(), array.data(), 16}};
  store.run_with({1, 1}, arguments, before, after);
  EXPECT_EQ(host, (std::vector{1, 8, 3, 4}));
  const Transfer outside[] = {{array.data() + 1, host.data(), 16}};
  EXPECT_ERROR(store.run_with({1, 1}, arguments, outside, after), invalid_value);
  EXPECT_ERROR(store.run_with({1, 4096}, arguments, before, after), launch_dimensions);
}

// Work that waits runs in the caller's thread when nothing is before it; the order stays that of the streams.
TEST_F(RawMemory, WaitingWorkKeepsTheOrderOfStreams) {
  const Kernel store = device.load_ptx(kStore).kernel("store");
  const Stream stream(device);
  int out = 0;
  for (int i = 0; i < 200; ++i) {
    if (i % 3 == 0) store.launch({1, 1, 0, stream}, array.data(), i);
    if (i % 3 == 1) store.launch({1, 1}, array.data(), i);
    if (i % 3 == 2) copy(stream, array.data(), &i, 4), stream.synchronize();
    copy(device, &out, array.data(), 4);
    ASSERT_EQ(out, i);
  }
}

TEST_F(RawMemory, WaitingWorkFromManyThreads) {
  const Stream stream(device);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      DeviceArray<int> mine(device, 16);
      for (int i = 0; i < 300; ++i) {
        mine.fill(t * 1000 + i);
        if (i % 7 == 0) copy(stream, mine.data(), mine.data() + 1, 4);
        if (mine.to_vector()[5] != t * 1000 + i) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace warploom::test
