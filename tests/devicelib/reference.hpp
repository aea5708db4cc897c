// Exact values of the device math functions by MPFR, and the error of a result against them.
#pragma once

#include <mpfr.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace warploom::test {

// An MPFR number that frees itself.
class Exact {
 public:
  explicit Exact(long precision = 200) { mpfr_init2(value_, precision); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  ~Exact() { mpfr_clear(value_); }
  operator mpfr_ptr() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

using Reference = std::function<void(mpfr_ptr result, const double* arguments)>;

struct Interval {
  double low, high;
};
struct MathCase {
  std::string name;  // of the double function
  int arguments = 1;
  Reference reference;
  std::vector<Interval> intervals;  // where arguments are drawn densely, besides all bit patterns
  int cost = 1;                     // samples are divided by it
};
inline void PrintTo(const MathCase& math, std::ostream* out) { *out << math.name; }
// Every function of real arguments that returns one value.
const std::vector<MathCase>& math_cases();

// Error of `got` against the exact value: in ulp of the exact value, the distance from the correctly rounded value in
// representable numbers, and absolute. A wrong kind (NaN, infinity, sign of zero) counts as 1e9.
struct Error {
  double ulp = 0, steps = 0, absolute = 0;
};
Error error_of(double got, mpfr_srcptr exact);
Error error_of(float got, mpfr_srcptr exact);

}  // namespace warploom::test
