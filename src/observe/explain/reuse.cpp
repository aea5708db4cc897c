// Rule: threads of a warp read the same words of global memory again and again, which shared memory would hold.
#include <fmt/format.h>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {

void rule_reuse(const RuleInput& in, std::vector<Finding>& out) {
  const KernelData& kernel = in.kernel;
  if (kernel.group(AccessGroup::shared_load).counts.requests != 0) return;
  const std::uint64_t warps_per_block = (kernel.threads_per_block() + 31) / 32;
  const auto warps = static_cast<double>(kernel.launches * kernel.blocks() * warps_per_block);
  for (const LineData& line : kernel.lines) {
    const GroupCounts& group = line.group(AccessGroup::global_load);
    const double loads = static_cast<double>(group.counts.requests) / warps;
    // Fewer sectors than the lanes' own bytes would fill: lanes share words.
    if (loads < 16 ||
        static_cast<double>(group.counts.sectors) > 0.75 * static_cast<double>(group.counts.ideal_sectors))
      continue;
    out.push_back(
        {"reuse",
         fmt::format("Each thread loads {:.0f} values here, and threads of a warp load the same ones ({:.1f} sectors "
                     "per request where {:.1f} would hold different values): let the block load a tile into shared "
                     "memory once, and read it from there.",
                     loads, group.per_request(group.counts.sectors), group.per_request(group.counts.ideal_sectors)),
         line.source, 0.5 * static_cast<double>(group.counts.sectors) * kCyclesPerSector, Basis::exact});
  }
}

}  // namespace warploom::observe::explain
