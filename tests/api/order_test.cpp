// Order of work within and between streams, events, and the legacy default stream.
#include <chrono>
#include <thread>

#include "fixture.hpp"

namespace warploom::test {
namespace {

using namespace std::chrono_literals;

class Order : public FakeTest {
 protected:
  std::vector<int> log;
  Gate gate;
  // Kernels use the members above.
  void TearDown() override { device.synchronize(); }
  void append_on(const Stream& stream, int value) { append.launch({1, 1, 0, stream}, &log, value); }
  void hold(const Stream& stream) { wait.launch({1, 1, 0, stream}, &gate); }
};

TEST_F(Order, LaunchReturnsBeforeTheKernelRuns) {
  Stream stream(device);
  hold(stream);
  append_on(stream, 1);
  EXPECT_FALSE(stream.query());
  gate.open();
  stream.synchronize();
  EXPECT_TRUE(stream.query());
  EXPECT_EQ(log, std::vector{1});
}

TEST_F(Order, OneStreamRunsInOrder) {
  Stream stream(device);
  for (int i = 0; i < 500; ++i) append_on(stream, i);
  stream.synchronize();
  ASSERT_EQ(log.size(), 500u);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(log[static_cast<std::size_t>(i)], i);
}

TEST_F(Order, TwoStreamsDoNotWaitForEachOther) {
  Stream first(device), second(device);
  hold(first);
  append_on(second, 2);
  second.synchronize();
  EXPECT_EQ(log, std::vector{2});
  EXPECT_FALSE(first.query());
  gate.open();
  device.synchronize();
}

TEST_F(Order, EventOrdersTwoStreams) {
  Stream first(device), second(device);
  Event event(device);
  hold(first);
  append_on(first, 1);
  event.record(first);
  second.wait(event);
  append_on(second, 2);
  EXPECT_FALSE(event.query());
  EXPECT_FALSE(second.query());
  gate.open();
  second.synchronize();
  EXPECT_TRUE(event.query());
  EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST_F(Order, WaitUsesTheRecordOfItsTime) {
  Stream first(device), second(device);
  Event event(device);
  event.record(first);
  second.wait(event);
  hold(first);
  event.record(first);  // later than the wait, so the wait does not see it
  append_on(second, 2);
  second.synchronize();
  EXPECT_EQ(log, std::vector{2});
  EXPECT_FALSE(event.query());
  gate.open();
  event.synchronize();
}

TEST_F(Order, NeverRecordedEventHoldsNothingUp) {
  Stream stream(device);
  Event event(device);
  EXPECT_TRUE(event.query());
  event.synchronize();
  stream.wait(event);
  append_on(stream, 1);
  stream.synchronize();
  EXPECT_EQ(log, std::vector{1});
}

TEST_F(Order, DefaultStreamWaitsForBlockingStreams) {
  Stream first(device);
  hold(first);
  append_on(first, 1);
  append.launch({1, 1}, &log, 2);
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(device.default_stream().query());
  gate.open();
  device.default_stream().synchronize();
  EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST_F(Order, BlockingStreamsWaitForTheDefaultStream) {
  Stream first(device);
  wait.launch({1, 1}, &gate);
  append.launch({1, 1}, &log, 1);
  append_on(first, 2);
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(first.query());
  gate.open();
  first.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST_F(Order, DefaultStreamSeparatesBlockingStreams) {
  Stream first(device), second(device);
  hold(first);
  append_on(first, 1);
  append.launch({1, 1}, &log, 2);
  append_on(second, 3);
  gate.open();
  second.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST_F(Order, NonBlockingStreamIgnoresTheDefaultStream) {
  Stream free_stream(device, {.blocking = false, .priority = -2});
  EXPECT_FALSE(free_stream.blocking());
  EXPECT_EQ(free_stream.priority(), -2);
  wait.launch({1, 1}, &gate);
  append_on(free_stream, 1);
  free_stream.synchronize();
  EXPECT_EQ(log, std::vector{1});
  gate.open();
  device.synchronize();

  Gate second_gate;
  wait.launch({1, 1, 0, free_stream}, &second_gate);
  append.launch({1, 1}, &log, 2);
  device.default_stream().synchronize();
  EXPECT_EQ(log, (std::vector{1, 2}));
  second_gate.open();
  free_stream.synchronize();  // the kernel leaves the gate before the gate goes
}

TEST_F(Order, CopiesAreOrderedWithKernels) {
  Stream stream(device);
  const std::vector<float> host{1, 2, 3, 4};
  DeviceArray<float> array(device, 4);
  std::vector<float> back(4);
  const Kernel scale = module.kernel("scale");
  hold(stream);
  array.copy_from(host, stream);
  scale.launch({1, 32, 0, stream}, array, 3.0f, 4);
  array.copy_to(back, stream);
  gate.open();
  stream.synchronize();
  EXPECT_EQ(back, (std::vector<float>{3, 6, 9, 12}));
  scale.launch({1, 32}, array, 0.5f, 2);
  EXPECT_EQ(array.to_vector(), (std::vector<float>{1.5f, 3, 9, 12}));
}

TEST_F(Order, ToVectorSeesWorkOfBlockingStreams) {
  Stream stream(device);
  DeviceArray<float> array(device, std::vector<float>{1, 2});
  hold(stream);
  module.kernel("scale").launch({1, 32, 0, stream}, array, 2.0f, 2);
  std::thread opener([&] {
    std::this_thread::sleep_for(20ms);
    gate.open();
  });
  EXPECT_EQ(array.to_vector(), (std::vector<float>{2, 4}));
  opener.join();
}

TEST_F(Order, HostFunctionRunsInOrder) {
  Stream stream(device);
  hold(stream);
  append_on(stream, 1);
  stream.host_function([&] { log.push_back(2); });
  append_on(stream, 3);
  EXPECT_TRUE(log.empty());
  gate.open();
  stream.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST_F(Order, ElapsedTimeCoversTheWorkBetween) {
  Stream stream(device);
  Event start(device), end(device);
  start.record(stream);
  stream.host_function([] { std::this_thread::sleep_for(30ms); });
  end.record(stream);
  EXPECT_ERROR((void)Event::elapsed_ms(start, end), not_ready);
  end.synchronize();
  const double elapsed = Event::elapsed_ms(start, end);
  EXPECT_GE(elapsed, 30.0);
  EXPECT_LT(elapsed, 5000.0);
  EXPECT_DOUBLE_EQ(Event::elapsed_ms(end, start), -elapsed);
}

TEST_F(Order, ElapsedTimeNeedsTwoTimedRecords) {
  Event start(device), never(device), untimed(device, {.timing = false});
  start.record();
  untimed.record();
  device.synchronize();
  EXPECT_ERROR((void)Event::elapsed_ms(start, never), invalid_handle);
  EXPECT_ERROR((void)Event::elapsed_ms(untimed, start), invalid_handle);
  EXPECT_DOUBLE_EQ(Event::elapsed_ms(start, start), 0.0);
}

TEST_F(Order, DestroyedStreamFinishesItsWork) {
  {
    Stream stream(device);
    hold(stream);
    append_on(stream, 1);
  }
  gate.open();
  device.synchronize();
  EXPECT_EQ(log, std::vector{1});
}

TEST_F(Order, DestroyedArrayIsFreedAfterPendingWork) {
  Stream stream(device);
  std::vector<float> back(4);
  const std::size_t before = device.free_memory();
  {
    DeviceArray<float> array(device, std::vector<float>{1, 2, 3, 4});
    hold(stream);
    module.kernel("scale").launch({1, 32, 0, stream}, array, 2.0f, 4);
    array.copy_to(back, stream);
  }
  EXPECT_LT(device.free_memory(), before);
  gate.open();
  device.synchronize();
  EXPECT_EQ(back, (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(device.free_memory(), before);
}

TEST_F(Order, AllocationWaitsForMemoryThatWorkStillHolds) {
  Stream stream(device);
  {
    DeviceArray<std::byte> most(device, FakeDevice::kMemory * 3 / 4);
    hold(stream);
  }
  std::thread opener([&] {
    std::this_thread::sleep_for(20ms);
    gate.open();
  });
  DeviceArray<std::byte> again(device, FakeDevice::kMemory * 3 / 4);
  EXPECT_EQ(again.size(), FakeDevice::kMemory * 3 / 4);
  opener.join();
}

TEST_F(Order, ThingsOutliveTheirHandles) {
  std::vector<int> late;
  {
    Device other = open();
    Kernel other_append = other.load_ptx("fake").kernel("append");
    Stream stream(other);
    for (int i = 0; i < 100; ++i) other_append.launch({1, 1, 0, stream}, &late, i);
  }  // closing the device finishes its work
  EXPECT_EQ(late.size(), 100u);
}

TEST_F(Order, ErrorThatNobodyWaitedForIsPrinted) {
  testing::internal::CaptureStderr();
  {
    Device other = open();
    other.load_ptx("fake").kernel("fail").launch({1, 1}, error_id::device_trap);
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("never reported"), std::string::npos) << printed;
  EXPECT_NE(printed.find("device_trap"), std::string::npos) << printed;
}

TEST_F(Order, HandleMayDieInAHostFunction) {
  std::atomic<bool> done = false;
  {
    Device other = open();
    auto array = std::make_shared<DeviceArray<int>>(other, 16);
    Stream stream(other);
    stream.host_function([array, &done] { done = array->size() == 16; });
  }
  for (int i = 0; i < 2000 && !done; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(done);
}

TEST_F(Order, ManyThreadsLaunchConcurrently) {
  constexpr int threads = 8, rounds = 60;
  std::vector<std::thread> pool;
  std::vector<std::vector<float>> results(threads);
  Stream shared_stream(device);
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      const Kernel scale = module.kernel("scale<float, 16>");
      Stream own(device, {.blocking = t % 2 == 0});
      Event event(device);
      for (int r = 0; r < rounds; ++r) {
        const std::vector<float> host{1, 2, 3};
        DeviceArray<float> array(device, 3);
        array.copy_from(host, own);
        scale.launch({1, 32, 0, own}, array, 2.0f, 3);
        event.record(own);
        shared_stream.wait(event);
        scale.launch({1, 32, 0, shared_stream}, array, 2.0f, 3);
        event.record(shared_stream);
        own.wait(event);
        std::vector<float> back(3);
        array.copy_to(back, own);
        own.synchronize();
        results[static_cast<std::size_t>(t)] = back;
        if (r % 8 == 0) {
          DeviceArray<float> brief(device, 8);
          brief.zero();
          Stream short_lived(device);
          scale.launch({1, 32, 0, short_lived}, brief, 1.0f, 8);
        }
      }
    });
  for (std::thread& thread : pool) thread.join();
  device.synchronize();
  for (const auto& result : results) EXPECT_EQ(result, (std::vector<float>{4, 8, 12}));
}

}  // namespace
}  // namespace warploom::test
