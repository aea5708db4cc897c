// A case of the lowering test: an instruction, the types of its operands and what the reference says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isa/types.hpp"

namespace warploom::semantics {

using isa::Type;
using u64 = std::uint64_t;

struct Case {
  std::string text;  // "add.sat.s32"
  std::vector<Type> in, out;
  std::function<void(const u64* in, u64* out)> ref;
  // Empty: equal bits. Otherwise says whether a result (as bits) is near enough.
  std::function<bool(const u64* in, u64 got)> near;
  bool any_nan = false;  // NaN results match whatever their payload (f64)
  bool pair = false;     // the destination is "p|q"
  u64 immediate = 0;     // of the last source, when has_immediate
  bool has_immediate = false;
  std::vector<std::vector<u64>> edges;  // for each source, in place of those of its type
  std::vector<std::vector<u64>> extra;  // operand sets that must occur
};

// Values that tend to break things.
std::vector<u64> edge_values(Type t);

// Operand sets of a case: all pairs of edge values of the first two sources, then `random` mixes of edges and anything.
// Their number is a multiple of kOperandMultiple.
constexpr unsigned kOperandMultiple = 32;
std::vector<std::vector<u64>> operands(const Case& c, std::size_t random);
bool is_nan_bits(Type t, u64 v);  // f32 and f64
// Operands of floats of these types whose products, sums or quotients are about the least normal number.
std::vector<std::vector<u64>> tiny_sets(const std::vector<Type>& types);

std::vector<Case> integer_cases();
std::vector<Case> float_cases();
std::vector<Case> convert_cases();
std::vector<Case> approx_cases();

}  // namespace warploom::semantics
