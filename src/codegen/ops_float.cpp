// Floating-point helpers and arithmetic: rounding modes, .ftz, .sat and NaN as PTX has them.
#include <bit>

#include "codegen/ops_emit.hpp"

namespace warploom::codegen {

using isa::Mod;
using isa::Op;
using isa::Type;
namespace intrinsic = llvm::Intrinsic;

namespace {

// Bits of a scalar float type: fraction width, infinity, sign.
struct Layout {
  unsigned width, fraction;
  std::uint64_t infinity, sign, nan;
};
Layout layout(Value* v) {
  llvm::Type* t = v->getType()->getScalarType();
  if (t->isHalfTy()) return {16, 10, 0x7c00, 0x8000, 0x7fff};
  if (t->isIntegerTy(16)) return {16, 7, 0x7f80, 0x8000, 0x7fff};  // bf16
  if (t->isFloatTy()) return {32, 23, 0x7f800000, 0x80000000, 0x7fffffff};
  return {64, 52, 0x7ff0000000000000, 0x8000000000000000, 0x7ff8000000000000};
}

// f32 operations whose exact result is compared with a candidate in f64, where it fits.
Value* widen(Emit& e, Value* v) { return e.b.CreateFPExt(v, e.f64()); }

// Rounds the exact value sum.value + sum.error, given in f64, to f32.
Value* round_sum(Emit& e, RoundMode mode, Sum x) {
  Value* r = e.b.CreateFPTrunc(x.value, e.f32());
  Value* wide = widen(e, r);
  Value* zero = Emit::real(wide, 0);
  Value* equal = e.b.CreateFCmpOEQ(wide, x.value);
  Value* below = e.b.CreateOr(e.b.CreateFCmpOGT(wide, x.value), e.b.CreateAnd(equal, e.b.CreateFCmpOLT(x.error, zero)));
  Value* above = e.b.CreateOr(e.b.CreateFCmpOLT(wide, x.value), e.b.CreateAnd(equal, e.b.CreateFCmpOGT(x.error, zero)));
  return step(e, mode, r, below, above);
}
// An exact zero sum is -0 when rounding down, unless both terms are +0.
Value* zero_sum_down(Emit& e, Value* r, Value* a, Value* c) {
  Value* zero = e.b.CreateFCmpOEQ(r, Emit::real(r, 0));
  Value* signs = e.b.CreateAnd(e.b.CreateOr(e.to_bits(a), e.to_bits(c)), layout(r).sign);
  // An inexact result of zero cannot occur here: sums of f32 values are multiples of the least subnormal.
  return e.from_bits(e.b.CreateSelect(zero, signs, e.to_bits(r)), r->getType());
}

Value* add_f32(Emit& e, RoundMode mode, Value* a, Value* c) {
  if (mode == RoundMode::rn) return e.b.CreateFAdd(a, c);
  Value* r = round_sum(e, mode, two_sum(e, widen(e, a), widen(e, c)));
  return mode == RoundMode::rm ? zero_sum_down(e, r, a, c) : r;
}
Value* mul_f32(Emit& e, RoundMode mode, Value* a, Value* c) {
  if (mode == RoundMode::rn) return e.b.CreateFMul(a, c);
  Value* x = e.b.CreateFMul(widen(e, a), widen(e, c));  // exact
  return round_sum(e, mode, {x, Emit::real(x, 0)});
}
Value* fma_f32(Emit& e, RoundMode mode, Value* a, Value* c, Value* d) {
  if (mode == RoundMode::rn) return e.call(intrinsic::fma, {a, c, d});
  Value* product = e.b.CreateFMul(widen(e, a), widen(e, c));  // exact
  Sum x = two_sum(e, product, widen(e, d));
  Value* r = round_sum(e, mode, x);
  if (mode != RoundMode::rm) return r;
  // Exact zero: -0 unless product and addend are both +0. A tiny inexact sum is no zero in f64.
  Value* zero = e.b.CreateFCmpOEQ(x.value, Emit::real(x.value, 0));
  Value* sign = e.b.CreateOr(e.to_bits(product), e.to_bits(widen(e, d)));
  Value* signs = e.b.CreateShl(e.resize(e.b.CreateLShr(sign, 63), 32), 31);
  return e.from_bits(e.b.CreateSelect(zero, signs, e.to_bits(r)), r->getType());
}
// The quotient's neighbour is found from the sign of the remainder a - r * c, exact in f64.
Value* div_f32(Emit& e, RoundMode mode, Value* a, Value* c) {
  if (mode == RoundMode::rn) return e.b.CreateFDiv(a, c);
  Value *wa = widen(e, a), *wc = widen(e, c);
  Value* r = e.b.CreateFPTrunc(e.b.CreateFDiv(wa, wc), e.f32());
  Value* rest = e.b.CreateFSub(wa, e.b.CreateFMul(widen(e, r), wc));
  Value* zero = Emit::real(rest, 0);
  Value* negative = e.b.CreateFCmpOLT(wc, zero);
  Value* less = e.b.CreateFCmpOLT(rest, zero);
  Value* more = e.b.CreateFCmpOGT(rest, zero);
  return step(e, mode, r, e.b.CreateSelect(negative, more, less), e.b.CreateSelect(negative, less, more));
}
Value* sqrt_f32(Emit& e, RoundMode mode, Value* a) {
  if (mode == RoundMode::rn) return e.call(intrinsic::sqrt, {a});
  Value* wa = widen(e, a);
  Value* r = e.b.CreateFPTrunc(e.call(intrinsic::sqrt, {wa}), e.f32());
  Value* wr = widen(e, r);
  Value* square = e.b.CreateFMul(wr, wr);  // exact
  return step(e, mode, r, e.b.CreateFCmpOGT(square, wa), e.b.CreateFCmpOLT(square, wa));
}

// Name of the native f64 function for an operation and a directed mode.
std::string host_name(const char* op, RoundMode mode) {
  constexpr const char* kSuffix[] = {"rn", "rz", "rm", "rp", "rna"};
  return std::string("warploom.ref.") + op + "." + kSuffix[int(mode)] + ".f64";
}
Value* host_f64(Emit& e, const char* op, RoundMode mode, std::initializer_list<Value*> args) {
  return e.from_bits(call_host(e, host_name(op, mode), args, 64), e.f64());
}
Value* arith_f64(Emit& e, Op op, RoundMode mode) {
  const auto in = e.in;
  if (mode == RoundMode::rn) {
    if (op == Op::add) return e.b.CreateFAdd(in[0], in[1]);
    if (op == Op::sub) return e.b.CreateFSub(in[0], in[1]);
    if (op == Op::mul) return e.b.CreateFMul(in[0], in[1]);
    return e.call(intrinsic::fma, {in[0], in[1], in[2]});
  }
  if (op == Op::add) return host_f64(e, "add", mode, {in[0], in[1]});
  if (op == Op::sub) return host_f64(e, "sub", mode, {in[0], in[1]});
  if (op == Op::mul) return host_f64(e, "mul", mode, {in[0], in[1]});
  return host_f64(e, "fma", mode, {in[0], in[1], in[2]});
}

// The GPU's .ftz looks at the rounded result as if the exponent had no lower bound: that is what the same operation
// gives for operands 2^64 times as large. A tiny result has no operand that this makes infinite.
Value* scaled(Emit& e, Value* v) { return e.b.CreateFMul(v, Emit::real(v, 0x1p64)); }
Value* flush_tiny(Emit& e, Value* of_scaled, Value* r) {
  Value* size = e.call(intrinsic::fabs, {of_scaled});
  return zero_where(e, e.b.CreateFCmpOLT(size, Emit::real(size, 0x1p-62)), r);
}

}  // namespace

// Whether the exact value x, rounded to 24 bits with no lower bound of the exponent, is below the least normal f32:
// that is when the GPU flushes. Rounding to nearest reaches it from half a unit below, rounding away from any more than
// one unit below.
Value* is_tiny(Emit& e, RoundMode mode, Sum x) {
  constexpr double kNearest = 0x1p-126 - 0x1p-151, kCut = 0x1p-126, kAway = 0x1p-126 - 0x1p-150;
  Value* size = e.call(intrinsic::fabs, {x.value});
  Value* zero = Emit::real(size, 0);
  const auto below = [&](double bound, bool or_equal) {
    Value* limit = Emit::real(size, bound);
    Value* less = e.b.CreateFCmpOLT(size, limit);
    Value* equal = e.b.CreateFCmpOEQ(size, limit);
    if (x.error == nullptr) return or_equal ? e.b.CreateOr(less, equal) : less;
    Value* inwards = e.b.CreateFMul(x.error, e.call(intrinsic::copysign, {Emit::real(size, 1), x.value}));
    Value* inside = or_equal ? e.b.CreateFCmpOLE(inwards, zero) : e.b.CreateFCmpOLT(inwards, zero);
    return e.b.CreateOr(less, e.b.CreateAnd(equal, inside));
  };
  if (mode == RoundMode::rn) return below(kNearest, false);
  if (mode == RoundMode::rz) return below(kCut, false);
  Value* negative = e.b.CreateFCmpOLT(x.value, zero);
  Value *cut = below(kCut, false), *away = below(kAway, true);
  return mode == RoundMode::rm ? e.b.CreateSelect(negative, away, cut) : e.b.CreateSelect(negative, cut, away);
}
// A zero of v's sign where `which` is true.
Value* zero_where(Emit& e, Value* which, Value* v) {
  Value* bits = e.to_bits(v);
  return e.from_bits(e.b.CreateSelect(which, e.b.CreateAnd(bits, layout(v).sign), bits), v->getType());
}

RoundMode round_mode(const Emit& e) {
  switch (e.which({Mod::rz, Mod::rm, Mod::rp, Mod::rna, Mod::rzi, Mod::rmi, Mod::rpi})) {
    case 0:
    case 4: return RoundMode::rz;
    case 1:
    case 5: return RoundMode::rm;
    case 2:
    case 6: return RoundMode::rp;
    case 3: return RoundMode::rna;
    default: return RoundMode::rn;
  }
}

Value* flush(Emit& e, Value* v) {
  const Layout f = layout(v);
  Value* bits = e.to_bits(v);
  Value* zero_exponent = e.b.CreateICmpEQ(e.b.CreateAnd(bits, f.infinity), Emit::num(bits, 0));
  return e.from_bits(e.b.CreateSelect(zero_exponent, e.b.CreateAnd(bits, f.sign), bits), v->getType());
}
Value* flush_if(Emit& e, Value* v) {
  llvm::Type* t = v->getType()->getScalarType();
  return e.ftz() && (t->isFloatTy() || t->isHalfTy()) ? flush(e, v) : v;
}
Value* saturate(Emit& e, Value* v) {
  Value *zero = Emit::real(v, 0), *one = Emit::real(v, 1);
  v = e.b.CreateSelect(e.b.CreateFCmpOGT(v, zero), v, zero);
  return e.b.CreateSelect(e.b.CreateFCmpOLT(v, one), v, one);
}
Value* is_nan(Emit& e, Value* v) {
  const Layout f = layout(v);
  if (f.width > 16) return e.b.CreateFCmpUNO(v, v);
  Value* magnitude = e.b.CreateAnd(e.to_bits(v), f.sign - 1);
  return e.b.CreateICmpUGT(magnitude, Emit::num(magnitude, f.infinity));
}
Value* canonical_nan(Emit& e, Value* v) {
  const Layout f = layout(v);
  if (f.width == 64) return v;
  Value* bits = e.to_bits(v);
  return e.from_bits(e.b.CreateSelect(is_nan(e, v), Emit::num(bits, f.nan), bits), v->getType());
}
Value* finish(Emit& e, Value* v, bool exact) {
  v = flush_if(e, v);
  if (e.has(Mod::sat)) return saturate(e, v);
  return exact ? canonical_nan(e, v) : v;
}

Value* step(Emit& e, RoundMode mode, Value* r, Value* x_below_r, Value* x_above_r) {
  if (mode == RoundMode::rn) return r;
  Value* bits = e.to_bits(r);
  Value* negative = e.b.CreateICmpSLT(bits, Emit::num(bits, 0));
  Value *plus = e.b.CreateAdd(bits, Emit::num(bits, 1)), *minus = e.b.CreateAdd(bits, Emit::ones(bits));
  Value* stepped = nullptr;
  if (mode == RoundMode::rz) {
    Value* too_large = e.b.CreateSelect(negative, x_above_r, x_below_r);
    stepped = e.b.CreateSelect(too_large, minus, bits);
  } else if (mode == RoundMode::rm) {
    stepped = e.b.CreateSelect(x_below_r, e.b.CreateSelect(negative, plus, minus), bits);
  } else {
    stepped = e.b.CreateSelect(x_above_r, e.b.CreateSelect(negative, minus, plus), bits);
  }
  return e.from_bits(stepped, r->getType());
}

Sum two_sum(Emit& e, Value* a, Value* c) {
  Value* s = e.b.CreateFAdd(a, c);
  Value* c1 = e.b.CreateFSub(s, a);
  Value* a1 = e.b.CreateFSub(s, c1);
  return {s, e.b.CreateFAdd(e.b.CreateFSub(a, a1), e.b.CreateFSub(c, c1))};
}

Value* to_f32_odd(Emit& e, Value* v) {
  Value* r = e.b.CreateFPTrunc(v, e.f32());
  Value* wide = widen(e, r);
  Value* inexact = e.b.CreateFCmpONE(wide, v);
  Value* cut = step(e, RoundMode::rz, r, e.b.CreateFCmpOGT(wide, v), e.b.CreateFCmpOLT(wide, v));
  Value* bits = e.to_bits(cut);
  return e.from_bits(e.b.CreateOr(bits, e.b.CreateZExt(inexact, bits->getType())), r->getType());
}

bool emit_float_arith(Emit& e) {
  const Type t = e.type();
  if (is_half(t)) return emit_half(e);
  Op op = e.instr.op == Op::mad ? Op::fma : e.instr.op;
  const RoundMode mode = round_mode(e);
  if (t == Type::f64) return e.done(arith_f64(e, op, mode));
  Value *a = flush_if(e, e.in[0]), *c = flush_if(e, e.in[1]);
  Value* d = op == Op::fma ? flush_if(e, e.in[2]) : nullptr;
  const auto compute = [&](Value* x, Value* z) {
    if (op == Op::fma) return fma_f32(e, mode, x, c, z);
    if (op == Op::mul) return mul_f32(e, mode, x, c);
    if (op == Op::sub && mode == RoundMode::rn) return e.b.CreateFSub(x, c);
    return add_f32(e, mode, x, op == Op::sub ? e.b.CreateFNeg(c) : c);
  };
  Value* r = compute(a, d);
  // Sums of normal numbers are exact where they are tiny.
  if (e.ftz() && op != Op::add && op != Op::sub) {
    r = flush_tiny(e, compute(scaled(e, a), d != nullptr ? scaled(e, d) : nullptr), r);
  }
  return e.done(finish(e, r, e.env.exact));
}

bool emit_float_min_max(Emit& e) {
  const Type t = e.type();
  const bool max = e.instr.op == Op::max;
  Value *a = flush_if(e, e.in[0]), *c = flush_if(e, e.in[1]);
  if (is_half(t)) a = half_to_f32(e, a), c = half_to_f32(e, c);
  Value* sign = nullptr;
  if (e.has(Mod::xorsign_abs)) {
    sign = e.b.CreateAnd(e.b.CreateXor(e.to_bits(a), e.to_bits(c)), layout(a).sign);
    a = e.call(intrinsic::fabs, {a});
    c = e.call(intrinsic::fabs, {c});
  }
  intrinsic::ID id = max ? intrinsic::maximumnum : intrinsic::minimumnum;
  if (e.has(Mod::NaN)) id = max ? intrinsic::maximum : intrinsic::minimum;
  Value* r = e.call(id, {a, c});
  if (sign != nullptr) {
    // A NaN result keeps its pattern: the sign is merged before it is made canonical.
    r = e.from_bits(e.b.CreateOr(e.b.CreateAnd(e.to_bits(r), layout(r).sign - 1), sign), r->getType());
  }
  if (e.has(Mod::relu)) r = e.b.CreateSelect(e.b.CreateFCmpOLT(r, Emit::real(r, 0)), Emit::real(r, 0), r);
  return e.done(is_half(t) ? f32_to_half(e, r, t, RoundMode::rz) : canonical_nan(e, r));
}

bool emit_float_div(Emit& e) {
  const RoundMode mode = round_mode(e);
  if (e.type() == Type::f64) {
    return e.done(mode == RoundMode::rn ? e.b.CreateFDiv(e.in[0], e.in[1])
                                        : host_f64(e, "div", mode, {e.in[0], e.in[1]}));
  }
  Value *a = flush_if(e, e.in[0]), *c = flush_if(e, e.in[1]);
  Value* r = div_f32(e, mode, a, c);
  if (e.ftz() && !e.has(Mod::approx) && !e.has(Mod::full)) r = flush_tiny(e, div_f32(e, mode, scaled(e, a), c), r);
  if (e.has(Mod::approx)) {
    // A divisor beyond 2^126 has a reciprocal that the GPU flushes: a finite a gives 0, an infinite one NaN.
    Value* size = e.call(intrinsic::fabs, {c});
    Value* huge = e.b.CreateAnd(e.b.CreateFCmpOGT(size, Emit::real(size, 0x1p126)),
                                e.b.CreateFCmpOLT(size, llvm::ConstantFP::getInfinity(size->getType())));
    Value* zero = e.call(intrinsic::copysign, {Emit::real(c, 0), c});
    r = e.b.CreateSelect(huge, e.b.CreateFMul(a, zero), r);
  }
  return e.done(finish(e, r, true));
}

bool emit_rcp(Emit& e) {
  const RoundMode mode = round_mode(e);
  Value* a = e.in[0];
  if (e.type() == Type::f64) {
    if (e.has(Mod::approx)) {  // reads and writes the upper word only
      Value* word = Emit::num(e.to_bits(a), 0xffffffff00000000u);
      const auto upper = [&](Value* v) { return e.from_bits(e.b.CreateAnd(e.to_bits(flush(e, v)), word), e.f64()); };
      return e.done(upper(e.b.CreateFDiv(Emit::real(a, 1), upper(a))));
    }
    Value* one = Emit::real(a, 1);
    return e.done(mode == RoundMode::rn ? e.b.CreateFDiv(one, a) : host_f64(e, "div", mode, {one, a}));
  }
  a = flush_if(e, a);
  Value* r = div_f32(e, mode, Emit::real(a, 1), a);
  if (e.ftz() && !e.has(Mod::approx)) r = flush_tiny(e, div_f32(e, mode, Emit::real(a, 0x1p64), a), r);
  return e.done(finish(e, r, true));
}

bool emit_sqrt(Emit& e) {
  const RoundMode mode = round_mode(e);
  if (e.type() == Type::f64) {
    return e.done(mode == RoundMode::rn ? e.call(intrinsic::sqrt, {e.in[0]}) : host_f64(e, "sqrt", mode, {e.in[0]}));
  }
  return e.done(finish(e, sqrt_f32(e, mode, flush_if(e, e.in[0])), true));
}

}  // namespace warploom::codegen
