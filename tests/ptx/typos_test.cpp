// Every word of every mnemonic and directive of accept/, misspelt in all simple ways: the message stands where the
// mistake is, and nearly always says what was meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ptx/module.hpp"

namespace warploom::test {
namespace {

namespace fs = std::filesystem;

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Word {
  std::size_t begin, length;
  bool mnemonic;
};

// Words that PTX itself defines: directives, the first word of a statement and what is joined to it by dots.
std::vector<Word> words_of(const std::string& text) {
  std::vector<Word> out;
  bool statement = true, quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (text.compare(i, 2, "/*") == 0) {
      i = std::min(text.find("*/", i), text.size() - 2) + 2;
      continue;
    }
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    const bool dotted = c == '.' && i + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[i + 1])) != 0;
    if (!quoted && (dotted || (statement && std::isalpha(static_cast<unsigned char>(c)) != 0))) {
      const std::size_t begin = i + (dotted ? 1 : 0);
      std::size_t end = begin;
      while (end < text.size() && in_word(text[end])) ++end;
      // Labels are names, and so are components of registers.
      const std::size_t next = std::min(text.find_first_not_of(' ', end), text.size() - 1);
      const bool name = text[next] == ':' || (dotted && i > 0 && in_word(text[i - 1]) && !statement);
      if (!name && end - begin > 2) out.push_back({begin, end - begin, !dotted || statement});
      i = end;
      continue;
    }
    if (c == ';' || c == '{' || c == '}') statement = true;
    if (c == ',' || c == '%' || c == '[' || c == '(' || (c == ' ' && i > 0 && in_word(text[i - 1]))) statement = false;
    ++i;
  }
  return out;
}

std::optional<Diag> first_error(const std::string& text) {
  auto module = ptx::parse(text, "typo.ptx");
  if (!module) return module.error();
  for (const ptx::Function& f : (*module)->functions)
    if (f.has_body)
      if (auto body = ptx::parse_body(**module, f); !body) return body.error();
  return std::nullopt;
}

std::set<std::string> misspelt(const std::string& word) {
  std::set<std::string> out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    out.insert(word.substr(0, i) + word.substr(i + 1));                // left out
    out.insert(word.substr(0, i + 1) + word[i] + word.substr(i + 1));  // doubled
    if (i + 1 < word.size()) {
      std::string exchanged = word;
      std::swap(exchanged[i], exchanged[i + 1]);
      out.insert(exchanged);
    }
    if (std::isalpha(static_cast<unsigned char>(word[i])) != 0) {
      std::string other = word;
      other[i] = word[i] == 'q' ? 'j' : 'q';
      out.insert(other);
    }
  }
  out.erase(word);
  return out;
}

TEST(Typos, AreMarkedWhereTheyAreAndCorrected) {
  std::size_t typos = 0, accepted = 0, marked = 0, corrected = 0;
  std::set<std::string> seen;
  for (const auto& entry : fs::directory_iterator(fs::path(WARPLOOM_TEST_DATA) / "accept")) {
    if (entry.path().extension() != ".ptx" || entry.path().stem() == "future_version") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    ASSERT_FALSE(first_error(text));
    for (const Word& word : words_of(text)) {
      const std::string right = text.substr(word.begin, word.length);
      const std::size_t line_begin = text.rfind('\n', word.begin) + 1;
      const std::string before = text.substr(line_begin, word.begin - line_begin);
      // Each word once behind each kind of beginning is enough.
      if (!seen.insert(right + (word.mnemonic ? " " : ".") + before.substr(before.find_last_of(" \t") + 1)).second)
        continue;
      for (const std::string& wrong : misspelt(right)) {
        std::string mistaken = text;
        mistaken.replace(word.begin, word.length, wrong);
        ++typos;
        const auto error = first_error(mistaken);
        if (!error) {
          ++accepted;  // another word, as add and and
          continue;
        }
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(word.begin), '\n');
        const std::size_t column = word.begin - line_begin + 1;
        // The caret stands at the word, its dot, or the beginning of the mnemonic that it is part of.
        const bool here = error->loc.line == line && error->loc.column <= column + wrong.size() &&
                          (word.mnemonic || error->loc.column + 24 >= column);
        marked += here;
        corrected += error->remedy.find(right) != std::string::npos;
        if (!here && std::getenv("WARPLOOM_VERBOSE") != nullptr)
          std::printf("not marked: %s for %s\n%s\n", wrong.c_str(), right.c_str(), error->to_string().c_str());
        if (error->remedy.find(right) == std::string::npos && std::getenv("WARPLOOM_VERBOSE") != nullptr)
          std::printf("not corrected: %s for %s\n%s\n", wrong.c_str(), right.c_str(), error->to_string().c_str());
      }
    }
  }
  const std::size_t rejected = typos - accepted;
  std::printf("%zu typos: %zu are other PTX, %zu rejected, %.1f %% marked where they are, %.1f %% corrected\n", typos,
              accepted, rejected, 100.0 * static_cast<double>(marked) / static_cast<double>(rejected),
              100.0 * static_cast<double>(corrected) / static_cast<double>(rejected));
  EXPECT_GT(rejected, 2000u);
  EXPECT_GE(marked * 100, rejected * 98);
  EXPECT_GE(corrected * 100, rejected * 90);
}

}  // namespace
}  // namespace warploom::test
