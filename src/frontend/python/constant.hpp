// Values that are known when a kernel is compiled: literals, frozen globals, elements of constant tuples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warploom::frontend::python {

struct Constant {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    unsigned_integer,
    floating,
    complex,
    string,
    ellipsis,
    too_large
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;  // boolean, integer; the bits of unsigned_integer (2^63 and above)
  double real = 0, imag = 0;
  std::string text;

  friend bool operator==(const Constant&, const Constant&) = default;
};

}  // namespace warploom::frontend::python
