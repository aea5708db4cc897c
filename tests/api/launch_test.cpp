// The launch path: what it allocates and keeps, which blocks it runs, what runs side by side, and on which threads.
#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>

#include "warploom/warploom.hpp"

namespace {

std::atomic<std::uint64_t> allocated{0}, freed{0};

}  // namespace

// Every allocation of C++ code in the process, the library's included.
void* operator new(std::size_t bytes) {
  allocated.fetch_add(1, std::memory_order_relaxed);
  if (void* at = std::malloc(bytes == 0 ? 1 : bytes)) return at;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t align) {
  allocated.fetch_add(1, std::memory_order_relaxed);
  const auto to = static_cast<std::size_t>(align);
  if (void* at = std::aligned_alloc(to, (bytes + to - 1) / to * to)) return at;
  throw std::bad_alloc();
}
// The standard ones call those above, but a sanitizer's do not.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  allocated.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  allocated.fetch_add(1, std::memory_order_relaxed);
  const auto to = static_cast<std::size_t>(align);
  return std::aligned_alloc(to, (bytes + to - 1) / to * to);
}
void operator delete(void* at) noexcept {
  if (at != nullptr) freed.fetch_add(1, std::memory_order_relaxed);
  std::free(at);
}
void operator delete(void* at, std::size_t) noexcept { operator delete(at); }
void operator delete(void* at, std::align_val_t) noexcept { operator delete(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { operator delete(at); }

namespace warploom {
namespace {

constexpr const char* kPtx = R"(
.version 8.0
.target sm_70
.address_size 64
.visible .entry nothing(.param .u64 p, .param .u32 n) { ret; }
// counts[number of the block] += 1
.visible .entry visit(.param .u64 counts) {
  .reg .b64 %rd<4>; .reg .b32 %r<8>;
  ld.param.u64 %rd1, [counts];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
  mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y;
  mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1;
  mul.wide.u32 %rd2, %r6, 4; add.u64 %rd3, %rd1, %rd2;
  red.global.add.u32 [%rd3], 1;
  ret;
}
// Says that it is here and waits for another one.
.visible .entry meet(.param .u64 mine, .param .u64 other) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>; .reg .pred %p;
  ld.param.u64 %rd1, [mine]; ld.param.u64 %rd2, [other];
  st.volatile.global.u32 [%rd1], 1;
$wait:
  ld.volatile.global.u32 %r1, [%rd2];
  setp.eq.u32 %p, %r1, 0;
  @%p bra $wait;
  ret;
}
.visible .entry halve(.param .u64 x) {
  .reg .b64 %rd<2>; .reg .f32 %f<3>;
  ld.param.u64 %rd1, [x];
  ld.global.f32 %f1, [%rd1];
  mul.f32 %f2, %f1, 0f3F000000;
  st.global.f32 [%rd1], %f2;
  ret;
}
)";

class Launches : public testing::Test {
 protected:
  static Module load(const Device& device) { return device.load_ptx(kPtx, "launch.ptx"); }
};

// Runs batches of launches until the threads that take part have their memory. There are a few of those, each of which
// may begin in any batch; a launch that allocates would show in all.
template <class Batch>
std::size_t batches_that_allocate(Batch batch) {
  for (int i = 0; i < 5; ++i) batch();
  std::size_t dirty = 0;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t before = allocated;
    batch();
    dirty += allocated != before ? 1 : 0;
  }
  return dirty;
}

TEST_F(Launches, AllocateNothing) {
  const Device device = Device::open("cpu", {.threads = 2});
  const Module module = load(device);
  const Kernel nothing = module.kernel("nothing");
  const Stream stream(device), free_stream(device, {.blocking = false});
  void* p = nullptr;
  const auto queue_up = [&](const LaunchConfig& config, int count) {
    for (int i = 0; i < count; ++i) nothing.launch(config, p, i);
  };
  const LaunchConfig on_default{1, 64}, on_stream{1, 64, 0, stream}, on_free{1, 33, 16, free_stream};
  // Queues grow while nothing runs, as far as launches ahead of their work make them.
  for (const Stream& s : {device.default_stream(), stream, free_stream}) {
    std::atomic<bool> go{false};
    s.host_function([&] { go.wait(false); });
    queue_up({1, 64, 0, s}, 1200);
    go = true;
    go.notify_one();
    s.synchronize();
  }
  EXPECT_LE(batches_that_allocate([&] {
              queue_up(on_default, 1000);
              device.synchronize();
            }),
            4u);
  EXPECT_LE(batches_that_allocate([&] {
              queue_up(on_stream, 1000);
              stream.synchronize();
            }),
            4u);
  EXPECT_LE(batches_that_allocate([&] {
              queue_up(on_free, 1000);
              free_stream.synchronize();
            }),
            4u);
  EXPECT_LE(batches_that_allocate([&] {
              for (int i = 0; i < 200; ++i) {
                nothing.launch({500, 64, 0, stream}, p, i);
                stream.synchronize();
              }
            }),
            4u);
}

std::size_t resident_pages() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident;
}

TEST_F(Launches, AMillionLeaveNothingBehind) {
  const Device device = Device::open("cpu", {.threads = 2});
  const Module module = load(device);
  const Kernel nothing = module.kernel("nothing");
  const Stream stream(device);
  void* p = nullptr;
  const auto launch = [&](int thousands) {
    for (int t = 0; t < thousands; ++t) {
      for (int i = 0; i < 1000; ++i) nothing.launch({1, 32, 0, stream}, p, i);
      stream.synchronize();
    }
  };
  launch(20);
  const std::size_t pages = resident_pages();
  const std::uint64_t live = allocated - freed;
  launch(1000);
  EXPECT_LE(allocated - freed, live + 200);
  EXPECT_LE(resident_pages(), pages + 1024);
}

TEST_F(Launches, RunEveryBlockOnce) {
  const Dim3 grids[] = {1,          5,       1000,     {33, 17},   {16, 16, 2}, {100, 3},
                        {17, 1, 5}, {1, 40}, {64, 64}, {3, 47, 2}, {200, 50}};
  for (const unsigned threads : {1u, 2u, 5u}) {
    const Device device = Device::open("cpu", {.threads = threads});
    const Module module = load(device);
    const Kernel visit = module.kernel("visit");
    for (const Dim3& grid : grids) {
      const auto blocks = static_cast<std::size_t>(grid.count());
      const DeviceArray<unsigned> counts(device, std::vector<unsigned>(blocks, 0));
      const unsigned rounds = 3;
      for (unsigned round = 0; round < rounds; ++round) visit.launch({grid, 1}, counts);
      EXPECT_EQ(counts.to_vector(), std::vector<unsigned>(blocks, rounds))
          << grid.x << "x" << grid.y << "x" << grid.z << " on " << threads;
    }
  }
}

// A graph's run counts as one launch; its kernels cost no more than what they do.
TEST_F(Launches, OfGraphsAllocateNothing) {
  const Device device = Device::open("cpu", {.threads = 1});
  const Module module = load(device);
  const Kernel visit = module.kernel("visit"), nothing = module.kernel("nothing");
  const DeviceArray<unsigned> counts(device, std::vector<unsigned>(40, 0));
  Graph graph(device);
  const void* p = nullptr;
  for (int i = 0; i < 100; ++i) {
    const GraphNode first = graph.launch({}, visit, {{8, 5}, 1}, counts);
    graph.launch({first}, nothing, {2, 40}, p, i);
  }
  const GraphExec exec = graph.instantiate();
  const Stream stream(device);
  const auto batch = [&] {
    for (int i = 0; i < 20; ++i) exec.launch(stream);
    stream.synchronize();
  };
  EXPECT_LE(batches_that_allocate(batch), 4u);
  EXPECT_EQ(counts.to_vector(), std::vector<unsigned>(40, 25 * 20 * 100));
}

// Each kernel ends only when the other one runs.
TEST_F(Launches, OfTwoStreamsRunSideBySide) {
  const Device device = Device::open("cpu", {.threads = 2});
  const Module module = load(device);
  const Kernel meet = module.kernel("meet");
  const Stream first(device), second(device);
  DeviceArray<unsigned> flags(device, std::vector<unsigned>(2, 0));
  meet.launch({1, 1, 0, first}, flags.data(), flags.data() + 1);
  meet.launch({1, 1, 0, second}, flags.data() + 1, flags.data());
  device.synchronize();
  EXPECT_EQ(flags.to_vector(), (std::vector<unsigned>{1, 1}));

  // The same through host memory, while the calling thread waits for one of them.
  const HostMemory host(device, 2 * sizeof(unsigned));
  auto* at = static_cast<unsigned*>(host.data());
  at[0] = at[1] = 0;
  meet.launch({1, 1, 0, first}, at, at + 1);
  meet.launch({1, 1, 0, second}, at + 1, at);
  second.synchronize();
  first.synchronize();
  EXPECT_EQ(at[0] + at[1], 2u);
}

// A thread that waits may run the kernel: in the float mode of kernels, not in its own.
TEST_F(Launches, DoNotUseTheFloatModeOfTheThreadThatWaits) {
#if defined(__x86_64__)
  const Device device = Device::open("cpu", {.threads = 1});
  const Module module = load(device);
  const Kernel halve = module.kernel("halve");
  const float smallest_normal = 0x1p-126F;
  DeviceArray<float> x(device, std::vector<float>(1, 0.0F));
  const unsigned before = __builtin_ia32_stmxcsr();
  for (int i = 0; i < 100; ++i) {
    x.copy_from(std::span(&smallest_normal, 1));
    constexpr unsigned kFlushAndTowardsZero = 0xE040;
    __builtin_ia32_ldmxcsr(before | kFlushAndTowardsZero);
    halve.launch({1, 1}, x);
    device.synchronize();
    const unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    ASSERT_EQ(after & kFlushAndTowardsZero, kFlushAndTowardsZero);
    ASSERT_EQ(x.to_vector()[0], 0x1p-127F);
  }
#else
  GTEST_SKIP() << "tried on x86-64 only";
#endif
}

std::size_t thread_count() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST_F(Launches, UseTheCoresOfTheAffinityMask) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer has a thread of its own";
#endif
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const std::size_t before = thread_count();
  const Device device = Device::open("cpu");
  EXPECT_EQ(thread_count(), before);
  const Device two = Device::open("cpu", {.threads = 2});
  EXPECT_EQ(thread_count(), before + 1);
}

}  // namespace
}  // namespace warploom
