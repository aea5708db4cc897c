// The CUDA device in the hands of a program that does everything wrong: each error says all it should, nothing crashes
// or waits for ever, and what comes after works.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cuda_test.hpp"

namespace {

using namespace warploom;
using test::id_of;
using test::text_of;

constexpr const char* kPtx = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 word;
.shared .align 4 .b8 fixed[64];
.visible .entry store(.param .u64 to, .param .u32 value) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  st.shared.u32 [fixed], %r1;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

class CudaBadInput : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("WARPLOOM_CUDA_DRIVER", STAND_IN_DRIVER, 1);
    setenv("WARPLOOM_CUBLAS", STAND_IN_BLAS, 1);
    setenv("WARPLOOM_CUFFT", STAND_IN_BLAS, 1);
    setenv("WARPLOOM_NCCL", STAND_IN_NCCL, 1);
  }
  void SetUp() override {
    if (test::on_gpu()) GTEST_SKIP() << "for the stand-in";
  }
  static void expect_works(const Device& one) {
    DeviceArray<unsigned> data(one, 1);
    one.load_ptx(kPtx).kernel("store").launch({1, 1}, data, 7);
    EXPECT_EQ(data.to_vector(), std::vector<unsigned>{7});
  }

  Device device = Device::open("cuda:0");
  Module module = device.load_ptx(kPtx, "kernels.ptx");
  Kernel store = module.kernel("store");
};

TEST_F(CudaBadInput, Texts) {
  const auto load = [&](const std::string& text) { return id_of([&] { (void)device.load_ptx(text, "bad.ptx"); }); };
  EXPECT_NE(load(""), 0);
  EXPECT_NE(load(std::string(1000, '\0')), 0);
  EXPECT_NE(load("\xff\xfe\xfd"), 0);
  EXPECT_EQ(load(".version 99.0\n.target sm_75\n.address_size 64\n"), error_id::ptx_version);
  EXPECT_NE(load(".version 999999999999.0\n.target sm_75\n"), 0);
  EXPECT_NE(load(".version 7.0\n.target sm_999\n.address_size 64\n.visible .entry k() { ret; }\n"), 0);
  EXPECT_NE(load(".version 7.0\n.target sm_\n.address_size 64\n"), 0);
  EXPECT_NE(load(std::string(kPtx) + kPtx), 0);
  EXPECT_EQ(id_of([&] { (void)device.load_ptx_file("/no/such/file.ptx"); }), error_id::file_error);
  expect_works(device);
}

TEST_F(CudaBadInput, ModulesWithoutImageOrName) {
  const auto bytes = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  const std::string nothing,
      elf = std::string(
                "\x7f"
                "ELF") +
            std::string(60, '\0'),
      words = "no image";
  for (const std::string& one : {nothing, elf, words})
    EXPECT_NE(id_of([&] { (void)device.load_image(bytes(one)); }), 0);
  EXPECT_NE(id_of([&] { (void)device.load_images_file("/proc/self/exe"); }), 0);
  EXPECT_EQ(id_of([&] { (void)module.kernel(""); }), error_id::not_found);
  EXPECT_EQ(id_of([&] { (void)module.kernel("word"); }), error_id::not_found);
  EXPECT_EQ(id_of([&] { (void)module.global<int>("store"); }), error_id::not_found);
  EXPECT_NE(id_of([&] { (void)module.global<std::array<char, 3>>("word"); }), 0);
  expect_works(device);
}

TEST_F(CudaBadInput, Launches) {
  DeviceArray<unsigned> data(device, 1);
  constexpr unsigned kMost = std::numeric_limits<unsigned>::max();
  const auto launch = [&](const LaunchConfig& config) {
    const int id = id_of([&] { store.launch(config, data, 7U); });
    device.synchronize();
    return id;
  };
  EXPECT_EQ(launch({.grid = 0, .block = 1}), error_id::launch_dimensions);
  EXPECT_EQ(launch({.grid = 1, .block = 0}), error_id::launch_dimensions);
  EXPECT_EQ(launch({.grid = Dim3(1, kMost, 1), .block = 1}), error_id::launch_dimensions);
  EXPECT_EQ(launch({.grid = Dim3(kMost, kMost, kMost), .block = Dim3(kMost, kMost, kMost)}),
            error_id::launch_dimensions);
  EXPECT_EQ(launch({.grid = 1, .block = Dim3(1024, 1024, 64)}), error_id::launch_dimensions);
  EXPECT_EQ(launch({.grid = 1, .block = Dim3(1, 1, 65)}), error_id::launch_dimensions);
  // Sums with what the kernel declares that do not fit into 32 bits.
  for (const unsigned bytes : {kMost, kMost - 3, kMost - 63, kMost - 64, 1U << 31})
    EXPECT_EQ(launch({.grid = 1, .block = 1, .shared_bytes = bytes}), error_id::launch_resources) << bytes;
  EXPECT_EQ(launch({.grid = 3, .block = 1, .cluster = Dim3(2)}), error_id::launch_dimensions);
  EXPECT_EQ(launch({.grid = 64, .block = 1, .cluster = Dim3(64)}), error_id::launch_dimensions);
  EXPECT_EQ(launch({.grid = 1 << 20, .block = 1, .cooperative = true}), error_id::cooperative_too_large);
  EXPECT_EQ(id_of([&] { store.launch({1, 1}); }), error_id::launch_arguments);
  EXPECT_EQ(id_of([&] { store.launch({1, 1}, data, 7U, 7U); }), error_id::launch_arguments);
  EXPECT_EQ(id_of([&] { store.launch({1, 1}, data, std::uint64_t{7}); }), error_id::launch_arguments);
  EXPECT_EQ(store.max_active_blocks({kMost}), 0U);
  EXPECT_EQ(store.max_active_blocks({1}, kMost), 0U);
  (void)store.max_potential_block(kMost);
  expect_works(device);
}

TEST_F(CudaBadInput, ArraysAndStreamsOfOtherDevices) {
  const Device other = Device::open("cuda:1"), cpu = Device::open("cpu");
  for (const Device& far : {other, cpu}) {
    DeviceArray<unsigned> data(far, 1);
    NdArray<float, 2> a(device, {4, 4}), b(far, {4, 4}), c(device, {4, 4});
    const Stream there(far);
    EXPECT_EQ(id_of([&] { store.launch({.grid = 1, .block = 1, .stream = there}, data, 7); }),
              error_id::invalid_handle);
    EXPECT_NE(id_of([&] { store.launch({1, 1}, data, 7); }), 0);
    const Stream here(device);
    // On a stand-in the CPU device reaches the GPU's memory.
    const bool apart = far.properties().name.find("modelled") == std::string::npos;
    EXPECT_NE(id_of([&] { blas::gemm(here, 1.0F, a.view(), b.view(), 0.0F, c.view()); }), 0);
    EXPECT_NE(id_of([&] { blas::gemm(here, 1.0F, a.view(), a.view(), 0.0F, b.view()); }), 0);
    EXPECT_EQ(id_of([&] { blas::gemm(there, 1.0F, a.view(), a.view(), 0.0F, c.view()); }),
              apart ? error_id::invalid_device : 0);
    NdArray<std::complex<float>, 1> in(device, {8}), out(far, {8});
    EXPECT_NE(id_of([&] { fft::forward(here, in.view(), out.view()); }), 0);
    EXPECT_EQ(id_of([&] { fft::forward(there, in.view(), in.view()); }), apart ? error_id::invalid_device : 0);
    Graph graph(device);
    EXPECT_NE(id_of([&] { graph.launch({}, far.load_ptx(kPtx).kernel("store"), {1, 1}, data, 7); }), 0);
    const Event event(far);
    EXPECT_NE(id_of([&] { graph.record({}, event); }), 0);
    EXPECT_NE(id_of([&] { event.record(here); }), 0);
    EXPECT_NE(id_of([&] { (void)device.external_stream(there.handle()); }), 0);
  }
  const std::vector<Device> mixed{device, cpu}, twice{device, device};
  EXPECT_NE(id_of([&] { (void)Communicator::all(mixed); }), 0);
  EXPECT_NE(id_of([&] { (void)Communicator::all(twice); }), 0);
  EXPECT_NE(id_of([&] { (void)Communicator::all({}); }), 0);
  const std::vector<Device> both{device, other};
  const auto members = Communicator::all(both);
  DeviceArray<float> mine(device, 8), far(other, 8);
  const Stream here(device), there(other);
  EXPECT_NE(id_of([&] { members[0].all_reduce(mine, mine, Reduction::sum, there); }), 0);
  EXPECT_NE(id_of([&] { members[0].all_reduce(far, far, Reduction::sum, here); }), 0);
  EXPECT_NE(id_of([&] { members[0].broadcast(mine, mine, 2, here); }), 0);
  EXPECT_NE(id_of([&] { members[0].send(mine, -1, here); }), 0);
  EXPECT_NE(id_of([&] { members[0].all_reduce(nullptr, nullptr, 8, ElementType::f32, Reduction::sum, here); }), 0);
  EXPECT_NE(id_of([&] {
              members[0].all_reduce(mine.data(), mine.data(), 8, static_cast<ElementType>(77), Reduction::sum, here);
            }),
            0);
  EXPECT_NE(id_of([&] {
              members[0].all_reduce(mine.data(), mine.data(), 8, ElementType::f32, static_cast<Reduction>(77), here);
            }),
            0);
  EXPECT_NE(id_of([&] {
              members[0].all_reduce(mine.data(), mine.data(), std::size_t{1} << 62, ElementType::f64, Reduction::sum,
                                    here);
            }),
            0);
  expect_works(device);
  expect_works(other);
}

TEST_F(CudaBadInput, UseAfterAReset) {
  auto data = std::make_unique<DeviceArray<unsigned>>(device, 4);
  auto managed = std::make_unique<ManagedMemory>(device, 4096);
  auto pinned = std::make_unique<HostMemory>(device, 4096);
  auto stream = std::make_unique<Stream>(device);
  auto event = std::make_unique<Event>(device);
  event->record(*stream);
  Graph graph(device);
  graph.launch({}, store, {1, 1}, *data, 7);
  auto exec = std::make_unique<GraphExec>(graph.instantiate());
  auto texels = std::make_unique<TexelArray>(device, TexelFormat::of<float>(), TexelExtent{4});
  auto texture = std::make_unique<Texture>(*texels);
  NdArray<float, 2> a(device, {2, 2});
  blas::gemm(*stream, 1.0F, a.view(), a.view(), 0.0F, NdArray<float, 2>(device, {2, 2}).view());
  const std::vector<Device> one{device};
  auto members = Communicator::all(one);
  device.reset();
  int number = 0;
  const auto expect_gone = [&number](const std::function<void()>& statement) {
    ++number;
    EXPECT_EQ(id_of(statement), error_id::invalid_handle) << "call " << number << " " << text_of(statement);
  };
  expect_gone([&] { store.launch({1, 1}, *data, 7); });
  expect_gone([&] { (void)module.kernel("store"); });
  expect_gone([&] { (void)module.global<unsigned>("word"); });
  expect_gone([&] { (void)store.attributes(); });
  expect_gone([&] { (void)store.max_active_blocks({32}); });
  expect_gone([&] { (void)data->to_vector(); });
  expect_gone([&] { data->fill(1); });
  expect_gone([&] { stream->synchronize(); });
  expect_gone([&] { (void)stream->query(); });
  expect_gone([&] { stream->host_function([] {}); });
  expect_gone([&] { event->record(device.default_stream()); });
  expect_gone([&] { (void)event->query(); });
  expect_gone([&] { exec->launch(); });
  expect_gone([&] { (void)graph.instantiate(); });
  expect_gone([&] { managed->prefetch(device.default_stream(), MemoryLocation::device); });
  expect_gone([&] { (void)Texture(*texels); });
  expect_gone([&] { blas::gemm(*stream, 1.0F, a.view(), a.view(), 0.0F, a.view()); });
  DeviceArray<float> fresh(device, 8);
  expect_gone([&] { members[0].all_reduce(fresh, fresh, Reduction::sum, device.default_stream()); });
  // All of them may still be destroyed, in any order, also after a second reset; what has come to the same place stays.
  const ManagedMemory later(device, 4096);
  std::vector<char> host(4096);
  auto old = std::make_unique<HostRegistration>(device, host.data(), host.size());
  managed.reset();
  EXPECT_EQ(id_of([&] { later.prefetch(device.default_stream(), MemoryLocation::device); }), 0);
  device.synchronize();
  device.reset();
  const HostRegistration again(device, host.data(), host.size());
  old.reset();
  EXPECT_EQ(id_of([&] { HostRegistration(device, host.data(), host.size()); }), error_id::host_memory_registered);
  stream.reset();
  data.reset();
  texels.reset();
  texture.reset();
  event.reset();
  exec.reset();
  pinned.reset();
  members.clear();
  expect_works(device);
  const Stream now(device);
  NdArray<float, 2> b(device, {2, 2}), c(device, {2, 2});
  blas::gemm(now, 1.0F, b.view(), b.view(), 0.0F, c.view());
  now.synchronize();
}

// Lets work of a stream wait until the test has done its harm.
struct Gate {
  std::atomic<bool> open{false};
  ~Gate() { open = true; }
  void hold(const Stream& stream) {
    stream.host_function([this] {
      while (!open) std::this_thread::yield();
    });
  }
};

TEST_F(CudaBadInput, ThingsDestroyedWhileTheyAreBusy) {
  DeviceArray<unsigned> result(device, 1);
  result.fill(0);
  device.synchronize();
  Gate gate;
  {
    const Stream stream(device, {.blocking = false});
    const Event event(device);
    gate.hold(stream);
    DeviceArray<unsigned> data(device, std::vector<unsigned>{5});
    Module loaded = device.load_ptx(kPtx);
    loaded.kernel("store").launch({.grid = 1, .block = 1, .stream = stream}, result, 9U);
    Graph graph(device);
    graph.launch({}, loaded.kernel("store"), {1, 1}, data, 3U);
    graph.instantiate().launch(stream);
    event.record(stream);
    std::thread([&gate] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      gate.open = true;
    }).detach();
  }
  device.synchronize();
  EXPECT_EQ(result.to_vector(), std::vector<unsigned>{9});
  expect_works(device);
}

// The last handle to a device goes away in a host function that the device itself calls.
TEST_F(CudaBadInput, ADeviceThatClosesInItsOwnWork) {
  std::atomic<bool> gone{false};
  {
    std::optional<Device> mine = Device::open("cuda:1");
    const auto marker = std::shared_ptr<void>(nullptr, [&gone](void*) { gone = true; });
    std::optional<Stream> stream(std::in_place, *mine, StreamOptions{.blocking = false});
    stream->host_function(
        [keep = *mine, marker, also = *stream] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    stream.reset();
    mine.reset();
  }
  for (int i = 0; i < 500 && !gone; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(gone);
  expect_works(Device::open("cuda:1"));
}

TEST_F(CudaBadInput, CallsFromHostFunctions) {
  const Stream stream(device, {.blocking = false});
  std::atomic<int> first{-1}, second{-1}, third{-1};
  DeviceArray<unsigned> data(device, 1);
  stream.host_function([&] {
    first = id_of([&] { stream.synchronize(); });
    second = id_of([&] { (void)data.to_vector(); });
    third = id_of([&] { device.reset(); });
  });
  stream.synchronize();
  EXPECT_EQ(first, error_id::not_permitted);
  EXPECT_EQ(second, error_id::not_permitted);
  EXPECT_EQ(third, error_id::not_permitted);
  expect_works(device);
}

TEST_F(CudaBadInput, GraphsOfMemoryThatIsGone) {
  Graph graph(device);
  {
    DeviceArray<unsigned> data(device, 1);
    graph.launch({}, store, {1, 1}, data, 7U);
    std::vector<unsigned> host(1);
    const DeviceArray<unsigned> other(device, 1);
    graph.copy({}, data.data(), other.data(), 4);
  }
  const int id = id_of([&] {
    graph.instantiate().launch();
    device.synchronize();
  });
  EXPECT_TRUE(id == 0 || id == error_id::invalid_value || id == error_id::illegal_address) << id;
  if (id == error_id::illegal_address) device.reset();
  expect_works(device);

  Graph own(device);
  const GraphAllocation memory = own.allocate({}, 1024);
  EXPECT_NE(id_of([&] { own.deallocate({}, static_cast<char*>(memory.address) + 1); }), 0);
  own.deallocate({memory.node}, memory.address);
  EXPECT_NE(id_of([&] { own.deallocate({memory.node}, memory.address); }), 0);
  EXPECT_NE(id_of([&] { own.allocate({}, std::numeric_limits<std::size_t>::max()); }), 0);
  const GraphExec exec = own.instantiate();
  exec.launch();
  exec.launch();
  device.synchronize();
  expect_works(device);
}

TEST_F(CudaBadInput, Memory) {
  EXPECT_NE(id_of([&] { DeviceArray<char>(device, std::numeric_limits<std::size_t>::max()); }), 0);
  EXPECT_NE(id_of([&] { ManagedMemory(device, std::numeric_limits<std::size_t>::max()); }), 0);
  EXPECT_NE(id_of([&] { HostMemory(device, std::numeric_limits<std::size_t>::max()); }), 0);
  std::vector<char> host(4096);
  EXPECT_NE(id_of([&] { HostRegistration(device, nullptr, 4096); }), 0);
  EXPECT_NE(id_of([&] { HostRegistration(device, host.data(), std::numeric_limits<std::size_t>::max()); }), 0);
  {
    const HostRegistration once(device, host.data(), host.size());
    EXPECT_NE(id_of([&] { HostRegistration(device, host.data(), host.size()); }), 0);
  }
  DeviceArray<char> data(device, 16);
  EXPECT_NE(id_of([&] { copy(device, data.data(), host.data(), 17); }), 0);
  EXPECT_NE(id_of([&] { copy(device, data.data(), nullptr, 16); }), 0);
  EXPECT_NE(id_of([&] { copy(device, nullptr, host.data(), 16); }), 0);
  EXPECT_NE(id_of([&] { copy(device, data.data() + 8, host.data(), 16); }), 0);
  EXPECT_NE(id_of([&] { device.set_memory_limit(0); }), 0);
  expect_works(device);
}

// ---- a lost context: every call of the driver gives the error ----

class CudaLostContext : public CudaBadInput {
 protected:
  void SetUp() override {
    CudaBadInput::SetUp();
    void* library = dlopen(STAND_IN_DRIVER, RTLD_NOW);
    fail = reinterpret_cast<int (*)(int)>(dlsym(library, "stand_in_fail"));
    ASSERT_NE(fail, nullptr);
  }
  void TearDown() override {
    if (fail != nullptr) fail(0);
  }
  int (*fail)(int) = nullptr;
};

TEST_F(CudaLostContext, EveryCallSaysSoAndEverythingCanBeDestroyed) {
  for (const int status : {700, 719, 214}) {
    SCOPED_TRACE(status);
    fail(0);
    const Device one = Device::open("cuda:0");
    const Module loaded = one.load_ptx(kPtx);
    const Kernel kernel = loaded.kernel("store");
    DeviceArray<unsigned> data(one, 1);
    ManagedMemory managed(one, 4096);
    const HostMemory pinned(one, 4096);
    const Stream stream(one);
    const Event event(one), other(one);
    event.record(stream);
    other.record(stream);
    stream.synchronize();
    Graph graph(one);
    graph.launch({}, kernel, {1, 1}, data, 7U);
    const GraphExec exec = graph.instantiate();
    NdArray<float, 2> a(one, {2, 2}), c(one, {2, 2});
    TexelArray texels(one, TexelFormat::of<float>(), {4});
    std::vector<unsigned> host(1);
    fail(status);
    const std::vector<std::function<void()>> calls{
        [&] { kernel.launch({1, 1}, data, 7U), one.synchronize(); },
        [&] { one.synchronize(); },
        [&] { stream.synchronize(); },
        [&] { (void)stream.query(); },
        [&] { (void)data.to_vector(); },
        [&] { data.fill(1), one.synchronize(); },
        [&] { DeviceArray<std::byte>(one, std::size_t{1} << 30); },  // more than the pool keeps
        [&] { ManagedMemory(one, 4096); },
        [&] { HostMemory(one, 4096); },
        [&] { (void)one.load_ptx(kPtx); },
        [&] { (void)Stream(one); },
        [&] { event.record(stream), stream.synchronize(); },
        [&] { exec.launch(stream), stream.synchronize(); },
        [&] { blas::gemm(stream, 1.0F, a.view(), a.view(), 0.0F, c.view()), stream.synchronize(); },
        [&] { texels.copy_from(std::span<const float>(std::array<float, 4>{})); },
        [&] { (void)Texture(texels); },
        [&] { managed.prefetch(stream, MemoryLocation::device), stream.synchronize(); },
        [&] { (void)Device::open("cuda:1"); },
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const int id = id_of(calls[i]);
      EXPECT_NE(id, 0) << "call " << i;
      EXPECT_TRUE(status == 214 || i == 0 || i + 1 == calls.size() || id == error_id::context_poisoned) << "call " << i;
    }
    (void)id_of([&] { (void)one.free_memory(); });
    (void)one.properties();
    // A code without an id is itself.
    try {
      one.synchronize();
      ADD_FAILURE() << "the device works again";
    } catch (const Error& error) {
      if (status == 214) {
        EXPECT_EQ(error.cuda_code(), 214) << error.what();
      }
    }
  }
}

}  // namespace
