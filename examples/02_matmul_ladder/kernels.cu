// Five ways to multiply square matrices, each with less memory traffic for the same arithmetic.

// Every thread walks a row of A and a column of B in global memory: 2n loads for n multiplications.
__global__ void matmul_naive(const float* A, const float* B, float* C, int n) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && col < n) {
    float s = 0;
    for (int k = 0; k < n; ++k) s += A[row * n + k] * B[k * n + col];
    C[row * n + col] = s;
  }
}

// A block copies one T x T tile of A and of B to shared memory, where each element is read T times.
template <int T>
__global__ void matmul_tiled(const float* A, const float* B, float* C, int n) {
  __shared__ float sA[T][T], sB[T][T];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
  float s = 0;
  for (int k0 = 0; k0 < n; k0 += T) {
    sA[ty][tx] = A[row * n + k0 + tx];
    sB[ty][tx] = B[(k0 + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < T; ++k) s += sA[ty][k] * sB[k][tx];
    __syncthreads();
  }
  C[row * n + col] = s;
}
template __global__ void matmul_tiled<16>(const float*, const float*, float*, int);

// The inner loop unrolled by 4 into four accumulators: four independent chains of additions instead of one.
__global__ void matmul_tiled_unroll4(const float* A, const float* B, float* C, int n) {
  const int T = 16;
  __shared__ float sA[T][T], sB[T][T];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int k0 = 0; k0 < n; k0 += T) {
    sA[ty][tx] = A[row * n + k0 + tx];
    sB[ty][tx] = B[(k0 + ty) * n + col];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < T; k += 4) {
      s0 += sA[ty][k] * sB[k][tx];
      s1 += sA[ty][k + 1] * sB[k + 1][tx];
      s2 += sA[ty][k + 2] * sB[k + 2][tx];
      s3 += sA[ty][k + 3] * sB[k + 3][tx];
    }
    __syncthreads();
  }
  C[row * n + col] = s0 + s1 + s2 + s3;
}

// A block of 256 threads computes a 64 x 64 tile, each thread 4 x 4 elements in registers: an element that reaches a
// register is used four times.
__global__ void matmul_regtile(const float* A, const float* B, float* C, int n) {
  __shared__ float sA[8][64], sB[8][64];
  int t = threadIdx.x, tx = t % 16, ty = t / 16, r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
  float acc[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += 8) {
    for (int i = t; i < 512; i += 256) {
      int r = i / 8, k = i % 8;
      sA[k][r] = A[(r0 + r) * n + k0 + k];
      int kk = i / 64, c = i % 64;
      sB[kk][c] = B[(k0 + kk) * n + c0 + c];
    }
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
      float a[4], b[4];
      for (int i = 0; i < 4; ++i) a[i] = sA[k][ty * 4 + i];
      for (int j = 0; j < 4; ++j) b[j] = sB[k][tx * 4 + j];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) C[(r0 + ty * 4 + i) * n + c0 + tx * 4 + j] = acc[i][j];
}

// What a GPU needs to be busy: a block computes kRows x kCols elements, each thread kEachRows x kEachCols of them in
// quarters of 4 x 4, loads and stores have 16 bytes, and while one step's tiles are multiplied the next ones are on
// their way: b's straight to shared memory, a's through registers, because it is turned. n is a multiple of kRows and
// kCols.
template <int kRows, int kCols, int kEachRows, int kEachCols>
__device__ __forceinline__ void product(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                        int n) {
  constexpr int kThreads = kRows / kEachRows * (kCols / kEachCols), kDepth = 16;
  constexpr int kRowsOfA = kThreads / 4, kRowsOfB = kThreads * 4 / kCols;  // that all threads load at once
  __shared__ __align__(16) float as[2][kDepth][kRows + 4], bs[2][kDepth][kCols];
  const int t = threadIdx.x, lane = t % 32;
  // A warp's lanes form 8 x 4; warps stand beside each other along a row of c.
  constexpr int kAcross = kCols / (4 * kEachCols);
  const int row = t / 32 / kAcross * 8 * kEachRows + lane / 4 * 4,
            col = t / 32 % kAcross * 4 * kEachCols + lane % 4 * 4;
  const int a_row = t / 4, a_col = t % 4 * 4, b_row = t * 4 / kCols, b_col = t * 4 % kCols;
  const float* a_in = a + (size_t)(blockIdx.y * kRows + a_row) * n + a_col;
  const float* b_in = b + (size_t)b_row * n + blockIdx.x * kCols + b_col;
  float4 a_next[kRows / kRowsOfA];
  const auto fetch = [&](int half) {
#pragma unroll
    for (int i = 0; i < kRows / kRowsOfA; ++i) a_next[i] = *(const float4*)(a_in + (size_t)i * kRowsOfA * n);
#pragma unroll
    for (int i = 0; i < kDepth / kRowsOfB; ++i) {
      const unsigned to = (unsigned)__cvta_generic_to_shared(&bs[half][b_row + i * kRowsOfB][b_col]);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(b_in + (size_t)i * kRowsOfB * n)
                   : "memory");
    }
    a_in += kDepth;
    b_in += (size_t)kDepth * n;
  };
  const auto arrive = [&](int half) {
#pragma unroll
    for (int i = 0; i < kRows / kRowsOfA; ++i) {
      as[half][a_col + 0][a_row + i * kRowsOfA] = a_next[i].x;
      as[half][a_col + 1][a_row + i * kRowsOfA] = a_next[i].y;
      as[half][a_col + 2][a_row + i * kRowsOfA] = a_next[i].z;
      as[half][a_col + 3][a_row + i * kRowsOfA] = a_next[i].w;
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
  };
  float sum[kEachRows][kEachCols] = {};
  fetch(0);
  arrive(0);
  for (int k0 = 0, half = 0; k0 < n; k0 += kDepth, half ^= 1) {
    const bool more = k0 + kDepth < n;
    if (more) fetch(half ^ 1);
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      float p[kEachRows], q[kEachCols];
#pragma unroll
      for (int i = 0; i < kEachRows; i += 4) *(float4*)&p[i] = *(const float4*)&as[half][k][row + i * 8];
#pragma unroll
      for (int j = 0; j < kEachCols; j += 4) *(float4*)&q[j] = *(const float4*)&bs[half][k][col + j * 4];
#pragma unroll
      for (int i = 0; i < kEachRows; ++i)
#pragma unroll
        for (int j = 0; j < kEachCols; ++j) sum[i][j] += p[i] * q[j];
    }
    if (more) arrive(half ^ 1);
  }
#pragma unroll
  for (int i = 0; i < kEachRows; ++i)
#pragma unroll
    for (int j = 0; j < kEachCols; j += 4) {
      const size_t r = blockIdx.y * kRows + row + i % 4 + i / 4 * 32, at = blockIdx.x * kCols + col + j * 4;
      *(float4*)(c + r * n + at) = make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
    }
}

// Tiles as large as registers allow, for products that have more of them than a GPU has multiprocessors.
__global__ void __launch_bounds__(128, 2)
    matmul_best(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  product<128, 128, 16, 8>(a, b, c, n);
}

// Half of such a tile for twice as many threads: where tiles are few, more of them are better than large ones.
__global__ void __launch_bounds__(256, 2)
    matmul_best_small(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  product<64, 128, 8, 4>(a, b, c, n);
}
