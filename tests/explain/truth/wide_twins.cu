// Kernels of truth_kernels.cu with the shared memory accesses that ptxas merges written as the wide accesses it makes:
// on the CPU device, which executes PTX as it stands, these must give the counts that the GPU gave for the originals.

__device__ float4 load4(const float* p) {
  float4 v;
  asm volatile("{.reg .u64 a; cvta.to.shared.u64 a,%4; ld.shared.v4.f32 {%0,%1,%2,%3},[a];}"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p)
               : "memory");
  return v;
}
__device__ float2 load2(const float* p) {
  float2 v;
  asm volatile("{.reg .u64 a; cvta.to.shared.u64 a,%2; ld.shared.v2.f32 {%0,%1},[a];}"
               : "=f"(v.x), "=f"(v.y)
               : "l"(p)
               : "memory");
  return v;
}
__device__ double2 load2(const double* p) {
  double2 v;
  asm volatile("{.reg .u64 a; cvta.to.shared.u64 a,%2; ld.shared.v2.f64 {%0,%1},[a];}"
               : "=d"(v.x), "=d"(v.y)
               : "l"(p)
               : "memory");
  return v;
}

// ptxas: four loads sB[tx][k..k+3] become one of 16 bytes.
template <int T>
__global__ void matmul_tiled_conflict_wide(const float* A, const float* B, float* C, int n) {
  __shared__ __align__(16) float sA[T][T];
  __shared__ __align__(16) float sB[T][T];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
  float s = 0;
  for (int k0 = 0; k0 < n; k0 += T) {
    sA[tx][ty] = A[row * n + k0 + tx];
    sB[tx][ty] = B[(k0 + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < T; k += 4) {
      float4 b = load4(&sB[tx][k]);
      s += sA[k][ty] * b.x;
      s += sA[k + 1][ty] * b.y;
      s += sA[k + 2][ty] * b.z;
      s += sA[k + 3][ty] * b.w;
    }
    __syncthreads();
  }
  C[row * n + col] = s;
}
template __global__ void matmul_tiled_conflict_wide<16>(const float*, const float*, float*, int);
template __global__ void matmul_tiled_conflict_wide<32>(const float*, const float*, float*, int);

// ptxas: the four loads of a[] and of b[] become one of 16 bytes each.
__global__ void matmul_regtile_wide(const float* A, const float* B, float* C, int n) {
  __shared__ __align__(16) float sA[8][64];
  __shared__ __align__(16) float sB[8][64];
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
      float4 a4 = load4(&sA[k][ty * 4]);
      float4 b4 = load4(&sB[k][tx * 4]);
      float a[4] = {a4.x, a4.y, a4.z, a4.w}, b[4] = {b4.x, b4.y, b4.z, b4.w};
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) C[(r0 + ty * 4 + i) * n + c0 + tx * 4 + j] = acc[i][j];
}

// ptxas: in the first step s[j] and s[j + 1] become one load of 8 bytes.
__global__ void reduce_bankconflict_wide(const float* in, float* out, int n) {
  __shared__ __align__(8) float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  if (2 * t < 256) {
    float2 pair = load2(&s[2 * t]);
    s[2 * t] = pair.x + pair.y;
  }
  __syncthreads();
  for (int d = 2; d < 256; d *= 2) {
    int j = 2 * d * t;
    if (j < 256) s[j] += s[j + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

// ptxas: the loads of r = 0 and r = 1 become one of 16 bytes.
__global__ void shared_double_stride2_wide(double* out) {
  __shared__ __align__(16) double s[256];
  int t = threadIdx.x;
  s[t] = t;
  s[t + 128] = 1;
  __syncthreads();
  double2 pair = load2(&s[(2 * t) & 255]);
  double v = pair.x + pair.y;
  for (int r = 2; r < 16; ++r) v += s[(2 * t + r) & 255];
  out[blockIdx.x * 128 + t] = v;
}

// ptxas: accesses to s[2 * t] and s[2 * t + 1] become accesses of 8 bytes.
__global__ void scan_blelloch_wide(const int* in, int* out) {
  __shared__ __align__(8) int s[512];
  int t = threadIdx.x, o = 1;
  int2* pairs = reinterpret_cast<int2*>(s);
  pairs[t] = make_int2(in[blockIdx.x * 512 + 2 * t], in[blockIdx.x * 512 + 2 * t + 1]);
  __syncthreads();
  int2 first = pairs[t];
  s[2 * t + 1] = first.x + first.y;
  o = 2;
  for (int d = 128; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) {
      int ai = o * (2 * t + 1) - 1, bi = o * (2 * t + 2) - 1;
      s[bi] += s[ai];
    }
    o *= 2;
  }
  if (t == 0) s[511] = 0;
  for (int d = 1; d < 256; d *= 2) {
    o /= 2;
    __syncthreads();
    if (t < d) {
      int ai = o * (2 * t + 1) - 1, bi = o * (2 * t + 2) - 1;
      int x = s[ai];
      s[ai] = s[bi];
      s[bi] += x;
    }
  }
  __syncthreads();
  int2 last = pairs[t];
  pairs[t] = make_int2(last.y, last.x + last.y);
  __syncthreads();
  int2 result = pairs[t];
  out[blockIdx.x * 512 + 2 * t] = result.x;
  out[blockIdx.x * 512 + 2 * t + 1] = result.y;
}
