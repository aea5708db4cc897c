// The approximate instructions with dense samples of arguments, and their distance from the exact result.
#pragma once

#include <string>
#include <vector>

#include "isa/ref/math.hpp"
#include "lowering.hpp"

namespace warploom::semantics {

enum class Bound : std::uint8_t { relative, absolute, ulp, none };  // as the PTX manual states it

struct ApproxForm {
  std::string text;  // "ex2.approx.ftz.f32"
  Type type{};
  unsigned sources = 1;
  bool ftz = false;
  Bound kind{};
  double bound = 0;
  std::string stated;   // the bound in the manual's words
  std::string section;  // of the manual
  std::string where;    // arguments for which the bound holds
  double limit = 0;     // largest magnitude of such an argument, 0: none; lg2: 2 inside of (0.5, 2), 0 outside

  // What a recording calls it.
  [[nodiscard]] std::string name() const { return text + " " + where; }

  [[nodiscard]] double exact(double x, double y) const;
  [[nodiscard]] bool within(double x, double y) const;  // the bound holds here
};
const std::vector<ApproxForm>& approx_forms();

constexpr std::size_t kApproxSamples = 16384;  // of f32 and f64; of 16-bit types every value
std::size_t approx_count(const ApproxForm& form);
// Zeros, infinities, NaN, subnormals and the ends of the range, each with both signs; the samples of f32 and f64 begin
// with them, or with all their pairs.
std::vector<u64> approx_corners(const ApproxForm& form);
// Arguments as bits, one after the other for each source.
std::vector<u64> approx_arguments(const ApproxForm& form);
std::string approx_kernel(const ApproxForm& form, std::size_t index);  // "approxN(in, out)", 64-bit words

struct ApproxError {
  double worst = 0;  // in the unit of the bound, relative when there is none
  u64 x = 0, y = 0, got = 0;
  std::size_t special = 0;  // results that are NaN, infinite or zero where the exact one is not, or the other way
  u64 special_x = 0, special_y = 0, special_got = 0;
};
ApproxError approx_error(const ApproxForm& form, const std::vector<u64>& arguments, const u64* results);

}  // namespace warploom::semantics
