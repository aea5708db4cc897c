// Constant literals and expressions (PTX ISA section 4.5).
#pragma once

#include <cstdint>

#include "ptx/cursor.hpp"

namespace warploom::ptx {

struct Constant {
  enum class Kind : std::uint8_t { integer, f32, f64 };  // f32: written 0f...; f64: 0d... or decimal
  Kind kind = Kind::integer;
  bool is_unsigned = false;
  std::uint64_t bits = 0;
};

// Whether a constant expression may start with this character. '(' also starts lists; '!' also negates predicates.
[[nodiscard]] constexpr bool starts_constant(char c) {
  return is_digit(c) || c == '-' || c == '+' || c == '~' || c == '(' || c == '!';
}

// Reads an expression; false when the text is none. `why` then says what is wrong.
bool read_constant(Cursor& cursor, Constant& out, const char*& why);

// The value as the bits of an f32 or f64.
[[nodiscard]] std::uint32_t as_f32_bits(const Constant& c);
[[nodiscard]] std::uint64_t as_f64_bits(const Constant& c);

}  // namespace warploom::ptx
