// What cuda_fp16.h and cuda_bf16.h share: a 16-bit type, its pair, arithmetic, comparison, conversion.
#pragma once
#include "../warploom_cuda.h"

// half_type, pair_type: CUDA's names; raw: clang's arithmetic type; tag: the word in conversion functions' names.
#define WL_HALF_TYPES(half_type, pair_type, raw, tag)                                                             \
  struct half_type {                                                                                              \
    raw value;                                                                                                    \
    half_type() = default;                                                                                        \
    WL_MEMBER constexpr half_type(float v) : value(static_cast<raw>(v)) {}                                        \
    WL_MEMBER constexpr half_type(double v) : value(static_cast<raw>(v)) {}                                       \
    WL_MEMBER constexpr half_type(int v) : value(static_cast<raw>(static_cast<float>(v))) {}                      \
    WL_MEMBER constexpr half_type(unsigned int v) : value(static_cast<raw>(static_cast<float>(v))) {}             \
    WL_MEMBER constexpr half_type(raw v) : value(v) {}                                                            \
    WL_MEMBER constexpr operator float() const { return static_cast<float>(value); }                              \
    WL_MEMBER half_type& operator+=(half_type o) { return *this = half_type(static_cast<raw>(value + o.value)); } \
    WL_MEMBER half_type& operator-=(half_type o) { return *this = half_type(static_cast<raw>(value - o.value)); } \
    WL_MEMBER half_type& operator*=(half_type o) { return *this = half_type(static_cast<raw>(value * o.value)); } \
    WL_MEMBER half_type& operator/=(half_type o) { return *this = half_type(static_cast<raw>(value / o.value)); } \
  };                                                                                                              \
  struct __attribute__((aligned(4))) pair_type {                                                                  \
    half_type x, y;                                                                                               \
    pair_type() = default;                                                                                        \
    WL_MEMBER constexpr pair_type(half_type a, half_type b) : x(a), y(b) {}                                       \
  };                                                                                                              \
  WL_HOST_DEVICE half_type __float2##tag(float v) { return half_type(v); }                                        \
  WL_HOST_DEVICE half_type __float2##tag##_rn(float v) { return half_type(v); }                                   \
  WL_HOST_DEVICE half_type __double2##tag(double v) { return half_type(v); }                                      \
  WL_HOST_DEVICE half_type __int2##tag##_rn(int v) { return half_type(v); }                                       \
  WL_HOST_DEVICE half_type __uint2##tag##_rn(unsigned int v) { return half_type(v); }                             \
  WL_HOST_DEVICE float __##tag##2float(half_type v) { return static_cast<float>(v.value); }                       \
  WL_DEVICE int __##tag##2int_rz(half_type v) { return static_cast<int>(static_cast<float>(v.value)); }           \
  WL_DEVICE int __##tag##2int_rn(half_type v) { return __float2int_rn(static_cast<float>(v.value)); }             \
  WL_DEVICE unsigned int __##tag##2uint_rz(half_type v) { return __float2uint_rz(static_cast<float>(v.value)); }  \
  WL_HOST_DEVICE unsigned short __##tag##_as_ushort(half_type v) {                                                \
    return __builtin_bit_cast(unsigned short, v.value);                                                           \
  }                                                                                                               \
  WL_HOST_DEVICE short __##tag##_as_short(half_type v) { return __builtin_bit_cast(short, v.value); }             \
  WL_HOST_DEVICE half_type __ushort_as_##tag(unsigned short v) { return half_type(__builtin_bit_cast(raw, v)); }  \
  WL_HOST_DEVICE half_type __short_as_##tag(short v) { return half_type(__builtin_bit_cast(raw, v)); }            \
  WL_HALF_ARITHMETIC(half_type, pair_type, raw)                                                                   \
  WL_HALF_COMPARISON(half_type, pair_type)                                                                        \
  WL_HALF_SHUFFLE(half_type, pair_type)

#define WL_HALF_BINARY(half_type, pair_type, raw, name, op)                                                           \
  WL_HOST_DEVICE half_type name(half_type a, half_type b) { return half_type(static_cast<raw>(a.value op b.value)); } \
  WL_HOST_DEVICE half_type operator op(half_type a, half_type b) { return name(a, b); }                               \
  WL_HOST_DEVICE pair_type name##2(pair_type a, pair_type b) { return pair_type(name(a.x, b.x), name(a.y, b.y)); }    \
  WL_HOST_DEVICE pair_type operator op(pair_type a, pair_type b) { return name##2(a, b); }

#define WL_HALF_ARITHMETIC(half_type, pair_type, raw)                                                             \
  WL_HALF_BINARY(half_type, pair_type, raw, __hadd, +)                                                            \
  WL_HALF_BINARY(half_type, pair_type, raw, __hsub, -)                                                            \
  WL_HALF_BINARY(half_type, pair_type, raw, __hmul, *)                                                            \
  WL_HALF_BINARY(half_type, pair_type, raw, __hdiv, /)                                                            \
  WL_HOST_DEVICE pair_type __h2div(pair_type a, pair_type b) { return __hdiv2(a, b); }                            \
  WL_HOST_DEVICE half_type __hneg(half_type a) { return half_type(static_cast<raw>(-a.value)); }                  \
  WL_HOST_DEVICE half_type operator-(half_type a) { return __hneg(a); }                                           \
  WL_HOST_DEVICE pair_type __hneg2(pair_type a) { return pair_type(__hneg(a.x), __hneg(a.y)); }                   \
  WL_DEVICE half_type __habs(half_type a) { return half_type(__builtin_fabsf(static_cast<float>(a.value))); }     \
  WL_DEVICE pair_type __habs2(pair_type a) { return pair_type(__habs(a.x), __habs(a.y)); }                        \
  WL_DEVICE half_type __hfma(half_type a, half_type b, half_type c) { return wl_half_fma(a, b, c); }              \
  WL_DEVICE pair_type __hfma2(pair_type a, pair_type b, pair_type c) {                                            \
    return pair_type(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));                                               \
  }                                                                                                               \
  WL_DEVICE half_type hsqrt(half_type a) { return half_type(sqrtf(static_cast<float>(a.value))); }                \
  WL_DEVICE half_type hrsqrt(half_type a) { return half_type(rsqrtf(static_cast<float>(a.value))); }              \
  WL_DEVICE half_type hrcp(half_type a) { return half_type(1.0f / static_cast<float>(a.value)); }                 \
  WL_DEVICE half_type hexp(half_type a) { return half_type(expf(static_cast<float>(a.value))); }                  \
  WL_DEVICE half_type hexp2(half_type a) { return half_type(exp2f(static_cast<float>(a.value))); }                \
  WL_DEVICE half_type hlog(half_type a) { return half_type(logf(static_cast<float>(a.value))); }                  \
  WL_DEVICE half_type hlog2(half_type a) { return half_type(log2f(static_cast<float>(a.value))); }                \
  WL_DEVICE half_type hsin(half_type a) { return half_type(sinf(static_cast<float>(a.value))); }                  \
  WL_DEVICE half_type hcos(half_type a) { return half_type(cosf(static_cast<float>(a.value))); }                  \
  WL_DEVICE half_type hfloor(half_type a) { return half_type(floorf(static_cast<float>(a.value))); }              \
  WL_DEVICE half_type hceil(half_type a) { return half_type(ceilf(static_cast<float>(a.value))); }                \
  WL_DEVICE half_type htrunc(half_type a) { return half_type(truncf(static_cast<float>(a.value))); }              \
  WL_DEVICE half_type hrint(half_type a) { return half_type(rintf(static_cast<float>(a.value))); }                \
  WL_DEVICE half_type __hmin(half_type a, half_type b) { return half_type(fminf(a.value, b.value)); }             \
  WL_DEVICE half_type __hmax(half_type a, half_type b) { return half_type(fmaxf(a.value, b.value)); }             \
  WL_DEVICE pair_type __hmin2(pair_type a, pair_type b) { return pair_type(__hmin(a.x, b.x), __hmin(a.y, b.y)); } \
  WL_DEVICE pair_type __hmax2(pair_type a, pair_type b) { return pair_type(__hmax(a.x, b.x), __hmax(a.y, b.y)); }

#define WL_HALF_RELATION(half_type, pair_type, name, op)                                   \
  WL_HOST_DEVICE bool __h##name(half_type a, half_type b) { return a.value op b.value; }   \
  WL_HOST_DEVICE bool operator op(half_type a, half_type b) { return a.value op b.value; } \
  WL_HOST_DEVICE bool __hb##name##2(pair_type a, pair_type b) {                            \
    return a.x.value op b.x.value && a.y.value op b.y.value;                               \
  }
#define WL_HALF_COMPARISON(half_type, pair_type)                           \
  WL_HALF_RELATION(half_type, pair_type, eq, ==)                           \
  WL_HALF_RELATION(half_type, pair_type, ne, !=)                           \
  WL_HALF_RELATION(half_type, pair_type, lt, <)                            \
  WL_HALF_RELATION(half_type, pair_type, le, <=)                           \
  WL_HALF_RELATION(half_type, pair_type, gt, >)                            \
  WL_HALF_RELATION(half_type, pair_type, ge, >=)                           \
  WL_HOST_DEVICE bool __hisnan(half_type a) { return a.value != a.value; } \
  WL_DEVICE int __hisinf(half_type a) {                                    \
    const float v = static_cast<float>(a.value);                           \
    return __builtin_fabsf(v) == __builtin_inff() ? (v > 0 ? 1 : -1) : 0;  \
  }

#define WL_HALF_SHUFFLE_ONE(type, bits, name, offset_type)                        \
  WL_DEVICE type name(unsigned int mask, type v, offset_type o, int width = 32) { \
    unsigned int word = 0;                                                        \
    __builtin_memcpy(&word, &v, sizeof v);                                        \
    word = name(mask, word, o, width);                                            \
    __builtin_memcpy(&v, &word, sizeof v);                                        \
    return v;                                                                     \
  }
#define WL_HALF_SHUFFLE(half_type, pair_type)                        \
  WL_HALF_SHUFFLE_ONE(half_type, 16, __shfl_sync, int)               \
  WL_HALF_SHUFFLE_ONE(half_type, 16, __shfl_up_sync, unsigned int)   \
  WL_HALF_SHUFFLE_ONE(half_type, 16, __shfl_down_sync, unsigned int) \
  WL_HALF_SHUFFLE_ONE(half_type, 16, __shfl_xor_sync, int)           \
  WL_HALF_SHUFFLE_ONE(pair_type, 32, __shfl_sync, int)               \
  WL_HALF_SHUFFLE_ONE(pair_type, 32, __shfl_up_sync, unsigned int)   \
  WL_HALF_SHUFFLE_ONE(pair_type, 32, __shfl_down_sync, unsigned int) \
  WL_HALF_SHUFFLE_ONE(pair_type, 32, __shfl_xor_sync, int)

struct __half;
struct __nv_bfloat16;
WL_DEVICE __half wl_half_fma(__half a, __half b, __half c);
WL_DEVICE __nv_bfloat16 wl_half_fma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c);
