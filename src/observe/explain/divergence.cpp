// Rule: threads of one warp take different sides of branches, so the warp executes both with part of its lanes.
#include <algorithm>
#include <fmt/format.h>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {

void rule_divergence(const RuleInput& in, std::vector<Finding>& out) {
  const KernelData& kernel = in.kernel;
  // A kernel this short costs nothing worth a sentence.
  constexpr std::uint64_t kShort = 2000;
  if (kernel.warp_instructions < kShort) return;
  // Lanes that a warp of this block shape has at most; a last warp that is not full is another rule's matter.
  const std::uint32_t threads = kernel.threads_per_block();
  const std::uint32_t warps = (threads + 31) / 32;
  const double full = static_cast<double>(threads) / warps;
  const double active = kernel.average_active_lanes();
  if (active > 0.9 * full) return;
  const auto worst =
      std::max_element(kernel.lines.begin(), kernel.lines.end(),
                       [](const LineData& a, const LineData& b) { return a.branch.divergent < b.branch.divergent; });
  if (worst == kernel.lines.end() || worst->branch.divergent == 0) return;
  const double share =
      100.0 * static_cast<double>(worst->branch.divergent) / static_cast<double>(worst->branch.executed);
  const double lost = static_cast<double>(kernel.warp_instructions) * (1 - active / full);
  out.push_back(
      {"divergence",
       fmt::format("On average only {:.1f} of {:.0f} lanes execute, because this branch splits warps in {:.0f} % of "
                   "its executions: let whole warps take one side, for instance by branching on threadIdx.x / 32 "
                   "or on a contiguous range of threads, and give the threads of a warp equally long work.",
                   active, full, share),
       worst->source, lost * kCyclesPerInstruction, Basis::exact});
}

}  // namespace warploom::observe::explain
