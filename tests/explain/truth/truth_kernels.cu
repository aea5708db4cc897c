// Kernels whose hardware counters h200_counters.tsv records: compiled by nvcc for the recorder, by Warploom for the
// test.
#ifdef __NVCC__
#include <cmath>
#endif

__global__ void copy_coalesced(const float* __restrict__ in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
__global__ void copy_offset1(const float* __restrict__ in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) out[i] = in[i + 1];
}
__global__ void copy_strided(const float* __restrict__ in, float* out, int n, int s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[(i * s) % n];
}
__global__ void copy_float4(const float4* __restrict__ in, float4* out, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n4) out[i] = in[i];
}
__global__ void copy_double(const double* __restrict__ in, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
__global__ void copy_char(const char* __restrict__ in, char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
__global__ void row_sum_bad(const float* a, float* out, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float s = 0;
    for (int c = 0; c < cols; ++c) s += a[r * cols + c];
    out[r] = s;
  }
}
__global__ void col_sum_good(const float* a, float* out, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < cols) {
    float s = 0;
    for (int r = 0; r < rows; ++r) s += a[r * cols + c];
    out[c] = s;
  }
}
struct P3 {
  float x, y, z;
};
__global__ void aos_norm(const P3* p, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z;
}
__global__ void soa_norm(const float* x, const float* y, const float* z, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] * x[i] + y[i] * y[i] + z[i] * z[i];
}
__global__ void gather_random(const float* in, const int* idx, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[idx[i]];
}
__global__ void transpose_naive(const float* in, float* out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[x * n + (y + j)] = in[(y + j) * n + x];
}
template <int PAD>
__global__ void transpose_tile(const float* in, float* out, int n) {
  __shared__ float t[32][32 + PAD];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = t[threadIdx.x][threadIdx.y + j];
}
__global__ void matmul_naive(const float* A, const float* B, float* C, int n) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && col < n) {
    float s = 0;
    for (int k = 0; k < n; ++k) s += A[row * n + k] * B[k * n + col];
    C[row * n + col] = s;
  }
}
__global__ void matmul_naive_swapped(const float* A, const float* B, float* C, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && col < n) {
    float s = 0;
    for (int k = 0; k < n; ++k) s += A[row * n + k] * B[k * n + col];
    C[row * n + col] = s;
  }
}
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
template <int T>
__global__ void matmul_tiled_conflict(const float* A, const float* B, float* C, int n) {
  __shared__ float sA[T][T], sB[T][T];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
  float s = 0;
  for (int k0 = 0; k0 < n; k0 += T) {
    sA[tx][ty] = A[row * n + k0 + tx];
    sB[tx][ty] = B[(k0 + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < T; ++k) s += sA[k][ty] * sB[tx][k];
    __syncthreads();
  }
  C[row * n + col] = s;
}
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
// 64x64 block tile, 8-deep, 4x4 per thread, 256 threads
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
__global__ void reduce_atomic(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, in[i]);
}
__global__ void reduce_interleaved(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    if (t % (2 * d) == 0) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void reduce_bankconflict(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    int j = 2 * d * t;
    if (j < 256) s[j] += s[j + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void reduce_sequential(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void reduce_shuffle(const float* in, float* out, int n) {
  __shared__ float s[8];
  int t = threadIdx.x;
  float v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += in[i];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t < 8) {
    v = s[t];
    for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(0xffu, v, d, 8);
    if (t == 0) atomicAdd(out, v);
  }
}
__global__ void blur_global(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
    float s = 0;
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) s += in[(y + dy) * w + x + dx] * ((2 - abs(dx)) * (2 - abs(dy)) / 16.f);
    out[y * w + x] = s;
  }
}
__global__ void blur_halo(const float* in, float* out, int w, int h) {
  __shared__ float t[18][18];
  int x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 16 - 1, id = threadIdx.y * 16 + threadIdx.x;
  for (int i = id; i < 324; i += 256) {
    int x = min(max(x0 + i % 18, 0), w - 1), y = min(max(y0 + i / 18, 0), h - 1);
    t[i / 18][i % 18] = in[y * w + x];
  }
  __syncthreads();
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
    float s = 0;
    for (int dy = 0; dy < 3; ++dy)
      for (int dx = 0; dx < 3; ++dx)
        s += t[threadIdx.y + dy][threadIdx.x + dx] * ((2 - abs(dx - 1)) * (2 - abs(dy - 1)) / 16.f);
    out[y * w + x] = s;
  }
}
__global__ void histogram_global(const unsigned char* in, unsigned* h, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[in[i]], 1u);
}
__global__ void histogram_shared(const unsigned char* in, unsigned* h, int n) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[in[i]], 1u);
  __syncthreads();
  atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
__global__ void diverge_even_odd(int* d, int n, int reps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = d[i];
  if (i % 2 == 0) {
    for (int r = 0; r < reps; ++r) v = v * 3 + r;
  } else {
    for (int r = 0; r < reps; ++r) v = (v ^ r) + (v >> 3);
  }
  d[i] = v;
}
__global__ void diverge_by_warp(int* d, int n, int reps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = d[i];
  if ((i / 32) % 2 == 0) {
    for (int r = 0; r < reps; ++r) v = v * 3 + r;
  } else {
    for (int r = 0; r < reps; ++r) v = (v ^ r) + (v >> 3);
  }
  d[i] = v;
}
__global__ void mandelbrot(int* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float cx = -2.f + 3.f * x / w, cy = -1.5f + 3.f * y / h, zx = 0, zy = 0;
  int i = 0;
  while (i < 256 && zx * zx + zy * zy < 4.f) {
    float t = zx * zx - zy * zy + cx;
    zy = 2 * zx * zy + cy;
    zx = t;
    ++i;
  }
  out[y * w + x] = i;
}
template <int S>
__global__ void shared_stride(float* out) {
  __shared__ float s[32 * 33 + 64];
  int t = threadIdx.x;
  for (int i = t; i < 32 * 33 + 64; i += 32) s[i] = i;
  __syncthreads();
  float v = 0;
  for (int r = 0; r < 32; ++r) v += s[(t * S + r) % (32 * 33)];
  out[blockIdx.x * 32 + t] = v;
}
__global__ void shared_float2(float* out) {
  __shared__ float2 s[128];
  int t = threadIdx.x;
  s[t] = make_float2(t, 1);
  __syncthreads();
  float v = 0;
  for (int r = 0; r < 16; ++r) {
    float2 q = s[(t + r) & 127];
    v += q.x * q.y;
  }
  out[blockIdx.x * 128 + t] = v;
}
__global__ void shared_float4(float* out) {
  __shared__ float4 s[128];
  int t = threadIdx.x;
  s[t] = make_float4(t, 1, 2, 3);
  __syncthreads();
  float v = 0;
  for (int r = 0; r < 16; ++r) {
    float4 q = s[(t + r) & 127];
    v += q.x * q.y + q.z * q.w;
  }
  out[blockIdx.x * 128 + t] = v;
}
__global__ void shared_double_stride2(double* out) {
  __shared__ double s[256];
  int t = threadIdx.x;
  s[t] = t;
  s[t + 128] = 1;
  __syncthreads();
  double v = 0;
  for (int r = 0; r < 16; ++r) v += s[(2 * t + r) & 255];
  out[blockIdx.x * 128 + t] = v;
}
__global__ void shared_bytes(unsigned* out) {
  __shared__ unsigned char s[512];
  int t = threadIdx.x;
  for (int i = t; i < 512; i += 128) s[i] = (unsigned char)i;
  __syncthreads();
  unsigned v = 0;
  for (int r = 0; r < 16; ++r) v += s[(t * 4 + r) & 511];
  out[blockIdx.x * 128 + t] = v;
}
__constant__ float coeff[256];
__global__ void const_broadcast(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = in[i], s = 0;
    for (int k = 0; k < 16; ++k) s = s * v + coeff[k];
    out[i] = s;
  }
}
__global__ void const_divergent(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * coeff[i & 255];
}
__global__ void local_array(const float* in, float* out, const int* idx, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float a[32];
    for (int k = 0; k < 32; ++k) a[k] = in[i] * k;
    float s = 0;
    for (int k = 0; k < 8; ++k) s += a[idx[(i + k) & 1023] & 31];
    out[i] = s;
  }
}
__global__ void softmax_row(const float* in, float* out, int cols) {
  __shared__ float red[256];
  int t = threadIdx.x;
  const float* r = in + (size_t)blockIdx.x * cols;
  float m = -INFINITY;
  for (int c = t; c < cols; c += 256) m = fmaxf(m, r[c]);
  red[t] = m;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (t < d) red[t] = fmaxf(red[t], red[t + d]);
    __syncthreads();
  }
  m = red[0];
  __syncthreads();
  float s = 0;
  for (int c = t; c < cols; c += 256) s += __expf(r[c] - m);
  red[t] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (t < d) red[t] += red[t + d];
    __syncthreads();
  }
  s = red[0];
  for (int c = t; c < cols; c += 256) out[(size_t)blockIdx.x * cols + c] = __expf(r[c] - m) / s;
}
__global__ void spmv_scalar(const int* rp, const int* ci, const float* v, const float* x, float* y, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float s = 0;
    for (int j = rp[r]; j < rp[r + 1]; ++j) s += v[j] * x[ci[j]];
    y[r] = s;
  }
}
__global__ void spmv_vector(const int* rp, const int* ci, const float* v, const float* x, float* y, int rows) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x % 32;
  if (w < rows) {
    float s = 0;
    for (int j = rp[w] + l; j < rp[w + 1]; j += 32) s += v[j] * x[ci[j]];
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (l == 0) y[w] = s;
  }
}
__global__ void nbody_tile(const float4* p, float4* a, int n) {
  __shared__ float4 s[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  float4 me = p[i];
  float ax = 0, ay = 0, az = 0;
  for (int t = 0; t < n; t += 128) {
    s[threadIdx.x] = p[t + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < 128; ++j) {
      float dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f),
            f = s[j].w * r * r * r;
      ax += dx * f;
      ay += dy * f;
      az += dz * f;
    }
    __syncthreads();
  }
  a[i] = make_float4(ax, ay, az, 0);
}
__global__ void scan_hillis(const int* in, int* out) {
  __shared__ int s[2][256];
  int t = threadIdx.x, p = 0;
  s[0][t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    s[1 - p][t] = s[p][t] + (t >= d ? s[p][t - d] : 0);
    p = 1 - p;
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = s[p][t];
}
__global__ void scan_blelloch(const int* in, int* out) {
  __shared__ int s[512];
  int t = threadIdx.x, o = 1;
  s[2 * t] = in[blockIdx.x * 512 + 2 * t];
  s[2 * t + 1] = in[blockIdx.x * 512 + 2 * t + 1];
  for (int d = 256; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) {
      int ai = o * (2 * t + 1) - 1, bi = o * (2 * t + 2) - 1;
      s[bi] += s[ai];
    }
    o *= 2;
  }
  if (t == 0) s[511] = 0;
  for (int d = 1; d < 512; d *= 2) {
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
  out[blockIdx.x * 512 + 2 * t] = s[2 * t];
  out[blockIdx.x * 512 + 2 * t + 1] = s[2 * t + 1];
}
__global__ void tiny_blocks(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= 2;
}
__global__ void stencil3d(const float* in, float* out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z * 2 + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
  int i = (z * n + y) * n + x;
  out[i] = in[i] * -6 + in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n];
}

template __global__ void transpose_tile<0>(const float*, float*, int);
template __global__ void transpose_tile<1>(const float*, float*, int);
template __global__ void matmul_tiled<16>(const float*, const float*, float*, int);
template __global__ void matmul_tiled<32>(const float*, const float*, float*, int);
template __global__ void matmul_tiled_conflict<16>(const float*, const float*, float*, int);
template __global__ void matmul_tiled_conflict<32>(const float*, const float*, float*, int);
template __global__ void shared_stride<1>(float*);
template __global__ void shared_stride<2>(float*);
template __global__ void shared_stride<4>(float*);
template __global__ void shared_stride<32>(float*);
template __global__ void shared_stride<33>(float*);
