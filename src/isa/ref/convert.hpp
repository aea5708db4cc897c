// Scalar reference semantics of cvt and cvt.pack.
#pragma once

#include "isa/ref/float.hpp"

namespace warploom::isa::ref {

// Between floating-point formats. A NaN from f64 keeps its sign and upper payload, one from bf16 to f32 its bits; every
// other becomes the target's NaN.
constexpr std::uint64_t convert(Format from, Format to, Round mode, std::uint64_t a) {
  const std::uint64_t sign = is_negative(from, a) ? to.sign_bit() : 0;
  if (is_nan(from, a)) {
    if (from == kBf16 && to == kF32) return a << 16;
    if (from != kF64) return to.nan();
    return sign | to.infinity() | to.hidden() >> 1 | ((a & (from.hidden() - 1)) >> (from.fraction - to.fraction));
  }
  if (is_inf(from, a)) return sign | to.infinity();
  const Finite x = unpack(from, a);
  return pack(to, mode, x.sign, x.man, x.exp);
}

// To an integral value in the same format: rn is .rni, rz .rzi, rm .rmi, rp .rpi. The sign of a zero result is kept.
constexpr std::uint64_t round_integral(Format f, Round mode, std::uint64_t a) {
  if (is_nan(f, a)) return f.nan();
  if (is_inf(f, a) || is_zero(f, a)) return a;
  const Finite x = unpack(f, a);
  if (x.exp >= 0) return a;
  const u128 wide = x.exp <= -2 ? shift_jam(x.man, -x.exp - 2) : x.man << 1;
  u128 q = wide >> 2;
  const unsigned rest = unsigned(wide & 3);
  const bool away = (mode == Round::rm && x.sign) || (mode == Round::rp && !x.sign);
  if (mode == Round::rn ? rest > 2 || (rest == 2 && (q & 1) != 0) : away && rest != 0) ++q;
  return pack(f, Round::rn, x.sign, q, 0);
}

// Float to an integer of `width` bits: clamps to the range. NaN gives 0, but the most negative pattern when the source
// is f64 or the target has 64 bits.
constexpr std::uint64_t to_integer(Format f, Round mode, std::uint64_t a, unsigned width, bool is_signed) {
  const std::uint64_t mask = width == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << width) - 1;
  const std::uint64_t top = std::uint64_t(1) << (width - 1);
  if (is_nan(f, a)) return f == kF64 || width == 64 ? top : 0;
  const std::uint64_t low = is_signed ? top : 0, high = is_signed ? top - 1 : mask;
  const bool negative = is_negative(f, a);
  if (is_inf(f, a)) return negative ? low : high;
  const Finite x = unpack(f, round_integral(f, mode, a));
  if (x.man == 0) return 0;
  if (top_bit(x.man) + x.exp > 64) return negative ? low : high;
  const u128 m = x.exp >= 0 ? x.man << x.exp : x.man >> -x.exp;
  if (negative) return m >= low ? low : (0 - std::uint64_t(m)) & mask;
  return m > high ? high : std::uint64_t(m);
}

// An integer, sign- or zero-extended to 128 bits, to a float.
constexpr std::uint64_t from_integer(Format f, Round mode, s128 v) {
  return pack(f, mode, v < 0, v < 0 ? u128(-v) : u128(v), 0);
}

// Between integers: .sat clamps, otherwise the low bits stay.
constexpr std::uint64_t convert_integer(s128 v, unsigned width, bool is_signed, bool sat) {
  const u128 one = 1;
  const s128 low = is_signed ? -s128(one << (width - 1)) : 0;
  const s128 high = is_signed ? s128((one << (width - 1)) - 1) : s128((one << width) - 1);
  if (sat) v = v < low ? low : v > high ? high : v;
  return std::uint64_t(v) & (width == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << width) - 1);
}

// cvt.pack.sat: a above b, both clamped; types of fewer than 16 bits push the earlier content c up.
constexpr std::uint32_t cvt_pack(std::int32_t a, std::int32_t b, std::uint32_t c, unsigned width, bool is_signed) {
  const auto pair =
      std::uint32_t(convert_integer(a, width, is_signed, true) << width | convert_integer(b, width, is_signed, true));
  return width == 16 ? pair : c << (2 * width) | pair;
}

// 8-bit formats: e5m2 has infinities, e4m3 reaches 448 and has one NaN pattern instead. Conversions to them saturate
// to the largest finite value (.satfinite) and give 0x7f for NaN.
inline constexpr Format kE5m2{5, 2};
constexpr std::uint8_t to_e5m2(Format from, std::uint64_t a, bool relu) {
  if (is_nan(from, a)) return 0x7f;
  if (relu && is_negative(from, a)) return 0;
  const std::uint64_t r = convert(from, kE5m2, Round::rn, a);
  return std::uint8_t(is_inf(kE5m2, r) ? r - 1 : r);
}
constexpr std::uint8_t to_e4m3(Format from, std::uint64_t a, bool relu) {
  if (is_nan(from, a)) return 0x7f;
  if (relu && is_negative(from, a)) return 0;
  const std::uint8_t sign = is_negative(from, a) ? 0x80 : 0;
  if (is_inf(from, a)) return sign | 0x7e;
  // One exponent bit more than e4m3 has gives the same subnormals when the bias is corrected by scaling.
  const Finite x = unpack(from, a);
  const Format wide{5, 3};  // bias 15 instead of 7: scale by 2^-8
  const std::uint64_t r = magnitude(wide, pack(wide, Round::rn, false, x.man, x.exp - 8));
  return std::uint8_t(sign | (r > 0x7e ? 0x7e : r));
}
constexpr std::uint64_t from_e5m2(Format to, std::uint8_t a) { return convert(kE5m2, to, Round::rn, a); }
constexpr std::uint64_t from_e4m3(Format to, std::uint8_t a) {
  if ((a & 0x7f) == 0x7f) return to.nan();
  const int e = a >> 3 & 15;
  return pack(to, Round::rn, (a & 0x80) != 0, u128(e == 0 ? a & 7 : (a & 7) | 8), (e == 0 ? 1 : e) - 7 - 3);
}

// cvt.rna.tf32.f32 and cvt.rn/rz.tf32.f32: a float whose low 13 fraction bits are zero. NaNs lose them too.
constexpr std::uint32_t to_tf32(Round mode, bool relu, std::uint32_t a) {
  if (is_nan(kF32, a)) return (mode == Round::rna ? a : std::uint32_t(kF32.nan())) & ~0x1fffu;
  if (relu && is_negative(kF32, a)) return 0;
  return std::uint32_t(convert(kF32, kTf32, mode, a) << 13);
}

}  // namespace warploom::isa::ref
