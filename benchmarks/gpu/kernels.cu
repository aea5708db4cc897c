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
