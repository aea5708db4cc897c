// GPU profiles: every built-in one parses, and a broken one is refused with the key that is wrong.
#include "isa/profile.hpp"

#include <gtest/gtest.h>

namespace warploom::isa {
namespace {

TEST(Profile, EveryBuiltInProfileParses) {
  const auto names = profile_names();
  ASSERT_GE(names.size(), 8u);
  for (const std::string& name : names) {
    const auto profile = find_profile(name);
    ASSERT_TRUE(profile.ok()) << profile.error().to_string();
    EXPECT_EQ(profile->name, name);
    EXPECT_LE(profile->shared_per_block + profile->reserved_shared_per_block, profile->shared_per_sm) << name;
    EXPECT_EQ(profile->shared_carveouts.back(), profile->shared_per_sm) << name;
    EXPECT_EQ(profile->threads_per_sm % 32, 0u) << name;
  }
}

TEST(Profile, LimitsOfComputeCapability90) {
  const auto p = find_profile("h200");
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->sm, 90u);
  EXPECT_EQ(p->shared_per_block, 232448u);
  EXPECT_EQ(p->blocks_per_sm, 32u);
  EXPECT_EQ(p->max_block[2], 64u);
  EXPECT_EQ(p->max_grid[0], 2147483647u);
}

TEST(Profile, UnknownNameListsTheNames) {
  const auto p = find_profile("h201");
  ASSERT_FALSE(p.ok());
  EXPECT_EQ(p.error().id, ErrorId::not_found);
  EXPECT_NE(p.error().remedy.find("h200"), std::string::npos);
}

TEST(Profile, MissingKeyIsNamed) {
  const auto p = parse_profile("name = \"x\"\ntitle = \"X\"\n", "x.toml");
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.error().what.find("compute_capability"), std::string::npos);
}

TEST(Profile, SyntaxErrorHasAPlace) {
  const auto p = parse_profile("name = \"x\"\ntitle = \n", "x.toml");
  ASSERT_FALSE(p.ok());
  EXPECT_EQ(p.error().loc.line, 2u);
}

}  // namespace
}  // namespace warploom::isa
