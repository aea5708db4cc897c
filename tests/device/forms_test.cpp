// Forms that people write and compilers do not: elements of arrays and sums as operands, vectors of registers as
// arguments, local variables of the module.
#include <functional>

#include "isa/ref/convert.hpp"
#include "ptx_test.hpp"

namespace {

using namespace device_test;
using Words = std::vector<std::uint32_t>;

class Forms : public PtxTest {};

TEST_P(Forms, ElementsOfArraysWithAnIndexInARegister) {
  const std::string body =
      "cvt.u16.u32 %h1, %r2;\ncvt.u64.u32 %rd4, %r2;\n"
      "st.shared.u32 cells[%r2], %r2;\nbar.sync 0;\n"
      "ld.global.u32 %r10, table[%r2];\nld.global.u32 %r11, table[%h1+1];\nld.shared.u32 %r12, cells[%rd4];\n"
      "mov.u64 %rd5, table[%r2+2];\nld.global.u32 %r13, [%rd5];\n"
      "setp.lt.u32 %p1, %r2, 2;\nmov.u32 %r14, 0;\n@%p1 ld.global.u32 %r14, table[%r2+5];\n"
      "mad.lo.u32 %r10, %r11, 100, %r10;\nmad.lo.u32 %r10, %r12, 10000, %r10;\n"
      "mad.lo.u32 %r10, %r13, 1000000, %r10;\nmad.lo.u32 %r10, %r14, 100000000, %r10;\nst.global.u32 [%rd3], %r10;\n";
  const Words out = run(module_of(body,
                                  ".global .u32 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
                                  ".shared .u32 cells[4];\n"),
                        {1, 4}, 4);
  for (std::uint32_t i = 0; i < 4; ++i)
    EXPECT_EQ(out[i], i + 1 + 100 * (i + 2) + 10000 * i + 1000000 * (i + 3) + (i < 2 ? 100000000 * (i + 6) : 0));
}

// As an H200 does: the sum of an index has the width of its register.
TEST_P(Forms, IndicesWrapInTheirWidth) {
  const Words out =
      run(module_of("mov.u16 %h1, 65535;\nmov.u32 %r10, 0xffffffff;\nmov.u64 %rd6, table;\n"
                    "mov.u64 %rd5, table[%h1+2];\nsub.u64 %rd5, %rd5, %rd6;\nst.global.u32 [%rd1], %rd5;\n"
                    "mov.u64 %rd5, table[%r10+2];\nsub.u64 %rd5, %rd5, %rd6;\nst.global.u64 [%rd1+8], %rd5;\n",
                    ".global .u32 table[8];\n"),
          {1, 1}, 4);
  EXPECT_EQ(out[0], 4U);
  EXPECT_EQ(out[2], 4U);
  EXPECT_EQ(out[3], 0U);
}

TEST_P(Forms, SumsAsOperands) {
  const std::string body =
      "cvt.u16.u32 %h1, %r2;\nmov.u32 %r10, %r2+5;\nadd.u32 %r11, %r2+1, %r2+2;\n"
      "st.global.u32 [%rd3], %r10+1;\nld.global.u32 %r10, [%rd3];\nmad.lo.u32 %r10, %r11, 100, %r10;\n"
      "cvt.u32.u16 %r12, %h1+65535;\nmad.lo.u32 %r10, %r12+1, 10000, %r10;\nst.global.u32 [%rd3], %r10;\n";
  const Words out = run(module_of(body), {1, 4}, 4);
  for (std::uint32_t i = 0; i < 4; ++i)
    EXPECT_EQ(out[i], i + 6 + 100 * (2 * i + 3) + 10000 * (((i + 65535) & 0xffff) + 1));
}

const char* const kVectors = R"(
.func (.reg .v2 .u32 r) swapped(.reg .v2 .u32 a, .reg .u32 plus)
{
  .reg .v2 .u32 t;
  add.u32 t.x, a.y, plus;
  add.u32 t.y, a.x, plus;
  mov.v2.u32 r, t;
  ret;
}
)";

TEST_P(Forms, CallsPassVectorsOfRegisters) {
  const std::string body =
      ".reg .v2 .u32 v;\nmov.u32 v.x, %r2;\nadd.u32 v.y, %r2, 10;\ncall (v), swapped, (v, 7);\n"
      "call ({%r10, %r11}), swapped, ({%r2, 3}, v.x);\n"
      "mad.lo.u32 %r10, %r10, 100, %r11;\nmad.lo.u32 %r10, v.x, 10000, %r10;\nmad.lo.u32 %r10, v.y, 1000000, %r10;\n"
      "st.global.u32 [%rd3], %r10;\n";
  const Words out = run(module_of(body, kVectors), {1, 4}, 4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t x = i + 17, y = i + 7;
    EXPECT_EQ(out[i], 100 * (3 + x) + i + x + 10000 * x + 1000000 * y);
  }
}

// The callee's registers are the caller's too, each call with values of its own; threads leave at different depths.
TEST_P(Forms, FunctionsThatCallThemselvesTakeRegisters) {
  const char* const ackermann = R"(
.func (.reg .u32 r) tree(.reg .u32 n, .reg .u32 salt)
{
  .reg .u32 a, b;
  .reg .pred p;
  setp.lt.u32 p, n, 2;
  @p bra LEAF;
  sub.u32 a, n, 1;
  call (a), tree, (a, n);
  sub.u32 b, n, 2;
  call (b), tree, (b, a);
  mad.lo.u32 r, a, 3, b;
  add.u32 r, r, salt;
  ret;
LEAF:
  add.u32 r, n, salt;
  ret;
}
)";
  const std::function<std::uint32_t(std::uint32_t, std::uint32_t)> tree = [&](std::uint32_t n, std::uint32_t salt) {
    if (n < 2) return n + salt;
    const std::uint32_t a = tree(n - 1, n);
    return a * 3 + tree(n - 2, a) + salt;
  };
  const Words out = run(module_of("call (%r10), tree, (%r2, 5);\nst.global.u32 [%rd3], %r10;\n", ackermann), {1, 9}, 9);
  for (std::uint32_t i = 0; i < 9; ++i) EXPECT_EQ(out[i], tree(i, 5)) << i;
}

// Each thread has its own, the same in all functions.
TEST_P(Forms, LocalVariablesOfTheModule) {
  const char* const before = R"(
.local .align 8 .u32 slots[4];
.func (.reg .u32 r) stored(.reg .u32 at)
{
  ld.local.u32 r, slots[at];
  ret;
}
)";
  const std::string body =
      "and.b32 %r10, %r2, 3;\nst.local.u32 slots[%r10], %r2+9;\nmov.u64 %rd4, slots;\ncvta.local.u64 %rd4, %rd4;\n"
      "mad.wide.u32 %rd4, %r10, 4, %rd4;\nld.u32 %r11, [%rd4];\ncall (%r12), stored, (%r10);\n"
      "mad.lo.u32 %r11, %r12, 1000, %r11;\nst.global.u32 [%rd3], %r11;\n";
  const Words out = run(module_of(body, before), {2, 64}, 128);
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], (i % 64 + 9) * 1001) << i;
}

// Four at once, against the reference; its rounding is proven in tests/semantics.
TEST_P(Forms, StochasticRoundingOfFour) {
  using namespace warploom::isa::ref;
  const auto bits = [](unsigned i, unsigned k) { return 0x3f000000U + 0x01234567U * (i * 4 + k) % 0x03000000U; };
  const auto random = [](unsigned i) { return i * 0x9e3779b9U; };
  const struct {
    const char* type;
    Narrow format;
    const char* store;
  } kinds[] = {{"e4m3x4", kE4m3, ""},
               {"e5m2x4", kNarrowE5m2, ""},
               {"e2m3x4", kE2m3, ""},
               {"e3m2x4", kE3m2, ""},
               {"e2m1x4", kE2m1, "cvt.u32.u16 %r10, %h1;\n"}};
  for (const auto& [type, format, store] : kinds) {
    for (const bool relu : {false, true}) {
      std::string body = "mul.lo.u32 %r11, %r2, 0x9e3779b9;\nmul.lo.u32 %r12, %r2, 4;\n";
      for (int k = 0; k < 4; ++k)
        body += "add.u32 %r13, %r12, " + std::to_string(k) +
                ";\nmul.lo.u32 %r13, %r13, 0x01234567;\nrem.u32 %r13, %r13, 0x03000000;\nadd.u32 %r13, %r13, " +
                (k == 2 ? "0xbf000000" : "0x3f000000") + ";\nmov.b32 %f" + std::to_string(k) + ", %r13;\n";
      body += std::string("cvt.rs") + (relu ? ".relu" : "") + ".satfinite." + type + ".f32 " +
              (*store != 0 ? "%h1" : "%r10") + ", {%f0, %f1, %f2, %f3}, %r11;\n" + store +
              "st.global.u32 [%rd3], %r10;\n";
      std::string text = module_of(body);
      text.replace(text.find("8.6"), 3, "8.7");
      text.replace(text.find("sm_90a"), 6, "sm_100a");
      const Words out = run(text, {1, 64}, 64);
      for (unsigned i = 0; i < 64; ++i) {
        std::uint32_t expected = 0;
        for (unsigned k = 0; k < 4; ++k)
          expected =
              expected << (*store != 0 ? 4 : 8) | to_narrow(format, kF32, bits(i, k) | (k == 2 ? 0x80000000U : 0), relu,
                                                            random_of(random(i), *store != 0, k));
        EXPECT_EQ(out[i], expected) << type << " " << i;
      }
    }
  }
}

// What a depth texture would be compared with is ignored, as an H200 does for textures that CUDA makes.
TEST_P(Forms, LookupsTellWhetherTexelsAreInMemory) {
  std::vector<float> values(16);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  warploom::TexelArray array(device, warploom::TexelFormat::of<float>(), {4, 4});
  array.copy_from(std::span<const float>(values));
  const warploom::Texture texture(array);
  const warploom::Module module = device.load_ptx(R"(.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 texture)
{
  .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<8>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [texture];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 3;
  shr.u32 %r3, %r1, 2;
  setp.lt.u32 %p3, %r1, 8;
  setp.ne.u32 %p1, %r1, %r1;
  mov.pred %p2, %p1;
  @%p3 tex.2d.v4.f32.s32 {%f0, _, _, _}|%p1, [%rd2, {%r2, %r3}];
  cvt.rn.f32.u32 %f5, %r2;
  cvt.rn.f32.u32 %f6, %r3;
  mov.f32 %f7, 0f3F000000;
  tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}|%p2, [%rd2, {%f5, %f6}], %f7;
  cvt.rzi.u32.f32 %r4, %f1;
  @%p1 add.u32 %r4, %r4, 100;
  @%p2 add.u32 %r4, %r4, 1000;
  mad.wide.u32 %rd1, %r1, 4, %rd1;
  st.u32 [%rd1], %r4;
  ret;
}
)",
                                                  "lookup.ptx");
  warploom::DeviceArray<std::uint32_t> out(device, 16);
  module.kernel("k").launch({1, 16}, out, texture);
  const Words got = out.to_vector();
  for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(got[i], i + 1000 + (i < 8 ? 100 : 0));
}

// What is not modelled says so at the launch: the instruction, its place, why, and what to do.
TEST_P(Forms, WhatIsNotModelledIsAClearError) {
  const struct {
    const char *instruction, *reason;
  } cases[] = {
      {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd2, %rd3, 1, 1, 1, 0, 0;",
       "warpgroup matrix instructions are not modelled yet"},
      {"cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%rd1], [%rd2, {%r1}], "
       "[%rd3];",
       "copies by tensor maps are not modelled yet"},
      {"tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;", "tensor maps are not modelled yet"},
      {"multimem.red.relaxed.gpu.global.add.u32 [%rd1], %r1;", "multicast objects are not modelled"},
      {"tex.a2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd2, {%r1, %r2, %r3, %r4}];", "several samples"},
  };
  for (const auto& [instruction, reason] : cases) {
    const std::string text = module_of(std::string(instruction) + "\nst.global.u32 [%rd3], %r2;\n");
    const std::string error = error_of(text, {1, 32}, 2006);
    const std::string name(instruction, std::string_view(instruction).find('.'));
    EXPECT_NE(error.find(name), std::string::npos) << error;
    EXPECT_NE(error.find(reason), std::string::npos) << error;
    EXPECT_NE(error.find("test.ptx:16"), std::string::npos) << error;
    EXPECT_NE(error.find("warploom isa"), std::string::npos) << error;
    const Words out = run(module_of("st.global.u32 [%rd3], %r2;\n"), {1, 4}, 4);
    EXPECT_EQ(out, (Words{0, 1, 2, 3}));
  }
}

PTX_TEST_MODES(Forms);

}  // namespace
