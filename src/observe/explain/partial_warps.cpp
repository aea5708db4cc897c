// Rule: a block size that is no multiple of 32 leaves lanes of its last warp without a thread.
#include <fmt/format.h>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {

void rule_partial_warps(const RuleInput& in, std::vector<Finding>& out) {
  const std::uint32_t threads = in.kernel.threads_per_block();
  const std::uint32_t warps = (threads + 31) / 32;
  const double idle = 1 - static_cast<double>(threads) / (32.0 * warps);
  if (idle < 0.01) return;
  const std::string choice = threads < 32 ? "32" : fmt::format("{} or {}", threads / 32 * 32, warps * 32);
  const auto plural = [](std::uint32_t count) { return count == 1 ? "" : "s"; };
  out.push_back(
      {"partial_warps",
       fmt::format("Blocks of {} thread{} fill {} warp{} and leave {:.0f} % of the lanes without a thread: use {} "
                   "threads in a block.",
                   threads, plural(threads), warps, plural(warps), 100 * idle, choice),
       SourceLoc{}, idle * static_cast<double>(in.kernel.warp_instructions) * kCyclesPerInstruction, Basis::exact});
}

}  // namespace warploom::observe::explain
