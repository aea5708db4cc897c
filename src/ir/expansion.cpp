// Expands packed f32, f32 with half operands, minima of three, moves of vectors and lookups that tell whether all
// texels are in memory.
#include "ir/expansion.hpp"

#include <utility>

namespace warploom::ir {

using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Operand;

Operand Expansion::temporary(Type type) {
  Operand o;
  o.reg = static_cast<std::int32_t>(f_.values.size());
  f_.values.push_back({type, "%part", 0, false});
  return o;
}

Operand Expansion::number(std::uint64_t v) {
  Operand o;
  o.kind = Operand::Kind::imm;
  o.imm = v;
  return o;
}

void Expansion::add(ptx::Instr q) {
  FlatInst part;
  part.inst.source = flat_.inst.source;
  q.line = p_.line;
  q.loc = p_.loc;
  q.guard = p_.guard;
  q.guard_negated = p_.guard_negated;
  part.inst.variable.assign(q.operands.size(), -1);
  set_form(q);
  part.inst.p = std::move(q);
  code_.insts.push_back(std::move(part));
}

void Expansion::add(Op op, std::initializer_list<Type> types, std::vector<Operand> operands, isa::ModSet mods) {
  ptx::Instr q;
  q.op = op;
  q.mods = mods;
  for (const Type t : types) q.types[q.type_count++] = t;
  q.operands = std::move(operands);
  add(std::move(q));
}

void Expansion::add(Op op, std::initializer_list<Type> types, std::vector<Operand> operands,
                    std::initializer_list<Mod> mods) {
  isa::ModSet set;
  for (const Mod m : mods) set.set(static_cast<std::size_t>(m));
  add(op, types, std::move(operands), set);
}

namespace {

class Compound : Expansion {
 public:
  using Expansion::Expansion;

  void run() {
    if (p_.op == Op::mov) return move();
    if (p_.op == Op::tex || p_.op == Op::tld4) return resident();
    if (p_.type() == Type::f32x2) return pairs();
    if (p_.type_count == 2) return mixed();
    three();
  }

 private:
  // All texels are in memory.
  void resident() {
    FlatInst lookup = flat_;
    Operand all;
    all.reg = std::exchange(lookup.inst.p.operands[0].pair, -1);
    code_.insts.push_back(std::move(lookup));
    if (all.reg >= 0) add(Op::mov, {Type::pred}, {all, number(1)});
  }

  // Elements may be both read and written.
  void move() {
    const std::vector<Operand>&to = p_.operands[0].elements, &from = p_.operands[1].elements;
    std::vector<Operand> held;
    for (const Operand& e : from) {
      held.push_back(temporary(p_.type()));
      add(Op::mov, {p_.type()}, {held.back(), e});
    }
    for (std::size_t i = 0; i < to.size(); ++i)
      if (to[i].kind == Operand::Kind::reg) add(Op::mov, {p_.type()}, {to[i], held[i]});
  }

  Operand pair() {
    Operand v;
    v.kind = Operand::Kind::vector;
    v.elements = {temporary(Type::f32), temporary(Type::f32)};
    return v;
  }

  void pairs() {
    std::vector<Operand> halves = {pair()};
    for (std::size_t k = 1; k < p_.operands.size(); ++k) {
      halves.push_back(pair());
      add(Op::mov, {Type::b64}, {halves[k], p_.operands[k]});
    }
    for (std::size_t i = 0; i < 2; ++i) {
      std::vector<Operand> operands;
      operands.reserve(halves.size());
      for (const Operand& h : halves) operands.push_back(h.elements[i]);
      add(p_.op, {Type::f32}, std::move(operands), p_.mods);
    }
    add(Op::mov, {Type::b64}, {p_.operands[0], halves[0]});
  }

  // All but the last source are halves, which f32 holds exactly.
  void mixed() {
    std::vector<Operand> operands = p_.operands;
    for (std::size_t k = 1; k + 1 < operands.size(); ++k) {
      operands[k] = temporary(Type::f32);
      add(Op::cvt, {Type::f32, p_.type(1)}, {operands[k], p_.operands[k]});
    }
    add(p_.op, {Type::f32}, std::move(operands), p_.mods);
  }

  void three() {
    std::vector<Operand> operands = p_.operands;
    isa::ModSet mods = p_.mods;
    if (p_.has(Mod::abs)) {
      mods.reset(static_cast<std::size_t>(Mod::abs));
      for (std::size_t k = 1; k < operands.size(); ++k) {
        operands[k] = temporary(Type::f32);
        add(Op::abs, {Type::f32}, {operands[k], p_.operands[k]});
      }
    }
    const Operand first = temporary(Type::f32);
    add(p_.op, {Type::f32}, {first, operands[1], operands[2]}, mods);
    add(p_.op, {Type::f32}, {operands[0], first, operands[3]}, mods);
  }
};

}  // namespace

bool expand_compound(Function& function, const FlatInst& flat, FlatCode& code) {
  const ptx::Instr& p = flat.inst.p;
  if (ptx::video_lanes(p.op) != 0) return expand_video(function, flat, code);
  const bool told = (p.op == Op::tex || p.op == Op::tld4) && p.operands[0].pair != -1;
  if (!told && (p.form == nullptr || p.form->emit != "compound")) return false;
  Compound(function, flat, code).run();
  return true;
}

}  // namespace warploom::ir
