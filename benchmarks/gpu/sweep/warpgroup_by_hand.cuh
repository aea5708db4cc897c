// The functions of warpgroup.cuh in ordinary code, one element of a tile at a time: the same fragments, descriptors and
// swizzle, done at once.
#pragma once

__device__ __forceinline__ void before_products() {}
__device__ __forceinline__ void after_products() {}
template <int COUNT>
__device__ __forceinline__ void wait_products() {}
template <int COUNT>
__device__ __forceinline__ void pin(float (&)[COUNT]) {}

__device__ inline float float_of_half(unsigned half) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"((unsigned short)half));
  return out;
}

// The half at a row of 128 bytes and an element of it, from what describes the tile.
__device__ inline float element(unsigned tile, int row, int at) {
  unsigned address = ((tile & 0x3FFF) << 4) + row / 8 * 1024 + row % 8 * 128 + at * 2;
  address ^= (address >> 7 & 7) << 4;
  unsigned short half;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(half) : "r"(address) : "memory");
  return float_of_half(half);
}

// Element k of sixteen in the row of a fragment of A that this lane's sum of index i belongs to.
__device__ inline float of_fragment(const unsigned* a, int i, int k) {
  const unsigned both = a[k / 8 * 2 + i / 2 % 2];
  const unsigned there = __shfl_sync(0xFFFFFFFF, both, (threadIdx.x % 32 & ~3) + k % 8 / 2);
  return float_of_half(k % 2 != 0 ? there >> 16 : there & 0xFFFF);
}

__device__ inline int column(int i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }

// Not inlined, so that each is compiled once.
template <int N>
struct Scores {
  static __device__ __noinline__ void of_shared(float (&sum)[N / 2], unsigned a, unsigned b) {
#pragma unroll 1
    for (int i = 0; i < N / 2; ++i) {
      const int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
      float total = 0;
#pragma unroll 1
      for (int k = 0; k < 64; ++k)
        total += element(a + k / 16 * 2, row, k % 16) * element(b + k / 16 * 2, column(i), k % 16);
      sum[i] = total;
    }
  }
  static __device__ __noinline__ void of_registers(float (&sum)[N / 2], const unsigned (&a)[16], unsigned b) {
#pragma unroll 1
    for (int i = 0; i < N / 2; ++i) {
      float total = 0;
#pragma unroll 1
      for (int k = 0; k < 64; ++k)
        total += of_fragment(a + k / 16 * 4, i, k % 16) * element(b + k / 16 * 2, column(i), k % 16);
      sum[i] = total;
    }
  }
};

__device__ __noinline__ void add_values(float (&sum)[32], const unsigned* weight, unsigned values) {
#pragma unroll 1
  for (int i = 0; i < 32; ++i)
#pragma unroll 1
    for (int k = 0; k < 16; ++k) sum[i] += of_fragment(weight, i, k) * element(values, k, column(i));
}
