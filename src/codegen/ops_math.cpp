// The approximate functions as branch-free polynomials, inside the error bounds of the PTX manual.
#include <limits>

#include "codegen/ops_emit.hpp"

namespace warploom::codegen {

using isa::Mod;
using isa::Type;
namespace intrinsic = llvm::Intrinsic;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
// Adding this leaves the nearest integer in the low bits of the sum, for magnitudes below 2^22.
constexpr float kMagic = 0x1.8p23f;
constexpr std::uint64_t kMagicBits = 0x4b400000;

Value* fma(Emit& e, Value* a, Value* c, Value* d) { return e.call(intrinsic::fma, {a, c, d}); }

// c[0] + x * (c[1] + x * (...)).
Value* polynomial(Emit& e, Value* x, std::initializer_list<float> c) {
  const float* last = c.end() - 1;
  Value* r = Emit::real(x, *last);
  while (last != c.begin()) r = fma(e, r, x, Emit::real(x, *--last));
  return r;
}
Value* clamp(Emit& e, Value* v, float low, float high) {  // keeps NaN
  v = e.b.CreateSelect(e.b.CreateFCmpOLT(v, Emit::real(v, low)), Emit::real(v, low), v);
  return e.b.CreateSelect(e.b.CreateFCmpOGT(v, Emit::real(v, high)), Emit::real(v, high), v);
}
Value* power_of_two(Emit& e, Value* n) {
  return e.from_bits(e.b.CreateShl(e.b.CreateAdd(n, Emit::num(n, 127)), 23), e.f32());
}

// 2^x = 2^n * 2^f with |f| <= 1/2. The scale is applied in two halves so that subnormal results round once.
Value* exp2(Emit& e, Value* x) {
  x = clamp(e, x, -152, 129);
  Value* shifted = e.b.CreateFAdd(x, Emit::real(x, kMagic));
  Value* f = e.b.CreateFSub(x, e.b.CreateFSub(shifted, Emit::real(x, kMagic)));
  Value* n = e.to_bits(shifted);
  n = e.b.CreateSub(n, Emit::num(n, kMagicBits));
  Value* q =
      polynomial(e, f, {0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6af6cp-5f, 0x1.3b2a54p-7f, 0x1.5f089p-10f, 0x1.44138ap-13f});
  Value* p = fma(e, q, f, Emit::real(x, 1));
  Value* half = e.b.CreateAShr(n, 1);
  p = e.b.CreateFMul(p, power_of_two(e, half));
  return e.b.CreateFMul(p, power_of_two(e, e.b.CreateSub(n, half)));
}

// log2(x) = exponent + r * g(r) with 1 + r in [sqrt(1/2), sqrt(2)).
Value* log2(Emit& e, Value* x) {
  Value* tiny = e.b.CreateFCmpOLT(x, Emit::real(x, 0x1p-126));
  Value* y = e.b.CreateSelect(tiny, e.b.CreateFMul(x, Emit::real(x, 0x1p23)), x);
  Value* bits = e.to_bits(y);
  Value* n = e.b.CreateAShr(e.b.CreateSub(bits, Emit::num(bits, 0x3f3504f3)), 23);
  Value* m = e.from_bits(e.b.CreateSub(bits, e.b.CreateShl(n, 23)), e.f32());
  Value* r = e.b.CreateFSub(m, Emit::real(m, 1));
  Value* g = polynomial(e, r,
                        {0x1.715476p+0f, -0x1.71547p-1f, 0x1.ec70aap-2f, -0x1.715a7p-2f, 0x1.277a52p-2f,
                         -0x1.eab7aap-3f, 0x1.a38c68p-3f, -0x1.87f6a2p-3f, 0x1.7a63ap-3f, -0x1.b84fb6p-4f});
  Value* exponent = e.b.CreateSIToFP(n, e.f32());
  exponent = e.b.CreateFSub(exponent, e.b.CreateSelect(tiny, Emit::real(x, 23), Emit::real(x, 0)));
  Value* result = fma(e, r, g, exponent);
  Value* zero = Emit::real(x, 0);
  result = e.b.CreateSelect(e.b.CreateFCmpOEQ(x, zero), Emit::real(x, -kInf), result);
  result = e.b.CreateSelect(e.b.CreateFCmpOEQ(x, Emit::real(x, kInf)), x, result);
  return e.b.CreateSelect(e.b.CreateFCmpULT(x, zero), Emit::real(x, std::numeric_limits<double>::quiet_NaN()), result);
}

// x = q * pi/2 + r in three steps with exact products, good to |x| of about 2^20; beyond, the result is only kept in
// [-1, 1].
Value* sine(Emit& e, Value* x, bool cosine) {
  Value* shifted = fma(e, x, Emit::real(x, 0x1.45f306p-1), Emit::real(x, kMagic));
  Value* n = e.b.CreateFSub(shifted, Emit::real(x, kMagic));
  Value* minus = e.b.CreateFNeg(n);
  Value* r = fma(e, minus, Emit::real(x, 0x1.921fb6p+0), x);
  r = fma(e, minus, Emit::real(x, -0x1.777a5cp-25), r);
  r = fma(e, minus, Emit::real(x, -0x1.ee58p-50), r);
  r = e.b.CreateSelect(e.b.CreateFCmpOEQ(n, Emit::real(n, 0)), x, r);  // keeps -0
  r = clamp(e, r, -1, 1);
  Value* z = e.b.CreateFMul(r, r);
  Value* s = polynomial(e, z, {-0x1.555556p-3f, 0x1.11110ep-7f, -0x1.a01388p-13f, 0x1.6db388p-19f});
  s = e.b.CreateFMul(r, fma(e, s, z, Emit::real(z, 1)));  // keeps -0
  Value* c = polynomial(e, z, {0x1.555554p-5f, -0x1.6c12bep-10f, 0x1.9bcdc6p-16f});
  c = fma(e, e.b.CreateFMul(c, z), z, fma(e, z, Emit::real(z, -0.5), Emit::real(z, 1)));
  Value* q = e.to_bits(shifted);
  if (cosine) q = e.b.CreateAdd(q, Emit::num(q, 1));
  Value* odd = e.b.CreateICmpNE(e.b.CreateAnd(q, 1), Emit::num(q, 0));
  Value* result = e.to_bits(e.b.CreateSelect(odd, c, s));
  Value* sign = e.b.CreateShl(e.b.CreateAnd(q, 2), 30);
  return e.from_bits(e.b.CreateXor(result, sign), e.f32());
}

Value* tanh(Emit& e, Value* x) {
  Value* z = e.b.CreateFMul(x, x);
  Value* p = polynomial(e, z, {-0x1.555554p-2f, 0x1.110eep-3f, -0x1.b955dcp-5f, 0x1.59e1c8p-6f, -0x1.9ada6p-8f});
  Value* small = e.b.CreateFMul(x, fma(e, p, z, Emit::real(z, 1)));  // keeps -0
  Value* size = e.call(intrinsic::fabs, {x});
  Value* power = exp2(e, e.b.CreateFMul(size, Emit::real(x, 0x1.715476p+1)));
  Value* one = Emit::real(x, 1);
  Value* large = e.b.CreateFSub(one, e.b.CreateFDiv(Emit::real(x, 2), e.b.CreateFAdd(power, one)));
  large = e.call(intrinsic::copysign, {large, x});
  return e.b.CreateSelect(e.b.CreateFCmpOLT(size, Emit::real(x, 0.6)), small, large);
}

template <typename Function>
bool unary(Emit& e, Function f) {
  const Type t = e.type();
  if (is_half(t)) {
    Value* a = flush_if(e, e.in[0]);
    if (e.ftz() && t == Type::bf16) a = flush(e, a);
    Value* r = f32_to_half(e, f(half_to_f32(e, a)), t, RoundMode::rn);
    return e.done(e.ftz() ? flush(e, r) : r);
  }
  return e.done(finish(e, f(flush_if(e, e.in[0])), true));
}

}  // namespace

bool emit_ex2(Emit& e) {
  return unary(e, [&](Value* x) { return exp2(e, x); });
}
bool emit_lg2(Emit& e) {
  return unary(e, [&](Value* x) { return log2(e, x); });
}
bool emit_sin(Emit& e) {
  return unary(e, [&](Value* x) { return sine(e, x, false); });
}
bool emit_cos(Emit& e) {
  return unary(e, [&](Value* x) { return sine(e, x, true); });
}
bool emit_tanh(Emit& e) {
  return unary(e, [&](Value* x) { return tanh(e, x); });
}

bool emit_rsqrt(Emit& e) {
  Value* a = e.in[0];
  if (e.type() == Type::f64) {
    const bool upper = e.ftz();
    const auto cut = [&](Value* v) {
      if (!upper) return v;
      Value* bits = e.to_bits(flush(e, v));
      return e.from_bits(e.b.CreateAnd(bits, 0xffffffff00000000u), e.f64());
    };
    Value* root = e.call(intrinsic::sqrt, {cut(a)});
    return e.done(cut(e.b.CreateFDiv(Emit::real(a, 1), root)));
  }
  Value* root = e.call(intrinsic::sqrt, {flush_if(e, a)});
  return e.done(finish(e, e.b.CreateFDiv(Emit::real(a, 1), root), true));
}

}  // namespace warploom::codegen
