// What the PTX of real programs does that the manual's examples do not: one test for each surprise of a census of 994
// modules. Kernels are PTX, run compiled, unoptimised and interpreted.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

namespace {

using warploom::Device;
using warploom::DeviceArray;

enum class Way { optimised, unoptimised, interpreted };

class Surprises : public testing::TestWithParam<Way> {
 protected:
  Surprises() {
    setenv("WARPLOOM_TIER", GetParam() == Way::interpreted ? "interpreter" : "compiled", 1);
    device_ = Device::open("cpu", {.threads = 1, .unoptimised = GetParam() == Way::unoptimised});
  }

  // Each of 32 threads has %r1 = its index, %rd1 = &out[index], %rd2 = &in[index]; `rest` stands before the kernel.
  std::vector<std::uint32_t> run(const std::string& body, const std::vector<std::uint32_t>& in,
                                 const std::string& rest = "", const std::string& target = "sm_90") {
    const std::string ptx = ".version 8.3\n.target " + target + "\n.address_size 64\n" + rest +
                            ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                            "  .reg .pred %p<8>;\n  .reg .b16 %h<8>;\n  .reg .b32 %r<16>;\n  .reg .b64 %rd<8>;\n"
                            "  ld.param.u64 %rd2, [in];\n  ld.param.u64 %rd1, [out];\n  mov.u32 %r1, %tid.x;\n"
                            "  mul.wide.u32 %rd3, %r1, 4;\n  add.u64 %rd1, %rd1, %rd3;\n  add.u64 %rd2, %rd2, %rd3;\n" +
                            body + "  ret;\n}\n";
    const DeviceArray<std::uint32_t> source(*device_, in), out(*device_, std::vector<std::uint32_t>(32, 0));
    device_->load_ptx(ptx, "surprise.ptx").kernel("k").launch({1, 32}, source, out);
    return out.to_vector();
  }
  static std::vector<std::uint32_t> words(std::initializer_list<std::uint32_t> first) {
    std::vector<std::uint32_t> all(first);
    all.resize(32);
    return all;
  }
  std::optional<Device> device_;
};

std::uint32_t bits(float f) { return std::bit_cast<std::uint32_t>(f); }

// expf of nvcc: a saturating conversion, a fused multiply-add that rounds down, and ex2.approx.ftz.
TEST_P(Surprises, ExpfRoundsDownOnItsWay) {
  std::vector<std::uint32_t> in;
  for (int i = 0; i < 32; ++i) in.push_back(bits(-12.0F + 0.77F * static_cast<float>(i)));
  const auto got =
      run("  .reg .f32 %f<16>;\n  ld.global.f32 %f1, [%rd2];\n"
          "  fma.rn.f32 %f2, %f1, 0f3BBB989D, 0f3F000000;\n  cvt.sat.f32.f32 %f3, %f2;\n"
          "  mov.f32 %f4, 0f437C0000;\n  fma.rm.f32 %f5, %f3, %f4, 0f4B400001;\n  add.f32 %f6, %f5, 0fCB40007F;\n"
          "  neg.f32 %f7, %f6;\n  fma.rn.f32 %f8, %f1, 0f3FB8AA3B, %f7;\n  fma.rn.f32 %f9, %f1, 0f32A57060, %f8;\n"
          "  mov.b32 %r2, %f5;\n  shl.b32 %r3, %r2, 23;\n  mov.b32 %f10, %r3;\n  ex2.approx.ftz.f32 %f11, %f9;\n"
          "  mul.f32 %f12, %f11, %f10;\n  st.global.f32 [%rd1], %f12;\n",
          in);
  for (int i = 0; i < 32; ++i) {
    const auto x = std::bit_cast<float>(in[static_cast<std::size_t>(i)]);
    const double exact = std::exp(static_cast<double>(x));
    EXPECT_NEAR(std::bit_cast<float>(got[static_cast<std::size_t>(i)]) / exact, 1, 4e-7) << x;
  }
}

// Registers say how wide a value is, not what it is.
TEST_P(Surprises, RegistersAreBitBoxes) {
  const auto got =
      run("  ld.global.b32 %r2, [%rd2];\n  add.f32 %r3, %r2, 0f3F800000;\n  cvt.rn.f16.f32 %h1, %r3;\n"
          "  add.f16 %h2, %h1, %h1;\n  mov.b32 %r4, {%h2, %h1};\n  st.global.b32 [%rd1], %r4;\n",
          words({bits(1.0F), bits(2.5F)}));
  EXPECT_EQ(got[0], 0x40004400U);  // 2 and 4
  EXPECT_EQ(got[1], 0x43004700U);  // 3.5 and 7
}

// Scopes of inline assembly: names without '%', the same names again, labels inside, one-element vectors, decimal
// floats, WARP_SZ.
TEST_P(Surprises, InlineAssemblyHasScopesOfItsOwn) {
  const std::string block =
      "  {\n  .reg .pred p;\n  .reg .b32 start;\n  mov.b32 start, %r2;\n  setp.lt.u32 p, start, 10;\n"
      "  @p bra done;\n  add.u32 %r2, start, 100;\n  done:\n  }\n";
  const auto got = run(
      "  ld.global.b32 {%r2}, [%rd2];\n" + block + block +
          "  add.u32 %r2, %r2, WARP_SZ;\n  mov.f32 %r4, 0.5;\n  add.u32 %r2, %r2, %r4;\n  st.global.b32 [%rd1], %r2;\n",
      std::vector<std::uint32_t>(34, 9));
  EXPECT_EQ(got[0], 9 + 32 + 0x3f000000U);
  const auto more =
      run("  ld.global.b32 {%r2}, [%rd2];\n" + block + block + "  st.global.b32 [%rd1], %r2;\n", words({10, 3}));
  EXPECT_EQ(more[0], 210U);
  EXPECT_EQ(more[1], 3U);
}

// Compilers and hand-written assembly put modifiers in different orders.
TEST_P(Surprises, ModifiersStandInAnyOrder) {
  for (const char* vote : {"vote.sync.ballot.b32", "vote.ballot.sync.b32"}) {
    const auto got = run(std::string("  and.b32 %r2, %r1, 1;\n  setp.eq.u32 %p1, %r2, 1;\n  ") + vote +
                             " %r3, %p1, -1;\n  st.global.b32 [%rd1], %r3;\n",
                         words({}));
    EXPECT_EQ(got[5], 0xaaaaaaaaU) << vote;
  }
  for (const char* load : {"ld.global.acquire.gpu.b32", "ld.acquire.gpu.global.b32", "ld.acquire.sys.global.b32"})
    EXPECT_EQ(
        run(std::string("  ") + load + " %r2, [%rd2];\n  st.global.release.gpu.b32 [%rd1], %r2;\n", words({7}))[0], 7U);
  for (const char* add : {"atom.add.release.gpu.u32 %r2, [%rd2], 5;", "atom.release.gpu.global.add.u32 %r2, [%rd2], 5;",
                          "atom.global.add.acq_rel.gpu.u32 %r2, [%rd2], 5;"})
    EXPECT_EQ(
        run(std::string("  ") + add + "\n  ld.global.b32 %r3, [%rd2];\n  st.global.b32 [%rd1], %r3;\n", words({1}))[0],
        6U)
        << add;
  EXPECT_EQ(run("  red.and.release.cta.b32 [%rd2], 6;\n  ld.global.b32 %r3, [%rd2];\n  st.global.b32 [%rd1], %r3;\n",
                words({7}))[0],
            6U);
}

// What traps on an x86 has a result on a GPU.
TEST_P(Surprises, DivisionsNeverTrap) {
  const std::vector<std::uint32_t> in = words({7, 0x80000000, 0xffffffff, 0});
  EXPECT_EQ(run("  ld.global.b32 %r2, [%rd2];\n  div.s32 %r3, %r2, -1;\n  st.global.b32 [%rd1], %r3;\n", in)[1],
            0x80000000U);
  EXPECT_EQ(run("  ld.global.b32 %r2, [%rd2];\n  rem.s32 %r3, %r2, -1;\n  st.global.b32 [%rd1], %r3;\n", in)[1], 0U);
  const auto zero =
      run("  ld.global.b32 %r2, [%rd2];\n  sub.u32 %r4, %r2, %r2;\n  div.u32 %r3, %r2, %r4;\n  st.global.b32 [%rd1], "
          "%r3;\n",
          in);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(zero[static_cast<std::size_t>(i)], 0xffffffffU);
  EXPECT_EQ(run("  ld.global.b32 %r2, [%rd2];\n  sub.u32 %r4, %r2, %r2;\n  rem.s32 %r3, %r2, %r4;\n  st.global.b32 "
                "[%rd1], %r3;\n",
                in)[0],
            0xffffffffU);
}

// Conversions to integers clamp, and NaN is 0.
TEST_P(Surprises, ConversionsSaturate) {
  const auto got = run("  ld.global.b32 %r2, [%rd2];\n  cvt.rzi.s32.f32 %r3, %r2;\n  st.global.b32 [%rd1], %r3;\n",
                       words({bits(3e9F), bits(-3e9F), bits(NAN), bits(-1.9F), bits(INFINITY)}));
  EXPECT_EQ(std::vector<std::uint32_t>(got.begin(), got.begin() + 5),
            (std::vector<std::uint32_t>{0x7fffffff, 0x80000000, 0, 0xffffffff, 0x7fffffff}));
}

// A widened load reads more than the program uses; a pragma says what counts, in decimal and in hexadecimal.
TEST_P(Surprises, WidenedLoadsNameTheBytesThatCount) {
  for (const char* mask : {"3855", "0xf0f"}) {
    const auto got = run("  ld.param.u64 %rd2, [in];\n  .pragma \"used_bytes_mask " + std::string(mask) +
                             "\";\n  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd2];\n  add.u32 %r2, %r2, %r4;\n"
                             "  st.global.b32 [%rd1], %r2;\n",
                         words({1, 20, 300, 4000}));
    EXPECT_EQ(got[0], 301U) << mask;
  }
}

// A struct by value, indexed with a register, and its address as a generic one.
TEST_P(Surprises, ParametersHaveAddresses) {
  const std::string ptx =
      ".version 8.3\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .align 8 .b8 s[64], .param .u64 out)\n{\n"
      "  .reg .b32 %r<8>;\n  .reg .b64 %rd<8>;\n  ld.param.u64 %rd1, [out];\n  mov.u32 %r1, %tid.x;\n"
      "  and.b32 %r2, %r1, 15;\n  mul.wide.u32 %rd2, %r2, 4;\n  mov.b64 %rd3, s;\n  add.u64 %rd4, %rd3, %rd2;\n"
      "  ld.param.u32 %r3, [%rd4];\n  cvta.param.u64 %rd5, %rd3;\n  ld.u32 %r4, [%rd5+16];\n  add.u32 %r3, %r3, %r4;\n"
      "  mul.wide.u32 %rd6, %r1, 4;\n  add.u64 %rd1, %rd1, %rd6;\n  st.global.u32 [%rd1], %r3;\n  ret;\n}\n";
  struct Parameter {
    alignas(8) std::uint32_t word[16];
  } s{};
  for (std::uint32_t i = 0; i < 16; ++i) s.word[i] = i * i;
  const DeviceArray<std::uint32_t> out(*device_, std::vector<std::uint32_t>(32, 0));
  device_->load_ptx(ptx, "surprise.ptx").kernel("k").launch({1, 32}, s, out);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out.to_vector()[i], (i & 15) * (i & 15) + 16);
}

// Cache hints mean nothing to the value.
TEST_P(Surprises, ReadOnlyLoadsAndHintsLoad) {
  for (const char* load : {"ld.global.nc.u32", "ld.global.nc.L1::no_allocate.L2::256B.u32", "ld.global.cs.u32",
                           "ld.global.L2::128B.u32", "ld.volatile.global.u32"})
    EXPECT_EQ(run(std::string("  ") + load + " %r2, [%rd2];\n  st.global.cs.b32 [%rd1], %r2;\n", words({5}))[0], 5U)
        << load;
}

// Debug builds: real calls through memory, generic addresses of every space, predicates inverted one at a time.
TEST_P(Surprises, DebugBuildsCallAndUseGenericAddresses) {
  const std::string rest =
      ".global .align 4 .u32 total[32];\n"
      ".func (.param .b32 result) twice(.param .b64 where)\n{\n  .reg .b32 %r<4>;\n  .reg .b64 %rd<2>;\n"
      "  ld.param.u64 %rd1, [where];\n  ld.u32 %r1, [%rd1];\n  add.s32 %r2, %r1, %r1;\n  st.u32 [%rd1], %r2;\n"
      "  st.param.b32 [result], %r2;\n  ret;\n}\n";
  const auto call = [](const std::string& address) {
    return "  {\n  .param .b64 where;\n  .param .b32 result;\n  st.param.b64 [where], " + address +
           ";\n  call.uni (result), twice, (where);\n  ld.param.b32 %r5, [result];\n  }\n  add.u32 %r4, %r4, %r5;\n";
  };
  const std::string body =
      "  .shared .align 4 .b8 cells[128];\n  .local .align 4 .b8 own[8];\n"
      "  ld.u32 %r2, [%rd2];\n  mov.u32 %r4, 0;\n  mov.u64 %rd4, cells;\n  cvta.shared.u64 %rd4, %rd4;\n"
      "  add.u64 %rd4, %rd4, %rd3;\n  st.u32 [%rd4], %r2;\n" +
      call("%rd4") +
      "  mov.u64 %rd5, own;\n  cvta.local.u64 %rd5, %rd5;\n  add.u32 %r6, %r2, 1;\n  st.u32 [%rd5], %r6;\n" +
      call("%rd5") +
      "  mov.u64 %rd6, total;\n  cvta.global.u64 %rd6, %rd6;\n  add.u64 %rd6, %rd6, %rd3;\n  st.u32 [%rd6], 10;\n" +
      call("%rd6") +
      "  setp.lt.u32 %p1, %r1, 16;\n  not.pred %p2, %p1;\n  @%p2 bra OUT;\n  add.u32 %r4, %r4, 1000;\nOUT:\n"
      "  st.u32 [%rd1], %r4;\n";
  const auto got = run(body, words({3, 4}), rest, "sm_80, debug");
  EXPECT_EQ(got[0], 3U * 2 + 4 * 2 + 20 + 1000);
  EXPECT_EQ(got[1], 4U * 2 + 5 * 2 + 20 + 1000);
  EXPECT_EQ(got[20], 2U + 20);
}

// Additions and subtractions share a flag, which is set when a subtraction borrows nothing.
TEST_P(Surprises, SubtractionsLeaveACarry) {
  const auto got =
      run("  sub.cc.u32 %r2, %r1, 5;\n  addc.u32 %r3, 0, 0;\n  sub.cc.u32 %r2, %r1, 5;\n  subc.u32 %r4, 0, 0;\n"
          "  add.cc.u32 %r2, %r1, 0xfffffffb;\n  subc.u32 %r5, 0, 0;\n  and.b32 %r4, %r4, 2;\n  and.b32 %r5, %r5, 4;\n"
          "  or.b32 %r3, %r3, %r4;\n  or.b32 %r3, %r3, %r5;\n  st.global.b32 [%rd1], %r3;\n",
          words({}));
  EXPECT_EQ(got[4], 6U);
  EXPECT_EQ(got[5], 1U);
  EXPECT_EQ(got[6], 1U);
}

// A shuffle's second result, and results that nobody wants.
TEST_P(Surprises, ShufflesHaveTwoResults) {
  const auto got =
      run("  shfl.sync.up.b32 %r2|%p1, %r1, 1, 0, -1;\n  selp.b32 %r3, 100, 200, %p1;\n  add.u32 %r2, %r2, %r3;\n"
          "  atom.global.add.u32 _, [%rd2], 1;\n  st.global.b32 [%rd1], %r2;\n",
          words({}));
  EXPECT_EQ(got[0], 200U);
  EXPECT_EQ(got[1], 100U);
  EXPECT_EQ(got[31], 130U);
}

// Named barriers for a part of the block.
TEST_P(Surprises, BarriersHaveNumbersAndCounts) {
  const auto got = run(
      "  .shared .align 4 .b8 cells[128];\n  mov.u32 %r2, cells;\n  shl.b32 %r3, %r1, 2;\n  add.u32 %r2, %r2, %r3;\n"
      "  st.shared.u32 [%r2], %r1;\n  bar.sync 3, 32;\n  barrier.sync 5;\n  mov.u32 %r4, cells;\n"
      "  sub.u32 %r5, 31, %r1;\n  shl.b32 %r5, %r5, 2;\n  add.u32 %r4, %r4, %r5;\n  ld.shared.u32 %r6, [%r4];\n"
      "  st.global.b32 [%rd1], %r6;\n",
      words({}));
  EXPECT_EQ(got[0], 31U);
  EXPECT_EQ(got[31], 0U);
}

// An element of an array: its address for mov, itself where an address is due.
TEST_P(Surprises, ArraysHaveElements) {
  const auto got =
      run("  .shared .b32 own[4];\n  mov.u64 %rd4, wide[2];\n  mov.u64 %rd5, wide;\n  sub.u64 %rd4, %rd4, %rd5;\n"
          "  cvt.u32.u64 %r2, %rd4;\n  ld.global.u32 %r3, table[3];\n  add.u32 %r2, %r2, %r3;\n"
          "  st.shared.b32 own[1], 1000;\n  mov.u32 %r4, own[1];\n  ld.shared.u32 %r5, [%r4];\n"
          "  add.u32 %r2, %r2, %r5;\n  st.global.b32 [%rd1], %r2;\n",
          words({}), ".global .u32 table[4] = {100, 200, 300, 400};\n.global .u64 wide[4];\n");
  EXPECT_EQ(got[0], 1416U);
  EXPECT_EQ(got[31], 1416U);
}

std::string way_name(const testing::TestParamInfo<Way>& instance) {
  static constexpr const char* kNames[] = {"optimised", "unoptimised", "interpreted"};
  return kNames[static_cast<int>(instance.param)];
}
INSTANTIATE_TEST_SUITE_P(Device, Surprises, testing::Values(Way::optimised, Way::unoptimised, Way::interpreted),
                         way_name);

}  // namespace
