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

  // A row of a tile may straddle one sector more than it fills, and a warp covers at most three rows of common tiles.
  constexpr double kRows = 3;
  const double ratio = t.sectors / t.ideal;
  const double lanes = group.per_request(c.active_lanes);
  // Unrolled loops have many sites on a line too, but there each lane walks on its own.
  const bool fields = group.sites >= 2 && group.sites <= 16 && t.sectors < 0.9 * lanes;
  if (t.ideal >= 1.5 && t.sectors - t.ideal <= kRows && ratio < 1.9)
    t.pattern = Pattern::misaligned;
  else if (fields && ratio > 1.5 && ratio > 0.8 * group.sites && ratio < 1.2 * group.sites)
    t.pattern = Pattern::structures;
  else
    t.pattern = Pattern::scattered;
  return t;
}

inline const char* verb(AccessGroup group) { return group == AccessGroup::global_load ? "loads" : "stores"; }

}  // namespace warploom::observe::explain
