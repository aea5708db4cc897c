// Scalar reference semantics of PTX logic, shift and bit-field instructions.
#pragma once

#include "isa/ref/int.hpp"

namespace warploom::isa::ref {

// Shift amounts above the width clamp to the width.
template <typename T>
constexpr T shl(T a, std::uint32_t b) {
  return b >= unsigned(kBits<T>) ? T(0) : T(wrap_t<T>(a) << b);
}
template <typename T>
constexpr T shr(T a, std::uint32_t b) {
  if (b >= unsigned(kBits<T>)) return a < 0 ? T(-1) : T(0);
  return T(a >> b);
}

template <typename T>
constexpr T cnot(T a) {
  return a == 0 ? T(1) : T(0);
}
template <typename T>
constexpr std::uint32_t popc(T a) {
  return unsigned(std::popcount(unsigned_t<T>(a)));
}
template <typename T>
constexpr std::uint32_t clz(T a) {
  return unsigned(std::countl_zero(unsigned_t<T>(a)));
}
template <typename T>
constexpr T brev(T a) {
  T d = 0;
  for (int i = 0; i < kBits<T>; ++i) d = T((d << 1) | ((a >> i) & 1));
  return d;
}
// Position of the highest bit that differs from the sign (or of the highest 1 of an unsigned), all ones for none.
template <typename T>
constexpr std::uint32_t bfind(T a, bool shiftamt) {
  const auto bits = unsigned_t<T>(a < 0 ? T(~a) : a);
  if (bits == 0) return ~0u;
  const std::uint32_t zeros = clz(bits);
  return shiftamt ? zeros : kBits<T> - 1 - zeros;
}

// Position and length: 32-bit forms take the low byte of the operand, 64-bit ones all of it.
template <typename T>
constexpr int field_amount(std::uint32_t v) {
  const std::uint32_t amount = sizeof(T) == 8 ? v : v & 0xff;
  return amount > 255 ? 255 : int(amount);
}
template <typename T>
constexpr T bfe(T a, std::uint32_t b, std::uint32_t c) {
  const int msb = kBits<T> - 1, pos = field_amount<T>(b), len = field_amount<T>(c);
  const int at = pos + len - 1 < msb ? pos + len - 1 : msb;
  const bool fill = std::is_signed_v<T> && len != 0 && ((a >> at) & 1) != 0;
  unsigned_t<T> d = 0;
  for (int i = 0; i <= msb; ++i) {
    const bool bit = i < len && pos + i <= msb ? ((a >> (pos + i)) & 1) != 0 : fill;
    d = unsigned_t<T>(d | unsigned_t<T>(bit) << i);
  }
  return T(d);
}
template <typename T>
constexpr T bfi(T a, T b, std::uint32_t c, std::uint32_t d) {
  const int pos = field_amount<T>(c), len = field_amount<T>(d);
  for (int i = 0; i < len && pos + i < kBits<T>; ++i) {
    b = T((b & ~(T(1) << (pos + i))) | (((a >> i) & T(1)) << (pos + i)));
  }
  return b;
}

constexpr std::uint32_t bmsk(std::uint32_t a, std::uint32_t b, bool clamp) {
  const std::uint32_t start = a & 31, sum = start + (b & 31);
  const std::uint32_t low = clamp && a >= 32 ? 0 : ~0u << start;
  const bool open = sum >= 32 || (clamp && (a >= 32 || b >= 32));
  return low & ~(open ? 0 : ~0u << (sum & 31));
}
template <typename T>
constexpr T szext(T a, std::uint32_t b, bool clamp) {
  const std::uint32_t n = b & 31, v = std::uint32_t(a);
  const bool too_large = clamp && b >= 32;
  const std::uint32_t mask = too_large ? 0 : ~0u << n;
  const bool sign = std::is_signed_v<T> && n != 0 && !too_large && ((v >> ((n - 1) & 31)) & 1) != 0;
  return T((v & ~mask) | (sign ? mask : 0));
}
// Position of the n-th set bit counted from `base` up (n > 0), down (n < 0) or `base` itself (n == 0).
constexpr std::uint32_t fns(std::uint32_t mask, std::uint32_t base, std::int32_t n) {
  if (n == std::numeric_limits<std::int32_t>::min()) return 0;  // as the GPU answers
  if (base > 31) return ~0u;
  if (n == 0) return (mask >> base & 1) != 0 ? base : ~0u;
  const int step = n > 0 ? 1 : -1;
  std::uint32_t left = n > 0 ? std::uint32_t(n) : 0u - std::uint32_t(n);
  for (int i = int(base); i >= 0 && i < 32; i += step) {
    if ((mask >> i & 1) != 0 && --left == 0) return std::uint32_t(i);
  }
  return ~0u;
}

enum class Prmt : std::uint8_t { index, f4e, b4e, rc8, ecl, ecr, rc16 };

constexpr std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t c, Prmt mode) {
  const std::uint64_t bytes = std::uint64_t(b) << 32 | a;
  std::uint32_t d = 0;
  const std::uint32_t n = c & 3;
  for (unsigned i = 0; i < 4; ++i) {
    std::uint32_t pick = 0;
    switch (mode) {
      case Prmt::index: pick = c >> (4 * i) & 15; break;
      case Prmt::f4e: pick = n + i; break;
      case Prmt::b4e: pick = (n - i) & 7; break;
      case Prmt::rc8: pick = n; break;
      case Prmt::ecl: pick = i > n ? i : n; break;
      case Prmt::ecr: pick = i < n ? i : n; break;
      case Prmt::rc16: pick = (n & 1) * 2 + (i & 1); break;
    }
    std::uint32_t byte = std::uint32_t(bytes >> (8 * (pick & 7))) & 0xff;
    if ((pick & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    d |= byte << (8 * i);
  }
  return d;
}

constexpr std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
  std::uint32_t d = 0;
  for (unsigned i = 0; i < 32; ++i) {
    const std::uint32_t row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
    d |= (table >> row & 1) << i;
  }
  return d;
}

// Funnel shifts of the 64-bit value b:a.
constexpr std::uint32_t shf_l(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool wrap) {
  const std::uint32_t n = wrap ? c & 31 : (c < 32 ? c : 32);
  return std::uint32_t(((std::uint64_t(b) << 32 | a) << n) >> 32);
}
constexpr std::uint32_t shf_r(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool wrap) {
  const std::uint32_t n = wrap ? c & 31 : (c < 32 ? c : 32);
  return std::uint32_t((std::uint64_t(b) << 32 | a) >> n);
}

}  // namespace warploom::isa::ref
