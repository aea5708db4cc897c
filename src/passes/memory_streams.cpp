// Walks addresses back to the additions that loops make to them and to the parameters they begin with.
#include "passes/memory_streams.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/webs.hpp"
#include "isa/matrix.hpp"

namespace warploom::passes {

using ir::BlockId;
using ir::Inst;
using ir::ValueId;
using isa::Mod;
using isa::Op;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }
constexpr std::uint64_t kFar = 1024;  // bytes
constexpr int kDeepest = 16;          // steps from an address back; longer chains count as unknown

bool is_global(const ptx::Instr& p) {
  // Textures and surfaces have handles and no addresses.
  if (isa::row(p.op).emit == "texture") return false;
  const isa::Space space = ptx::space_of(p);
  return space == isa::Space::global || space == isa::Space::generic;
}

class Walk {
 public:
  explicit Walk(const ir::Function& f) : f_(f), defs_(f.values.size()) {
    for (std::size_t b = 0; b < f.blocks.size(); ++b)
      for (const Inst& i : f.blocks[b].insts)
        ir::for_each_def(i, [&](ValueId v) { defs_[idx(v)].emplace_back(static_cast<BlockId>(b), &i); });
  }

  // Is the value made from the size of the grid?
  bool of_grid(ValueId v, int depth = 0) const {
    if (depth > kDeepest || defs_[idx(v)].size() != 1) return false;
    const Inst& i = *defs_[idx(v)][0].second;
    if (isa::row(i.p.op).flow != isa::Flow::pure) return false;
    for (const ptx::Operand& o : i.p.operands)
      if (o.kind == ptx::Operand::Kind::sreg && o.symbol.starts_with("%nctaid")) return true;
    bool found = false;
    ir::for_each_use(i, [&](ValueId u) { found = found || (u != v && of_grid(u, depth + 1)); });
    return found;
  }

  // Does the value go on, from one iteration of the loop to the next, by an amount of which `by` is true?
  template <class By>
  bool steps(ValueId v, BlockId first, BlockId last, const By& by, int depth = 0) const {
    if (depth > kDeepest) return false;
    for (const auto& [b, inst] : defs_[idx(v)]) {
      if (b < first || b > last || isa::row(inst->p.op).flow != isa::Flow::pure) continue;
      if (defs_[idx(v)].size() > 1) {
        if (inst->p.op != Op::add) continue;
        const ptx::Operand &x = inst->p.operands[1], &y = inst->p.operands[2];
        if ((x.reg == v && by(y)) || (y.reg == v && by(x))) return true;
        continue;
      }
      bool far = false;
      ir::for_each_use(*inst, [&](ValueId u) { far = far || (u != v && steps(u, first, last, by, depth + 1)); });
      if (far) return true;
    }
    return false;
  }

  // Is the value made outside the loop?
  bool outside(ValueId v, BlockId first, BlockId last) const {
    return std::none_of(defs_[idx(v)].begin(), defs_[idx(v)].end(),
                        [&](const auto& d) { return d.first >= first && d.first <= last; });
  }

  // Offset of the pointer parameter that the address starts from.
  std::optional<std::uint64_t> parameter(ValueId v, int depth = 0) const {
    if (depth > kDeepest || defs_[idx(v)].size() != 1 || isa::bits(f_.values[idx(v)].type) != 64) return {};
    const Inst& i = *defs_[idx(v)][0].second;
    const ptx::Instr& p = i.p;
    if (p.op == Op::ld && p.has(Mod::param)) {
      const std::int32_t variable = i.variable.size() > 1 ? i.variable[1] : -1;
      if (variable < 0 || p.operands[1].reg >= 0) return {};
      return f_.variables[idx(variable)].offset + p.operands[1].imm;
    }
    if (p.op != Op::add && p.op != Op::mad && p.op != Op::cvta && p.op != Op::mov) return {};
    std::optional<std::uint64_t> found;
    ir::for_each_use(i, [&](ValueId u) {
      if (!found && u != v) found = parameter(u, depth + 1);
    });
    return found;
  }

 private:
  const ir::Function& f_;
  std::vector<std::vector<std::pair<BlockId, const Inst*>>> defs_;
};

}  // namespace

MemoryStreams find_memory_streams(const ir::Function& f) {
  MemoryStreams out;
  const Walk walk(f);
  std::set<std::uint64_t> read;
  bool unknown = false, ordered = false;
  for (const ir::Block& block : f.blocks)
    for (const Inst& i : block.insts) {
      const isa::Flow flow = isa::row(i.p.op).flow;
      ordered = ordered || flow == isa::Flow::atomic || flow == isa::Flow::fence || flow == isa::Flow::call ||
                flow == isa::Flow::native || ptx::is_ordered(i.p);
      const auto matrix = isa::matrix_form(i.p.op, i.p.mods, i.p.types, i.p.type_count);
      unknown = unknown || (matrix && matrix->loads() && is_global(i.p));
      if (flow != isa::Flow::load || !is_global(i.p)) continue;
      const std::int32_t reg = i.p.operands[1].reg;
      const auto from = reg < 0 ? std::nullopt : walk.parameter(reg);
      if (from)
        read.insert(*from);
      else
        unknown = true;
    }
  for (std::size_t b = 0; b < f.blocks.size(); ++b) {
    const ir::Block& block = f.blocks[b];
    out.far_load.emplace_back(block.insts.size(), false);
    out.strided_load.emplace_back(block.insts.size(), false);
    out.write_only.emplace_back(block.insts.size(), false);
    BlockId first = -1;
    for (BlockId h = static_cast<BlockId>(b); h >= 0 && first < 0; --h)
      if (f.blocks[idx(h)].loop_last >= static_cast<BlockId>(b)) first = h;
    for (std::size_t k = 0; k < block.insts.size(); ++k) {
      const Inst& i = block.insts[k];
      const isa::Flow flow = isa::row(i.p.op).flow;
      if (flow == isa::Flow::load && first >= 0 && is_global(i.p) && i.p.operands[1].reg >= 0) {
        const BlockId last = f.blocks[idx(first)].loop_last;
        const ValueId at = i.p.operands[1].reg;
        out.far_load[b][k] =
            walk.steps(at, first, last, [&](const ptx::Operand& o) { return o.reg >= 0 && walk.of_grid(o.reg); });
        out.strided_load[b][k] = walk.steps(at, first, last, [&](const ptx::Operand& o) {
          if (o.kind == ptx::Operand::Kind::imm) return o.imm >= kFar && o.imm < (1ULL << 31);
          return o.reg >= 0 && walk.outside(o.reg, first, last);
        });
      }
      if (flow == isa::Flow::store && is_global(i.p) && !ordered && !unknown && i.p.operands[0].reg >= 0) {
        const auto to = walk.parameter(i.p.operands[0].reg);
        out.write_only[b][k] = to && !read.contains(*to);
      }
    }
  }
  return out;
}

}  // namespace warploom::passes
