// Every function of the device math library on the CPU device: exact ones bit by bit, the others against MPFR and the
// published bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "device_functions.hpp"
#include "exact_functions.hpp"
#include "frontend/python/devicelib/devicelib.hpp"
#include "measure.hpp"

namespace warploom::test {
namespace {

using frontend::DeviceArgument;
using frontend::DeviceFunction;
using frontend::DeviceType;

template <class T>
T value_in(std::uint64_t slot) {
  T value;
  std::memcpy(&value, &slot, sizeof value);
  return value;
}
template <class T>
std::uint64_t slot_of(T value) {
  std::uint64_t slot = 0;
  std::memcpy(&slot, &value, sizeof value);
  return slot;
}

// ---- functions against MPFR
template <class T>
void check_accuracy(const MathCase& math) {
  const std::string name = math.name + (sizeof(T) == 4 ? "f" : "");
  const DeviceFunctions device({name});
  const Samples<T> samples = samples_of<T>(math, 3000);
  Slots inputs;
  for (int k = 0; k < math.arguments; ++k)
    for (const auto& x : samples) inputs.push_back(slot_of<T>(x[k]));
  const Slots outputs = device.call(name, inputs, samples.size());
  std::vector<T> results;
  for (std::size_t i = 0; i < samples.size(); ++i) results.push_back(value_in<T>(outputs[i]));
  expect_within(math, samples, results);
}
class MathOnDevice : public testing::TestWithParam<MathCase> {};
TEST_P(MathOnDevice, InDouble) { check_accuracy<double>(GetParam()); }
TEST_P(MathOnDevice, InFloat) { check_accuracy<float>(GetParam()); }
std::string name_of(const testing::TestParamInfo<MathCase>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(Devicelib, MathOnDevice, testing::ValuesIn(math_cases()), name_of);

// ---- exact functions
std::uint64_t random_slot(DeviceType type, std::mt19937_64& random) {
  const std::uint64_t bits = random(), kind = random() % 4;
  switch (type) {
    case DeviceType::int16: return bits & 0xffff;
    case DeviceType::int32: return kind == 0 ? ((bits % 65) - 32) & 0xffffffff : bits & 0xffffffff;
    case DeviceType::int64: return kind == 0 ? (bits % 65) - 32 : kind == 1 ? bits >> 40 : bits;
    case DeviceType::float32: {
      static const std::vector<float> edges = edge_values<float>();
      if (kind == 0) return slot_of(edges[bits % edges.size()]);
      if (kind == 1) return slot_of(static_cast<float>(static_cast<std::int64_t>(bits) >> 40) / 64);
      return kind == 2 ? slot_of(static_cast<float>(std::ldexp(static_cast<double>(bits), -60))) : bits & 0xffffffff;
    }
    default: {
      static const std::vector<double> edges = edge_values<double>();
      if (kind == 0) return slot_of(edges[bits % edges.size()]);
      if (kind == 1) return slot_of(static_cast<double>(static_cast<std::int64_t>(bits) >> 30) / 64);
      return kind == 2 ? slot_of(std::ldexp(static_cast<double>(bits), -60)) : bits;
    }
  }
}
std::uint64_t mask_of(DeviceType type) {
  switch (type) {
    case DeviceType::int8: return 0xff;
    case DeviceType::int16: return 0xffff;
    case DeviceType::int32:
    case DeviceType::float32: return 0xffffffff;
    default: return ~std::uint64_t(0);
  }
}
bool same(DeviceType type, std::uint64_t a, std::uint64_t b) {
  if (type == DeviceType::float64 && std::isnan(value_in<double>(a))) return std::isnan(value_in<double>(b));
  if (type == DeviceType::float32 && std::isnan(value_in<float>(a))) return std::isnan(value_in<float>(b));
  return ((a ^ b) & mask_of(type)) == 0;
}
// The types of the inputs and of the results, with the function's value first.
struct Shape {
  std::vector<DeviceType> inputs, results;
};
Shape shape_of(const DeviceFunction& function) {
  Shape shape;
  if (function.result != DeviceType::none) shape.results.push_back(function.result);
  for (const DeviceArgument& argument : function.arguments)
    (argument.passing == DeviceArgument::Passing::out ? shape.results : shape.inputs).push_back(argument.type);
  return shape;
}

// Kernels for a part of the exact functions: as one module each would take long, and so would all in one.
constexpr int kParts = 8;
class ExactOnDevice : public testing::TestWithParam<int> {};
TEST_P(ExactOnDevice, MatchTheHost) {
  std::vector<std::string> names;
  int number = 0;
  for (const auto& [name, reference] : exact_functions())
    if (number++ % kParts == GetParam()) names.push_back(name);
  const DeviceFunctions device(names);
  constexpr std::size_t count = 2000;
  std::mt19937_64 random(5);
  for (const std::string& name : names) {
    const DeviceFunction* function = frontend::find_devicelib_function(name);
    ASSERT_NE(function, nullptr) << name;
    const Shape shape = shape_of(*function);
    Slots inputs;
    for (const DeviceType type : shape.inputs)
      for (std::size_t i = 0; i < count; ++i) inputs.push_back(random_slot(type, random));
    const Slots outputs = device.call(name, inputs, count);
    int failures = 0;
    for (std::size_t i = 0; i < count && failures < 3; ++i) {
      std::uint64_t arguments[4] = {}, wanted[4] = {};
      for (std::size_t k = 0; k < shape.inputs.size(); ++k) arguments[k] = inputs[k * count + i];
      exact_functions().at(name)(arguments, wanted);
      for (std::size_t k = 0; k < shape.results.size(); ++k) {
        const std::uint64_t got = outputs[k * count + i];
        if (same(shape.results[k], wanted[k], got)) continue;
        ++failures;
        ADD_FAILURE() << name << " result " << k << " of " << std::hex << arguments[0] << ", " << arguments[1] << ", "
                      << arguments[2] << ": " << got << ", not " << wanted[k];
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Devicelib, ExactOnDevice, testing::Range(0, kParts));

// ---- the rest
template <class T>
Slots slots_of(const std::vector<T>& values) {
  Slots slots;
  for (const T x : values) slots.push_back(slot_of(x));
  return slots;
}
template <class T>
std::vector<T> spread(T low, T high, int count) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i) values.push_back(low + (high - low) * static_cast<T>(i) / static_cast<T>(count - 1));
  return values;
}

TEST(MathOnDevice, SincosIsSineAndCosine) {
  const DeviceFunctions device({"sincos", "sin", "cos", "sincospi", "sinpi", "cospi", "sincosf", "sinf", "cosf",
                                "sincospif", "sinpif", "cospif"});
  std::vector<double> x = edge_values<double>();
  for (const double v : spread(-50.0, 50.0, 500)) x.push_back(v);
  std::vector<float> xf = edge_values<float>();
  for (const float v : spread(-50.0f, 50.0f, 500)) xf.push_back(v);
  for (const char* pi : {"", "pi"}) {
    const std::string p = pi;
    const Slots both = device.call("sincos" + p, slots_of(x), x.size());
    const Slots s = device.call("sin" + p, slots_of(x), x.size()), c = device.call("cos" + p, slots_of(x), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(same(DeviceType::float64, both[i], s[i])) << x[i];
      EXPECT_TRUE(same(DeviceType::float64, both[x.size() + i], c[i])) << x[i];
    }
    const Slots bothf = device.call("sincos" + p + "f", slots_of(xf), xf.size());
    const Slots sf = device.call("sin" + p + "f", slots_of(xf), xf.size());
    const Slots cf = device.call("cos" + p + "f", slots_of(xf), xf.size());
    for (std::size_t i = 0; i < xf.size(); ++i) {
      EXPECT_TRUE(same(DeviceType::float32, bothf[i], sf[i])) << xf[i];
      EXPECT_TRUE(same(DeviceType::float32, bothf[xf.size() + i], cf[i])) << xf[i];
    }
  }
}

// x^n within one step of the exact value.
template <class T>
void check_powers(const DeviceFunctions& device, const std::string& name) {
  Slots inputs, exponents;
  std::vector<std::pair<T, int>> cases;
  for (const T x : edge_values<T>())
    for (const int n : {0, 1, -1, 2, -2, 3, 17, -40, 1000, std::numeric_limits<int>::min()}) cases.push_back({x, n});
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const T x = static_cast<T>(std::uniform_real_distribution<double>(-3, 3)(random));
    cases.push_back({x, static_cast<int>(random() % 120) - 60});
  }
  for (int x = -12; x <= 12; ++x)
    for (int n = 0; n < 8; ++n) cases.push_back({static_cast<T>(x), n});
  for (const auto& [x, n] : cases) {
    inputs.push_back(slot_of(x));
    exponents.push_back(slot_of(n));
  }
  inputs.insert(inputs.end(), exponents.begin(), exponents.end());
  const Slots got = device.call(name, inputs, cases.size());
  Exact base(53), exact(200);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    mpfr_set_d(base, cases[i].first, MPFR_RNDN);
    mpfr_pow_si(exact, base, cases[i].second, MPFR_RNDN);
    EXPECT_LE(error_of(value_in<T>(got[i]), exact.get()).steps, 1)
        << name << ' ' << cases[i].first << " to the " << cases[i].second;
  }
}
TEST(MathOnDevice, IntegerPowers) {
  const DeviceFunctions device({"powi", "powif"});
  check_powers<double>(device, "powi");
  check_powers<float>(device, "powif");
}

// The bounds of the guide: jn(128, x) absolute; yn for |x| > 1.5 n absolute in double, and in float for |x| < n in ulp.
template <class T>
void check_orders(const DeviceFunctions& device, bool second_kind, double absolute) {
  const std::string name = std::string(second_kind ? "yn" : "jn") + (sizeof(T) == 4 ? "f" : "");
  std::vector<int> orders = {0, 1, 2, 5, 33, 128};
  const std::vector<T> x = spread<T>(T(0.03), T(250), 50);
  Slots inputs, arguments;
  for (const int n : orders)
    for (const T v : x) {
      inputs.push_back(slot_of(n));
      arguments.push_back(slot_of(v));
    }
  const std::size_t count = inputs.size();
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  const Slots got = device.call(name, inputs, count);
  Exact at(53), exact(200);
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int n = value_in<int>(inputs[i]);
    const T v = value_in<T>(arguments[i]);
    mpfr_set_d(at, v, MPFR_RNDN);
    second_kind ? mpfr_yn(exact, n, at, MPFR_RNDN) : mpfr_jn(exact, n, at, MPFR_RNDN);
    const Error error = error_of(value_in<T>(got[i]), exact.get());
    if (!second_kind || v > 1.5 * n) {
      worst = std::max(worst, error.absolute);
      EXPECT_LE(error.absolute, absolute) << name << ' ' << n << ' ' << v;
    } else if (v < n) {
      EXPECT_LE(error.steps, std::ceil(2 + 2.5 * n)) << name << ' ' << n << ' ' << v;
    }
  }
  report_absolute(second_kind ? "yn" : "jn", sizeof(T) == 4, worst, absolute, count);
}
TEST(MathOnDevice, BesselFunctionsOfAnyOrder) {
  const DeviceFunctions device({"jn", "jnf", "yn", "ynf"});
  check_orders<double>(device, false, 5e-12);
  check_orders<float>(device, false, 2.2e-6);
  check_orders<double>(device, true, 5e-12);
  check_orders<float>(device, true, 2.2e-6);
  const double inf = std::numeric_limits<double>::infinity();
  const Slots specials = {slot_of(-1),  slot_of(2),   slot_of(3),   slot_of(2),    slot_of(5),
                          slot_of(1.0), slot_of(0.0), slot_of(inf), slot_of(-1.0), slot_of(std::nan(""))};
  const Slots j = device.call("jn", specials, 5), y = device.call("yn", specials, 5);
  EXPECT_TRUE(std::isnan(value_in<double>(j[0])) && std::isnan(value_in<double>(y[0])));
  EXPECT_EQ(value_in<double>(j[1]), 0);
  EXPECT_EQ(value_in<double>(y[1]), -inf);
  EXPECT_EQ(value_in<double>(j[2]), 0);
  EXPECT_EQ(value_in<double>(y[2]), 0);
  EXPECT_NEAR(value_in<double>(j[3]), 0.11490348493190049, 1e-15);
  EXPECT_TRUE(std::isnan(value_in<double>(y[3])));
  EXPECT_TRUE(std::isnan(value_in<double>(j[4])) && std::isnan(value_in<double>(y[4])));
}

TEST(MathOnDevice, NormsOfArrays) {
  const DeviceFunctions device({"norm", "normf", "rnorm", "rnormf"});
  constexpr std::size_t count = 200, longest = 4;
  std::mt19937_64 random(9);
  Slots lengths, values;
  for (std::size_t i = 0; i < count; ++i) lengths.push_back(slot_of(static_cast<int>(i % (longest + 1))));
  for (std::size_t i = 0; i < count + longest; ++i) {
    const double x = std::uniform_real_distribution<double>(-8, 8)(random);
    values.push_back(i % 50 == 40 ? slot_of(x * 1e-200) : slot_of(x));
  }
  Slots inputs = lengths;
  inputs.insert(inputs.end(), values.begin(), values.end());
  for (const std::string name : {"norm", "rnorm"}) {
    const Slots got = device.call(name, inputs, count);
    const Slots gotf = device.call(name + "f", inputs, count);
    for (std::size_t i = 0; i < count; ++i) {
      long double sum = 0, sumf = 0;
      for (std::size_t k = 0; k < i % (longest + 1); ++k) {
        const long double x = value_in<double>(values[i + k]);
        // The float function reads the halves of the slots.
        const std::uint64_t half = values[i + k / 2] >> (32 * (k % 2)) & 0xffffffff;
        sum += x * x;
        sumf += static_cast<long double>(value_in<float>(half)) * value_in<float>(half);
      }
      const bool reciprocal = name == "rnorm";
      const long double want = reciprocal ? 1 / std::sqrt(sum) : std::sqrt(sum);
      const long double wantf = reciprocal ? 1 / std::sqrt(sumf) : std::sqrt(sumf);
      EXPECT_DOUBLE_EQ(value_in<double>(got[i]), static_cast<double>(want)) << name << ' ' << i;
      if (std::isnan(sumf))
        EXPECT_TRUE(std::isnan(value_in<float>(gotf[i]))) << name << ' ' << i;
      else
        EXPECT_FLOAT_EQ(value_in<float>(gotf[i]), static_cast<float>(wantf)) << name << ' ' << i;
    }
  }
}

// The bounds of the guide's table of intrinsics; where it gives none, what the composition allows.
TEST(MathOnDevice, FastIntrinsics) {
  const std::vector<std::string> names = {"fast_sinf",   "fast_cosf",     "fast_sincosf", "fast_tanf",   "fast_expf",
                                          "fast_exp10f", "fast_logf",     "fast_log2f",   "fast_log10f", "fast_powf",
                                          "fast_tanhf",  "fast_fdividef", "rcp64h"};
  const DeviceFunctions device(names);
  const auto check = [&](const char* name, float low, float high, double (*want)(double), auto tolerance) {
    const std::vector<float> x = spread(low, high, 1000);
    const Slots got = device.call(name, slots_of(x), x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(value_in<float>(got[i]), want(x[i]), tolerance(x[i], want(x[i]))) << name << ' ' << x[i];
  };
  const auto ulp = [](double value) { return std::ldexp(1.0, std::ilogb(value) - 23); };
  check("fast_sinf", -3.14f, 3.14f, std::sin, [](double, double) { return std::exp2(-21.41); });
  check("fast_cosf", -3.14f, 3.14f, std::cos, [](double, double) { return std::exp2(-21.19); });
  check("fast_sincosf", -3.14f, 3.14f, std::sin, [](double, double) { return std::exp2(-21.41); });
  check("fast_tanf", -1.4f, 1.4f, std::tan, [](double, double v) { return 1e-5 * (1 + v * v); });
  check("fast_expf", -80, 80, std::exp, [&](double x, double v) { return (3 + std::fabs(1.173 * x)) * ulp(v); });
  check(
      "fast_exp10f", -30, 30, +[](double x) { return std::pow(10.0, x); },
      [&](double x, double v) { return (3 + std::fabs(2.97 * x)) * ulp(v); });
  check("fast_logf", 0.5f, 2, std::log, [](double, double) { return std::exp2(-21.41); });
  check("fast_logf", 3, 1e6f, std::log, [&](double, double v) { return 4 * ulp(v); });
  check("fast_log2f", 0.5f, 2, std::log2, [](double, double) { return std::exp2(-22); });
  check("fast_log2f", 3, 1e6f, std::log2, [&](double, double v) { return 3 * ulp(v); });
  check("fast_log10f", 0.5f, 2, std::log10, [](double, double) { return std::exp2(-24) * 1.5; });
  check("fast_log10f", 3, 1e6f, std::log10, [&](double, double v) { return 4 * ulp(v); });
  check("fast_tanhf", -3, 3, std::tanh, [](double, double v) { return std::fabs(v) * std::exp2(-10.9) + 1e-30; });
  std::vector<float> x = spread(0.1f, 9.0f, 400), y = spread(-7.0f, 7.0f, 400);
  Slots pairs = slots_of(x);
  for (const float v : y) pairs.push_back(slot_of(v));
  const Slots power = device.call("fast_powf", pairs, x.size());
  const Slots quotient = device.call("fast_fdividef", pairs, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double p = std::pow(static_cast<double>(x[i]), y[i]);
    EXPECT_NEAR(value_in<float>(power[i]), p, p * 1e-5) << x[i] << ' ' << y[i];
    const double q = static_cast<double>(x[i]) / y[i];
    EXPECT_NEAR(value_in<float>(quotient[i]), q, 3 * ulp(q)) << x[i] << ' ' << y[i];
  }
  const std::vector<double> z = spread(-40.0, 41.0, 400);
  const Slots reciprocal = device.call("rcp64h", slots_of(z), z.size());
  for (std::size_t i = 0; i < z.size(); ++i)
    EXPECT_NEAR(value_in<double>(reciprocal[i]) * z[i], 1, std::exp2(-19)) << z[i];
}

TEST(MathOnDevice, EveryFunctionIsTestedAndNeedsNothingElse) {
  std::set<std::string> tested = {"sincos", "sincosf", "sincospi", "sincospif", "powi",  "powif",  "jn",    "jnf",
                                  "yn",     "ynf",     "norm",     "normf",     "rnorm", "rnormf", "rcp64h"};
  for (const MathCase& math : math_cases()) tested.insert({math.name, math.name + "f"});
  for (const auto& [name, reference] : exact_functions()) tested.insert(name);
  std::vector<std::string> names;
  for (const DeviceFunction& function : frontend::devicelib_functions()) {
    const std::string name(function.name);
    names.push_back(name);
    EXPECT_TRUE(name.starts_with("fast_") || tested.contains(name)) << name;
  }
  EXPECT_EQ(std::ranges::count_if(frontend::devicelib_functions(), &DeviceFunction::in_numba), 317);
  const std::string ptx = kernels_for(names);
  EXPECT_EQ(ptx.find(".extern"), std::string::npos) << ptx.substr(ptx.find(".extern"), 200);
}

}  // namespace
}  // namespace warploom::test
