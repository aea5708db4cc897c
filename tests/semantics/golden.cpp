// Picks each case's recorded operand sets and digests results.
#include "golden.hpp"

namespace warploom::semantics {

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> all;
  for (const auto& cases : {integer_cases(), float_cases(), convert_cases(), approx_cases()}) {
    for (const Case& c : cases) {
      const auto sets = operands(c, 256);
      GoldenCase g{c, {}};
      // The edge pairs are thinned out evenly; the random sets are the last 256.
      const std::size_t edges = sets.size() - 256, wanted = kGoldenSets - 256;
      for (std::size_t i = 0; i < wanted; ++i) g.sets.push_back(sets[i * edges / wanted]);
      g.sets.insert(g.sets.end(), sets.end() - 256, sets.end());
      all.push_back(std::move(g));
    }
  }
  return all;
}

std::string golden_name(const GoldenCase& g) {
  return g.c.text + (g.c.pair ? " p|q" : "") + (g.c.has_immediate ? " " + std::to_string(g.c.immediate) : "");
}

u64 golden_digest(const GoldenCase& g, const std::vector<std::vector<u64>>& results) {
  u64 hash = 0xcbf29ce484222325;  // FNV-1a
  for (const auto& set : results) {
    for (std::size_t k = 0; k < g.c.out.size(); ++k) {
      const u64 v = g.c.any_nan && is_nan_bits(g.c.out[k], set[k]) ? ~u64(0) : set[k];
      for (int i = 0; i < 64; i += 8) hash = (hash ^ (v >> i & 0xff)) * 0x100000001b3;
    }
  }
  return hash;
}

}  // namespace warploom::semantics
