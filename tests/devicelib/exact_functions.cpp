// Integer and conversion functions, arithmetic with a rounding mode, and the functions that take numbers apart.
#include "exact_functions.hpp"

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

namespace warploom::test {
namespace {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i128 = __int128;
using u128 = unsigned __int128;

template <class T>
T slot(u64 bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
u64 bits_of(T value) {
  u64 bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// A host function as an ExactFunction; pointer parameters are results.
template <class... A>
struct Caller;
template <>
struct Caller<> {
  template <class F, class... Done>
  static auto call(F f, const u64*, u64*, Done... done) {
    return f(done...);
  }
};
template <class First, class... Rest>
struct Caller<First, Rest...> {
  template <class F, class... Done>
  static auto call(F f, const u64* in, u64* out, Done... done) {
    if constexpr (std::is_pointer_v<First>) {
      *out = 0;
      return Caller<Rest...>::call(f, in, out + 1, done..., reinterpret_cast<First>(out));
    } else {
      return Caller<Rest...>::call(f, in + 1, out, done..., slot<First>(*in));
    }
  }
};
template <class R, class... A>
ExactFunction exact(R (*f)(A...)) {
  return [f](const u64* in, u64* out) { out[0] = bits_of<R>(Caller<A...>::call(f, in, out + 1)); };
}

template <class F>
auto rounded(int mode, F f) {
  std::fesetround(mode);
  const volatile auto result = f();
  std::fesetround(FE_TONEAREST);
  return result;
}
template <class I, class T>
I saturated(int mode, T x) {
  // What NVIDIA's devices do: zero from float to 32 bits, else the sign bit alone.
  if (std::isnan(x))
    return sizeof(T) == 4 && sizeof(I) == 4 ? 0 : static_cast<I>(std::make_unsigned_t<I>(1) << (8 * sizeof(I) - 1));
  const T whole = rounded(mode, [&] { return std::nearbyint(x); });
  constexpr I low = std::numeric_limits<I>::min(), high = std::numeric_limits<I>::max();
  if (whole <= static_cast<T>(low)) return low;
  return whole >= static_cast<T>(high) ? high : static_cast<I>(whole);
}

template <class T>
void add_arithmetic(std::map<std::string, ExactFunction>& f, const std::string& p, const std::string& suffix,
                    int mode) {
  const auto binary = [&](const std::string& name, auto operation) {
    f[p + name + suffix] = [mode, operation](const u64* in, u64* out) {
      const volatile T a = slot<T>(in[0]), b = slot<T>(in[1]);
      out[0] = bits_of<T>(rounded(mode, [&] { return operation(a, b); }));
    };
  };
  binary("add", [](T a, T b) -> T { return a + b; });
  binary("sub", [](T a, T b) -> T { return a - b; });
  binary("mul", [](T a, T b) -> T { return a * b; });
  binary("div", [](T a, T b) -> T { return a / b; });
  binary("rcp", [](T a, T) -> T { return 1 / a; });
  binary("sqrt", [](T a, T) -> T { return std::sqrt(a); });
  const ExactFunction fma = [mode](const u64* in, u64* out) {
    const volatile T a = slot<T>(in[0]), b = slot<T>(in[1]), c = slot<T>(in[2]);
    out[0] = bits_of<T>(rounded(mode, [&]() -> T { return std::fma(a, b, c); }));
  };
  if (sizeof(T) == 4) f["fmaf_ieee" + suffix] = fma;
  f[(sizeof(T) == 4 ? "fmaf" : "fma") + suffix] = fma;
}

template <class To, class From>
void add_conversion(std::map<std::string, ExactFunction>& f, const std::string& name, int mode) {
  f[name] = [mode](const u64* in, u64* out) {
    const volatile From x = slot<From>(in[0]);
    if constexpr (std::is_integral_v<To>)
      out[0] = bits_of<To>(saturated<To>(mode, From(x)));
    else
      out[0] = bits_of<To>(rounded(mode, [&] { return static_cast<To>(x); }));
  };
}

void add_rounding_modes(std::map<std::string, ExactFunction>& f) {
  constexpr std::pair<const char*, int> modes[] = {
      {"_rn", FE_TONEAREST}, {"_rz", FE_TOWARDZERO}, {"_ru", FE_UPWARD}, {"_rd", FE_DOWNWARD}};
  for (const auto& [suffix, mode] : modes) {
    add_arithmetic<float>(f, "f", suffix, mode);
    add_arithmetic<double>(f, "d", suffix, mode);
    add_conversion<float, double>(f, std::string("double2float") + suffix, mode);
    add_conversion<i32, double>(f, std::string("double2int") + suffix, mode);
    add_conversion<u32, double>(f, std::string("double2uint") + suffix, mode);
    add_conversion<i64, double>(f, std::string("double2ll") + suffix, mode);
    add_conversion<u64, double>(f, std::string("double2ull") + suffix, mode);
    add_conversion<i32, float>(f, std::string("float2int") + suffix, mode);
    add_conversion<u32, float>(f, std::string("float2uint") + suffix, mode);
    add_conversion<i64, float>(f, std::string("float2ll") + suffix, mode);
    add_conversion<u64, float>(f, std::string("float2ull") + suffix, mode);
    add_conversion<float, i32>(f, std::string("int2float") + suffix, mode);
    add_conversion<float, u32>(f, std::string("uint2float") + suffix, mode);
    add_conversion<float, i64>(f, std::string("ll2float") + suffix, mode);
    add_conversion<float, u64>(f, std::string("ull2float") + suffix, mode);
    add_conversion<double, i64>(f, std::string("ll2double") + suffix, mode);
    add_conversion<double, u64>(f, std::string("ull2double") + suffix, mode);
  }
}

u32 reversed(u64 v, int bits) {
  u64 r = 0;
  for (int i = 0; i < bits; ++i) r |= (v >> i & 1) << (bits - 1 - i);
  return static_cast<u32>(r);
}
u32 permuted(u32 a, u32 b, u32 selector) {
  const u64 bytes = static_cast<u64>(b) << 32 | a;
  u32 r = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 choice = selector >> (4 * i) & 0xf;
    u32 byte = static_cast<u32>(bytes >> (8 * (choice & 7)) & 0xff);
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;  // the sign, eight times
    r |= byte << (8 * i);
  }
  return r;
}
i64 low24(i32 v) { return static_cast<i32>(static_cast<u32>(v) << 8) >> 8; }

void add_integers(std::map<std::string, ExactFunction>& f) {
  f["abs"] = exact(+[](i32 x) { return x < 0 ? static_cast<i32>(0u - static_cast<u32>(x)) : x; });
  f["llabs"] = exact(+[](i64 x) { return x < 0 ? static_cast<i64>(u64(0) - static_cast<u64>(x)) : x; });
  f["min"] = exact(+[](i32 a, i32 b) { return std::min(a, b); });
  f["max"] = exact(+[](i32 a, i32 b) { return std::max(a, b); });
  f["umin"] = exact(+[](u32 a, u32 b) { return std::min(a, b); });
  f["umax"] = exact(+[](u32 a, u32 b) { return std::max(a, b); });
  f["llmin"] = exact(+[](i64 a, i64 b) { return std::min(a, b); });
  f["llmax"] = exact(+[](i64 a, i64 b) { return std::max(a, b); });
  f["ullmin"] = exact(+[](u64 a, u64 b) { return std::min(a, b); });
  f["ullmax"] = exact(+[](u64 a, u64 b) { return std::max(a, b); });
  f["popc"] = exact(+[](u32 x) -> i32 { return std::popcount(x); });
  f["popcll"] = exact(+[](u64 x) -> i32 { return std::popcount(x); });
  f["clz"] = exact(+[](u32 x) -> i32 { return std::countl_zero(x); });
  f["clzll"] = exact(+[](u64 x) -> i32 { return std::countl_zero(x); });
  f["ffs"] = exact(+[](u32 x) -> i32 { return x == 0 ? 0 : std::countr_zero(x) + 1; });
  f["ffsll"] = exact(+[](u64 x) -> i32 { return x == 0 ? 0 : std::countr_zero(x) + 1; });
  f["brev"] = exact(+[](u32 x) { return reversed(x, 32); });
  f["brevll"] =
      exact(+[](u64 x) -> u64 { return static_cast<u64>(reversed(x & ~0u, 32)) << 32 | reversed(x >> 32, 32); });
  f["byte_perm"] = exact(+[](u32 a, u32 b, u32 c) { return permuted(a, b, c); });
  f["mul24"] = exact(+[](i32 a, i32 b) { return static_cast<i32>(low24(a) * low24(b)); });
  f["umul24"] = exact(+[](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); });
  f["mulhi"] = exact(+[](i32 a, i32 b) { return static_cast<i32>(static_cast<i64>(a) * b >> 32); });
  f["umulhi"] = exact(+[](u32 a, u32 b) { return static_cast<u32>(static_cast<u64>(a) * b >> 32); });
  f["mul64hi"] = exact(+[](i64 a, i64 b) { return static_cast<i64>(static_cast<i128>(a) * b >> 64); });
  f["umul64hi"] = exact(+[](u64 a, u64 b) { return static_cast<u64>(static_cast<u128>(a) * b >> 64); });
  f["sad"] = exact(+[](i32 a, i32 b, u32 c) { return static_cast<u32>(std::abs(static_cast<i64>(a) - b)) + c; });
  f["usad"] = exact(+[](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; });
  f["hadd"] = exact(+[](i32 a, i32 b) { return static_cast<i32>((static_cast<i64>(a) + b) >> 1); });
  f["rhadd"] = exact(+[](i32 a, i32 b) { return static_cast<i32>((static_cast<i64>(a) + b + 1) >> 1); });
  f["uhadd"] = exact(+[](u32 a, u32 b) { return static_cast<u32>((static_cast<u64>(a) + b) >> 1); });
  f["urhadd"] = exact(+[](u32 a, u32 b) { return static_cast<u32>((static_cast<u64>(a) + b + 1) >> 1); });
}

void add_bits(std::map<std::string, ExactFunction>& f) {
  const ExactFunction same = [](const u64* in, u64* out) { out[0] = in[0]; };
  const ExactFunction same32 = [](const u64* in, u64* out) { out[0] = static_cast<u32>(in[0]); };
  f["double_as_longlong"] = f["longlong_as_double"] = same;
  f["float_as_int"] = f["float_as_uint"] = f["int_as_float"] = f["uint_as_float"] = same32;
  f["double2hiint"] = exact(+[](u64 x) { return static_cast<u32>(x >> 32); });
  f["double2loint"] = exact(+[](u64 x) { return static_cast<u32>(x); });
  f["hiloint2double"] = exact(+[](u32 hi, u32 lo) { return static_cast<u64>(hi) << 32 | lo; });
  f["isnand"] = exact(+[](double x) -> i32 { return std::isnan(x); });
  f["isnanf"] = exact(+[](float x) -> i32 { return std::isnan(x); });
  f["isinfd"] = exact(+[](double x) -> i32 { return std::isinf(x); });
  f["isinff"] = exact(+[](float x) -> i32 { return std::isinf(x); });
  f["isfinited"] = exact(+[](double x) -> i32 { return std::isfinite(x); });
  f["finitef"] = exact(+[](float x) -> i32 { return std::isfinite(x); });
  f["signbitd"] = exact(+[](double x) -> i32 { return std::signbit(x); });
  f["signbitf"] = exact(+[](float x) -> i32 { return std::signbit(x); });
  f["int2double_rn"] = exact(+[](i32 x) -> double { return x; });
  f["uint2double_rn"] = exact(+[](u32 x) -> double { return x; });
  f["float2half_rn"] = exact(+[](float x) {
    return std::isnan(x) ? std::uint16_t(0x7fff) : std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
  });
  f["half2float"] = exact(+[](std::uint16_t x) { return static_cast<float>(std::bit_cast<_Float16>(x)); });
  f["saturatef"] = exact(+[](float x) { return x > 0 ? std::min(x, 1.0f) : 0.0f; });
  f["nan"] = exact(+[](u64) { return std::nan(""); });
  f["nanf"] = exact(+[](u64) { return std::nanf(""); });
}

template <class T>
int exponent_of(T x) {
  if (x == 0 || std::isnan(x)) return std::numeric_limits<int>::min();
  return std::isinf(x) ? std::numeric_limits<int>::max() : std::ilogb(x);
}
template <class T>
T quotient_bits(T x, T y, i32* quotient) {
  int q = 0;
  const T r = std::remquo(x, y, &q);
  const bool defined = std::isfinite(x) && !std::isnan(y) && y != 0;
  *quotient = !defined ? 0 : q < 0 ? -(-q & 7) : q & 7;
  return r;
}
template <class T>
T larger(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}
template <class T>
T smaller(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
}
template <class T>
T split(T x, i32* e) {
  const T m = std::frexp(x, e);
  if (!std::isfinite(x)) *e = 0;
  return m;
}
template <class T>
T parts(T x, T* whole) {
  return std::modf(x, whole);
}

template <class T>
void add_numbers(std::map<std::string, ExactFunction>& f, const std::string& suffix) {
  f["fabs" + suffix] = exact(+[](T x) { return std::fabs(x); });
  f["copysign" + suffix] = exact(+[](T x, T y) { return std::copysign(x, y); });
  f["nextafter" + suffix] = exact(+[](T x, T y) { return std::nextafter(x, y); });
  f["fmin" + suffix] = exact(&smaller<T>);
  f["fmax" + suffix] = exact(&larger<T>);
  f[sizeof(T) == 4 ? "fmaf" : "fma"] = exact(+[](T a, T b, T c) { return std::fma(a, b, c); });
  f["frexp" + suffix] = exact(&split<T>);
  f["modf" + suffix] = exact(&parts<T>);
  f["ldexp" + suffix] = f["scalbn" + suffix] = exact(+[](T x, i32 n) { return std::ldexp(x, n); });
  f["ilogb" + suffix] = exact(&exponent_of<T>);
  f["remquo" + suffix] = exact(&quotient_bits<T>);
  f["llrint" + suffix] = exact(+[](T x) { return saturated<i64>(FE_TONEAREST, x); });
  f["llround" + suffix] = exact(+[](T x) { return saturated<i64>(FE_TONEAREST, std::round(x)); });
}

}  // namespace

const std::map<std::string, ExactFunction>& exact_functions() {
  static const std::map<std::string, ExactFunction> table = [] {
    std::map<std::string, ExactFunction> f;
    add_rounding_modes(f);
    add_integers(f);
    add_bits(f);
    add_numbers<float>(f, "f");
    add_numbers<double>(f, "");
    // 1/sqrt rounded once: long double has eleven bits more than the double rounding of a float needs.
    f["frsqrt_rn"] = exact(+[](float x) { return static_cast<float>(1 / std::sqrt(static_cast<long double>(x))); });
    return f;
  }();
  return table;
}

}  // namespace warploom::test
