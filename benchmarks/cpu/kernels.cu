// The measured kernels, written as a CUDA programmer would: sizes, grids and blocks stand in cases.cpp.

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void saxpy(float a, const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

__global__ void matmul_naive(const float* a, const float* b, float* c, int n) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || col >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
  c[row * n + col] = sum;
}

template <int tile>
__device__ void matmul_tile(const float* a, const float* b, float* c, int n) {
  __shared__ float as[tile][tile], bs[tile][tile];
  const int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * tile + tx, row = blockIdx.y * tile + ty;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += tile) {
    as[ty][tx] = a[row * n + k0 + tx];
    bs[ty][tx] = b[(k0 + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < tile; ++k) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

__global__ void matmul_tiled16(const float* a, const float* b, float* c, int n) { matmul_tile<16>(a, b, c, n); }
__global__ void matmul_tiled32(const float* a, const float* b, float* c, int n) { matmul_tile<32>(a, b, c, n); }

// A block of 16 x 16 threads computes 64 x 64 elements, each thread 4 x 4 of them that lie 16 apart.
__global__ void matmul_registers(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][64], bs[16][64];
  const int tx = threadIdx.x, ty = threadIdx.y, col0 = blockIdx.x * 64, row0 = blockIdx.y * 64;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += 16) {
    for (int j = 0; j < 4; ++j) {
      as[tx][ty + 16 * j] = a[(row0 + ty + 16 * j) * n + k0 + tx];
      bs[ty][tx + 16 * j] = b[(k0 + ty) * n + col0 + tx + 16 * j];
    }
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
      float p[4], q[4];
      for (int i = 0; i < 4; ++i) {
        p[i] = as[k][ty + 16 * i];
        q[i] = bs[k][tx + 16 * i];
      }
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] += p[i] * q[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) c[(row0 + ty + 16 * i) * n + col0 + tx + 16 * j] = sum[i][j];
}

// The reductions leave one sum of 512 elements for each block of 256 threads.
__global__ void reduce_tree(const float* in, float* out) {
  __shared__ float s[256];
  const int t = threadIdx.x, first = blockIdx.x * 512;
  s[t] = in[first + t] + in[first + 256 + t];
  __syncthreads();
  for (int width = 128; width > 0; width /= 2) {
    if (t < width) s[t] += s[t + width];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void reduce_shuffle(const float* in, float* out) {
  __shared__ float s[8];
  const int t = threadIdx.x, first = blockIdx.x * 512;
  float v = in[first + t] + in[first + 256 + t];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum += s[i];
    out[blockIdx.x] = sum;
  }
}

__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[32][33];
  const int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
  for (int j = 0; j < 32; j += 8) tile[ty + j][tx] = in[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + tx;
  y = blockIdx.x * 32 + ty;
  for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[tx][ty + j];
}

// Mean of 3 x 3 pixels, zero outside the image; a block of 16 x 16 threads loads 18 x 18 pixels.
__global__ void blur(const float* in, float* out, int n) {
  __shared__ float tile[18][18];
  const int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
  for (int i = ty * 16 + tx; i < 18 * 18; i += 256) {
    const int row = i / 18, col = i % 18, x = x0 + col - 1, y = y0 + row - 1;
    tile[row][col] = x >= 0 && x < n && y >= 0 && y < n ? in[y * n + x] : 0.0f;
  }
  __syncthreads();
  float sum = 0;
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx) sum += tile[ty + dy][tx + dx];
  out[(y0 + ty) * n + x0 + tx] = sum * (1.0f / 9);
}

__global__ void mandelbrot(int* out, int n, int limit) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  const float cx = -2.0f + px * (3.0f / n), cy = -1.5f + py * (3.0f / n);
  float x = 0, y = 0;
  int steps = 0;
  while (steps < limit) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
    ++steps;
  }
  out[py * n + px] = steps;
}

__global__ void histogram(const unsigned* in, unsigned* bins, int n) {
  __shared__ unsigned s[256];
  const int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[in[i] & 255], 1u);
  __syncthreads();
  atomicAdd(&bins[t], s[t]);
}

// Exclusive scan of 256 elements in each block (Hillis and Steele, two buffers), and the sum of each block.
__global__ void scan(const float* in, float* out, float* sums) {
  __shared__ float s[2][256];
  const int t = threadIdx.x, first = blockIdx.x * 256;
  int from = 0;
  s[0][t] = t > 0 ? in[first + t - 1] : 0.0f;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    float v = s[from][t];
    if (t >= d) v += s[from][t - d];
    s[1 - from][t] = v;
    from = 1 - from;
    __syncthreads();
  }
  out[first + t] = s[from][t];
  if (t == 255) sums[blockIdx.x] = s[from][t] + in[first + 255];
}

__global__ void softmax(const float* in, float* out, int cols) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  const float* row = in + blockIdx.x * cols;
  float largest = -INFINITY;
  for (int i = t; i < cols; i += 256) largest = fmaxf(largest, row[i]);
  s[t] = largest;
  __syncthreads();
  for (int width = 128; width > 0; width /= 2) {
    if (t < width) s[t] = fmaxf(s[t], s[t + width]);
    __syncthreads();
  }
  largest = s[0];
  __syncthreads();
  float sum = 0;
  for (int i = t; i < cols; i += 256) sum += __expf(row[i] - largest);
  s[t] = sum;
  __syncthreads();
  for (int width = 128; width > 0; width /= 2) {
    if (t < width) s[t] += s[t + width];
    __syncthreads();
  }
  const float scale = 1.0f / s[0];
  for (int i = t; i < cols; i += 256) out[blockIdx.x * cols + i] = __expf(row[i] - largest) * scale;
}

// Accelerations of n bodies {x, y, z, mass}; n is a multiple of 256.
__global__ void nbody(const float4* bodies, float4* accelerations, int n) {
  __shared__ float4 s[256];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  const float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (int first = 0; first < n; first += 256) {
    s[t] = bodies[first + t];
    __syncthreads();
    for (int j = 0; j < 256; ++j) {
      const float4 other = s[j];
      const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      const float f = other.w * inverse * inverse * inverse;
      ax += f * dx;
      ay += f * dy;
      az += f * dz;
    }
    __syncthreads();
  }
  accelerations[i] = make_float4(ax, ay, az, 0);
}

__global__ void empty() {}
