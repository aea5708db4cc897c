// Math functions that are one PTX instruction each, the fast intrinsics, and min/max/abs on floating point.
#pragma once

#ifndef INFINITY
#define INFINITY (__builtin_inff())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif

WL_DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
WL_DEVICE double fabs(double x) { return __builtin_fabs(x); }
WL_DEVICE float sqrtf(float x) { return __builtin_sqrtf(x); }
WL_DEVICE double sqrt(double x) { return __builtin_sqrt(x); }
WL_DEVICE float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
WL_DEVICE float fmaf(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
WL_DEVICE double fma(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
WL_DEVICE float fminf(float a, float b) { return __builtin_fminf(a, b); }
WL_DEVICE float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
WL_DEVICE double fmin(double a, double b) { return __builtin_fmin(a, b); }
WL_DEVICE double fmax(double a, double b) { return __builtin_fmax(a, b); }
WL_DEVICE float floorf(float x) { return __builtin_floorf(x); }
WL_DEVICE double floor(double x) { return __builtin_floor(x); }
WL_DEVICE float ceilf(float x) { return __builtin_ceilf(x); }
WL_DEVICE double ceil(double x) { return __builtin_ceil(x); }
WL_DEVICE float truncf(float x) { return __builtin_truncf(x); }
WL_DEVICE double trunc(double x) { return __builtin_trunc(x); }
WL_DEVICE float rintf(float x) { return __builtin_rintf(x); }
WL_DEVICE double rint(double x) { return __builtin_rint(x); }
WL_DEVICE float nearbyintf(float x) { return __builtin_rintf(x); }
WL_DEVICE double nearbyint(double x) { return __builtin_rint(x); }
WL_DEVICE float copysignf(float x, float s) { return __builtin_copysignf(x, s); }
WL_DEVICE double copysign(double x, double s) { return __builtin_copysign(x, s); }

// Fast intrinsics: the approximate instructions of PTX.
WL_DEVICE float wl_ex2(float x) { return __nvvm_ex2_approx_f(x); }
WL_DEVICE float __exp2f(float x) { return wl_ex2(x); }
WL_DEVICE float __expf(float x) { return wl_ex2(x * 1.4426950408889634f); }
WL_DEVICE float __exp10f(float x) { return wl_ex2(x * 3.3219280948873623f); }
WL_DEVICE float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
WL_DEVICE float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }
WL_DEVICE float __log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.3010299956639812f; }
WL_DEVICE float __powf(float x, float y) { return wl_ex2(y * __nvvm_lg2_approx_f(x)); }
WL_DEVICE float __sinf(float x) { return __nvvm_sin_approx_f(x); }
WL_DEVICE float __cosf(float x) { return __nvvm_cos_approx_f(x); }
WL_DEVICE float __tanf(float x) { return __nvvm_div_approx_f(__sinf(x), __cosf(x)); }
WL_DEVICE void __sincosf(float x, float* s, float* c) {
  *s = __sinf(x);
  *c = __cosf(x);
}
WL_DEVICE float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
WL_DEVICE float __fsqrt_approx(float x) { return __nvvm_sqrt_approx_f(x); }

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
