// The copies that keep the driver's compiler from converting what narrow stores store.
#include <gtest/gtest.h>

#include <string>

#include "device/cuda/narrow_stores.hpp"

namespace warploom::device::cuda {
namespace {

std::string kernel(const std::string& body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
         ".reg .pred %p1; .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .f32 %f<2>; .reg .b64 %rd<4>;\n"
         "ld.param.u64 %rd1, [p];\n" +
         body + "ret;\n}\n";
}

// What becomes of a body that holds `before`; the same text when nothing has to.
std::string kept(const std::string& body) {
  const auto module = ptx::parse(kernel(body));
  EXPECT_TRUE(module) << (module ? "" : module.error().to_string());
  std::string text = with_narrow_stores_kept(**module);
  const auto again = ptx::parse(text);
  EXPECT_TRUE(again) << text;
  const auto parsed = ptx::parse_body(**again, (*again)->functions[0]);
  EXPECT_TRUE(parsed) << text << (parsed ? "" : parsed.error().to_string());
  return text;
}

TEST(NarrowStores, FloatsAreCopiedFirst) {
  EXPECT_EQ(kept("mul.f64 %rd2, %rd3, %rd3;\nst.global.b8 [%rd1+1], %rd2;\n"),
            kernel("mul.f64 %rd2, %rd3, %rd3;\n{ .reg .b64 %wl_stored0; mov.b64 %wl_stored0, %rd2; "
                   "st.global.b8 [%rd1+1], %wl_stored0; }\n"));
  EXPECT_EQ(kept("add.f32 %r1, %r2, %r2; st.u16 [%rd1], %r1;\n"),
            kernel("add.f32 %r1, %r2, %r2; { .reg .b32 %wl_stored0; mov.b32 %wl_stored0, %r1; "
                   "st.u16 [%rd1], %wl_stored0; }\n"));
  EXPECT_EQ(kept("add.f16 %h1, %h2, %h2;\nst.b8 [%rd1], %h1;\n"),
            kernel("add.f16 %h1, %h2, %h2;\n{ .reg .b16 %wl_stored0; mov.b16 %wl_stored0, %h1; "
                   "st.b8 [%rd1], %wl_stored0; }\n"));
  // A use is enough, also a later one.
  EXPECT_EQ(kept("st.b8 [%rd1], %r1;\nadd.f32 %r2, %r1, %r1;\n"),
            kernel("{ .reg .b32 %wl_stored0; mov.b32 %wl_stored0, %r1; st.b8 [%rd1], %wl_stored0; }\n"
                   "add.f32 %r2, %r1, %r1;\n"));
}

TEST(NarrowStores, GuardsLabelsVectorsAndCommentsStay) {
  EXPECT_EQ(
      kept("add.f32 %r1, %r2, %r2;\nsetp.eq.b32 %p1, %r3, 0;\nL: @!%p1 st.b8 [%rd1], %r1; // st.b8 [%rd1], %r2;\n"),
      kernel("add.f32 %r1, %r2, %r2;\nsetp.eq.b32 %p1, %r3, 0;\nL: { .reg .b32 %wl_stored0; mov.b32 %wl_stored0, "
             "%r1; @!%p1 st.b8 [%rd1], %wl_stored0; } // st.b8 [%rd1], %r2;\n"));
  EXPECT_EQ(kept("add.f32 %r1, %r2, %r2; st.v2.b8 [%rd1], {%r3, %r1}; st.v2.b8 [%rd1], {%r1, 5};\n"),
            kernel("add.f32 %r1, %r2, %r2; { .reg .b32 %wl_stored1; mov.b32 %wl_stored1, %r1; st.v2.b8 [%rd1], "
                   "{%r3, %wl_stored1}; } { .reg .b32 %wl_stored0; mov.b32 %wl_stored0, %r1; st.v2.b8 [%rd1], "
                   "{%wl_stored0, 5}; }\n"));
  EXPECT_EQ(kept("add.f32 %r1, %r2, %r2; /* st.b8 [%rd1], %r1; */ st.b8\n [%rd1],\n %r1;\n"),
            kernel("add.f32 %r1, %r2, %r2; /* st.b8 [%rd1], %r1; */ { .reg .b32 %wl_stored0; mov.b32 %wl_stored0, %r1; "
                   "st.b8\n [%rd1],\n %wl_stored0; }\n"));
  EXPECT_EQ(kept("add.f32 %r1, %r2, %r2; setp.eq.b32 %p1, %r3, 0; @%p1\nst.b8 [%rd1], %r1;\n").find("@%p1\n{"),
            std::string::npos);
}

TEST(NarrowStores, OtherTextsStayAsTheyAre) {
  for (const std::string body :
       {"add.s32 %r1, %r2, %r2; st.b8 [%rd1], %r1;\n", "add.f32 %r1, %r2, %r2; st.b32 [%rd1], %r1;\n",
        "add.f32 %f0, %f1, %f1; st.f32 [%rd1], %f0;\n", "ld.f32 %r1, [%rd1]; st.f32 [%rd1], %r1; st.b8 [%rd1], 7;\n"})
    EXPECT_EQ(kept(body), kernel(body));
}

}  // namespace
}  // namespace warploom::device::cuda
