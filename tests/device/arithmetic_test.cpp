// Integer intrinsics exactly, math functions within the header's bounds, rounding modes bit by bit.
#include "device_test.hpp"

#include <bit>
#include <cfenv>
#include <cmath>

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Arithmetic, "arithmetic.cu");

std::uint32_t reversed(std::uint32_t v) {
  std::uint32_t r = 0;
  for (int i = 0; i < 32; ++i) r |= (v >> i & 1) << (31 - i);
  return r;
}

std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32 | a;
  std::uint32_t r = 0;
  for (int i = 0; i < 4; ++i)
    r |= static_cast<std::uint32_t>(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  return r;
}

std::uint32_t dot4(std::uint32_t a, std::uint32_t b, int c) {
  for (int i = 0; i < 4; ++i) c += static_cast<std::int8_t>(a >> (8 * i)) * static_cast<std::int8_t>(b >> (8 * i));
  return static_cast<std::uint32_t>(c);
}

TEST_P(Arithmetic, Integers) {
  const int n = 500;
  std::vector<std::uint32_t> a = random_words(n, 21), b = random_words(n, 22);
  a[0] = 0, a[1] = ~0u, a[2] = 1u << 31, a[3] = 1;
  b[0] = 0, b[1] = ~0u, b[2] = 1u << 31, b[3] = 0;
  const auto da = array(a), db = array(b);
  DeviceArray<std::uint32_t> out(device, n * 18);
  kernel("integers").launch({blocks_for(n, 96), 96}, da, db, out, n);
  const std::vector<std::uint32_t> got = out.to_vector();
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t x = a[i], y = b[i];
    const std::int64_t sx = static_cast<std::int32_t>(x), sy = static_cast<std::int32_t>(y);
    const std::uint64_t pair = static_cast<std::uint64_t>(y) << 32 | x;
    const std::int64_t divisor = static_cast<std::int32_t>((y >> 4) | 1);
    const std::uint32_t want[18] = {static_cast<std::uint32_t>(std::popcount(x)),
                                    static_cast<std::uint32_t>(std::countl_zero(x)),
                                    x == 0 ? 0u : static_cast<std::uint32_t>(std::countr_zero(x)) + 1,
                                    reversed(x),
                                    permuted(x, y, 0x5214),
                                    static_cast<std::uint32_t>(sx * sy >> 32),
                                    static_cast<std::uint32_t>(static_cast<std::uint64_t>(x) * y >> 32),
                                    (x & 0xffffff) * (y & 0xffffff),
                                    dot4(x, y, 5),
                                    static_cast<std::uint32_t>(pair << (y & 31) >> 32),
                                    static_cast<std::uint32_t>(pair >> (x & 31)),
                                    static_cast<std::uint32_t>(std::min(sx, sy)),
                                    std::max(x, y),
                                    (x > y ? x - y : y - x) + 3,
                                    x / (y | 1),
                                    static_cast<std::uint32_t>(sx % divisor),
                                    static_cast<std::uint32_t>(static_cast<std::uint64_t>(x) * y >> 20),
                                    static_cast<std::uint32_t>((static_cast<std::uint64_t>(x) + y) >> 1)};
    for (std::size_t k = 0; k < 18; ++k)
      ASSERT_EQ(got[i * 18 + k], want[k]) << "result " << k << " of " << x << ", " << y;
  }
}

// `ulps` units in the last place of the exact value.
template <class T>
void expect_close(T got, long double exact, double ulps, const std::string& what) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const long double unit =
      std::ldexp(1.0L, std::max(exponent - std::numeric_limits<T>::digits,
                                std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits));
  EXPECT_LE(std::fabs(static_cast<long double>(got) - exact) / unit, static_cast<long double>(ulps))
      << what << ": " << got << " instead of " << static_cast<double>(exact);
}

TEST_P(Arithmetic, Floats) {
  const int n = 300;
  const std::vector<std::uint32_t> words = random_words(n * 2, 31);
  std::vector<float> a(n), b(n);
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = static_cast<float>(words[2 * i]) * 0x1p-29f - 4;
    b[i] = static_cast<float>(words[2 * i + 1]) * 0x1p-28f + 0.01f;
  }
  const auto da = array(a), db = array(b);
  DeviceArray<float> out(device, n * 16);
  kernel("floats").launch({blocks_for(n, 64), 64}, da, db, out, n);
  const std::vector<float> got = out.to_vector();
  for (std::size_t i = 0; i < n; ++i) {
    const long double x = a[i], y = b[i], x10 = a[i] * 10.0f;
    const struct {
      const char* name;
      long double exact;
      double ulps;
    } want[16] = {{"exp", std::exp(x), 2},
                  {"log", std::log(y), 2},
                  {"sin", std::sin(x10), 2},
                  {"cos", std::cos(x10), 2},
                  {"pow", std::pow(y, x), 2},
                  {"tanh", std::tanh(x), 4},
                  {"atan2", std::atan2(x, y), 2},
                  {"erf", std::erf(x), 2},
                  {"cbrt", std::cbrt(x), 2},
                  {"sqrt", std::sqrt(y), 0.5},
                  {"divide", x / y, 0.501},
                  {"fmod", std::fmod(static_cast<long double>(a[i] * 100.0f), y), 0},
                  {"rint", std::rint(a[i] * 3.0f), 0},
                  {"fmax", std::max(x, y), 0},
                  {"log1p", std::log1p(y), 2},
                  {"ldexp", std::ldexp(x, static_cast<int>(i) % 40 - 20), 0}};
    for (std::size_t k = 0; k < 16; ++k)
      expect_close(got[i * 16 + k], want[k].exact, want[k].ulps,
                   std::string(want[k].name) + "(" + std::to_string(a[i]) + ", " + std::to_string(b[i]) + ")");
  }
}

TEST_P(Arithmetic, Doubles) {
  const int n = 200;
  const std::vector<std::uint32_t> words = random_words(n * 2, 41);
  std::vector<double> a(n), b(n);
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = words[2 * i] * 0x1p-29 - 4 + 1e-9;
    b[i] = words[2 * i + 1] * 0x1p-28 + 0.01;
  }
  const auto da = array(a), db = array(b);
  DeviceArray<double> out(device, n * 10);
  kernel("doubles").launch({blocks_for(n, 64), 64}, da, db, out, n);
  const std::vector<double> got = out.to_vector();
  for (std::size_t i = 0; i < n; ++i) {
    const long double x = a[i], y = b[i];
    const struct {
      const char* name;
      long double exact;
      double ulps;
    } want[10] = {{"exp", std::exp(x), 2},
                  {"log", std::log(y), 2},
                  {"sin", std::sin(static_cast<long double>(a[i] * 10)), 2},
                  {"pow", std::pow(y, x), 2},
                  {"tanh", std::tanh(x), 4},
                  {"atan2", std::atan2(x, y), 2},
                  {"erfc", std::erfc(x), 4},
                  {"cbrt", std::cbrt(x), 2},
                  {"sqrt over x", std::sqrt(b[i]) / x, 0.501},
                  {"fma", static_cast<long double>(std::fma(a[i], b[i], 1.0)), 0}};
    for (std::size_t k = 0; k < 10; ++k)
      expect_close(got[i * 10 + k], want[k].exact, want[k].ulps,
                   std::string(want[k].name) + "(" + std::to_string(a[i]) + ", " + std::to_string(b[i]) + ")");
  }
}

TEST_P(Arithmetic, SpecialFunctions) {
  const int n = 100;
  const std::vector<std::uint32_t> words = random_words(n * 2, 51);
  std::vector<double> a(n), b(n);
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = words[2 * i] * 0x1p-29 - 4 + 1e-9;
    b[i] = words[2 * i + 1] * 0x1p-29 + 2.01;
  }
  const auto da = array(a), db = array(b);
  DeviceArray<double> out(device, n * 8);
  kernel("special").launch({blocks_for(n, 64), 64}, da, db, out, n);
  const std::vector<double> got = out.to_vector();
  for (std::size_t i = 0; i < n; ++i) {
    const long double x = a[i], y = b[i];
    const struct {
      const char* name;
      long double exact;
      double ulps;
    } want[8] = {{"lgamma", std::lgamma(y), 4.5},
                 {"tgamma", std::tgamma(y), 10.5},
                 {"j0", ::j0l(x), 7.5},
                 {"erfcx", std::exp(x * x) * std::erfc(x), 4.5},
                 {"normcdf", std::erfc(-x * std::sqrt(0.5L)) / 2, 5.5},
                 {"rhypot", 1 / std::hypot(x, y), 1.5},
                 {"erf of erfinv", a[i] * 0.2, 8},
                 {"norm4d", std::hypot(x, y) * std::sqrt(2.0L), 2.5}};
    for (std::size_t k = 0; k < 8; ++k)
      expect_close(got[i * 8 + k], want[k].exact, want[k].ulps,
                   std::string(want[k].name) + "(" + std::to_string(a[i]) + ", " + std::to_string(b[i]) + ")");
  }
}

TEST_P(Arithmetic, RoundingModes) {
  DeviceArray<float> out(device, 9);
  const float tiny = 0x1p-30f;
  kernel("rounding").launch({1, 1}, 1.0f, tiny, out);
  const float third = 1.0f / 3.0f;  // rounded up
  const float below = std::nextafter(third, 0.0f), above = std::nextafter(1.0f, 2.0f);
  EXPECT_EQ(out.to_vector(), (std::vector<float>{1, 1, above, 1, third, below, third, below, 2 + 20 + 300 + 2000}));
}

}  // namespace
