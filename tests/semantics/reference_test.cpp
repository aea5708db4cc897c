// The scalar references against the hardware's rounding modes, 128-bit integers and written-out tables.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

#include "isa/ref/bits.hpp"
#include "isa/ref/compare.hpp"
#include "isa/ref/convert.hpp"
#include "isa/ref/video.hpp"

namespace warploom::isa::ref {
namespace {

using u64 = std::uint64_t;
using u32 = std::uint32_t;

constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

template <typename U>
U random_bits(std::mt19937_64& g, Format f) {
  U u = U(g());
  if (g() % 4 == 0) {  // near 1, so that sums cancel
    u = U((u & (f.sign_bit() | (f.hidden() - 1))) | u64(f.bias() + int(g() % 8) - 4) << f.fraction);
  }
  if (g() % 16 == 0) u &= U(f.sign_bit() | (f.hidden() - 1));
  if (g() % 32 == 0) u = U(f.infinity() | (g() % 2 != 0 ? f.sign_bit() : 0));
  if (g() % 8 == 0) u &= U(~u64(0) << (g() % unsigned(f.fraction)));
  return u;
}

// Every operation in every mode against the host's floating-point unit.
template <typename F, typename U>
void against_hardware(Format f) {
  std::mt19937_64 g(1);
  for (int i = 0; i < 200000; ++i) {
    const U a = random_bits<U>(g, f), b = random_bits<U>(g, f), c = random_bits<U>(g, f);
    volatile F x = std::bit_cast<F>(a), y = std::bit_cast<F>(b), z = std::bit_cast<F>(c);
    const auto mode = Round(i & 3);
    std::fesetround(kModes[i & 3]);
    volatile F r[] = {x + y, x - y, x * y, x / y, std::sqrt(x), std::fma(x, y, z), std::rint(x)};
    std::fesetround(FE_TONEAREST);
    const u64 want[] = {add(f, mode, a, b), sub(f, mode, a, b),    mul(f, mode, a, b),        div(f, mode, a, b),
                        sqrt(f, mode, a),   fma(f, mode, a, b, c), round_integral(f, mode, a)};
    for (int k = 0; k < 7; ++k) {
      const U got = std::bit_cast<U>(F(r[k]));
      if (is_nan(f, got) && is_nan(f, want[k])) continue;
      ASSERT_EQ(got, want[k]) << "operation " << k << " mode " << int(mode) << std::hex << ' ' << a << ' ' << b << ' '
                              << c;
    }
  }
}
TEST(Reference, f32_arithmetic_equals_hardware) { against_hardware<float, u32>(kF32); }
TEST(Reference, f64_arithmetic_equals_hardware) { against_hardware<double, u64>(kF64); }

TEST(Reference, conversions_equal_hardware) {
  std::mt19937_64 g(2);
  for (int i = 0; i < 200000; ++i) {
    const u64 a = random_bits<u64>(g, kF64);
    volatile double x = std::bit_cast<double>(a);
    const auto mode = Round(i & 3);
    volatile std::int64_t v = std::int64_t(a) >> (g() % 64);
    std::fesetround(kModes[i & 3]);
    volatile float narrow = float(x);
    volatile float from_s64 = float(v);
    volatile double to_f64 = double(v);
    volatile double whole = std::rint(x);
    std::fesetround(FE_TONEAREST);
    if (!std::isnan(x)) {
      ASSERT_EQ(std::bit_cast<u32>(float(narrow)), convert(kF64, kF32, mode, a)) << std::hex << a;
    }
    ASSERT_EQ(std::bit_cast<u32>(float(from_s64)), from_integer(kF32, mode, v));
    ASSERT_EQ(std::bit_cast<u64>(double(to_f64)), from_integer(kF64, mode, v));
    if (std::fabs(whole) < 0x1p31) {
      ASSERT_EQ(u32(std::int32_t(whole)), to_integer(kF64, mode, a, 32, true)) << std::hex << a;
    }
  }
  EXPECT_EQ(to_integer(kF32, Round::rz, kF32.nan(), 32, true), 0u);
  EXPECT_EQ(to_integer(kF32, Round::rz, kF32.nan(), 64, true), u64(1) << 63);
  EXPECT_EQ(to_integer(kF64, Round::rz, kF64.nan(), 32, false), 0x80000000u);
  EXPECT_EQ(to_integer(kF32, Round::rn, std::bit_cast<u32>(-1e9f), 8, true), 0x80u);
  EXPECT_EQ(to_integer(kF32, Round::rn, std::bit_cast<u32>(300.f), 8, false), 0xffu);
}

// Half-precision values are few enough to try all of them; their neighbours' midpoints round to even.
TEST(Reference, f16_and_bf16_round_to_nearest_even) {
  for (const Format f : {kF16, kBf16}) {
    for (u64 h = 0; h + 1 < f.infinity(); ++h) {
      const auto value = [&](u64 v) { return std::bit_cast<double>(convert(f, kF64, Round::rn, v)); };
      const double low = value(h), high = value(h + 1), middle = low + (high - low) / 2;
      const auto to = [&](double x, Round mode) { return convert(kF64, f, mode, std::bit_cast<u64>(x)); };
      ASSERT_EQ(to(low, Round::rn), h);
      ASSERT_EQ(to(middle, Round::rn), (h & 1) == 0 ? h : h + 1);
      ASSERT_EQ(to(std::nextafter(middle, high), Round::rn), h + 1);
      ASSERT_EQ(to(std::nextafter(middle, low), Round::rn), h);
      ASSERT_EQ(to(middle, Round::rna), h + 1);
      ASSERT_EQ(to(middle, Round::rz), h);
      ASSERT_EQ(to(middle, Round::rp), h + 1);
    }
  }
  EXPECT_EQ(convert(kF32, kF16, Round::rn, std::bit_cast<u32>(65520.f)), 0x7c00u);
  EXPECT_EQ(convert(kF32, kF16, Round::rz, std::bit_cast<u32>(70000.f)), 0x7bffu);
}

TEST(Reference, eight_bit_floats) {
  const auto f32 = [](float x) { return u64(std::bit_cast<u32>(x)); };
  EXPECT_EQ(to_e4m3(kF32, f32(448.f), false), 0x7e);
  EXPECT_EQ(to_e4m3(kF32, f32(1e9f), false), 0x7e);
  EXPECT_EQ(to_e4m3(kF32, f32(-1.f), false), 0xb8);
  EXPECT_EQ(to_e4m3(kF32, f32(0x1p-9f), false), 0x01);
  EXPECT_EQ(to_e4m3(kF32, f32(0x1p-10f), false), 0x00);
  EXPECT_EQ(to_e4m3(kF32, f32(0x1.8p-10f), false), 0x01);
  EXPECT_EQ(to_e4m3(kF32, f32(-2.f), true), 0x00);
  EXPECT_EQ(to_e5m2(kF32, f32(57344.f), false), 0x7b);
  EXPECT_EQ(to_e5m2(kF32, f32(INFINITY), false), 0x7b);
  for (unsigned b = 0; b < 256; ++b) {
    const auto byte = std::uint8_t(b);
    if ((b & 0x7f) != 0x7f) {
      EXPECT_EQ(to_e4m3(kF16, from_e4m3(kF16, byte), false), byte);
    }
    if ((b & 0x7f) < 0x7c) {
      EXPECT_EQ(to_e5m2(kF16, from_e5m2(kF16, byte), false), byte);
    }
  }
}

// The values of a format, and the nearest of them by plain arithmetic on doubles.
struct Values {
  Narrow format;
  std::vector<double> of;  // by code, without the sign
  explicit Values(const Narrow& n) : format(n) {
    for (unsigned code = 0; code <= n.most; ++code) {
      const unsigned e = code >> n.fraction, part = code & ((1U << n.fraction) - 1);
      const double ulp = std::ldexp(1.0, int(e == 0 ? 1 : e) - (1 << (n.exponent - 1)) + 1 - n.fraction);
      of.push_back((e == 0 ? part : part + (1U << n.fraction)) * ulp);
    }
  }
  unsigned nearest(double x) const {
    std::size_t k = 0;
    while (k + 1 < of.size() && of[k + 1] <= x) ++k;
    if (k + 1 == of.size()) return unsigned(k);
    const double middle = (of[k] + of[k + 1]) / 2;
    return unsigned(x > middle || (x == middle && k % 2 == 1) ? k + 1 : k);
  }
};

TEST(Reference, formats_of_four_to_eight_bits) {
  EXPECT_EQ(Values(kE2m1).of, (std::vector<double>{0, 0.5, 1, 1.5, 2, 3, 4, 6}));
  EXPECT_EQ(Values(kE2m3).of.back(), 7.5);
  EXPECT_EQ(Values(kE3m2).of.back(), 28);
  EXPECT_EQ(Values(kE4m3).of.back(), 448);
  EXPECT_EQ(Values(kNarrowE5m2).of.back(), 57344);
  std::mt19937_64 g(5);
  for (const Narrow& n : {kE2m1, kE2m3, kE3m2, kE4m3, kNarrowE5m2}) {
    const Values values(n);
    for (unsigned code = 0; code < values.of.size(); ++code) {
      EXPECT_EQ(std::bit_cast<float>(u32(from_narrow(n, kF32, std::uint8_t(code)))), float(values.of[code]));
      EXPECT_EQ(std::bit_cast<float>(u32(from_narrow(n, kF32, std::uint8_t(code | n.sign())))),
                -float(values.of[code]));
    }
    for (int i = 0; i < 100000; ++i) {
      float x = std::bit_cast<float>(u32(random_bits<u64>(g, kF32)));
      if (i % 2 == 0) x = float(std::ldexp(double(g() % 4096), int(g() % 24) - 20)) * (g() % 2 == 0 ? 1.F : -1.F);
      if (std::isnan(x)) continue;
      const unsigned sign = std::signbit(x) ? n.sign() : 0;
      ASSERT_EQ(to_narrow(n, kF32, std::bit_cast<u32>(x), false), values.nearest(std::fabs(double(x))) | sign) << x;
      ASSERT_EQ(to_narrow(n, kF32, std::bit_cast<u32>(x), true), sign != 0 ? 0 : values.nearest(double(x))) << x;
    }
    EXPECT_EQ(to_narrow(n, kF32, std::bit_cast<u32>(-INFINITY), false), n.most | n.sign());
    EXPECT_EQ(to_narrow(n, kF32, kF32.nan() | kF32.sign_bit(), true), n.nan);
  }
  for (unsigned b = 0; b < 256; ++b) {
    const auto byte = std::uint8_t(b);
    if ((b & 0x7f) <= 0x7e) {
      EXPECT_EQ(from_narrow(kE4m3, kF16, byte), from_e4m3(kF16, byte));
    }
    if ((b & 0x7f) <= 0x7b) {
      EXPECT_EQ(from_narrow(kNarrowE5m2, kF16, byte), from_e5m2(kF16, byte));
    }
  }
}

// Counted over all random bits, as many results are rounded away from zero as the discarded bits say.
TEST(Reference, stochastic_rounding_counts) {
  const auto away = [](auto convert, u64 down, int bits) {
    u64 n = 0;
    for (u32 random = 0; random < (1U << bits); ++random) {
      const u64 r = convert(random);
      EXPECT_TRUE(r == down || r == down + 1);
      n += r == down + 1 ? 1 : 0;
    }
    return n;
  };
  for (const u32 rest : {0U, 1U, 0xfffU, 0x1000U, 0x1fffU}) {  // of the 13 bits that f16 leaves out
    const u32 x = 0x3f800000U | 5U << 13 | rest;
    EXPECT_EQ(away([&](u32 r) { return stochastic(kF16, {r, 13}, false, false, x); }, 0x3c05, 13), rest);
    EXPECT_EQ(stochastic(kF16, {0xe000, 13}, false, false, x), 0x3c05u);  // bits above the 13 do not count
  }
  for (const u32 rest : {0U, 1U, 0x8000U, 0xffffU})
    EXPECT_EQ(away([&](u32 r) { return stochastic(kBf16, {r, 16}, false, false, 0xc0480000U | rest); }, 0xc048, 16),
              rest);
  // A subnormal f16: 2^-24 and a quarter.
  EXPECT_EQ(away([&](u32 r) { return stochastic(kF16, {r, 13}, false, false, std::bit_cast<u32>(0x1.4p-24F)); }, 1, 13),
            0x800u);
  // Of the 20 bits that e4m3 leaves out the upper 16 take part.
  EXPECT_EQ(away([&](u32 r) { return to_narrow(kE4m3, kF32, 0x3f800000U | 0x12340, false, {r, 16}); }, 0x38, 16),
            0x1234u);
  EXPECT_EQ(stochastic(kF16, {0x1fff, 13}, false, false, std::bit_cast<u32>(65535.F)), 0x7c00u);
  EXPECT_EQ(stochastic(kF16, {0x1fff, 13}, false, true, std::bit_cast<u32>(-65535.F)), 0xfbffu);
  EXPECT_EQ(stochastic(kF16, {0, 13}, false, false, std::bit_cast<u32>(65535.F)), 0x7bffu);
  EXPECT_EQ(stochastic(kF16, {0, 13}, true, false, std::bit_cast<u32>(-1.F)), 0u);
  EXPECT_EQ(stochastic(kBf16, {0, 16}, true, false, u32(kF32.nan() | kF32.sign_bit())), kBf16.nan());
  // Elements share 16 random bits in pairs, the first of each in reverse.
  EXPECT_EQ(random_of(0x80010002, false, 0).random, 0x8001u);
  EXPECT_EQ(random_of(0x80030002, false, 0).random, 0xc001u);
  EXPECT_EQ(random_of(0x80030002, false, 1).random, 0x8003u);
  EXPECT_EQ(random_of(0x80030002, false, 2).random, 0x4000u);
  EXPECT_EQ(random_of(0x80030002, false, 3).random, 2u);
  EXPECT_EQ(random_of(0x12345678, true, 1).random, 0x1256u);
  EXPECT_EQ(random_of(0x12345678, true, 3).random, 0x3478u);
}

TEST(Reference, powers_of_two) {
  const auto code = [](float x, bool up, bool finite) {
    return int(to_ue8m0(kF32, std::bit_cast<u32>(x), up, finite));
  };
  EXPECT_EQ(code(1.F, false, false), 127);
  EXPECT_EQ(code(-1.F, true, false), 127);
  EXPECT_EQ(code(1.5F, false, false), 127);
  EXPECT_EQ(code(1.5F, true, false), 128);
  EXPECT_EQ(code(0.F, true, true), 0);
  EXPECT_EQ(code(0x1p-127F, false, false), 0);
  EXPECT_EQ(code(0x1p-126F, false, false), 1);
  EXPECT_EQ(code(0x1.8p-127F, true, false), 1);
  EXPECT_EQ(code(0x1p-149F, true, false), 0);
  EXPECT_EQ(code(0x1.8p127F, true, false), 255);
  EXPECT_EQ(code(0x1.8p127F, true, true), 254);
  EXPECT_EQ(code(0x1.8p127F, false, false), 254);
  EXPECT_EQ(code(INFINITY, false, false), 255);
  EXPECT_EQ(code(INFINITY, false, true), 254);
  EXPECT_EQ(code(NAN, false, true), 255);
  for (unsigned k = 0; k < 255; ++k) {
    const auto byte = std::uint8_t(k);
    EXPECT_EQ(std::bit_cast<float>(u32{bf16_of_ue8m0(byte)} << 16), float(std::ldexp(1.0, int(k) - 127)));
    for (const bool up : {false, true}) EXPECT_EQ(to_ue8m0(kBf16, bf16_of_ue8m0(byte), up, false), byte);
  }
  EXPECT_EQ(bf16_of_ue8m0(255), 0x7fff);
}

TEST(Reference, integer_division_never_traps) {
  EXPECT_EQ(div<u32>(7, 0), ~u32(0));
  EXPECT_EQ(rem<u32>(7, 0), ~u32(0));
  EXPECT_EQ(div<std::int32_t>(INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(rem<std::int32_t>(INT32_MIN, -1), 0);
  EXPECT_EQ(div<std::int64_t>(-7, 2), -3);
  EXPECT_EQ(rem<std::int64_t>(-7, 2), -1);
}
TEST(Reference, products_equal_128_bit_arithmetic) {
  std::mt19937_64 g(3);
  for (int i = 0; i < 100000; ++i) {
    const u64 a = g(), b = g(), c = g();
    const bool carry = (i & 1) != 0;
    EXPECT_EQ(mul_hi(a, b), u64(u128(a) * b >> 64));
    EXPECT_EQ(mul_hi(std::int64_t(a), std::int64_t(b)), std::int64_t(s128(std::int64_t(a)) * std::int64_t(b) >> 64));
    EXPECT_EQ(add_carry(a, c, carry).carry, (u128(a) + c + carry) >> 64 != 0);
    EXPECT_EQ(sub_borrow(a, c, carry).carry, u128(a) < u128(c) + carry);
  }
}
TEST(Reference, bit_fields) {
  EXPECT_EQ(bfe<u32>(0xabcd1234, 8, 8), 0x12u);
  EXPECT_EQ(bfe<std::int32_t>(0x0000f000, 12, 4), -1);
  EXPECT_EQ(bfe<std::int32_t>(INT32_MIN, 28, 8), -8);
  EXPECT_EQ(bfe<std::int32_t>(-1, 3, 0), 0);
  EXPECT_EQ(bfi<u32>(0xff, 0, 28, 8), 0xf0000000u);
  EXPECT_EQ(bfind<u32>(0, false), ~0u);
  EXPECT_EQ(bfind<std::int32_t>(-1, false), ~0u);
  EXPECT_EQ(bfind<u32>(0x00010000, true), 15u);
  EXPECT_EQ(bmsk(4, 8, true), 0xff0u);
  EXPECT_EQ(bmsk(40, 8, true), 0u);
  EXPECT_EQ(bmsk(36, 8, false), 0xff0u);
  EXPECT_EQ(szext<std::int32_t>(0xff, 8, true), -1);
  EXPECT_EQ(szext<u32>(0xfff, 8, true), 0xffu);
  EXPECT_EQ(fns(0b101100, 0, 2), 3u);
  EXPECT_EQ(fns(0b101100, 5, -2), 3u);
  EXPECT_EQ(fns(0b101100, 1, 0), ~0u);
  EXPECT_EQ(prmt(0x33221100, 0x77665544, 0x5410, Prmt::index), 0x55441100u);
  EXPECT_EQ(prmt(0x00008000, 0, 0x9999, Prmt::index), 0xffffffffu);
  EXPECT_EQ(prmt(0x33221100, 0x77665544, 1, Prmt::f4e), 0x44332211u);
  EXPECT_EQ(prmt(0x33221100, 0x77665544, 1, Prmt::b4e), 0x66770011u);
  EXPECT_EQ(prmt(0x33221100, 0x77665544, 2, Prmt::ecl), 0x33222222u);
  EXPECT_EQ(prmt(0x33221100, 0x77665544, 2, Prmt::ecr), 0x22221100u);
  EXPECT_EQ(prmt(0x33221100, 0x77665544, 1, Prmt::rc16), 0x33223322u);
  EXPECT_EQ(lop3(0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x96), 0xf0f0f0f0 ^ 0xcccccccc ^ 0xaaaaaaaa);
  EXPECT_EQ(shf_l(0x80000000, 1, 33, true), 3u);
  EXPECT_EQ(shf_l(0x80000000, 1, 33, false), 0x80000000u);
  EXPECT_EQ(shf_r(0x80000000, 1, 33, false), 1u);
}
TEST(Reference, minimum_orders_zeros_and_drops_nan) {
  const u64 minus_zero = 0x80000000, nan = 0x7fc00001, one = kF32.one();
  EXPECT_EQ(min_max(kF32, {}, 0, minus_zero), minus_zero);
  EXPECT_EQ(min_max(kF32, {.max = true}, minus_zero, 0), 0u);
  EXPECT_EQ(min_max(kF32, {}, nan, one), one);
  EXPECT_EQ(min_max(kF32, {.nan = true}, nan, one), 0x7fffffffu);
  EXPECT_EQ(min_max(kF32, {}, nan, nan), 0x7fffffffu);
  EXPECT_TRUE(compare(kF32, Cmp::ltu, false, nan, one));
  EXPECT_FALSE(compare(kF32, Cmp::ne, false, nan, one));
  EXPECT_TRUE(compare(kF32, Cmp::eq, true, 1, minus_zero));
}
TEST(Reference, video_averages_and_sums) {
  Video v{.op = VideoOp::absdiff, .accumulate = true};
  EXPECT_EQ(video(v, 0x01020304, 0x04030201, 10), 10u + 3 + 1 + 1 + 3);
  v = {.op = VideoOp::avrg, .a_signed = true, .b_signed = true, .d_signed = true};
  EXPECT_EQ(video(v, 0x000000fe, 0x000000ff, 0), 0x000000feu);
}

}  // namespace
}  // namespace warploom::isa::ref
