// The cases as they are recorded on a GPU: fixed operand sets, and a digest of the results.
#pragma once

#include "lowering.hpp"

namespace warploom::semantics {

constexpr std::size_t kGoldenSets = 512;  // one block

struct GoldenCase {
  Case c;
  std::vector<std::vector<u64>> sets;  // kGoldenSets of them
};
std::vector<GoldenCase> golden_cases();
// The instruction, with what else tells cases apart.
std::string golden_name(const GoldenCase& g);
// Over the results of all sets in order; NaNs of f64 count as one value.
u64 golden_digest(const GoldenCase& g, const std::vector<std::vector<u64>>& results);

}  // namespace warploom::semantics
