// Releases that are put off: limits, order, errors, and what is never put off. Several devices and their peers.
#include <cstdlib>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace warploom::test {
namespace {

using Queue = runtime::PendingReleases;

Queue::Release noting(std::vector<int>& log, int value) {
  return [&log, value] {
    log.push_back(value);
    return Result<void>();
  };
}

TEST(PendingReleases, OneMoreThanTheLimitReleasesAllInOrder) {
  Queue queue(1000, {.count = 3, .ratio = 1});
  std::vector<int> log;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.add(noting(log, i), 1));
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(queue.count(), 3U);
  EXPECT_EQ(queue.bytes(), 3U);
  ASSERT_TRUE(queue.add(noting(log, 3), 1));
  EXPECT_EQ(log, (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(queue.count(), 0U);
  EXPECT_EQ(queue.bytes(), 0U);
  EXPECT_EQ(queue.most(), 4U);
  EXPECT_EQ(queue.flushes(), 1U);
}

TEST(PendingReleases, MoreBytesThanTheRatioReleaseAll) {
  Queue queue(1000, {.count = 10, .ratio = 0.2});
  std::vector<int> log;
  ASSERT_TRUE(queue.add(noting(log, 0), 200));
  EXPECT_TRUE(log.empty());
  ASSERT_TRUE(queue.add(noting(log, 1), 1));
  EXPECT_EQ(log, (std::vector{0, 1}));
}

TEST(PendingReleases, NothingIsReleasedWhileDeferred) {
  Queue queue(1000, {.count = 0, .ratio = 0});
  std::vector<int> log;
  queue.defer();
  queue.defer();
  ASSERT_TRUE(queue.add(noting(log, 0), 5));
  queue.resume();
  ASSERT_TRUE(queue.flush());
  EXPECT_TRUE(log.empty());
  queue.resume();
  EXPECT_TRUE(log.empty()) << "leaving releases nothing";
  ASSERT_TRUE(queue.flush());
  EXPECT_EQ(log, std::vector{0});
}

TEST(PendingReleases, AnErrorCancelsTheRest) {
  Queue queue(1000, {.count = 10, .ratio = 1});
  std::vector<int> log;
  ASSERT_TRUE(queue.add(noting(log, 0), 1));
  ASSERT_TRUE(queue.add(
      []() -> Result<void> {
        Diag diag;
        diag.id = ErrorId::invalid_value;
        diag.what = "cannot";
        return diag;
      },
      1));
  ASSERT_TRUE(queue.add(noting(log, 2), 1));
  ASSERT_TRUE(queue.add(noting(log, 3), 1));
  auto flushed = queue.flush();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().what, "cannot");
  EXPECT_EQ(flushed.error().where, "2 further releases were cancelled");
  EXPECT_EQ(log, std::vector{0});
  EXPECT_EQ(queue.count(), 0U);
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST(PendingReleases, AReleaseMayAddOthers) {
  Queue queue(1000, {.count = 10, .ratio = 1});
  std::vector<int> log;
  ASSERT_TRUE(queue.add([&] { return queue.add(noting(log, 1), 1); }, 1));
  ASSERT_TRUE(queue.flush());
  EXPECT_EQ(log, std::vector{1});
}

TEST(PendingReleases, TheEnvironmentSetsTheLimits) {
  setenv("NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT", "2", 1);
  setenv("NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO", "0.5", 1);
  auto limits = Queue::limits_of_environment();
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->count, 2U);
  EXPECT_EQ(limits->ratio, 0.5);
  for (const char* text : {"few", "-1", "2.5x"}) {
    setenv("NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO", text, 1);
    EXPECT_ERROR((void)Device::open("cpu"), invalid_value);
  }
  unsetenv("NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO");
  const Device device = Device::open("cpu", {.threads = 1});
  unsetenv("NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT");
  for (std::size_t i = 0; i < 2; ++i) {
    {
      const HostMemory memory(device, 100);
    }
    EXPECT_EQ(device.pending().memory_count, i + 1);
  }
  {
    const HostMemory memory(device, 100);
  }
  EXPECT_EQ(device.pending().memory_count, 0U);
  EXPECT_EQ(device.pending().flushes, 1U);
}

class Pending : public FakeTest {};

TEST_F(Pending, HostMemoryStaysUntilItIsReleased) {
  int* kept = nullptr;
  {
    const HostMemory memory(device, 400);
    kept = static_cast<int*>(memory.data());
  }
  EXPECT_EQ(device.pending().memory_count, 1U);
  EXPECT_EQ(device.pending().memory_bytes, 400U);
  *kept = 5;  // still mapped
  device.flush_pending();
  EXPECT_EQ(device.pending().memory_count, 0U);
}

TEST_F(Pending, ArraysAreReleasedAtOnceExceptWithinDeferCleanup) {
  const MemoryPool pool = MemoryPool::of(device);
  {
    const DeviceArray<int> array(device, 10);
  }
  EXPECT_EQ(pool.statistics().used_current, 0U);
  {
    const DeferCleanup outer(device);
    {
      const DeferCleanup inner(device);
      for (int i = 0; i < 20; ++i) DeviceArray<int>(device, 10);
    }
    {
      const DeviceArray<int> array(MemoryPool(device), device.default_stream(), 10);
    }
    device.flush_pending();
    EXPECT_TRUE(device.pending().deferred);
    EXPECT_EQ(device.pending().memory_count, 21U);
    EXPECT_EQ(device.pending().memory_bytes, 21U * 40U);
    EXPECT_EQ(pool.statistics().used_current, 20U * 512U);
  }
  EXPECT_EQ(device.pending().memory_count, 21U);
  device.flush_pending();
  EXPECT_EQ(device.pending().memory_count, 0U);
  EXPECT_EQ(pool.statistics().used_current, 0U);
}

TEST_F(Pending, RegistrationsEndAtOnce) {
  const DeferCleanup deferred(device);
  std::vector<int> host(100);
  {
    const HostRegistration registration(device, host.data(), 400);
  }
  EXPECT_EQ(device.pending().memory_count, 0U);
  const HostRegistration again(device, host.data(), 400);
}

TEST_F(Pending, ShortMemoryReleasesWhatWaits) {
  const std::size_t most = FakeDevice::kMemory / 2 + 1000;
  {
    const DeferCleanup deferred(device);
    {
      const DeviceArray<char> array(device, most);
    }
    EXPECT_ERROR(DeviceArray<char>(device, most), out_of_memory);
  }
  const DeviceArray<char> array(device, most);
  EXPECT_EQ(device.pending().memory_count, 0U);
}

TEST_F(Pending, AResetReleasesWhatWaits) {
  {
    const HostMemory memory(device, 100);
  }
  {
    const DeferCleanup deferred(device);
    const DeviceArray<int> array(device, 10);
  }
  EXPECT_EQ(device.pending().memory_count, 2U);
  device.reset();
  EXPECT_EQ(device.pending().memory_count, 0U);
}

// ---- several devices ----

class Several : public testing::Test {
 protected:
  void SetUp() override { setenv("WARPLOOM_DEVICES", "2", 1); }
  void TearDown() override { unsetenv("WARPLOOM_DEVICES"); }
};

TEST_F(Several, AreOpenedByNumber) {
  EXPECT_EQ(Device::count(), 2U);
  EXPECT_EQ(Device::open("cpu", {.threads = 1, .ordinal = 1}).ordinal(), 1U);
  EXPECT_EQ(Device::open("cpu", {.threads = 1}).ordinal(), 0U);
  EXPECT_ERROR((void)Device::open("cpu", {.ordinal = 2}), invalid_device);
  setenv("WARPLOOM_DEVICES", "several", 1);
  EXPECT_ERROR((void)Device::count(), invalid_value);
}

TEST_F(Several, HaveLimitsOfTheirOwn) {
  const Device one = Device::open("cpu", {.threads = 1, .memory_limit = 1 << 20}),
               two = Device::open("cpu", {.threads = 1, .memory_limit = 4 << 20, .ordinal = 1});
  const DeviceArray<char> most(one, 1 << 20);
  EXPECT_ERROR(DeviceArray<char>(one, 1), out_of_memory);
  const DeviceArray<char> other(two, 3 << 20);
  EXPECT_EQ(one.free_memory(), 0U);
}

TEST_F(Several, PeerAccessIsEnabledOnce) {
  const Device one = Device::open("cpu", {.threads = 1}), two = Device::open("cpu", {.threads = 1, .ordinal = 1});
  EXPECT_TRUE(one.can_access_peer(two));
  EXPECT_FALSE(one.can_access_peer(one));
  EXPECT_ERROR(one.disable_peer_access(two), peer_access_not_enabled);
  one.enable_peer_access(two);
  const Error twice = error_of([&] { one.enable_peer_access(two); });
  EXPECT_EQ(twice.id(), error_id::peer_access_enabled);
  EXPECT_EQ(twice.cuda_code(), 704);
  two.enable_peer_access(one);
  one.disable_peer_access(two);
  EXPECT_EQ(error_of([&] { one.disable_peer_access(two); }).cuda_code(), 705);
  EXPECT_ERROR(one.enable_peer_access(one), invalid_device);
  EXPECT_ERROR(one.disable_peer_access(one), invalid_device);
}

TEST_F(Several, KernelsKeepOutOfAPeersMemory) {
  const char* const text = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 to, .param .u64 from, .param .u32 reads) {
  .reg .pred p;
  .reg .b32 x, y, r;
  .reg .b64 a, b;
  ld.param.u64 a, [to];
  ld.param.u64 b, [from];
  ld.param.u32 r, [reads];
  mov.b32 y, 5;
  setp.eq.u32 p, r, 0;
  @p bra done;
  ld.u32 y, [b];
done:
  ld.u32 x, [a];
  add.s32 x, x, y;
  st.u32 [a], x;
  ret;
}
)";
  const Device one = Device::open("cpu", {.threads = 1}), two = Device::open("cpu", {.threads = 1, .ordinal = 1});
  DeviceArray<int> here(one, std::vector{1, 2}), there(two, std::vector{10, 20});
  const Kernel add = one.load_ptx(text, "add.ptx").kernel("add");
  const auto launch = [&](int* to, const int* from, bool reads) {
    add.launch({1, 32}, to, from, static_cast<int>(reads));
    one.synchronize();
  };
  launch(here.data(), there.data(), false);  // a pointer that is not used
  EXPECT_EQ(here.to_vector()[0], 6);
  one.enable_peer_access(two);
  launch(here.data(), there.data(), true);
  EXPECT_EQ(here.to_vector()[0], 16);
  launch(there.data(), here.data(), true);
  EXPECT_EQ(there.to_vector()[0], 26);
  {
    Graph graph(one);
    graph.launch({}, add, {1, 32}, there.data(), here.data(), 1);
    const GraphExec exec = graph.instantiate();
    exec.launch();
    one.synchronize();
    EXPECT_EQ(there.to_vector()[0], 42);
    one.disable_peer_access(two);
    two.enable_peer_access(one);  // the other direction
    exec.launch();
    const Error error = error_of([&] { one.synchronize(); });
    EXPECT_EQ(error.id(), error_id::illegal_address);
    EXPECT_EQ(error.cuda_code(), 700);
    EXPECT_NE(std::string(error.what()).find("memory of another device"), std::string::npos) << error.what();
  }
  EXPECT_EQ(there.to_vector()[0], 42);  // the other device goes on
  one.reset();
  const Kernel again = one.load_ptx(text, "add.ptx").kernel("add");
  DeviceArray<int> fresh(one, std::vector{1, 2});
  again.launch({1, 32}, fresh, there.data(), 1);
  EXPECT_ERROR(one.synchronize(), illegal_address);
  one.reset();
}

TEST_F(Several, CopyBetweenTheirMemories) {
  const Device one = Device::open("cpu", {.threads = 1}), two = Device::open("cpu", {.threads = 1, .ordinal = 1});
  DeviceArray<int> from(one, std::vector{1, 2, 3}), to(two, 3);
  copy_peer(two, to.data(), one, from.data(), 12);
  EXPECT_EQ(to.to_vector(), (std::vector{1, 2, 3}));
  const Stream stream(one);
  from.fill(9, stream);
  copy_peer(stream, two, to.data(), one, from.data(), 8);
  stream.synchronize();
  EXPECT_EQ(to.to_vector(), (std::vector{9, 9, 3}));
  copy_peer(two, nullptr, one, nullptr, 0);
  EXPECT_ERROR(copy_peer(two, to.data(), one, from.data(), 16), invalid_value);
  EXPECT_ERROR(copy_peer(two, nullptr, one, from.data(), 4), invalid_value);
  const Device third = Device::open("cpu", {.threads = 1});
  EXPECT_ERROR(copy_peer(Stream(third), two, to.data(), one, from.data(), 4), invalid_handle);
}

}  // namespace
}  // namespace warploom::test
