// What runs side by side, seen from intervals that events record, and which blocks go first.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "warploom/warploom.hpp"

namespace warploom::test {
namespace {

// hold: says in *began that it runs, and ends when *flag is not 0. ticket: numbers its blocks in the order of their
// ends.
constexpr const char* kKernels = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry hold(.param .u64 began, .param .u64 flag)
{
  .reg .u64 %rd<3>; .reg .u32 %r<2>; .reg .pred %p;
  ld.param.u64 %rd1, [began];
  ld.param.u64 %rd2, [flag];
  st.relaxed.sys.u32 [%rd1], 1;
WAIT:
  ld.relaxed.sys.u32 %r1, [%rd2];
  setp.eq.u32 %p, %r1, 0;
  @%p bra WAIT;
  ret;
}
.visible .entry ticket(.param .u64 counter, .param .u64 out)
{
  .reg .u64 %rd<5>; .reg .u32 %r<5>; .reg .pred %p; .reg .f32 %f<2>;
  ld.param.u64 %rd1, [counter];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, 0;
  mov.f32 %f1, 0f3F800000;
WORK:
  fma.rn.f32 %f1, %f1, %f1, %f1;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p, %r2, 500;
  @%p bra WORK;
  atom.global.add.u32 %r3, [%rd1], 1;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r3;
  ret;
}
)";

class Overlap : public testing::Test {
 protected:
  Device device = Device::open("cpu", {.threads = 2});
  Module module = device.load_ptx(kKernels, "overlap.ptx");
  Kernel hold = module.kernel("hold"), ticket = module.kernel("ticket");

  static std::uint32_t read(void* word) {
    return std::atomic_ref<std::uint32_t>(*static_cast<std::uint32_t*>(word)).load();
  }
  static void wait_for(void* word) {
    while (read(word) == 0) std::this_thread::yield();
  }
};

TEST_F(Overlap, OfACopyToTheDeviceWithAKernel) {
  // The kernel ends only when the copy has been made while it runs.
  const Stream compute(device), transfer(device);
  const HostMemory began(device, 4), source(device, 4);
  DeviceArray<std::uint32_t> flag(device, 1);
  flag.zero();
  std::memset(source.data(), 1, 4);
  const Event first(device), last(device), copy_first(device), copy_last(device);
  first.record(compute);
  hold.launch({1, 1, 0, compute}, began.data(), flag);
  last.record(compute);
  wait_for(began.data());
  copy_first.record(transfer);
  copy(transfer, flag.data(), source.data(), 4);
  copy_last.record(transfer);
  device.synchronize();
  EXPECT_GE(Event::elapsed_ms(first, copy_first), 0);
  EXPECT_GE(Event::elapsed_ms(copy_first, last), 0);
}

TEST_F(Overlap, OfACopyToTheHostWithAKernel) {
  const Stream compute(device), transfer(device);
  const HostMemory began(device, 4), flag(device, 4);
  const std::vector<int> values(1000, 7);
  DeviceArray<int> array(device, values);
  std::vector<int> back(1000);
  device.record_launches();
  const Event first(device), last(device), copy_first(device), copy_last(device);
  first.record(compute);
  hold.launch({1, 1, 0, compute}, began.data(), flag.data());
  last.record(compute);
  wait_for(began.data());
  copy_first.record(transfer);
  array.copy_to(back, transfer);
  copy_last.record(transfer);
  transfer.synchronize();
  EXPECT_EQ(back, values);
  EXPECT_FALSE(compute.query());
  std::memset(flag.data(), 1, 4);
  device.synchronize();
  // All of the copy lies between the ends of the kernel.
  EXPECT_GE(Event::elapsed_ms(first, copy_first), 0);
  EXPECT_GE(Event::elapsed_ms(copy_last, last), 0);
  const std::vector<LaunchRecord> launches = device.take_launches();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_GE(launches[0].ms + launches[0].compile_ms, Event::elapsed_ms(copy_first, copy_last));
}

TEST_F(Overlap, OfTwoKernels) {
  const Stream one(device), other(device);
  const HostMemory began(device, 4), began2(device, 4), flag(device, 4);
  hold.launch({1, 1, 0, one}, began.data(), flag.data());
  hold.launch({1, 1, 0, other}, began2.data(), flag.data());
  wait_for(began.data());
  wait_for(began2.data());
  std::memset(flag.data(), 1, 4);
  device.synchronize();
}

TEST_F(Overlap, PageableMemoryMayBeUsedAgainAtOnce) {
  const Stream stream(device);
  const HostMemory began(device, 4), flag(device, 4);
  DeviceArray<int> array(device, 100);
  hold.launch({1, 1, 0, stream}, began.data(), flag.data());
  std::vector<int> host(100, 5), back(100);
  array.copy_from(host, stream);  // returns, although the stream is held up
  std::fill(host.begin(), host.end(), 6);
  wait_for(began.data());
  EXPECT_FALSE(stream.query());
  std::memset(flag.data(), 1, 4);
  array.copy_to(back, stream);  // and this has been done when it returns
  EXPECT_EQ(back, std::vector(100, 5));
  // As has this, which is too large to be put aside.
  std::vector<int> large(1 << 20, 1);
  DeviceArray<int> there(device, large.size());
  there.copy_from(large, stream);
  std::fill(large.begin(), large.end(), 2);
  EXPECT_EQ(there.to_vector(), std::vector(1 << 20, 1));
}

TEST_F(Overlap, BlocksOfAnUrgentStreamGoFirst) {
  constexpr std::uint32_t many = 60000, few = 3000;
  // What has begun is finished: of each thread, one portion of blocks.
  constexpr std::uint32_t in_flight = 8 * 64;
  const Stream patient(device), urgent(device, {.priority = -5});
  HostMemory counter(device, 4);
  DeviceArray<std::uint32_t> first(device, many), second(device, few);
  ticket.launch({1, 32}, counter.data(), first);  // compiles it
  device.synchronize();
  std::memset(counter.data(), 0, 4);
  ticket.launch({many, 32, 0, patient}, counter.data(), first);
  wait_for(counter.data());
  ticket.launch({few, 32, 0, urgent}, counter.data(), second);
  device.synchronize();
  std::vector<std::uint32_t> patient_tickets = first.to_vector(), urgent_tickets = second.to_vector();
  std::sort(urgent_tickets.begin(), urgent_tickets.end());
  const std::uint32_t from = urgent_tickets.front(), to = urgent_tickets[few - 1 - in_flight];
  const auto between = std::count_if(patient_tickets.begin(), patient_tickets.end(),
                                     [&](std::uint32_t number) { return number > from && number < to; });
  EXPECT_LT(between, in_flight);
}

}  // namespace
}  // namespace warploom::test
