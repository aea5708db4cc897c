// Products of a warpgroup (wgmma, sm_90a) as functions: of 64 rows and halves, with sums in float32. With
// -DPRODUCTS_BY_HAND ordinary code does the same, so that a device without these instructions can run the kernels.
#pragma once

// What describes a tile in shared memory whose rows of 128 bytes are swizzled and begin at a multiple of 1024, eight of
// them in 1024 bytes (PTX, "Matrix-descriptor format"): the half that differs. It counts 16 bytes. The leading offset is
// of no account, as no product has more than 64 elements of a row.
__device__ __forceinline__ unsigned describe(unsigned at, unsigned leading = 16) {
  return (at & 0x3FFFF) >> 4 | leading >> 4 << 16;
}
#define SWIZZLED "0x40000040"

#ifndef PRODUCTS_BY_HAND

__device__ __forceinline__ void before_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void after_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Until so many groups of products are under way.
template <int COUNT>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(COUNT) : "memory");
}

// Registers that products under way write are not touched before this.
template <int COUNT>
__device__ __forceinline__ void pin(float (&x)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(x[i])::"memory");
}

#define TEN(x) "%" #x "0, %" #x "1, %" #x "2, %" #x "3, %" #x "4, %" #x "5, %" #x "6, %" #x "7, %" #x "8, %" #x "9"
#define SUMS_64 TEN() ", " TEN(1) ", " TEN(2) ", %30, %31"
#define SUMS_80 TEN() ", " TEN(1) ", " TEN(2) ", " TEN(3)
#define SUMS_96 SUMS_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define SUMS_128 SUMS_80 ", " TEN(4) ", " TEN(5) ", %60, %61, %62, %63"
#define SUMS_160 SUMS_80 ", " TEN(4) ", " TEN(5) ", " TEN(6) ", " TEN(7)
#define SUMS_192 SUMS_160 ", " TEN(8) ", %90, %91, %92, %93, %94, %95"
#define EIGHT(how, x, i) \
  how(x[i]), how(x[i + 1]), how(x[i + 2]), how(x[i + 3]), how(x[i + 4]), how(x[i + 5]), how(x[i + 6]), how(x[i + 7])
#define OUTPUTS_64(how, x) EIGHT(how, x, 0), EIGHT(how, x, 8), EIGHT(how, x, 16), EIGHT(how, x, 24)
#define OUTPUTS_80(how, x) OUTPUTS_64(how, x), EIGHT(how, x, 32)
#define OUTPUTS_96(how, x) OUTPUTS_80(how, x), EIGHT(how, x, 40)
#define OUTPUTS_128(how, x) OUTPUTS_96(how, x), EIGHT(how, x, 48), EIGHT(how, x, 56)
#define OUTPUTS_160(how, x) OUTPUTS_128(how, x), EIGHT(how, x, 64), EIGHT(how, x, 72)
#define OUTPUTS_192(how, x) OUTPUTS_160(how, x), EIGHT(how, x, 80), EIGHT(how, x, 88)

// The products of 64 rows with N, over a depth of 64, in four steps; a tile's next 16 elements lie 32 bytes on.
template <int N>
struct Scores;

#define STEP(n, a, sum, tail) \
  "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" SUMS_##n "}, " a ", right, " sum ", 1, 1" tail ";\n"
#define LEFT(i) "add.u32 low, %[a], " #i ";\nmov.b64 left, {low, " SWIZZLED "};\n"
#define RIGHT(i) "add.u32 low, %[b], " #i ";\nmov.b64 right, {low, " SWIZZLED "};\n"
#define SCORES(n)                                                                                                    \
  template <>                                                                                                        \
  struct Scores<n> {                                                                                                 \
    static __device__ __forceinline__ void of_shared(float (&sum)[n / 2], unsigned a, unsigned b) {                  \
      asm volatile(                                                                                                  \
          "{\n.reg .pred no, yes;\n.reg .b64 left, right;\n.reg .b32 low;\n"                                         \
          "setp.ne.b32 no, 0, 0;\nsetp.eq.b32 yes, 0, 0;\nwgmma.fence.sync.aligned;\n" LEFT(0) RIGHT(0)              \
              STEP(n, "left", "no", ", 0, 0") LEFT(2) RIGHT(2) STEP(n, "left", "yes", ", 0, 0") LEFT(4) RIGHT(4)     \
                  STEP(n, "left", "yes", ", 0, 0") LEFT(6) RIGHT(6)                                                  \
                      STEP(n, "left", "yes", ", 0, 0") "wgmma.commit_group.sync.aligned;\n}"                         \
          : OUTPUTS_##n("=f", sum)                                                                                   \
          : [a] "r"(a), [b] "r"(b)                                                                                   \
          : "memory");                                                                                               \
    }                                                                                                                \
    static __device__ __forceinline__ void of_registers(float (&sum)[n / 2], const unsigned (&a)[16], unsigned b) {  \
      asm volatile(                                                                                                  \
          "{\n.reg .pred no, yes;\n.reg .b64 right;\n.reg .b32 low;\n"                                               \
          "setp.ne.b32 no, 0, 0;\nsetp.eq.b32 yes, 0, 0;\nwgmma.fence.sync.aligned;\n" RIGHT(0)                      \
              STEP(n, "{%[a0], %[a1], %[a2], %[a3]}", "no", ", 0") RIGHT(2)                                          \
                  STEP(n, "{%[a4], %[a5], %[a6], %[a7]}", "yes", ", 0") RIGHT(4)                                     \
                      STEP(n, "{%[a8], %[a9], %[a10], %[a11]}", "yes", ", 0") RIGHT(6) STEP(                         \
                          n, "{%[a12], %[a13], %[a14], %[a15]}", "yes", ", 0") "wgmma.commit_group.sync.aligned;\n}" \
          : OUTPUTS_##n("=f", sum)                                                                                   \
          : [a0] "r"(a[0]), [a1] "r"(a[1]), [a2] "r"(a[2]), [a3] "r"(a[3]), [a4] "r"(a[4]), [a5] "r"(a[5]),          \
            [a6] "r"(a[6]), [a7] "r"(a[7]), [a8] "r"(a[8]), [a9] "r"(a[9]), [a10] "r"(a[10]), [a11] "r"(a[11]),      \
            [a12] "r"(a[12]), [a13] "r"(a[13]), [a14] "r"(a[14]), [a15] "r"(a[15]), [b] "r"(b)                       \
          : "memory");                                                                                               \
    }                                                                                                                \
  };
SCORES(64)
SCORES(80)
SCORES(96)
SCORES(128)
SCORES(160)
SCORES(192)

// sum += weights of 16 keys, in registers, times these keys' rows of 64 values.
__device__ __forceinline__ void add_values(float (&sum)[32], const unsigned* weight, unsigned values) {
  asm volatile("{\n.reg .pred yes;\n.reg .b64 right;\nsetp.eq.b32 yes, 0, 0;\nmov.b64 right, {%[b], " SWIZZLED
               "};\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" SUMS_64
               "}, {%[a0], %[a1], %[a2], %[a3]}, right, yes, 1, 1, 1;\n}"
               : OUTPUTS_64("+f", sum)
               : [a0] "r"(weight[0]), [a1] "r"(weight[1]), [a2] "r"(weight[2]), [a3] "r"(weight[3]), [b] "r"(values)
               : "memory");
}

#else
#include "warpgroup_by_hand.cuh"
#endif
