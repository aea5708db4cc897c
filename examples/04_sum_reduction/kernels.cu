// Five sums of the same array. Blocks are 256 threads; the ones in the middle leave one partial sum for each block.

// Every thread adds to one word of global memory: correct, and all threads wait for that word.
__global__ void reduce_atomic(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, in[i]);
}

// Neighbours first: in each step the threads at work are spread over all warps, so every warp diverges.
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

// The first threads do the work, so warps stay whole, but their stride grows to a power of two: bank conflicts.
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

// The far half is added to the near half: whole warps and neighbouring words.
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

// Each thread sums many elements, a warp adds its 32 sums by shuffles, and one word of shared memory for each warp
// and one atomic for each block are left.
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
