// Atomics on packed, narrow and vector floats, which CUDA C++ reaches only through intrinsics: kernels in PTX.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

namespace {

using warploom::Device;
using warploom::DeviceArray;

class HalfAtomics : public testing::TestWithParam<bool> {
 protected:
  HalfAtomics() : device(Device::open("cpu", {.threads = 2, .unoptimised = GetParam()})) {}

  // All 64 threads of a block run `body` with %rd1 = out and, as shared memory of 64 bytes, `cell`.
  template <class T>
  std::vector<T> run(const std::string& body, std::vector<T> start) {
    const std::string ptx =
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 out)\n{\n"
        "  .reg .pred %p<4>;\n  .reg .b16 %h<8>;\n  .reg .b32 %r<8>;\n  .reg .b64 %rd<4>;\n"
        "  .shared .align 16 .b8 cell[64];\n"
        "  ld.param.u64 %rd1, [out];\n  mov.u32 %r1, %tid.x;\n" +
        body + "  ret;\n}\n";
    DeviceArray<T> out(device, start);
    device.load_ptx(ptx, "half_atomics.ptx").kernel("k").launch({1, 64}, out);
    return out.to_vector();
  }
  Device device;
};

TEST_P(HalfAtomics, HalfSumsRoundEachStep) {
  // 64 times 1.0h on 2048: above 2048 halves are two apart, and 2049 rounds back to even.
  EXPECT_EQ(run<std::uint16_t>("  mov.b16 %h1, 0x3C00;\n  red.global.add.noftz.f16 [%rd1], %h1;\n", {0x6800})[0],
            0x6800);
  EXPECT_EQ(run<std::uint16_t>("  mov.b16 %h1, 0x3C00;\n  red.global.add.noftz.f16 [%rd1], %h1;\n", {0})[0], 0x5400);
}

TEST_P(HalfAtomics, PackedHalvesAddSideBySide) {
  EXPECT_EQ(run<std::uint32_t>("  mov.b32 %r2, 0x3C004000;\n  red.global.add.noftz.f16x2 [%rd1], %r2;\n", {0})[0],
            0x54005800U);
  // In shared memory, then copied out.
  EXPECT_EQ(run<std::uint32_t>("  mov.u32 %r3, cell;\n  mov.b32 %r4, 0;\n  st.shared.b32 [%r3], %r4;\n  bar.sync 0;\n"
                               "  mov.b32 %r2, 0x3C004000;\n  red.shared.add.noftz.f16x2 [%r3], %r2;\n  bar.sync 0;\n"
                               "  ld.shared.b32 %r4, [%r3];\n  st.global.b32 [%rd1], %r4;\n",
                               {7})[0],
            0x54005800U);
}

TEST_P(HalfAtomics, BfloatSums) {
  // 64 times 1.0 is 64.
  EXPECT_EQ(run<std::uint16_t>("  mov.b16 %h1, 0x3F80;\n  red.global.add.noftz.bf16 [%rd1], %h1;\n", {0})[0], 0x4280);
  EXPECT_EQ(run<std::uint32_t>("  mov.b32 %r2, 0x3F804000;\n  red.global.add.noftz.bf16x2 [%rd1], %r2;\n", {0})[0],
            0x42804300U);
  // A NaN has PTX's bits.
  EXPECT_EQ(run<std::uint16_t>("  mov.b16 %h1, 0x7F80;\n  red.global.add.noftz.bf16 [%rd1], %h1;\n", {0xFF80})[0],
            0x7FFF);
}

TEST_P(HalfAtomics, VectorsAreElementsOfTheirOwn) {
  const auto got = run<float>(
      "  mov.b32 %r2, 0f3F800000;\n  mov.b32 %r3, 0f40000000;\n  mov.b32 %r4, 0f40400000;\n"
      "  mov.b32 %r5, 0f40800000;\n  red.global.add.v4.f32 [%rd1], {%r2, %r3, %r4, %r5};\n",
      {1, 2, 3, 4});
  EXPECT_EQ(got, (std::vector<float>{65, 130, 195, 260}));
}

TEST_P(HalfAtomics, SixteenBytesAtOnce) {
  // Each thread exchanges {tid + 1, ~(tid + 1)} in; whatever stays must be a pair, and each old value too.
  const std::string pair =
      "  .reg .b128 %q<4>;\n  add.u32 %r2, %r1, 1;\n  cvt.u64.u32 %rd2, %r2;\n  not.b64 %rd3, %rd2;\n"
      "  mov.b128 %q1, {%rd2, %rd3};\n";
  const auto kept = run<std::uint64_t>(pair + "  atom.global.exch.b128 %q2, [%rd1], %q1;\n", {0, ~std::uint64_t{0}});
  EXPECT_EQ(kept[1], ~kept[0]);
  EXPECT_GE(kept[0], 1U);
  EXPECT_LE(kept[0], 64U);
  // Only the thread that finds the start value wins: thread 0, whose lane comes first in its warp, or warp 1's first.
  const auto won = run<std::uint64_t>(pair +
                                          "  mov.u64 %rd2, 0;\n  not.b64 %rd3, %rd2;\n  mov.b128 %q3, {%rd2, %rd3};\n"
                                          "  atom.global.cas.b128 %q2, [%rd1], %q3, %q1;\n",
                                      {0, ~std::uint64_t{0}});
  EXPECT_EQ(won[1], ~won[0]);
  EXPECT_TRUE(won[0] == 1 || won[0] == 33);
  const auto not_equal = run<std::uint64_t>(pair + "  atom.global.cas.b128 %q2, [%rd1], %q1, %q1;\n", {5, 6});
  EXPECT_EQ(not_equal, (std::vector<std::uint64_t>{5, 6}));
}

INSTANTIATE_TEST_SUITE_P(Device, HalfAtomics, testing::Bool(),
                         [](const auto& i) { return i.param ? "unoptimised" : "optimised"; });

}  // namespace
