// Loops with more values for each thread than vector registers hold, without effects until they end.
constexpr int kTile = 24;

// Each thread of a 16 x 8 block has 4 x 5 sums; rows are the same in half a warp.
__global__ void many_sums(const float* a, const float* b, float* out, int rounds) {
  __shared__ float as[kTile][8], bs[kTile][16];
  const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx;
  float sum[4][5] = {};
  for (int r = 0; r < rounds; ++r) {
    for (int i = thread; i < kTile * 8; i += 128) as[i / 8][i % 8] = a[r * kTile * 8 + i];
    for (int i = thread; i < kTile * 16; i += 128) bs[i / 16][i % 16] = b[r * kTile * 16 + i];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < kTile; ++k) {
      float p = as[k][ty], q = bs[k][tx];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 5; ++j) sum[i][j] += (p + i) * (q - j);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j) out[(blockIdx.x * 128 + thread) * 20 + i * 5 + j] = sum[i][j];
}

// Integers that all depend on their neighbours, a lane's own condition in the loop, and two ways out of it.
__global__ void mixed_words(const unsigned* seeds, unsigned* out, int steps, unsigned stop) {
  __shared__ unsigned keys[64];
  const unsigned thread = threadIdx.x;
  for (unsigned i = thread; i < 64; i += blockDim.x) keys[i] = seeds[i] | 1;
  __syncthreads();
  unsigned word[20];
  for (int i = 0; i < 20; ++i) word[i] = thread * 20 + i;
  unsigned rounds = 0;
#pragma unroll 1
  for (int s = 0; s < steps; ++s) {
    const unsigned key = keys[s & 63];
    if (key == stop) break;
#pragma unroll
    for (int i = 0; i < 20; ++i) {
      unsigned next = word[(i + 1) % 20];
      word[i] = (word[i] ^ (next >> 7)) * key + keys[(thread + i) & 63];
      if (word[i] & 8) word[i] += thread;
    }
    rounds += key & 3;
  }
  unsigned* mine = out + (blockIdx.x * blockDim.x + thread) * 21;
  for (int i = 0; i < 20; ++i) mine[i] = word[i];
  mine[20] = rounds;
}

// 64-bit values: half as many lanes fit.
__global__ void many_doubles(const double* a, double* out, int steps) {
  __shared__ double table[32];
  const int thread = threadIdx.x;
  if (thread < 32) table[thread] = a[thread];
  __syncthreads();
  double x[12];
  for (int i = 0; i < 12; ++i) x[i] = thread + i * 0.25;
#pragma unroll 1
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int i = 0; i < 12; ++i) x[i] = x[i] * table[(s + i) & 31] + x[(i + 7) % 12];
  for (int i = 0; i < 12; ++i) out[(blockIdx.x * blockDim.x + thread) * 12 + i] = x[i];
}

// The loop is reached by some lanes of a warp only, and by others later.
__global__ void sums_of_some(const float* a, float* out, int steps) {
  __shared__ float table[32];
  const int thread = threadIdx.x;
  if (thread < 32) table[thread] = a[thread];
  __syncthreads();
  float x[20];
  for (int i = 0; i < 20; ++i) x[i] = float(thread);
  for (int part = 0; part < 2; ++part) {
    if (thread % 3 != part) continue;
#pragma unroll 1
    for (int s = 0; s < steps; ++s)
#pragma unroll
      for (int i = 0; i < 20; ++i) x[i] = x[(i + 5) % 20] * table[(s + i) & 31] + table[thread & 31];
  }
  float sum = 0;
  for (int i = 0; i < 20; ++i) sum += x[i] * (i + 1);
  out[blockIdx.x * blockDim.x + thread] = sum;
}
