// Rule: several accesses of one line each fetch the same sectors, as the fields of an array of structures do.
#include <fmt/format.h>

#include "observe/explain/traffic.hpp"

namespace warploom::observe::explain {

void rule_array_of_structures(const RuleInput& in, std::vector<Finding>& out) {
  for (const LineData& line : in.kernel.lines) {
    for (const AccessGroup g : {AccessGroup::global_load, AccessGroup::global_store}) {
      const GroupCounts& group = line.group(g);
      const Traffic t = classify(in.kernel, group);
      if (t.pattern != Pattern::structures) continue;
      out.push_back(
          {"array_of_structures",
           fmt::format("{} global {} on this line each walk over the same memory, {:.1f} sectors per request where "
                       "{:.1f} would do: turn the array of structures into one array for each field, or {} the "
                       "whole structure as one vector.",
                       group.sites, verb(g), t.sectors, t.ideal, g == AccessGroup::global_load ? "load" : "store"),
           line.source, t.excess * kCyclesPerSector, Basis::exact});
    }
  }
}

}  // namespace warploom::observe::explain
