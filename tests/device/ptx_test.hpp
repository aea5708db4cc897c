// The fixture of device tests whose kernels are PTX text: one device in each of the modes of device_test.hpp.
#pragma once

#include "device_test.hpp"

namespace device_test {

class PtxTest : public testing::TestWithParam<Code> {
 protected:
  PtxTest() : known_(CacheFolders::use(GetParam())), device(open_device(GetParam())) {}

  // A module with one kernel `k(.param .u64 out, .param .u64 in, .param .u32 n)`: %rd1 is out, %rd2 in, %r1 n, %r2
  // %tid.x, %rd3 the thread's element of out, counted over the grid.
  [[nodiscard]] static std::string module_of(const std::string& body, const std::string& before = {}) {
    return ".version 8.6\n.target sm_90a\n.address_size 64\n" + before +
           ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"
           ".reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .pred %p<8>; .reg .f32 %f<8>;\n"
           "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r1, [n];\n"
           "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmad.lo.u32 %r3, %r3, %r4, %r2;\n"
           "mul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd3, %rd1, %rd3;\n" +
           body + "ret;\n}\n";
  }
  // What the kernel leaves in `count` words.
  [[nodiscard]] std::vector<std::uint32_t> run(const std::string& text, const warploom::LaunchConfig& config,
                                               std::size_t count, const std::vector<std::uint32_t>& in = {0},
                                               std::uint32_t n = 0) const {
    const warploom::DeviceArray<std::uint32_t> source(device, in);
    warploom::DeviceArray<std::uint32_t> out(device, std::vector<std::uint32_t>(count, 0xDEADBEEF));
    const warploom::Module module = device.load_ptx(text, "test.ptx");
    module.kernel("k").launch(config, out, source, n);
    return out.to_vector();
  }
  // The error of a launch, after which the device is reset.
  [[nodiscard]] std::string error_of(const std::string& text, const warploom::LaunchConfig& config, int id,
                                     const std::vector<std::uint32_t>& in = {0}, std::uint32_t n = 0) {
    try {
      (void)run(text, config, 4096, in, n);
    } catch (const warploom::Error& error) {
      EXPECT_EQ(error.id(), id) << error.what();
      device.reset();
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

 private:
  bool known_;

 protected:
  warploom::Device device;
};

#define PTX_TEST_MODES(fixture) \
  INSTANTIATE_TEST_SUITE_P(Device, fixture, testing::ValuesIn(device_test::ways()), device_test::instance_name)

}  // namespace device_test
