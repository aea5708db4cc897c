// Every real function of the device math library, compiled for the host, against MPFR and NVIDIA's published bounds.
#include <gtest/gtest.h>

#include <map>

#include "host_library.hpp"
#include "measure.hpp"

namespace warploom::test {
namespace {

template <class T>
using Call = T (*)(const T*);
struct Functions {
  Call<double> in_double;
  Call<float> in_float;
};
#define ONE(name)                                                                                            \
  {                                                                                                          \
    #name, {                                                                                                 \
      [](const double* x) { return __nv_##name(x[0]); }, [](const float* x) { return __nv_##name##f(x[0]); } \
    }                                                                                                        \
  }
#define TWO(name)                                                   \
  {                                                                 \
    #name, {                                                        \
      [](const double* x) { return __nv_##name(x[0], x[1]); },      \
          [](const float* x) { return __nv_##name##f(x[0], x[1]); } \
    }                                                               \
  }
#define THREE(name)                                                       \
  {                                                                       \
    #name, {                                                              \
      [](const double* x) { return __nv_##name(x[0], x[1], x[2]); },      \
          [](const float* x) { return __nv_##name##f(x[0], x[1], x[2]); } \
    }                                                                     \
  }
#define FOUR(name)                                                              \
  {                                                                             \
    #name, {                                                                    \
      [](const double* x) { return __nv_##name(x[0], x[1], x[2], x[3]); },      \
          [](const float* x) { return __nv_##name##f(x[0], x[1], x[2], x[3]); } \
    }                                                                           \
  }
const std::map<std::string, Functions>& functions() {
  static const std::map<std::string, Functions> table = {
      // rsqrtf is one PTX instruction: the tests on the device measure it.
      {"rsqrt", {[](const double* x) { return __nv_rsqrt(x[0]); }, nullptr}},
      ONE(sqrt),
      ONE(cbrt),
      ONE(rcbrt),
      TWO(hypot),
      TWO(rhypot),
      THREE(norm3d),
      THREE(rnorm3d),
      FOUR(norm4d),
      FOUR(rnorm4d),
      ONE(exp),
      ONE(exp2),
      ONE(exp10),
      ONE(expm1),
      ONE(log),
      ONE(log2),
      ONE(log10),
      ONE(log1p),
      ONE(sin),
      ONE(cos),
      ONE(tan),
      ONE(sinpi),
      ONE(cospi),
      ONE(asin),
      ONE(acos),
      ONE(atan),
      TWO(atan2),
      ONE(sinh),
      ONE(cosh),
      ONE(tanh),
      ONE(asinh),
      ONE(acosh),
      ONE(atanh),
      TWO(pow),
      ONE(erf),
      ONE(erfc),
      ONE(erfinv),
      ONE(erfcinv),
      ONE(erfcx),
      ONE(normcdf),
      ONE(normcdfinv),
      ONE(lgamma),
      ONE(tgamma),
      ONE(logb),
      ONE(j0),
      ONE(j1),
      ONE(y0),
      ONE(y1),
      ONE(cyl_bessel_i0),
      ONE(cyl_bessel_i1),
      TWO(fmod),
      TWO(remainder),
      TWO(fdim),
      ONE(trunc),
      ONE(round),
      ONE(rint),
      ONE(nearbyint),
      ONE(ceil),
      ONE(floor)};
  return table;
}

class MathAccuracy : public testing::TestWithParam<MathCase> {};
template <class T>
void expect_accurate(const MathCase& math, Call<T> call) {
  const Samples<T> samples = samples_of<T>(math, 10000);
  std::vector<T> results;
  for (const auto& x : samples) results.push_back(call(x.data()));
  expect_within(math, samples, results);
}
TEST_P(MathAccuracy, InDouble) { expect_accurate(GetParam(), functions().at(GetParam().name).in_double); }
TEST_P(MathAccuracy, InFloat) {
  if (const Call<float> call = functions().at(GetParam().name).in_float) expect_accurate(GetParam(), call);
}
std::string name_of(const testing::TestParamInfo<MathCase>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(Devicelib, MathAccuracy, testing::ValuesIn(math_cases()), name_of);

}  // namespace
}  // namespace warploom::test
