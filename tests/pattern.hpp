// Patterns of the ledgers of tests.
#pragma once

#include <string_view>

// Does `text` fit the pattern, where '*' stands for any part?
inline bool fits_pattern(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  for (std::size_t from = star; from <= text.size(); ++from)
    if (fits_pattern(pattern.substr(star + 1), text.substr(from))) return true;
  return false;
}
