// float32 products in many shapes of tiles, for sweep.py, which reads the names:
// matmul_BM_BN_TM_TN_DEPTH_STAGES_BLOCKS.

// BM x BN elements for a block, TM x TN for a thread in quarters of 4 x 4; DEPTH steps of the sum at a time, STAGES of
// them in shared memory, all brought there by asynchronous copies: a's four bytes at a time, because it is turned.
template <int BM, int BN, int TM, int TN, int DEPTH, int STAGES>
__device__ void product(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  constexpr int kThreads = BM / TM * (BN / TN), kA = BM + 4;
  constexpr int kStage = DEPTH * (kA + BN);
  // A warp's lanes form 8 x 4; warps stand beside each other along b.
  constexpr int kAcross = BN / (4 * TN);
  extern __shared__ __align__(16) float shared[];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const int row = warp / kAcross * 8 * TM + lane / 4 * 4, col = warp % kAcross * 4 * TN + lane % 4 * 4;
  const float* const a_in = a + (size_t)blockIdx.y * BM * n;
  const float* const b_in = b + (size_t)blockIdx.x * BN;

  const auto fetch = [&](int step) {
    float* const as = shared + step % STAGES * kStage;
    float* const bs = as + DEPTH * kA;
    if (step * DEPTH < n) {
#pragma unroll
      for (int i = 0; i < BM * DEPTH / kThreads; ++i) {
        const int at = t + i * kThreads, k = at % DEPTH, r = at / DEPTH;
        asm volatile(
            "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&as[k * kA + r])),
            "l"(a_in + (size_t)r * n + step * DEPTH + k)
            : "memory");
      }
#pragma unroll
      for (int i = 0; i < BN * DEPTH / 4 / kThreads; ++i) {
        const int at = t + i * kThreads, k = at / (BN / 4), x = at % (BN / 4) * 4;
        asm volatile(
            "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(&bs[k * BN + x])),
            "l"(b_in + (size_t)(step * DEPTH + k) * n + x)
            : "memory");
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) fetch(s);
  float sum[TM][TN] = {};
  for (int step = 0; step * DEPTH < n; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
    fetch(step + STAGES - 1);
    const float* const as = shared + step % STAGES * kStage;
    const float* const bs = as + DEPTH * kA;
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      float p[TM], q[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) *(float4*)&p[i] = *(const float4*)&as[k * kA + row + i * 8];
#pragma unroll
      for (int j = 0; j < TN; j += 4) *(float4*)&q[j] = *(const float4*)&bs[k * BN + col + j * 4];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) sum[i][j] += p[i] * q[j];
    }
  }
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      *(float4*)&c[((size_t)blockIdx.y * BM + row + i / 4 * 32 + i % 4) * n + blockIdx.x * BN + col + j * 4] =
          make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
}

#define VARIANT(BM, BN, TM, TN, DEPTH, STAGES, BLOCKS)                                              \
  extern "C" __global__ void __launch_bounds__((BM / TM) * (BN / TN), BLOCKS)                       \
      matmul_##BM##_##BN##_##TM##_##TN##_##DEPTH##_##STAGES##_##BLOCKS(                             \
          const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) { \
    product<BM, BN, TM, TN, DEPTH, STAGES>(a, b, c, n);                                             \
  }
VARIANT(128, 128, 8, 8, 16, 2, 2)
VARIANT(128, 128, 8, 8, 16, 3, 2)
VARIANT(128, 128, 8, 8, 8, 3, 2)
VARIANT(128, 128, 8, 8, 8, 4, 2)
VARIANT(128, 256, 8, 16, 8, 3, 1)
VARIANT(128, 256, 8, 16, 16, 2, 1)
VARIANT(128, 256, 8, 16, 16, 3, 1)
VARIANT(256, 128, 16, 8, 8, 3, 1)
VARIANT(256, 128, 16, 8, 16, 3, 1)
VARIANT(128, 128, 16, 8, 8, 3, 2)
VARIANT(128, 128, 8, 16, 8, 3, 2)
VARIANT(128, 128, 8, 16, 16, 3, 2)
VARIANT(128, 128, 16, 8, 16, 3, 2)
VARIANT(256, 128, 16, 8, 16, 4, 1)
