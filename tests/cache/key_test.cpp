// What the key of a cached version depends on, and what it does not.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "codegen/object_cache.hpp"
#include "ir/ir.hpp"
#include "ptx/module.hpp"

namespace {

using namespace warploom;
using codegen::Mode;

std::string ptx(const std::string& immediate, const std::string& comment = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + comment +
         ".visible .entry k(.param .u64 p) {\n"
         "  .reg .b64 %rd<4>; .reg .b32 %r<4>;\n"
         "  ld.param.u64 %rd1, [p];\n  mov.u32 %r1, %tid.x;\n  mul.wide.u32 %rd2, %r1, 4;\n"
         "  add.s64 %rd3, %rd1, %rd2;\n  add.u32 %r2, %r1, " +
         immediate + ";\n  st.global.u32 [%rd3], %r2;\n  ret;\n}\n";
}

std::shared_ptr<codegen::KernelPlan> plan(const std::string& text, std::array<std::uint32_t, 3> block = {256, 1, 1},
                                          bool counting = false, bool checking = false) {
  auto module = ptx::parse(text, "key.ptx");
  EXPECT_TRUE(module) << module.error().to_string();
  auto built = ir::build(*module, *(*module)->find_function("k"));
  EXPECT_TRUE(built) << built.error().to_string();
  return codegen::make_plan(**built, passes::BlockShape::of(block), counting, checking);
}

TEST(CacheKey, TellsApartWhatCompilesDifferently) {
  const auto base = plan(ptx("1"));
  std::set<std::string> keys;
  const auto is_new = [&](const std::string& key) {
    EXPECT_EQ(key.size(), 64U);
    return keys.insert(key).second;
  };
  EXPECT_TRUE(is_new(codegen::cache_key(*base, Mode::uniform)));
  EXPECT_TRUE(is_new(codegen::cache_key(*base, Mode::masked)));
  EXPECT_TRUE(is_new(codegen::cache_key(*base, Mode::conservative)));
  EXPECT_TRUE(is_new(codegen::cache_key(*plan(ptx("2")), Mode::uniform)));
  EXPECT_TRUE(is_new(codegen::cache_key(*plan(ptx("1"), {16, 16, 1}), Mode::uniform)));
  EXPECT_TRUE(is_new(codegen::cache_key(*plan(ptx("1"), {8, 16, 1}), Mode::uniform)));
  EXPECT_TRUE(is_new(codegen::cache_key(*plan(ptx("1"), {256, 1, 1}, true), Mode::uniform)));
  EXPECT_TRUE(is_new(codegen::cache_key(*plan(ptx("1"), {256, 1, 1}, false, true), Mode::uniform)));
  const auto entered = plan(ptx("1"));
  entered->enters_loops = true;
  EXPECT_TRUE(is_new(codegen::cache_key(*entered, Mode::uniform)));
  EXPECT_TRUE(is_new(codegen::cache_key(*base, Mode::uniform, codegen::target_of_host() + ",+avx512f")));
  EXPECT_TRUE(is_new(codegen::cache_key(*base, Mode::uniform, "x86_64-unknown-linux-gnu znver3 -avx2")));
}

TEST(CacheKey, IsTheSameForTheSameCode) {
  const std::string key = codegen::cache_key(*plan(ptx("1")), Mode::uniform);
  EXPECT_EQ(codegen::cache_key(*plan(ptx("1")), Mode::uniform), key);
  EXPECT_EQ(codegen::cache_key(*plan(ptx("1", "// moved down\n\n")), Mode::uniform), key);
  EXPECT_EQ(codegen::cache_key(*plan(ptx("1", ".visible .entry other() { ret; }\n")), Mode::uniform), key);
  // One-dimensional blocks are one class.
  EXPECT_EQ(codegen::cache_key(*plan(ptx("1"), {64, 1, 1}), Mode::uniform), key);
}

}  // namespace
