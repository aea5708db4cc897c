// Scalar types and state spaces of PTX (PTX ISA sections 5.1 and 5.2).
#pragma once

#include <cstdint>
#include <string_view>

namespace warploom::isa {

enum class Type : std::uint8_t {
  none,
  pred,
  b1,
  b8,
  b16,
  b32,
  b64,
  b128,
  u4,
  u8,
  u16,
  u32,
  u64,
  s4,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  f32x2,
  u16x2,
  s16x2,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  e2m1x2,
  e2m3x2,
  e3m2x2,
  ue8m0x2,
  e2m1x4,
  e4m3x4,
  e5m2x4,
  e2m3x4,
  e3m2x4,
};

enum class Space : std::uint8_t { generic, reg, sreg, constant, global, local, param, shared };

[[nodiscard]] constexpr unsigned bits(Type t) {
  switch (t) {
    case Type::none: return 0;
    case Type::pred:
    case Type::b1: return 1;
    case Type::u4:
    case Type::s4: return 4;
    case Type::b8:
    case Type::u8:
    case Type::s8:
    case Type::e4m3:
    case Type::e5m2:
    case Type::e2m1x2: return 8;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16:
    case Type::e4m3x2:
    case Type::e5m2x2:
    case Type::e2m3x2:
    case Type::e3m2x2:
    case Type::ue8m0x2:
    case Type::e2m1x4: return 16;
    case Type::b32:
    case Type::u32:
    case Type::s32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::tf32:
    case Type::u16x2:
    case Type::s16x2:
    case Type::e4m3x4:
    case Type::e5m2x4:
    case Type::e2m3x4:
    case Type::e3m2x4: return 32;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
    case Type::f32x2: return 64;
    case Type::b128: return 128;
  }
  return 0;
}
[[nodiscard]] constexpr unsigned bytes(Type t) { return (bits(t) + 7) / 8; }
[[nodiscard]] constexpr bool is_signed(Type t) {
  return t == Type::s8 || t == Type::s16 || t == Type::s32 || t == Type::s64;
}
[[nodiscard]] constexpr bool is_unsigned(Type t) {
  return t == Type::u8 || t == Type::u16 || t == Type::u32 || t == Type::u64;
}
[[nodiscard]] constexpr bool is_untyped(Type t) {
  return t == Type::b8 || t == Type::b16 || t == Type::b32 || t == Type::b64 || t == Type::b128;
}
// Scalar floating point; packed and narrow formats do not count.
[[nodiscard]] constexpr bool is_float(Type t) {
  return t == Type::f16 || t == Type::bf16 || t == Type::f32 || t == Type::f64;
}

// The PTX spelling without the dot, for instance "f32"; "" for none.
[[nodiscard]] std::string_view name(Type t);
// Type of a spelling without the dot; none when it is not a type.
[[nodiscard]] Type type_from_name(std::string_view spelling);

}  // namespace warploom::isa
