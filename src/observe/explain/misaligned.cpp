// Rule: rows that a warp reads or writes start inside a sector, so each costs a sector more than it fills.
#include <fmt/format.h>

#include "observe/explain/traffic.hpp"

namespace warploom::observe::explain {
namespace {

std::string cause(const KernelData& kernel) {
  // Blocks that do not fill whole sectors shift the start of the next block's rows.
  const std::uint32_t threads = kernel.threads_per_block();
  if (threads % 32 != 0 && kernel.block[1] == 1)
    return fmt::format("because blocks of {} threads start inside a 32-byte sector: use a multiple of 32 threads",
                       threads);
  return "because rows start inside a 32-byte sector: pad the rows or shift the index to a multiple of 32 bytes, and "
         "load "
         "overlapping neighbours once into shared memory";
}

}  // namespace

void rule_misaligned(const RuleInput& in, std::vector<Finding>& out) {
  for (const LineData& line : in.kernel.lines) {
    for (const AccessGroup g : {AccessGroup::global_load, AccessGroup::global_store}) {
      const Traffic t = classify(in.kernel, line.group(g));
      if (t.pattern != Pattern::misaligned) continue;
      out.push_back({"misaligned",
                     fmt::format("Global {} need {:.1f} sectors per request where {:.1f} would do, {}.", verb(g),
                                 t.sectors, t.ideal, cause(in.kernel)),
                     line.source, t.excess * kCyclesPerSector, Basis::exact});
    }
  }
}

}  // namespace warploom::observe::explain
