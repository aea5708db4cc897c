// The device header's math functions, compiled for the host and held against long double over their whole range.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "../devicelib/host_library.hpp"

namespace {

constexpr int kSamples = 200000;

template <class T>
T from_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else
    return std::bit_cast<double>(bits);
}

// Error in units of the last place of the exact value, where subnormal results have the smallest one.
template <class T>
double error_ulp(T got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  const long double largest = std::numeric_limits<T>::max();
  if (std::fabs(exact) > largest * (1 + 0x1p-25L))  // the last half ulp before infinity may go either way
    return std::isinf(got) || got == (exact > 0 ? std::numeric_limits<T>::max() : -std::numeric_limits<T>::max()) ? 0
                                                                                                                  : 1e9;
  if (std::isnan(got)) return 1e9;
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int last = std::max(exponent - std::numeric_limits<T>::digits,
                            std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits);
  if (std::isinf(got)) return std::fabs(exact) >= largest * (1 - 0x1p-22L) ? 1 : 1e9;
  return static_cast<double>(std::fabs(std::ldexp(static_cast<long double>(got) - exact, -last)));
}

// Largest error over `samples` arguments: every bit pattern is as likely as any other, then a dense linear range.
template <class T, class F, class R>
double worst(F function, R reference, long double lo, long double hi, T* where) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(static_cast<double>(lo), static_cast<double>(hi));
  double worst_ulp = 0;
  for (int i = 0; i < kSamples; ++i) {
    T x = (i & 1) ? from_bits<T>(random()) : static_cast<T>(uniform(random));
    const double e = error_ulp<T>(function(x), reference(static_cast<long double>(x)));
    if (e > worst_ulp) {
      worst_ulp = e;
      *where = x;
    }
  }
  return worst_ulp;
}

#define CHECK_ACCURACY(name, bound, lo, hi)                                                                          \
  TEST(MathAccuracy, name##_float) {                                                                                 \
    float at = 0;                                                                                                    \
    const double e =                                                                                                 \
        worst<float>([](float x) { return wl_##name(x); }, [](long double x) { return name##l(x); }, lo, hi, &at);   \
    RecordProperty("ulp", std::to_string(e));                                                                        \
    EXPECT_LE(e, bound) << "at " << std::hexfloat << at;                                                             \
  }                                                                                                                  \
  TEST(MathAccuracy, name##_double) {                                                                                \
    double at = 0;                                                                                                   \
    const double e =                                                                                                 \
        worst<double>([](double x) { return wl_##name(x); }, [](long double x) { return name##l(x); }, lo, hi, &at); \
    RecordProperty("ulp", std::to_string(e));                                                                        \
    EXPECT_LE(e, bound) << "at " << std::hexfloat << at;                                                             \
  }
CHECK_ACCURACY(exp, 2, -750, 720)
CHECK_ACCURACY(exp2, 2, -1080, 1030)
CHECK_ACCURACY(exp10, 2, -330, 310)
CHECK_ACCURACY(expm1, 2, -40, 5)
CHECK_ACCURACY(log, 2, 0.3L, 3)
CHECK_ACCURACY(log2, 2, 0.3L, 3)
CHECK_ACCURACY(log10, 2, 0.3L, 3)
CHECK_ACCURACY(log1p, 2, -1, 2)
CHECK_ACCURACY(sin, 2, -100, 100)
CHECK_ACCURACY(cos, 2, -100, 100)
CHECK_ACCURACY(tan, 4, -100, 100)
CHECK_ACCURACY(asin, 2, -1, 1)
CHECK_ACCURACY(acos, 2, -1, 1)
CHECK_ACCURACY(atan, 2, -10, 10)
CHECK_ACCURACY(sinh, 4, -10, 10)
CHECK_ACCURACY(cosh, 4, -10, 10)
CHECK_ACCURACY(tanh, 4, -5, 5)
CHECK_ACCURACY(asinh, 4, -10, 10)
CHECK_ACCURACY(acosh, 4, 1, 10)
CHECK_ACCURACY(atanh, 4, -1, 1)
CHECK_ACCURACY(erf, 2, -6, 6)
CHECK_ACCURACY(erfc, 4, -6, 27)
CHECK_ACCURACY(cbrt, 1, -10, 10)
CHECK_ACCURACY(round, 0, -10, 10)

// Two arguments: bit patterns and a linear range again.
template <class T, class F, class R>
double worst2(F function, R reference, double lo, double hi, T* at_x, T* at_y) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(lo, hi);
  double worst_ulp = 0;
  for (int i = 0; i < kSamples; ++i) {
    T x = (i & 1) ? from_bits<T>(random()) : static_cast<T>(uniform(random));
    T y = (i & 2) ? from_bits<T>(random()) : static_cast<T>(uniform(random));
    const double e = error_ulp<T>(function(x, y), reference(static_cast<long double>(x), static_cast<long double>(y)));
    if (e > worst_ulp) {
      worst_ulp = e;
      *at_x = x;
      *at_y = y;
    }
  }
  return worst_ulp;
}

#define CHECK_ACCURACY2(name, bound, lo, hi)                                                                     \
  TEST(MathAccuracy, name##_float) {                                                                             \
    float x = 0, y = 0;                                                                                          \
    const double e = worst2<float>([](float a, float b) { return wl_##name(a, b); },                             \
                                   [](long double a, long double b) { return name##l(a, b); }, lo, hi, &x, &y);  \
    RecordProperty("ulp", std::to_string(e));                                                                    \
    EXPECT_LE(e, bound) << "at " << std::hexfloat << x << ", " << y;                                             \
  }                                                                                                              \
  TEST(MathAccuracy, name##_double) {                                                                            \
    double x = 0, y = 0;                                                                                         \
    const double e = worst2<double>([](double a, double b) { return wl_##name(a, b); },                          \
                                    [](long double a, long double b) { return name##l(a, b); }, lo, hi, &x, &y); \
    RecordProperty("ulp", std::to_string(e));                                                                    \
    EXPECT_LE(e, bound) << "at " << std::hexfloat << x << ", " << y;                                             \
  }
CHECK_ACCURACY2(pow, 2, 0, 40)
CHECK_ACCURACY2(atan2, 2, -4, 4)
CHECK_ACCURACY2(hypot, 1, -4, 4)
CHECK_ACCURACY2(fmod, 0, -40, 40)
CHECK_ACCURACY2(remainder, 0, -40, 40)
CHECK_ACCURACY2(fdim, 0.5, -40, 40)

TEST(MathAccuracy, LargeArgumentsOfTheCircularFunctions) {
  for (const double x : {1e22, 6381956970095103.0 * 0x1p797, 0x1.fffffffffffffp1023, 1e9 + 1, -3e12, 1.5e9}) {
    EXPECT_LE(error_ulp<double>(wl_sin(x), sinl(x)), 2) << x;
    EXPECT_LE(error_ulp<double>(wl_cos(x), cosl(x)), 2) << x;
  }
}

TEST(MathAccuracy, PowFollowsC) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {0.0,  -0.0, 1,    -1,  2,     -2,     3,      -3,        0.5,
                           -0.5, inf,  -inf, nan, 1e300, -1e300, 1e-300, 0x1p53 + 2};
  for (const double x : values)
    for (const double y : values) {
      const double got = wl_pow(x, y), want = std::pow(x, y);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << x << ' ' << y;
        continue;
      }
      EXPECT_LE(error_ulp<double>(got, powl(x, y)), 1) << x << ' ' << y;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << x << ' ' << y;
      const float fx = static_cast<float>(x), fy = static_cast<float>(y);
      EXPECT_EQ(std::signbit(wl_pow(fx, fy)), std::signbit(std::pow(fx, fy))) << x << ' ' << y;
    }
}

template <class T>
void take_apart() {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const T x = from_bits<T>(random());
    if (!std::isfinite(x)) continue;
    int got = 0, want = 0;
    EXPECT_EQ(wl_frexp(x, &got), std::frexp(x, &want));
    EXPECT_EQ(got, want) << x;
    const int n = static_cast<int>(random() % 4600) - 2300;
    EXPECT_EQ(wl_scale(x, n), std::ldexp(x, n)) << std::hexfloat << x << ' ' << n;
    T whole = 0, expected_whole = 0;
    EXPECT_EQ(wl_modf(x, &whole), std::modf(x, &expected_whole));
    EXPECT_EQ(whole, expected_whole);
    EXPECT_EQ(wl_ilogb(x), x == 0 ? -2147483647 - 1 : std::ilogb(x));
    EXPECT_EQ(wl_nextafter(x, T(1)), std::nextafter(x, T(1)));
  }
}
TEST(MathAccuracy, NumbersTakenApart) {
  take_apart<float>();
  take_apart<double>();
}

TEST(MathAccuracy, SinpiIsExactAtQuarters) {
  for (int i = -40; i <= 40; ++i) {
    const double x = i * 0.5;
    const double want_sin = (i & 1) ? ((i & 3) == 1 ? 1 : -1) : 0, want_cos = (i & 1) ? 0 : (i & 2) ? -1 : 1;
    EXPECT_EQ(wl_sinpi(x, 0), want_sin) << x;
    EXPECT_EQ(wl_sinpi(x, 1), want_cos) << x;
    EXPECT_EQ(wl_sinpi(static_cast<float>(x), 0), static_cast<float>(want_sin)) << x;
    EXPECT_NEAR(wl_sinpi(x + 0.17, 0), std::sin((x + 0.17) * 3.14159265358979323846), 1e-12);
  }
}

}  // namespace
