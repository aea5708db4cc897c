// Rule: lanes of a warp want different words of one shared memory bank, so the access takes several passes.
#include <fmt/format.h>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {
namespace {

std::string advice(const KernelData& kernel, double degree) {
  if (degree > 12) return "the lanes walk down a column, so pad the inner dimension of the shared array by one element";
  if (kernel.block[0] < 32 && degree < 2.3)
    return fmt::format(
        "a warp covers {} rows of the {}-wide block and their words share banks, so make the block 32 wide "
        "or choose a row pitch that leaves {} modulo 32",
        (32 + kernel.block[0] - 1) / kernel.block[0], kernel.block[0], kernel.block[0]);
  return "the stride between lanes shares a factor with the 32 banks, so pad the inner dimension of the shared array "
         "by one "
         "element or make neighbouring lanes touch neighbouring words";
}

}  // namespace

void rule_bank_conflicts(const RuleInput& in, std::vector<Finding>& out) {
  constexpr AccessGroup kGroups[] = {AccessGroup::shared_load, AccessGroup::shared_store};
  double total = 0;
  for (const AccessGroup g : kGroups) total += static_cast<double>(in.kernel.group(g).counts.wavefronts);
  for (const LineData& line : in.kernel.lines) {
    for (const AccessGroup g : kGroups) {
      const GroupCounts& group = line.group(g);
      const auto conflicts = static_cast<double>(group.conflicts());
      const auto ideal = static_cast<double>(group.counts.ideal_wavefronts);
      if (conflicts < 0.02 * total || conflicts < 0.1 * ideal || conflicts == 0) continue;
      const double degree = static_cast<double>(group.counts.wavefronts) / ideal;
      out.push_back({"bank_conflicts",
                     fmt::format("Shared {} take {:.1f} passes where 1 would do: {}.",
                                 g == AccessGroup::shared_load ? "loads" : "stores", degree, advice(in.kernel, degree)),
                     line.source, conflicts * kCyclesPerWavefront, Basis::exact});
    }
  }
}

}  // namespace warploom::observe::explain
