// Managed memory: where its pages are as host and kernels take turns, under advice and prefetching.
#include <array>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace warploom::test {
namespace {

constexpr std::size_t kPage = 64 << 10;
constexpr std::size_t kPages = 8;

// Kernels: write(bytes*, count) and read(bytes*, count, out*) touch one byte of each page.
constexpr const char* kTouch = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry write(.param .u64 data, .param .u32 count)
{
  .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .pred %p1;
  ld.param.u64 %d1, [data];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 ret;
  mul.wide.u32 %d2, %r2, 65536;
  add.s64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r2;
  ret;
}
.visible .entry read(.param .u64 data, .param .u32 count, .param .u64 out)
{
  .reg .b64 %d<5>; .reg .b32 %r<4>; .reg .pred %p1;
  ld.param.u64 %d1, [data];
  ld.param.u32 %r1, [count];
  ld.param.u64 %d4, [out];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 ret;
  mul.wide.u32 %d2, %r2, 65536;
  add.s64 %d3, %d1, %d2;
  ld.global.u32 %r3, [%d3];
  red.global.add.u32 [%d4], %r3;
  ret;
}
)";

class Managed : public testing::Test {
 protected:
  Device device = Device::open("cpu", {.threads = 2});
  Module module = device.load_ptx(kTouch);
  Kernel write = module.kernel("write"), read = module.kernel("read");
  Stream stream{device};
  ManagedMemory memory{device, kPages * kPage, {.track = true}};
  DeviceArray<unsigned> out{device, std::vector<unsigned>{0}};

  void kernel_writes(unsigned pages) {
    write.launch({1, 32, 0, stream}, memory.data(), pages);
    stream.synchronize();
  }
  void kernel_reads(unsigned pages) {
    read.launch({1, 32, 0, stream}, memory.data(), pages, out);
    stream.synchronize();
  }
  volatile unsigned& word(std::size_t page) {
    return static_cast<volatile unsigned*>(memory.data())[page * kPage / sizeof(unsigned)];
  }
};

TEST_F(Managed, PagesBelongToWhoTouchesThemFirst) {
  EXPECT_EQ(memory.statistics().pages, kPages);
  EXPECT_EQ(memory.statistics().page_bytes, kPage);
  EXPECT_EQ(word(0), 0U);
  word(1) = 5;
  kernel_writes(4);
  ManagedStatistics s = memory.statistics();
  EXPECT_EQ(s.host_faults, 2U);
  EXPECT_EQ(s.device_faults, 4U);
  EXPECT_EQ(s.to_device, 2U) << "two were the host's";
  EXPECT_EQ(s.on_device, 4U);
  EXPECT_EQ(s.on_host, 0U);
  EXPECT_EQ(word(3), 3U);
  s = memory.statistics();
  EXPECT_EQ(s.to_host, 1U);
  EXPECT_EQ(s.on_host, 1U);
  EXPECT_TRUE(s.tracked);
}

TEST_F(Managed, PagesThatGoBackAndForthAreCounted) {
  for (unsigned i = 0; i < 3; ++i) {
    for (std::size_t page = 0; page < kPages; ++page) word(page) = i;
    kernel_writes(2);
  }
  const ManagedStatistics s = memory.statistics();
  EXPECT_EQ(s.ping_pong, 2U);
  EXPECT_EQ(s.to_device, 6U);
  EXPECT_EQ(s.to_host, 4U);
  EXPECT_EQ(s.most_moves, 5U);
  EXPECT_EQ(s.on_host, kPages - 2);
}

TEST_F(Managed, PrefetchedPagesDoNotFault) {
  // [prefetch]
  for (std::size_t page = 0; page < kPages; ++page) word(page) = 1;
  memory.prefetch(stream, MemoryLocation::device);
  kernel_writes(kPages);
  memory.prefetch(stream, MemoryLocation::host);
  stream.synchronize();
  EXPECT_EQ(word(2), 2U);
  const ManagedStatistics s = memory.statistics();
  EXPECT_EQ(s.to_device + s.to_host, 0U);
  EXPECT_EQ(s.prefetched_to_device, kPages);
  EXPECT_EQ(s.prefetched_to_host, kPages);
  // [/prefetch]
  EXPECT_EQ(s.device_faults, 0U);
}

TEST_F(Managed, ReadMostlyPagesAreCopiedUntilSomeoneWrites) {
  for (std::size_t page = 0; page < kPages; ++page) word(page) = 1;
  memory.advise(MemoryAdvice::set_read_mostly);
  kernel_reads(kPages);
  EXPECT_EQ(out.to_vector()[0], kPages);
  for (std::size_t page = 0; page < kPages; ++page) EXPECT_EQ(word(page), 1U);
  kernel_reads(kPages);
  ManagedStatistics s = memory.statistics();
  EXPECT_EQ(s.duplicated, kPages);
  EXPECT_EQ(s.on_both, kPages);
  EXPECT_EQ(s.to_device + s.to_host, 0U);
  word(0) = 7;
  s = memory.statistics();
  EXPECT_EQ(s.on_both, kPages - 1);
  EXPECT_EQ(s.on_host, 1U);
}

TEST_F(Managed, AdvisedPagesAreAccessedWhereTheyAre) {
  for (std::size_t page = 0; page < kPages; ++page) word(page) = 1;
  memory.advise(MemoryAdvice::set_preferred_location, MemoryLocation::host, 0, 2 * kPage);
  memory.advise(MemoryAdvice::set_accessed_by, MemoryLocation::device, 2 * kPage, 1);
  kernel_writes(4);
  const ManagedStatistics s = memory.statistics();
  EXPECT_EQ(s.remote, 3U);
  EXPECT_EQ(s.to_device, 1U);
  EXPECT_EQ(s.on_host, kPages - 1);
  EXPECT_EQ(word(1), 1U);
}

TEST_F(Managed, WithoutTrackingOnlyWhatIsAskedForIsCounted) {
  const ManagedMemory plain(device, 3 * kPage);
  static_cast<int*>(plain.data())[0] = 1;
  write.launch({1, 32, 0, stream}, plain.data(), 3U);
  plain.prefetch(stream, MemoryLocation::device, 0, kPage);
  stream.synchronize();
  const ManagedStatistics s = plain.statistics();
  EXPECT_FALSE(s.tracked);
  EXPECT_EQ(s.device_faults + s.host_faults, 0U);
  EXPECT_EQ(s.on_device, 1U);
}

TEST_F(Managed, AWildAccessIsStillAnError) {
  write.launch({1, 32, 0, stream}, static_cast<char*>(nullptr) + 64, 1U);
  EXPECT_ERROR(stream.synchronize(), illegal_address);
}

TEST_F(Managed, ItStaysUntilItIsReleased) {
  {
    const ManagedMemory gone(device, 100);
  }
  EXPECT_EQ(device.pending().memory_count, 1U);
  device.flush_pending();
  EXPECT_EQ(device.pending().memory_count, 0U);
}

TEST_F(Managed, RefusesWhatIsWrong) {
  EXPECT_ERROR(ManagedMemory(device, 0), invalid_value);
  EXPECT_ERROR(ManagedMemory(device, ~std::size_t{0}), out_of_memory);
  EXPECT_ERROR(memory.advise(MemoryAdvice::set_read_mostly, MemoryLocation::host, 0, 0), invalid_value);
  EXPECT_ERROR(memory.advise(MemoryAdvice::set_read_mostly, MemoryLocation::host, kPages * kPage, 1), invalid_value);
  EXPECT_ERROR(memory.advise(static_cast<MemoryAdvice>(9)), invalid_value);
  EXPECT_ERROR(memory.prefetch(stream, MemoryLocation::host, 1, ~std::size_t{0}), invalid_value);
  const Device other = Device::open("cpu", {.threads = 1});
  EXPECT_ERROR(memory.prefetch(Stream(other), MemoryLocation::host), invalid_handle);
  const ManagedMemory moved = std::move(memory);
  EXPECT_EQ(memory.data(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_ERROR((void)memory.statistics(), invalid_handle);
}

}  // namespace
}  // namespace warploom::test
