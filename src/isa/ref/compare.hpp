// Scalar reference semantics of PTX comparison and selection.
#pragma once

#include "isa/ref/float.hpp"

namespace warploom::isa::ref {

// The first six order or compare; the rest are for floats: u-forms are true for unordered operands.
enum class Cmp : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class BoolOp : std::uint8_t { none, and_, or_, xor_ };

template <typename T>
constexpr bool compare(Cmp c, T a, T b) {
  switch (c) {
    case Cmp::eq: return a == b;
    case Cmp::ne: return a != b;
    case Cmp::lt: return a < b;
    case Cmp::le: return a <= b;
    case Cmp::gt: return a > b;
    case Cmp::ge: return a >= b;
    default: return false;
  }
}
constexpr bool compare(Format f, Cmp c, bool ftz, std::uint64_t a, std::uint64_t b) {
  if (ftz) a = flush(f, a), b = flush(f, b);
  const bool unordered = is_nan(f, a) || is_nan(f, b);
  if (c == Cmp::num) return !unordered;
  if (c == Cmp::nan) return unordered;
  if (c >= Cmp::equ) return unordered || compare(f, Cmp(int(c) - int(Cmp::equ)), false, a, b);
  if (unordered) return false;
  const auto value = [&](std::uint64_t x) {
    return is_negative(f, x) ? -std::int64_t(magnitude(f, x)) : std::int64_t(x);
  };
  return compare(c, value(a), value(b));
}
constexpr bool combine(BoolOp op, bool t, bool c) {
  switch (op) {
    case BoolOp::and_: return t && c;
    case BoolOp::or_: return t || c;
    case BoolOp::xor_: return t != c;
    default: return t;
  }
}

template <typename T>
constexpr T slct(T a, T b, std::int32_t c) {
  return c >= 0 ? a : b;
}
// A NaN selector takes b; with .ftz a subnormal one is a zero, which takes a.
template <typename T>
constexpr T slct_f32(T a, T b, std::uint32_t c, bool ftz) {
  return compare(kF32, Cmp::ge, ftz, c, 0) ? a : b;
}

// Zeros count as normal.
enum class TestP : std::uint8_t { finite, infinite, number, notanumber, normal, subnormal };
constexpr bool testp(Format f, TestP t, std::uint64_t a) {
  switch (t) {
    case TestP::finite: return !is_nan(f, a) && !is_inf(f, a);
    case TestP::infinite: return is_inf(f, a);
    case TestP::number: return !is_nan(f, a);
    case TestP::notanumber: return is_nan(f, a);
    case TestP::normal: return !is_nan(f, a) && !is_inf(f, a) && !is_subnormal(f, a);
    case TestP::subnormal: return is_subnormal(f, a);
  }
  return false;
}
// The sign of a on the magnitude of b.
constexpr std::uint64_t copysign(Format f, std::uint64_t a, std::uint64_t b) {
  return (a & f.sign_bit()) | magnitude(f, b);
}

}  // namespace warploom::isa::ref
