// Memory resources and how they stack.
#include <memory>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace warploom::test {
namespace {

class Resources : public FakeTest {
 protected:
  Stream a{device}, b{device};
  std::shared_ptr<MemoryResource> pool = std::make_shared<PoolResource>(device);
  Gate gate;

  void TearDown() override {
    gate.open();
    device.synchronize();
  }
};

TEST_F(Resources, StackAndServeArrays) {
  std::vector<std::string> lines;
  const auto statistics = std::make_shared<StatisticsResource>(pool);
  const auto limit = std::make_shared<LimitingResource>(statistics, 10'000);
  const auto log = std::make_shared<LoggingResource>(limit, [&](const std::string& line) { lines.push_back(line); });
  {
    DeviceArray<int> array(log, a, 1000);
    array.fill(5);
    EXPECT_EQ(array.to_vector(), std::vector<int>(1000, 5));
    EXPECT_EQ(limit->used(), 4000U);
    EXPECT_ERROR(DeviceArray<int>(log, a, 2000), out_of_memory);
    EXPECT_EQ(limit->used(), 4000U);
  }
  EXPECT_EQ(limit->used(), 0U);
  const auto s = statistics->statistics();
  EXPECT_EQ(s.bytes, 0U);
  EXPECT_EQ(s.bytes_high, 4000U);
  EXPECT_EQ(s.count_total, 1U);
  EXPECT_EQ(s.failed, 0U) << "the limit stands before the statistics";
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_NE(lines[1].find(",allocate,"), std::string::npos);
  EXPECT_NE(lines[1].find("resource_test.cpp:"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find(",allocate failed,"), std::string::npos);
  EXPECT_NE(lines[3].find(",free,"), std::string::npos);
}

TEST_F(Resources, OfAProgram) {
  // [stack]
  const auto counts = std::make_shared<StatisticsResource>(std::make_shared<PoolResource>(device));
  const auto limited = std::make_shared<LimitingResource>(counts, std::uint64_t{1} << 16);
  const Stream stream(device);
  DeviceArray<float> array(limited, stream, 1000);
  array.zero(stream);
  const std::uint64_t in_use = counts->statistics().bytes;
  // [/stack]
  EXPECT_EQ(in_use, 4000U);
}

TEST_F(Resources, TheErrorSaysWhoRefused) {
  LimitingResource limit(pool, 100);
  const Error error = error_of([&] { (void)limit.allocate(101, a); });
  EXPECT_NE(error.message().find("101 bytes asked for, 0 of 100 in use"), std::string::npos) << error.what();
  EXPECT_NE(error.where().find("resource_test.cpp"), std::string::npos);
}

TEST_F(Resources, ArenasBelongToStreams) {
  ArenaResource arena(pool, 4096);
  auto* const one = static_cast<char*>(arena.allocate(100, a));
  auto* const two = static_cast<char*>(arena.allocate(100, a));
  EXPECT_EQ(two - one, 256);
  auto* const other = static_cast<char*>(arena.allocate(100, b));
  EXPECT_TRUE(other < one || other >= one + 4096);
  EXPECT_EQ(arena.arenas(), 2U);
  auto* const large = arena.allocate(5000, a);
  EXPECT_EQ(arena.arenas(), 2U);
  arena.deallocate(large, 5000, a);
  arena.deallocate(one, 100, a);
  EXPECT_EQ(arena.arenas(), 2U) << "one allocation is left in it";
  arena.deallocate(two, 100, a);
  arena.deallocate(other, 100, b);
  EXPECT_EQ(arena.arenas(), 0U);
  EXPECT_EQ(MemoryPool::of(device).statistics().used_current, 0U);
}

TEST_F(Resources, ArenasGoBackWithTheirResource) {
  {
    ArenaResource arena(pool, 4096);
    EXPECT_NE(arena.allocate(1, a), nullptr);
    EXPECT_EQ(MemoryPool::of(device).statistics().used_current, 4096U);
  }
  EXPECT_EQ(MemoryPool::of(device).statistics().used_current, 0U);
}

// An allocator as another library has it.
struct Counted {
  MemoryPool pool;
  int* live;
  void* allocate(std::size_t bytes, const Stream& stream) {
    ++*live;
    return pool.allocate(bytes, stream);
  }
  void deallocate(void* address, std::size_t, const Stream& stream) {
    --*live;
    pool.deallocate(address, stream);
  }
};
static_assert(StreamOrderedAllocator<Counted>);
static_assert(!StreamOrderedAllocator<int>);

TEST_F(Resources, AdaptAllocatorsOfOthers) {
  int live = 0;
  const auto resource = make_resource(device, Counted{MemoryPool(device), &live});
  {
    DeviceArray<double> array(resource, b, 12);
    EXPECT_EQ(live, 1);
    DeviceArray<double> moved = std::move(array);
    moved.zero();
    EXPECT_EQ(moved.to_vector(), std::vector<double>(12));
  }
  EXPECT_EQ(live, 0);
  EXPECT_EQ(resource->allocate(0, a), nullptr);
  resource->deallocate(nullptr, 0, a);
  EXPECT_EQ(live, 0);
}

TEST_F(Resources, AnArrayKeepsItsResource) {
  DeviceArray<int> array(std::make_shared<StatisticsResource>(pool), a, 3);
  array.fill(2);
  EXPECT_EQ(array.to_vector(), std::vector<int>(3, 2));
}

TEST_F(Resources, FreedMemoryFollowsTheStream) {
  wait.launch({1, 1, 0, a}, &gate);
  void* freed = nullptr;
  {
    const DeviceArray<int> array(pool, a, 100);
    freed = array.data();
  }
  EXPECT_EQ(pool->allocate(400, a), freed);
  EXPECT_NE(pool->allocate(400, b), freed);
  gate.open();
}

TEST_F(Resources, RefuseWhatIsWrong) {
  EXPECT_ERROR(StatisticsResource(nullptr), invalid_value);
  EXPECT_ERROR(LimitingResource(nullptr, 1), invalid_value);
  EXPECT_ERROR(LoggingResource(nullptr, [](const std::string&) {}), invalid_value);
  EXPECT_ERROR(LoggingResource(pool, nullptr), invalid_value);
  EXPECT_ERROR(ArenaResource(pool, 10), invalid_value);
  EXPECT_ERROR(DeviceArray<int>(std::shared_ptr<MemoryResource>(), a, 1), invalid_value);
  const Device other = open();
  EXPECT_ERROR(DeviceArray<int>(pool, Stream(other), 1), invalid_handle);
  // A wrong free has no caller to throw to.
  int local = 0;
  pool->deallocate(&local, 4, a);
  EXPECT_ERROR(device.synchronize(), invalid_value);
}

TEST_F(Resources, AResetFreesTheirMemory) {
  DeviceArray<int> array(pool, a, 3);
  device.reset();
  EXPECT_EQ(array.data(), nullptr);
}

}  // namespace
}  // namespace warploom::test
