// Atomic functions: relaxed, at device scope, or at block and system scope with the suffixes _block and _system.
#pragma once

#define WL_ATOMIC_SCOPE(suffix, scope)                                                                                 \
  WL_DEVICE int atomicAdd##suffix(int* p, int v) { return __nvvm_atom##scope##_add_gen_i(p, v); }                      \
  WL_DEVICE unsigned int atomicAdd##suffix(unsigned int* p, unsigned int v) {                                          \
    return static_cast<unsigned int>(__nvvm_atom##scope##_add_gen_i(reinterpret_cast<int*>(p), static_cast<int>(v)));  \
  }                                                                                                                    \
  WL_DEVICE unsigned long long atomicAdd##suffix(unsigned long long* p, unsigned long long v) {                        \
    return static_cast<unsigned long long>(                                                                            \
        __nvvm_atom##scope##_add_gen_ll(reinterpret_cast<long long*>(p), static_cast<long long>(v)));                  \
  }                                                                                                                    \
  WL_DEVICE float atomicAdd##suffix(float* p, float v) { return __nvvm_atom##scope##_add_gen_f(p, v); }                \
  WL_DEVICE double atomicAdd##suffix(double* p, double v) { return __nvvm_atom##scope##_add_gen_d(p, v); }             \
  WL_DEVICE int atomicSub##suffix(int* p, int v) {                                                                     \
    return atomicAdd##suffix(p, static_cast<int>(-static_cast<unsigned int>(v)));                                      \
  }                                                                                                                    \
  WL_DEVICE unsigned int atomicSub##suffix(unsigned int* p, unsigned int v) { return atomicAdd##suffix(p, -v); }       \
  WL_DEVICE int atomicExch##suffix(int* p, int v) { return __nvvm_atom##scope##_xchg_gen_i(p, v); }                    \
  WL_DEVICE unsigned int atomicExch##suffix(unsigned int* p, unsigned int v) {                                         \
    return static_cast<unsigned int>(__nvvm_atom##scope##_xchg_gen_i(reinterpret_cast<int*>(p), static_cast<int>(v))); \
  }                                                                                                                    \
  WL_DEVICE unsigned long long atomicExch##suffix(unsigned long long* p, unsigned long long v) {                       \
    return static_cast<unsigned long long>(                                                                            \
        __nvvm_atom##scope##_xchg_gen_ll(reinterpret_cast<long long*>(p), static_cast<long long>(v)));                 \
  }                                                                                                                    \
  WL_DEVICE float atomicExch##suffix(float* p, float v) {                                                              \
    return __builtin_bit_cast(float,                                                                                   \
                              __nvvm_atom##scope##_xchg_gen_i(reinterpret_cast<int*>(p), __builtin_bit_cast(int, v))); \
  }                                                                                                                    \
  WL_DEVICE unsigned int atomicInc##suffix(unsigned int* p, unsigned int limit) {                                      \
    return __nvvm_atom##scope##_inc_gen_ui(p, limit);                                                                  \
  }                                                                                                                    \
  WL_DEVICE unsigned int atomicDec##suffix(unsigned int* p, unsigned int limit) {                                      \
    return __nvvm_atom##scope##_dec_gen_ui(p, limit);                                                                  \
  }                                                                                                                    \
  WL_ATOMIC_MINMAX(Min, min, suffix, scope)                                                                            \
  WL_ATOMIC_MINMAX(Max, max, suffix, scope)                                                                            \
  WL_ATOMIC_BITS(And, and, suffix, scope)                                                                              \
  WL_ATOMIC_BITS(Or, or, suffix, scope)                                                                                \
  WL_ATOMIC_BITS(Xor, xor, suffix, scope)                                                                              \
  WL_ATOMIC_CAS(suffix, scope)

#define WL_ATOMIC_MINMAX(Name, op, suffix, scope)                                                       \
  WL_DEVICE int atomic##Name##suffix(int* p, int v) { return __nvvm_atom##scope##_##op##_gen_i(p, v); } \
  WL_DEVICE unsigned int atomic##Name##suffix(unsigned int* p, unsigned int v) {                        \
    return __nvvm_atom##scope##_##op##_gen_ui(p, v);                                                    \
  }                                                                                                     \
  WL_DEVICE long long atomic##Name##suffix(long long* p, long long v) {                                 \
    return __nvvm_atom##scope##_##op##_gen_ll(p, v);                                                    \
  }                                                                                                     \
  WL_DEVICE unsigned long long atomic##Name##suffix(unsigned long long* p, unsigned long long v) {      \
    return __nvvm_atom##scope##_##op##_gen_ull(p, v);                                                   \
  }

#define WL_ATOMIC_BITS(Name, op, suffix, scope)                                                          \
  WL_DEVICE int atomic##Name##suffix(int* p, int v) { return __nvvm_atom##scope##_##op##_gen_i(p, v); }  \
  WL_DEVICE unsigned int atomic##Name##suffix(unsigned int* p, unsigned int v) {                         \
    return static_cast<unsigned int>(                                                                    \
        __nvvm_atom##scope##_##op##_gen_i(reinterpret_cast<int*>(p), static_cast<int>(v)));              \
  }                                                                                                      \
  WL_DEVICE unsigned long long atomic##Name##suffix(unsigned long long* p, unsigned long long v) {       \
    return static_cast<unsigned long long>(                                                              \
        __nvvm_atom##scope##_##op##_gen_ll(reinterpret_cast<long long*>(p), static_cast<long long>(v))); \
  }

// The nvvm builtins for cas are sequentially consistent; CUDA's atomicCAS is relaxed. clang ignores the scope here and
// writes .sys, which is stronger. There is no generic builtin for 16 bits that keeps to one instruction.
#define WL_ATOMIC_CAS_TYPE(suffix, type)                                                                 \
  WL_DEVICE type atomicCAS##suffix(type* p, type expected, type desired) {                               \
    __scoped_atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, \
                                       __MEMORY_SCOPE_DEVICE);                                           \
    return expected;                                                                                     \
  }
#define WL_ATOMIC_CAS(suffix, scope)                                                                               \
  WL_ATOMIC_CAS_TYPE(suffix, int)                                                                                  \
  WL_ATOMIC_CAS_TYPE(suffix, unsigned int)                                                                         \
  WL_ATOMIC_CAS_TYPE(suffix, unsigned long long)                                                                   \
  WL_DEVICE unsigned short atomicCAS##suffix(unsigned short* p, unsigned short expected, unsigned short desired) { \
    unsigned short old;                                                                                            \
    asm volatile("atom" WL_CAS16_SCOPE##scope ".cas.b16 %0, [%1], %2, %3;"                                         \
                 : "=h"(old)                                                                                       \
                 : "l"(p), "h"(expected), "h"(desired)                                                             \
                 : "memory");                                                                                      \
    return old;                                                                                                    \
  }
#define WL_CAS16_SCOPE ""
#define WL_CAS16_SCOPE_cta ".cta"
#define WL_CAS16_SCOPE_sys ".sys"

WL_ATOMIC_SCOPE(, )
WL_ATOMIC_SCOPE(_block, _cta)
WL_ATOMIC_SCOPE(_system, _sys)

#undef WL_CAS16_SCOPE
#undef WL_CAS16_SCOPE_cta
#undef WL_CAS16_SCOPE_sys
#undef WL_ATOMIC_CAS
#undef WL_ATOMIC_CAS_TYPE
#undef WL_ATOMIC_BITS
#undef WL_ATOMIC_MINMAX
#undef WL_ATOMIC_SCOPE
