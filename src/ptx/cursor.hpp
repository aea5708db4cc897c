// Cursor: reads words, numbers and punctuation of a PTX text, skipping blanks and comments and counting lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/diag.hpp"

namespace warploom::ptx {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
[[nodiscard]] constexpr bool starts_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%'; }
[[nodiscard]] constexpr bool in_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$'; }

class Cursor {
 public:
  Cursor(std::string_view text, std::size_t begin, std::size_t end, std::uint32_t line)
      : text_(text), pos_(begin), end_(end), line_(line) {}

  // Next character that is neither blank nor comment; 0 at the end.
  char peek() {
    skip();
    return pos_ < end_ ? text_[pos_] : '\0';
  }
  [[nodiscard]] bool at_end() { return peek() == '\0' && pos_ >= end_; }
  // Character `ahead` of the current one, with no skipping.
  [[nodiscard]] char raw(std::size_t ahead = 0) const { return pos_ + ahead < end_ ? text_[pos_ + ahead] : '\0'; }

  bool accept(char c) {
    if (peek() != c) return false;
    ++pos_;
    return true;
  }
  bool accept(std::string_view punctuation) {
    skip();
    if (!text_.substr(pos_, end_ - pos_).starts_with(punctuation)) return false;
    pos_ += punctuation.size();
    return true;
  }
  // An identifier; empty when none stands here.
  std::string_view word() {
    if (!starts_word(peek())) return {};
    const std::size_t begin = pos_++;
    while (pos_ < end_ && in_word(text_[pos_])) ++pos_;
    return text_.substr(begin, pos_ - begin);
  }
  // ".name" without the dot, "::" included; empty when none stands here.
  std::string_view dotted() {
    if (peek() != '.') return {};
    const std::size_t begin = pos_ + 1;
    std::size_t i = begin;
    while (i < end_ && (in_word(text_[i]) || (text_[i] == ':' && i + 1 < end_ && text_[i + 1] == ':'))) {
      i += text_[i] == ':' ? 2 : 1;
    }
    if (i == begin) return {};
    pos_ = i;
    return text_.substr(begin, i - begin);
  }
  // Takes ".name" when exactly this one stands here.
  bool accept_dotted(std::string_view name) {
    const Cursor saved = *this;
    if (dotted() == name) return true;
    *this = saved;
    return false;
  }
  // A text in double quotes, without them; false when none stands here.
  bool quoted(std::string_view& out) {
    if (peek() != '"') return false;
    const std::size_t close = text_.find('"', pos_ + 1);
    if (close == std::string_view::npos || close >= end_) return false;
    out = text_.substr(pos_ + 1, close - pos_ - 1);
    pos_ = close + 1;
    return true;
  }
  // Behind the brace that closes the one standing here; false when there is none. `globals` becomes true where a
  // directive .global or .const may stand between them, never false.
  bool skip_braces(bool* globals = nullptr);
  void skip_line() {
    while (pos_ < end_ && text_[pos_] != '\n') ++pos_;
  }
  void advance(std::size_t count) { pos_ += count; }

  [[nodiscard]] std::size_t offset() const { return pos_; }
  [[nodiscard]] std::uint32_t line() const { return line_; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(pos_, end_ - pos_); }

 private:
  void skip() {
    while (pos_ < end_) {
      const char c = text_[pos_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++pos_;
      } else if (c == '\n') {
        ++pos_;
        ++line_;
      } else if (c != '/' || !skip_comment()) {
        return;
      }
    }
  }
  bool skip_comment();

  std::string_view text_;
  std::size_t pos_, end_;
  std::uint32_t line_;
};

// A place whose line is known.
struct TextMark {
  std::size_t offset = 0;
  std::uint32_t line = 1;
};

// Line, column and excerpt of a place in the text; lines are counted from `mark` when the place lies behind it.
Diag make_diag(ErrorId id, std::string what, std::string_view text, std::size_t offset, const std::string& file,
               std::string remedy = {}, TextMark mark = {});

}  // namespace warploom::ptx
