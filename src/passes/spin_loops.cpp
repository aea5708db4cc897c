// Slices loop exit conditions back to memory operations that other threads can change.
#include "passes/spin_loops.hpp"

#include <map>
#include <set>

namespace warploom::passes {

using isa::Mod;
using isa::Op;

namespace {

bool sees_others(const ptx::Instr& p) {
  switch (p.op) {
    case Op::atom: return true;
    case Op::mbarrier: return p.has(Mod::test_wait) || p.has(Mod::try_wait);
    case Op::ld:
      return p.has(Mod::volatile_) || p.has(Mod::relaxed) || p.has(Mod::acquire) || p.has(Mod::mmio) || p.has(Mod::cv);
    case Op::mov: return p.operands[1].kind == ptx::Operand::Kind::sreg && p.operands[1].symbol == ir::kClusterReady;
    default: return false;
  }
}

}  // namespace

void find_spin_loops(ir::Function& f) {
  const auto n = static_cast<ir::BlockId>(f.blocks.size());
  for (ir::BlockId h = 0; h < n; ++h) {
    ir::Block& header = f.blocks[static_cast<std::size_t>(h)];
    const ir::BlockId last = header.loop_last;
    if (last < 0) continue;
    std::map<ir::ValueId, std::vector<const ir::Inst*>> defs;
    bool any = false;
    for (ir::BlockId b = h; b <= last; ++b)
      for (const ir::Inst& i : f.blocks[static_cast<std::size_t>(b)].insts) {
        any = any || sees_others(i.p);
        ir::for_each_def(i, [&](ir::ValueId v) { defs[v].push_back(&i); });
      }
    if (!any) continue;
    std::set<ir::ValueId> seen;
    std::vector<ir::ValueId> todo;
    const auto push = [&](ir::ValueId v) {
      if (seen.insert(v).second) todo.push_back(v);
    };
    for (ir::BlockId b = h; b <= last; ++b) {
      const ir::Block& block = f.blocks[static_cast<std::size_t>(b)];
      if (block.succs.size() < 2 || block.insts.empty()) continue;
      ir::for_each_use(block.insts.back(), push);
    }
    while (!todo.empty() && !header.spin_loop) {
      const ir::ValueId v = todo.back();
      todo.pop_back();
      for (const ir::Inst* i : defs[v]) {
        if (sees_others(i->p)) header.spin_loop = true;
        ir::for_each_use(*i, push);
      }
    }
  }
}

}  // namespace warploom::passes
