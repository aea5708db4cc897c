// Memory pools: whose memory is given out again when, what they hold, and what they say when there is none.
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fixture.hpp"

namespace warploom::test {
namespace {

constexpr std::size_t kBytes = 1000;     // rounded up to 1024
constexpr std::size_t kLarge = 200'000;  // five fit into the fake device

class Pools : public FakeTest {
 protected:
  Stream a{device}, b{device};
  MemoryPool pool = MemoryPool::of(device);

  // Keeps a stream from going on until the gate is opened.
  void hold(const Stream& stream) { wait.launch({1, 1, 0, stream}, &gate); }
  void TearDown() override {
    gate.open();
    device.synchronize();
  }

  Gate gate;
};

TEST_F(Pools, AStreamGetsItsOwnMemoryBackAtOnce) {
  hold(a);
  void* const first = pool.allocate(kBytes, a);
  pool.deallocate(first, a);
  EXPECT_EQ(pool.allocate(kBytes, a), first);
  pool.deallocate(first, a);
  gate.open();
}

TEST_F(Pools, AnotherStreamGetsItWhenTheFreeHasBeenReached) {
  hold(a);
  void* const first = pool.allocate(kBytes, a);
  pool.deallocate(first, a);
  void* const other = pool.allocate(kBytes, b);
  EXPECT_NE(other, first);
  gate.open();
  a.synchronize();
  pool.deallocate(other, b);
  EXPECT_EQ(pool.statistics().used_current, 0U);
}

TEST_F(Pools, OpportunisticReuseCanBeSwitchedOff) {
  MemoryPoolOptions options = pool.options();
  options.reuse_allow_opportunistic = false;
  options.release_threshold = ~std::uint64_t{0};
  pool.set_options(options);
  hold(a);
  void* const first = pool.allocate(kBytes, a);
  pool.deallocate(first, a);
  gate.open();
  while (!a.query()) std::this_thread::yield();
  void* const other = pool.allocate(kBytes, b);
  EXPECT_NE(other, first);
  a.synchronize();  // what is waited for is there for all
  EXPECT_EQ(pool.allocate(kBytes, b), first);
  pool.deallocate(first, b);
  pool.deallocate(other, b);
}

TEST_F(Pools, AnotherStreamGetsItAfterAnEventThatItWaitsFor) {
  hold(a);
  void* const first = pool.allocate(kBytes, a);
  const Event before(device), after(device);
  before.record(a);
  a.host_function([] {});
  pool.deallocate(first, a);
  b.wait(before);
  void* const other = pool.allocate(kBytes, b);
  EXPECT_NE(other, first) << "the event was recorded before the free";
  after.record(a);
  b.wait(after);
  EXPECT_EQ(pool.allocate(kBytes, b), first);
  MemoryPoolOptions options;
  options.reuse_follow_event_dependencies = false;
  pool.set_options(options);
  pool.deallocate(first, a);
  after.record(a);
  b.wait(after);
  void* const third = pool.allocate(kBytes, b);
  EXPECT_NE(third, first);
  gate.open();
  for (void* address : {other, third}) pool.deallocate(address, b);
}

TEST_F(Pools, MemoryFreedOnTheDefaultStreamWaitsForBlockingStreams) {
  hold(a);
  const Stream aside(device, {.blocking = false});
  void* const first = pool.allocate(kBytes, a);
  pool.deallocate(first, device.default_stream());
  void* const other = pool.allocate(kBytes, aside);
  EXPECT_NE(other, first);
  gate.open();
  device.synchronize();
  pool.deallocate(other, aside);
}

TEST_F(Pools, AShortDeviceMakesAStreamWaitForAnother) {
  hold(a);
  std::array<void*, 5> all{};
  for (void*& address : all) address = pool.allocate(kLarge, a);
  pool.deallocate(all[2], a);
  void* const taken = pool.allocate(kLarge, b);  // returns although the stream is held
  EXPECT_EQ(taken, all[2]);
  bool reached = false;
  b.host_function([&] { reached = true; });
  EXPECT_FALSE(b.query());
  gate.open();
  b.synchronize();
  EXPECT_TRUE(reached);
  pool.deallocate(taken, b);
  for (void* address : {all[0], all[1], all[3], all[4]}) pool.deallocate(address, a);
}

TEST_F(Pools, ArraysOfEverybodyWaitForWhatIsFreed) {
  std::array<void*, 5> all{};
  for (void*& address : all) address = pool.allocate(kLarge, a);
  hold(a);
  pool.deallocate(all[0], a);
  std::atomic<bool> opened{false};
  std::thread opens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    opened = true;
    gate.open();
  });
  const DeviceArray<char> array(device, kLarge);  // waits, since all work may use it
  EXPECT_TRUE(opened);
  for (void* address : {all[1], all[2], all[3], all[4]}) EXPECT_NE(static_cast<void*>(array.data()), address);
  opens.join();
  for (void* address : {all[1], all[2], all[3], all[4]}) pool.deallocate(address, a);
}

TEST_F(Pools, CountWhatTheyHold) {
  const MemoryPool own(device, {.release_threshold = ~std::uint64_t{0}});
  void* const one = own.allocate(kBytes, a);
  void* const two = own.allocate(3000, a);
  EXPECT_EQ(own.statistics().used_current, 1024U + 3072U);
  own.deallocate(one, a);
  EXPECT_EQ(own.statistics().used_current, 3072U);
  EXPECT_EQ(own.statistics().used_high, 1024U + 3072U);
  EXPECT_GE(own.statistics().reserved_current, 1024U + 3072U);
  own.reset_statistics();
  EXPECT_EQ(own.statistics().used_high, 3072U);
  own.deallocate(two, a);
  a.synchronize();
  EXPECT_GE(own.statistics().reserved_current, 1024U + 3072U) << "below the threshold";
  own.trim(2000);
  EXPECT_LE(own.statistics().reserved_current, 3072U);
  own.trim();
  EXPECT_EQ(own.statistics().reserved_current, 0U);
  EXPECT_EQ(device.free_memory(), FakeDevice::kMemory);
}

TEST_F(Pools, GiveBackAboveTheThresholdWhenTheDeviceIsWaitedFor) {
  const std::size_t before = fake->free_bytes();
  void* const one = pool.allocate(kLarge, a);
  pool.deallocate(one, a);
  EXPECT_LT(fake->free_bytes(), before);
  EXPECT_EQ(device.free_memory(), before) << "what a pool does not use can be allocated";
  a.synchronize();
  EXPECT_EQ(fake->free_bytes(), before);
}

TEST_F(Pools, IdleMemoryOfOnePoolGoesToAnother) {
  const MemoryPool own(device, {.release_threshold = ~std::uint64_t{0}});
  std::array<void*, 5> all{};
  for (void*& address : all) address = own.allocate(kLarge, a);
  for (void* address : all) own.deallocate(address, a);
  const DeviceArray<char> array(device, 4 * kLarge);
  EXPECT_EQ(own.statistics().reserved_current, 0U);
}

TEST_F(Pools, ALimitOfTheirOwn) {
  const MemoryPool own(device, {.max_bytes = 10'000});
  void* const one = own.allocate(6000, a);
  const Error error = error_of([&] { (void)own.allocate(6000, a); });
  EXPECT_EQ(error.id(), error_id::out_of_memory);
  EXPECT_NE(error.message().find("of at most 10000"), std::string::npos) << error.what();
  own.deallocate(one, a);
  void* const two = own.allocate(9000, a);  // the smaller block goes back first
  own.deallocate(two, a);
}

TEST_F(Pools, OnePoolIsCurrent) {
  EXPECT_EQ(MemoryPool::current(device).statistics().used_current, 0U);
  {
    const MemoryPool own(device);
    MemoryPool::set_current(device, own);
    void* const one = allocate(a, kBytes);
    const DeviceArray<int> array(a, 10);
    EXPECT_EQ(own.statistics().used_current, 1536U);
    EXPECT_EQ(MemoryPool::current(device).statistics().used_current, 1536U);
    EXPECT_EQ(pool.statistics().used_current, 0U);
    const DeviceArray<int> of_default(device, 10);
    EXPECT_EQ(pool.statistics().used_current, 512U);
    deallocate(a, one);
  }
  void* const other = allocate(a, kBytes);
  EXPECT_EQ(pool.statistics().used_current, 1024U) << "the default pool is current again";
  deallocate(a, other);
}

TEST_F(Pools, AllocationsOutliveTheHandle) {
  std::optional<MemoryPool> own(device);
  DeviceArray<int> array(*own, a, 4);
  void* const address = own->allocate(kBytes, a);
  own.reset();
  array.fill(7);
  EXPECT_EQ(array.to_vector(), std::vector<int>(4, 7));
  deallocate(a, address);
}

TEST_F(Pools, OfAProgram) {
  // [pool]
  const MemoryPool own(device, {.release_threshold = 1 << 16});
  const Stream stream(device);
  {
    DeviceArray<float> scratch(own, stream, 1000);  // for work queued on the stream from now on
    scratch.zero(stream);
  }  // freed; the next allocation on this stream may have it at once
  void* const bytes = own.allocate(4000, stream);
  own.deallocate(bytes, stream);
  stream.synchronize();
  const MemoryPoolStatistics held = own.statistics();
  own.trim();  // what the threshold kept
  // [/pool]
  EXPECT_EQ(held.used_current, 0U);
  EXPECT_EQ(held.used_high, 4096U);
  EXPECT_EQ(own.statistics().reserved_current, 0U);
}

TEST_F(Pools, ArraysUseThem) {
  const MemoryPool own(device);
  {
    DeviceArray<int> array(own, a, 4);
    array.fill(3, a);
    std::vector<int> back(4);
    array.copy_to(back, a);
    a.synchronize();
    EXPECT_EQ(back, std::vector<int>(4, 3));
    EXPECT_EQ(own.statistics().used_current, 512U);
  }
  EXPECT_EQ(own.statistics().used_current, 0U);
  EXPECT_EQ(DeviceArray<int>(own, a, 0).data(), nullptr);
}

TEST_F(Pools, RefuseWhatIsWrong) {
  void* const address = pool.allocate(kBytes, a);
  pool.deallocate(nullptr, a);
  EXPECT_EQ(pool.allocate(0, a), nullptr);
  EXPECT_ERROR(pool.deallocate(static_cast<char*>(address) + 1, a), invalid_value);
  pool.deallocate(address, a);
  EXPECT_ERROR(pool.deallocate(address, a), invalid_value);
  int local = 0;
  EXPECT_ERROR(deallocate(a, &local), invalid_value);
  EXPECT_ERROR((void)pool.allocate(~std::size_t{0}, a), out_of_memory);
  EXPECT_ERROR((void)pool.allocate(FakeDevice::kMemory + 1, a), out_of_memory);
  const Device other = open();
  const Stream foreign(other);
  EXPECT_ERROR((void)pool.allocate(kBytes, foreign), invalid_handle);
  EXPECT_ERROR(pool.deallocate(nullptr, foreign), invalid_handle);
  EXPECT_ERROR(MemoryPool::set_current(other, pool), invalid_handle);
  EXPECT_ERROR(DeviceArray<int>(pool, foreign, 1), invalid_handle);
  const MemoryPool gone = std::move(pool);
  EXPECT_ERROR((void)pool.statistics(), invalid_handle);
  const MemoryPool own(device);
  device.reset();
  EXPECT_ERROR((void)own.allocate(kBytes, Stream(device)), invalid_handle);
  EXPECT_ERROR(own.trim(), invalid_handle);
}

TEST_F(Pools, ThreadsShareThem) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([this] {
      const Stream stream(device);
      for (int i = 0; i < 500; ++i) {
        void* const address = pool.allocate(static_cast<std::size_t>(1 + i % 7 * 300), stream);
        std::memset(address, i, 1);
        pool.deallocate(address, stream);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.statistics().used_current, 0U);
}

// ---- what a device says when there is no memory ----

TEST(OutOfMemory, NamesTheBiggestAllocationsAndWhatIsPending) {
  const Device device = Device::open("cpu", {.threads = 1, .memory_limit = std::uint64_t{16} << 20});
  const DeviceArray<char> small(device, 1000);
  const DeviceArray<char> biggest(device, std::size_t{8} << 20);
  const unsigned line = __LINE__ - 1;
  const DeviceArray<char> second(device, std::size_t{3} << 20);
  const DeferCleanup deferred(device);
  {
    const DeviceArray<char> gone(device, 2000);
  }
  const Error error = error_of([&] { DeviceArray<char>(device, std::size_t{9} << 20); });
  EXPECT_EQ(error.id(), error_id::out_of_memory);
  EXPECT_EQ(error.cuda_code(), 2);
  const std::string& what = error.message();
  EXPECT_NE(what.find("9437184 bytes asked for, 3145728 of 16777216 free, largest block 3145728"), std::string::npos)
      << what;
  EXPECT_NE(what.find("1 releases pending of 2000 bytes"), std::string::npos) << what;
  const std::string place = std::string("pool_test.cpp:") + std::to_string(line);
  EXPECT_LT(error.where().find(place), error.where().find("3145728 bytes at")) << error.where();
  EXPECT_NE(error.remedy().find("leave the scope"), std::string::npos);
}

TEST(OutOfMemory, TheLimitCanBeChanged) {
  const Device device = Device::open("cpu", {.threads = 1, .memory_limit = std::uint64_t{16} << 20});
  EXPECT_EQ(device.properties().total_memory, std::size_t{16} << 20);
  DeviceArray<char> array(device, std::size_t{4} << 20);
  device.set_memory_limit(std::uint64_t{2} << 20);
  EXPECT_EQ(device.properties().total_memory, std::size_t{2} << 20);
  EXPECT_EQ(device.free_memory(), 0U);
  EXPECT_ERROR(DeviceArray<char>(device, 1), out_of_memory);
  array.fill(1);  // what is there stays
  device.set_memory_limit(std::uint64_t{16} << 20);
  EXPECT_NO_THROW(DeviceArray<char>(device, std::size_t{8} << 20));
  EXPECT_ERROR(device.set_memory_limit(0), invalid_value);
  EXPECT_ERROR(device.set_memory_limit(std::uint64_t{17} << 20), invalid_value);
}

TEST(OutOfMemory, TheEnvironmentSetsTheLimit) {
  setenv("WARPLOOM_MEMORY_LIMIT", "3M", 1);
  EXPECT_EQ(Device::open("cpu", {.threads = 1}).properties().total_memory, std::size_t{3} << 20);
  for (const char* text : {"3X", "many", "99999999999G", "-1", "1.5M"}) {
    setenv("WARPLOOM_MEMORY_LIMIT", text, 1);
    EXPECT_ERROR((void)Device::open("cpu"), invalid_value);
  }
  unsetenv("WARPLOOM_MEMORY_LIMIT");
}

}  // namespace
}  // namespace warploom::test
