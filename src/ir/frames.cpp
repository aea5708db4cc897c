// Calls of functions that are not inlined, written out as loads, stores and branches.
#include "ir/frames.hpp"

#include <algorithm>
#include <bit>

#include "ir/synthetic.hpp"

namespace warploom::ir {
namespace {

using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Operand;

// At the start of each frame: which of the sites called it, and the frame before.
constexpr std::uint32_t kSite = 0, kBefore = 8, kFirst = 16;
constexpr std::uint32_t kAlign = 16;

std::uint32_t align_up(std::uint32_t x, std::uint32_t to) { return (x + to - 1) / to * to; }

Operand reg(ValueId v) {
  Operand o;
  o.reg = v;
  return o;
}
Operand imm(std::uint64_t x) {
  Operand o;
  o.kind = Operand::Kind::imm;
  o.imm = x;
  return o;
}

Type bits_type(unsigned bits) {
  switch (bits) {
    case 8: return Type::b8;
    case 16: return Type::b16;
    case 64: return Type::b64;
    case 128: return Type::b128;
    default: return Type::b32;
  }
}

}  // namespace

ValueId Frames::value(Type type, const char* name) {
  f_.values.push_back({type, name, 0, false});
  return static_cast<ValueId>(f_.values.size() - 1);
}

FlatInst Frames::make(Op op, std::initializer_list<Type> types, std::vector<Operand> operands) const {
  FlatInst flat;
  ptx::Instr& p = flat.inst.p;
  p.op = op;
  for (const Type t : types) p.types[p.type_count++] = t;
  p.operands = std::move(operands);
  flat.inst.variable.assign(p.operands.size(), -1);
  if (op != Op::bra && op != Op::trap) set_form(p);
  return flat;
}

void Frames::add(FlatInst flat, const Inst* at) {
  if (at != nullptr) {
    flat.inst.source = at->source;
    flat.inst.p.line = at->p.line;
  }
  code_.insts.push_back(std::move(flat));
}

void Frames::move(ValueId to, ValueId from, const Inst* at) {
  add(make(Op::mov, {Type::u64}, {reg(to), reg(from)}), at);
}

void Frames::access(bool load, ValueId v, ValueId base, std::uint64_t offset, Type type, const Inst* at) {
  Operand address;
  address.kind = Operand::Kind::address;
  address.reg = base;
  address.imm = offset;
  FlatInst flat = load ? make(Op::ld, {type}, {reg(v), address}) : make(Op::st, {type}, {address, reg(v)});
  set(flat.inst.p, Mod::local);
  add(std::move(flat), at);
}

void Frames::start() {
  Variable stack{"%stack", Variable::Place::local, 0, kStackBytes};
  f_.variables.push_back(stack);
  f_.stack_bytes = kStackBytes;
  const auto id = static_cast<std::int32_t>(f_.variables.size() - 1);
  top_ = value(Type::u64, "%stack_top");
  base_ = value(Type::u64, "%frame");
  limit_ = value(Type::u64, "%stack_end");
  for (const auto& [v, offset] : {std::pair{top_, 0U}, std::pair{limit_, kStackBytes}}) {
    Operand symbol;
    symbol.kind = Operand::Kind::symbol;
    symbol.symbol = "%stack";
    symbol.imm = offset;
    FlatInst flat = make(Op::mov, {Type::u64}, {reg(v), symbol});
    flat.inst.variable = {-1, id};
    add(std::move(flat));
  }
  add(make(Op::mov, {Type::u64}, {reg(base_), imm(0)}));
}

void Frames::lay_out(Frame& frame) {
  frame.bytes = kFirst;
  const auto place = [&](const std::string& name, std::uint64_t bytes, std::uint32_t align) {
    frame.bytes = align_up(frame.bytes, std::max(align, 4U));
    f_.variables.push_back({name, Variable::Place::frame, frame.bytes, bytes});
    frame.bytes += static_cast<std::uint32_t>(bytes);
    frame.scope[name] = static_cast<std::int32_t>(f_.variables.size() - 1);
  };
  for (const auto* list : {&frame.function->params, &frame.function->returns})
    for (const ptx::Param& p : *list)
      if (!p.in_register) place(p.name, p.bytes, p.align);
  for (const ptx::Variable& v : frame.body->variables)
    if (v.space != isa::Space::shared && v.space != isa::Space::global && v.space != isa::Space::constant)
      place(v.name, v.bytes, v.align);
  frame.first_value = static_cast<ValueId>(f_.values.size());
  for (const ptx::Register& r : frame.body->registers) f_.values.push_back({r.type, r.name, 0, false});
  // Only registers that something reads are worth keeping.
  std::vector<char> read(frame.body->registers.size(), false);
  const auto note = [&](auto&& self, const Operand& o) -> void {
    if (o.kind != Operand::Kind::label && o.reg >= 0) read[static_cast<std::size_t>(o.reg)] = true;
    for (const Operand& e : o.elements) self(self, e);
  };
  for (const ptx::Instr& p : frame.body->instrs) {
    if (p.guard >= 0) read[static_cast<std::size_t>(p.guard)] = true;
    for (std::size_t k = 0; k < p.operands.size(); ++k)
      if (p.op == Op::call || p.operands[k].kind == Operand::Kind::address || ptx::operand_role(p, k) != isa::Role::dst)
        note(note, p.operands[k]);
  }
  for (std::size_t r = 0; r < read.size(); ++r) {
    if (!read[r]) continue;
    const Type type = frame.body->registers[r].type;
    const std::uint32_t bytes = type == Type::pred ? 4 : std::max(4U, isa::bits(type) / 8);
    frame.bytes = align_up(frame.bytes, bytes);
    frame.kept.emplace_back(frame.first_value + static_cast<ValueId>(r), frame.bytes);
    frame.bytes += bytes;
  }
  frame.bytes = align_up(frame.bytes, kAlign);
}

void Frames::keep(const Frame& frame, bool restore, const Inst* at) {
  for (const auto& [v, offset] : frame.kept) {
    const Type type = f_.values[static_cast<std::size_t>(v)].type;
    if (type != Type::pred) {
      access(restore, v, base_, offset, bits_type(isa::bits(type)), at);
      continue;
    }
    const ValueId word = value(Type::b32, "%kept");
    if (restore) {
      access(true, word, base_, offset, Type::b32, at);
      FlatInst test = make(Op::setp, {Type::u32}, {reg(v), reg(word), imm(0)});
      set(test.inst.p, Mod::ne);
      add(std::move(test), at);
    } else {
      add(make(Op::selp, {Type::u32}, {reg(word), imm(1), imm(0), reg(v)}), at);
      access(false, word, base_, offset, Type::b32, at);
    }
  }
}

// Between a variable of the caller and its place in the callee's frame, in the largest pieces that both may have.
void Frames::copy(const Passed& passed, ValueId frame, bool to_frame, const Inst* at) {
  const Variable caller = f_.variables[static_cast<std::size_t>(passed.variable)];
  const std::uint64_t place = passed.formal->offset;
  const std::uint32_t align = std::min<std::uint32_t>(std::max(1U, passed.formal->align), 8);
  for (std::uint64_t done = 0; done < passed.formal->bytes;) {
    std::uint64_t piece = align;
    while (piece > passed.formal->bytes - done) piece /= 2;
    const Type type = bits_type(static_cast<unsigned>(piece * 8));
    const ValueId v = value(piece < 4 ? Type::b32 : type, "%passed");
    const auto outside = [&](bool load) {
      if (caller.place == Variable::Place::frame) {
        access(load, v, base_, caller.offset + done, type, at);
        return;
      }
      Operand address;
      address.kind = Operand::Kind::address;
      address.symbol = caller.name;
      address.imm = done;
      FlatInst flat = load ? make(Op::ld, {type}, {reg(v), address}) : make(Op::st, {type}, {address, reg(v)});
      flat.inst.variable[load ? 1 : 0] = passed.variable;
      set(flat.inst.p, Mod::local);
      add(std::move(flat), at);
    };
    if (to_frame) {
      outside(true);
      access(false, v, frame, place + done, type, at);
    } else {
      access(true, v, frame, place + done, type, at);
      outside(false);
    }
    done += piece;
  }
}

void Frames::check(ValueId top, const Inst* at) {
  const ValueId full = value(Type::pred, "%full");
  FlatInst test = make(Op::setp, {Type::u64}, {reg(full), reg(top), reg(limit_)});
  set(test.inst.p, Mod::gt);
  add(std::move(test), at);
  FlatInst trap = make(Op::trap, {}, {});
  trap.inst.p.guard = full;
  trap.inst.reason = Inst::Reason::stack_overflow;
  add(std::move(trap), at);
}

void Frames::call(Frame& callee, const Frame* caller, const std::vector<Passed>& arguments,
                  const std::vector<Passed>& results, const Inst& at_, const std::function<void()>& before,
                  const std::function<void()>& after) {
  const Inst* at = &at_;
  const ValueId frame = value(Type::u64, "%new_frame"), end = value(Type::u64, "%new_top");
  add(make(Op::add, {Type::u64}, {reg(frame), reg(top_), imm(kAlign - 1)}), at);
  add(make(Op::and_, {Type::b64}, {reg(frame), reg(frame), imm(~std::uint64_t{kAlign - 1})}), at);
  add(make(Op::add, {Type::u64}, {reg(end), reg(frame), imm(callee.bytes)}), at);
  check(end, at);
  const auto in_callee = [&](const Passed& p, ptx::Param& formal) {
    // The copy knows the formal by its place in the frame.
    formal = *p.formal;
    formal.offset =
        static_cast<std::uint32_t>(f_.variables[static_cast<std::size_t>(callee.scope.at(p.formal->name))].offset);
    return Passed{p.variable, &formal};
  };
  ptx::Param formal;
  for (const Passed& p : arguments) copy(in_callee(p, formal), frame, true, at);
  if (caller != nullptr) keep(*caller, false, at);
  const ValueId site = value(Type::b32, "%site");
  add(make(Op::mov, {Type::u32}, {reg(site), imm(callee.sites.size())}), at);
  access(false, site, frame, kSite, Type::b32, at);
  access(false, base_, frame, kBefore, Type::b64, at);
  move(base_, frame, at);
  move(top_, end, at);
  before();
  FlatInst go = make(Op::bra, {}, {});
  go.targets = {callee.entry};
  add(std::move(go), at);
  code_.labels.push_back(static_cast<std::uint32_t>(code_.insts.size()));
  callee.sites.push_back(static_cast<std::int32_t>(code_.labels.size() - 1));
  const ValueId left = value(Type::u64, "%left_frame");
  move(left, base_, at);
  access(true, base_, left, kBefore, Type::b64, at);
  move(top_, left, at);
  after();
  if (caller != nullptr) keep(*caller, true, at);
  for (const Passed& p : results) copy(in_callee(p, formal), left, false, at);
}

void Frames::leave() {
  const ValueId site = value(Type::b32, "%site");
  access(true, site, base_, kSite, Type::b32, nullptr);
  Operand table;
  table.kind = Operand::Kind::symbol;
  table.symbol = "%callers";
  FlatInst back = make(Op::brx, {}, {reg(site), table});
  set(back.inst.p, Mod::idx);
  add(std::move(back));
}

Operand Frames::frame_address(std::int32_t variable) const {
  Operand o;
  o.kind = Operand::Kind::address;
  o.reg = base_;
  o.imm = f_.variables[static_cast<std::size_t>(variable)].offset;
  return o;
}

void Frames::name_in_frame(FlatInst& flat, std::size_t k) {
  ptx::Instr& p = flat.inst.p;
  Operand& o = p.operands[k];
  const std::uint64_t offset = f_.variables[static_cast<std::size_t>(flat.inst.variable[k])].offset + o.imm;
  flat.inst.variable[k] = -1;
  if (o.kind == Operand::Kind::address) {
    o.reg = base_;
    o.imm = offset;
    o.symbol.clear();
    if (p.op != Op::ld && p.op != Op::st && p.op != Op::atom && p.op != Op::red) return;
    clear(p, Mod::param);
    clear(p, Mod::param__func);
    set(p, Mod::local);
    return;
  }
  ValueId at = value(Type::u64, "%address");
  add(make(Op::add, {Type::u64}, {reg(at), reg(base_), imm(offset)}), &flat.inst);
  if (isa::bits(ptx::operand_type(p, k)) == 32) {
    const ValueId narrow = value(Type::u32, "%address");
    add(make(Op::cvt, {Type::u32, Type::u64}, {reg(narrow), reg(at)}), &flat.inst);
    at = narrow;
  }
  o = reg(at);
}

void Frames::allocate(const FlatInst& flat) {
  const ptx::Instr& p = flat.inst.p;
  const Inst* at = &flat.inst;
  const bool narrow = isa::bits(p.type()) == 32;
  const auto guarded = [&](FlatInst inst) {
    inst.inst.p.guard = p.guard;
    inst.inst.p.guard_negated = p.guard_negated;
    add(std::move(inst), at);
  };
  const auto give = [&](ValueId from) {
    if (narrow)
      guarded(make(Op::cvt, {Type::u32, Type::u64}, {p.operands[0], reg(from)}));
    else
      guarded(make(Op::mov, {Type::u64}, {p.operands[0], reg(from)}));
  };
  const auto wide = [&](const Operand& o) {
    if (!narrow || o.kind != Operand::Kind::reg) return o;
    const ValueId v = value(Type::u64, "%wide");
    add(make(Op::cvt, {Type::u64, Type::u32}, {reg(v), o}), at);
    return reg(v);
  };
  if (p.op == Op::stacksave) return give(top_);
  if (p.op == Op::stackrestore) return guarded(make(Op::mov, {Type::u64}, {reg(top_), wide(p.operands[0])}));
  const std::uint64_t align = p.operands.size() > 2 ? std::max<std::uint64_t>(p.operands[2].imm, 1) : 8;
  const ValueId start = value(Type::u64, "%allocated"), end = value(Type::u64, "%new_top");
  add(make(Op::add, {Type::u64}, {reg(start), reg(top_), imm(align - 1)}), at);
  add(make(Op::and_, {Type::b64}, {reg(start), reg(start), imm(~(align - 1))}), at);
  Operand size = wide(p.operands[1]);
  // Sizes that would wrap are as bad as those that do not fit.
  const ValueId bytes = value(Type::u64, "%bytes");
  add(make(Op::min, {Type::u64}, {reg(bytes), size, imm(std::uint64_t{kStackBytes} * 2)}), at);
  add(make(Op::add, {Type::u64}, {reg(end), reg(start), reg(bytes)}), at);
  if (p.guard >= 0) {
    // A thread that the guard leaves out allocates nothing.
    add(make(Op::selp, {Type::u64},
             {reg(end), reg(p.guard_negated ? top_ : end), reg(p.guard_negated ? end : top_), reg(p.guard)}),
        at);
  }
  check(end, at);
  guarded(make(Op::mov, {Type::u64}, {reg(top_), reg(end)}));
  give(start);
}

ValueId Frames::mark() {
  const ValueId v = value(Type::u64, "%mark");
  move(v, top_, nullptr);
  return v;
}

void Frames::release(ValueId mark) { move(top_, mark, nullptr); }

}  // namespace warploom::ir
