// Integer arithmetic; the operations that floats share hand over to ops_float.cpp.
#include "codegen/ops_emit.hpp"

namespace warploom::codegen {

using isa::Mod;
using isa::Type;
namespace intrinsic = llvm::Intrinsic;

namespace {

bool is_real(Type t) { return isa::is_float(t); }

// Product at twice the width.
Value* wide_product(Emit& e, Value* a, Value* c, bool is_signed) {
  llvm::Type* t = e.ints(2 * Emit::width(a));
  const auto extend = [&](Value* v) { return is_signed ? e.b.CreateSExt(v, t) : e.b.CreateZExt(v, t); };
  return e.b.CreateMul(extend(a), extend(c));
}
Value* high_product(Emit& e, Value* a, Value* c, bool is_signed) {
  const unsigned w = Emit::width(a);
  return e.b.CreateTrunc(e.b.CreateLShr(wide_product(e, a, c, is_signed), w), e.ints(w));
}
// .lo, .hi or .wide product of the first two operands.
Value* product(Emit& e) {
  const bool s = isa::is_signed(e.type());
  if (e.has(Mod::wide)) return wide_product(e, e.in[0], e.in[1], s);
  if (e.has(Mod::hi)) return high_product(e, e.in[0], e.in[1], s);
  return e.b.CreateMul(e.in[0], e.in[1]);
}

struct WithCarry {
  Value *value, *carry;
};
WithCarry add_with_carry(Emit& e, Value* a, Value* c, Value* carry_in) {
  Value* sum = e.b.CreateAdd(a, c);
  Value* out = e.b.CreateICmpULT(sum, a);
  if (carry_in == nullptr) return {sum, out};
  Value* total = e.b.CreateAdd(sum, e.b.CreateZExt(carry_in, a->getType()));
  return {total, e.b.CreateOr(out, e.b.CreateICmpULT(total, sum))};
}
// The flag is the carry of a + ~c + 1: set when nothing is borrowed, which an addc that follows sees too.
WithCarry sub_with_carry(Emit& e, Value* a, Value* c, Value* carry_in) {
  Value* difference = e.b.CreateSub(a, c);
  Value* out = e.b.CreateICmpUGE(a, c);
  if (carry_in == nullptr) return {difference, out};
  Value* borrow = e.b.CreateZExt(e.b.CreateNot(carry_in), a->getType());
  return {e.b.CreateSub(difference, borrow), e.b.CreateAnd(out, e.b.CreateICmpUGE(difference, borrow))};
}
bool finish_carry(Emit& e, WithCarry r) {
  e.done(r.value);
  return e.has(Mod::cc) ? e.done(r.carry) : true;
}

// Quotient or remainder for a divisor that is neither zero nor makes the quotient overflow.
struct Division {
  Value *quotient, *remainder;
};
// In vectors a quotient of 32 bits or fewer goes through doubles: a / b is at least 1 / b away from the next integer
// and a double's rounding is far smaller than that.
Value* quotient(Emit& e, Value* a, Value* d, bool is_signed) {
  if (e.env.lanes > 1 && Emit::width(a) <= 32 && !llvm::isa<llvm::Constant>(d)) {
    llvm::Type* t = a->getType();
    if (is_signed) {
      Value* q = e.b.CreateFDiv(e.b.CreateSIToFP(a, e.f64()), e.b.CreateSIToFP(d, e.f64()));
      return e.b.CreateFPToSI(q, t);
    }
    Value* q = e.b.CreateFDiv(e.b.CreateUIToFP(a, e.f64()), e.b.CreateUIToFP(d, e.f64()));
    return e.b.CreateFPToUI(q, t);
  }
  return is_signed ? e.b.CreateSDiv(a, d) : e.b.CreateUDiv(a, d);
}
// Zero divisors give all ones. -1 is taken out of signed divisions, where MIN / -1 would trap.
bool divide(Emit& e, bool want_quotient) {
  Value *a = e.in[0], *d = e.in[1];
  const bool s = isa::is_signed(e.type());
  Value* zero = e.b.CreateICmpEQ(d, Emit::num(d, 0));
  Value* minus_one = s ? e.b.CreateICmpEQ(d, Emit::ones(d)) : nullptr;
  Value* special = s ? e.b.CreateOr(zero, minus_one) : zero;
  Value* safe = e.b.CreateSelect(special, Emit::num(d, 1), d);
  Value* q = quotient(e, a, safe, s);
  Value* r = want_quotient ? q : e.b.CreateSub(a, e.b.CreateMul(q, safe));
  if (s && want_quotient) r = e.b.CreateSelect(minus_one, e.b.CreateNeg(a), r);  // the remainder by 1 is 0 already
  return e.done(e.b.CreateSelect(zero, Emit::ones(r), r));
}

Value* low24(Emit& e, Value* v, bool is_signed) {
  Value* up = e.b.CreateShl(v, 8);
  return is_signed ? e.b.CreateAShr(up, 8) : e.b.CreateLShr(up, 8);
}
Value* product24(Emit& e) {
  const bool s = isa::is_signed(e.type());
  Value *a = low24(e, e.in[0], s), *c = low24(e, e.in[1], s);
  if (!e.has(Mod::hi)) return e.b.CreateMul(a, c);
  return e.b.CreateTrunc(e.b.CreateLShr(wide_product(e, a, c, s), 16), e.ints(32));
}

// Element i, of `bits` bits, of a 32-bit word, extended to 32 bits.
Value* part(Emit& e, Value* word, unsigned i, unsigned bits, bool is_signed) {
  Value* top = e.b.CreateShl(word, 32 - bits * (i + 1));
  return is_signed ? e.b.CreateAShr(top, 32 - bits) : e.b.CreateLShr(top, 32 - bits);
}

}  // namespace

bool emit_add(Emit& e) {
  if (is_real(e.type())) return emit_float_arith(e);
  if (e.has(Mod::cc)) return finish_carry(e, add_with_carry(e, e.in[0], e.in[1], nullptr));
  if (e.has(Mod::sat)) return e.done(e.call(intrinsic::sadd_sat, {e.in[0], e.in[1]}));
  return e.done(e.b.CreateAdd(e.in[0], e.in[1]));
}

bool emit_sub(Emit& e) {
  if (is_real(e.type())) return emit_float_arith(e);
  if (e.has(Mod::cc)) return finish_carry(e, sub_with_carry(e, e.in[0], e.in[1], nullptr));
  if (e.has(Mod::sat)) return e.done(e.call(intrinsic::ssub_sat, {e.in[0], e.in[1]}));
  return e.done(e.b.CreateSub(e.in[0], e.in[1]));
}

bool emit_add_carry(Emit& e) { return finish_carry(e, add_with_carry(e, e.in[0], e.in[1], e.in[2])); }
bool emit_sub_borrow(Emit& e) { return finish_carry(e, sub_with_carry(e, e.in[0], e.in[1], e.in[2])); }

bool emit_mul(Emit& e) { return is_real(e.type()) ? emit_float_arith(e) : e.done(product(e)); }

bool emit_mad(Emit& e) {
  if (is_real(e.type())) return emit_float_arith(e);
  Value* p = product(e);
  if (e.has(Mod::cc)) return finish_carry(e, add_with_carry(e, p, e.in[2], nullptr));
  if (e.has(Mod::sat)) return e.done(e.call(intrinsic::sadd_sat, {p, e.in[2]}));
  return e.done(e.b.CreateAdd(p, e.in[2]));
}
bool emit_mad_carry(Emit& e) { return finish_carry(e, add_with_carry(e, product(e), e.in[2], e.in[3])); }

bool emit_fma(Emit& e) { return emit_float_arith(e); }

bool emit_mul24(Emit& e) { return e.done(product24(e)); }
bool emit_mad24(Emit& e) {
  Value* p = product24(e);
  if (e.has(Mod::sat)) return e.done(e.call(intrinsic::sadd_sat, {p, e.in[2]}));
  return e.done(e.b.CreateAdd(p, e.in[2]));
}

bool emit_sad(Emit& e) {
  Value *a = e.in[0], *c = e.in[1];
  Value* less = isa::is_signed(e.type()) ? e.b.CreateICmpSLT(a, c) : e.b.CreateICmpULT(a, c);
  Value* distance = e.b.CreateSelect(less, e.b.CreateSub(c, a), e.b.CreateSub(a, c));
  return e.done(e.b.CreateAdd(e.in[2], distance));
}

bool emit_div(Emit& e) { return is_real(e.type()) ? emit_float_div(e) : divide(e, true); }
bool emit_rem(Emit& e) { return divide(e, false); }

bool emit_min_max(Emit& e) {
  if (is_real(e.type())) return emit_float_min_max(e);
  const bool max = e.instr.op == isa::Op::max, s = isa::is_signed(e.type());
  const auto id = max ? (s ? intrinsic::smax : intrinsic::umax) : (s ? intrinsic::smin : intrinsic::umin);
  Value* r = e.call(id, {e.in[0], e.in[1]});
  if (e.has(Mod::relu)) r = e.call(intrinsic::smax, {r, Emit::num(r, 0)});
  return e.done(r);
}

// neg and abs of a float work on the sign bit; a NaN that is not f64's becomes the format's own.
bool emit_neg(Emit& e) {
  if (!is_real(e.type())) return e.done(e.b.CreateNeg(e.in[0]));
  Value* bits = e.to_bits(flush_if(e, e.in[0]));
  Value* sign = Emit::num(bits, std::uint64_t(1) << (Emit::width(bits) - 1));
  Value* r = e.from_bits(e.b.CreateXor(bits, sign), e.in[0]->getType());
  return e.done(e.env.exact || is_half(e.type()) ? canonical_nan(e, r) : r);
}
bool emit_abs(Emit& e) {
  if (is_real(e.type())) {
    Value* bits = e.to_bits(flush_if(e, e.in[0]));
    Value* sign = Emit::num(bits, std::uint64_t(1) << (Emit::width(bits) - 1));
    Value* r = e.from_bits(e.b.CreateAnd(bits, e.b.CreateNot(sign)), e.in[0]->getType());
    return e.done(e.env.exact || is_half(e.type()) ? canonical_nan(e, r) : r);
  }
  Value* a = e.in[0];
  return e.done(e.b.CreateSelect(e.b.CreateICmpSLT(a, Emit::num(a, 0)), e.b.CreateNeg(a), a));
}

bool emit_dp4a(Emit& e) {
  Value* sum = e.in[2];
  for (unsigned i = 0; i < 4; ++i) {
    Value* a = part(e, e.in[0], i, 8, isa::is_signed(e.type(0)));
    Value* c = part(e, e.in[1], i, 8, isa::is_signed(e.type(1)));
    sum = e.b.CreateAdd(sum, e.b.CreateMul(a, c));
  }
  return e.done(sum);
}
bool emit_dp2a(Emit& e) {
  Value* sum = e.in[2];
  const unsigned first = e.has(Mod::hi) ? 2 : 0;
  for (unsigned i = 0; i < 2; ++i) {
    Value* a = part(e, e.in[0], i, 16, isa::is_signed(e.type(0)));
    Value* c = part(e, e.in[1], first + i, 8, isa::is_signed(e.type(1)));
    sum = e.b.CreateAdd(sum, e.b.CreateMul(a, c));
  }
  return e.done(sum);
}

}  // namespace warploom::codegen
