// The same matrix by rows and by columns. What matters is which addresses the 32 threads of a warp touch together.

// One thread for each row: at every step the warp reads 32 words that lie a row apart, one sector for each.
__global__ void row_sum_bad(const float* a, float* out, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float s = 0;
    for (int c = 0; c < cols; ++c) s += a[r * cols + c];
    out[r] = s;
  }
}

// One thread for each column: the warp reads 32 neighbouring words, four sectors together.
__global__ void col_sum_good(const float* a, float* out, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < cols) {
    float s = 0;
    for (int r = 0; r < rows; ++r) s += a[r * cols + c];
    out[c] = s;
  }
}

// Reads rows and writes columns: the stores of a warp are a row apart. Blocks are 32 x 8 for a 32 x 32 tile.
__global__ void transpose_naive(const float* in, float* out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[x * n + (y + j)] = in[(y + j) * n + x];
}

// Turns the tile in shared memory, so that loads and stores are rows. Without padding a column of the tile lies in one
// bank; one word more for each row spreads it over all 32.
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
template __global__ void transpose_tile<0>(const float*, float*, int);
template __global__ void transpose_tile<1>(const float*, float*, int);
