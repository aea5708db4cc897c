// Conversions and arithmetic with an explicit rounding mode, and reinterpretation of bits.
#pragma once

WL_DEVICE int __float_as_int(float v) { return __builtin_bit_cast(int, v); }
WL_DEVICE unsigned int __float_as_uint(float v) { return __builtin_bit_cast(unsigned int, v); }
WL_DEVICE float __int_as_float(int v) { return __builtin_bit_cast(float, v); }
WL_DEVICE float __uint_as_float(unsigned int v) { return __builtin_bit_cast(float, v); }
WL_DEVICE long long __double_as_longlong(double v) { return __builtin_bit_cast(long long, v); }
WL_DEVICE double __longlong_as_double(long long v) { return __builtin_bit_cast(double, v); }
WL_DEVICE int __double2hiint(double v) { return static_cast<int>(__builtin_bit_cast(unsigned long long, v) >> 32); }
WL_DEVICE int __double2loint(double v) { return static_cast<int>(__builtin_bit_cast(unsigned long long, v)); }
WL_DEVICE double __hiloint2double(int hi, int lo) {
  return __builtin_bit_cast(
      double, (static_cast<unsigned long long>(static_cast<unsigned int>(hi)) << 32) | static_cast<unsigned int>(lo));
}

// PTX rounding suffix: rn nearest even, rz towards zero, ru (p) up, rd (m) down.
#define WL_EACH_ROUNDING(macro) macro(rn, rn) macro(rz, rz) macro(ru, rp) macro(rd, rm)

#define WL_ROUNDED(cuda, ptx)                                                                           \
  WL_DEVICE float __fadd_##cuda(float a, float b) { return __nvvm_add_##ptx##_f(a, b); }                \
  WL_DEVICE float __fsub_##cuda(float a, float b) { return __nvvm_add_##ptx##_f(a, -b); }               \
  WL_DEVICE float __fmul_##cuda(float a, float b) { return __nvvm_mul_##ptx##_f(a, b); }                \
  WL_DEVICE float __fmaf_##cuda(float a, float b, float c) { return __nvvm_fma_##ptx##_f(a, b, c); }    \
  WL_DEVICE float __fdiv_##cuda(float a, float b) { return __nvvm_div_##ptx##_f(a, b); }                \
  WL_DEVICE float __frcp_##cuda(float a) { return __nvvm_rcp_##ptx##_f(a); }                            \
  WL_DEVICE float __fsqrt_##cuda(float a) { return __nvvm_sqrt_##ptx##_f(a); }                          \
  WL_DEVICE double __dadd_##cuda(double a, double b) { return __nvvm_add_##ptx##_d(a, b); }             \
  WL_DEVICE double __dsub_##cuda(double a, double b) { return __nvvm_add_##ptx##_d(a, -b); }            \
  WL_DEVICE double __dmul_##cuda(double a, double b) { return __nvvm_mul_##ptx##_d(a, b); }             \
  WL_DEVICE double __fma_##cuda(double a, double b, double c) { return __nvvm_fma_##ptx##_d(a, b, c); } \
  WL_DEVICE double __ddiv_##cuda(double a, double b) { return __nvvm_div_##ptx##_d(a, b); }             \
  WL_DEVICE double __drcp_##cuda(double a) { return __nvvm_rcp_##ptx##_d(a); }                          \
  WL_DEVICE double __dsqrt_##cuda(double a) { return __nvvm_sqrt_##ptx##_d(a); }                        \
  WL_DEVICE float __double2float_##cuda(double a) { return __nvvm_d2f_##ptx(a); }                       \
  WL_DEVICE int __float2int_##cuda(float a) { return __nvvm_f2i_##ptx(a); }                             \
  WL_DEVICE unsigned int __float2uint_##cuda(float a) { return __nvvm_f2ui_##ptx(a); }                  \
  WL_DEVICE long long __float2ll_##cuda(float a) { return __nvvm_f2ll_##ptx(a); }                       \
  WL_DEVICE unsigned long long __float2ull_##cuda(float a) { return __nvvm_f2ull_##ptx(a); }            \
  WL_DEVICE int __double2int_##cuda(double a) { return __nvvm_d2i_##ptx(a); }                           \
  WL_DEVICE unsigned int __double2uint_##cuda(double a) { return __nvvm_d2ui_##ptx(a); }                \
  WL_DEVICE long long __double2ll_##cuda(double a) { return __nvvm_d2ll_##ptx(a); }                     \
  WL_DEVICE unsigned long long __double2ull_##cuda(double a) { return __nvvm_d2ull_##ptx(a); }          \
  WL_DEVICE float __int2float_##cuda(int a) { return __nvvm_i2f_##ptx(a); }                             \
  WL_DEVICE float __uint2float_##cuda(unsigned int a) { return __nvvm_ui2f_##ptx(a); }                  \
  WL_DEVICE float __ll2float_##cuda(long long a) { return __nvvm_ll2f_##ptx(a); }                       \
  WL_DEVICE float __ull2float_##cuda(unsigned long long a) { return __nvvm_ull2f_##ptx(a); }            \
  WL_DEVICE double __ll2double_##cuda(long long a) { return __nvvm_ll2d_##ptx(a); }                     \
  WL_DEVICE double __ull2double_##cuda(unsigned long long a) { return __nvvm_ull2d_##ptx(a); }
WL_EACH_ROUNDING(WL_ROUNDED)
#undef WL_ROUNDED
#undef WL_EACH_ROUNDING

WL_DEVICE double __int2double_rn(int a) { return a; }
WL_DEVICE double __uint2double_rn(unsigned int a) { return a; }
WL_DEVICE float __frsqrt_rn(float a) {
  float r;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
  // One Newton step on the approximation; infinities, zero and NaN are already right.
  float e = __nvvm_fma_rn_f(-a * r, r, 1.0f);
  float better = __nvvm_fma_rn_f(r * 0.5f, e, r);
  return (a > 1.0e-37f && a < 3.0e38f) ? better : r;
}
WL_DEVICE float __saturatef(float a) { return __nvvm_saturate_f(a); }
