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

// How many discarded bits decide, and the random bits that are added to them: the highest of the discarded bits get
// them.
struct Stochastic {
  std::uint32_t random = 0;
  int bits = 0;  // none: to nearest even
};

// man * 2^exp as a multiple of 2^ulp: the magnitude that a format keeps.
constexpr u128 keep(const Finite& x, int ulp, Stochastic s) {
  const int drop = ulp - x.exp;
  if (drop <= 0) return x.man << -drop;
  if (drop > 100) return 0;
  if (s.bits > 0) {
    const u128 random = s.random & ((u128(1) << s.bits) - 1);
    return (x.man + (drop >= s.bits ? random << (drop - s.bits) : random >> (s.bits - drop))) >> drop;
  }
  const u128 rest = x.man & ((u128(1) << drop) - 1), half = u128(1) << (drop - 1), q = x.man >> drop;
  return rest > half || (rest == half && (q & 1) != 0) ? q + 1 : q;
}

// cvt.rs: to f16 or bf16; finite values that round past the range become infinite, with `finite` the largest ones.
constexpr std::uint64_t stochastic(Format to, Stochastic s, bool relu, bool finite, std::uint32_t a) {
  if (is_nan(kF32, a)) return to.nan();
  if (relu && is_negative(kF32, a)) return 0;
  const std::uint64_t sign = is_negative(kF32, a) ? to.sign_bit() : 0;
  const std::uint64_t most = finite ? to.infinity() - 1 : to.infinity();
  if (is_inf(kF32, a)) return sign | most;
  const Finite x = unpack(kF32, a);
  if (x.man == 0) return sign;
  const int lowest = 1 - to.bias(), e = top_bit(x.man) + x.exp < lowest ? lowest : top_bit(x.man) + x.exp;
  const u128 code = (u128(e - lowest) << to.fraction) + keep(x, e - to.fraction, s);
  return sign | (code > most ? most : std::uint64_t(code));
}

// Formats of 4, 6 and 8 bits, as .satfinite leaves them: no infinities; the bits of the largest value, and of what NaNs
// become, which is the largest value where a format has none.
struct Narrow {
  int exponent, fraction;
  std::uint8_t most, nan;
  constexpr int lowest() const { return 2 - (1 << (exponent - 1)); }
  constexpr std::uint8_t sign() const { return std::uint8_t(1 << (exponent + fraction)); }
};
inline constexpr Narrow kE4m3{4, 3, 0x7e, 0x7f}, kNarrowE5m2{5, 2, 0x7b, 0x7f}, kE2m1{2, 1, 7, 7}, kE2m3{2, 3, 31, 31},
    kE3m2{3, 2, 31, 31};

constexpr std::uint8_t to_narrow(Narrow to, Format from, std::uint64_t a, bool relu, Stochastic s = {}) {
  if (is_nan(from, a)) return to.nan;
  if (relu && is_negative(from, a)) return 0;
  const std::uint8_t sign = is_negative(from, a) ? to.sign() : 0;
  if (is_inf(from, a)) return sign | to.most;
  const Finite x = unpack(from, a);
  if (x.man == 0) return sign;
  const int e = top_bit(x.man) + x.exp < to.lowest() ? to.lowest() : top_bit(x.man) + x.exp;
  const u128 code = (u128(e - to.lowest()) << to.fraction) + keep(x, e - to.fraction, s);
  return std::uint8_t(sign | (code > to.most ? to.most : std::uint8_t(code)));
}
constexpr std::uint64_t from_narrow(Narrow from, Format to, std::uint8_t a) {
  const std::uint8_t m = a & std::uint8_t(from.sign() - 1);
  if (m > from.most) return to.nan();
  const int e = m >> from.fraction;
  const unsigned hidden = 1U << from.fraction, part = m & (hidden - 1);
  return pack(to, Round::rn, (a & from.sign()) != 0, e == 0 ? part : part | hidden,
              (e == 0 ? 0 : e - 1) + from.lowest() - from.fraction);
}

// ue8m0, the power of two 2^(code - 127), of a magnitude: at or below it (.rz), or at or above it (.rp). 255 is NaN,
// and what 2^127 is too small for unless .satfinite makes it 254.
constexpr std::uint8_t to_ue8m0(Format from, std::uint64_t a, bool up, bool finite) {
  if (is_nan(from, a)) return 255;
  const int most = finite ? 254 : 255;
  if (is_inf(from, a)) return std::uint8_t(most);
  const Finite x = unpack(from, a);
  if (x.man == 0) return 0;
  const int code = top_bit(x.man) + x.exp + 127 + (up && (x.man & (x.man - 1)) != 0 ? 1 : 0);
  return std::uint8_t(code < 0 ? 0 : code > most ? most : code);
}
constexpr std::uint16_t bf16_of_ue8m0(std::uint8_t code) {
  return std::uint16_t(code == 255 ? kBf16.nan() : code == 0 ? 0x40 : std::uint32_t{code} << 7);
}

// The random bits of element i of four, a first (cvt.rs to 4, 6 and 8 bits): each pair shares 16 bits, which the first
// of it takes in reverse. For e2m1x4 the 16 bits are a byte of each half.
constexpr Stochastic random_of(std::uint32_t bits, bool is_e2m1, unsigned i) {
  std::uint32_t half = i < 2 ? bits >> 16 : bits & 0xffff;
  if (is_e2m1) half = i < 2 ? (bits >> 8 & 0xff) | (bits >> 16 & 0xff00) : (bits & 0xff) | (bits >> 8 & 0xff00);
  std::uint32_t reversed = 0;
  for (int k = 0; k < 16; ++k) reversed |= (half >> k & 1) << (15 - k);
  return {i % 2 == 0 ? reversed : half, 16};
}

// cvt.rna.tf32.f32 and cvt.rn/rz.tf32.f32: a float whose low 13 fraction bits are zero. NaNs lose them too.
constexpr std::uint32_t to_tf32(Round mode, bool relu, std::uint32_t a) {
  if (is_nan(kF32, a)) return (mode == Round::rna ? a : std::uint32_t(kF32.nan())) & ~0x1fffu;
  if (relu && is_negative(kF32, a)) return 0;
  return std::uint32_t(convert(kF32, kTf32, mode, a) << 13);
}

}  // namespace warploom::isa::ref
