// OpenCL C 1.2 twins of the kernels in kernels.cu: the same algorithm, grid and block, under the same name. OpenCL
// C 1.2 has no shuffles, so reduce_shuffle has no twin of its own and is compared with reduce_tree.

__kernel void vector_add(__global const float* a, __global const float* b, __global float* c, int n) {
  const int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}

__kernel void saxpy(float a, __global const float* x, __global float* y, int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = fma(a, x[i], y[i]);
}

__kernel void matmul_naive(__global const float* a, __global const float* b, __global float* c, int n) {
  const int col = get_global_id(0), row = get_global_id(1);
  if (row >= n || col >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum = fma(a[row * n + k], b[k * n + col], sum);
  c[row * n + col] = sum;
}

#define MATMUL_TILED(NAME, TILE)                                                                   \
  __kernel void NAME(__global const float* a, __global const float* b, __global float* c, int n) { \
    __local float as[TILE][TILE], bs[TILE][TILE];                                                  \
    const int tx = get_local_id(0), ty = get_local_id(1);                                          \
    const int col = get_group_id(0) * TILE + tx, row = get_group_id(1) * TILE + ty;                \
    float sum = 0;                                                                                 \
    for (int k0 = 0; k0 < n; k0 += TILE) {                                                         \
      as[ty][tx] = a[row * n + k0 + tx];                                                           \
      bs[ty][tx] = b[(k0 + ty) * n + col];                                                         \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                \
      for (int k = 0; k < TILE; ++k) sum = fma(as[ty][k], bs[k][tx], sum);                         \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                \
    }                                                                                              \
    c[row * n + col] = sum;                                                                        \
  }
MATMUL_TILED(matmul_tiled16, 16)
MATMUL_TILED(matmul_tiled32, 32)

__kernel void matmul_registers(__global const float* a, __global const float* b, __global float* c, int n) {
  __local float as[16][64], bs[16][64];
  const int tx = get_local_id(0), ty = get_local_id(1), col0 = get_group_id(0) * 64, row0 = get_group_id(1) * 64;
  float sum[4][4];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) sum[i][j] = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    for (int j = 0; j < 4; ++j) {
      as[tx][ty + 16 * j] = a[(row0 + ty + 16 * j) * n + k0 + tx];
      bs[ty][tx + 16 * j] = b[(k0 + ty) * n + col0 + tx + 16 * j];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) {
      float p[4], q[4];
      for (int i = 0; i < 4; ++i) {
        p[i] = as[k][ty + 16 * i];
        q[i] = bs[k][tx + 16 * i];
      }
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] = fma(p[i], q[j], sum[i][j]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) c[(row0 + ty + 16 * i) * n + col0 + tx + 16 * j] = sum[i][j];
}

__kernel void reduce_tree(__global const float* in, __global float* out) {
  __local float s[256];
  const int t = get_local_id(0), first = get_group_id(0) * 512;
  s[t] = in[first + t] + in[first + 256 + t];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = 128; width > 0; width /= 2) {
    if (t < width) s[t] += s[t + width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = s[0];
}

__kernel void transpose(__global const float* in, __global float* out, int n) {
  __local float tile[32][33];
  const int tx = get_local_id(0), ty = get_local_id(1);
  int x = get_group_id(0) * 32 + tx, y = get_group_id(1) * 32 + ty;
  for (int j = 0; j < 32; j += 8) tile[ty + j][tx] = in[(y + j) * n + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * 32 + tx;
  y = get_group_id(0) * 32 + ty;
  for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[tx][ty + j];
}

__kernel void blur(__global const float* in, __global float* out, int n) {
  __local float tile[18][18];
  const int tx = get_local_id(0), ty = get_local_id(1), x0 = get_group_id(0) * 16, y0 = get_group_id(1) * 16;
  for (int i = ty * 16 + tx; i < 18 * 18; i += 256) {
    const int row = i / 18, col = i % 18, x = x0 + col - 1, y = y0 + row - 1;
    tile[row][col] = x >= 0 && x < n && y >= 0 && y < n ? in[y * n + x] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx) sum += tile[ty + dy][tx + dx];
  out[(y0 + ty) * n + x0 + tx] = sum * (1.0f / 9);
}

__kernel void mandelbrot(__global int* out, int n, int limit) {
  const int px = get_global_id(0), py = get_global_id(1);
  const float cx = -2.0f + px * (3.0f / n), cy = -1.5f + py * (3.0f / n);
  float x = 0, y = 0;
  int steps = 0;
  while (steps < limit) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = fma(2.0f * x, y, cy);
    x = xx - yy + cx;
    ++steps;
  }
  out[py * n + px] = steps;
}

__kernel void histogram(__global const uint* in, __global uint* bins, int n) {
  __local uint s[256];
  const int t = get_local_id(0);
  s[t] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_add(&s[in[i] & 255], 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[t], s[t]);
}

__kernel void scan(__global const float* in, __global float* out, __global float* sums) {
  __local float s[2][256];
  const int t = get_local_id(0), first = get_group_id(0) * 256;
  int from = 0;
  s[0][t] = t > 0 ? in[first + t - 1] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 256; d *= 2) {
    float v = s[from][t];
    if (t >= d) v += s[from][t - d];
    s[1 - from][t] = v;
    from = 1 - from;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[first + t] = s[from][t];
  if (t == 255) sums[get_group_id(0)] = s[from][t] + in[first + 255];
}

__kernel void softmax(__global const float* in, __global float* out, int cols) {
  __local float s[256];
  const int t = get_local_id(0);
  __global const float* row = in + get_group_id(0) * cols;
  float largest = -INFINITY;
  for (int i = t; i < cols; i += 256) largest = fmax(largest, row[i]);
  s[t] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = 128; width > 0; width /= 2) {
    if (t < width) s[t] = fmax(s[t], s[t + width]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  largest = s[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int i = t; i < cols; i += 256) sum += native_exp(row[i] - largest);
  s[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int width = 128; width > 0; width /= 2) {
    if (t < width) s[t] += s[t + width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float scale = 1.0f / s[0];
  for (int i = t; i < cols; i += 256) out[get_group_id(0) * cols + i] = native_exp(row[i] - largest) * scale;
}

__kernel void nbody(__global const float4* bodies, __global float4* accelerations, int n) {
  __local float4 s[256];
  const int t = get_local_id(0), i = get_global_id(0);
  const float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (int first = 0; first < n; first += 256) {
    s[t] = bodies[first + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 256; ++j) {
      const float4 other = s[j];
      const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const float inverse = native_rsqrt(fma(dx, dx, fma(dy, dy, fma(dz, dz, 0.01f))));
      const float f = other.w * inverse * inverse * inverse;
      ax = fma(f, dx, ax);
      ay = fma(f, dy, ay);
      az = fma(f, dz, az);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  accelerations[i] = (float4)(ax, ay, az, 0);
}
