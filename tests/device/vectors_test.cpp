// Vector registers and 128-bit ones: moves whole, element by element and within themselves.
#include "ptx_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

class Vectors : public PtxTest {};
using Words = std::vector<std::uint32_t>;

TEST_P(Vectors, MovesOfVectorRegisters) {
  const std::string text = module_of(
      ".reg .v4 .u32 %v<3>; .reg .v2 .f32 %pair; .reg .u32 a, b, c, d;\n"
      "ld.global.v4.u32 %v0, [%rd2];\nmov.v4.u32 %v1, %v0;\nmov.u32 %v1.y, %r2;\n"
      "mov.v4.b32 {a, b, c, d}, %v1;\nmov.v4.b32 {a, b, c, d}, {d, a, b, c};\n"
      "mov.v2.f32 %pair, {0f3F800000, 0f40000000};\nmov.b64 %rd4, %pair;\nmov.b64 {%r5, %r6}, %rd4;\n"
      "mov.v2.u32 {a, _}, {d, a};\nsetp.eq.u32 %p1, %r2, 3;\n@%p1 mov.v2.u32 {c, d}, {d, c};\n"
      "shl.b64 %rd5, %rd3, 0;\nmul.wide.u32 %rd6, %r2, 20;\nadd.s64 %rd5, %rd5, %rd6;\n"
      "st.global.u32 [%rd5], a;\nst.global.u32 [%rd5+4], b;\nst.global.u32 [%rd5+8], c;\nst.global.u32 [%rd5+12], d;\n"
      "add.u32 %r5, %r5, %r6;\nst.global.u32 [%rd5+16], %r5;\n");
  const Words all = run(text, {1, 4}, 4 * 6, {10, 20, 30, 40});
  for (std::uint32_t t = 0; t < 4; ++t) {
    // v1 = {10, t, 30, 40}; turned round: {40, 10, t, 30}.
    const Words got(all.begin() + 6 * t, all.begin() + 6 * t + 5);
    EXPECT_EQ(got, (Words{30, 10, t == 3 ? 30 : t, t == 3 ? t : 30, 0x3F800000U + 0x40000000U})) << t;
  }
}

TEST_P(Vectors, Registers128) {
  const std::string text = module_of(
      ".reg .b128 %q<3>;\nmov.b128 %q0, {%rd1, %rd2};\nmov.b128 %q1, %q0;\nmov.b128 {%rd4, %rd5}, %q1;\n"
      "setp.eq.u64 %p1, %rd4, %rd1;\nsetp.eq.and.u64 %p1, %rd5, %rd2, %p1;\nselp.u32 %r5, 1, 0, %p1;\n"
      "st.global.u32 [%rd3], %r5;\n");
  EXPECT_EQ(run(text, {1, 32}, 32), Words(32, 1));
}

PTX_TEST_MODES(Vectors);

}  // namespace
