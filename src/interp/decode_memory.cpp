// Loads, stores, atomics, warp-level instructions and calls in the interpreter's decoder.
#include <algorithm>

#include "interp/decoder.hpp"
#include "interp/memory.hpp"
#include "interp/moves.hpp"
#include "interp/warp.hpp"
#include "ir/webs.hpp"

namespace warploom::interp {

using ir::Inst;
using isa::Mod;
using isa::Op;
using isa::Space;
using isa::Type;
using ptx::Operand;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

bool Decoder::Address::fixed() const { return (what & (kAddress32 | kAddress64 | kLocal)) == 0; }

bool Decoder::address(const Inst& inst, std::size_t k, Space space, Address& a) {
  const Operand& o = inst.p.operands[k];
  a.space = space;
  const std::int32_t variable = k < inst.variable.size() ? inst.variable[k] : -1;
  if (variable >= 0) {
    if (!symbol_address(variable, o.reg >= 0 ? 0 : o.imm, a.imm)) {
      fail();
      return false;
    }
    a.space = f().variables[idx(variable)].space(space);
  } else if (o.reg < 0) {
    a.imm = o.imm;
  }
  if (o.reg >= 0) {
    const unsigned bits = isa::bits(storage(o.reg));
    if (bits != 32 && bits != 64) {
      fail();
      return false;
    }
    a.ref = value(o.reg);
    a.what = bits == 32 ? kAddress32 : kAddress64;
    a.imm += o.imm;
  }
  switch (a.space) {
    case Space::shared: a.what |= kShared; break;
    case Space::local: a.what |= kLocal; break;
    case Space::param: a.what |= kParam; break;
    default: break;
  }
  return true;
}

Ref Decoder::address_lanes(const Address& a) {
  Step at = make(address_handler());
  at.what = a.what;
  at.imm = a.imm;
  at.ref[0] = temporary(64);
  at.ref[1] = a.ref;
  add_plain(at);
  return at.ref[0];
}

void Decoder::load(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  const Type type = p.type();
  const unsigned width = ptx::vector_width(p);
  const bool ordered = ptx::is_ordered(p);
  Address a;
  if (!address(inst, 1, ptx::space_of(p), a)) return;
  const auto dst = ptx::elements_of(p.operands[0]);
  if (dst.size() != width || width + 1 > kMaxRefs) return fail();
  const bool fixed = a.fixed() && !ordered;
  Step s = make(fixed ? load_fixed_handler(isa::bits(type)) : load_handler(isa::bits(type), ordered));
  s.width = static_cast<std::uint8_t>(width);
  s.what = static_cast<std::uint16_t>(a.what | (p.has(Mod::acquire) ? kAcquire : 0));
  s.imm = a.imm;
  s.ref[width] = a.ref;
  std::vector<Result> results;
  bool crosses = false;
  for (unsigned e = 0; e < width; ++e) {
    if (dst[e]->kind != Operand::Kind::reg) continue;
    results.push_back(result(dst[e]->reg, type));
    s.ref[e] = results.back().ref;
    crosses = crosses || (!results.back().through && plan_->crosses[idx(dst[e]->reg)]);
  }
  // A load for all lanes alike does not look at which are active.
  if (fixed && crosses && results.size() == width && inst.p.guard < 0) {
    add(inst, s, results);
    return;
  }
  if (fixed && inst.p.guard >= 0) s.run = load_handler(isa::bits(type), false);
  if (fixed && crosses && results.size() != width) s.run = load_handler(isa::bits(type), false);
  add_active(inst, s);
  resize_after(inst, results);
}

void Decoder::store(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  const Type type = p.type();
  Address a;
  if (!address(inst, 0, ptx::space_of(p), a)) return;
  const auto src = ptx::elements_of(p.operands[1]);
  const auto width = static_cast<unsigned>(src.size());
  if (width + 1 > kMaxRefs) return fail();
  Step s = make(store_handler(isa::bits(type), ptx::is_ordered(p)));
  s.width = static_cast<std::uint8_t>(width);
  s.what = static_cast<std::uint16_t>(a.what | (p.has(Mod::release) ? kRelease : 0));
  s.imm = a.imm;
  s.ref[width] = a.ref;
  for (unsigned e = 0; e < width; ++e)
    s.ref[e] = source(inst, *src[e], width == 1 && inst.variable.size() > 1 ? inst.variable[1] : -1, type);
  add_active(inst, s);
}

void Decoder::atomic(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  const bool returns = p.op == Op::atom;
  const std::size_t at = returns ? 1 : 0;
  const Type type = p.type();
  const unsigned bits = isa::bits(type);
  const bool floats = isa::is_float(type) || type == Type::f16x2 || type == Type::bf16x2;
  if (bits > 64 || (floats && type != Type::f32 && type != Type::f64 && !p.has(Mod::exch))) return fail();
  const bool is_signed = isa::is_signed(type);
  Atomic op{};
  if (p.has(Mod::cas))
    op = Atomic::cas;
  else if (p.has(Mod::add))
    op = floats ? Atomic::fadd : Atomic::add;
  else if (p.has(Mod::min))
    op = floats ? Atomic::fmin : is_signed ? Atomic::min : Atomic::umin;
  else if (p.has(Mod::max))
    op = floats ? Atomic::fmax : is_signed ? Atomic::max : Atomic::umax;
  else if (p.has(Mod::and_))
    op = Atomic::and_;
  else if (p.has(Mod::or_))
    op = Atomic::or_;
  else if (p.has(Mod::xor_))
    op = Atomic::xor_;
  else if (p.has(Mod::exch))
    op = Atomic::exch;
  else if (p.has(Mod::inc))
    op = Atomic::inc;
  else if (p.has(Mod::dec))
    op = Atomic::dec;
  else
    return fail();
  const Type as_bits = bits == 16 ? Type::b16 : bits == 32 ? Type::b32 : Type::b64;
  Address a;
  if (!address(inst, at, ptx::space_of(p), a)) return;
  const auto sources = ptx::elements_of(p.operands[at + 1]);
  // Alignment of a vector is a matter of all its elements.
  if (sources.size() > 1) return fail();
  Step s = make(atomic_handler(op, bits));
  s.what = a.what;
  s.imm = a.imm;
  s.ref[1] = a.ref;
  s.ref[2] = source(inst, *sources[0], -1, as_bits);
  if (op == Atomic::cas) s.ref[3] = source(inst, at + 2, as_bits);
  std::vector<Result> results;
  if (returns) {
    const Operand& d = *ptx::elements_of(p.operands[0])[0];
    if (d.kind == Operand::Kind::reg && f().is_read(d.reg)) {
      results.push_back(result(d.reg, as_bits));
      s.ref[0] = results.back().ref;
    }
  }
  add_active(inst, s);
  resize_after(inst, results);
}

void Decoder::warp(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  if (isa::row(p.op).emit == "matrix") return matrix(inst);
  if (p.op == Op::bar) return;
  const Operand& d = p.operands[0];
  const auto last = p.operands.size() - 1;
  std::vector<Result> results;
  const auto one = [&](const Operand& o, Type type) { results.push_back(result(o, type)); };
  const auto pair = [&] {
    if (d.pair >= 0)
      results.push_back(result(d.pair, Type::pred));
    else
      results.push_back({-1, Type::pred, temporary(1), false});
  };
  const auto finish = [&](Step s, std::initializer_list<Ref> sources) {
    std::size_t k = results.size();
    for (const Ref r : sources) s.ref[k++] = r;
    add(inst, s, results);
  };
  switch (p.op) {
    case Op::shfl: {
      Step s = make(shuffle_handler(p.has(Mod::up)     ? Shuffle::up
                                    : p.has(Mod::down) ? Shuffle::down
                                    : p.has(Mod::bfly) ? Shuffle::bfly
                                                       : Shuffle::idx));
      const Ref a = source(inst, 1, Type::b32), b = source(inst, 2, Type::b32), c = source(inst, 3, Type::b32);
      one(d, Type::b32);
      pair();
      return finish(s, {a, b, c});
    }
    case Op::vote: {
      const bool ballot = p.has(Mod::ballot);
      Step s = make(vote_handler(ballot            ? Vote::ballot
                                 : p.has(Mod::any) ? Vote::any
                                 : p.has(Mod::all) ? Vote::all
                                                   : Vote::uni));
      const Ref yes = source(inst, 1, Type::pred);
      const Ref members = p.has(Mod::sync) ? source(inst, last, Type::b32) : kNoRef;
      one(d, ballot ? Type::b32 : Type::pred);
      return finish(s, {yes, members});
    }
    case Op::activemask: one(d, Type::b32); return finish(make(activemask_handler()), {});
    case Op::elect: {
      const Ref members = source(inst, 1, Type::b32);
      one(d, Type::b32);
      pair();
      return finish(make(elect_handler()), {members});
    }
    case Op::match:
    case Op::redux: {
      const Type type = p.type();
      Ref a = source(inst, 1, type);
      if (isa::bits(type) != 64) {
        Step wide = make(resize_handler(isa::bits(type), false, 64));
        wide.ref[0] = temporary(64);
        wide.ref[1] = a;
        add_plain(wide);
        a = wide.ref[0];
      }
      const Ref members = source(inst, last, Type::b32);
      one(d, Type::b32);
      if (p.op == Op::match) {
        pair();
        Step s = make(match_handler());
        s.what = p.has(Mod::all) ? 1 : 0;
        return finish(s, {a, members});
      }
      Step s = make(redux_handler());
      s.what = static_cast<std::uint16_t>(ptx::redux_kind(p));
      return finish(s, {a, members});
    }
    default: return fail();
  }
}

void Decoder::call(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  switch (p.op) {
    case Op::nanosleep:
    case Op::pmevent:
    case Op::prefetch:
    case Op::prefetchu: return;
    case Op::trap:
    case Op::brkpt: return add_active(inst, make(trap_handler()));
    case Op::bar:
    case Op::barrier: {
      Step s = make(arrive_handler());
      s.ref[0] = source(inst, 0, Type::u32);
      s.ref[1] = source(inst, 1, Type::u32);
      return add_active(inst, s);
    }
    case Op::call: break;
    default: {
      const isa::Row& row = isa::row(p.op);
      if (row.flow == isa::Flow::hint && p.operands.empty()) return;
      if (row.flow != isa::Flow::hint || row.emit != "hint") return fail();
      ir::for_each_def(inst, [&](ir::ValueId v) {
        const Result r = result(v, Type::b64);
        Step s = make(copy_handler(64));
        s.ref[1] = constant(64, 0);
        add(inst, s, {&r, 1});
      });
      return;
    }
  }
  const std::string& name = p.operands[0].symbol;
  const bool asserts = name == "__assertfail";
  Step s = make(asserts ? assert_handler() : call_handler());
  const std::size_t arguments = asserts ? std::min<std::size_t>(p.operands.size() - 1, 4) : p.operands.size() - 1;
  if (asserts ? arguments < 4 : arguments > 3) return fail();
  s.width = static_cast<std::uint8_t>(arguments);
  for (std::size_t k = 0; k < arguments; ++k) {
    Address a;
    if (!address(inst, k + 1, Space::local, a)) return;
    s.ref[k] = address_lanes(a);
  }
  if (!asserts) {
    void* callee = nullptr;
    for (const codegen::HostSymbol& symbol : symbols_)
      if (symbol.name == "warploom_" + name) callee = symbol.address;
    if (callee == nullptr) return fail();
    s.imm = out_->callees.size();
    out_->callees.push_back(callee);
  }
  add_active(inst, s);
}

}  // namespace warploom::interp
