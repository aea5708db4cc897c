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

// What a GPU needs to be busy: 128 threads compute 128 x 128 elements, each 16 x 8 of them in quarters of 4 x 4, loads
// and stores have 16 bytes, and while one step's tiles are multiplied the next ones are on their way: b's straight to
// shared memory, a's through registers, because it is turned. n is a multiple of 128.
__global__ void __launch_bounds__(128, 2)
    matmul_best(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  constexpr int kDepth = 16;
  __shared__ __align__(16) float as[2][kDepth][128 + 4], bs[2][kDepth][128];
  const int t = threadIdx.x, lane = t % 32;
  // Each warp computes 128 x 32: its lanes form 8 x 4.
  const int row = lane / 4 * 4, col = t / 32 * 32 + lane % 4 * 4;
  const int a_row = t / 4, a_col = t % 4 * 4, b_row = t / 32, b_col = lane * 4;
  const float* a_in = a + (size_t)(blockIdx.y * 128 + a_row) * n + a_col;
  const float* b_in = b + (size_t)b_row * n + blockIdx.x * 128 + b_col;
  float4 a_next[4];
  const auto fetch = [&](int half) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a_next[i] = *(const float4*)(a_in + (size_t)i * 32 * n);
      const unsigned to = (unsigned)__cvta_generic_to_shared(&bs[half][b_row + i * 4][b_col]);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(b_in + (size_t)i * 4 * n) : "memory");
    }
    a_in += kDepth;
    b_in += (size_t)kDepth * n;
  };
  const auto arrive = [&](int half) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      as[half][a_col + 0][a_row + i * 32] = a_next[i].x;
      as[half][a_col + 1][a_row + i * 32] = a_next[i].y;
      as[half][a_col + 2][a_row + i * 32] = a_next[i].z;
      as[half][a_col + 3][a_row + i * 32] = a_next[i].w;
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
  };
  float sum[16][8] = {};
  fetch(0);
  arrive(0);
  for (int k0 = 0, half = 0; k0 < n; k0 += kDepth, half ^= 1) {
    const bool more = k0 + kDepth < n;
    if (more) fetch(half ^ 1);
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      float p[16], q[8];
#pragma unroll
      for (int i = 0; i < 16; i += 4) *(float4*)&p[i] = *(const float4*)&as[half][k][row + i * 8];
      *(float4*)&q[0] = *(const float4*)&bs[half][k][col];
      *(float4*)&q[4] = *(const float4*)&bs[half][k][col + 16];
#pragma unroll
      for (int i = 0; i < 16; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += p[i] * q[j];
    }
    if (more) arrive(half ^ 1);
  }
#pragma unroll
  for (int i = 0; i < 16; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const size_t at = (size_t)(blockIdx.y * 128 + row + i % 4 + i / 4 * 32) * n + blockIdx.x * 128 + col + j * 16;
      *(float4*)(c + at) = make_float4(sum[i][j * 4], sum[i][j * 4 + 1], sum[i][j * 4 + 2], sum[i][j * 4 + 3]);
    }
}
