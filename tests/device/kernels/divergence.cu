// Each kernel runs one case of divergence_cases.hpp on every thread.
#define WL_CASE static __device__ inline
#include "divergence_cases.hpp"

#define WL_KERNEL(name)                                                  \
  __global__ void run_##name(const unsigned* in, unsigned* out, int n) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    if (i < n) out[i] = name(i, in[i]);                                  \
  }
WL_KERNEL(nested_ifs)
WL_KERNEL(loops_by_lane)
WL_KERNEL(break_and_continue)
WL_KERNEL(nested_loops)
WL_KERNEL(switches)
WL_KERNEL(early_return)
WL_KERNEL(short_circuit)
WL_KERNEL(collatz)
WL_KERNEL(mutual_loops)

// After a branch lanes meet again: the ballot behind it has all of them.
__global__ void reconverges(const unsigned* in, unsigned* out) {
  unsigned i = threadIdx.x, v = in[i];
  if (v & 1)
    for (unsigned k = 0; k < (v & 7); ++k) v = mix(v);
  else if (v & 2)
    v = mix(v) + 1;
  __syncwarp();
  out[i] = __ballot_sync(~0u, v & 1);
}

// Inside a branch only its own lanes are active.
__global__ void active_in_branch(unsigned* out) {
  unsigned i = threadIdx.x;
  if (i % 3 == 0)
    out[i] = __ballot_sync(0x49249249u, 1);
  else if (i % 3 == 1)
    out[i] = __ballot_sync(0x92492492u, i > 15);
  else
    out[i] = 0;
}

// In later blocks lanes leave the loop one by one; each iteration asks again which block it is in.
__global__ void place_in_a_parted_loop(int* out, int uniform_blocks) {
  int t = threadIdx.x;
  int rounds = blockIdx.x < uniform_blocks ? 5 : 1 + t % 40;
  int sum = 0;
  for (int k = 0; k < rounds; ++k) {
    int x, y;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
    asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(y));
    sum += x * 3 + y * 1000 + k;
  }
  out[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + t] = sum;
}

// Many words that live across shuffles, while lanes from 8 on go through the loop more often than the others.
extern "C" __global__ void many_words(unsigned* out, int rounds) {
  const unsigned t = threadIdx.x, lane = t % 32, group = lane < 8 ? 0xFF : 0xFFFFFF00;
  unsigned word[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) word[i] = t * 40 + i;
  if (lane >= 8) rounds += 2;
  for (int s = 0; s < rounds; ++s) {
#pragma unroll
    for (int i = 0; i < 40; ++i) word[i] = word[i] * 5 + __shfl_xor_sync(group, word[(i + 7) % 40], 1 << i % 3);
    if (word[s % 2] & 16) word[0] ^= t;
  }
#pragma unroll
  for (int i = 0; i < 40; ++i) out[t * 40 + i] = word[i];
}
