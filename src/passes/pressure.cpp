// Maximum liveness over all instructions.
#include "passes/pressure.hpp"

#include <algorithm>

namespace warploom::passes {

std::uint32_t register_estimate(const ir::Function& f) {
  const auto weight = [&](ir::ValueId v) -> std::uint32_t {
    const unsigned bits = isa::bits(f.values[static_cast<std::size_t>(v)].type);
    return bits <= 1 ? 0 : bits <= 32 ? 1 : bits / 32;  // predicates have registers of their own
  };
  std::uint32_t most = 0;
  std::vector<char> live(f.values.size());
  for (std::size_t b = 0; b < f.blocks.size(); ++b) {
    std::fill(live.begin(), live.end(), false);
    std::uint32_t now = 0;
    const auto add = [&](ir::ValueId v) {
      if (live[static_cast<std::size_t>(v)]) return;
      live[static_cast<std::size_t>(v)] = true;
      now += weight(v);
    };
    for (ir::BlockId s : f.blocks[b].succs)
      for (std::size_t v = 0; v < f.values.size(); ++v)
        if (f.is_live_in(s, static_cast<ir::ValueId>(v))) add(static_cast<ir::ValueId>(v));
    most = std::max(most, now);
    for (std::size_t i = f.blocks[b].insts.size(); i-- > 0;) {
      const ir::Inst& inst = f.blocks[b].insts[i];
      if (inst.p.guard < 0)
        ir::for_each_def(inst, [&](ir::ValueId v) {
          if (!live[static_cast<std::size_t>(v)]) return;
          live[static_cast<std::size_t>(v)] = false;
          now -= weight(v);
        });
      ir::for_each_use(inst, add);
      most = std::max(most, now);
    }
  }
  constexpr std::uint32_t kReserved = 8;  // stack pointer, addresses of constants, scheduling room
  return std::clamp(most + kReserved, 16U, 255U);
}

}  // namespace warploom::passes
