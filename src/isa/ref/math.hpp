// Scalar reference semantics of the approximate functions: the exact value of a finite argument from wider arithmetic,
// with the special cases of the PTX manual. An implementation may differ from it by the manual's error bound.
#pragma once

#include <bit>
#include <cmath>

#include "isa/ref/float.hpp"

namespace warploom::isa::ref {

enum class Approx : std::uint8_t { ex2, lg2, sin, cos, tanh, rcp, rsqrt, sqrt };

inline float flush(float x) {
  return std::bit_cast<float>(std::uint32_t(flush(kF32, std::bit_cast<std::uint32_t>(x))));
}

// In double, before rounding to the result's type; NaN for invalid arguments.
inline double approx_value(Approx op, double x) {
  switch (op) {
    case Approx::ex2: return std::exp2(x);
    case Approx::lg2: return std::log2(x);
    case Approx::sin: return std::sin(x);
    case Approx::cos: return std::cos(x);
    case Approx::tanh: return std::tanh(x);
    case Approx::rcp: return 1 / x;
    case Approx::rsqrt: return 1 / std::sqrt(x);
    case Approx::sqrt: return std::sqrt(x);
  }
  return 0;
}
// What an f32 approximation must be near to.
inline double approx_f32(Approx op, float x, bool ftz) {
  if (ftz) x = flush(x);
  const double r = approx_value(op, x);
  return ftz && std::fabs(r) < 0x1p-126 ? std::copysign(0.0, r) : r;
}
// div.approx: beyond 2^126 the divisor's reciprocal is flushed.
inline double div_approx(float a, float b, bool ftz) {
  if (ftz) a = flush(a), b = flush(b);
  double r = double(a) / b;
  if (std::fabs(b) > 0x1p126f && std::isfinite(b)) {
    r = std::isinf(a) ? std::nan("") : std::isnan(a) ? r : std::copysign(0.0, r);
  }
  return ftz && std::fabs(r) < 0x1p-126 ? std::copysign(0.0, r) : r;
}
// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write the upper word only.
inline std::uint64_t upper_word(std::uint64_t x) { return flush(kF64, x) & 0xffffffff00000000u; }
inline std::uint64_t rcp_approx_ftz_f64(std::uint64_t x) { return upper_word(rcp(kF64, Round::rn, upper_word(x))); }

}  // namespace warploom::isa::ref
