// The slower paths of the cursor, and diagnostics with an excerpt of the text.
#include "ptx/cursor.hpp"

#include <algorithm>
#include <utility>

namespace warploom::ptx {

bool Cursor::skip_comment() {
  if (pos_ + 1 >= end_) return false;
  if (text_[pos_ + 1] == '/') {
    skip_line();
    return true;
  }
  if (text_[pos_ + 1] != '*') return false;
  std::size_t close = text_.find("*/", pos_ + 2);
  if (close == std::string_view::npos || close + 2 > end_) close = end_ < 2 ? 0 : end_ - 2;
  line_ += static_cast<std::uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(pos_),
                                                 text_.begin() + static_cast<std::ptrdiff_t>(close), '\n'));
  pos_ = std::max(pos_ + 2, close + 2);
  return true;
}

bool Cursor::skip_braces(bool* globals) {
  if (peek() != '{') return false;
  unsigned depth = 0;
  while (pos_ < end_) {
    switch (text_[pos_]) {
      case '\n': ++line_; break;
      case '/':
        if (skip_comment()) continue;
        break;
      case '"': {
        const std::size_t close = text_.find('"', pos_ + 1);
        if (close == std::string_view::npos || close >= end_) return false;
        pos_ = close;
        break;
      }
      case '.':
        // Behind a letter it is a modifier of an instruction.
        if (globals != nullptr && !in_word(text_[pos_ - 1])) {
          const std::string_view word = text_.substr(pos_ + 1, end_ - pos_ - 1);
          *globals |= word.starts_with("global") || word.starts_with("const");
        }
        break;
      case '{': ++depth; break;
      case '}':
        if (--depth == 0) {
          ++pos_;
          return true;
        }
        break;
      default: break;
    }
    ++pos_;
  }
  return false;
}

Diag make_diag(ErrorId id, std::string what, std::string_view text, std::size_t offset, const std::string& file,
               std::string remedy, TextMark mark) {
  constexpr std::size_t kWidest = 160;
  offset = std::min(offset, text.size());
  if (mark.offset > offset) mark = {};
  const auto line = static_cast<std::uint32_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(mark.offset),
                                                          text.begin() + static_cast<std::ptrdiff_t>(offset), '\n')) +
                    mark.line;
  const std::size_t before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', offset), text.size());
  const std::size_t column = offset - begin;

  Diag diag;
  diag.id = id;
  diag.what = std::move(what);
  diag.remedy = std::move(remedy);
  diag.loc = {file, line, static_cast<std::uint32_t>(column) + 1};
  // A long line is cut to a window around the caret.
  const std::size_t from = column > kWidest ? column - kWidest / 2 : 0;
  std::string shown(text.substr(begin + from, std::min(end - begin - from, kWidest)));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
  diag.excerpt = "    " + shown + "\n    " + std::string(column - from, ' ') + "^";
  return diag;
}

}  // namespace warploom::ptx
