// Kernels of the GPU benchmark: sizes, grids and blocks stand in main.cpp.

__global__ void empty() {}

__global__ void take_three(float*, float*, float*) {}

__global__ void vector_add(const float4* a, const float4* b, float4* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 x = a[i], y = b[i];
  c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

__global__ void copy_floats(const float4* in, float4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

// 256 threads turn 64 x 64 elements, four at a time in both directions.
__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[64][65];
  const int far = threadIdx.x / 16, near = threadIdx.x % 16 * 4, x = blockIdx.x * 64, y = blockIdx.y * 64;
#pragma unroll
  for (int j = far; j < 64; j += 16) {
    const float4 v = *(const float4*)&in[(size_t)(y + j) * n + x + near];
    tile[j][near] = v.x;
    tile[j][near + 1] = v.y;
    tile[j][near + 2] = v.z;
    tile[j][near + 3] = v.w;
  }
  __syncthreads();
#pragma unroll
  for (int j = far; j < 64; j += 16)
    *(float4*)&out[(size_t)(x + j) * n + y + near] =
        make_float4(tile[near][j], tile[near + 1][j], tile[near + 2][j], tile[near + 3][j]);
}

__device__ float over_block(float value, bool largest) {
  __shared__ float parts[32];
  const auto join = [&](float a, float b) { return largest ? fmaxf(a, b) : a + b; };
  for (int step = 16; step > 0; step /= 2) value = join(value, __shfl_xor_sync(0xFFFFFFFF, value, step));
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  __syncthreads();
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  value = parts[lane < warps ? lane : 0];
  if (!largest && lane >= warps) value = 0;
  for (int step = 16; step > 0; step /= 2) value = join(value, __shfl_xor_sync(0xFFFFFFFF, value, step));
  return value;
}

// Adds all elements to out[0]; each thread has four times four of them on their way.
__global__ void sum(const float4* in, float* out, int n) {
  float total = 0;
  for (int i = blockIdx.x * 1024 + threadIdx.x; i < n; i += gridDim.x * 1024) {
    float4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = in[i + k * 256];
#pragma unroll
    for (int k = 0; k < 4; ++k) total += v[k].x + v[k].y + v[k].z + v[k].w;
  }
  total = over_block(total, false);
  if (threadIdx.x == 0) atomicAdd(out, total);
}

// 5 x 5 binomial weights. A thread goes down 16 rows of 4 columns and keeps the sums along five of them; the outer two
// rows and columns repeat the edge.
__global__ void blur(const float* in, float* out, int n) {
  const int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4, top = blockIdx.y * 16;
  if (x >= n) return;
  float rows[5][4];
#pragma unroll
  for (int j = 0; j < 20; ++j) {
    const int y = min(max(top + j - 2, 0), n - 1);
    const float* row = in + (size_t)y * n + x;
    const float4 m = *(const float4*)row;
    const float2 l = x > 0 ? *(const float2*)(row - 2) : make_float2(m.x, m.x);
    const float2 r = x + 4 < n ? *(const float2*)(row + 4) : make_float2(m.w, m.w);
    const float v[8] = {l.x, l.y, m.x, m.y, m.z, m.w, r.x, r.y};
#pragma unroll
    for (int i = 0; i < 4; ++i) rows[j % 5][i] = v[i] + v[i + 4] + 4 * (v[i + 1] + v[i + 3]) + 6 * v[i + 2];
    if (j < 4) continue;
    float4 sum;
    float* sums = &sum.x;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[i] = (rows[(j + 1) % 5][i] + rows[j % 5][i] + 4 * (rows[(j + 2) % 5][i] + rows[(j + 4) % 5][i]) +
                 6 * rows[(j + 3) % 5][i]) *
                (1.0f / 256);
    *(float4*)(out + (size_t)(top + j - 4) * n + x) = sum;
  }
}

// A block of 256 threads for each row of 4096, which stays in registers.
__global__ void softmax(const float4* in, float4* out) {
  const size_t row = blockIdx.x * (size_t)1024;
  float4 v[4];
  float largest = -INFINITY;
  for (int k = 0; k < 4; ++k) {
    v[k] = in[row + k * 256 + threadIdx.x];
    largest = fmaxf(largest, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
  }
  largest = over_block(largest, true);
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    v[k] = make_float4(__expf(v[k].x - largest), __expf(v[k].y - largest), __expf(v[k].z - largest),
                       __expf(v[k].w - largest));
    sum += v[k].x + v[k].y + v[k].z + v[k].w;
  }
  const float scale = 1.0f / over_block(sum, false);
  for (int k = 0; k < 4; ++k)
    out[row + k * 256 + threadIdx.x] = make_float4(v[k].x * scale, v[k].y * scale, v[k].z * scale, v[k].w * scale);
}

__global__ void matmul_tiled16(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16], bs[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    as[ty][tx] = a[row * n + k0 + tx];
    bs[ty][tx] = b[(k0 + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// 128 threads compute 128 x 128 elements, each 16 x 8 of them in quarters of 4 x 4. While one step's tiles are
// multiplied the next ones are on their way: b's straight to shared memory, a's through registers, because it is
// turned. n is a multiple of 128.
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
