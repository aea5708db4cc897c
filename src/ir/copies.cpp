// Splits cp.async into a load from global and a store to shared memory (PTX ISA section 9.7.9.25.3.1).
#include "ir/copies.hpp"

#include "ir/synthetic.hpp"

namespace warploom::ir {

using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Operand;

bool split_copy(Function& f, const FlatInst& flat, FlatCode& code) {
  const ptx::Instr& p = flat.inst.p;
  if (p.op != Op::cp || !(p.has(Mod::ca) || p.has(Mod::cg))) return false;
  const std::uint64_t bytes = p.operands[2].imm;
  if (p.operands.size() > 3 && isa::bits(ptx::operand_type(p, 3)) != 64) {
    // A source size that is not that of the copy, or a predicate that leaves the source out.
    const Operand& n = p.operands[3];
    if (ptx::operand_type(p, 3) == Type::pred || n.kind != Operand::Kind::imm || n.imm != bytes) return false;
  }
  const Type type = bytes == 4 ? Type::b32 : Type::b64;
  Operand data;
  if (bytes == 16) {
    data.kind = Operand::Kind::vector;
    data.elements.resize(2);
    for (Operand& e : data.elements) {
      e.reg = static_cast<std::int32_t>(f.values.size());
      f.values.push_back({type, "%copied", 0, false});
    }
  } else {
    data.reg = static_cast<std::int32_t>(f.values.size());
    f.values.push_back({type, "%copied", 0, false});
  }
  for (const bool is_load : {true, false}) {
    FlatInst part;
    part.inst.source = flat.inst.source;
    part.inst.async = true;
    ptx::Instr& q = part.inst.p;
    q.op = is_load ? Op::ld : Op::st;
    q.line = p.line;
    q.loc = p.loc;
    q.guard = p.guard;
    q.guard_negated = p.guard_negated;
    q.types[0] = type;
    q.type_count = 1;
    set(q, is_load ? Mod::global : Mod::shared);
    if (bytes == 16) set(q, Mod::v2);
    const std::size_t side = is_load ? 1 : 0;
    const Operand& address = p.operands[side];
    const std::int32_t variable = side < flat.inst.variable.size() ? flat.inst.variable[side] : -1;
    if (is_load) {
      q.operands = {data, address};
      part.inst.variable = {-1, variable};
    } else {
      q.operands = {address, data};
      part.inst.variable = {variable, -1};
    }
    set_form(q);
    code.insts.push_back(std::move(part));
  }
  return true;
}

}  // namespace warploom::ir
