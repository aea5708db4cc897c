// Scalar reference semantics of PTX integer arithmetic: what one lane computes, never undefined, never trapping.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace warploom::isa::ref {

using u128 = unsigned __int128;
using s128 = __int128;

// Integer of twice the width and the same signedness.
template <typename T>
struct Wider;
template <>
struct Wider<std::uint8_t> {
  using type = std::uint16_t;
};
template <>
struct Wider<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct Wider<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct Wider<std::uint64_t> {
  using type = u128;
};
template <>
struct Wider<std::int8_t> {
  using type = std::int16_t;
};
template <>
struct Wider<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct Wider<std::int32_t> {
  using type = std::int64_t;
};
template <>
struct Wider<std::int64_t> {
  using type = s128;
};
template <typename T>
using wider_t = typename Wider<T>::type;

template <typename T>
constexpr int kBits = std::numeric_limits<std::make_unsigned_t<T>>::digits;
template <typename T>
using unsigned_t = std::make_unsigned_t<T>;

// Arithmetic wraps, so it is done in an unsigned type that integer promotion leaves alone.
template <typename T>
using wrap_t = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;

template <typename T>
constexpr T add(T a, T b) {
  return T(wrap_t<T>(a) + wrap_t<T>(b));
}
template <typename T>
constexpr T sub(T a, T b) {
  return T(wrap_t<T>(a) - wrap_t<T>(b));
}
template <typename T>
constexpr T neg(T a) {
  return sub(T(0), a);
}
// abs of the most negative value is itself.
template <typename T>
constexpr T abs(T a) {
  return a < 0 ? neg(a) : a;
}

template <typename T>
constexpr T clamp_to(wider_t<T> v) {
  using L = std::numeric_limits<T>;
  return v < wider_t<T>(L::min()) ? L::min() : v > wider_t<T>(L::max()) ? L::max() : T(v);
}
template <typename T>
constexpr T add_sat(T a, T b) {
  return clamp_to<T>(wider_t<T>(a) + wider_t<T>(b));
}
template <typename T>
constexpr T sub_sat(T a, T b) {
  return clamp_to<T>(wider_t<T>(a) - wider_t<T>(b));
}

template <typename T>
constexpr wider_t<T> mul_wide(T a, T b) {
  using W = wider_t<T>;
  return W(W(a) * W(b));
}
template <typename T>
constexpr T mul_lo(T a, T b) {
  return T(wrap_t<T>(a) * wrap_t<T>(b));
}
template <typename T>
constexpr T mul_hi(T a, T b) {
  return T(mul_wide(a, b) >> kBits<T>);
}
template <typename T>
constexpr T mad_lo(T a, T b, T c) {
  return add(mul_lo(a, b), c);
}
template <typename T>
constexpr T mad_hi(T a, T b, T c) {
  return add(mul_hi(a, b), c);
}
template <typename T>
constexpr T mad_hi_sat(T a, T b, T c) {
  return add_sat(mul_hi(a, b), c);
}
template <typename T>
constexpr wider_t<T> mad_wide(T a, T b, wider_t<T> c) {
  return wider_t<T>(std::make_unsigned_t<wider_t<T>>(mul_wide(a, b)) + std::make_unsigned_t<wider_t<T>>(c));
}

// The 48-bit product of the low 24 bits; T is u32 or s32.
template <typename T>
constexpr wider_t<T> mul24_wide(T a, T b) {
  const auto low = [](T v) { return T(T(std::uint32_t(v) << 8) >> 8); };
  return mul_wide(low(a), low(b));
}
template <typename T>
constexpr T mul24_lo(T a, T b) {
  return T(mul24_wide(a, b));
}
template <typename T>
constexpr T mul24_hi(T a, T b) {
  return T(mul24_wide(a, b) >> 16);
}

// Division by zero gives all ones, as the GPU's code sequence does; MIN / -1 wraps to MIN with remainder 0.
template <typename T>
constexpr T div(T a, T b) {
  if (b == 0) return T(~T(0));
  if (std::is_signed_v<T> && b == T(-1)) return neg(a);
  return T(a / b);
}
template <typename T>
constexpr T rem(T a, T b) {
  if (b == 0) return T(~T(0));
  if (std::is_signed_v<T> && b == T(-1)) return 0;
  return T(a % b);
}

template <typename T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
constexpr T min_relu(T a, T b) {
  return max(min(a, b), T(0));
}
template <typename T>
constexpr T max_relu(T a, T b) {
  return max(max(a, b), T(0));
}
// sad wraps; the difference itself is taken without loss.
template <typename T>
constexpr T sad(T a, T b, T c) {
  return add(c, a < b ? sub(b, a) : sub(a, b));
}

template <typename T>
struct Carry {
  T value;
  bool carry;
};
// CC.CF is a carry for additions and a borrow for subtractions.
template <typename T>
constexpr Carry<T> add_carry(T a, T b, bool in) {
  using U = unsigned_t<T>;
  const auto sum = wider_t<U>(wider_t<U>(U(a)) + U(b) + (in ? 1 : 0));
  return {T(sum), (sum >> kBits<T>) != 0};
}
template <typename T>
constexpr Carry<T> sub_borrow(T a, T b, bool in) {
  using U = unsigned_t<T>;
  const auto difference = wider_t<U>(wider_t<U>(U(a)) - U(b) - (in ? 1 : 0));
  return {T(difference), (difference >> kBits<T>) != 0};
}

// Sum of four products of bytes; A and B are the byte types, signed or not.
template <typename A, typename B>
constexpr std::uint32_t dp4a(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  for (int i = 0; i < 32; i += 8) c += std::uint32_t(std::int32_t(A(a >> i)) * std::int32_t(B(b >> i)));
  return c;
}
// Sum of two products of a half word of a and a byte of b; `hi` takes the upper byte pair of b.
template <typename A, typename B>
constexpr std::uint32_t dp2a(std::uint32_t a, std::uint32_t b, std::uint32_t c, bool hi) {
  for (int i = 0; i < 2; ++i) {
    c += std::uint32_t(std::int32_t(A(a >> (16 * i)))) * std::uint32_t(std::int32_t(B(b >> (8 * i + (hi ? 16 : 0)))));
  }
  return c;
}

}  // namespace warploom::isa::ref
