// Rule: an array indexed at run time lives in local memory, which is global memory behind the caches.
#include <fmt/format.h>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {

void rule_local_memory(const RuleInput& in, std::vector<Finding>& out) {
  const LineData* worst = nullptr;
  std::uint64_t most = 0, total = 0;
  for (const LineData& line : in.kernel.lines) {
    const std::uint64_t sectors =
        line.group(AccessGroup::local_load).counts.sectors + line.group(AccessGroup::local_store).counts.sectors;
    total += sectors;
    if (sectors > most) {
      most = sectors;
      worst = &line;
    }
  }
  if (worst == nullptr) return;
  out.push_back(
      {"local_memory",
       fmt::format("A thread keeps {} bytes in local memory, which moved {} sectors: index the array with constants "
                   "by unrolling its loops, so that it stays in registers, or move it to shared memory.",
                   in.kernel.facts.local_bytes, total),
       worst->source, static_cast<double>(total) * kCyclesPerSector, Basis::exact});
}

}  // namespace warploom::observe::explain
