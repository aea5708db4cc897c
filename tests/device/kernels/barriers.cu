// Barriers where a kernel may have them: straight, in loops, under conditions that all threads share, with a reduction.
__global__ void in_a_loop(int* out, int rounds) {
  __shared__ int s[1024];
  int t = threadIdx.x, n = blockDim.x;
  s[t] = t;
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    int left = s[(t + n - 1) % n], right = s[(t + 1) % n];
    __syncthreads();
    s[t] = left * 3 + right + r;
  }
  out[blockIdx.x * n + t] = s[t];
}

// Blocks with an odd number take the barriers, the others do not; some rounds skip one.
__global__ void under_uniform_conditions(const int* flags, int* out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = t;
  if (blockIdx.x & 1) {
    __syncthreads();
    int v = s[255 - t];
    __syncthreads();
    s[t] = v + 1;
  }
  for (int r = 0; r < 4; ++r)
    if (flags[r]) {
      __syncthreads();
      int v = s[(t + 1) & 255];
      __syncthreads();
      s[t] = v * 2 + r;
    } else {
      s[t] += 1;
    }
  __syncthreads();
  out[blockIdx.x * 256 + t] = s[t];
}

// The number of rounds is data that is the same for all threads, and the exit is in the middle.
__global__ void loop_until(const int* limit, int* out) {
  __shared__ int s[96];
  int t = threadIdx.x, n = blockDim.x, rounds = 0;
  s[t] = 1;
  while (true) {
    __syncthreads();
    if (s[0] >= *limit) break;
    int v = s[(t + 1) % n];
    __syncthreads();
    s[t] += v;
    ++rounds;
  }
  out[t] = s[t] * 100 + rounds;
}

__global__ void count_and_or(const int* in, int* out) {
  int t = threadIdx.x;
  int count = __syncthreads_count(in[t] > 0);
  int all = __syncthreads_and(in[t] >= 0);
  int any = __syncthreads_or(in[t] == 77);
  out[t] = count * 100 + (all != 0) * 10 + (any != 0);
}

// Threads that have left do not hold up the others.
__global__ void after_some_left(int* out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = 0;
  if (t >= 100) return;
  s[t] = t;
  __syncthreads();
  out[t] = s[99 - t];
}

// Lanes diverge between barriers and come back to each.
__global__ void divergence_between(int* out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    int v = 0;
    if (t >= d) v = s[t - d];
    __syncthreads();
    if (t >= d) {
      if (t & 1)
        s[t] += v;
      else
        for (int k = 0; k < 1; ++k) s[t] = s[t] + v;
    }
    __syncthreads();
  }
  out[t] = s[t];
}

// A barrier in a function that is not inlined.
__device__ __noinline__ int exchange(int* s, int v) {
  __syncthreads();
  s[threadIdx.x] = v;
  __syncthreads();
  return s[blockDim.x - 1 - threadIdx.x];
}
__global__ void inside_a_function(int* out) {
  __shared__ int s[128];
  int v = exchange(s, threadIdx.x * 3);
  v = exchange(s, v + 1);
  out[threadIdx.x] = v;
}

// Producers and consumers on two named barriers.
__global__ void named(int* out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  for (int round = 0; round < 4; ++round) {
    if (t < 32) {
      s[t] = t * 10 + round;
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      out[round * 32 + t - 32] = s[63 - t];
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}

__global__ void warp_barrier(int* out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  __syncwarp();
  int v = s[t ^ 31];
  __syncwarp();
  s[t] = v * 2;
  __syncwarp();
  out[t] = s[t ^ 1];
}

// Loops over the grid, which the warps of a block may leave in different iterations, with a barrier behind.
__global__ void grid_loop(const int* in, int* out, int* sums, int n) {
  __shared__ int s[256];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int v = in[i];
    if (v % 3 == 0) v = -v;
    out[i] = v + 1;
    sum += v;
  }
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int w = blockDim.x / 2; w > 0; w /= 2) {
    if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = s[0];
}

// The same, with threads that have nothing to do leaving before the barrier.
__global__ void grid_loop_or_leave(const int* in, int* out, int n) {
  __shared__ int s[256];
  int t = threadIdx.x;
  int i = blockIdx.x * blockDim.x + t;
  if (i >= n) return;
  s[t] = 0;
  for (; i < n; i += gridDim.x * blockDim.x) s[t] += in[i];
  __syncthreads();
  int other = t ^ 1;
  bool there = blockIdx.x * blockDim.x + other < n;
  out[blockIdx.x * blockDim.x + t] = there ? s[other] : -1;
}
