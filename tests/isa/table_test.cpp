// Checks the text and JSON forms of the instruction table.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "isa/isa.hpp"

namespace warploom::test {
namespace {

TEST(Table, JsonHoldsEveryForm) {
  const auto json = nlohmann::json::parse(isa::to_json());
  ASSERT_EQ(json.size(), isa::rows().size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    EXPECT_EQ(json[i]["name"], isa::rows()[i].name);
    ASSERT_EQ(json[i]["forms"].size(), isa::rows()[i].forms.size());
    for (std::size_t f = 0; f < json[i]["forms"].size(); ++f)
      EXPECT_EQ(json[i]["forms"][f]["types"].size(), isa::rows()[i].forms[f].types.size());
  }
}

TEST(Table, TextExplainsTheSetsItNames) {
  const std::string text = isa::to_text(*isa::find_row("fma"));
  EXPECT_NE(text.find("fma.rnd{.ftz}{.sat}.f32 d, a, b, c"), std::string::npos);
  EXPECT_NE(text.find(".rnd: rn rz rm rp"), std::string::npos);
  EXPECT_EQ(text.find(".scmp"), std::string::npos);
}

TEST(Table, RefusedFormsSayWhy) {
  for (const isa::Row& row : isa::rows())
    for (const isa::Form& form : row.forms) EXPECT_EQ(form.emit == "unsupported", !form.reason.empty()) << form.text;
}

TEST(Table, NamesAreFoundAgain) {
  for (const isa::Row& row : isa::rows()) EXPECT_EQ(isa::find_row(row.name), &row);
  for (std::size_t i = 0; i < isa::kModCount; ++i) {
    isa::Mod found;
    ASSERT_TRUE(isa::find_mod(isa::name(static_cast<isa::Mod>(i)), found));
    EXPECT_EQ(static_cast<std::size_t>(found), i);
    EXPECT_EQ(isa::type_from_name(isa::name(found)), isa::Type::none) << isa::name(found);
  }
  EXPECT_EQ(isa::find_row("frobnicate"), nullptr);
}

}  // namespace
}  // namespace warploom::test
