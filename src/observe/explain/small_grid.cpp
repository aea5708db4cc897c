// Rule: a grid with fewer blocks than the GPU has multiprocessors leaves some of them idle.
#include <fmt/format.h>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {

void rule_small_grid(const RuleInput& in, std::vector<Finding>& out) {
  // Launches too short to matter are left alone.
  constexpr std::uint64_t kShortLaunch = 20000;
  const KernelData& kernel = in.kernel;
  if (kernel.launches == 0 || kernel.warp_instructions / kernel.launches < kShortLaunch) return;
  const std::uint64_t blocks = kernel.blocks();
  if (blocks >= in.profile.sm_count) return;
  const double idle = 1 - static_cast<double>(blocks) / in.profile.sm_count;
  out.push_back(
      {"small_grid",
       fmt::format("The grid has {} block{} for the {} multiprocessors of {}, so {:.0f} % of them idle: use smaller "
                   "blocks, or split the work of a block.",
                   blocks, blocks == 1 ? "" : "s", in.profile.sm_count, in.profile.title, 100 * idle),
       SourceLoc{}, idle * 0.25 * static_cast<double>(kernel.warp_instructions) * kCyclesPerInstruction,
       Basis::modelled});
}

}  // namespace warploom::observe::explain
