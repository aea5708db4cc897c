// The list of rules, and the order of what they find.
#include "observe/explain/rules.hpp"

#include <algorithm>

namespace warploom::observe::explain {
namespace {

constexpr Rule kRules[] = {
    rule_coalescing,  // threads of a warp far apart in memory
    rule_misaligned,  // a warp's row that starts inside a sector
    rule_array_of_structures, rule_bank_conflicts,           rule_divergence,
    rule_partial_warps,  // block size is no multiple of 32
    rule_occupancy,
    rule_small_grid,    // fewer blocks than multiprocessors
    rule_local_memory,  // arrays indexed at run time
    rule_atomic_contention,   rule_shared_atomic_contention,
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
