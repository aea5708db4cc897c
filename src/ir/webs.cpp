// Reaching definitions, webs, liveness: bit sets over definitions and values.
#include "ir/webs.hpp"

#include <map>
#include <numeric>

namespace warploom::ir {
namespace {

using Bits = std::vector<std::uint64_t>;

bool test(const Bits& b, std::size_t i) { return (b[i / 64] >> (i % 64)) & 1U; }
void set(Bits& b, std::size_t i) { b[i / 64] |= std::uint64_t{1} << (i % 64); }
void clear(Bits& b, std::size_t i) { b[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }

bool is_store_like(const ptx::Instr& p) { return p.op == isa::Op::st || p.op == isa::Op::red; }

class UnionFind {
 public:
  explicit UnionFind(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t find(std::size_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

// Rewrites the register of one operand occurrence.
void rewrite(ptx::Operand& o, const std::function<ValueId(ValueId)>& to) {
  if (o.kind != ptx::Operand::Kind::label && o.reg >= 0) o.reg = to(o.reg);
  for (ptx::Operand& e : o.elements) rewrite(e, to);
}

}  // namespace

bool is_source(const ptx::Instr& p, std::size_t k) {
  if (p.op == isa::Op::call || p.op == isa::Op::brx || is_store_like(p)) return true;
  return ptx::operand_role(p, k) != isa::Role::dst;
}

bool is_result(const ptx::Instr& p, std::size_t k) {
  if (p.op == isa::Op::call || p.op == isa::Op::bra || p.op == isa::Op::brx || is_store_like(p)) return false;
  return ptx::operand_role(p, k) != isa::Role::src;
}

void split_webs(Function& f) {
  const std::size_t registers = f.values.size();
  std::vector<std::int32_t> def_count(registers, 0);
  for (const Block& b : f.blocks)
    for (const Inst& i : b.insts) for_each_def(i, [&](ValueId v) { ++def_count[static_cast<std::size_t>(v)]; });

  // Registers written once are webs already; number the definitions of the others.
  std::vector<std::vector<std::size_t>> defs_of(registers);
  std::vector<ValueId> def_register;
  for (const Block& b : f.blocks)
    for (const Inst& i : b.insts)
      for_each_def(i, [&](ValueId v) {
        if (def_count[static_cast<std::size_t>(v)] < 2) return;
        defs_of[static_cast<std::size_t>(v)].push_back(def_register.size());
        def_register.push_back(v);
      });
  const std::size_t defs = def_register.size();
  for (std::size_t v = 0; v < registers; ++v) f.values[v].defs = def_count[v];
  if (defs == 0) return;
  const std::size_t words = (defs + 63) / 64;

  const auto apply = [&](const Inst& i, std::size_t& next, Bits& reach) {
    for_each_def(i, [&](ValueId v) {
      if (def_count[static_cast<std::size_t>(v)] < 2) return;
      if (i.p.guard < 0)
        for (std::size_t d : defs_of[static_cast<std::size_t>(v)]) clear(reach, d);
      set(reach, next++);
    });
  };
  std::vector<std::size_t> first_def(f.blocks.size());
  std::size_t counter = 0;
  for (std::size_t b = 0; b < f.blocks.size(); ++b) {
    first_def[b] = counter;
    for (const Inst& i : f.blocks[b].insts)
      for_each_def(i, [&](ValueId v) { counter += def_count[static_cast<std::size_t>(v)] >= 2 ? 1U : 0U; });
  }

  std::vector<Bits> in(f.blocks.size(), Bits(words, 0)), out(f.blocks.size(), Bits(words, 0));
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = 0; b < f.blocks.size(); ++b) {
      Bits reach(words, 0);
      for (BlockId p : f.blocks[b].preds)
        for (std::size_t w = 0; w < words; ++w) reach[w] |= out[static_cast<std::size_t>(p)][w];
      in[b] = reach;
      std::size_t next = first_def[b];
      for (const Inst& i : f.blocks[b].insts) apply(i, next, reach);
      if (reach != out[b]) {
        out[b] = std::move(reach);
        changed = true;
      }
    }
  }

  UnionFind webs(defs);
  const auto each_block = [&](const std::function<void(Inst&, Bits&, std::size_t)>& visit) {
    for (std::size_t b = 0; b < f.blocks.size(); ++b) {
      Bits reach = in[b];
      std::size_t next = first_def[b];
      for (Inst& i : f.blocks[b].insts) {
        Bits after = reach;
        std::size_t after_next = next;
        apply(i, after_next, after);
        visit(i, reach, next);
        reach = std::move(after);
        next = after_next;
      }
    }
  };
  each_block([&](Inst& i, Bits& reach, std::size_t next) {
    const auto join_reaching = [&](ValueId v, std::size_t with) {
      for (std::size_t d : defs_of[static_cast<std::size_t>(v)]) {
        if (!test(reach, d)) continue;
        if (with != defs) webs.join(d, with);
        with = d;
      }
    };
    for_each_use(i, [&](ValueId v) { join_reaching(v, defs); });
    for_each_def(i, [&](ValueId v) {
      if (def_count[static_cast<std::size_t>(v)] < 2) return;
      if (i.p.guard >= 0) join_reaching(v, next);
      ++next;
    });
  });

  // One value for each web; the first web of a register keeps its number.
  std::vector<ValueId> value_of(defs, -1);
  std::vector<char> taken(registers, false);
  std::map<std::size_t, ValueId> by_root;
  for (std::size_t d = 0; d < defs; ++d) {
    const std::size_t root = webs.find(d);
    auto it = by_root.find(root);
    if (it == by_root.end()) {
      const auto reg = static_cast<std::size_t>(def_register[d]);
      ValueId v = def_register[d];
      if (taken[reg]) {
        v = static_cast<ValueId>(f.values.size());
        Value copy = f.values[reg];
        copy.name += "'" + std::to_string(v);
        f.values.push_back(copy);
      }
      taken[reg] = true;
      f.values[static_cast<std::size_t>(v)].defs = 0;
      it = by_root.emplace(root, v).first;
    }
    value_of[d] = it->second;
    ++f.values[static_cast<std::size_t>(it->second)].defs;
  }

  const auto reaching_value = [&](const Bits& reach, ValueId v) {
    for (std::size_t d : defs_of[static_cast<std::size_t>(v)])
      if (test(reach, d)) return value_of[d];
    return v;  // never written on any path here: some web of the register, its value is undefined anyway
  };
  each_block([&](Inst& i, Bits& reach, std::size_t next) {
    ptx::Instr& p = i.p;
    const auto use = [&](ValueId v) {
      return defs_of[static_cast<std::size_t>(v)].empty() ? v : reaching_value(reach, v);
    };
    const auto def = [&](ValueId v) { return def_count[static_cast<std::size_t>(v)] < 2 ? v : value_of[next++]; };
    if (p.guard >= 0) p.guard = use(p.guard);
    // Definitions are numbered in operand order, and `reach` still describes the state before the instruction.
    for (std::size_t k = 0; k < p.operands.size(); ++k) {
      ptx::Operand& o = p.operands[k];
      if (o.kind == ptx::Operand::Kind::address || !is_result(p, k)) {
        rewrite(o, use);
      } else {
        rewrite(o, def);
        if (o.pair >= 0) o.pair = def(o.pair);
      }
    }
  });
}

void compute_liveness(Function& f) {
  const std::size_t words = (f.values.size() + 63) / 64;
  f.live_in.assign(f.blocks.size(), Bits(words, 0));
  f.read.assign(f.values.size(), false);
  for (const Block& b : f.blocks)
    for (const Inst& i : b.insts) for_each_use(i, [&](ValueId v) { f.read[static_cast<std::size_t>(v)] = true; });
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = f.blocks.size(); b-- > 0;) {
      Bits live(words, 0);
      for (BlockId s : f.blocks[b].succs)
        for (std::size_t w = 0; w < words; ++w) live[w] |= f.live_in[static_cast<std::size_t>(s)][w];
      for (std::size_t i = f.blocks[b].insts.size(); i-- > 0;) {
        const Inst& inst = f.blocks[b].insts[i];
        if (inst.p.guard < 0) for_each_def(inst, [&](ValueId v) { clear(live, static_cast<std::size_t>(v)); });
        for_each_use(inst, [&](ValueId v) { set(live, static_cast<std::size_t>(v)); });
        if (inst.p.guard >= 0) for_each_def(inst, [&](ValueId v) { set(live, static_cast<std::size_t>(v)); });
      }
      if (live != f.live_in[b]) {
        f.live_in[b] = std::move(live);
        changed = true;
      }
    }
  }
}

}  // namespace warploom::ir
