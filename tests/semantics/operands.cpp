// Operand values for the cases, the same on every machine.
#include <random>

#include "lowering.hpp"

namespace warploom::semantics {

bool is_nan_bits(Type t, u64 v) {
  switch (t) {
    case Type::f64: return (v & 0x7fffffffffffffff) > 0x7ff0000000000000;
    case Type::f32: return (v & 0x7fffffff) > 0x7f800000;
    default: return false;
  }
}

// Operand sets: all pairs of edge values of the first two sources, then random mixes of edges and anything.
std::vector<std::vector<u64>> operands(const Case& c, std::size_t random) {
  std::mt19937_64 generator(c.text.size() * 977 + c.in.size());
  std::vector<std::vector<u64>> edges;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    edges.push_back(i < c.edges.size() && !c.edges[i].empty() ? c.edges[i] : edge_values(c.in[i]));
  }
  const auto any = [&](std::size_t i) -> u64 {
    const unsigned bits = isa::bits(c.in[i]);
    const u64 mask = bits == 64 ? ~u64(0) : (u64(1) << bits) - 1;
    if (generator() % 3 == 0) return edges[i][generator() % edges[i].size()];
    u64 v = generator() & mask;
    if (isa::is_float(c.in[i]) && generator() % 2 == 0) {
      // Near 1, and often with few significant bits: sums cancel, halves occur.
      const unsigned fraction = c.in[i] == Type::f64 ? 52 : c.in[i] == Type::f32 ? 23 : c.in[i] == Type::f16 ? 10 : 7;
      const u64 one = (u64(1) << (bits - 2)) - (u64(1) << fraction);
      v = (v & ((u64(1) << fraction) - 1)) + one + ((generator() % 24) << fraction) - (u64(12) << fraction);
      if (generator() % 2 == 0) v &= ~u64(0) << (generator() % fraction);
      if (generator() % 2 == 0) v |= u64(1) << (bits - 1);
      v &= mask;
    } else if (generator() % 4 == 0) {
      v >>= generator() % bits;
    }
    return v;
  };
  std::vector<std::vector<u64>> sets;
  std::vector<u64> set(c.in.size());
  const std::size_t second = c.in.size() > 1 ? edges[1].size() : 1;
  for (const u64 first : edges[0]) {
    for (std::size_t j = 0; j < second; ++j) {
      set[0] = first;
      if (c.in.size() > 1) set[1] = edges[1][j];
      for (std::size_t k = 2; k < c.in.size(); ++k) set[k] = any(k);
      sets.push_back(set);
    }
  }
  for (std::size_t n = 0; n < random; ++n) {
    for (std::size_t k = 0; k < c.in.size(); ++k) set[k] = any(k);
    sets.push_back(set);
  }
  sets.insert(sets.end(), c.extra.begin(), c.extra.end());
  while (sets.size() % kOperandMultiple != 0) sets.push_back(set);
  return sets;
}

}  // namespace warploom::semantics
