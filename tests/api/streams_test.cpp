// Default streams, handles and priorities of streams.
#include <set>
#include <thread>

#include "fixture.hpp"

namespace warploom::test {
namespace {

class Streams : public FakeTest {
 protected:
  std::vector<int> log;
  Gate gate;
  void TearDown() override {
    gate.open();
    device.synchronize();
  }
};

TEST_F(Streams, HaveHandlesOfTheirOwn) {
  const Stream a(device), b(device), copy = a;
  EXPECT_EQ(device.legacy_stream().handle(), 1u);
  EXPECT_GT(a.handle(), 2u);
  EXPECT_NE(a.handle(), b.handle());
  EXPECT_EQ(a.handle(), copy.handle());
}

TEST_F(Streams, AreFoundByTheirHandles) {
  std::uintptr_t handle = 0;
  {
    const Stream stream(device, {.blocking = false, .priority = -2});
    handle = stream.handle();
    const Stream again = device.external_stream(handle);
    EXPECT_EQ(again.priority(), -2);
    wait.launch({1, 1, 0, again}, &gate);
    EXPECT_FALSE(stream.query());
    gate.open();
    stream.synchronize();
  }
  EXPECT_ERROR((void)device.external_stream(handle), invalid_handle);
  EXPECT_ERROR((void)device.external_stream(99), invalid_handle);
  EXPECT_EQ(device.external_stream(0).handle(), 1u);
  EXPECT_EQ(device.external_stream(1).handle(), 1u);
  EXPECT_EQ(device.external_stream(2).handle(), device.per_thread_stream().handle());
}

TEST_F(Streams, OfThreadsAreTheirOwn) {
  const Stream mine = device.per_thread_stream();
  EXPECT_EQ(mine.handle(), device.per_thread_stream().handle());
  EXPECT_TRUE(mine.blocking());
  wait.launch({1, 1, 0, mine}, &gate);
  std::uintptr_t other = 0;
  std::thread([&] {
    const Stream stream = device.per_thread_stream();
    other = stream.handle();
    append.launch({1, 1, 0, stream}, &log, 1);
    stream.synchronize();  // does not wait for the other thread's stream
  }).join();
  EXPECT_NE(mine.handle(), other);
  EXPECT_EQ(log, std::vector{1});
  EXPECT_FALSE(mine.query());
  // The legacy stream waits for both.
  append.launch({1, 1, 0, device.legacy_stream()}, &log, 2);
  EXPECT_EQ(log, std::vector{1});
  gate.open();
  device.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST_F(Streams, OfAThreadThatEndedFinishTheirWork) {
  std::thread([&] {
    const Stream stream = device.per_thread_stream();
    wait.launch({1, 1, 0, stream}, &gate);
    append.launch({1, 1, 0, stream}, &log, 1);
  }).join();
  gate.open();
  device.synchronize();
  EXPECT_EQ(log, std::vector{1});
}

TEST_F(Streams, OfThreadsAreMadeAgainAfterAReset) {
  const Stream before = device.per_thread_stream();
  device.reset();
  EXPECT_ERROR(before.synchronize(), invalid_handle);
  EXPECT_NE(device.per_thread_stream().handle(), before.handle());
  device.per_thread_stream().synchronize();
}

TEST(PerThreadDefault, IsTheStreamOfCallsThatAreGivenNone) {
  auto fake = std::make_unique<FakeDevice>();
  fake->define("wait", {8}, [](const device::Launch& launch) -> Result<void> {
    param<Gate*>(launch, 0)->pass();
    return {};
  });
  const Device device = adopt_device(std::move(fake), nullptr, true);
  const Kernel wait = device.load_ptx("fake", "fake.ptx").kernel("wait");
  EXPECT_EQ(device.default_stream().handle(), device.per_thread_stream().handle());
  Gate gate;
  DeviceArray<int> array(device, 1);
  const std::vector<int> one{1};
  wait.launch({1, 1}, &gate);
  // The copy of another thread is not held up by this thread's default stream.
  std::thread([&] { array.copy_from(one); }).join();
  EXPECT_FALSE(device.default_stream().query());
  gate.open();
  EXPECT_EQ(array.to_vector(), one);
}

}  // namespace
}  // namespace warploom::test
