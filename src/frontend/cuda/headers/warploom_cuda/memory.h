// Loads and stores with a cache operator, address-space queries, and the memory functions of the C library.
#pragma once

WL_DEVICE unsigned int __isGlobal(const void* p) { return __nvvm_isspacep_global(p); }
WL_DEVICE unsigned int __isShared(const void* p) { return __nvvm_isspacep_shared(p); }
WL_DEVICE unsigned int __isConstant(const void* p) { return __nvvm_isspacep_const(p); }
WL_DEVICE unsigned int __isLocal(const void* p) { return __nvvm_isspacep_local(p); }
WL_DEVICE size_t __cvta_generic_to_shared(const void* p) {
  return (size_t)(__attribute__((address_space(3))) const void*)p;
}
WL_DEVICE size_t __cvta_generic_to_global(const void* p) {
  return (size_t)(__attribute__((address_space(1))) const void*)p;
}
WL_DEVICE void* __cvta_shared_to_generic(size_t p) { return (void*)(__attribute__((address_space(3))) void*)p; }
WL_DEVICE void* __cvta_global_to_generic(size_t p) { return (void*)(__attribute__((address_space(1))) void*)p; }

#define WL_LOAD(name, op, clobber)                                                                                     \
  WL_CACHED1(name, op, signed char, "b8", "=h", short, clobber)                                                        \
  WL_CACHED1(name, op, char, "b8", "=h", short, clobber)                                                               \
  WL_CACHED1(name, op, unsigned char, "b8", "=h", short, clobber)                                                      \
  WL_CACHED1(name, op, short, "b16", "=h", short, clobber)                                                             \
  WL_CACHED1(name, op, unsigned short, "b16", "=h", unsigned short, clobber)                                           \
  WL_CACHED1(name, op, int, "b32", "=r", int, clobber)                                                                 \
  WL_CACHED1(name, op, unsigned int, "b32", "=r", unsigned int, clobber)                                               \
  WL_CACHED1(name, op, long, "b64", "=l", long, clobber)                                                               \
  WL_CACHED1(name, op, unsigned long, "b64", "=l", unsigned long, clobber)                                             \
  WL_CACHED1(name, op, long long, "b64", "=l", long long, clobber)                                                     \
  WL_CACHED1(name, op, unsigned long long, "b64", "=l", unsigned long long, clobber)                                   \
  WL_CACHED1(name, op, float, "f32", "=f", float, clobber)                                                             \
  WL_CACHED1(name, op, double, "f64", "=d", double, clobber)                                                           \
  WL_CACHED2(name, op, int2, "v2.b32", "=r", clobber)                                                                  \
  WL_CACHED2(name, op, uint2, "v2.b32", "=r", clobber)                                                                 \
  WL_CACHED2(name, op, float2, "v2.f32", "=f", clobber)                                                                \
  WL_CACHED2(name, op, double2, "v2.f64", "=d", clobber)                                                               \
  WL_CACHED2(name, op, longlong2, "v2.b64", "=l", clobber)                                                             \
  WL_CACHED2(name, op, ulonglong2, "v2.b64", "=l", clobber)                                                            \
  WL_CACHED4(name, op, int4, "v4.b32", "=r", clobber)                                                                  \
  WL_CACHED4(name, op, uint4, "v4.b32", "=r", clobber)                                                                 \
  WL_CACHED4(name, op, float4, "v4.f32", "=f", clobber)                                                                \
  WL_DEVICE char4 name(const char4* p) { return __builtin_bit_cast(char4, name(reinterpret_cast<const int*>(p))); }    \
  WL_DEVICE uchar4 name(const uchar4* p) { return __builtin_bit_cast(uchar4, name(reinterpret_cast<const int*>(p))); } \
  WL_DEVICE short2 name(const short2* p) { return __builtin_bit_cast(short2, name(reinterpret_cast<const int*>(p))); } \
  WL_DEVICE short4 name(const short4* p) { return __builtin_bit_cast(short4, name(reinterpret_cast<const int2*>(p))); }

#define WL_NOTHING
#define WL_MEMORY : "memory"
#define WL_CACHED1(name, op, type, width, constraint, reg, clobber)          \
  WL_DEVICE type name(const type* p) {                                       \
    reg v;                                                                   \
    asm volatile(op "." width " %0, [%1];" : constraint(v) : "l"(p)clobber); \
    return static_cast<type>(v);                                             \
  }
#define WL_CACHED2(name, op, type, width, constraint, clobber)                                        \
  WL_DEVICE type name(const type* p) {                                                                \
    type v;                                                                                           \
    asm volatile(op "." width " {%0, %1}, [%2];" : constraint(v.x), constraint(v.y) : "l"(p)clobber); \
    return v;                                                                                         \
  }
#define WL_CACHED4(name, op, type, width, constraint, clobber)                        \
  WL_DEVICE type name(const type* p) {                                                \
    type v;                                                                           \
    asm volatile(op "." width " {%0, %1, %2, %3}, [%4];"                              \
                 : constraint(v.x), constraint(v.y), constraint(v.z), constraint(v.w) \
                 : "l"(p)clobber);                                                    \
    return v;                                                                         \
  }
WL_LOAD(__ldg, "ld.global.nc", WL_NOTHING)
WL_LOAD(__ldca, "ld.global.ca", WL_MEMORY)
WL_LOAD(__ldcg, "ld.global.cg", WL_MEMORY)
WL_LOAD(__ldcs, "ld.global.cs", WL_MEMORY)
WL_LOAD(__ldlu, "ld.global.lu", WL_MEMORY)
WL_LOAD(__ldcv, "ld.global.cv", WL_MEMORY)
#undef WL_CACHED1
#undef WL_CACHED2
#undef WL_CACHED4
#undef WL_LOAD
#undef WL_NOTHING
#undef WL_MEMORY

#define WL_STORE(name, op)                                                \
  WL_STORE1(name, op, signed char, "b8", "h", short)                      \
  WL_STORE1(name, op, char, "b8", "h", short)                             \
  WL_STORE1(name, op, unsigned char, "b8", "h", short)                    \
  WL_STORE1(name, op, short, "b16", "h", short)                           \
  WL_STORE1(name, op, unsigned short, "b16", "h", unsigned short)         \
  WL_STORE1(name, op, int, "b32", "r", int)                               \
  WL_STORE1(name, op, unsigned int, "b32", "r", unsigned int)             \
  WL_STORE1(name, op, long, "b64", "l", long)                             \
  WL_STORE1(name, op, unsigned long, "b64", "l", unsigned long)           \
  WL_STORE1(name, op, long long, "b64", "l", long long)                   \
  WL_STORE1(name, op, unsigned long long, "b64", "l", unsigned long long) \
  WL_STORE1(name, op, float, "f32", "f", float)                           \
  WL_STORE1(name, op, double, "f64", "d", double)                         \
  WL_STORE2(name, op, int2, "v2.b32", "r")                                \
  WL_STORE2(name, op, uint2, "v2.b32", "r")                               \
  WL_STORE2(name, op, float2, "v2.f32", "f")                              \
  WL_STORE2(name, op, double2, "v2.f64", "d")                             \
  WL_STORE4(name, op, int4, "v4.b32", "r")                                \
  WL_STORE4(name, op, uint4, "v4.b32", "r")                               \
  WL_STORE4(name, op, float4, "v4.f32", "f")
#define WL_STORE1(name, op, type, width, constraint, reg)                                         \
  WL_DEVICE void name(type* p, type v) {                                                          \
    asm volatile(op "." width " [%0], %1;" ::"l"(p), constraint(static_cast<reg>(v)) : "memory"); \
  }
#define WL_STORE2(name, op, type, width, constraint)                                                     \
  WL_DEVICE void name(type* p, type v) {                                                                 \
    asm volatile(op "." width " [%0], {%1, %2};" ::"l"(p), constraint(v.x), constraint(v.y) : "memory"); \
  }
#define WL_STORE4(name, op, type, width, constraint)                                                                  \
  WL_DEVICE void name(type* p, type v) {                                                                              \
    asm volatile(op "." width " [%0], {%1, %2, %3, %4};" ::"l"(p), constraint(v.x), constraint(v.y), constraint(v.z), \
                 constraint(v.w)                                                                                      \
                 : "memory");                                                                                         \
  }
WL_STORE(__stwb, "st.global.wb")
WL_STORE(__stcg, "st.global.cg")
WL_STORE(__stcs, "st.global.cs")
WL_STORE(__stwt, "st.global.wt")
#undef WL_STORE1
#undef WL_STORE2
#undef WL_STORE4
#undef WL_STORE
