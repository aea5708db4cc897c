// Rule: few warps fit on a multiprocessor, so there is little to run while others wait for memory.
#include <fmt/format.h>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {
namespace {

std::string advice(const RuleInput& in) {
  const KernelData& kernel = in.kernel;
  switch (kernel.occupancy.limiter) {
    case Limiter::blocks:
      return fmt::format("it holds at most {} blocks, so use blocks of at least {} threads", in.profile.blocks_per_sm,
                         in.profile.threads_per_sm / in.profile.blocks_per_sm);
    case Limiter::registers:
      return fmt::format(
          "a thread needs about {} registers, so keep fewer values alive, or cap them with __launch_bounds__",
          kernel.facts.registers_estimate);
    case Limiter::shared_memory:
      return fmt::format(
          "a block takes {} bytes of shared memory, so use smaller tiles or larger blocks on the same tile",
          kernel.shared_bytes());
    case Limiter::warps:
      return fmt::format("{} threads in a block do not divide its {}, so choose another block size",
                         kernel.threads_per_block(), in.profile.threads_per_sm);
  }
  return "";
}

}  // namespace

void rule_occupancy(const RuleInput& in, std::vector<Finding>& out) {
  const Occupancy& o = in.kernel.occupancy;
  const double fraction = o.fraction();
  // Half the warps hide most latency; only a block that is too small costs nothing to change.
  if (o.blocks == 0 || fraction > 0.5 || (fraction == 0.5 && o.limiter != Limiter::blocks)) return;
  const Basis basis = o.limiter == Limiter::registers ? Basis::estimated : Basis::modelled;
  out.push_back(
      {"low_occupancy",
       fmt::format("Only {} of {} warps fit on a multiprocessor of {}, limited by {}: {}.", o.warps, o.max_warps,
                   in.profile.title, name(o.limiter), advice(in)),
       SourceLoc{},
       (0.5 - 0.5 * fraction) * 0.25 * static_cast<double>(in.kernel.warp_instructions) * kCyclesPerInstruction,
       basis});
}

}  // namespace warploom::observe::explain
