// Shape analysis: data flow over values, and what divergent branches do to values that meet behind them.
#include "passes/shapes.hpp"

#include <algorithm>
#include <set>

#include "ir/cfg.hpp"
#include "ir/webs.hpp"
#include "passes/shape_ops.hpp"

namespace warploom::passes {

using ir::BlockId;
using ir::Inst;
using ir::Shape;
using ir::Term;
using ir::ValueId;
using isa::Mod;
using isa::Op;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

class Analysis {
 public:
  Analysis(ir::Function& f, const BlockShape& block, bool linear) : f_(f), block_(block), linear_(linear) {
    out_.of.assign(f.values.size(), {});
    // A register that is read before it is written holds zero.
    for (std::size_t v = 0; v < f.values.size(); ++v)
      if (f.is_live_in(0, static_cast<ValueId>(v))) out_.of[v] = Shape{Shape::Kind::uniform, {}, 1, 0};
    forced_.assign(f.values.size(), false);
    def_blocks_.resize(f.values.size());
    ipdom_ = ir::post_dominators(f);
    for (std::size_t b = 0; b < f.blocks.size(); ++b)
      for (const Inst& i : f.blocks[b].insts)
        ir::for_each_def(i, [&](ValueId v) { def_blocks_[idx(v)].push_back(static_cast<BlockId>(b)); });
  }

  Shapes run() {
    find_invariants();
    force_spin_loops();
    std::vector<char> done(f_.blocks.size(), false);
    for (bool changed = true; changed;) {
      flow();
      changed = false;
      for (std::size_t b = 0; b < f_.blocks.size(); ++b) {
        const ir::Block& block = f_.blocks[b];
        if (done[b] || block.succs.size() < 2) continue;
        if (!is_divergent(block)) continue;
        done[b] = true;
        changed = true;
        diverge(static_cast<BlockId>(b));
      }
    }
    // Only the conservative version goes on when lanes wait for each other in different places.
    if (!linear_ && lanes_may_be_apart_)
      for (std::size_t v = 0; v < f_.values.size(); ++v)
        if (!f_.values[v].invariant) force(static_cast<ValueId>(v));
    for (Shape& s : out_.of)
      if (s.kind == Shape::Kind::unknown) s.kind = Shape::Kind::uniform;
    collect_widenings();
    return std::move(out_);
  }

 private:
  // A uniform value written once from constants, parameters and registers that do not change while a block lives.
  void find_invariants() {
    for (ir::Value& v : f_.values) v.invariant = false;
    for (bool changed = true; changed;) {
      changed = false;
      for (const ir::Block& b : f_.blocks)
        for (const Inst& i : b.insts) {
          if (i.p.guard >= 0 || !keeps_invariance(f_, i)) continue;
          bool invariant = true;
          ir::for_each_use(i, [&](ValueId v) { invariant = invariant && f_.values[idx(v)].invariant; });
          if (!invariant) continue;
          ir::for_each_def(i, [&](ValueId v) {
            ir::Value& value = f_.values[idx(v)];
            if (value.defs != 1 || value.invariant) return;
            value.invariant = true;
            changed = true;
          });
        }
    }
  }

  // Lanes leave a spin loop one by one and may come back to it: nothing in the loops around it is common to them, and
  // what lanes that have left overwrite is not common to those that have not.
  void force_spin_loops() {
    for (std::size_t h = 0; h < f_.blocks.size(); ++h) {
      if (!f_.blocks[h].spin_loop) continue;
      std::size_t first = h;
      BlockId last = f_.blocks[h].loop_last;
      for (std::size_t o = 0; o < h; ++o)
        if (f_.blocks[o].loop_last >= static_cast<BlockId>(h)) {
          first = std::min(first, o);
          last = std::max(last, f_.blocks[o].loop_last);
        }
      for (std::size_t b = first; b <= idx(last); ++b)
        for (const Inst& i : f_.blocks[b].insts)
          ir::for_each_def(i, [&](ValueId v) {
            if (!f_.values[idx(v)].invariant) force(v);
          });
      for (std::size_t v = 0; v < f_.values.size(); ++v)
        if (f_.values[v].defs > 1 && f_.is_live_in(static_cast<BlockId>(h), static_cast<ValueId>(v)))
          force(static_cast<ValueId>(v));
    }
  }

  void force(ValueId v) {
    forced_[idx(v)] = true;
    out_.of[idx(v)] = Shape{Shape::Kind::varying, {}, 1, 0};
  }

  bool is_divergent(const ir::Block& block) const {
    const ptx::Instr& p = block.insts.back().p;
    if (p.guard >= 0) {
      const Shape& s = out_.of[idx(p.guard)];
      if (s.kind != Shape::Kind::uniform && s.kind != Shape::Kind::unknown) return true;
    }
    if (p.op == Op::brx && p.operands[0].reg >= 0) {
      const Shape& s = out_.of[idx(p.operands[0].reg)];
      return s.kind != Shape::Kind::uniform && s.kind != Shape::Kind::unknown;
    }
    return false;
  }

  void flow() {
    const OperandShapes shapes{f_, block_, linear_, out_};
    for (bool changed = true; changed;) {
      changed = false;
      for (const ir::Block& b : f_.blocks)
        for (const Inst& i : b.insts) {
          std::size_t result = 0;
          ir::for_each_def(i, [&](ValueId v) {
            const std::size_t which = result++;
            if (forced_[idx(v)]) return;
            Shape s = shapes.result(i, which);
            if (s.kind == Shape::Kind::unknown) return;
            if (i.p.guard >= 0) {
              const Shape& g = out_.of[idx(i.p.guard)];
              if (g.kind == Shape::Kind::unknown) return;
              if (!g.uniform()) s = Shape{Shape::Kind::varying, {}, 1, 0};
            }
            Shape& old = out_.of[idx(v)];
            Shape met = meet(old, s);
            if (met == old && met.base_align == old.base_align && met.bound == old.bound) return;
            old = std::move(met);
            changed = true;
          });
        }
    }
  }

  static Shape meet(const Shape& a, const Shape& b) {
    if (a.kind == Shape::Kind::unknown) return b;
    if (a.varying() || b.varying() || !(a == b)) return Shape{Shape::Kind::varying, {}, 1, 0};
    Shape out = a;
    out.base_align = std::min(a.base_align, b.base_align);
    out.bound = a.bound == b.bound ? a.bound : 0;
    return out;
  }

  void diverge(BlockId b) {
    const BlockId join = ipdom_[idx(b)];
    const auto n = static_cast<BlockId>(f_.blocks.size());
    const std::vector<BlockId>& succs = f_.blocks[idx(b)].succs;
    std::vector<std::vector<char>> arms;
    std::vector<char> all(f_.blocks.size(), false);
    for (BlockId s : succs) {
      arms.push_back(ir::reachable(f_, s, {join, b}));
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = all[i] || arms.back()[i];
    }

    find_waits(arms, join < n);

    // Joins: blocks that lanes of different arms reach, found by labels that meet.
    std::vector<std::int32_t> label(f_.blocks.size(), -1);
    std::vector<char> is_join(f_.blocks.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (BlockId x = 0; x < n; ++x) {
        if ((!all[idx(x)] && x != join) || is_join[idx(x)]) continue;
        std::int32_t found = -1;
        bool mixed = false;
        const auto add = [&](std::int32_t l) {
          if (l < 0) return;
          if (found >= 0 && found != l) mixed = true;
          found = l;
        };
        for (std::size_t k = 0; k < succs.size(); ++k)
          if (succs[k] == x) add(static_cast<std::int32_t>(k));
        for (BlockId p : f_.blocks[idx(x)].preds)
          if (all[idx(p)]) add(label[idx(p)]);
        if (mixed) {
          is_join[idx(x)] = true;
          found = static_cast<std::int32_t>(succs.size()) + x;
        }
        if (found != label[idx(x)]) {
          label[idx(x)] = found;
          changed = true;
        }
      }
    }

    for (std::size_t v = 0; v < f_.values.size(); ++v) {
      if (forced_[v]) continue;
      bool in_region = false;
      for (BlockId d : def_blocks_[v]) in_region = in_region || all[idx(d)];
      if (!in_region) continue;
      const auto value = static_cast<ValueId>(v);
      bool hit = false;
      // Different definitions meet, or a definition meets the value from before the branch.
      if (f_.values[v].defs > 1 || f_.is_live_in(b, value))
        for (BlockId x = 0; x < n && !hit; ++x) hit = is_join[idx(x)] && f_.is_live_in(x, value);
      // One arm runs before the other: it must not overwrite what the other still reads.
      for (std::size_t k = 0; k < succs.size() && !hit; ++k) {
        if (succs[k] == join || !f_.is_live_in(succs[k], value)) continue;
        for (std::size_t o = 0; o < succs.size() && !hit; ++o) {
          if (o == k) continue;
          for (BlockId d : def_blocks_[v]) hit = hit || arms[o][idx(d)];
        }
      }
      if (hit) force(value);
    }

    // Lanes leave a loop in different iterations: what it computes differs outside.
    for (BlockId h = 0; h <= b; ++h) {
      const BlockId last = f_.blocks[idx(h)].loop_last;
      if (last < b || (join >= h && join <= last)) continue;
      for (std::size_t v = 0; v < f_.values.size(); ++v) {
        if (forced_[v] || f_.values[v].invariant) continue;
        bool inside = false;
        for (BlockId d : def_blocks_[v]) inside = inside || (d >= h && d <= last);
        if (!inside) continue;
        bool outside = false;
        for (BlockId x = h; x <= last && !outside; ++x)
          for (BlockId s : f_.blocks[idx(x)].succs)
            outside = outside || ((s < h || s > last) && f_.is_live_in(s, static_cast<ValueId>(v)));
        if (outside) force(static_cast<ValueId>(v));
      }
    }
  }

  // Whether lanes of one arm may wait for others of their warp while lanes of another go on.
  void find_waits(const std::vector<std::vector<char>>& arms, bool meet) {
    for (std::size_t x = 0; x < f_.blocks.size() && !lanes_may_be_apart_; ++x) {
      const ir::Block& block = f_.blocks[x];
      const bool waits =
          block.starts_with_sync || (block.ends_with_barrier && !ir::waits_aligned(block.insts.back().p));
      if (!waits) continue;
      std::size_t in = 0;
      for (const auto& arm : arms) in += arm[x] ? 1U : 0U;
      // Lanes that only end, end.
      lanes_may_be_apart_ = in > 1 || (in == 1 && meet);
    }
  }

  void collect_widenings() {
    for (std::size_t b = 0; b < f_.blocks.size(); ++b)
      for (std::size_t i = 0; i < f_.blocks[b].insts.size(); ++i) {
        const Inst& inst = f_.blocks[b].insts[i];
        bool is_signed = false;
        if (!is_widening(inst.p, is_signed)) continue;
        if (!out_[inst.p.operands[0].reg].linear()) continue;
        // A value with a known bound cannot wrap.
        bool bounded = true;
        for (std::size_t k = 1; k < std::min<std::size_t>(inst.p.operands.size(), 3); ++k) {
          const std::int32_t r = inst.p.operands[k].kind == ptx::Operand::Kind::reg ? inst.p.operands[k].reg : -1;
          if (r >= 0 && out_[r].linear())
            bounded = bounded && widens_safely(out_[r], inst.p.op == Op::cvt ? inst.p.type(1) : inst.p.type());
        }
        if (!bounded) out_.widenings.emplace_back(static_cast<BlockId>(b), i);
      }
  }

  ir::Function& f_;
  BlockShape block_;
  bool linear_;
  bool lanes_may_be_apart_ = false;
  Shapes out_;
  std::vector<char> forced_;
  std::vector<std::vector<BlockId>> def_blocks_;
  std::vector<BlockId> ipdom_;
};

}  // namespace

Shapes analyse_shapes(ir::Function& f, const BlockShape& block, bool linear) {
  return Analysis(f, block, linear).run();
}

}  // namespace warploom::passes
