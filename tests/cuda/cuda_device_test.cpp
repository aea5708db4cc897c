// The CUDA device through the public API: memory, modules, launches, streams, graphs, errors and what is not there.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cuda_test.hpp"

namespace {

using namespace warploom;
using test::id_of;
using test::on_gpu;

// Whose PTX is of sm_75, so that every driver takes it.
constexpr const char* kPtx = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .f32 factor = 0f40000000;
.visible .entry scale(.param .u64 data, .param .u32 n) .maxntid 256 {
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p ret;
  mul.wide.u32 %rd2, %r5, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3];
  ld.global.f32 %f2, [factor];
  mul.f32 %f1, %f1, %f2;
  st.global.f32 [%rd3], %f1;
  ret;
}
.extern .shared .align 4 .b8 dynamic[];
.visible .entry last_word(.param .u64 out, .param .u32 at) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [at];
  mov.u32 %r2, dynamic;
  add.u32 %r2, %r2, %r1;
  st.shared.u32 [%r2], 77;
  ld.shared.u32 %r3, [%r2];
  st.global.u32 [%rd1], %r3;
  ret;
}
.visible .entry wild(.param .u64 at) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [at];
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

const char* driver_library() {
  const char* named = std::getenv("WARPLOOM_CUDA_DRIVER");
  return named != nullptr ? named : "libcuda.so.1";
}

class Cuda : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!on_gpu()) setenv("WARPLOOM_CUDA_DRIVER", STAND_IN_DRIVER, 1);
  }
  Device device = Device::open("cuda:0");
  Module module = device.load_ptx(kPtx, "kernels.ptx");
};

std::vector<float> counted(std::size_t n) {
  std::vector<float> out(n);
  std::iota(out.begin(), out.end(), 0.0F);
  return out;
}

std::vector<float> times(std::vector<float> values, float factor) {
  for (float& v : values) v *= factor;
  return values;
}

TEST_F(Cuda, IsListedAndTellsItsLimits) {
  const auto names = Device::names();
  EXPECT_NE(std::find(names.begin(), names.end(), "cuda:0"), names.end());
  const DeviceProperties p = device.properties();
  EXPECT_EQ(p.name.find("modelled"), std::string::npos);
  EXPECT_GE(p.compute_capability_major, 7);
  EXPECT_GE(p.multiprocessors, 1U);
  EXPECT_EQ(p.max_threads_per_block, 1024U);
  EXPECT_GT(p.total_memory, 0U);
  EXPECT_LE(device.free_memory(), p.total_memory);
}

TEST_F(Cuda, AKernelRunsOnArraysAndVariables) {
  const auto host = counted(1000);
  DeviceArray<float> data(device, host);
  const Kernel scale = module.kernel("scale");
  scale.launch({4, 256}, data, 1000);
  EXPECT_EQ(data.to_vector(), times(host, 2));
  module.global<float>("factor").set(0.5F);
  scale.launch({4, 256}, data, 1000);
  EXPECT_EQ(data.to_vector(), host);
}

TEST_F(Cuda, StreamsEventsAndGraphsOrderWork) {
  const auto host = counted(4096);
  DeviceArray<float> data(device, host.size());
  const Stream first(device, {.blocking = false}), second(device, {.blocking = false});
  const Event copied(device);
  data.copy_from(host, first);
  copied.record(first);
  second.wait(copied);
  const Kernel scale = module.kernel("scale");
  scale.launch({.grid = 16, .block = 256, .stream = second}, data, 4096);
  second.synchronize();
  EXPECT_EQ(data.to_vector(), times(host, 2));

  Graph graph(device);
  const GraphNode a = graph.launch({}, scale, {16, 256}, data, 4096);
  graph.launch({a}, scale, {16, 256}, data, 4096);
  graph.instantiate().launch(first);
  first.synchronize();
  EXPECT_EQ(data.to_vector(), times(host, 8));
}

TEST_F(Cuda, HostFunctionsRunInOrder) {
  const auto host = counted(4096);
  DeviceArray<float> data(device, host.size());
  std::vector<float> seen(host.size());
  const Stream stream(device, {.blocking = false});
  std::string order;
  data.copy_from(host, stream);
  stream.host_function([&] { order += "a"; });
  module.kernel("scale").launch({.grid = 16, .block = 256, .stream = stream}, data, 4096);
  data.copy_to(seen, stream);
  stream.host_function([&] { order += seen == times(host, 2) ? "b" : "x"; });
  stream.synchronize();
  EXPECT_EQ(order, "ab");

  Graph graph(device);
  const GraphNode a = graph.launch({}, module.kernel("scale"), {16, 256}, data, 4096);
  const GraphNode b = graph.copy({a}, seen.data(), data.data(), seen.size() * sizeof(float));
  graph.host_function({b}, [&] { order += seen == times(host, 4) ? "c" : "y"; });
  graph.instantiate().launch(stream);
  stream.synchronize();
  EXPECT_EQ(order, "abc");

  stream.host_function([] { throw std::runtime_error("from the host"); });
  EXPECT_EQ(id_of([&] { stream.synchronize(); }), error_id::host_function_failed);
}

// Streams of other libraries, and ours in their hands.
TEST_F(Cuda, HandlesAreTheDriversStreams) {
  void* library = dlopen(driver_library(), RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto entry = [&](const char* name) { return dlsym(library, name); };
  const auto create = reinterpret_cast<int (*)(std::uintptr_t*, unsigned, int)>(entry("cuStreamCreateWithPriority"));
  const auto destroy = reinterpret_cast<int (*)(std::uintptr_t)>(entry("cuStreamDestroy_v2"));
  const auto call = reinterpret_cast<int (*)(std::uintptr_t, void (*)(void*), void*)>(entry("cuLaunchHostFunc"));
  const auto wait = reinterpret_cast<int (*)(std::uintptr_t)>(entry("cuStreamSynchronize"));

  const auto host = counted(4096);
  DeviceArray<float> data(device, host);
  std::uintptr_t theirs = 0;
  ASSERT_EQ(create(&theirs, 1, 0), 0);
  std::atomic<bool> go{false}, gone{false};
  struct Both {
    std::atomic<bool>*go, *gone;
  } both{&go, &gone};
  const auto gate = [](void* p) {
    while (!static_cast<Both*>(p)->go->load()) std::this_thread::yield();
    static_cast<Both*>(p)->gone->store(true);
  };
  {
    const Stream stream = device.external_stream(theirs);
    EXPECT_EQ(stream.handle(), theirs);
    EXPECT_TRUE(stream.query());
    ASSERT_EQ(call(theirs, gate, &both), 0);
    EXPECT_FALSE(stream.query());  // their work counts
    const Event after(device);
    after.record(stream);
    EXPECT_FALSE(after.query());
    module.kernel("scale").launch({.grid = 16, .block = 256, .stream = stream}, data, 4096);
    go = true;
    stream.synchronize();
    EXPECT_TRUE(gone);
    EXPECT_TRUE(after.query());
    EXPECT_EQ(data.to_vector(), times(host, 2));
    module.kernel("scale").launch({.grid = 16, .block = 256, .stream = device.external_stream(theirs)}, data, 4096);
  }
  EXPECT_EQ(wait(theirs), 0);
  EXPECT_EQ(data.to_vector(), times(host, 4));
  EXPECT_EQ(destroy(theirs), 0);

  go = gone = false;
  const Stream ours(device, {.blocking = false});
  ASSERT_EQ(call(ours.handle(), gate, &both), 0);
  EXPECT_FALSE(ours.query());
  go = true;
  ours.synchronize();
  EXPECT_TRUE(gone);
  EXPECT_EQ(device.external_stream(ours.handle()).handle(), ours.handle());

  EXPECT_EQ(id_of([&] { (void)device.external_stream(4711); }), error_id::invalid_handle);
  EXPECT_EQ(id_of([&] { (void)device.external_stream(0x7fff'ffff'0000); }), error_id::invalid_handle);
}

TEST_F(Cuda, EventsTellTheTimeBetweenThem) {
  const auto host = counted(1 << 20);
  DeviceArray<float> data(device, host);
  const Stream stream(device);
  const Event before(device), after(device);
  EXPECT_TRUE(before.query());
  before.record(stream);
  for (int i = 0; i < 10; ++i)
    module.kernel("scale").launch({.grid = 4096, .block = 256, .stream = stream}, data, 1 << 20);
  after.record(stream);
  after.synchronize();
  EXPECT_TRUE(after.query());
  EXPECT_GT(Event::elapsed_ms(before, after), 0);
  EXPECT_EQ(data.to_vector(), times(host, 1024));
}

TEST_F(Cuda, TheDefaultStreamAndBlockingStreamsOrderEachOther) {
  const auto host = counted(1 << 20);
  DeviceArray<float> data(device, host);
  const Stream first(device), second(device);
  const Kernel scale = module.kernel("scale");
  for (int i = 0; i < 3; ++i) {
    scale.launch({.grid = 4096, .block = 256, .stream = first}, data, 1 << 20);
    scale.launch({.grid = 4096, .block = 256}, data, 1 << 20);
    scale.launch({.grid = 4096, .block = 256, .stream = second}, data, 1 << 20);
    scale.launch({.grid = 4096, .block = 256}, data, 1 << 20);
  }
  device.synchronize();
  EXPECT_EQ(data.to_vector(), times(host, 4096));
}

TEST_F(Cuda, ACapturedStreamBecomesAGraph) {
  const auto host = counted(4096);
  DeviceArray<float> data(device, host);
  const Stream stream(device);
  stream.begin_capture();
  module.kernel("scale").launch({.grid = 16, .block = 256, .stream = stream}, data, 4096);
  module.kernel("scale").launch({.grid = 16, .block = 256, .stream = stream}, data, 4096);
  const Graph graph = stream.end_capture();
  EXPECT_EQ(graph.size(), 2U);
  const GraphExec exec = graph.instantiate();
  for (int i = 0; i < 2; ++i) exec.launch(stream);
  stream.synchronize();
  EXPECT_EQ(data.to_vector(), times(host, 16));
}

TEST_F(Cuda, MemoryGoesBackWhenItsWorkIsDone) {
  const Stream stream(device, {.blocking = false});
  DeviceArray<float> out(device, 4096);
  const auto host = counted(4096);
  for (int i = 0; i < 100; ++i) {
    DeviceArray<float> data(device, host.size());
    data.copy_from(host, stream);
    module.kernel("scale").launch({.grid = 16, .block = 256, .stream = stream}, data, 4096);
    out.copy_from(data, stream);
  }
  stream.synchronize();
  EXPECT_EQ(out.to_vector(), times(host, 2));
}

TEST_F(Cuda, FillsOfEverySize) {
  DeviceArray<std::uint8_t> bytes(device, 100);
  bytes.fill(7);
  EXPECT_EQ(bytes.to_vector(), std::vector<std::uint8_t>(100, 7));
  DeviceArray<std::uint16_t> halves(device, 100);
  halves.fill(0x1234);
  EXPECT_EQ(halves.to_vector(), std::vector<std::uint16_t>(100, 0x1234));
  DeviceArray<std::uint32_t> words(device, 100);
  words.fill(0x12345678);
  EXPECT_EQ(words.to_vector(), std::vector<std::uint32_t>(100, 0x12345678));
  DeviceArray<double> doubles(device, 77);
  doubles.fill(0.1);
  EXPECT_EQ(doubles.to_vector(), std::vector<double>(77, 0.1));
}

TEST_F(Cuda, HostMemoryIsSeenByKernels) {
  const HostMemory memory(device, 4096);
  auto* values = static_cast<float*>(memory.data());
  for (int i = 0; i < 1024; ++i) values[i] = 1;
  module.kernel("scale").launch({4, 256}, values, 1024);
  device.synchronize();
  EXPECT_EQ(std::vector<float>(values, values + 1024), std::vector<float>(1024, 2));
}

TEST_F(Cuda, DynamicSharedMemoryUpToTheOptIn) {
  const auto most = static_cast<std::uint32_t>(device.properties().max_shared_memory_per_block);
  DeviceArray<std::uint32_t> out(device, 1);
  const Kernel last = module.kernel("last_word");
  last.launch({.grid = 1, .block = 1, .shared_bytes = most}, out, most - 4);
  EXPECT_EQ(out.to_vector(), std::vector<std::uint32_t>{77});
  EXPECT_EQ(id_of([&] { last.launch({.grid = 1, .block = 1, .shared_bytes = most + 4}, out, 0); }),
            error_id::launch_resources);
}

TEST_F(Cuda, LaunchesAreCheckedBefore) {
  DeviceArray<float> data(device, 8);
  const Kernel scale = module.kernel("scale");
  EXPECT_EQ(id_of([&] { scale.launch({1, 512}, data, 8); }), error_id::launch_resources);
  EXPECT_EQ(id_of([&] { scale.launch({1, 2048}, data, 8); }), error_id::launch_dimensions);
  EXPECT_EQ(id_of([&] { scale.launch({1, 32}, data); }), error_id::launch_arguments);
  EXPECT_EQ(id_of([&] { (void)module.kernel("scales"); }), error_id::not_found);
  EXPECT_EQ(id_of([&] { (void)device.load_ptx(".version 7.0\n.target sm_75\n.visible .entry k() { foo; }\n"); }),
            on_gpu() ? error_id::ptx_invalid : 0);
}

TEST_F(Cuda, PtxThatTheDriverDoesNotReadIsExplained) {
  const auto text_of = [&](const char* header) {
    try {
      (void)device.load_ptx(std::string(header) + ".address_size 64\n.visible .entry k() { ret; }\n", "k.ptx");
    } catch (const Error& error) {
      return std::to_string(error.id()) + " " + error.what();
    }
    return std::string();
  };
  const std::string version = text_of(".version 9.9\n.target sm_75\n");
  EXPECT_NE(version.find("reads PTX up to"), std::string::npos) << version;
  EXPECT_NE(version.find("install a newer driver"), std::string::npos) << version;
  const std::string target = text_of(".version 8.8\n.target sm_121\n");
  EXPECT_NE(target.find("the GPU is sm_"), std::string::npos) << target;
}

TEST_F(Cuda, DevicesSideBySide) {
  // [open]
  const Device gpu = Device::open("cuda:0");  // or "cuda"; the first GPU of the driver
  const Device cpu = Device::open("cpu");     // also on a machine with a GPU
  // [/open]
  const auto host = counted(1000);
  for (const Device& one : {gpu, cpu}) {
    DeviceArray<float> data(one, host);
    one.load_ptx(kPtx).kernel("scale").launch({4, 256}, data, 1000);
    EXPECT_EQ(data.to_vector(), times(host, 2));
  }
}

TEST_F(Cuda, ManagedMemoryIsSharedWithTheHost) {
  const ManagedMemory memory(device, 4096 * sizeof(float));
  auto* values = static_cast<float*>(memory.data());
  EXPECT_EQ(std::vector<float>(values, values + 4096), std::vector<float>(4096));
  std::iota(values, values + 4096, 0.0F);
  const Stream stream(device, {.blocking = false});
  memory.advise(MemoryAdvice::set_preferred_location, MemoryLocation::device);
  memory.prefetch(stream, MemoryLocation::device);
  module.kernel("scale").launch({.grid = 16, .block = 256, .stream = stream}, values, 4096);
  memory.prefetch(stream, MemoryLocation::host);
  stream.synchronize();
  EXPECT_EQ(std::vector<float>(values, values + 4096), times(counted(4096), 2));
  memory.attach(stream, MemoryAttachment::single);
  module.kernel("scale").launch({.grid = 16, .block = 256, .stream = stream}, values, 4096);
  memory.attach(stream, MemoryAttachment::global);
  stream.synchronize();
  EXPECT_EQ(values[4095], 4095 * 4);
  for (int i = 0; i < 4096; ++i) values[i] /= 2;
  EXPECT_EQ(id_of([&] { memory.attach(device.legacy_stream(), MemoryAttachment::single); }), error_id::invalid_value);
  EXPECT_EQ(id_of([&] { memory.attach(stream, static_cast<MemoryAttachment>(3)); }), error_id::invalid_value);
  // Copies know it, and its bounds.
  DeviceArray<float> copied(device, 4096);
  copy(device, copied.data(), values, 4096 * sizeof(float));
  EXPECT_EQ(copied.to_vector(), times(counted(4096), 2));
  EXPECT_EQ(id_of([&] { copy(device, copied.data(), values + 1, 4096 * sizeof(float)); }), error_id::invalid_value);
  EXPECT_FALSE(memory.statistics().tracked);
}

TEST_F(Cuda, TexelsGoToArraysAndBack) {
  for (const unsigned levels : {1U, 3U}) {
    TexelArray array(device, TexelFormat::of<std::uint16_t>(2), {16, 8, 4}, {.levels = levels});
    for (unsigned level = 0; level < levels; ++level) {
      const TexelExtent e = array.extent(level);
      std::vector<std::uint16_t> in(e.width * e.height * e.depth * 2), out(in.size());
      std::iota(in.begin(), in.end(), static_cast<std::uint16_t>(level));
      array.copy_from(std::span<const std::uint16_t>(in), {.level = level});
      array.copy_to(std::span<std::uint16_t>(out), {.level = level});
      EXPECT_EQ(out, in);
      if (level != 0) continue;
      // Two rows of two slices, into rows that lie further apart.
      std::vector<std::uint16_t> part(2 * 2 * 10, 77);
      array.copy_to(std::span<std::uint16_t>(part), {.x = 3, .y = 2, .z = 1, .width = 4, .height = 2, .depth = 2}, 20);
      for (std::size_t z = 0; z < 2; ++z)
        for (std::size_t y = 0; y < 2; ++y)
          for (std::size_t x = 0; x < 10; ++x)
            EXPECT_EQ(part[(z * 2 + y) * 10 + x], x < 8 ? in[(((z + 1) * 8 + y + 2) * 16 + 3) * 2 + x] : 77);
    }
    const Texture texture(array, {.normalized_coordinates = levels > 1});
    const Surface surface(array, levels - 1);
    EXPECT_NE(texture.handle(), 0U);
    EXPECT_NE(surface.handle(), 0U);
  }
  EXPECT_EQ(id_of([&] { Surface(TexelArray(device, TexelFormat::of<float>(), {4}), 1); }), error_id::invalid_value);
}

TEST_F(Cuda, OccupancyIsTheDrivers) {
  const Kernel scale = module.kernel("scale"), last = module.kernel("last_word");
  const DeviceProperties p = device.properties();
  EXPECT_EQ(scale.max_active_blocks({256}), p.max_threads_per_multiprocessor / 256);
  EXPECT_EQ(scale.max_active_blocks({2048}), 0U);
  EXPECT_EQ(last.max_active_blocks({32}, static_cast<std::uint32_t>(p.max_shared_memory_per_block)), 1U);
  const BlockChoice best = scale.max_potential_block();
  EXPECT_EQ(best.block, 256U);  // its .maxntid
  EXPECT_EQ(best.grid, p.multiprocessors * (p.max_threads_per_multiprocessor / 256));
  EXPECT_LE(scale.max_potential_block(0, 64).block, 64U);
  unsigned asked = 0;
  const BlockChoice shared = last.max_potential_block([&](unsigned block) { return ++asked, std::size_t{block} * 64; });
  EXPECT_GT(asked, 0U);
  EXPECT_GT(shared.block, 0U);
  EXPECT_THROW((void)last.max_potential_block([](unsigned) -> std::size_t { throw std::runtime_error("mine"); }),
               std::runtime_error);
  if (p.compute_capability_major >= 9) {
    EXPECT_GT(scale.max_active_clusters({.grid = 64, .block = 64, .cluster = Dim3(2)}), 0U);
  }
}

// A thread's own default stream may outlive the device that it is of.
TEST_F(Cuda, AThreadEndsAfterItsDevice) {
  const auto host = counted(1000);
  std::thread([&host] {
    const Device mine = Device::open("cuda:0", {.per_thread_default_stream = true});
    DeviceArray<float> data(mine, host);
    mine.load_ptx(kPtx).kernel("scale").launch({4, 256}, data, 1000);
    EXPECT_EQ(data.to_vector(), times(host, 2));
  }).join();
}

// ---- several GPUs ----

class CudaPeers : public Cuda {
 protected:
  void SetUp() override {
    const auto names = Device::names();
    if (std::find(names.begin(), names.end(), "cuda:1") == names.end()) GTEST_SKIP() << "there is one GPU";
    second = Device::open("cuda:1");
  }
  Device second = device;
};

TEST_F(CudaPeers, EachHasMemoryAndWorkOfItsOwn) {
  const auto host = counted(1000);
  const Module there = second.load_ptx(kPtx);
  DeviceArray<float> a(device, host), b(second, host);
  module.kernel("scale").launch({4, 256}, a, 1000);
  there.kernel("scale").launch({4, 256}, b, 1000);
  there.kernel("scale").launch({4, 256}, b, 1000);
  EXPECT_EQ(a.to_vector(), times(host, 2));
  EXPECT_EQ(b.to_vector(), times(host, 4));
  EXPECT_EQ(id_of([&] { module.kernel("scale").launch({4, 256}, b, 1000); }), error_id::invalid_handle);
  std::thread([&] {
    DeviceArray<float> c(second, host);
    there.kernel("scale").launch({4, 256}, c, 1000);
    module.kernel("scale").launch({4, 256}, a, 1000);
    EXPECT_EQ(c.to_vector(), times(host, 2));
  }).join();
  EXPECT_EQ(a.to_vector(), times(host, 4));
}

TEST_F(CudaPeers, CopiesGoFromOneToTheOther) {
  const auto host = counted(1 << 16);
  DeviceArray<float> a(device, host), b(second, host.size());
  copy_peer(second, b.data(), device, a.data(), a.bytes());
  EXPECT_EQ(b.to_vector(), host);
  const Stream here(device, {.blocking = false}), there(second, {.blocking = false});
  // [peers]
  module.kernel("scale").launch({.grid = 256, .block = 256, .stream = here}, a, 1 << 16);
  copy_peer(here, second, b.data(), device, a.data(), a.bytes());  // in the order of a stream of either device
  here.synchronize();
  // [/peers]
  EXPECT_EQ(b.to_vector(), times(host, 2));
  second.load_ptx(kPtx).kernel("scale").launch({.grid = 256, .block = 256, .stream = there}, b, 1 << 16);
  copy_peer(there, device, a.data(), second, b.data(), a.bytes());
  there.synchronize();
  EXPECT_EQ(a.to_vector(), times(host, 4));
  const Device cpu = Device::open("cpu");
  DeviceArray<float> c(cpu, host.size());
  EXPECT_EQ(id_of([&] { copy_peer(cpu, c.data(), device, a.data(), a.bytes()); }), error_id::invalid_device);
}

TEST_F(CudaPeers, EventsOrderStreamsOfBoth) {
  const auto host = counted(1 << 16);
  DeviceArray<float> a(device, host), b(second, host.size());
  const Module there_module = second.load_ptx(kPtx);
  const Stream here(device, {.blocking = false}), there(second, {.blocking = false});
  const Event copied(device), scaled(second);
  for (int i = 0; i < 10; ++i) {
    module.kernel("scale").launch({.grid = 256, .block = 256, .stream = here}, a, 1 << 16);
    copy_peer(here, second, b.data(), device, a.data(), a.bytes());
    copied.record(here);
    there.wait(copied);
    there_module.kernel("scale").launch({.grid = 256, .block = 256, .stream = there}, b, 1 << 16);
    copy_peer(there, device, a.data(), second, b.data(), a.bytes());
    scaled.record(there);
    here.wait(scaled);
  }
  here.synchronize();
  EXPECT_EQ(a.to_vector(), times(host, 1 << 20));
  const Event of_cpu(Device::open("cpu"));
  EXPECT_EQ(id_of([&] { here.wait(of_cpu); }), error_id::invalid_handle);
}

TEST_F(CudaPeers, KernelsReachAPeersMemory) {
  if (!device.can_access_peer(second)) GTEST_SKIP() << "the GPUs do not reach each other's memory";
  EXPECT_FALSE(device.can_access_peer(device));
  EXPECT_FALSE(device.can_access_peer(Device::open("cpu")));
  EXPECT_EQ(id_of([&] { device.disable_peer_access(second); }), error_id::peer_access_not_enabled);
  device.enable_peer_access(second);
  EXPECT_EQ(id_of([&] { device.enable_peer_access(second); }), error_id::peer_access_enabled);
  const auto host = counted(1000);
  DeviceArray<float> b(second, host);
  second.synchronize();
  module.kernel("scale").launch({4, 256}, b, 1000);
  device.synchronize();
  EXPECT_EQ(b.to_vector(), times(host, 2));
  device.disable_peer_access(second);
  EXPECT_EQ(id_of([&] { module.kernel("scale").launch({4, 256}, b, 1000); }), error_id::invalid_handle);
}

TEST_F(Cuda, MoreThanThereIs) {
  const DeviceArray<std::byte> large(device, 1 << 20);
  try {
    DeviceArray<std::byte>(device, std::size_t{1} << 50);
    FAIL() << "that much memory";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("largest live allocations: 1048576 bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("cuda_device_test.cpp"), std::string::npos) << text;
    EXPECT_NE(text.find("releases pending"), std::string::npos) << text;
  }
  EXPECT_EQ(id_of([&] { DeviceArray<std::byte>(device, std::size_t{1} << 50); }), error_id::out_of_memory);
  EXPECT_EQ(id_of([] { (void)Device::open("cuda:99"); }), error_id::invalid_device);
  EXPECT_EQ(id_of([] { (void)Device::open("cuda:x"); }), error_id::invalid_device);
}

TEST_F(Cuda, LaunchesAreTimed) {
  device.record_launches();
  DeviceArray<float> data(device, 8);
  module.kernel("scale").launch({1, 32}, data, 8);
  device.synchronize();
  const auto launches = device.take_launches();
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0].kernel, "scale");
  EXPECT_GT(launches[0].ms, 0);
}

TEST(CudaDriver, OptionsAndVariablesChooseTheDevice) {
  if (!on_gpu()) setenv("WARPLOOM_CUDA_DRIVER", STAND_IN_DRIVER, 1);
  const auto modelled = [](const Device& d) { return d.properties().name.find("modelled") != std::string::npos; };
  EXPECT_FALSE(modelled(Device::open()));
  EXPECT_TRUE(modelled(Device::open("cpu")));
  EXPECT_TRUE(modelled(Device::open({}, {.deterministic = true})));
  setenv("WARPLOOM_DEVICE", "cpu", 1);
  EXPECT_TRUE(modelled(Device::open()));
  EXPECT_FALSE(modelled(Device::open("cuda")));
  unsetenv("WARPLOOM_DEVICE");
}

// The last one: a GPU is lost to the process afterwards.
class CudaErrors : public Cuda {};

TEST_F(CudaErrors, WildStoresAreReported) {
  module.kernel("wild").launch({1, 1}, std::uint64_t{64});
  const std::string place = "launched at " + std::string(__FILE__) + ":" + std::to_string(__LINE__ - 1);
  try {
    device.synchronize();
    FAIL() << "nothing noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), error_id::illegal_address);
    EXPECT_NE(std::string(error.what()).find("wild"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("context is lost"), std::string::npos) << error.what();
  }
  try {
    DeviceArray<float>(device, 8);
    FAIL() << "the device is usable";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), error_id::context_poisoned);
    EXPECT_NE(std::string(error.what()).find("start the process again"), std::string::npos) << error.what();
  }
  if (on_gpu()) {
    EXPECT_EQ(id_of([&] { device.reset(); }), error_id::invalid_context);
    EXPECT_EQ(id_of([&] { DeviceArray<float>(device, 8); }), error_id::context_poisoned);
    return;
  }
  device.reset();
  const auto host = counted(100);
  DeviceArray<float> data(device, host);
  device.load_ptx(kPtx).kernel("scale").launch({1, 128}, data, 100);
  EXPECT_EQ(data.to_vector(), times(host, 2));
}

}  // namespace
