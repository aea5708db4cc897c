// Every misuse gives one clear Error, and the process and the device go on.
#include <atomic>
#include <chrono>
#include <thread>

#include "fixture.hpp"
#include "runtime/names.hpp"

namespace warploom::test {
namespace {

class Misuse : public FakeTest {
 protected:
  // Every test ends with proof that the device still works.
  void TearDown() override {
    DeviceArray<float> array(device, std::vector<float>{1, 2});
    device.load_ptx("fake").kernel("scale").launch({1, 32}, array, 5.0f, 2);
    EXPECT_EQ(array.to_vector(), (std::vector<float>{5, 10}));
  }
};

TEST_F(Misuse, ArgumentCount) {
  std::vector<int> log;
  const Error error = error_of([&] { append.launch({1, 1}, &log); });
  EXPECT_EQ(error.id(), error_id::launch_arguments);
  EXPECT_EQ(error.name(), "launch_arguments");
  EXPECT_EQ(error.cuda_code(), 1);
  EXPECT_EQ(error.message(), "the kernel takes 2 arguments, the launch passes 1");
  EXPECT_EQ(error.remedy(), "the kernel's parameters have 8 and 4 bytes");
  EXPECT_EQ(error.where(), "kernel append");
  EXPECT_NE(std::string(error.what()).find("WL3002"), std::string::npos);
  EXPECT_ERROR(append.launch({1, 1}), launch_arguments);
  EXPECT_ERROR(append.launch({1, 1}, &log, 1, 2), launch_arguments);
  EXPECT_EQ(fake->launches, 0);
}

TEST_F(Misuse, ArgumentSize) {
  std::vector<int> log;
  const Error error = error_of([&] { append.launch({1, 1}, &log, 1.0); });
  EXPECT_EQ(error.id(), error_id::launch_arguments);
  EXPECT_EQ(error.message(), "argument 1 (counted from 0) has 8 bytes, parameter \"param_1\" has 4 bytes");
  DeviceArray<int> array(device, 1);
  EXPECT_NE(error_of([&] { append.launch({1, 1}, array, array); }).remedy().find("not a pointer"), std::string::npos);
  EXPECT_ERROR(append.launch({1, 1}, 7, 7), launch_arguments);
  EXPECT_EQ(fake->launches, 0);
}

TEST_F(Misuse, RawArgumentWithoutData) {
  const Argument arguments[] = {{nullptr, 4, nullptr}};
  EXPECT_ERROR(fail.launch_with({1, 1}, arguments), invalid_value);
}

TEST_F(Misuse, LaunchDimensions) {
  const int negative = -1;
  EXPECT_ERROR(fail.launch({1, 0}, 1), launch_dimensions);
  EXPECT_ERROR(fail.launch({1, negative}, 1), launch_dimensions);
  EXPECT_ERROR(fail.launch({1, {64, 64}}, 1), launch_dimensions);
  EXPECT_EQ(fake->launches, 0);
}

TEST_F(Misuse, MissingKernel) {
  const Error error = error_of([&] { (void)module.kernel("apend"); });
  EXPECT_EQ(error.id(), error_id::not_found);
  EXPECT_EQ(error.cuda_code(), 500);
  EXPECT_EQ(error.message(), "no kernel \"apend\"");
  EXPECT_EQ(error.remedy(), "did you mean \"append\"?");
  EXPECT_EQ(error.where(), "module fake.ptx");
  EXPECT_ERROR((void)module.kernel(""), not_found);
  EXPECT_ERROR((void)module.kernel("scale<float, 8>"), not_found);
}

TEST_F(Misuse, AmbiguousKernel) {
  const Error error = error_of([&] { (void)module.kernel("pick"); });
  EXPECT_EQ(error.id(), error_id::not_found);
  EXPECT_EQ(error.message(), "kernel \"pick\" is ambiguous: it fits a::pick(int), b::pick(float)");
  EXPECT_EQ(module.kernel("a::pick").demangled_name(), "a::pick(int)");
  EXPECT_EQ(module.kernel("pick(float)").name(), "_ZN1b4pickEf");
}

TEST_F(Misuse, BadPtxKeepsItsPlace) {
  const Error error = error_of([&] { (void)device.load_ptx("nonsense"); });
  EXPECT_EQ(error.id(), error_id::ptx_syntax);
  EXPECT_EQ(error.cuda_code(), 218);
  EXPECT_EQ(error.file(), "fake.ptx");
  EXPECT_EQ(error.line(), 3u);
  EXPECT_EQ(error.column(), 7u);
}

TEST_F(Misuse, MissingFile) {
  EXPECT_ERROR((void)device.load_ptx_file("/nowhere/at/all.ptx"), file_error);
  EXPECT_ERROR((void)device.load_ptx_file("/"), file_error);
}

TEST_F(Misuse, OutOfMemory) {
  const Error error = error_of([&] { DeviceArray<double> array(device, FakeDevice::kMemory); });
  EXPECT_EQ(error.id(), error_id::out_of_memory);
  EXPECT_EQ(error.cuda_code(), 2);
  EXPECT_ERROR(DeviceArray<double>(device, std::size_t{1} << 62), out_of_memory);
}

TEST_F(Misuse, CopyDoesNotFit) {
  DeviceArray<int> array(device, 4);
  std::vector<int> host(5);
  EXPECT_ERROR(array.copy_from(host), invalid_value);
  EXPECT_ERROR(array.copy_to(host), invalid_value);
  host.resize(2);
  EXPECT_ERROR(array.copy_from(host, 3), invalid_value);
  EXPECT_ERROR(array.copy_to(host, ~std::size_t{0}), invalid_value);
  EXPECT_ERROR(array.copy_from(std::span<const int>(static_cast<const int*>(nullptr), 2)), invalid_value);
  DeviceArray<int> small(device, 2);
  EXPECT_ERROR(small.copy_from(array), invalid_value);
}

TEST_F(Misuse, FillWithElementsOfAnySize) {
  struct Three {
    char bytes[3];
    bool operator==(const Three&) const = default;
  };
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{100000}}) {
    DeviceArray<Three> odd(device, count);
    odd.fill({'a', 'b', 'c'});
    EXPECT_EQ(odd.to_vector(), std::vector<Three>(count, Three{'a', 'b', 'c'}));
    DeviceArray<char> bytes(device, count);
    bytes.fill('x');
    EXPECT_EQ(bytes.to_vector(), std::vector<char>(count, 'x'));
    bytes.zero();
    EXPECT_EQ(bytes.to_vector(), std::vector<char>(count));
  }
}

TEST_F(Misuse, OccupancyOfABlockThatDoesNotFit) {
  const Kernel kernel = module.kernel("scale");
  EXPECT_EQ(kernel.max_active_blocks(128), 16u);  // 2048 threads
  EXPECT_EQ(kernel.max_active_blocks(0), 0u);
  EXPECT_EQ(kernel.max_active_blocks(1025), 0u);
  EXPECT_EQ(kernel.max_active_blocks({1, 1, 65}), 0u);
  EXPECT_EQ(kernel.max_active_blocks(32, 227 * 1024), 0u);  // the kernel has 1 KiB of its own
}

TEST_F(Misuse, EmptyArrayIsFine) {
  DeviceArray<int> array(device, 0);
  EXPECT_EQ(array.data(), nullptr);
  array.zero();
  array.fill(3);
  EXPECT_TRUE(array.to_vector().empty());
}

TEST_F(Misuse, MovedFrom) {
  DeviceArray<int> array(device, 4);
  const DeviceArray<int> owner = std::move(array);
  EXPECT_EQ(owner.size(), 4u);
  EXPECT_EQ(array.size(), 0u);  // NOLINT: the state after a move is what is tested
  EXPECT_ERROR(array.fill(1), invalid_handle);
  EXPECT_ERROR((void)array.to_vector(), invalid_handle);
  std::vector<int> log;
  EXPECT_ERROR(append.launch({1, 1}, array, 1), invalid_handle);

  Stream stream(device);
  const Stream stream_owner = std::move(stream);
  EXPECT_ERROR(stream.synchronize(), invalid_handle);
  EXPECT_ERROR(append.launch({1, 1, 0, stream}, &log, 1), invalid_handle);

  Event event(device);
  const Event event_owner = std::move(event);
  EXPECT_ERROR(event.record(), invalid_handle);
  EXPECT_ERROR(stream_owner.wait(event), invalid_handle);

  Kernel kernel = append;
  const Kernel kernel_owner = std::move(kernel);
  EXPECT_ERROR(kernel.launch({1, 1}, &log, 1), invalid_handle);
  EXPECT_ERROR((void)kernel.name(), invalid_handle);

  Module copy = module;
  const Module module_owner = std::move(copy);
  EXPECT_ERROR((void)copy.kernel("append"), invalid_handle);

  Device handle = device;
  const Device device_owner = std::move(handle);
  EXPECT_FALSE(handle.valid());
  EXPECT_ERROR(handle.synchronize(), invalid_handle);
  EXPECT_ERROR(DeviceArray<int>(handle, 1), invalid_handle);
  EXPECT_ERROR(Stream{handle}, invalid_handle);
}

TEST_F(Misuse, OtherDevicesHandles) {
  Device other = open();
  Stream stream(other);
  DeviceArray<float> array(other, 4), own(device, 4);
  EXPECT_ERROR(fail.launch({1, 1, 0, stream}, 1), invalid_handle);
  EXPECT_ERROR(module.kernel("scale").launch({1, 32}, array, 1.0f, 1), invalid_handle);
  EXPECT_ERROR(own.copy_from(array), invalid_handle);
  EXPECT_ERROR(own.zero(stream), invalid_handle);
}

// Events order streams of different devices.
TEST_F(Misuse, OtherDevicesEvents) {
  Device other = open();
  Stream stream(other), own(device);
  Event event(other), never(other);
  std::atomic<int> before = 0, seen = -1;
  stream.host_function([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    before = 1;
  });
  event.record(stream);
  own.wait(never);  // was never recorded
  own.wait(event);
  own.host_function([&] { seen = before.load(); });
  own.synchronize();
  EXPECT_EQ(seen, 1);
}

TEST_F(Misuse, HostFunction) {
  Stream stream(device);
  EXPECT_ERROR(stream.host_function(nullptr), invalid_value);
  stream.host_function([] { throw std::runtime_error("out of cheese"); });
  const Error error = error_of([&] { stream.synchronize(); });
  EXPECT_EQ(error.id(), error_id::host_function_failed);
  EXPECT_NE(error.message().find("out of cheese"), std::string::npos);
  stream.synchronize();  // reported once

  int refused = 0;
  Event event(device);
  stream.host_function([&] {
    DeviceArray<int> array(device, 1);
    for (const std::function<void()>& call :
         std::vector<std::function<void()>>{[&] { stream.synchronize(); }, [&] { device.synchronize(); },
                                            [&] { device.reset(); }, [&] { array.fill(1); }}) {
      try {
        call();
      } catch (const Error& e) {
        refused += e.id() == error_id::not_permitted && e.cuda_code() == 800;
      }
    }
  });
  stream.synchronize();
  EXPECT_EQ(refused, 4);
}

TEST_F(Misuse, AsynchronousErrorThatIsNotSticky) {
  Stream stream(device);
  fail.launch({1, 1, 0, stream}, error_id::unsupported_instruction);
  EXPECT_ERROR(stream.synchronize(), unsupported_instruction);
  stream.synchronize();
  device.synchronize();
}

TEST_F(Misuse, StickyErrorPoisonsUntilReset) {
  Stream stream(device);
  Event event(device);
  DeviceArray<float> array(device, 2);
  std::vector<int> log;
  Gate gate;
  wait.launch({1, 1, 0, stream}, &gate);
  fail.launch({1, 1, 0, stream}, error_id::illegal_address);
  append.launch({1, 1, 0, stream}, &log, 1);  // queued before the failure, not run after it
  event.record(stream);
  gate.open();
  const Error first = error_of([&] { stream.synchronize(); });
  EXPECT_EQ(first.id(), error_id::illegal_address);
  EXPECT_EQ(first.cuda_code(), 700);
  EXPECT_EQ(first.line(), 12u);
  EXPECT_NE(first.where().find("thread (5,0,0)"), std::string::npos);
  EXPECT_TRUE(log.empty());

  const Error later = error_of([&] { fail.launch({1, 1}, 1); });
  EXPECT_EQ(later.id(), error_id::context_poisoned);
  EXPECT_EQ(later.cuda_code(), 700);
  EXPECT_NE(later.message().find("illegal_address"), std::string::npos);
  EXPECT_ERROR(device.synchronize(), context_poisoned);
  EXPECT_ERROR(event.synchronize(), context_poisoned);
  EXPECT_ERROR((void)event.query(), context_poisoned);
  EXPECT_ERROR((void)array.to_vector(), context_poisoned);
  EXPECT_ERROR(DeviceArray<int>(device, 1), context_poisoned);
  EXPECT_ERROR((void)device.load_ptx("fake"), context_poisoned);
  EXPECT_ERROR((void)module.kernel("append"), context_poisoned);
  EXPECT_ERROR(Stream{device}, context_poisoned);

  device.reset();
  device.synchronize();
  EXPECT_EQ(device.free_memory(), FakeDevice::kMemory);
  EXPECT_EQ(array.data(), nullptr);
  EXPECT_ERROR((void)array.to_vector(), invalid_handle);
  EXPECT_ERROR(stream.synchronize(), invalid_handle);
  EXPECT_ERROR(event.record(), invalid_handle);
  EXPECT_ERROR(append.launch({1, 1}, &log, 1), invalid_handle);
  EXPECT_ERROR((void)module.kernel("append"), invalid_handle);
  Kernel fresh = device.load_ptx("fake").kernel("scale");
  EXPECT_ERROR(fresh.launch({1, 32}, array, 1.0f, 1), invalid_handle);
}

TEST_F(Misuse, EverySimpleStickyErrorKeepsItsCudaCode) {
  const std::pair<int, int> codes[] = {{error_id::misaligned_address, 716},
                                       {error_id::device_assert, 710},
                                       {error_id::device_trap, 719},
                                       {error_id::launch_timeout, 702},
                                       {error_id::barrier_divergence, 719}};
  for (const auto& [id, code] : codes) {
    device.load_ptx("fake").kernel("fail").launch({1, 1}, id);
    const Error first = error_of([&] { device.synchronize(); });
    EXPECT_EQ(first.id(), id);
    EXPECT_EQ(first.cuda_code(), code);
    EXPECT_EQ(error_of([&] { device.synchronize(); }).cuda_code(), code);
    device.reset();
  }
}

TEST_F(Misuse, ResetWaitsForWork) {
  std::vector<int> log;
  Stream stream(device);
  for (int i = 0; i < 50; ++i) append.launch({1, 1, 0, stream}, &log, i);
  device.reset();
  EXPECT_EQ(log.size(), 50u);
}

TEST_F(Misuse, Globals) {
  const Global<float> weights = module.global<float>("weights");
  EXPECT_EQ(weights.size(), 9u);
  const std::vector<float> values{1, 2, 3};
  weights.copy_from(values);
  weights.set(7);
  EXPECT_EQ(weights.get(), 7);
  std::vector<float> back(3);
  weights.copy_to(back);
  EXPECT_EQ(back, (std::vector<float>{7, 2, 3}));
  EXPECT_ERROR(weights.copy_from(std::vector<float>(10)), invalid_value);
  EXPECT_ERROR((void)module.global<double>("weights"), invalid_value);
  EXPECT_ERROR((void)module.global<float>("wights"), not_found);
}

TEST_F(Misuse, ErrorsCopyTheirText) {
  Error copy = error_of([&] { (void)module.kernel("nothing"); });
  copy = error_of([&] { (void)device.load_ptx("nonsense"); });
  const std::runtime_error& base = copy;
  EXPECT_NE(std::string(base.what()).find("ptx_syntax"), std::string::npos);
}

TEST(Names, Forms) {
  const std::vector<std::string> names{"_Z5scaleIfLi16EEvPT_S0_i",
                                       "_Z5scaleIfLi8EEvPT_S0_i",
                                       "_ZN3geo6detail3sumIjEEvPKT_j",
                                       "_ZN12_GLOBAL__N_14blurEPKfPf",
                                       "plain",
                                       "_Z4tileILj32ELb1EEvPi"};
  const auto find = [&](std::string_view wanted) {
    auto found = runtime::find_name(names, wanted, "kernel", "m");
    return found ? *found : std::string("none");
  };
  EXPECT_EQ(find("scale<float,16>"), names[0]);
  EXPECT_EQ(find("scale<float, 8>"), names[1]);
  EXPECT_EQ(find("void scale<float, 8>(float*, float, int)"), names[1]);
  EXPECT_EQ(find("scale"), "none");
  EXPECT_EQ(find("sum"), names[2]);
  EXPECT_EQ(find("detail::sum"), names[2]);
  EXPECT_EQ(find("geo::detail::sum<unsigned int>"), names[2]);
  EXPECT_EQ(find("geo::sum"), "none");
  EXPECT_EQ(find("tail::sum"), "none");
  EXPECT_EQ(find("blur"), names[3]);
  EXPECT_EQ(find("(anonymous namespace)::blur"), names[3]);
  EXPECT_EQ(find("plain"), "plain");
  EXPECT_EQ(find("tile<32u, true>"), names[5]);
  EXPECT_EQ(find("tile<32, true>"), names[5]);
  EXPECT_EQ(find("scale<float, 16"), "none");
}

TEST(Dim3, ClampsWhatDoesNotFit) {
  EXPECT_EQ(Dim3(-1).x, 0u);
  EXPECT_EQ(Dim3(std::uint64_t{1} << 33).x, 0xFFFFFFFFu);
  EXPECT_EQ((Dim3{2, 3}), (Dim3{2u, 3ul, 1}));
  EXPECT_EQ(Dim3(2, 3, 4).count(), 24u);
  EXPECT_EQ(blocks_for(257, 256), 2u);
  EXPECT_EQ(blocks_for(256, 256), 1u);
  EXPECT_EQ(blocks_for(0, 256), 0u);
}

}  // namespace
}  // namespace warploom::test
