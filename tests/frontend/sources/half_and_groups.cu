// Half precision, bfloat16 and cooperative groups: each function once.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

__device__ __managed__ int managed_counter = 3;

__global__ void half_functions(__half* h, __half2* p, float* f, int* n) {
  __half a = h[0], b = h[1], c = 1.0f;
  h[2] = __hadd(a, b) - __hmul(a, c) / __hdiv(b, c) + __hsub(a, b) + __hfma(a, b, c) + __hneg(a) + __habs(b);
  h[3] =
      hsqrt(a) + hrsqrt(b) + hexp(a) + hlog(b) + hsin(a) + hcos(b) + hrcp(c) + hfloor(a) + __hmax(a, b) + __hmin(a, b);
  a += b, a -= c, a *= b, a /= c;
  h[4] = __shfl_xor_sync(~0u, a, 1);
  p[0] = __hfma2(p[1], p[2], p[3]) + p[4] * __h2div(p[5], p[6]) - __hmax2(p[7], p[8]);
  p[9] = __shfl_down_sync(~0u, p[9], 2);
  f[0] = __half2float(a) + __low2float(p[1]) + __high2float(p[2]) + __half22float2(p[3]).y;
  n[0] = (a < b) + __heq(a, c) + __hisnan(b) + __hisinf(a) + __half2int_rz(a) + __half2int_rn(b) + __half_as_ushort(c);
  p[10] = __floats2half2_rn(f[1], f[2]);
  p[11] = __halves2half2(__float2half_rz(f[3]), __ushort_as_half(7));
  atomicAdd(&h[5], c);
  atomicAdd(&p[12], p[13]);
  managed_counter += 1;
}

__global__ void bfloat16_functions(__nv_bfloat16* h, __nv_bfloat162* p, float* f, int* n) {
  __nv_bfloat16 a = h[0], b = h[1], c = 1.0f;
  h[2] = __hadd(a, b) - __hmul(a, c) / __hdiv(b, c) + __hfma(a, b, c) + __hneg(a) + hexp(b);
  p[0] = __hfma2(p[1], p[2], p[3]) + p[4];
  f[0] = __bfloat162float(a) + __bfloat1622float2(p[1]).x + __low2float(p[2]);
  n[0] = (a > b) + __hne(a, c) + __bfloat16_as_ushort(c);
  p[5] = __floats2bfloat162_rn(f[1], f[2]);
}

__global__ void groups(int* p) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  cg::grid_group grid = cg::this_grid();
  int v = p[grid.thread_rank()] + block.thread_rank() + tile.meta_group_rank() + block.size() + grid.size();
  for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d) + tile.shfl_xor(v, 1) + tile.shfl_up(v, 1);
  v += tile.shfl(v, 0) + tile.any(v > 0) + tile.all(v > 0) + tile.ballot(v > 1) + tile.match_any(v);
  tile.sync();
  cg::sync(block);
  grid.sync();
  if (v & 1) {
    cg::coalesced_group together = cg::coalesced_threads();
    v = together.shfl(v, 0) + together.thread_rank() + together.size() + together.any(v > 3);
  }
  p[grid.thread_rank()] = v;
}
