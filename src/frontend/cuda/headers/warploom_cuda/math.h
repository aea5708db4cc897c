// CUDA's math functions, within the errors that the CUDA C++ Programming Guide states; tests/devicelib holds them to
// that, and docs/reference/math.md gives the figures. rsqrtf is the PTX instruction.
#pragma once

#ifndef INFINITY
#define INFINITY (__builtin_inff())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif

#include "math_core.h"
// After the shared parts, which it uses.
#include "math_kernels.h"
#include "math_power.h"
#include "math_norm.h"
#include "math_fits.h"
#include "math_error.h"
#include "math_gamma.h"
#include "math_bessel.h"

// One PTX instruction each.
#define WL_MATH_BUILTIN(name)                                         \
  WL_DEVICE float name##f(float x) { return __builtin_##name##f(x); } \
  WL_DEVICE float name(float x) { return __builtin_##name##f(x); }    \
  WL_DEVICE double name(double x) { return __builtin_##name(x); }
WL_MATH_BUILTIN(fabs)
WL_MATH_BUILTIN(sqrt)
WL_MATH_BUILTIN(floor)
WL_MATH_BUILTIN(ceil)
WL_MATH_BUILTIN(trunc)
WL_MATH_BUILTIN(rint)
#undef WL_MATH_BUILTIN

// Fast intrinsics: the approximate instructions of PTX; -use_fast_math also flushes their subnormals.
#ifdef __CLANG_GPU_APPROX_TRANSCENDENTALS__
#define WL_APPROX(name) __nvvm_##name##_approx_ftz_f
#else
#define WL_APPROX(name) __nvvm_##name##_approx_f
#endif
WL_DEVICE float __exp2f(float x) { return WL_APPROX(ex2)(x); }
WL_DEVICE float __expf(float x) { return __exp2f(x * 1.4426950408889634f); }
WL_DEVICE float __exp10f(float x) { return __exp2f(x * 3.3219280948873623f); }
WL_DEVICE float __log2f(float x) { return WL_APPROX(lg2)(x); }
WL_DEVICE float __logf(float x) { return __log2f(x) * 0.6931471805599453f; }
WL_DEVICE float __log10f(float x) { return __log2f(x) * 0.3010299956639812f; }
WL_DEVICE float __powf(float x, float y) { return __exp2f(y * __log2f(x)); }
WL_DEVICE float __sinf(float x) { return WL_APPROX(sin)(x); }
WL_DEVICE float __cosf(float x) { return WL_APPROX(cos)(x); }
WL_DEVICE void __sincosf(float x, float* s, float* c) {
  *s = __sinf(x);
  *c = __cosf(x);
}
WL_DEVICE float __fdividef(float a, float b) { return WL_APPROX(div)(a, b); }
WL_DEVICE float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }

// name, its float form, and the overload that C++ adds.
#define WL_MATH1(name, kernel)                           \
  WL_DEVICE float name##f(float x) { return kernel(x); } \
  WL_DEVICE float name(float x) { return kernel(x); }    \
  WL_DEVICE double name(double x) { return kernel(x); }
#define WL_MATH2(name, kernel)                                       \
  WL_DEVICE float name##f(float x, float y) { return kernel(x, y); } \
  WL_DEVICE float name(float x, float y) { return kernel(x, y); }    \
  WL_DEVICE double name(double x, double y) { return kernel(x, y); }
// -use_fast_math replaces these float functions by the intrinsics.
#ifdef __CLANG_GPU_APPROX_TRANSCENDENTALS__
#define WL_MATH1_FAST(name, kernel)                           \
  WL_DEVICE float name##f(float x) { return __##name##f(x); } \
  WL_DEVICE float name(float x) { return __##name##f(x); }    \
  WL_DEVICE double name(double x) { return kernel(x); }
#define wl_powf __powf
#else
#define WL_MATH1_FAST(name, kernel) WL_MATH1(name, kernel)
#define wl_powf wl_pow
#endif

WL_MATH1_FAST(exp, wl_exp)
WL_MATH1_FAST(exp10, wl_exp10)
WL_MATH1(exp2, wl_exp2)
WL_MATH1(expm1, wl_expm1)
WL_MATH1_FAST(log, wl_log)
WL_MATH1_FAST(log2, wl_log2)
WL_MATH1_FAST(log10, wl_log10)
WL_MATH1(log1p, wl_log1p)
WL_MATH1_FAST(sin, wl_sin)
WL_MATH1_FAST(cos, wl_cos)
WL_MATH1_FAST(tan, wl_tan)
WL_MATH1(asin, wl_asin)
WL_MATH1(acos, wl_acos)
WL_MATH1(atan, wl_atan)
WL_MATH2(atan2, wl_atan2)
WL_MATH1(sinh, wl_sinh)
WL_MATH1(cosh, wl_cosh)
WL_MATH1(tanh, wl_tanh)
WL_MATH1(asinh, wl_asinh)
WL_MATH1(acosh, wl_acosh)
WL_MATH1(atanh, wl_atanh)
WL_MATH1(erf, wl_erf)
WL_MATH1(erfc, wl_erfc)
WL_MATH1(cbrt, wl_cbrt)
WL_MATH2(hypot, wl_hypot)
WL_MATH2(fmod, wl_fmod)
WL_MATH2(remainder, wl_remainder)
WL_MATH2(nextafter, wl_nextafter)
WL_MATH2(fdim, wl_fdim)
WL_MATH2(copysign, wl_sign)
WL_MATH1(round, wl_round)
WL_MATH1(nearbyint, wl_rint)
WL_MATH1(logb, wl_logb)
WL_DEVICE float powf(float x, float y) { return wl_powf(x, y); }
WL_DEVICE float pow(float x, float y) { return wl_powf(x, y); }
WL_DEVICE double pow(double x, double y) { return wl_pow(x, y); }
WL_DEVICE void sincosf(float x, float* s, float* c) { wl_sincos(x, s, c); }
WL_DEVICE void sincos(float x, float* s, float* c) { wl_sincos(x, s, c); }
WL_DEVICE void sincos(double x, double* s, double* c) { wl_sincos(x, s, c); }
WL_DEVICE float sinpif(float x) { return wl_sinpi(x, 0); }
WL_DEVICE float sinpi(float x) { return wl_sinpi(x, 0); }
WL_DEVICE double sinpi(double x) { return wl_sinpi(x, 0); }
WL_DEVICE float cospif(float x) { return wl_sinpi(x, 1); }
WL_DEVICE float cospi(float x) { return wl_sinpi(x, 1); }
WL_DEVICE double cospi(double x) { return wl_sinpi(x, 1); }
WL_DEVICE float rsqrtf(float x) { return WL_APPROX(rsqrt)(x); }
WL_DEVICE float rsqrt(float x) { return WL_APPROX(rsqrt)(x); }
WL_DEVICE double rsqrt(double x) { return 1.0 / __nvvm_sqrt_rn_d(x); }
WL_MATH1(rcbrt, wl_rcbrt)
WL_MATH2(rhypot, wl_rhypot)
WL_MATH1(erfinv, wl_erfinv)
WL_MATH1(erfcinv, wl_erfcinv)
WL_MATH1(erfcx, wl_erfcx)
WL_MATH1(normcdf, wl_normcdf)
WL_MATH1(normcdfinv, wl_normcdfinv)
WL_MATH1(lgamma, wl_lgamma)
WL_MATH1(tgamma, wl_tgamma)
WL_MATH1(j0, wl_j0)
WL_MATH1(j1, wl_j1)
WL_MATH1(y0, wl_y0)
WL_MATH1(y1, wl_y1)
WL_MATH1(cyl_bessel_i0, wl_i0)
WL_MATH1(cyl_bessel_i1, wl_i1)
WL_DEVICE float jnf(int n, float x) { return wl_jn(n, x); }
WL_DEVICE float jn(int n, float x) { return wl_jn(n, x); }
WL_DEVICE double jn(int n, double x) { return wl_jn(n, x); }
WL_DEVICE float ynf(int n, float x) { return wl_yn(n, x); }
WL_DEVICE float yn(int n, float x) { return wl_yn(n, x); }
WL_DEVICE double yn(int n, double x) { return wl_yn(n, x); }
WL_DEVICE float remquof(float x, float y, int* quotient) { return wl_remquo(x, y, quotient); }
WL_DEVICE float remquo(float x, float y, int* quotient) { return wl_remquo(x, y, quotient); }
WL_DEVICE double remquo(double x, double y, int* quotient) { return wl_remquo(x, y, quotient); }
WL_DEVICE void sincospif(float x, float* s, float* c) { wl_sincospi(x, s, c); }
WL_DEVICE void sincospi(float x, float* s, float* c) { wl_sincospi(x, s, c); }
WL_DEVICE void sincospi(double x, double* s, double* c) { wl_sincospi(x, s, c); }

WL_DEVICE float fmaf(float a, float b, float c) { return wl_fma(a, b, c); }
WL_DEVICE float fma(float a, float b, float c) { return wl_fma(a, b, c); }
WL_DEVICE double fma(double a, double b, double c) { return wl_fma(a, b, c); }
WL_DEVICE float fminf(float a, float b) { return __builtin_fminf(a, b); }
WL_DEVICE float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
WL_DEVICE float fmin(float a, float b) { return __builtin_fminf(a, b); }
WL_DEVICE float fmax(float a, float b) { return __builtin_fmaxf(a, b); }
WL_DEVICE double fmin(double a, double b) { return __builtin_fmin(a, b); }
WL_DEVICE double fmax(double a, double b) { return __builtin_fmax(a, b); }
WL_DEVICE float fdividef(float a, float b) { return a / b; }

WL_DEVICE float ldexpf(float x, int n) { return wl_scale(x, n); }
WL_DEVICE float ldexp(float x, int n) { return wl_scale(x, n); }
WL_DEVICE double ldexp(double x, int n) { return wl_scale(x, n); }
WL_DEVICE float scalbnf(float x, int n) { return wl_scale(x, n); }
WL_DEVICE float scalbn(float x, int n) { return wl_scale(x, n); }
WL_DEVICE double scalbn(double x, int n) { return wl_scale(x, n); }
WL_DEVICE float frexpf(float x, int* e) { return wl_frexp(x, e); }
WL_DEVICE float frexp(float x, int* e) { return wl_frexp(x, e); }
WL_DEVICE double frexp(double x, int* e) { return wl_frexp(x, e); }
WL_DEVICE float modff(float x, float* whole) { return wl_modf(x, whole); }
WL_DEVICE float modf(float x, float* whole) { return wl_modf(x, whole); }
WL_DEVICE double modf(double x, double* whole) { return wl_modf(x, whole); }
WL_DEVICE int ilogbf(float x) { return wl_ilogb(x); }
WL_DEVICE int ilogb(float x) { return wl_ilogb(x); }
WL_DEVICE int ilogb(double x) { return wl_ilogb(x); }
#define WL_MATH_TO_INTEGER(name, type, kernel)                             \
  WL_DEVICE type name##f(float x) { return static_cast<type>(kernel(x)); } \
  WL_DEVICE type name(float x) { return static_cast<type>(kernel(x)); }    \
  WL_DEVICE type name(double x) { return static_cast<type>(kernel(x)); }
WL_MATH_TO_INTEGER(lround, long, wl_round)
WL_MATH_TO_INTEGER(llround, long long, wl_round)
WL_MATH_TO_INTEGER(lrint, long, wl_rint)
WL_MATH_TO_INTEGER(llrint, long long, wl_rint)

#define WL_MATH_CLASS(type)                                                                     \
  WL_DEVICE bool isnan(type x) { return x != x; }                                               \
  WL_DEVICE bool isinf(type x) { return wl_abs(x) == wl_inf(x); }                               \
  WL_DEVICE bool isfinite(type x) { return wl_abs(x) < wl_inf(x); }                             \
  WL_DEVICE bool isnormal(type x) { return isfinite(x) && wl_abs(x) >= wl_limits<type>::tiny; } \
  WL_DEVICE bool signbit(type x) { return __builtin_signbit(x); }
WL_MATH_CLASS(float)
WL_MATH_CLASS(double)

WL_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
WL_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
WL_DEVICE double min(double a, double b) { return __builtin_fmin(a, b); }
WL_DEVICE double max(double a, double b) { return __builtin_fmax(a, b); }
WL_DEVICE double min(float a, double b) { return __builtin_fmin(a, b); }
WL_DEVICE double max(float a, double b) { return __builtin_fmax(a, b); }
WL_DEVICE double min(double a, float b) { return __builtin_fmin(a, b); }
WL_DEVICE double max(double a, float b) { return __builtin_fmax(a, b); }
WL_DEVICE float abs(float x) { return __builtin_fabsf(x); }
WL_DEVICE double abs(double x) { return __builtin_fabs(x); }
#define WL_MATH_NORM(type, norm3, norm4, reciprocal)                                                           \
  WL_DEVICE type norm3(type a, type b, type c) { return wl_norm4<reciprocal>(a, b, c, static_cast<type>(0)); } \
  WL_DEVICE type norm4(type a, type b, type c, type d) { return wl_norm4<reciprocal>(a, b, c, d); }
WL_MATH_NORM(float, norm3df, norm4df, false)
WL_MATH_NORM(double, norm3d, norm4d, false)
WL_MATH_NORM(float, rnorm3df, rnorm4df, true)
WL_MATH_NORM(double, rnorm3d, rnorm4d, true)
#undef WL_MATH_NORM
WL_DEVICE float normf(int n, const float* x) { return wl_norm<false>(n, x); }
WL_DEVICE double norm(int n, const double* x) { return wl_norm<false>(n, x); }
WL_DEVICE float rnormf(int n, const float* x) { return wl_norm<true>(n, x); }
WL_DEVICE double rnorm(int n, const double* x) { return wl_norm<true>(n, x); }

// An integer argument means double, as in C++.
template <bool>
struct wl_if {};
template <>
struct wl_if<true> {
  using type = double;
};
template <class T>
inline constexpr bool wl_is_integer = __is_integral(T);
template <class T>
inline constexpr bool wl_is_number = __is_arithmetic(T);
#define WL_MATH_INTEGER1(name)                                 \
  template <class T>                                           \
  WL_DEVICE typename wl_if<wl_is_integer<T>>::type name(T x) { \
    return name(static_cast<double>(x));                       \
  }
WL_MATH_INTEGER1(sqrt)
WL_MATH_INTEGER1(fabs)
WL_MATH_INTEGER1(floor)
WL_MATH_INTEGER1(ceil)
WL_MATH_INTEGER1(exp)
WL_MATH_INTEGER1(exp2)
WL_MATH_INTEGER1(log)
WL_MATH_INTEGER1(log2)
WL_MATH_INTEGER1(log10)
WL_MATH_INTEGER1(sin)
WL_MATH_INTEGER1(cos)
WL_MATH_INTEGER1(tan)
WL_MATH_INTEGER1(tanh)
// Mixed arguments of two-argument functions.
#define WL_MATH_MIXED2(name)                                                                                         \
  template <class A, class B>                                                                                        \
  WL_DEVICE typename wl_if<wl_is_number<A> && wl_is_number<B> && !(__is_same(A, B) && __is_floating_point(A))>::type \
  name(A a, B b) {                                                                                                   \
    return name(static_cast<double>(a), static_cast<double>(b));                                                     \
  }
WL_MATH_MIXED2(pow)
WL_MATH_MIXED2(fmod)
WL_MATH_MIXED2(atan2)
WL_MATH_MIXED2(hypot)
WL_MATH_MIXED2(fmin)
WL_MATH_MIXED2(fmax)

// Declared before the C++ library's own, which clang then leaves to the host.
namespace std {
using ::acos, ::acosh, ::asin, ::asinh, ::atan, ::atan2, ::atanh, ::cbrt, ::ceil, ::copysign, ::cos, ::cosh, ::erf,
    ::erfc, ::exp, ::exp2, ::expm1, ::fabs, ::fdim, ::floor, ::fma, ::fmax, ::fmin, ::fmod, ::frexp, ::hypot, ::ilogb,
    ::isfinite, ::isinf, ::isnan, ::isnormal, ::ldexp, ::lgamma, ::llrint, ::llround, ::log, ::log10, ::log1p, ::log2,
    ::logb, ::lrint, ::lround, ::modf, ::nearbyint, ::nextafter, ::pow, ::remainder, ::remquo, ::rint, ::round,
    ::scalbn, ::signbit, ::sin, ::sinh, ::sqrt, ::tan, ::tanh, ::tgamma, ::trunc, ::abs;
}  // namespace std

#undef WL_MATH1
#undef WL_MATH2
#undef WL_MATH1_FAST
#undef WL_MATH_TO_INTEGER
#undef WL_MATH_CLASS
#undef WL_MATH_INTEGER1
#undef WL_MATH_MIXED2
#undef wl_powf
#undef WL_APPROX
