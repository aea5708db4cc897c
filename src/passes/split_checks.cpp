// Splitting at checked widenings and the liveness of pattern factors.
#include "passes/split_checks.hpp"

#include <algorithm>

#include "ir/cfg.hpp"

namespace warploom::passes {

void split_checks(ir::Function& f, Shapes& shapes) {
  std::sort(shapes.widenings.begin(), shapes.widenings.end());
  for (std::size_t i = shapes.widenings.size(); i-- > 0;) {
    auto [block, index] = shapes.widenings[i];
    if (index > 0) ir::split_block(f, block, index);
  }
  // Each split moved the later ones: find the final places again from the flags' order.
  std::vector<std::pair<ir::BlockId, std::size_t>> final_places;
  ir::BlockId shift = 0;
  for (const auto& [block, index] : shapes.widenings) {
    if (index > 0) ++shift;
    final_places.emplace_back(block + shift, 0);
  }
  shapes.widenings = std::move(final_places);
}

void close_liveness(ir::Function& f, const Shapes& shapes) {
  for (auto& live : f.live_in)
    for (std::size_t v = 0; v < f.values.size(); ++v) {
      if (((live[v / 64] >> (v % 64)) & 1U) == 0) continue;
      for (const ir::Term& t : shapes.of[v].terms)
        if (t.mult >= 0) live[static_cast<std::size_t>(t.mult) / 64] |= std::uint64_t{1} << (t.mult % 64);
    }
}

}  // namespace warploom::passes
