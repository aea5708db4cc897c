// How a line's global traffic compares with the ideal: shared by the rules about coalescing.
#pragma once

#include <algorithm>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {

enum class Pattern : std::uint8_t { fine, misaligned, structures, scattered };

struct Traffic {
  Pattern pattern = Pattern::fine;
  double sectors = 0;  // per request
  double ideal = 0;
  double excess = 0;  // sectors beyond the ideal, all requests
};

// Lines below this share of a kernel's sectors are not worth a sentence.
constexpr double kWorthMentioning = 0.02;

inline Traffic classify(const KernelData& kernel, const GroupCounts& group) {
  Traffic t;
  const AccessCounts& c = group.counts;
  if (c.requests == 0 || c.sectors <= c.ideal_sectors) return t;
  t.sectors = group.per_request(c.sectors);
  t.ideal = group.per_request(c.ideal_sectors);
  t.excess = static_cast<double>(c.sectors - c.ideal_sectors);
  double total = 0;
  for (const AccessGroup g : {AccessGroup::global_load, AccessGroup::global_store})
    total += static_cast<double>(kernel.group(g).counts.sectors);
  if (t.excess < kWorthMentioning * total || t.sectors < 1.15 * t.ideal) return t;

  // Each row of a block that a warp covers may straddle one sector more than it fills.
  const std::uint32_t rows = (32 + std::min(kernel.block[0], 32u) - 1) / std::min(kernel.block[0], 32u);
  const double ratio = t.sectors / t.ideal;
  if (t.ideal >= 1.5 && t.sectors - t.ideal <= 1.05 * rows && ratio < 2)
    t.pattern = Pattern::misaligned;
  else if (group.sites >= 2 && group.sites <= 16 && ratio > 1.5 && ratio > 0.8 * group.sites &&
           ratio < 1.2 * group.sites)
    t.pattern = Pattern::structures;
  else
    t.pattern = Pattern::scattered;
  return t;
}

inline const char* verb(AccessGroup group) { return group == AccessGroup::global_load ? "loads" : "stores"; }

}  // namespace warploom::observe::explain
