// Scalar reference semantics of PTX floating point: exact integer arithmetic on bit patterns, one rounding, any mode.
#pragma once

#include <initializer_list>

#include "isa/ref/int.hpp"

namespace warploom::isa::ref {

// The f16 and bf16 NaN, of either sign, that tensor loads leave for elements outside the tensor: fma.oob makes +0 of
// it. The manual gives no bits; these are what an H200 takes for it.
inline constexpr std::uint16_t kOutOfBounds = 0x7ff7;

enum class Round : std::uint8_t { rn, rz, rm, rp, rna };  // rna: to nearest, ties away from zero

// An IEEE-like binary format; `fraction` counts the stored significand bits. With `ftz` results that are
// subnormal when rounded to the full number of bits, as if the exponent had no lower bound, become zeros.
struct Format {
  int exponent = 8, fraction = 23;
  bool ftz = false;

  constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
  constexpr int width() const { return 1 + exponent + fraction; }
  constexpr std::uint64_t sign_bit() const { return std::uint64_t(1) << (exponent + fraction); }
  constexpr std::uint64_t infinity() const { return ((std::uint64_t(1) << exponent) - 1) << fraction; }
  constexpr std::uint64_t hidden() const { return std::uint64_t(1) << fraction; }
  constexpr std::uint64_t one() const { return std::uint64_t(bias()) << fraction; }
  // The NaN that arithmetic makes: all ones below the sign, for f64 the sign and the quiet bit.
  constexpr std::uint64_t nan() const {
    return fraction == 52 ? sign_bit() | infinity() | hidden() >> 1 : sign_bit() - 1;
  }
  constexpr bool operator==(const Format&) const = default;
};
inline constexpr Format kF16{5, 10}, kBf16{8, 7}, kTf32{8, 10}, kF32{8, 23}, kF64{11, 52};

constexpr bool is_nan(Format f, std::uint64_t x) { return (x & (f.sign_bit() - 1)) > f.infinity(); }
constexpr bool is_inf(Format f, std::uint64_t x) { return (x & (f.sign_bit() - 1)) == f.infinity(); }
constexpr bool is_zero(Format f, std::uint64_t x) { return (x & (f.sign_bit() - 1)) == 0; }
constexpr std::uint64_t magnitude(Format f, std::uint64_t x) { return x & (f.sign_bit() - 1); }
constexpr bool is_negative(Format f, std::uint64_t x) { return (x & f.sign_bit()) != 0; }
constexpr bool is_subnormal(Format f, std::uint64_t x) {
  return !is_zero(f, x) && (x & (f.sign_bit() - 1)) < f.hidden();
}
// f64 hands on its first NaN operand, quieted; the other formats return their own NaN.
constexpr std::uint64_t nan_of(Format f, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  for (const std::uint64_t x : {a, b, c}) {
    if (f.fraction == 52 && is_nan(f, x)) return x | f.hidden() >> 1;
  }
  return f.nan();
}
// .ftz: subnormals become a zero of the same sign.
constexpr std::uint64_t flush(Format f, std::uint64_t x) { return is_subnormal(f, x) ? x & f.sign_bit() : x; }
// .sat: clamps to [+0, 1], NaN gives +0.
constexpr std::uint64_t saturate(Format f, std::uint64_t x) {
  if (is_nan(f, x) || is_negative(f, x)) return 0;
  return x > f.one() ? f.one() : x;
}

// A finite value: man * 2^exp.
struct Finite {
  bool sign;
  u128 man;
  int exp;
};
constexpr Finite unpack(Format f, std::uint64_t x) {
  const int e = int((x & f.infinity()) >> f.fraction);
  const std::uint64_t m = x & (f.hidden() - 1);
  return {is_negative(f, x), e == 0 ? m : m | f.hidden(), (e == 0 ? 1 : e) - f.bias() - f.fraction};
}
constexpr int top_bit(u128 v) {
  const auto high = std::uint64_t(v >> 64);
  return high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(std::uint64_t(v));
}
// Right shift that keeps in bit 0 whether anything nonzero was lost.
constexpr u128 shift_jam(u128 v, int n) {
  if (n <= 0) return v;
  if (n > 127) return v != 0;
  return v >> n | u128((v & ((u128(1) << n) - 1)) != 0);
}

// Rounds man * 2^exp to the format. Bit 0 of man may be a sticky bit as long as two bits below the result's last exist.
constexpr std::uint64_t pack(Format f, Round mode, bool sign, u128 man, int exp) {
  const std::uint64_t s = sign ? f.sign_bit() : 0;
  if (man == 0) return s;
  const bool away = (mode == Round::rm && sign) || (mode == Round::rp && !sign);
  const bool nearest = mode == Round::rn || mode == Round::rna;
  const int top = top_bit(man) + exp, lowest = 1 - f.bias();
  if (top > f.bias()) return s | (nearest || away ? f.infinity() : f.infinity() - 1);
  if (f.ftz && top < lowest) {
    const Format wide{f.exponent + 1, f.fraction};
    const std::uint64_t least = std::uint64_t(lowest + wide.bias()) << f.fraction;
    return magnitude(wide, pack(wide, mode, sign, man, exp)) < least ? s : s | f.hidden();
  }
  const int last = (top < lowest ? lowest : top) - f.fraction;  // exponent of the result's last bit
  const int drop = last - exp;
  u128 q = 0;
  if (drop <= 0) {
    q = man << -drop;
  } else {
    // Two bits more than the result: half and sticky.
    const u128 wide = drop >= 2 ? shift_jam(man, drop - 2) : man << (2 - drop);
    q = wide >> 2;
    const unsigned rest = unsigned(wide & 3);
    const bool up = mode == Round::rn    ? rest > 2 || (rest == 2 && (q & 1) != 0)
                    : mode == Round::rna ? rest >= 2
                                         : away && rest != 0;
    q += up ? 1 : 0;
  }
  const auto bits = (std::uint64_t(last + f.fraction + f.bias() - 1) << f.fraction) + std::uint64_t(q);
  if (bits >= f.infinity()) return s | (nearest || away ? f.infinity() : f.infinity() - 1);
  return s | bits;
}

constexpr std::uint64_t mul(Format f, Round mode, std::uint64_t a, std::uint64_t b) {
  if (is_nan(f, a) || is_nan(f, b)) return nan_of(f, a, b);
  const std::uint64_t sign = (a ^ b) & f.sign_bit();
  if (is_inf(f, a) || is_inf(f, b)) return is_zero(f, a) || is_zero(f, b) ? f.nan() : sign | f.infinity();
  const Finite x = unpack(f, a), y = unpack(f, b);
  return pack(f, mode, sign != 0, x.man * y.man, x.exp + y.exp);
}

constexpr std::uint64_t fma(Format f, Round mode, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (is_nan(f, a) || is_nan(f, b) || is_nan(f, c)) return nan_of(f, a, b, c);
  const std::uint64_t sign = (a ^ b) & f.sign_bit();
  if (is_inf(f, a) || is_inf(f, b)) {
    if (is_zero(f, a) || is_zero(f, b) || (is_inf(f, c) && (c & f.sign_bit()) != sign)) return f.nan();
    return sign | f.infinity();
  }
  if (is_inf(f, c)) return c;
  const Finite x = unpack(f, a), y = unpack(f, b);
  Finite p{sign != 0, x.man * y.man, x.exp + y.exp}, z = unpack(f, c);
  if (p.man == 0 && z.man == 0) {
    const bool negative = p.sign == z.sign ? p.sign : mode == Round::rm;
    return negative ? f.sign_bit() : 0;
  }
  if (p.man == 0) return pack(f, mode, z.sign, z.man, z.exp);
  // Both at bit 125 at most, the larger one normalised there: 20 bits or more below a product of 106 bits.
  const auto raise = [](Finite& v) {
    if (v.man == 0) return;
    const int n = 125 - top_bit(v.man);
    v.man <<= n;
    v.exp -= n;
  };
  raise(p);
  raise(z);
  if (z.man == 0) z.exp = p.exp;
  if (p.exp < z.exp) {
    const Finite t = p;
    p = z;
    z = t;
  }
  z.man = shift_jam(z.man, p.exp - z.exp);
  if (p.sign == z.sign) return pack(f, mode, p.sign, p.man + z.man, p.exp);
  if (p.man == z.man) return mode == Round::rm ? f.sign_bit() : 0;
  if (p.man > z.man) return pack(f, mode, p.sign, p.man - z.man, p.exp);
  return pack(f, mode, z.sign, z.man - p.man, p.exp);
}

constexpr std::uint64_t add(Format f, Round mode, std::uint64_t a, std::uint64_t b) {
  return fma(f, mode, a, f.one(), b);
}
constexpr std::uint64_t negate(Format f, std::uint64_t a) { return a ^ f.sign_bit(); }

// neg and abs return the format's own NaN, except that those of f64 only change the sign.
constexpr std::uint64_t negative(Format f, std::uint64_t a) {
  return f.fraction != 52 && is_nan(f, a) ? f.nan() : negate(f, a);
}
constexpr std::uint64_t absolute(Format f, std::uint64_t a) {
  return f.fraction != 52 && is_nan(f, a) ? f.nan() : magnitude(f, a);
}
constexpr std::uint64_t sub(Format f, Round mode, std::uint64_t a, std::uint64_t b) {
  return add(f, mode, a, negate(f, b));
}

constexpr std::uint64_t div(Format f, Round mode, std::uint64_t a, std::uint64_t b) {
  if (is_nan(f, a) || is_nan(f, b)) return nan_of(f, a, b);
  const std::uint64_t sign = (a ^ b) & f.sign_bit();
  if (is_inf(f, a)) return is_inf(f, b) ? f.nan() : sign | f.infinity();
  if (is_inf(f, b)) return sign;
  if (is_zero(f, b)) return is_zero(f, a) ? f.nan() : sign | f.infinity();
  Finite x = unpack(f, a), y = unpack(f, b);
  if (x.man == 0) return sign;
  const int n = 126 - top_bit(x.man);
  x.man <<= n;  // the quotient then has 126 - 53 bits or more
  const u128 q = x.man / y.man;
  return pack(f, mode, sign != 0, q << 1 | u128(x.man % y.man != 0), x.exp - n - y.exp - 1);
}
constexpr std::uint64_t rcp(Format f, Round mode, std::uint64_t a) { return div(f, mode, f.one(), a); }

constexpr std::uint64_t sqrt(Format f, Round mode, std::uint64_t a) {
  if (is_nan(f, a)) return nan_of(f, a);
  if (is_zero(f, a)) return a;
  if (is_negative(f, a)) return f.nan();
  if (is_inf(f, a)) return a;
  Finite x = unpack(f, a);
  int n = 126 - top_bit(x.man);
  if (((x.exp - n) & 1) != 0) --n;
  x.man <<= n;
  x.exp -= n;
  u128 root = 0, rest = x.man;
  for (u128 bit = u128(1) << 126; bit != 0; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return pack(f, mode, false, root << 1 | u128(rest != 0), x.exp / 2 - 1);
}

// What .ftz and .sat add around an operation.
struct FloatMods {
  Round round = Round::rn;
  bool ftz = false, sat = false;
};
constexpr Format result(Format f, FloatMods m) { return {f.exponent, f.fraction, m.ftz}; }
constexpr std::uint64_t finish(Format f, FloatMods m, std::uint64_t r) { return m.sat ? saturate(f, r) : r; }
constexpr std::uint64_t operand(Format f, FloatMods m, std::uint64_t x) { return m.ftz ? flush(f, x) : x; }

constexpr std::uint64_t add(Format f, FloatMods m, std::uint64_t a, std::uint64_t b) {
  return finish(f, m, add(result(f, m), m.round, operand(f, m, a), operand(f, m, b)));
}
constexpr std::uint64_t sub(Format f, FloatMods m, std::uint64_t a, std::uint64_t b) {
  return finish(f, m, sub(result(f, m), m.round, operand(f, m, a), operand(f, m, b)));
}
constexpr std::uint64_t mul(Format f, FloatMods m, std::uint64_t a, std::uint64_t b) {
  return finish(f, m, mul(result(f, m), m.round, operand(f, m, a), operand(f, m, b)));
}
constexpr std::uint64_t fma(Format f, FloatMods m, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return finish(f, m, fma(result(f, m), m.round, operand(f, m, a), operand(f, m, b), operand(f, m, c)));
}
constexpr std::uint64_t div(Format f, FloatMods m, std::uint64_t a, std::uint64_t b) {
  return finish(f, m, div(result(f, m), m.round, operand(f, m, a), operand(f, m, b)));
}
constexpr std::uint64_t sqrt(Format f, FloatMods m, std::uint64_t a) {
  return finish(f, m, sqrt(result(f, m), m.round, operand(f, m, a)));
}

struct MinMax {
  bool max = false, ftz = false, nan = false, xorsign_abs = false, relu = false;
};
// Without .NaN a NaN operand loses; -0 is less than +0.
constexpr std::uint64_t min_max(Format f, MinMax m, std::uint64_t a, std::uint64_t b) {
  if (m.ftz) a = flush(f, a), b = flush(f, b);
  const std::uint64_t sign = (a ^ b) & f.sign_bit();
  if (m.xorsign_abs) a = magnitude(f, a), b = magnitude(f, b);
  std::uint64_t r = 0;
  if (is_nan(f, a) || is_nan(f, b)) {
    if (m.nan || (is_nan(f, a) && is_nan(f, b))) return f.nan();
    r = is_nan(f, a) ? b : a;
  } else {
    // Sign and magnitude to two's complement: a total order with -0 below +0.
    const auto key = [&](std::uint64_t x) {
      return is_negative(f, x) ? -std::int64_t(magnitude(f, x)) - 1 : std::int64_t(x);
    };
    r = (key(a) < key(b)) != m.max ? a : b;
  }
  if (m.xorsign_abs) r = magnitude(f, r) | sign;
  if (m.relu && is_negative(f, r)) r = 0;
  return r;
}

}  // namespace warploom::isa::ref
