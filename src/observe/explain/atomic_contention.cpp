// Rules: atomics of one warp that hit the same words take turns, in global and in shared memory.
#include <fmt/format.h>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {

void rule_atomic_contention(const RuleInput& in, std::vector<Finding>& out) {
  for (const LineData& line : in.kernel.lines) {
    const GroupCounts& group = line.group(AccessGroup::global_atomic);
    const AccessCounts& c = group.counts;
    if (c.requests == 0) continue;
    const double accesses = group.per_request(c.sectors);
    const double ideal = group.per_request(c.ideal_sectors);
    if (accesses < 4 || accesses < 2 * ideal) continue;
    out.push_back(
        {"atomic_contention",
         fmt::format("A warp's global atomic takes {:.1f} separate accesses where {:.1f} would do: combine values "
                     "in the warp with shuffles or in shared memory first, and issue one atomic for each block.",
                     accesses, ideal),
         line.source, static_cast<double>(c.sectors - c.ideal_sectors) * kCyclesPerSector, Basis::modelled});
  }
}

void rule_shared_atomic_contention(const RuleInput& in, std::vector<Finding>& out) {
  for (const LineData& line : in.kernel.lines) {
    const GroupCounts& group = line.group(AccessGroup::shared_atomic);
    const AccessCounts& c = group.counts;
    if (c.requests == 0 || c.wavefronts < 2 * c.ideal_wavefronts) continue;
    out.push_back(
        {"shared_atomic_contention",
         fmt::format("A warp's shared atomic takes {:.1f} turns on average, because lanes meet on the same words or "
                     "banks: give each warp its own copy of the counters, or combine equal values first.",
                     static_cast<double>(c.wavefronts) / static_cast<double>(c.ideal_wavefronts)),
         line.source, static_cast<double>(group.conflicts()) * kCyclesPerWavefront, Basis::modelled});
  }
}

}  // namespace warploom::observe::explain
