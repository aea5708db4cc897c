// .global and .const variables that a function body declares: one for each declaration, for as long as the module
// lives.
#include "ptx_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

class Globals : public PtxTest {};
using Words = std::vector<std::uint32_t>;

const std::string kOneThread = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\n";

TEST_P(Globals, InitialisersAndScopes) {
  const std::string text = module_of(
      ".global .align 256 .u32 words[4] = {10, 20, 30};\n"
      ".const .align 8 .u64 places[2] = {generic(words), words+8};\n" +
          kOneThread +
          "{\n.global .u32 words = 7;\n.const .u64 inner = words;\nld.const.u64 %rd4, [inner];\n"
          "ld.global.u32 %r5, [%rd4];\nld.global.u32 %r6, [words];\nst.global.v2.u32 [%rd1], {%r5, %r6};\n}\n"
          "ld.const.u64 %rd4, [places+8];\nld.global.u32 %r5, [%rd4];\nld.global.u32 %r6, [words+4];\n"
          "st.global.v2.u32 [%rd1+8], {%r5, %r6};\n"
          "mov.u64 %rd5, words;\nand.b64 %rd5, %rd5, 255;\ncvt.u32.u64 %r5, %rd5;\nld.global.u32 %r6, [words+12];\n"
          "st.global.v2.u32 [%rd1+16], {%r5, %r6};\n"
          "ld.const.u64 %rd6, [outer];\nld.global.u32 %r5, [%rd6];\nst.global.u32 [%rd1+24], %r5;\n",
      ".global .u32 base = 99;\n.const .u64 outer = base;\n");
  EXPECT_EQ(run(text, {1, 32}, 7), (Words{7, 7, 30, 20, 0, 0, 99}));
}

TEST_P(Globals, OneForAllThreadsOfAFunction) {
  // Both functions have a `count`; each is one variable, however often the function is called.
  const auto counter = [](const std::string& name, const std::string& start) {
    return ".func (.reg .u32 r) " + name + "()\n{\n.global .u32 count = " + start +
           ";\natom.global.add.u32 r, [count], 1;\nret;\n}\n";
  };
  const std::string text =
      module_of("call (%r5), a, ();\ncall (%r6), b, ();\ncall (%r7), a, ();\nbar.sync 0;\n" + kOneThread +
                    "call (%r5), a, ();\ncall (%r6), b, ();\nst.global.v2.u32 [%rd1], {%r5, %r6};\n",
                counter("a", "0") + counter("b", "1000"));
  EXPECT_EQ(run(text, {1, 32}, 2), (Words{64, 1032}));
}

TEST_P(Globals, LiveBetweenLaunches) {
  const std::string text = module_of(".global .u32 count;\n" + kOneThread +
                                     "atom.global.add.u32 %r5, [count], 5;\nst.global.u32 [%rd1], %r5;\n");
  const DeviceArray<std::uint32_t> in(device, Words{0});
  DeviceArray<std::uint32_t> out(device, Words{1});
  const Module module = device.load_ptx(text, "test.ptx");
  for (std::uint32_t launch = 0; launch < 3; ++launch) {
    module.kernel("k").launch({1, 32}, out, in, 0U);
    EXPECT_EQ(out.to_vector(), Words{launch * 5});
  }
}

TEST_P(Globals, AnInitialiserThatNamesNothing) {
  EXPECT_NE(error_of(module_of(".global .u64 p = nowhere;\nld.global.u64 %rd4, [p];\n"), {1, 32}, 2007)
                .find("'nowhere', which is not defined"),
            std::string::npos);
}

PTX_TEST_MODES(Globals);

}  // namespace
