// bfloat16: __nv_bfloat16 and __nv_bfloat162; sm_80 and later.
#pragma once
#include "warploom_cuda/half.h"

WL_HALF_TYPES(__nv_bfloat16, __nv_bfloat162, __bf16, bfloat16)
WL_DEVICE __nv_bfloat16 wl_half_fma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  unsigned short r;
  asm("fma.rn.bf16 %0, %1, %2, %3;"
      : "=h"(r)
      : "h"(__bfloat16_as_ushort(a)), "h"(__bfloat16_as_ushort(b)), "h"(__bfloat16_as_ushort(c)));
  return __ushort_as_bfloat16(r);
}
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

WL_HOST_DEVICE __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
WL_HOST_DEVICE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
WL_HOST_DEVICE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
WL_HOST_DEVICE __nv_bfloat162 __float2bfloat162_rn(float v) {
  return __nv_bfloat162(__nv_bfloat16(v), __nv_bfloat16(v));
}
WL_HOST_DEVICE __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(b));
}
WL_HOST_DEVICE __nv_bfloat162 __float22bfloat162_rn(float2 v) { return __floats2bfloat162_rn(v.x, v.y); }
WL_HOST_DEVICE float2 __bfloat1622float2(__nv_bfloat162 v) {
  return float2{__bfloat162float(v.x), __bfloat162float(v.y)};
}
WL_HOST_DEVICE float __low2float(__nv_bfloat162 v) { return __bfloat162float(v.x); }
WL_HOST_DEVICE float __high2float(__nv_bfloat162 v) { return __bfloat162float(v.y); }
WL_HOST_DEVICE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
WL_HOST_DEVICE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
