// Rule: the threads of a warp touch memory far apart, so each request needs many sectors.
#include <fmt/format.h>

#include "observe/explain/traffic.hpp"

namespace warploom::observe::explain {

void rule_coalescing(const RuleInput& in, std::vector<Finding>& out) {
  for (const LineData& line : in.kernel.lines) {
    for (const AccessGroup g : {AccessGroup::global_load, AccessGroup::global_store}) {
      const GroupCounts& group = line.group(g);
      const Traffic t = classify(in.kernel, group);
      if (t.pattern != Pattern::scattered) continue;
      const double lanes = group.per_request(group.counts.active_lanes);
      std::string how;
      if (t.sectors > 0.9 * lanes)
        how =
            "each thread hits a sector of its own, so let neighbouring threads touch neighbouring addresses: make "
            "threadIdx.x the fastest index, or go through shared memory";
      else
        how = fmt::format(
            "neighbouring threads are about {:.0f} bytes apart instead of {}, so make the index of "
            "threadIdx.x stride one, or go through shared memory",
            group.bytes * t.sectors / t.ideal, group.bytes);
      out.push_back({"uncoalesced",
                     fmt::format("Global {} need {:.1f} sectors per request where {:.1f} would do: {}.", verb(g),
                                 t.sectors, t.ideal, how),
                     line.source, t.excess * kCyclesPerSector, Basis::exact});
    }
  }
}

}  // namespace warploom::observe::explain
