// 16-bit floats: conversion to and from f32 without library calls, and arithmetic with one rounding.
#include "codegen/ops_emit.hpp"
#include "isa/ref/float.hpp"

namespace warploom::codegen {

using isa::Mod;
using isa::Op;
using isa::Type;
namespace intrinsic = llvm::Intrinsic;

namespace {

// The sum rounded to odd in its own format: a later rounding to two bits fewer, or less, is then exact.
Value* odd(Emit& e, Sum x) {
  Value* zero = Emit::real(x.error, 0);
  Value* bits = e.to_bits(x.value);
  Value* inexact = e.b.CreateFCmpONE(x.error, zero);
  Value* negative = e.b.CreateICmpSLT(bits, Emit::num(bits, 0));
  Value* towards_zero = e.b.CreateICmpNE(negative, e.b.CreateFCmpOLT(x.error, zero));
  Value* cut = e.b.CreateSelect(e.b.CreateAnd(inexact, towards_zero), e.b.CreateAdd(bits, Emit::ones(bits)), bits);
  return e.from_bits(e.b.CreateOr(cut, e.b.CreateZExt(inexact, bits->getType())), x.value->getType());
}

// The exact result rounded to f32 so that rounding it again to f16 is exact. Products of f16 are exact in f32, and for
// sums and products of numbers with 11 bits, 24 bits are enough for a double rounding to be harmless.
Value* arith_f16(Emit& e, Op op, Value* a, Value* c, Value* d) {
  if (op == Op::add) return e.b.CreateFAdd(a, c);
  if (op == Op::sub) return e.b.CreateFSub(a, c);
  Value* product = e.b.CreateFMul(a, c);
  return op == Op::mul ? product : odd(e, two_sum(e, product, d));
}
// bf16 has the range of f32, so products go through f64.
Value* arith_bf16(Emit& e, Op op, Value* a, Value* c, Value* d) {
  if (op == Op::add) return e.b.CreateFAdd(a, c);
  if (op == Op::sub) return e.b.CreateFSub(a, c);
  const auto wide = [&](Value* v) { return e.b.CreateFPExt(v, e.f64()); };
  Value* product = e.b.CreateFMul(wide(a), wide(c));
  return to_f32_odd(e, op == Op::mul ? product : odd(e, two_sum(e, product, wide(d))));
}

}  // namespace

Value* half_to_f32(Emit& e, Value* v) {
  if (v->getType()->getScalarType()->isHalfTy()) return e.b.CreateFPExt(v, e.f32());
  Value* bits = e.b.CreateZExt(e.to_bits(v), e.ints(32));
  return e.from_bits(e.b.CreateShl(bits, 16), e.f32());
}

Value* f32_to_half(Emit& e, Value* v, Type to, RoundMode mode, bool keep_nan) {
  llvm::Type* t = e.of(to);
  if (to == Type::f16) {
    Value* r = e.b.CreateFPTrunc(v, t);
    if (mode != RoundMode::rn) {
      Value* back = e.b.CreateFPExt(r, e.f32());
      r = step(e, mode, r, e.b.CreateFCmpOGT(back, v), e.b.CreateFCmpOLT(back, v));
    }
    return keep_nan ? r : canonical_nan(e, r);
  }
  Value* bits = e.to_bits(v);
  Value* up = Emit::num(bits, 0);
  Value* negative = e.b.CreateICmpSLT(bits, Emit::num(bits, 0));
  switch (mode) {
    case RoundMode::rn: up = e.b.CreateAdd(e.b.CreateAnd(e.b.CreateLShr(bits, 16), 1), Emit::num(bits, 0x7fff)); break;
    case RoundMode::rna: up = Emit::num(bits, 0x8000); break;
    case RoundMode::rm: up = e.b.CreateSelect(negative, Emit::num(bits, 0xffff), up); break;
    case RoundMode::rp: up = e.b.CreateSelect(negative, up, Emit::num(bits, 0xffff)); break;
    case RoundMode::rz: break;
  }
  Value* r = e.b.CreateLShr(e.b.CreateAdd(bits, up), 16);
  Value* nan = keep_nan ? e.b.CreateLShr(bits, 16) : Emit::num(r, 0x7fff);
  r = e.b.CreateSelect(is_nan(e, v), nan, r);
  return e.from_bits(e.b.CreateTrunc(r, e.ints(16)), t);
}

bool emit_half(Emit& e) {
  const Type t = e.type();
  const Op op = e.instr.op;
  Value* x[3] = {};
  for (std::size_t i = 0; i < e.in.size() && i < 3; ++i) x[i] = half_to_f32(e, flush_if(e, e.in[i]));
  Value* r = t == Type::f16 ? arith_f16(e, op, x[0], x[1], x[2]) : arith_bf16(e, op, x[0], x[1], x[2]);
  if (e.has(Mod::sat)) r = saturate(e, r);
  if (e.has(Mod::relu)) r = e.b.CreateSelect(e.b.CreateFCmpOLE(r, Emit::real(r, 0)), Emit::real(r, 0), r);
  if (e.ftz()) {  // what 11 bits would round below the least normal number; bf16 has no .ftz
    Value* tiny = e.b.CreateFCmpOLT(e.call(intrinsic::fabs, {r}), Emit::real(r, 0x1p-14 - 0x1p-26));
    r = e.b.CreateSelect(tiny, e.call(intrinsic::copysign, {Emit::real(r, 0), r}), r);
  }
  Value* result = f32_to_half(e, r, t, RoundMode::rn);
  if (e.has(Mod::oob)) {
    const auto outside = [&](Value* v) {
      Value* bits = e.to_bits(v);
      return e.b.CreateICmpEQ(e.b.CreateAnd(bits, Emit::num(bits, 0x7fff)), Emit::num(bits, isa::ref::kOutOfBounds));
    };
    result = e.b.CreateSelect(e.b.CreateOr(outside(e.in[0]), outside(e.in[1])),
                              llvm::Constant::getNullValue(result->getType()), result);
  }
  return e.done(result);
}

}  // namespace warploom::codegen
