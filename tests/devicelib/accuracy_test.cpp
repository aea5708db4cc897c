// Every real function of the device math library, compiled for the host, against MPFR and NVIDIA's published bounds.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>

#include "host_library.hpp"
#include "reference.hpp"

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

struct Bound {
  double in_double = 0, in_float = 0;
  std::string range;
  std::vector<double> numbers;
};
const std::map<std::string, Bound>& bounds() {
  static const std::map<std::string, Bound> table = [] {
    std::map<std::string, Bound> rows;
    std::ifstream file(std::string(WARPLOOM_TEST_DATA) + "/bounds.tsv");
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream words(line);
      std::string name, in_double, in_float;
      Bound bound;
      words >> name >> in_double >> in_float >> bound.range;
      for (double number = 0; words >> number;) bound.numbers.push_back(number);
      bound.in_double = std::atof(in_double.c_str());
      bound.in_float = std::atof(in_float.c_str());
      rows[name] = bound;
    }
    return rows;
  }();
  return table;
}

template <class T>
std::vector<T> edge_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {T(0),
                           L::denorm_min(),
                           L::denorm_min() * 3,
                           L::min() - L::denorm_min(),
                           L::min(),
                           L::epsilon(),
                           T(0.25),
                           T(0.5),
                           T(0.75),
                           T(1) - L::epsilon() / 2,
                           T(1),
                           T(1) + L::epsilon(),
                           T(1.5),
                           T(2),
                           T(2.5),
                           T(3),
                           T(4),
                           T(5),
                           T(7),
                           T(8),
                           T(10),
                           T(22),
                           T(23),
                           T(170),
                           T(171.5),
                           T(1e6),
                           T(1) / L::epsilon(),
                           T(2) / L::epsilon() + T(2),
                           L::max() / 2,
                           L::max(),
                           L::infinity()};
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  values.push_back(L::quiet_NaN());
  return values;
}
template <class T>
T from_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else
    return std::bit_cast<double>(bits);
}

struct Worst {
  Error error;        // within the bound's range
  double beyond = 0;  // absolute, outside it
  std::vector<double> at;
  std::size_t samples = 0;
};

template <class T>
bool in_range(const Bound& bound, double x) {
  if (bound.range == "below") return std::fabs(x) < bound.numbers[0];
  if (bound.range == "outside") {
    const int first = sizeof(T) == 4 ? 2 : 0;
    return !(x > bound.numbers[first] && x < bound.numbers[first + 1]);
  }
  return true;
}

template <class T>
Worst measure(const MathCase& math, Call<T> call, const Bound& bound) {
  Worst worst;
  Exact exact;
  const auto check = [&](const T* x) {
    double wide[4] = {};
    for (int i = 0; i < math.arguments; ++i) wide[i] = x[i];
    math.reference(exact, wide);
    const T got = call(x);
    const Error error = error_of(got, exact.get());
    ++worst.samples;
    if (!in_range<T>(bound, wide[0])) {
      worst.beyond = std::max(worst.beyond, error.absolute);
      return;
    }
    worst.error.steps = std::max(worst.error.steps, error.steps);
    if (error.ulp > worst.error.ulp) {
      worst.error.ulp = error.ulp;
      worst.at.assign(wide, wide + math.arguments);
    }
  };
  const std::vector<T> edges = edge_values<T>();
  if (math.arguments == 1) {
    for (const T x : edges) check(&x);
  } else if (math.arguments == 2) {
    for (const T x : edges)
      for (const T y : edges) {
        const T both[2] = {x, y};
        check(both);
      }
  }
  const char* scale = std::getenv("WARPLOOM_MATH_SAMPLES");
  const int samples = (scale ? std::atoi(scale) : 40000) / math.cost;
  std::mt19937_64 random(7);
  const std::size_t kinds = math.intervals.size() + 1;
  for (int i = 0; i < samples; ++i) {
    T x[4] = {};
    const std::size_t kind = static_cast<std::size_t>(i) % kinds;
    for (int k = 0; k < math.arguments; ++k) {
      if (kind == 0) {
        x[k] = from_bits<T>(random());
      } else {
        const Interval range = math.intervals[kind - 1];
        x[k] = static_cast<T>(std::uniform_real_distribution<double>(range.low, range.high)(random));
      }
    }
    check(x);
  }
  return worst;
}

template <class T>
void expect_within(const MathCase& math, Call<T> call) {
  const Bound& bound = bounds().at(math.name);
  const Worst worst = measure(math, call, bound);
  std::ostringstream where;
  for (const double x : worst.at) where << std::hexfloat << ' ' << x << std::defaultfloat << " (" << x << ')';
  const double limit = sizeof(T) == 4 ? bound.in_float : bound.in_double;
  const std::string name = math.name + (sizeof(T) == 4 ? "f" : "");
  if (const char* path = std::getenv("WARPLOOM_MATH_REPORT")) {
    std::ofstream(path, std::ios::app) << name << '\t' << worst.error.ulp << '\t' << worst.error.steps << '\t' << limit
                                       << '\t' << worst.beyond << '\t' << worst.samples << '\t' << where.str() << '\n';
  }
  EXPECT_LE(worst.error.steps, limit) << name << ": " << worst.error.ulp << " ulp at" << where.str();
  if (bound.range == "below") {
    EXPECT_LE(worst.beyond, bound.numbers[sizeof(T) == 4 ? 2 : 1]) << name;
  }
}

class MathAccuracy : public testing::TestWithParam<MathCase> {};
TEST_P(MathAccuracy, InDouble) { expect_within(GetParam(), functions().at(GetParam().name).in_double); }
TEST_P(MathAccuracy, InFloat) {
  if (const Call<float> call = functions().at(GetParam().name).in_float) expect_within(GetParam(), call);
}
std::string name_of(const testing::TestParamInfo<MathCase>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(Devicelib, MathAccuracy, testing::ValuesIn(math_cases()), name_of);

}  // namespace
}  // namespace warploom::test
