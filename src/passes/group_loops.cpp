// Finding loops for lane groups.
#include "passes/group_loops.hpp"

#include <algorithm>

#include "ir/webs.hpp"
#include "isa/isa.hpp"

namespace warploom::passes {

using ir::BlockId;
using ir::Inst;
using ir::ValueId;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

// The code of a loop is repeated for each group.
constexpr std::size_t kMaxInsts = 256;

// Special registers have no lane groups.
bool reads_lanes(const ptx::Operand& o) {
  if (o.kind == ptx::Operand::Kind::sreg) return !sreg_shape(o.symbol, {}, false).uniform();
  return std::any_of(o.elements.begin(), o.elements.end(), reads_lanes);
}

// A walk through global memory uses whole cache lines only if all lanes go together.
bool walks_memory(const Inst& inst, const Shapes& shapes) {
  const isa::Space space = ptx::space_of(inst.p);
  if (space != isa::Space::global && space != isa::Space::generic) return false;
  const ptx::Operand& at = inst.p.operands[1];
  return at.reg >= 0 && !shapes[at.reg].uniform();
}

bool may_group(const Inst& inst, const Shapes& shapes) {
  const ptx::Instr& p = inst.p;
  for (const ptx::Operand& o : p.operands)
    if (reads_lanes(o)) return false;
  switch (isa::row(p.op).flow) {
    case isa::Flow::pure:
      return !p.has(isa::Mod::cc) && p.op != isa::Op::addc && p.op != isa::Op::subc && p.op != isa::Op::madc &&
             p.op != isa::Op::cvta && p.op != isa::Op::createpolicy;
    case isa::Flow::load: return !ptx::is_ordered(p) && !p.has(isa::Mod::acquire) && !walks_memory(inst, shapes);
    default: return p.op == isa::Op::bra;
  }
}

// Where control goes from an empty block.
BlockId skip_empty(const ir::Function& f, BlockId b) {
  for (std::size_t steps = 0; steps < f.blocks.size(); ++steps) {
    const ir::Block& block = f.blocks[idx(b)];
    const bool empty = block.insts.empty() || (block.insts.size() == 1 && block.insts[0].p.op == isa::Op::bra);
    if (!empty || block.succs.size() != 1 || block.starts_with_sync || block.ends_with_barrier || block.succs[0] <= b)
      break;
    b = block.succs[0];
  }
  return b;
}

// The values of `inst` that live before it, given those that live after it.
void step_back(const Inst& inst, std::vector<char>& live) {
  if (inst.p.guard < 0) ir::for_each_def(inst, [&](ValueId v) { live[idx(v)] = false; });
  ir::for_each_use(inst, [&](ValueId v) { live[idx(v)] = true; });
}

GroupLoop examine(const ir::Function& f, const Shapes& shapes, BlockId header) {
  const BlockId last = f.blocks[idx(header)].loop_last;
  GroupLoop loop;
  loop.touched.assign(f.values.size(), false);
  loop.defs.assign(f.values.size(), false);
  BlockId exit = -1;
  std::size_t insts = 0;
  for (BlockId b = header; b <= last; ++b) {
    const ir::Block& block = f.blocks[idx(b)];
    if (block.ends || block.ends_with_barrier || block.starts_with_sync || block.spin_loop ||
        (b != header && block.loop_last >= 0) || block.succs.size() > 2)
      return {};
    for (const auto& [at, index] : shapes.widenings)
      if (at == b) return {};
    if (b != header)
      for (BlockId from : block.preds)
        if (from < header || from > last) return {};
    insts += block.insts.size();
    for (const Inst& i : block.insts) {
      if (!may_group(i, shapes)) return {};
      ir::for_each_use(i, [&](ValueId v) { loop.touched[idx(v)] = true; });
      ir::for_each_def(i, [&](ValueId v) { loop.touched[idx(v)] = loop.defs[idx(v)] = true; });
    }
    for (BlockId to : block.succs) {
      if (to >= header && to <= last) {
        if (to <= b && to != header) return {};
        continue;
      }
      const BlockId there = skip_empty(f, to);
      if (exit >= 0 && exit != there) return {};
      exit = there;
      loop.leaves_to.push_back(to);
    }
    bool parts = false;
    if (block.succs.size() == 2)
      ir::for_each_use(block.insts.back(), [&](ValueId v) { parts = parts || !shapes[v].uniform(); });
    if (parts) return {};
  }
  if (exit < 0 || insts > kMaxInsts) return {};
  // Predicates lie in memory as bits.
  for (std::size_t v = 0; v < f.values.size(); ++v)
    if (loop.touched[v] && shapes.of[v].varying() && isa::bits(f.values[v].type) == 1 &&
        (f.is_live_in(header, static_cast<ValueId>(v)) || f.is_live_in(exit, static_cast<ValueId>(v))))
      return {};

  for (BlockId b = header; b <= last; ++b) {
    const ir::Block& block = f.blocks[idx(b)];
    std::vector<char> live(f.values.size(), false);
    for (BlockId to : block.succs)
      for (std::size_t v = 0; v < live.size(); ++v) live[v] = live[v] || f.is_live_in(to, static_cast<ValueId>(v));
    for (auto i = block.insts.rbegin(); i != block.insts.rend(); ++i) {
      step_back(*i, live);
      std::uint32_t bytes = 0;
      for (std::size_t v = 0; v < live.size(); ++v) {
        const unsigned bits = isa::bits(f.values[v].type);
        if (!live[v] || !loop.touched[v] || !shapes.of[v].varying() || bits == 1) continue;
        bytes += bits / 8;
        loop.widest = std::max(loop.widest, bits / 8);
      }
      loop.live_bytes = std::max(loop.live_bytes, bytes);
    }
  }
  loop.exit = exit;
  return loop;
}

}  // namespace

std::vector<GroupLoop> find_group_loops(const ir::Function& f, const Shapes& shapes) {
  std::vector<GroupLoop> loops(f.blocks.size());
  for (std::size_t h = 0; h < f.blocks.size(); ++h)
    if (f.blocks[h].loop_last >= 0) loops[h] = examine(f, shapes, static_cast<BlockId>(h));
  return loops;
}

}  // namespace warploom::passes
