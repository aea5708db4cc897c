// Names the largest live allocations, for messages about memory that is short.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace warploom::device {

// "largest live allocations: ..., and N smaller ones"; empty without any. `live` maps addresses to blocks with `bytes`,
// of which `name` makes the text.
template <class Blocks, class Name>
std::string largest_allocations(const Blocks& live, const Name& name) {
  constexpr std::size_t kShown = 5;
  std::vector<const typename Blocks::value_type*> largest;
  largest.reserve(live.size());
  for (const auto& entry : live) largest.push_back(&entry);
  const std::size_t shown = std::min(kShown, largest.size());
  std::partial_sort(largest.begin(), largest.begin() + static_cast<std::ptrdiff_t>(shown), largest.end(),
                    [](const auto* a, const auto* b) { return a->second.bytes > b->second.bytes; });
  std::string out;
  for (std::size_t i = 0; i < shown; ++i)
    out += (i == 0 ? "largest live allocations: " : ", ") + name(largest[i]->first, largest[i]->second);
  if (largest.size() > shown) out += fmt::format(", and {} smaller ones", largest.size() - shown);
  return out;
}

}  // namespace warploom::device
