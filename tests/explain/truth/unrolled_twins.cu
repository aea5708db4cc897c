// Kernels of truth_kernels.cu with loops unrolled as nvcc unrolls them before it writes PTX: the rest of the iterations
// first, then four at a time. Lanes with different counts then load in different instructions, so there are more
// requests.

__global__ void softmax_row_unrolled(const float* in, float* out, int cols) {
  __shared__ float red[256];
  int t = threadIdx.x;
  const float* r = in + (size_t)blockIdx.x * cols;
  float* o = out + (size_t)blockIdx.x * cols;
  const int count = t < cols ? (cols - t + 255) / 256 : 0, rest = count & 3;
  float m = -INFINITY;
  int c = t;
#pragma unroll 1
  for (int i = 0; i < rest; ++i, c += 256) m = fmaxf(m, r[c]);
#pragma unroll 1
  for (; c < cols; c += 1024) {
    m = fmaxf(m, r[c]);
    m = fmaxf(m, r[c + 256]);
    m = fmaxf(m, r[c + 512]);
    m = fmaxf(m, r[c + 768]);
  }
  red[t] = m;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (t < d) red[t] = fmaxf(red[t], red[t + d]);
    __syncthreads();
  }
  m = red[0];
  __syncthreads();
  float s = 0;
  c = t;
#pragma unroll 1
  for (int i = 0; i < rest; ++i, c += 256) s += __expf(r[c] - m);
#pragma unroll 1
  for (; c < cols; c += 1024) {
    s += __expf(r[c] - m);
    s += __expf(r[c + 256] - m);
    s += __expf(r[c + 512] - m);
    s += __expf(r[c + 768] - m);
  }
  red[t] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (t < d) red[t] += red[t + d];
    __syncthreads();
  }
  s = red[0];
  c = t;
#pragma unroll 1
  for (int i = 0; i < rest; ++i, c += 256) o[c] = __expf(r[c] - m) / s;
#pragma unroll 1
  for (; c < cols; c += 1024) {
    o[c] = __expf(r[c] - m) / s;
    o[c + 256] = __expf(r[c + 256] - m) / s;
    o[c + 512] = __expf(r[c + 512] - m) / s;
    o[c + 768] = __expf(r[c + 768] - m) / s;
  }
}

// nvcc as above; ptxas turns its loop into one of sixteen iterations at a time, then eight, then four.
template <int COUNT>
__device__ void add_products(int& j, int end, const int* ci, const float* v, const float* x, float& s) {
#pragma unroll 1
  for (; end - j >= COUNT; j += COUNT) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) s += v[j + i] * x[ci[j + i]];
  }
}

__global__ void spmv_scalar_unrolled(const int* rp, const int* ci, const float* v, const float* x, float* y, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int j = rp[r];
  const int end = rp[r + 1], rest = j < end ? (end - j) & 3 : 0;
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < rest; ++i, ++j) s += v[j] * x[ci[j]];
  add_products<16>(j, end, ci, v, x, s);
  add_products<8>(j, end, ci, v, x, s);
  add_products<4>(j, end, ci, v, x, s);
  y[r] = s;
}
