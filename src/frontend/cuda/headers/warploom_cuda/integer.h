// Integer intrinsics: bit operations, byte permutation, wide and 24-bit products, dot products.
#pragma once

WL_DEVICE int __popc(unsigned int v) { return __builtin_popcount(v); }
WL_DEVICE int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
WL_DEVICE int __clz(int v) { return v == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(v)); }
WL_DEVICE int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(v)); }
WL_DEVICE int __ffs(int v) { return __builtin_ffs(v); }
WL_DEVICE int __ffsll(long long v) { return __builtin_ffsll(v); }
WL_DEVICE unsigned int __brev(unsigned int v) { return __builtin_bitreverse32(v); }
WL_DEVICE unsigned long long __brevll(unsigned long long v) { return __builtin_bitreverse64(v); }
WL_DEVICE unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
  return __nvvm_prmt(a, b, selector);
}
WL_DEVICE unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  return __nvvm_fns(mask, base, offset);
}

WL_DEVICE int __mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
WL_DEVICE unsigned int __umul24(unsigned int a, unsigned int b) { return __nvvm_mul24_ui(a, b); }
WL_DEVICE int __mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
WL_DEVICE unsigned int __umulhi(unsigned int a, unsigned int b) { return __nvvm_mulhi_ui(a, b); }
WL_DEVICE long long __mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
WL_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return __nvvm_mulhi_ull(a, b); }
WL_DEVICE int __sad(int a, int b, unsigned int c) { return static_cast<int>(__nvvm_sad_i(a, b, static_cast<int>(c))); }
WL_DEVICE unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) { return __nvvm_sad_ui(a, b, c); }

WL_DEVICE int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
WL_DEVICE int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
WL_DEVICE unsigned int __uhadd(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) + b) >> 1);
}
WL_DEVICE unsigned int __urhadd(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}

#define WL_DOT(name, op, type, itype)                              \
  WL_DEVICE type name(itype a, itype b, type c) {                  \
    type r;                                                        \
    asm(op " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); \
    return r;                                                      \
  }
WL_DOT(__dp4a, "dp4a.s32.s32", int, int)
WL_DOT(__dp4a, "dp4a.u32.u32", unsigned int, unsigned int)
WL_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int, int)
WL_DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int, unsigned int)
WL_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int, int)
WL_DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int, unsigned int)
#undef WL_DOT

WL_DEVICE int __dp4a(char4 a, char4 b, int c) {
  return __dp4a(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), c);
}
WL_DEVICE unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c) {
  return __dp4a(__builtin_bit_cast(unsigned int, a), __builtin_bit_cast(unsigned int, b), c);
}

WL_DEVICE unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int n) {
  unsigned int r;
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(n));
  return r;
}
WL_DEVICE unsigned int __funnelshift_lc(unsigned int lo, unsigned int hi, unsigned int n) {
  unsigned int r;
  asm("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(n));
  return r;
}
WL_DEVICE unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int n) {
  unsigned int r;
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(n));
  return r;
}
WL_DEVICE unsigned int __funnelshift_rc(unsigned int lo, unsigned int hi, unsigned int n) {
  unsigned int r;
  asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(n));
  return r;
}

#define WL_MIN_MAX(type)                                                      \
  WL_HOST_DEVICE constexpr type min(type a, type b) { return b < a ? b : a; } \
  WL_HOST_DEVICE constexpr type max(type a, type b) { return a < b ? b : a; }
WL_MIN_MAX(int)
WL_MIN_MAX(unsigned int)
WL_MIN_MAX(long)
WL_MIN_MAX(unsigned long)
WL_MIN_MAX(long long)
WL_MIN_MAX(unsigned long long)
#undef WL_MIN_MAX

// CUDA compares mixed signedness as C++ does: after conversion to the unsigned type.
#define WL_MIN_MAX_MIXED(signed_type, unsigned_type)                           \
  WL_HOST_DEVICE constexpr unsigned_type min(signed_type a, unsigned_type b) { \
    return min(static_cast<unsigned_type>(a), b);                              \
  }                                                                            \
  WL_HOST_DEVICE constexpr unsigned_type min(unsigned_type a, signed_type b) { \
    return min(a, static_cast<unsigned_type>(b));                              \
  }                                                                            \
  WL_HOST_DEVICE constexpr unsigned_type max(signed_type a, unsigned_type b) { \
    return max(static_cast<unsigned_type>(a), b);                              \
  }                                                                            \
  WL_HOST_DEVICE constexpr unsigned_type max(unsigned_type a, signed_type b) { \
    return max(a, static_cast<unsigned_type>(b));                              \
  }
WL_MIN_MAX_MIXED(int, unsigned int)
WL_MIN_MAX_MIXED(long, unsigned long)
WL_MIN_MAX_MIXED(long long, unsigned long long)
#undef WL_MIN_MAX_MIXED

WL_DEVICE int abs(int v) { return __builtin_abs(v); }
WL_DEVICE long abs(long v) { return __builtin_labs(v); }
WL_DEVICE long long abs(long long v) { return __builtin_llabs(v); }
WL_DEVICE long labs(long v) { return __builtin_labs(v); }
WL_DEVICE long long llabs(long long v) { return __builtin_llabs(v); }
WL_DEVICE unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
WL_DEVICE unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
