// cvt between integers, floats, packed and 8-bit formats.
#include <cmath>
#include <string>

#include "codegen/ops_emit.hpp"

namespace warploom::codegen {

using isa::Mod;
using isa::Type;
namespace intrinsic = llvm::Intrinsic;

namespace {

bool is_real(Type t) { return isa::is_float(t); }

Value* clamp_signed(Emit& e, Value* v, std::int64_t low, std::int64_t high) {
  v = e.call(intrinsic::smax, {v, llvm::ConstantInt::getSigned(v->getType(), low)});
  return e.call(intrinsic::smin, {v, llvm::ConstantInt::getSigned(v->getType(), high)});
}
std::uint64_t max_unsigned(unsigned width) { return ~std::uint64_t(0) >> (64 - width); }
std::int64_t max_signed(unsigned width) { return std::int64_t(max_unsigned(width) >> 1); }

Value* integer_to_integer(Emit& e, Type to, Type from, Value* v) {
  const bool from_signed = isa::is_signed(from), to_signed = isa::is_signed(to);
  const unsigned to_bits = isa::bits(to), from_bits = isa::bits(from);
  if (e.has(Mod::sat)) {
    if (from_signed && !to_signed) v = e.call(intrinsic::smax, {v, Emit::num(v, 0)});
    if (from_signed && to_signed && to_bits < from_bits) {
      v = clamp_signed(e, v, -max_signed(to_bits) - 1, max_signed(to_bits));
    } else if (!to_signed && to_bits < from_bits) {
      v = e.umin(v, Emit::num(v, max_unsigned(to_bits)));
    } else if (!from_signed && to_signed && to_bits <= from_bits) {
      v = e.umin(v, Emit::num(v, std::uint64_t(max_signed(to_bits))));
    }
  }
  return from_signed ? e.b.CreateSExtOrTrunc(v, e.ints(to_bits)) : e.b.CreateZExtOrTrunc(v, e.ints(to_bits));
}

// An integer as sign and a float magnitude cut to `precision` bits: exact, plus whether bits were lost.
struct Cut {
  Value *value, *inexact;
};
Cut cut_integer(Emit& e, Value* v, bool is_signed, unsigned precision, llvm::Type* to) {
  const unsigned w = Emit::width(v);
  Value* zero = Emit::num(v, 0);
  Value* negative = is_signed ? e.b.CreateICmpSLT(v, zero) : nullptr;
  Value* m = negative != nullptr ? e.b.CreateSelect(negative, e.b.CreateNeg(v), v) : v;
  Value* zeros = e.call(intrinsic::ctlz, {m, e.b.getFalse()});
  Value* top = e.b.CreateSub(Emit::num(v, w), e.umin(zeros, Emit::num(v, w - precision)));  // significant bits or less
  Value* drop = e.b.CreateSub(top, Emit::num(v, precision));
  Value* lost = e.b.CreateNot(e.b.CreateShl(Emit::ones(v), drop));
  Value* inexact = e.b.CreateICmpNE(e.b.CreateAnd(m, lost), zero);
  Value* r = e.b.CreateUIToFP(e.b.CreateAnd(m, e.b.CreateNot(lost)), to);
  if (negative != nullptr) r = e.b.CreateSelect(negative, e.b.CreateFNeg(r), r);
  return {r, inexact};
}

Value* integer_to_float(Emit& e, Type to, Type from, Value* v) {
  const bool s = isa::is_signed(from);
  const RoundMode mode = round_mode(e);
  const auto direct = [&](llvm::Type* t) { return s ? e.b.CreateSIToFP(v, t) : e.b.CreateUIToFP(v, t); };
  const unsigned precision = to == Type::f64 ? 53 : 24;
  const bool exact = isa::bits(from) <= precision;
  llvm::Type* t = to == Type::f64 ? e.f64() : e.f32();
  if (is_half(to)) {
    if (exact) return f32_to_half(e, direct(t), to, mode);
    const Cut c = cut_integer(e, v, s, precision, t);
    Value* bits = e.to_bits(c.value);
    Value* odd = e.b.CreateOr(bits, e.b.CreateZExt(c.inexact, bits->getType()));
    return f32_to_half(e, e.from_bits(odd, t), to, mode);
  }
  if (exact || mode == RoundMode::rn) return direct(t);
  const Cut c = cut_integer(e, v, s, precision, t);
  Value* bits = e.to_bits(c.value);
  Value* negative = e.b.CreateICmpSLT(bits, Emit::num(bits, 0));
  return step(e, mode, c.value, e.b.CreateAnd(c.inexact, negative), e.b.CreateAnd(c.inexact, e.b.CreateNot(negative)));
}

Value* round_integral(Emit& e, Value* v) {
  const int mode = e.which({Mod::rni, Mod::rzi, Mod::rmi, Mod::rpi});
  constexpr intrinsic::ID kRound[] = {intrinsic::roundeven, intrinsic::trunc, intrinsic::floor, intrinsic::ceil};
  return mode < 0 ? v : e.call(kRound[mode], {v});
}

// v clamped to the range of `to` and converted. Bounds that the float format cannot hold are compared instead, so the
// conversion itself only sees values in range: LLVM's saturating intrinsics are not vectorised on x86.
Value* clamp_and_convert(Emit& e, Type to, Value* v) {
  const bool s = isa::is_signed(to);
  const unsigned width = isa::bits(to);
  const int precision = v->getType()->getScalarType()->isDoubleTy() ? 53 : 24;
  const double above = s ? std::ldexp(1.0, int(width) - 1) : std::ldexp(1.0, int(width));
  Value* low = Emit::real(v, s ? -above : 0);
  const bool holds_bound = int(width) - (s ? 1 : 0) <= precision;
  Value* high = Emit::real(v, holds_bound ? above - 1 : above);
  Value* fits = e.b.CreateFCmpOLT(v, high);
  Value* over = e.b.CreateFCmpOGE(v, high);
  Value* safe =
      e.b.CreateSelect(fits, v, holds_bound ? e.b.CreateSelect(over, high, Emit::real(v, 0)) : Emit::real(v, 0));
  safe = e.b.CreateSelect(e.b.CreateFCmpOGT(safe, low), safe, low);
  llvm::Type* t = e.ints(width < 32 ? 32 : width);
  Value* r = s || width < 32 ? e.b.CreateFPToSI(safe, t) : e.b.CreateFPToUI(safe, t);
  if (width < 32) return e.b.CreateTrunc(r, e.ints(width));
  if (holds_bound) return r;
  return e.b.CreateSelect(over, Emit::num(r, s ? std::uint64_t(max_signed(width)) : max_unsigned(width)), r);
}

// Clamps; NaN gives 0, or the most negative pattern for an f64 source or a 64-bit target.
Value* float_to_integer(Emit& e, Type to, Type from, Value* v) {
  if (from == Type::f32 && e.ftz()) v = flush(e, v);
  if (is_half(from)) v = half_to_f32(e, v);
  v = round_integral(e, v);
  Value* r = clamp_and_convert(e, to, v);
  if (from == Type::f64 || isa::bits(to) == 64) {
    r = e.b.CreateSelect(is_nan(e, v), Emit::num(r, std::uint64_t(1) << (isa::bits(to) - 1)), r);
  }
  return r;
}

Value* limit_half(Emit& e, Value* r) {  // .satfinite: infinities become the largest finite value
  Value* bits = e.to_bits(r);
  const std::uint64_t inf = r->getType()->getScalarType()->isHalfTy() ? 0x7c00 : 0x7f80;
  Value* infinite = e.b.CreateICmpEQ(e.b.CreateAnd(bits, 0x7fff), Emit::num(bits, inf));
  return e.from_bits(e.b.CreateSelect(infinite, e.b.CreateAdd(bits, Emit::ones(bits)), bits), r->getType());
}
Value* relu(Emit& e, Value* v) {
  Value* zero = Emit::real(v, 0);
  return e.has(Mod::relu) ? e.b.CreateSelect(e.b.CreateFCmpOLE(v, zero), zero, v) : v;
}
// .ftz changes nothing here: a subnormal f32 rounds as the tiny number that it is.
Value* narrow_half(Emit& e, Type to, Value* v, bool keep_nan) {
  v = relu(e, v);
  if (e.has(Mod::sat)) v = saturate(e, v);
  Value* r = f32_to_half(e, v, to, round_mode(e), keep_nan);
  return e.has(Mod::satfinite) ? limit_half(e, r) : r;
}

Value* float_to_float(Emit& e, Type to, Type from, Value* v) {
  if (is_half(from)) v = half_to_f32(e, v);
  if (from == Type::f32 && !is_half(to) && e.ftz()) v = flush(e, v);
  if (from == Type::f32 && to == Type::f32 && e.instr.mods.none()) return v;  // a move
  v = round_integral(e, v);
  if (is_half(to)) {
    if (from == Type::f64) v = to_f32_odd(e, v);
    return narrow_half(e, to, v, from == Type::f64);
  }
  if (to == Type::f64) {
    if (from != Type::f64) v = e.b.CreateFPExt(v, e.f64());
    return e.has(Mod::sat) ? saturate(e, v) : v;
  }
  if (from == Type::f64) {
    Value* r = e.b.CreateFPTrunc(v, e.f32());
    const RoundMode mode = round_mode(e);
    if (mode != RoundMode::rn) {
      Value* back = e.b.CreateFPExt(r, e.f64());
      r = step(e, mode, r, e.b.CreateFCmpOGT(back, v), e.b.CreateFCmpOLT(back, v));
    }
    if (e.ftz()) r = zero_where(e, is_tiny(e, mode, {v, nullptr}), r);
    return e.has(Mod::sat) ? saturate(e, r) : r;
  }
  if (from == Type::bf16) return finish(e, v, e.ftz());
  return finish(e, v, true);
}

Value* to_tf32(Emit& e, Value* v) {
  v = relu(e, v);
  Value* bits = e.to_bits(v);
  Value* nan = e.has(Mod::rna) ? e.b.CreateAnd(bits, 0xffffe000u) : Emit::num(bits, 0x7fffe000);
  Value* up = Emit::num(bits, 0);
  if (e.has(Mod::rna)) up = Emit::num(bits, 0x1000);
  if (e.has(Mod::rn)) up = e.b.CreateAdd(e.b.CreateAnd(e.b.CreateLShr(bits, 13), 1), Emit::num(bits, 0xfff));
  Value* r = e.b.CreateAnd(e.b.CreateAdd(bits, up), 0xffffe000u);
  if (e.has(Mod::satfinite)) {
    // .rna has the GPU take a step down from NaNs too.
    if (e.has(Mod::rna)) r = e.b.CreateSelect(is_nan(e, v), nan, r);
    const std::uint64_t looked_at = e.has(Mod::rna) ? 0x7f800000 : 0x7fffffff;
    Value* infinite = e.b.CreateICmpEQ(e.b.CreateAnd(r, looked_at), Emit::num(r, 0x7f800000));
    r = e.b.CreateSelect(infinite, e.b.CreateSub(r, Emit::num(r, 0x2000)), r);
    if (e.has(Mod::rna)) return r;
  }
  return e.b.CreateSelect(is_nan(e, v), nan, r);
}

bool convert_pack(Emit& e) {
  const Type to = e.type();
  const unsigned w = isa::bits(to);
  const auto clamp = [&](Value* v) {
    v = isa::is_signed(to) ? clamp_signed(e, v, -max_signed(w) - 1, max_signed(w))
                           : clamp_signed(e, v, 0, std::int64_t(max_unsigned(w)));
    return e.b.CreateAnd(v, max_unsigned(w));
  };
  Value* d = e.b.CreateOr(e.b.CreateShl(clamp(e.in[0]), w), clamp(e.in[1]));
  if (e.in.size() > 2) d = e.b.CreateOr(d, e.b.CreateShl(e.in[2], 2 * w));
  return e.done(d);
}

// Two values into one register: the first source is the upper half.
bool convert_pair(Emit& e, Type to) {
  const Type half = element(to);
  const auto part = [&](Value* v) { return e.resize(e.to_bits(narrow_half(e, half, v, false)), 32); };
  return e.done(e.b.CreateOr(e.b.CreateShl(part(e.in[0]), 16), part(e.in[1])));
}

bool is_fp8_pair(Type t) { return t == Type::e4m3x2 || t == Type::e5m2x2; }
std::string fp8_name(const Emit& e, const char* op, Type t) {
  return std::string("warploom.ref.") + op + (e.has(Mod::relu) ? ".relu" : "") +
         (t == Type::e4m3x2 ? ".e4m3" : ".e5m2");
}

// "e2m1" of e2m1x2 and e2m1x4; empty for other types.
std::string narrow_name(Type t) {
  switch (t) {
    case Type::e2m1x2:
    case Type::e2m1x4: return "e2m1";
    case Type::e2m3x2:
    case Type::e2m3x4: return "e2m3";
    case Type::e3m2x2:
    case Type::e3m2x4: return "e3m2";
    case Type::e4m3x4: return "e4m3";
    case Type::e5m2x4: return "e5m2";
    default: return {};
  }
}

// Formats of 4 and 6 bits, powers of two, and stochastic rounding.
bool convert_rare(Emit& e, Type to, Type from) {
  const std::string relu = e.has(Mod::relu) ? ".relu" : "", finite = e.has(Mod::satfinite) ? ".finite" : "";
  const unsigned bits = isa::bits(to);
  const std::string prefix = "warploom.ref.";
  if (e.has(Mod::rs) && e.in.size() == 5) {
    const auto two = [&](Value* upper, Value* lower) {
      return e.b.CreateOr(e.b.CreateShl(e.resize(e.to_bits(upper), 64), 32), e.resize(e.to_bits(lower), 64));
    };
    return e.done(call_host(e, prefix + "narrow_four" + relu + "." + narrow_name(to),
                            {two(e.in[0], e.in[1]), two(e.in[2], e.in[3]), e.in[4]}, bits));
  }
  if (e.has(Mod::rs))
    return e.done(call_host(e, prefix + "stochastic" + relu + finite + (to == Type::f16x2 ? ".f16x2" : ".bf16x2"),
                            {e.in[0], e.in[1], e.in[2]}, bits));
  const std::string mode = std::string(e.has(Mod::rp) ? ".rp" : ".rz") + finite;
  if (from == Type::ue8m0x2) return e.done(call_host(e, prefix + "from_ue8m0", {e.in[0]}, bits));
  if (to == Type::ue8m0x2 && from == Type::f32)
    return e.done(call_host(e, prefix + "ue8m0_f32" + mode, {e.in[0], e.in[1]}, bits));
  if (to == Type::ue8m0x2) return e.done(call_host(e, prefix + "ue8m0_bf16" + mode, {e.in[0]}, bits));
  if (from == Type::f32)
    return e.done(call_host(e, prefix + "narrow_pair" + relu + "." + narrow_name(to), {e.in[0], e.in[1]}, bits));
  return e.done(call_host(e, prefix + "narrow_to_f16x2" + relu + "." + narrow_name(from), {e.in[0]}, bits));
}

}  // namespace

bool emit_cvt(Emit& e) {
  const Type to = e.type(0), from = e.type(1);
  if (e.has(Mod::pack)) return convert_pack(e);
  if (e.has(Mod::rs) || to == Type::ue8m0x2 || from == Type::ue8m0x2 || !narrow_name(to).empty() ||
      !narrow_name(from).empty())
    return convert_rare(e, to, from);
  if (is_fp8_pair(to)) {
    if (from == Type::f32) return e.done(call_host(e, fp8_name(e, "pair_f32", to), {e.in[0], e.in[1]}, 16));
    return e.done(call_host(e, fp8_name(e, "pair_f16", to), {e.in[0]}, 16));
  }
  if (is_fp8_pair(from)) {
    return to == Type::f16x2 && e.done(call_host(e, fp8_name(e, "to_f16x2", from), {e.in[0]}, 32));
  }
  if (to == Type::f16x2 || to == Type::bf16x2) return e.in.size() == 2 && convert_pair(e, to);
  if (to == Type::tf32) return e.done(to_tf32(e, e.in[0]));
  if (!is_real(to) && !is_real(from)) return e.done(integer_to_integer(e, to, from, e.in[0]));
  if (!is_real(to)) return e.done(float_to_integer(e, to, from, e.in[0]));
  if (is_real(from)) return e.done(float_to_float(e, to, from, e.in[0]));
  Value* r = integer_to_float(e, to, from, e.in[0]);
  return e.done(e.has(Mod::sat) ? saturate(e, r) : r);
}

}  // namespace warploom::codegen
