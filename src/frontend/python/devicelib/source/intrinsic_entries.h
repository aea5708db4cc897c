// The library's functions that are one or a few PTX instructions: rounding modes, conversions, integers, fast math.
#pragma once

#define WL_ROUNDED(cuda, ptx)                                                                               \
  WL_ENTRY float __nv_fadd_##cuda(float a, float b) { return __nvvm_add_##ptx##_f(a, b); }                  \
  WL_ENTRY float __nv_fsub_##cuda(float a, float b) { return __nvvm_add_##ptx##_f(a, -b); }                 \
  WL_ENTRY float __nv_fmul_##cuda(float a, float b) { return __nvvm_mul_##ptx##_f(a, b); }                  \
  WL_ENTRY float __nv_fmaf_##cuda(float a, float b, float c) { return __nvvm_fma_##ptx##_f(a, b, c); }      \
  WL_ENTRY float __nv_fmaf_ieee_##cuda(float a, float b, float c) { return __nvvm_fma_##ptx##_f(a, b, c); } \
  WL_ENTRY float __nv_fdiv_##cuda(float a, float b) { return __nvvm_div_##ptx##_f(a, b); }                  \
  WL_ENTRY float __nv_frcp_##cuda(float a) { return __nvvm_rcp_##ptx##_f(a); }                              \
  WL_ENTRY float __nv_fsqrt_##cuda(float a) { return __nvvm_sqrt_##ptx##_f(a); }                            \
  WL_ENTRY double __nv_dadd_##cuda(double a, double b) { return __nvvm_add_##ptx##_d(a, b); }               \
  WL_ENTRY double __nv_dsub_##cuda(double a, double b) { return __nvvm_add_##ptx##_d(a, -b); }              \
  WL_ENTRY double __nv_dmul_##cuda(double a, double b) { return __nvvm_mul_##ptx##_d(a, b); }               \
  WL_ENTRY double __nv_fma_##cuda(double a, double b, double c) { return __nvvm_fma_##ptx##_d(a, b, c); }   \
  WL_ENTRY double __nv_ddiv_##cuda(double a, double b) { return __nvvm_div_##ptx##_d(a, b); }               \
  WL_ENTRY double __nv_drcp_##cuda(double a) { return __nvvm_rcp_##ptx##_d(a); }                            \
  WL_ENTRY double __nv_dsqrt_##cuda(double a) { return __nvvm_sqrt_##ptx##_d(a); }                          \
  WL_ENTRY float __nv_double2float_##cuda(double a) { return __nvvm_d2f_##ptx(a); }                         \
  WL_ENTRY int __nv_float2int_##cuda(float a) { return __nvvm_f2i_##ptx(a); }                               \
  WL_ENTRY unsigned int __nv_float2uint_##cuda(float a) { return __nvvm_f2ui_##ptx(a); }                    \
  WL_ENTRY long long __nv_float2ll_##cuda(float a) { return __nvvm_f2ll_##ptx(a); }                         \
  WL_ENTRY unsigned long long __nv_float2ull_##cuda(float a) { return __nvvm_f2ull_##ptx(a); }              \
  WL_ENTRY int __nv_double2int_##cuda(double a) { return __nvvm_d2i_##ptx(a); }                             \
  WL_ENTRY unsigned int __nv_double2uint_##cuda(double a) { return __nvvm_d2ui_##ptx(a); }                  \
  WL_ENTRY long long __nv_double2ll_##cuda(double a) { return __nvvm_d2ll_##ptx(a); }                       \
  WL_ENTRY unsigned long long __nv_double2ull_##cuda(double a) { return __nvvm_d2ull_##ptx(a); }            \
  WL_ENTRY float __nv_int2float_##cuda(int a) { return __nvvm_i2f_##ptx(a); }                               \
  WL_ENTRY float __nv_uint2float_##cuda(unsigned int a) { return __nvvm_ui2f_##ptx(a); }                    \
  WL_ENTRY float __nv_ll2float_##cuda(long long a) { return __nvvm_ll2f_##ptx(a); }                         \
  WL_ENTRY float __nv_ull2float_##cuda(unsigned long long a) { return __nvvm_ull2f_##ptx(a); }              \
  WL_ENTRY double __nv_ll2double_##cuda(long long a) { return __nvvm_ll2d_##ptx(a); }                       \
  WL_ENTRY double __nv_ull2double_##cuda(unsigned long long a) { return __nvvm_ull2d_##ptx(a); }
// CUDA's suffix and PTX's: nearest even, towards zero, up, down.
WL_ROUNDED(rn, rn)
WL_ROUNDED(rz, rz)
WL_ROUNDED(ru, rp)
WL_ROUNDED(rd, rm)
#undef WL_ROUNDED

WL_ENTRY double __nv_int2double_rn(int a) { return a; }
WL_ENTRY double __nv_uint2double_rn(unsigned int a) { return a; }
WL_ENTRY long long __nv_llrint(double x) { return __nvvm_d2ll_rn(x); }
WL_ENTRY long long __nv_llrintf(float x) { return __nvvm_f2ll_rn(x); }
WL_ENTRY long long __nv_llround(double x) { return __nvvm_d2ll_rz(wl_round(x)); }
WL_ENTRY long long __nv_llroundf(float x) { return __nvvm_f2ll_rz(wl_round(x)); }
WL_ENTRY short __nv_float2half_rn(float x) { return __builtin_bit_cast(short, static_cast<_Float16>(x)); }
WL_ENTRY float __nv_half2float(short x) { return __builtin_bit_cast(_Float16, x); }

WL_ENTRY int __nv_float_as_int(float x) { return __builtin_bit_cast(int, x); }
WL_ENTRY unsigned int __nv_float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
WL_ENTRY float __nv_int_as_float(int x) { return __builtin_bit_cast(float, x); }
WL_ENTRY float __nv_uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
WL_ENTRY long long __nv_double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
WL_ENTRY double __nv_longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
WL_ENTRY int __nv_double2hiint(double x) { return static_cast<int>(__builtin_bit_cast(unsigned long long, x) >> 32); }
WL_ENTRY int __nv_double2loint(double x) { return static_cast<int>(__builtin_bit_cast(unsigned long long, x)); }
WL_ENTRY double __nv_hiloint2double(int hi, int lo) {
  return __builtin_bit_cast(
      double, (static_cast<unsigned long long>(static_cast<unsigned int>(hi)) << 32) | static_cast<unsigned int>(lo));
}

WL_ENTRY int __nv_abs(int x) { return x < 0 ? static_cast<int>(0u - static_cast<unsigned int>(x)) : x; }
WL_ENTRY long long __nv_llabs(long long x) {
  return x < 0 ? static_cast<long long>(0ull - static_cast<unsigned long long>(x)) : x;
}
WL_ENTRY int __nv_min(int a, int b) { return b < a ? b : a; }
WL_ENTRY int __nv_max(int a, int b) { return a < b ? b : a; }
WL_ENTRY unsigned int __nv_umin(unsigned int a, unsigned int b) { return b < a ? b : a; }
WL_ENTRY unsigned int __nv_umax(unsigned int a, unsigned int b) { return a < b ? b : a; }
WL_ENTRY long long __nv_llmin(long long a, long long b) { return b < a ? b : a; }
WL_ENTRY long long __nv_llmax(long long a, long long b) { return a < b ? b : a; }
WL_ENTRY unsigned long long __nv_ullmin(unsigned long long a, unsigned long long b) { return b < a ? b : a; }
WL_ENTRY unsigned long long __nv_ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }

WL_ENTRY int __nv_popc(unsigned int v) { return __builtin_popcount(v); }
WL_ENTRY int __nv_popcll(unsigned long long v) { return __builtin_popcountll(v); }
WL_ENTRY int __nv_clz(unsigned int v) { return v == 0 ? 32 : __builtin_clz(v); }
WL_ENTRY int __nv_clzll(unsigned long long v) { return v == 0 ? 64 : __builtin_clzll(v); }
WL_ENTRY int __nv_ffs(int v) { return __builtin_ffs(v); }
WL_ENTRY int __nv_ffsll(long long v) { return __builtin_ffsll(v); }
WL_ENTRY unsigned int __nv_brev(unsigned int v) { return __builtin_bitreverse32(v); }
WL_ENTRY unsigned long long __nv_brevll(unsigned long long v) { return __builtin_bitreverse64(v); }
WL_ENTRY unsigned int __nv_byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
  return __nvvm_prmt(a, b, selector);
}
WL_ENTRY int __nv_mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
WL_ENTRY unsigned int __nv_umul24(unsigned int a, unsigned int b) { return __nvvm_mul24_ui(a, b); }
WL_ENTRY int __nv_mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
WL_ENTRY unsigned int __nv_umulhi(unsigned int a, unsigned int b) { return __nvvm_mulhi_ui(a, b); }
WL_ENTRY long long __nv_mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
WL_ENTRY unsigned long long __nv_umul64hi(unsigned long long a, unsigned long long b) { return __nvvm_mulhi_ull(a, b); }
WL_ENTRY unsigned int __nv_sad(int a, int b, unsigned int c) {
  return static_cast<unsigned int>(__nvvm_sad_i(a, b, static_cast<int>(c)));
}
WL_ENTRY unsigned int __nv_usad(unsigned int a, unsigned int b, unsigned int c) { return __nvvm_sad_ui(a, b, c); }
WL_ENTRY int __nv_hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
WL_ENTRY int __nv_rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
WL_ENTRY unsigned int __nv_uhadd(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) + b) >> 1);
}
WL_ENTRY unsigned int __nv_urhadd(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}

WL_ENTRY float __nv_saturatef(float x) { return __nvvm_saturate_f(x); }
WL_ENTRY float __nv_rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
WL_ENTRY double __nv_rcp64h(double x) { return __nvvm_rcp_approx_ftz_d(x); }

// The approximate instructions.
WL_ENTRY float __nv_fast_sinf(float x) { return __nvvm_sin_approx_f(x); }
WL_ENTRY float __nv_fast_cosf(float x) { return __nvvm_cos_approx_f(x); }
WL_ENTRY void __nv_fast_sincosf(float x, float* s, float* c) {
  *s = __nvvm_sin_approx_f(x);
  *c = __nvvm_cos_approx_f(x);
}
WL_ENTRY float __nv_fast_fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
WL_ENTRY float __nv_fast_tanf(float x) { return __nvvm_div_approx_f(__nvvm_sin_approx_f(x), __nvvm_cos_approx_f(x)); }
WL_ENTRY float __nv_fast_exp10f(float x) { return __nvvm_ex2_approx_f(x * 3.3219280948873623f); }
WL_ENTRY float __nv_fast_expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
WL_ENTRY float __nv_fast_log2f(float x) { return __nvvm_lg2_approx_f(x); }
WL_ENTRY float __nv_fast_logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }
WL_ENTRY float __nv_fast_log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.3010299956639812f; }
WL_ENTRY float __nv_fast_powf(float x, float y) { return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)); }
WL_ENTRY float __nv_fast_tanhf(float x) {
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
