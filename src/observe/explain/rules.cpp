// The list of rules, and the order of what they find.
#include "observe/explain/rules.hpp"

#include <algorithm>

namespace warploom::observe::explain {
namespace {

constexpr Rule kRules[] = {
    rule_coalescing,                // threads of a warp far apart in memory
    rule_misaligned,                // a warp's row that starts inside a sector
    rule_array_of_structures,       // fields of a structure, one after the other
    rule_reuse,                     // the same words loaded by many threads
    rule_bank_conflicts,            // different words of one bank
    rule_divergence,                // both sides of a branch in one warp
    rule_partial_warps,             // block size is no multiple of 32
    rule_occupancy,                 // few warps fit on a multiprocessor
    rule_small_grid,                // fewer blocks than multiprocessors
    rule_local_memory,              // arrays indexed at run time
    rule_atomic_contention,         // a warp's atomics on the same words
    rule_shared_atomic_contention,  // the same in shared memory
    rule_double_precision,          // float32 data, float64 arithmetic
};

}  // namespace

std::vector<Finding> find_all(const RuleInput& in) {
  std::vector<Finding> findings;
  for (const Rule rule : kRules) rule(in, findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.cost > b.cost; });
  return findings;
}

}  // namespace warploom::observe::explain
