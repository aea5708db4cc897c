// IEEE half precision: __half and __half2.
#pragma once
#include "warploom_cuda/half.h"

WL_HALF_TYPES(__half, __half2, _Float16, half)
WL_DEVICE __half wl_half_fma(__half a, __half b, __half c) {
  unsigned short r;
  asm("fma.rn.f16 %0, %1, %2, %3;"
      : "=h"(r)
      : "h"(__half_as_ushort(a)), "h"(__half_as_ushort(b)), "h"(__half_as_ushort(c)));
  return __ushort_as_half(r);
}
using half = __half;
using half2 = __half2;

WL_DEVICE __half __float2half_rz(float v) {
  unsigned short r;
  asm("cvt.rz.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return __ushort_as_half(r);
}
WL_HOST_DEVICE __half2 make_half2(__half a, __half b) { return __half2(a, b); }
WL_HOST_DEVICE __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
WL_HOST_DEVICE __half2 __half2half2(__half a) { return __half2(a, a); }
WL_HOST_DEVICE __half2 __float2half2_rn(float v) { return __half2(__half(v), __half(v)); }
WL_HOST_DEVICE __half2 __floats2half2_rn(float a, float b) { return __half2(__half(a), __half(b)); }
WL_HOST_DEVICE __half2 __float22half2_rn(float2 v) { return __half2(__half(v.x), __half(v.y)); }
WL_HOST_DEVICE float2 __half22float2(__half2 v) { return float2{__half2float(v.x), __half2float(v.y)}; }
WL_HOST_DEVICE float __low2float(__half2 v) { return __half2float(v.x); }
WL_HOST_DEVICE float __high2float(__half2 v) { return __half2float(v.y); }
WL_HOST_DEVICE __half __low2half(__half2 v) { return v.x; }
WL_HOST_DEVICE __half __high2half(__half2 v) { return v.y; }
WL_HOST_DEVICE __half2 __lowhigh2highlow(__half2 v) { return __half2(v.y, v.x); }

WL_DEVICE __half2 atomicAdd(__half2* p, __half2 v) {
  unsigned int old;
  asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;"
               : "=r"(old)
               : "l"(p), "r"(__builtin_bit_cast(unsigned int, v))
               : "memory");
  return __builtin_bit_cast(__half2, old);
}
WL_DEVICE __half atomicAdd(__half* p, __half v) {
  unsigned short old;
  asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(old) : "l"(p), "h"(__half_as_ushort(v)) : "memory");
  return __ushort_as_half(old);
}
