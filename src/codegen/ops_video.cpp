// Video instructions on whole registers: scalar ones, and those on two or four elements. What names parts of registers
// was taken apart before, and so were secondary operations on 32 bits (ir/expansion.hpp).
#include "codegen/ops_emit.hpp"

namespace warploom::codegen {

using isa::Mod;
using isa::Op;
namespace intrinsic = llvm::Intrinsic;

namespace {

Value* extend(Emit& e, Value* v, bool is_signed, unsigned bits) {
  return is_signed ? e.b.CreateSExt(v, e.ints(bits)) : e.b.CreateZExt(v, e.ints(bits));
}

// A value of more bits, of the given sign, to the range of 32 bits.
Value* narrow(Emit& e, Value* v, bool is_signed, bool to_signed) {
  if (e.has(Mod::sat)) {
    const std::uint64_t high = to_signed ? 0x7fffffff : 0xffffffff;
    if (!is_signed) {
      v = e.umin(v, Emit::num(v, high));
    } else {
      Value* low = to_signed ? e.b.CreateNot(Emit::num(v, high)) : Emit::num(v, 0);
      v = e.call(intrinsic::smin, {e.call(intrinsic::smax, {v, low}), Emit::num(v, high)});
    }
  }
  return e.resize(v, 32);
}

llvm::CmpInst::Predicate comparison(const Emit& e) {
  using P = llvm::CmpInst::Predicate;
  constexpr P kPredicates[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  return kPredicates[e.which({Mod::eq, Mod::ne, Mod::lt, Mod::le, Mod::gt, Mod::ge})];
}

// On extensions of the elements, so nothing overflows.
Value* combine(Emit& e, Value* a, Value* c) {
  switch (e.instr.op) {
    case Op::vadd:
    case Op::vadd2:
    case Op::vadd4: return e.b.CreateAdd(a, c);
    case Op::vsub:
    case Op::vsub2:
    case Op::vsub4: return e.b.CreateSub(a, c);
    case Op::vavrg2:
    case Op::vavrg4: {
      Value* sum = e.b.CreateAdd(a, c);
      Value* up = e.b.CreateAdd(e.b.CreateAShr(sum, 31), Emit::num(sum, 1));
      return e.b.CreateAShr(e.b.CreateAdd(sum, up), 1);
    }
    case Op::vmin:
    case Op::vmin2:
    case Op::vmin4: return e.call(intrinsic::smin, {a, c});
    case Op::vmax:
    case Op::vmax2:
    case Op::vmax4: return e.call(intrinsic::smax, {a, c});
    case Op::vset:
    case Op::vset2:
    case Op::vset4: return e.b.CreateZExt(e.b.CreateICmp(comparison(e), a, c), a->getType());
    default: return e.b.CreateSub(e.call(intrinsic::smax, {a, c}), e.call(intrinsic::smin, {a, c}));
  }
}

}  // namespace

bool emit_video_scalar(Emit& e) {
  const std::size_t first = e.instr.op == Op::vset ? 0 : 1;
  const bool a_signed = isa::is_signed(e.type(first)), b_signed = isa::is_signed(e.type(first + 1));
  const bool d_signed = first == 1 && isa::is_signed(e.type(0));
  Value *a = extend(e, e.in[0], a_signed, 64), *r = nullptr;
  if (e.instr.op != Op::vshl && e.instr.op != Op::vshr) {
    r = combine(e, a, extend(e, e.in[1], b_signed, 64));
  } else {
    Value* by = e.in[1];
    by = e.has(Mod::wrap) ? e.b.CreateAnd(by, Emit::num(by, 31)) : e.umin(by, Emit::num(by, 32));
    by = extend(e, by, false, 64);
    r = e.instr.op == Op::vshr ? e.b.CreateAShr(a, by) : e.b.CreateShl(a, by);
    // The clamp is of the 34 bits that an intermediate result has.
    if (e.instr.op == Op::vshl && e.has(Mod::sat)) r = e.b.CreateAShr(e.b.CreateShl(r, 30), 30);
  }
  const bool min = e.has(Mod::min), max = e.has(Mod::max);
  if (!min && !max) return e.done(narrow(e, r, true, d_signed));
  const llvm::Intrinsic::ID which =
      min ? (d_signed ? intrinsic::smin : intrinsic::umin) : (d_signed ? intrinsic::smax : intrinsic::umax);
  return e.done(e.resize(e.call(which, {r, extend(e, e.in[2], d_signed, 64)}), 32));
}

bool emit_video_mad(Emit& e) {
  const auto& o = e.instr.operands;
  const bool negated = o[1].minus, minus = o[3].minus;
  const bool a_signed = isa::is_signed(e.type(1)), b_signed = isa::is_signed(e.type(2));
  const bool is_signed = a_signed || b_signed || negated || minus;
  Value* product = e.b.CreateMul(extend(e, e.in[0], a_signed, 128), extend(e, e.in[1], b_signed, 128));
  if (negated) product = e.b.CreateNeg(product);
  Value* c = minus ? e.b.CreateNot(e.in[2]) : e.in[2];
  Value* sum = e.b.CreateAdd(product, extend(e, c, is_signed, 128));
  if (minus || e.has(Mod::po)) sum = e.b.CreateAdd(sum, Emit::num(sum, 1));
  if (e.has(Mod::shr7)) sum = e.b.CreateAShr(sum, 7);
  if (e.has(Mod::shr15)) sum = e.b.CreateAShr(sum, 15);
  return e.done(narrow(e, sum, is_signed, is_signed));
}

bool emit_video(Emit& e) {
  const unsigned count = ptx::video_lanes(e.instr.op), width = 32 / count;
  const bool is_set = e.instr.op == Op::vset2 || e.instr.op == Op::vset4;
  const std::size_t first = is_set ? 0 : 1;
  const bool d_signed = !is_set && isa::is_signed(e.type(0));
  const std::uint64_t mask = (std::uint64_t(1) << width) - 1;
  const auto part = [&](Value* word, unsigned i, bool is_signed) {
    Value* top = e.b.CreateShl(word, 32 - width * (i + 1));
    return is_signed ? e.b.CreateAShr(top, 32 - width) : e.b.CreateLShr(top, 32 - width);
  };
  Value* d = e.has(Mod::add) ? e.in[2] : Emit::num(e.in[0], 0);
  for (unsigned i = 0; i < count; ++i) {
    Value* r = combine(e, part(e.in[0], i, isa::is_signed(e.type(first))),
                       part(e.in[1], i, isa::is_signed(e.type(first + 1))));
    if (e.has(Mod::sat)) {
      const std::uint64_t high = d_signed ? mask >> 1 : mask;
      Value* low = d_signed ? e.b.CreateNot(Emit::num(r, high)) : Emit::num(r, 0);
      r = e.call(intrinsic::smin, {e.call(intrinsic::smax, {r, low}), Emit::num(r, high)});
    }
    d = e.has(Mod::add) ? e.b.CreateAdd(d, r) : e.b.CreateOr(d, e.b.CreateShl(e.b.CreateAnd(r, mask), width * i));
  }
  return e.done(d);
}

}  // namespace warploom::codegen
