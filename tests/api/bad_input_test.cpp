// Bad input on the CPU device: one clear error with its CUDA code, no crash, and a process that goes on.
#include <gtest/gtest.h>

#include <functional>

#include "warploom/warploom.hpp"

namespace warploom {
namespace {

constexpr const char* kSource = R"(
__global__ void store(int* data, int value) { data[threadIdx.x] = value; }
__global__ void wild(long address) {
  if (threadIdx.x == 37) *(int*)address = 1;
}
__global__ void stop() { if (threadIdx.x == 3) __trap(); }
__global__ void big(int* data) {
  __shared__ int buffer[12000];
  buffer[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = buffer[threadIdx.x ^ 1];
}
)";

// store, as PTX.
constexpr const char* kStore = R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry store(.param .u64 data, .param .u32 value) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)";

class BadInput : public testing::Test {
 protected:
  Device device = Device::open("cpu", {.memory_limit = std::uint64_t{64} << 20});
  Module module = device.compile(kSource, {}, "bad_input.cu");

  Error error_of(const std::function<void()>& statement) {
    try {
      statement();
    } catch (const Error& error) {
      return error;
    }
    throw std::runtime_error("no Error was thrown");
  }

  // Checks an error that leaves the device usable, and that it does.
  void expect(int id, int cuda_code, const std::function<void()>& statement) {
    const Error error = error_of(statement);
    EXPECT_EQ(error.id(), id) << error.what();
    EXPECT_EQ(error.cuda_code(), cuda_code);
    EXPECT_FALSE(error.message().empty());
    EXPECT_FALSE(error.remedy().empty()) << error.what();
    works();
  }

  void works() {
    DeviceArray<int> data(device, 32);
    device.load_ptx(kStore).kernel("store").launch({1, 32}, data, 7);
    EXPECT_EQ(data.to_vector(), std::vector<int>(32, 7));
  }

  static std::string ptx(const std::string& body) {
    return ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u64 p)\n{\n.reg .b64 %rd<4>;\n"
           ".reg .b32 %r<4>;\n" +
           body + "\nret;\n}\n";
  }
};

TEST_F(BadInput, MalformedPtx) {
  const auto load = [&] {
    (void)device.load_ptx(".version 7.8\n.target sm_80\n.address_size 64\n.entry f(\n}\n", "a.ptx");
  };
  expect(error_id::ptx_syntax, 218, load);
  const Error error = error_of(load);
  EXPECT_EQ(error.file(), "a.ptx");
  EXPECT_EQ(error.line(), 5u);
  EXPECT_THROW((void)device.load_ptx(""), Error);
  EXPECT_THROW((void)device.load_ptx("this is no PTX"), Error);
}

TEST_F(BadInput, BodyErrorsComeAtTheLaunch) {
  const auto launch = [&](const std::string& body) {
    const Module bad = device.load_ptx(ptx(body), "b.ptx");
    DeviceArray<int> data(device, 1);
    bad.kernel("f").launch({1, 1}, data);
    device.synchronize();
  };
  const auto unknown = [&] { launch("frobnicate.b32 %r1, %r2;"); };
  expect(error_id::ptx_unknown_instruction, 218, unknown);
  const Error error = error_of(unknown);
  EXPECT_EQ(error.line(), 8u) << error.what();
  EXPECT_NE(error.message().find("frobnicate"), std::string::npos);
  EXPECT_THROW(launch("mov.b32 %r1, %nosuch;"), Error);
  EXPECT_THROW(launch("add.u32 %r1, %r2;"), Error);
  works();
}

TEST_F(BadInput, UnsupportedInstruction) {
  const Module bad = device.load_ptx(ptx("wgmma.fence.sync.aligned;"), "c.ptx");
  const auto launch = [&] {
    DeviceArray<int> data(device, 1);
    bad.kernel("f").launch({1, 1}, data);
    device.synchronize();
  };
  const Error error = error_of(launch);
  EXPECT_NE(std::string(error.what()).find("wgmma"), std::string::npos) << error.what();
  EXPECT_EQ(error.line(), 8u);
  works();
}

TEST_F(BadInput, CompileError) {
  const auto compile = [&] { (void)device.compile("__global__ void f() {\n  int x = y;\n}\n", {}, "d.cu"); };
  expect(error_id::compile_error, 218, compile);
  const Error error = error_of(compile);
  EXPECT_EQ(error.file(), "d.cu");
  EXPECT_EQ(error.line(), 2u);
  EXPECT_EQ(error.column(), 11u);
  EXPECT_NE(error.excerpt().find('^'), std::string::npos);
  expect(error_id::invalid_value, 1, [&] { (void)device.compile("", {.optimization = 7}); });
  expect(error_id::file_error, 301, [&] { (void)device.compile_file("/nowhere/e.cu"); });
}

TEST_F(BadInput, MissingKernelOrVariable) {
  expect(error_id::not_found, 500, [&] { (void)module.kernel("stoer"); });
  expect(error_id::not_found, 500, [&] { (void)module.global<int>("nothing"); });
}

TEST_F(BadInput, Arguments) {
  DeviceArray<int> data(device, 32);
  const Kernel store = module.kernel("store");
  expect(error_id::launch_arguments, 1, [&] { store.launch({1, 32}, data); });
  expect(error_id::launch_arguments, 1, [&] { store.launch({1, 32}, data, 7L); });
  expect(error_id::launch_arguments, 1, [&] { store.launch({1, 32}, data, 7, 7); });
}

TEST_F(BadInput, Dimensions) {
  DeviceArray<int> data(device, 32);
  const Kernel store = module.kernel("store");
  for (const auto& [grid, block] :
       {std::pair{Dim3(1), Dim3(1025)}, std::pair{Dim3(1), Dim3(1, 1, 65)}, std::pair{Dim3(1), Dim3(0)},
        std::pair{Dim3(0), Dim3(32)}, std::pair{Dim3(1, 65536), Dim3(32)}, std::pair{Dim3(1, 1, 65536), Dim3(32)},
        std::pair{Dim3(2147483648u), Dim3(32)}, std::pair{Dim3(1), Dim3(32, 33)}})
    expect(error_id::launch_dimensions, 1, [&, grid = grid, block = block] { store.launch({grid, block}, data, 7); });
}

TEST_F(BadInput, TooMuchSharedMemory) {
  DeviceArray<int> data(device, 32);
  const auto resources = [&](const std::function<void()>& statement) {
    const Error error = error_of(statement);
    EXPECT_TRUE(error.id() == error_id::launch_resources) << error.what();
    EXPECT_FALSE(error.remedy().empty());
    works();
  };
  resources([&] { module.kernel("store").launch({1, 32, 300 * 1024}, data, 7); });
  resources([&] { module.kernel("big").launch({1, 32, 200 * 1024}, data); });
}

TEST_F(BadInput, CooperativeTooLarge) {
  DeviceArray<int> data(device, 1024);
  LaunchConfig config{100000, 1024};
  config.cooperative = true;
  expect(error_id::cooperative_too_large, 720, [&] { module.kernel("store").launch(config, data, 7); });
}

TEST_F(BadInput, OutOfMemory) {
  expect(error_id::out_of_memory, 2, [&] { DeviceArray<char> huge(device, std::size_t{65} << 20); });
  expect(error_id::out_of_memory, 2, [&] { DeviceArray<double> huge(device, std::size_t{1} << 61); });
}

TEST_F(BadInput, WildPointer) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer lets no second fault through to its handler";
#endif
  for (const long address : {0L, 8L, 0x7fffffff0000L, -64L}) {
    device.compile(kSource, {}, "bad_input.cu").kernel("wild").launch({1, 64}, address);
    const Error error = error_of([&] { device.synchronize(); });
    EXPECT_EQ(error.id(), error_id::illegal_address) << error.what();
    EXPECT_EQ(error.cuda_code(), 700);
    EXPECT_NE(std::string(error.what()).find("wild"), std::string::npos) << error.what();
    EXPECT_TRUE(error.file().ends_with("bad_input.cu")) << error.file();
    EXPECT_EQ(error.line(), 4u);
    EXPECT_NE(error.where().find("37"), std::string::npos) << error.what();

    EXPECT_EQ(error_of([&] { (void)DeviceArray<int>(device, 1); }).id(), error_id::context_poisoned);
    EXPECT_EQ(error_of([&] { device.synchronize(); }).cuda_code(), 700);
    device.reset();
    works();
  }
}

TEST_F(BadInput, FarPastTheEnd) {
  DeviceArray<int> data(device, 1024);
  module.kernel("store").launch({1, 32}, data.data() + (40 << 18), 1);
  const Error error = error_of([&] { device.synchronize(); });
  EXPECT_EQ(error.id(), error_id::illegal_address) << error.what();
  EXPECT_NE(std::string(error.what()).find("4096 bytes"), std::string::npos) << error.what();  // the nearest allocation
  device.reset();
  works();
}

TEST_F(BadInput, Trap) {
  module.kernel("stop").launch({2, 32});
  const Error error = error_of([&] { device.synchronize(); });
  EXPECT_EQ(error.id(), error_id::device_trap) << error.what();
  EXPECT_EQ(error.cuda_code(), 719);
  device.reset();
  works();
}

TEST_F(BadInput, OneDevicesErrorIsNotAnothers) {
  const Device other = Device::open("cpu");
  module.kernel("stop").launch({1, 32});
  EXPECT_THROW(device.synchronize(), Error);
  other.synchronize();
  DeviceArray<int> data(other, 4);
  data.zero();
  EXPECT_EQ(data.to_vector(), std::vector<int>(4));
}

}  // namespace
}  // namespace warploom
