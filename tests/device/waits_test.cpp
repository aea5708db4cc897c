// PTX text in which lanes of a warp are apart while some wait, and patterns that only look alike.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

namespace {

using namespace warploom;

// The parameter is DeviceOptions::unoptimised.
class Waits : public testing::TestWithParam<bool> {
 protected:
  // What a kernel with this body leaves in the element of each thread; %r1 is n, %r3 the thread, %rd3 its element.
  [[nodiscard]] std::vector<std::uint32_t> run(const std::string& body, std::uint32_t threads, std::uint32_t n) const {
    const std::string text =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n"
        ".reg .b32 %r<20>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n"
        "ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\n"
        "mov.u32 %r3, %tid.x;\nmul.wide.u32 %rd2, %r3, 4;\nadd.s64 %rd3, %rd1, %rd2;\n" +
        body + "ret;\n}\n";
    const Device device = Device::open("cpu", {.threads = 1, .unoptimised = GetParam()});
    DeviceArray<std::uint32_t> out(device, threads);
    out.zero();
    device.load_ptx(text).kernel("k").launch({1, threads}, out, n);
    return out.to_vector();
  }
  template <class F>
  static std::vector<std::uint32_t> expected(std::uint32_t threads, F f) {
    std::vector<std::uint32_t> values;
    for (std::uint32_t t = 0; t < threads; ++t) values.push_back(f(t));
    return values;
  }
};
INSTANTIATE_TEST_SUITE_P(Device, Waits, testing::Bool(), [](const testing::TestParamInfo<bool>& instance) {
  return instance.param ? "unoptimised" : "optimised";
});

// Lanes wait for each other in different iterations: the counter is no longer common to them.
TEST_P(Waits, LanesOfOneWarpInDifferentIterations) {
  for (const char* wait : {"bar.warp.sync 0xffffffff;\n", "shfl.sync.idx.b32 %r9, %r3, %r3, 31, -1;\n"}) {
    const auto out = run(std::string("mov.u32 %r4, 0;\n"
                                     "LOOP:\n"
                                     "add.u32 %r5, %r4, 7;\n"
                                     "mul.lo.u32 %r6, %r4, %r1;\n"
                                     "setp.ne.u32 %p1, %r4, %r3;\n"
                                     "@%p1 bra SKIP;\n") +
                             wait +
                             "add.u32 %r5, %r5, %r6;\n"
                             "st.global.u32 [%rd3], %r5;\n"
                             "SKIP:\n"
                             "add.u32 %r4, %r4, 1;\n"
                             "setp.lt.u32 %p2, %r4, 32;\n"
                             "@%p2 bra LOOP;\n",
                         32, 10);
    EXPECT_EQ(out, expected(32, [](std::uint32_t t) { return t * 11 + 7; })) << wait;
  }
}

// barrier.sync without .aligned counts threads wherever they are.
TEST_P(Waits, ThreadsOfOneBlockInDifferentIterations) {
  const auto out =
      run("and.b32 %r3, %r3, 3;\n"
          "mov.u32 %r4, 0;\n"
          "LOOP:\n"
          "mul.lo.u32 %r6, %r4, %r1;\n"
          "setp.ne.u32 %p1, %r4, %r3;\n"
          "@%p1 bra SKIP;\n"
          "barrier.sync 0;\n"
          "st.global.u32 [%rd3], %r6;\n"
          "SKIP:\n"
          "add.u32 %r4, %r4, 1;\n"
          "setp.lt.u32 %p2, %r4, 4;\n"
          "@%p2 bra LOOP;\n",
          64, 10);
  EXPECT_EQ(out, expected(64, [](std::uint32_t t) { return (t & 3) * 10; }));
}

// Half of the warp waits while the other half overwrites its own copy of a register.
TEST_P(Waits, OneHalfGoesOn) {
  const std::string body =
      "mov.u32 %r4, 1;\n"
      "setp.lt.u32 %p1, %r3, 16;\n"
      "setp.gt.u32 %p2, %r1, 100;\n"
      "mov.u32 %r5, 0;\n"
      "@!%p1 bra OTHER;\n"
      "bar.warp.sync 0xffffffff;\n"
      "mov.u32 %r5, %r4;\n"
      "OTHER:\n"
      "@!%p2 bra NEXT;\n"
      "mov.u32 %r4, 2;\n"
      "NEXT:\n"
      "@%p1 bra END;\n"
      "bar.warp.sync 0xffffffff;\n"
      "END:\n"
      "mad.lo.u32 %r5, %r5, 10, %r4;\n"
      "st.global.u32 [%rd3], %r5;\n";
  for (const std::uint32_t n : {5U, 500U})
    EXPECT_EQ(run(body, 32, n),
              expected(32, [&](std::uint32_t t) { return (t < 16 ? 10U : 0U) + (n > 100 ? 2U : 1U); }));
}

// Either source has the pattern of the thread index, only one its bound and alignment.
TEST_P(Waits, SelectedPatternsKeepTheWeakerBound) {
  const std::string body =
      "add.u32 %r4, %r3, %r1;\n"
      "setp.gt.u32 %p1, %r1, 0xfffffff0;\n"
      "selp.b32 %r5, %r3, %r4, %p1;\n"
      "and.b32 %r6, %r5, 31;\n"
      "shr.u32 %r7, %r5, 3;\n"
      "mad.lo.u32 %r6, %r7, 32, %r6;\n"
      "st.global.u32 [%rd3], %r6;\n";
  for (const std::uint32_t n : {5U, 1000U, 0xfffffff9U})
    EXPECT_EQ(run(body, 64, n), expected(64, [&](std::uint32_t t) {
                const std::uint32_t x = n > 0xfffffff0 ? t : t + n;
                return (x >> 3) * 32 + (x & 31);
              }));
}

// Arriving does not wait, and a second arrival counts for the next round.
TEST_P(Waits, ArrivingGoesOn) {
  const auto out =
      run("setp.lt.u32 %p1, %r3, 32;\n"
          "@%p1 bra FIRST;\n"
          "bar.sync 1, 64;\n"
          "bar.arrive 3, 64;\n"
          "bar.sync 2, 64;\n"
          "bar.sync 2, 64;\n"
          "st.global.u32 [%rd3], %r3;\n"
          "ret;\n"
          "FIRST:\n"
          "bar.arrive 1, 64;\n"
          "bar.arrive 2, 64;\n"
          "bar.sync 3, 64;\n"
          "bar.arrive 2, 64;\n"
          "st.global.u32 [%rd3], %r3;\n",
          64, 0);
  EXPECT_EQ(out, expected(64, [](std::uint32_t t) { return t; }));
}

TEST_P(Waits, RegistersBeginAsZero) {
  const auto out =
      run("mov.u32 %r4, 0;\n"
          "LOOP:\n"
          "add.u32 %r5, %r5, %r3;\n"
          "add.u32 %r4, %r4, 1;\n"
          "setp.lt.u32 %p1, %r4, %r1;\n"
          "@%p1 bra LOOP;\n"
          "st.global.u32 [%rd3], %r5;\n",
          64, 5);
  EXPECT_EQ(out, expected(64, [](std::uint32_t t) { return t * 5; }));
}

}  // namespace
