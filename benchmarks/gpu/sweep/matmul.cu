// float32 products in many shapes of tiles, for sweep.py, which reads the names:
// matmul_BM_BN_TM_TN_DEPTH_STAGES_BLOCKS.

// BM x BN elements for a block, TM x TN for a thread in quarters of 4 x 4; DEPTH steps of the sum at a time, STAGES of
// them in shared memory, all brought there by asynchronous copies: a's four bytes at a time, because it is turned.
template <int BM, int BN, int TM, int TN, int DEPTH, int STAGES>
__device__ __forceinline__ void product(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                        int n) {
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

// The same with a's rows as they lie: a thread takes four steps of the sum from a row at a time, so that all copies
// have 16 bytes. Stages are unrolled, so that addresses in shared memory are constants; n is a multiple of STAGES *
// DEPTH. With ZIGZAG neighbouring products share an operand.
template <int BM, int BN, int TM, int TN, int DEPTH, int STAGES, bool ZIGZAG>
__device__ __forceinline__ void product_by_rows(const float* __restrict__ a, const float* __restrict__ b,
                                                float* __restrict__ c, int n) {
  constexpr int kThreads = BM / TM * (BN / TN), kA = DEPTH + 4;  // rows 80 bytes apart lie in different banks
  constexpr int kStage = BM * kA + DEPTH * BN, kAcross = BN / (4 * TN);
  constexpr int kRowsA = kThreads * 4 / DEPTH, kRowsB = kThreads * 4 / BN;  // that all threads copy at once
  extern __shared__ __align__(16) float shared[];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const int row = warp / kAcross * 8 * TM + lane / 4, col = warp % kAcross * 4 * TN + lane % 4 * 4;
  const float* a_in = a + (size_t)(blockIdx.y * BM + t * 4 / DEPTH) * n + t * 4 % DEPTH;
  const float* b_in = b + (size_t)(t * 4 / BN) * n + blockIdx.x * BN + t * 4 % BN;
  const unsigned a_to = (unsigned)__cvta_generic_to_shared(shared + t * 4 / DEPTH * kA + t * 4 % DEPTH);
  const unsigned b_to = (unsigned)__cvta_generic_to_shared(shared + BM * kA + t * 4);
  const size_t a_step = (size_t)kRowsA * n, b_step = (size_t)kRowsB * n;
  int left = n / DEPTH;

  const auto fetch = [&](int stage) {
    if (left > 0) {
#pragma unroll
      for (int i = 0; i < BM / kRowsA; ++i)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(a_to + (stage * kStage + i * kRowsA * kA) * 4),
                     "l"(a_in + i * a_step)
                     : "memory");
#pragma unroll
      for (int i = 0; i < DEPTH / kRowsB; ++i)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(b_to + (stage * kStage + i * kRowsB * BN) * 4),
                     "l"(b_in + i * b_step)
                     : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    --left;
    a_in += DEPTH;
    b_in += (size_t)DEPTH * n;
  };
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) fetch(s);
  float sum[TM][TN] = {};
  for (int step = 0; step < n / DEPTH; step += STAGES) {
#pragma unroll
    for (int s = 0; s < STAGES; ++s) {
      asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
      __syncthreads();
      fetch((s + STAGES - 1) % STAGES);
      const float* const as = shared + s * kStage + row * kA;
      const float* const bs = shared + s * kStage + BM * kA + col;
#pragma unroll
      for (int k0 = 0; k0 < DEPTH; k0 += 4) {
        float p[TM][4];
#pragma unroll
        for (int i = 0; i < TM; ++i) *(float4*)p[i] = *(const float4*)&as[i * 8 * kA + k0];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          float q[TN];
#pragma unroll
          for (int j = 0; j < TN; j += 4) *(float4*)&q[j] = *(const float4*)&bs[(k0 + k) * BN + j * 4];
#pragma unroll
          for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int x = 0; x < TN; ++x) {
              const int j = ZIGZAG && i % 2 != 0 ? TN - 1 - x : x;
              sum[i][j] += p[i][k] * q[j];
            }
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      *(float4*)&c[((size_t)blockIdx.y * BM + row + i * 8) * n + blockIdx.x * BN + col + j * 4] =
          make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
}

// The same with a's tiles through registers, where they are turned; two stages of 16 steps.
template <int BM, int BN, int TM, int TN>
__device__ __forceinline__ void product_through_registers(const float* __restrict__ a, const float* __restrict__ b,
                                                          float* __restrict__ c, int n) {
  constexpr int kThreads = BM / TM * (BN / TN), kDepth = 16, kA = BM + 4, kStage = kDepth * (kA + BN);
  constexpr int kAcross = BN / (4 * TN), kRowsA = kThreads / 4, kRowsB = kThreads * 4 / BN;
  extern __shared__ __align__(16) float shared[];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const int row = warp / kAcross * 8 * TM + lane / 4 * 4, col = warp % kAcross * 4 * TN + lane % 4 * 4;
  const int a_row = t / 4, a_col = t % 4 * 4;
  const float* a_in = a + (size_t)(blockIdx.y * BM + a_row) * n + a_col;
  const float* b_in = b + (size_t)(t * 4 / BN) * n + blockIdx.x * BN + t * 4 % BN;
  float4 next[BM / kRowsA];
  const auto fetch = [&](int half) {
#pragma unroll
    for (int i = 0; i < BM / kRowsA; ++i) next[i] = *(const float4*)(a_in + (size_t)i * kRowsA * n);
    const unsigned to = (unsigned)__cvta_generic_to_shared(shared + half * kStage + kDepth * kA + t * 4);
#pragma unroll
    for (int i = 0; i < kDepth / kRowsB; ++i)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i * kRowsB * BN * 4),
                   "l"(b_in + (size_t)i * kRowsB * n)
                   : "memory");
    a_in += kDepth;
    b_in += (size_t)kDepth * n;
  };
  const auto arrive = [&](int half) {
    float* const as = shared + half * kStage;
#pragma unroll
    for (int i = 0; i < BM / kRowsA; ++i) {
      as[(a_col + 0) * kA + a_row + i * kRowsA] = next[i].x;
      as[(a_col + 1) * kA + a_row + i * kRowsA] = next[i].y;
      as[(a_col + 2) * kA + a_row + i * kRowsA] = next[i].z;
      as[(a_col + 3) * kA + a_row + i * kRowsA] = next[i].w;
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
  };
  float sum[TM][TN] = {};
  fetch(0);
  arrive(0);
  for (int k0 = 0, half = 0; k0 < n; k0 += kDepth, half ^= 1) {
    const bool more = k0 + kDepth < n;
    if (more) fetch(half ^ 1);
    const float* const as = shared + half * kStage + row;
    const float* const bs = shared + half * kStage + kDepth * kA + col;
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      float p[TM], q[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) *(float4*)&p[i] = *(const float4*)&as[k * kA + i * 8];
#pragma unroll
      for (int j = 0; j < TN; j += 4) *(float4*)&q[j] = *(const float4*)&bs[k * BN + j * 4];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) sum[i][j] += p[i] * q[j];
    }
    if (more) arrive(half ^ 1);
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
#define BY_ROWS(BM, BN, TM, TN, DEPTH, STAGES, BLOCKS, ZIGZAG)                                      \
  extern "C" __global__ void __launch_bounds__((BM / TM) * (BN / TN), BLOCKS)                       \
      matmul_##BM##_##BN##_##TM##_##TN##_##DEPTH##_##STAGES##_##BLOCKS##_rows##ZIGZAG(              \
          const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) { \
    product_by_rows<BM, BN, TM, TN, DEPTH, STAGES, ZIGZAG>(a, b, c, n);                             \
  }
#define THROUGH_REGISTERS(BM, BN, TM, TN, BLOCKS)                                                   \
  extern "C" __global__ void __launch_bounds__((BM / TM) * (BN / TN), BLOCKS)                       \
      matmul_##BM##_##BN##_##TM##_##TN##_16_2_##BLOCKS##_registers(                                 \
          const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) { \
    product_through_registers<BM, BN, TM, TN>(a, b, c, n);                                          \
  }
THROUGH_REGISTERS(128, 128, 8, 8, 2)
THROUGH_REGISTERS(128, 256, 8, 16, 1)
THROUGH_REGISTERS(256, 128, 16, 8, 1)
THROUGH_REGISTERS(256, 128, 8, 16, 1)
THROUGH_REGISTERS(128, 256, 16, 8, 1)
THROUGH_REGISTERS(128, 128, 16, 8, 2)
THROUGH_REGISTERS(128, 128, 8, 16, 2)
THROUGH_REGISTERS(256, 128, 8, 8, 1)
// Small tiles, for products that have few: 1024 x 1024 has 64 of 128 x 128, and an H200 132 multiprocessors.
THROUGH_REGISTERS(128, 64, 8, 8, 2)
THROUGH_REGISTERS(64, 128, 8, 8, 2)
THROUGH_REGISTERS(64, 128, 8, 4, 2)
THROUGH_REGISTERS(64, 64, 8, 8, 4)
THROUGH_REGISTERS(64, 64, 4, 8, 4)
THROUGH_REGISTERS(64, 64, 8, 4, 4)
VARIANT(128, 256, 8, 16, 16, 3, 1)
VARIANT(256, 128, 16, 8, 16, 4, 1)
VARIANT(128, 128, 16, 8, 8, 3, 2)
BY_ROWS(128, 256, 8, 16, 16, 4, 1, 0)
BY_ROWS(128, 128, 8, 16, 16, 4, 2, 1)
