// Rule: a block size that is no multiple of 32 leaves lanes of its last warp without a thread.
#include <fmt/format.h>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {

void rule_partial_warps(const RuleInput& in, std::vector<Finding>& out) {
  const std::uint32_t threads = in.kernel.threads_per_block();
  const std::uint32_t warps = (threads + 31) / 32;
  if (threads % 32 == 0) return;
  const double idle = 1 - static_cast<double>(threads) / (32.0 * warps);
  const std::string choice =
      threads < 32 ? fmt::format("{}", 32) : fmt::format("{} or {}", threads / 32 * 32, warps * 32);
  out.push_back(
      {"partial_warps",
       fmt::format("Blocks of {} threads fill {} warp{} and leave {:.0f} % of the lanes without a thread: use {} "
                   "threads in a block.",
                   threads, warps, warps == 1 ? "" : "s", 100 * idle, choice),
       SourceLoc{}, idle * static_cast<double>(in.kernel.warp_instructions) * kCyclesPerInstruction, Basis::exact});
}

}  // namespace warploom::observe::explain
