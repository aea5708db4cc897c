// The device math library's C++ source on the host: PTX's instructions as host arithmetic with the same rounding.
#pragma once

#include <cmath>

#define WL_DEVICE [[maybe_unused]] static inline
#define WL_DEVICE_CALL [[maybe_unused]] static
#define WL_DEVICE_TABLE static const
#define WL_ENTRY [[maybe_unused]] static inline
#define WL_ENTRY_LONG [[maybe_unused]] static

static inline float __nvvm_fma_rn_f(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double __nvvm_fma_rn_d(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float __nvvm_sqrt_rn_f(float a) { return std::sqrt(a); }
static inline double __nvvm_sqrt_rn_d(double a) { return std::sqrt(a); }
static inline float __nvvm_div_rn_f(float a, float b) { return a / b; }
static inline double __nvvm_div_rn_d(double a, double b) { return a / b; }
static inline double __nvvm_mul_rn_d(double a, double b) { return a * b; }
static inline double __nvvm_add_rn_d(double a, double b) { return a + b; }
static inline unsigned long long __nvvm_mulhi_ull(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}

#include "frontend/cuda/headers/warploom_cuda/math_core.h"
#include "frontend/cuda/headers/warploom_cuda/math_kernels.h"
#include "frontend/cuda/headers/warploom_cuda/math_power.h"
#include "frontend/cuda/headers/warploom_cuda/math_norm.h"
#include "frontend/cuda/headers/warploom_cuda/math_fits.h"
#include "frontend/cuda/headers/warploom_cuda/math_error.h"
#include "frontend/cuda/headers/warploom_cuda/math_gamma.h"
#include "frontend/cuda/headers/warploom_cuda/math_bessel.h"
#include "frontend/python/devicelib/source/math_entries.h"
