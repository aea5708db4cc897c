// OpenCL C 1.2 twins of the kernels in examples/: the same algorithm, grid and block, under the same name. OpenCL C 1.2
// has neither shuffles nor an atomic addition of floats: a local tree and a compare-and-swap loop stand for them.

void atomic_add_float(volatile __global float* address, float value) {
  union {
    uint bits;
    float number;
  } before, after;
  do {
    before.number = *address;
    after.number = before.number + value;
  } while (atomic_cmpxchg((volatile __global uint*)address, before.bits, after.bits) != before.bits);
}

__kernel void vector_add(__global const float* a, __global const float* b, __global float* c, int n) {
  const int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}

__kernel void matmul_naive(__global const float* A, __global const float* B, __global float* C, int n) {
  const int col = get_global_id(0), row = get_global_id(1);
  if (row < n && col < n) {
    float s = 0;
    for (int k = 0; k < n; ++k) s = fma(A[row * n + k], B[k * n + col], s);
    C[row * n + col] = s;
  }
}

#define T 16

__kernel void matmul_tiled(__global const float* A, __global const float* B, __global float* C, int n) {
  __local float sA[T][T], sB[T][T];
  const int tx = get_local_id(0), ty = get_local_id(1), row = get_group_id(1) * T + ty, col = get_group_id(0) * T + tx;
  float s = 0;
  for (int k0 = 0; k0 < n; k0 += T) {
    sA[ty][tx] = A[row * n + k0 + tx];
    sB[ty][tx] = B[(k0 + ty) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < T; ++k) s = fma(sA[ty][k], sB[k][tx], s);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  C[row * n + col] = s;
}

__kernel void matmul_tiled_unroll4(__global const float* A, __global const float* B, __global float* C, int n) {
  __local float sA[T][T], sB[T][T];
  const int tx = get_local_id(0), ty = get_local_id(1), row = get_group_id(1) * T + ty, col = get_group_id(0) * T + tx;
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int k0 = 0; k0 < n; k0 += T) {
    sA[ty][tx] = A[row * n + k0 + tx];
    sB[ty][tx] = B[(k0 + ty) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < T; k += 4) {
      s0 = fma(sA[ty][k], sB[k][tx], s0);
      s1 = fma(sA[ty][k + 1], sB[k + 1][tx], s1);
      s2 = fma(sA[ty][k + 2], sB[k + 2][tx], s2);
      s3 = fma(sA[ty][k + 3], sB[k + 3][tx], s3);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  C[row * n + col] = s0 + s1 + s2 + s3;
}

__kernel void matmul_regtile(__global const float* A, __global const float* B, __global float* C, int n) {
  __local float sA[8][64], sB[8][64];
  const int t = get_local_id(0), tx = t % 16, ty = t / 16, r0 = get_group_id(1) * 64, c0 = get_group_id(0) * 64;
  float acc[4][4];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) acc[i][j] = 0;
  for (int k0 = 0; k0 < n; k0 += 8) {
    for (int i = t; i < 512; i += 256) {
      const int r = i / 8, k = i % 8;
      sA[k][r] = A[(r0 + r) * n + k0 + k];
      const int kk = i / 64, c = i % 64;
      sB[kk][c] = B[(k0 + kk) * n + c0 + c];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 8; ++k) {
      float a[4], b[4];
      for (int i = 0; i < 4; ++i) a[i] = sA[k][ty * 4 + i];
      for (int j = 0; j < 4; ++j) b[j] = sB[k][tx * 4 + j];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] = fma(a[i], b[j], acc[i][j]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) C[(r0 + ty * 4 + i) * n + c0 + tx * 4 + j] = acc[i][j];
}

__kernel void blur_global(__global const float* in, __global float* out, int w, int h) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
    float s = 0;
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        s += in[(y + dy) * w + x + dx] * ((float)((2 - abs(dx)) * (2 - abs(dy))) / 16.0f);
    out[y * w + x] = s;
  }
}

__kernel void blur_halo(__global const float* in, __global float* out, int w, int h) {
  __local float t[18][18];
  const int lx = get_local_id(0), ly = get_local_id(1);
  const int x0 = get_group_id(0) * 16 - 1, y0 = get_group_id(1) * 16 - 1;
  for (int i = ly * 16 + lx; i < 324; i += 256) {
    const int x = min(max(x0 + i % 18, 0), w - 1), y = min(max(y0 + i / 18, 0), h - 1);
    t[i / 18][i % 18] = in[y * w + x];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int x = get_global_id(0), y = get_global_id(1);
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
    float s = 0;
    for (int dy = 0; dy < 3; ++dy)
      for (int dx = 0; dx < 3; ++dx)
        s += t[ly + dy][lx + dx] * ((float)((2 - abs(dx - 1)) * (2 - abs(dy - 1))) / 16.0f);
    out[y * w + x] = s;
  }
}

__kernel void reduce_atomic(__global const float* in, __global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) atomic_add_float(out, in[i]);
}

__kernel void reduce_interleaved(__global const float* in, __global float* out, int n) {
  __local float s[256];
  const int t = get_local_id(0), i = get_group_id(0) * 256 + t;
  s[t] = i < n ? in[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 256; d *= 2) {
    if (t % (2 * d) == 0) s[t] += s[t + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = s[0];
}

__kernel void reduce_bankconflict(__global const float* in, __global float* out, int n) {
  __local float s[256];
  const int t = get_local_id(0), i = get_group_id(0) * 256 + t;
  s[t] = i < n ? in[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 256; d *= 2) {
    const int j = 2 * d * t;
    if (j < 256) s[j] += s[j + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = s[0];
}

__kernel void reduce_sequential(__global const float* in, __global float* out, int n) {
  __local float s[256];
  const int t = get_local_id(0), i = get_group_id(0) * 256 + t;
  s[t] = i < n ? in[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 128; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = s[0];
}

__kernel void reduce_shuffle(__global const float* in, __global float* out, int n) {
  __local float s[256];
  const int t = get_local_id(0);
  float v = 0;
  for (int i = get_group_id(0) * 256 + t; i < n; i += get_num_groups(0) * 256) v += in[i];
  s[t] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 128; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) atomic_add_float(out, s[0]);
}

__kernel void row_sum_bad(__global const float* a, __global float* out, int rows, int cols) {
  const int r = get_global_id(0);
  if (r < rows) {
    float s = 0;
    for (int c = 0; c < cols; ++c) s += a[r * cols + c];
    out[r] = s;
  }
}

__kernel void col_sum_good(__global const float* a, __global float* out, int rows, int cols) {
  const int c = get_global_id(0);
  if (c < cols) {
    float s = 0;
    for (int r = 0; r < rows; ++r) s += a[r * cols + c];
    out[c] = s;
  }
}

__kernel void transpose_naive(__global const float* in, __global float* out, int n) {
  const int x = get_group_id(0) * 32 + get_local_id(0), y = get_group_id(1) * 32 + get_local_id(1);
  for (int j = 0; j < 32; j += 8) out[x * n + (y + j)] = in[(y + j) * n + x];
}

#define TRANSPOSE_TILE(NAME, PAD)                                            \
  __kernel void NAME(__global const float* in, __global float* out, int n) { \
    __local float t[32][32 + PAD];                                           \
    const int lx = get_local_id(0), ly = get_local_id(1);                    \
    int x = get_group_id(0) * 32 + lx, y = get_group_id(1) * 32 + ly;        \
    for (int j = 0; j < 32; j += 8) t[ly + j][lx] = in[(y + j) * n + x];     \
    barrier(CLK_LOCAL_MEM_FENCE);                                            \
    x = get_group_id(1) * 32 + lx;                                           \
    y = get_group_id(0) * 32 + ly;                                           \
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = t[lx][ly + j];    \
  }
TRANSPOSE_TILE(transpose_tile0, 0)
TRANSPOSE_TILE(transpose_tile1, 1)

__kernel void saxpy(float a, __global const float* x, __global float* y, int n) {
  const int i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}

__kernel void diverge_even_odd(__global int* d, int n, int reps) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int v = d[i];
  if (i % 2 == 0) {
    for (int r = 0; r < reps; ++r) v = v * 3 + r;
  } else {
    for (int r = 0; r < reps; ++r) v = (v ^ r) + (v >> 3);
  }
  d[i] = v;
}

__kernel void diverge_by_warp(__global int* d, int n, int reps) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int v = d[i];
  if ((i / 32) % 2 == 0) {
    for (int r = 0; r < reps; ++r) v = v * 3 + r;
  } else {
    for (int r = 0; r < reps; ++r) v = (v ^ r) + (v >> 3);
  }
  d[i] = v;
}
