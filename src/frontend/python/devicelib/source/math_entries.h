// The library's functions that compute in float and double arithmetic alone; the host compiles them too, for tests.
#pragma once

#define WL_NAME(name) __nv_##name
#define WL_NAME_F(name) __nv_##name##f
#define WL_ONE(name, kernel)                                    \
  WL_ENTRY double WL_NAME(name)(double x) { return kernel(x); } \
  WL_ENTRY float WL_NAME_F(name)(float x) { return kernel(x); }
#define WL_TWO(name, kernel)                                                 \
  WL_ENTRY double WL_NAME(name)(double x, double y) { return kernel(x, y); } \
  WL_ENTRY float WL_NAME_F(name)(float x, float y) { return kernel(x, y); }

WL_ONE(exp, wl_exp)
WL_ONE(exp2, wl_exp2)
WL_ONE(exp10, wl_exp10)
WL_ONE(expm1, wl_expm1)
WL_ONE(log, wl_log)
WL_ONE(log2, wl_log2)
WL_ONE(log10, wl_log10)
WL_ONE(log1p, wl_log1p)
WL_TWO(pow, wl_pow)

WL_ONE(sin, wl_sin)
WL_ONE(cos, wl_cos)
WL_ONE(tan, wl_tan)
WL_ONE(asin, wl_asin)
WL_ONE(acos, wl_acos)
WL_ONE(atan, wl_atan)
WL_TWO(atan2, wl_atan2)
WL_ENTRY void __nv_sincos(double x, double* s, double* c) { wl_sincos(x, s, c); }
WL_ENTRY void __nv_sincosf(float x, float* s, float* c) { wl_sincos(x, s, c); }
WL_ENTRY double __nv_sinpi(double x) { return wl_sinpi(x, 0); }
WL_ENTRY float __nv_sinpif(float x) { return wl_sinpi(x, 0); }
WL_ENTRY double __nv_cospi(double x) { return wl_sinpi(x, 1); }
WL_ENTRY float __nv_cospif(float x) { return wl_sinpi(x, 1); }
WL_ENTRY void __nv_sincospi(double x, double* s, double* c) { wl_sincospi(x, s, c); }
WL_ENTRY void __nv_sincospif(float x, float* s, float* c) { wl_sincospi(x, s, c); }
WL_ONE(sinh, wl_sinh)
WL_ONE(cosh, wl_cosh)
WL_ONE(tanh, wl_tanh)
WL_ONE(asinh, wl_asinh)
WL_ONE(acosh, wl_acosh)
WL_ONE(atanh, wl_atanh)

WL_ONE(cbrt, wl_cbrt)
WL_TWO(hypot, wl_hypot)
WL_ONE(erf, wl_erf)
WL_ONE(erfc, wl_erfc)

WL_ENTRY_LONG double __nv_fmod(double x, double y) { return wl_fmod(x, y); }
WL_ENTRY_LONG float __nv_fmodf(float x, float y) { return wl_fmod(x, y); }
WL_ENTRY_LONG double __nv_remainder(double x, double y) { return wl_remainder(x, y); }
WL_ENTRY_LONG float __nv_remainderf(float x, float y) { return wl_remainder(x, y); }
WL_TWO(fdim, wl_fdim)
WL_TWO(nextafter, wl_nextafter)
WL_TWO(copysign, wl_sign)
WL_ONE(fabs, wl_abs)
WL_ONE(sqrt, wl_sqrt)
WL_ONE(trunc, wl_trunc)
WL_ONE(rint, wl_rint)
WL_ONE(nearbyint, wl_rint)
WL_ONE(round, wl_round)
WL_ENTRY double __nv_floor(double x) { return __builtin_floor(x); }
WL_ENTRY float __nv_floorf(float x) { return __builtin_floorf(x); }
WL_ENTRY double __nv_ceil(double x) { return __builtin_ceil(x); }
WL_ENTRY float __nv_ceilf(float x) { return __builtin_ceilf(x); }
WL_ENTRY double __nv_fma(double a, double b, double c) { return wl_fma(a, b, c); }
WL_ENTRY float __nv_fmaf(float a, float b, float c) { return wl_fma(a, b, c); }
WL_ENTRY double __nv_fmin(double a, double b) { return __builtin_fmin(a, b); }
WL_ENTRY float __nv_fminf(float a, float b) { return __builtin_fminf(a, b); }
WL_ENTRY double __nv_fmax(double a, double b) { return __builtin_fmax(a, b); }
WL_ENTRY float __nv_fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }

WL_ENTRY double __nv_frexp(double x, int* e) { return wl_frexp(x, e); }
WL_ENTRY float __nv_frexpf(float x, int* e) { return wl_frexp(x, e); }
WL_ENTRY double __nv_ldexp(double x, int n) { return wl_scale(x, n); }
WL_ENTRY float __nv_ldexpf(float x, int n) { return wl_scale(x, n); }
WL_ENTRY double __nv_scalbn(double x, int n) { return wl_scale(x, n); }
WL_ENTRY float __nv_scalbnf(float x, int n) { return wl_scale(x, n); }
WL_ENTRY double __nv_modf(double x, double* whole) { return wl_modf(x, whole); }
WL_ENTRY float __nv_modff(float x, float* whole) { return wl_modf(x, whole); }
WL_ENTRY int __nv_ilogb(double x) { return wl_ilogb(x); }
WL_ENTRY int __nv_ilogbf(float x) { return wl_ilogb(x); }
WL_ONE(logb, wl_logb)

WL_ENTRY int __nv_isnand(double x) { return wl_is_nan(x); }
WL_ENTRY int __nv_isnanf(float x) { return wl_is_nan(x); }
WL_ENTRY int __nv_isinfd(double x) { return wl_abs(x) == wl_inf(x); }
WL_ENTRY int __nv_isinff(float x) { return wl_abs(x) == wl_inf(x); }
WL_ENTRY int __nv_isfinited(double x) { return wl_abs(x) < wl_inf(x); }
WL_ENTRY int __nv_finitef(float x) { return wl_abs(x) < wl_inf(x); }
WL_ENTRY int __nv_signbitd(double x) { return __builtin_bit_cast(long long, x) < 0; }
WL_ENTRY int __nv_signbitf(float x) { return __builtin_bit_cast(int, x) < 0; }
WL_ENTRY double __nv_nan(const char*) { return wl_nan(1.0); }
WL_ENTRY float __nv_nanf(const char*) { return wl_nan(1.0f); }

WL_ONE(rcbrt, wl_rcbrt)
WL_TWO(rhypot, wl_rhypot)
WL_ENTRY double __nv_rsqrt(double x) { return wl_rsqrt(x); }
WL_ENTRY float __nv_frsqrt_rn(float x) { return wl_rsqrt_rn(x); }
WL_ENTRY_LONG double __nv_powi(double x, int n) { return wl_powi(x, n); }
WL_ENTRY_LONG float __nv_powif(float x, int n) { return wl_powi(x, n); }
WL_ENTRY_LONG double __nv_remquo(double x, double y, int* quotient) { return wl_remquo(x, y, quotient); }
WL_ENTRY_LONG float __nv_remquof(float x, float y, int* quotient) { return wl_remquo(x, y, quotient); }

#define WL_NORMS(type, suffix)                                                           \
  WL_ENTRY type __nv_norm##suffix(int n, const type* x) { return wl_norm<false>(n, x); } \
  WL_ENTRY type __nv_rnorm##suffix(int n, const type* x) { return wl_norm<true>(n, x); }
WL_NORMS(double, )
WL_NORMS(float, f)
#undef WL_NORMS
#define WL_NORMS(type, name3, name4, kind)                                                 \
  WL_ENTRY type name3(type x, type y, type z) { return wl_norm4<kind>(x, y, z, type(0)); } \
  WL_ENTRY type name4(type x, type y, type z, type w) { return wl_norm4<kind>(x, y, z, w); }
WL_NORMS(double, __nv_norm3d, __nv_norm4d, false)
WL_NORMS(float, __nv_norm3df, __nv_norm4df, false)
WL_NORMS(double, __nv_rnorm3d, __nv_rnorm4d, true)
WL_NORMS(float, __nv_rnorm3df, __nv_rnorm4df, true)
#undef WL_NORMS

// The long ones stay calls where the optimiser finds them too large to copy.
#define WL_LONG(name, kernel)                                        \
  WL_ENTRY_LONG double WL_NAME(name)(double x) { return kernel(x); } \
  WL_ENTRY_LONG float WL_NAME_F(name)(float x) { return kernel(x); }
WL_LONG(erfcx, wl_erfcx)
WL_LONG(erfinv, wl_erfinv)
WL_LONG(erfcinv, wl_erfcinv)
WL_LONG(normcdf, wl_normcdf)
WL_LONG(normcdfinv, wl_normcdfinv)
WL_LONG(tgamma, wl_tgamma)
WL_LONG(lgamma, wl_lgamma)
WL_LONG(j0, wl_j0)
WL_LONG(j1, wl_j1)
WL_LONG(y0, wl_y0)
WL_LONG(y1, wl_y1)
WL_LONG(cyl_bessel_i0, wl_i0)
WL_LONG(cyl_bessel_i1, wl_i1)
WL_ENTRY_LONG double __nv_jn(int n, double x) { return wl_jn(n, x); }
WL_ENTRY_LONG float __nv_jnf(int n, float x) { return wl_jn(n, x); }
WL_ENTRY_LONG double __nv_yn(int n, double x) { return wl_yn(n, x); }
WL_ENTRY_LONG float __nv_ynf(int n, float x) { return wl_yn(n, x); }

#undef WL_LONG
#undef WL_ONE
#undef WL_TWO
