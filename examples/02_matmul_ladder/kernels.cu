// Four ways to multiply square matrices, each with less memory traffic for the same arithmetic.

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
