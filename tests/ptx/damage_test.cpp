// The files of accept/, cut short at every byte and with bytes changed: each is read, or answered with a message that
// says where. Texts of a later version, of which what is known works.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ptx/module.hpp"

namespace warploom::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> texts() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(fs::path(WARPLOOM_TEST_DATA) / "accept")) {
    if (entry.path().extension() != ".ptx") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return all;
}

// What is said of a text: that it is right, or an error that stands inside of it.
bool is_answered(const std::string& text) {
  const auto lines = 1 + static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n'));
  const auto good = [&](const Diag& d) {
    return d.loc.line >= 1 && d.loc.line <= lines && d.loc.column >= 1 && !d.what.empty() &&
           error_info(d.id).name.starts_with("ptx_");
  };
  auto module = ptx::parse(text, "damaged.ptx");
  if (!module) return good(module.error());
  for (const ptx::Function& f : (*module)->functions)
    if (f.has_body)
      if (auto body = ptx::parse_body(**module, f); !body && !good(body.error())) return false;
  return true;
}

TEST(Damage, TextsCutShortAreAnswered) {
  for (const std::string& text : texts())
    for (std::size_t length = 0; length < text.size(); ++length)
      ASSERT_TRUE(is_answered(text.substr(0, length))) << "cut to " << length << ":\n" << text.substr(0, length);
}

TEST(Damage, ChangedBytesAreAnswered) {
  for (const std::string& whole : texts()) {
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const char other : {'\0', '"', '{', ')', '.', '9', '\xff'}) {
        std::string text = whole;
        text[at] = other;
        ASSERT_TRUE(is_answered(text)) << "byte " << at << " is " << static_cast<int>(other) << ":\n" << text;
      }
  }
}

// A kernel whose declaration uses what a later version added is left out; the others work.
TEST(Later, DeclarationsThatAreNotKnownAreLeftOut) {
  const std::string later = ".version 9.9\n.target sm_140\n.address_size 64\n";
  for (const std::string kernel :
       {"fresh(.param .u2048 p) { ret; }", "fresh(.param .u32 .hot p) { ret; }", "fresh() .fast 3 { ret; }"}) {
    const std::string rest = ".visible .entry first() { ret; }\n.visible .entry " + kernel +
                             "\n.wave .u32 x;\n.global .tile y[4];\n.visible .entry last() { ret; }\n";
    auto module = ptx::parse(later + rest, "later.ptx");
    ASSERT_TRUE(module) << module.error().to_string();
    EXPECT_NE((*module)->find_function("first"), nullptr) << kernel;
    EXPECT_NE((*module)->find_function("last"), nullptr) << kernel;
    EXPECT_GE((*module)->skipped.size(), 3U) << kernel;
    // The same words in a version that is known are mistakes.
    EXPECT_FALSE(ptx::parse(".version 8.0\n.target sm_80\n.address_size 64\n" + rest, "known.ptx")) << kernel;
  }
}

}  // namespace
}  // namespace warploom::test
