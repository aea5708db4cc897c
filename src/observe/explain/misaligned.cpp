// Rule: rows that a warp reads or writes start inside a sector, so each costs a sector more than it fills.
#include <fmt/format.h>

#include "observe/explain/traffic.hpp"

namespace warploom::observe::explain {

void rule_misaligned(const RuleInput& in, std::vector<Finding>& out) {
  for (const LineData& line : in.kernel.lines) {
    for (const AccessGroup g : {AccessGroup::global_load, AccessGroup::global_store}) {
      const Traffic t = classify(in.kernel, line.group(g));
      if (t.pattern != Pattern::misaligned) continue;
      out.push_back(
          {"misaligned",
           fmt::format("Global {} need {:.1f} sectors per request where {:.1f} would do, because rows start inside "
                       "a 32-byte sector: pad the rows or shift the index to a multiple of 32 bytes, and load "
                       "overlapping neighbours once into shared memory.",
                       verb(g), t.sectors, t.ideal),
           line.source, t.excess * kCyclesPerSector, Basis::exact});
    }
  }
}

}  // namespace warploom::observe::explain
