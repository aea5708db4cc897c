// Scalar reference semantics of matrix products: what tensor cores make of c + a[0] * b[0] + a[1] * b[1] + ...
//
// The PTX manual leaves rounding and order to the hardware. What stands here gives the bits of an H200 (sm_90) for all
// that tests/semantics/record_matrix.py has recorded there.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "isa/ref/convert.hpp"

namespace warploom::isa::ref {

using Factors = std::span<const std::uint64_t>;

// Fraction bits that a sum keeps, counted from the largest exponent of what is added.
inline constexpr int kDotBits = 25;

// Factors of one format, an accumulator of `fc`, a result of `fd`. Products are exact. `group` of them and the sum so
// far are aligned to the largest exponent among them, cut off below kDotBits, and added exactly. The sum becomes an f32
// by cutting off or, at the end, an f16 by rounding to nearest; a zero is positive, and what is too large infinite.
constexpr std::uint64_t float_dot(Format f, Format fc, Format fd, unsigned group, Factors a, Factors b,
                                  std::uint64_t c) {
  Format form = fc;  // of the sum so far
  std::uint64_t sum = c;
  for (std::size_t from = 0; from < a.size(); from += group) {
    const std::size_t to = std::min(a.size(), from + group);
    bool nan = is_nan(form, sum), plus = false, minus = false;
    if (is_inf(form, sum)) (is_negative(form, sum) ? minus : plus) = true;
    constexpr int kNone = -100000;
    int top = kNone;
    const Finite s = unpack(form, sum);
    if (s.man != 0) top = s.exp + form.fraction;
    for (std::size_t i = from; i < to; ++i) {
      const bool negative = is_negative(f, a[i]) != is_negative(f, b[i]);
      if (is_nan(f, a[i]) || is_nan(f, b[i])) {
        nan = true;
      } else if (is_inf(f, a[i]) || is_inf(f, b[i])) {
        if (is_zero(f, a[i]) || is_zero(f, b[i]))
          nan = true;
        else
          (negative ? minus : plus) = true;
      } else if (!is_zero(f, a[i]) && !is_zero(f, b[i])) {
        // Subnormal factors are not normalised first.
        top = std::max(top, unpack(f, a[i]).exp + unpack(f, b[i]).exp + 2 * f.fraction);
      }
    }
    if (nan || (plus && minus)) return fd.nan();
    form = to < a.size() ? kF32 : fd;
    if (plus || minus) {
      sum = form.infinity() | (minus ? form.sign_bit() : 0);
      continue;
    }
    const int last = top - kDotBits;
    __int128 total = 0;
    const auto add = [&](bool negative, u128 man, int exp) {
      const int shift = exp - last;
      const u128 x = shift >= 0 ? man << shift : shift < -127 ? 0 : man >> -shift;
      total += negative ? -__int128(x) : __int128(x);
    };
    if (s.man != 0) add(s.sign, s.man, s.exp);
    for (std::size_t i = from; i < to; ++i) {
      const Finite x = unpack(f, a[i]), y = unpack(f, b[i]);
      if (x.man != 0 && y.man != 0) add(x.sign != y.sign, x.man * y.man, x.exp + y.exp);
    }
    const bool negative = total < 0;
    const u128 size = negative ? u128(-total) : u128(total);
    sum = pack(form, form == kF32 ? Round::rz : Round::rn, negative, size, last);
    if (size != 0 && top_bit(size) + last > form.bias()) sum = form.infinity() | (negative ? form.sign_bit() : 0);
    if (is_zero(form, sum)) sum = 0;
  }
  return sum;
}

// Factors of 8 bits, widened to f16: hardware before sm_100 makes their products out of those of f16, the first two of
// each four and then the others, and adds the accumulator at last.
inline std::uint64_t byte_dot(Format fd, Factors a, Factors b, std::uint64_t c) {
  std::uint64_t sum = 0;
  for (const std::size_t half : {0, 2}) {
    std::vector<std::uint64_t> x, y;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (i % 4 / 2 * 2 == half) x.push_back(a[i]), y.push_back(b[i]);
    sum = float_dot(kF16, fd, fd, 16, x, y, sum);
  }
  return add(fd, Round::rn, sum, c);
}

// mma.m8n8k4 of f16, which hardware since sm_80 makes of fused f32 arithmetic.
constexpr std::uint64_t quad_dot(Format fc, Format fd, Factors a, Factors b, std::uint64_t c) {
  const auto wide = [](std::uint64_t x) { return convert(kF16, kF32, Round::rn, x); };
  const auto fused = [&](std::size_t i, std::uint64_t sum) {
    return fma(kF32, Round::rn, wide(a[i]), wide(b[i]), sum);
  };
  const std::uint64_t start = convert(fc, kF32, Round::rn, c);
  if (fd == kF32) return add(kF32, Round::rn, fused(3, fused(2, fused(1, fused(0, 0)))), start);
  const auto pair = [&](std::size_t i) { return fused(i + 1, mul(kF32, Round::rn, wide(a[i]), wide(b[i]))); };
  return convert(kF32, fd, Round::rn, add(kF32, Round::rn, add(kF32, Round::rn, start, pair(0)), pair(2)));
}

// In f64: one fused multiplication and addition after the other. Of several NaNs b's is handed on, else c's.
constexpr std::uint64_t double_dot(Round mode, Factors a, Factors b, std::uint64_t c) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint64_t nan = is_nan(kF64, b[i]) ? b[i] : is_nan(kF64, c) ? c : a[i];
    c = is_nan(kF64, nan) ? nan_of(kF64, nan) : fma(kF64, mode, a[i], b[i], c);
  }
  return c;
}

// Integers: exact sums, which wrap or with .satfinite stop at the ends of s32.
constexpr std::uint32_t integer_dot(std::span<const std::int32_t> a, std::span<const std::int32_t> b, std::uint32_t c,
                                    bool satfinite) {
  std::int64_t sum = std::int32_t(c);
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::int64_t(a[i]) * b[i];
  if (satfinite) sum = std::clamp(sum, std::int64_t(INT32_MIN), std::int64_t(INT32_MAX));
  return std::uint32_t(sum);
}

// Single bits, 32 to a word: how many products are ones.
constexpr std::uint32_t bit_dot(bool exclusive_or, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                std::uint32_t c) {
  for (std::size_t i = 0; i < a.size(); ++i)
    c += std::uint32_t(std::popcount(exclusive_or ? a[i] ^ b[i] : a[i] & b[i]));
  return c;
}

}  // namespace warploom::isa::ref
