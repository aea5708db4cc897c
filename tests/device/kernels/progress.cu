// Threads that wait for each other: these kernels end only when every resident thread makes progress by itself.
__global__ void warp_spin_lock(int* lock, int* counter, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    bool done = false;
    while (!done) {
      if (atomicCAS(lock, 0, 1) == 0) {
        int v = *(volatile int*)counter;
        *(volatile int*)counter = v + 1;
        __threadfence();
        atomicExch(lock, 0);
        done = true;
      }
    }
  }
}

// The classic form, in which the lock holder is on the other side of the loop.
__global__ void naive_spin_lock(int* lock, int* counter) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  int v = *(volatile int*)counter;
  *(volatile int*)counter = v + 1;
  __threadfence();
  atomicExch(lock, 0);
}

// Lane 0 waits for lane 31 of its own warp.
__global__ void lane_waits_for_lane(volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    while (*flag == 0) {
    }
    out[0] = 77;
  } else if (threadIdx.x == 31) {
    *flag = 1;
  }
}

// Warp 0 waits for warp 1, through shared memory.
__global__ void warp_waits_for_warp(int* out) {
  __shared__ volatile int flag, value;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    while (flag == 0) {
    }
    out[threadIdx.x] = value + threadIdx.x;
  } else if (threadIdx.x == 63) {
    value = 500;
    __threadfence_block();
    flag = 1;
  }
}

// Block 0 waits for the last block, which need not start before it.
__global__ void block_waits_for_block(volatile int* flag, int* out) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0)
      while (*flag == 0) {
      }
    __syncthreads();
    out[threadIdx.x] = *flag + threadIdx.x;
  } else if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) {
    __threadfence();
    *flag = 9;
  }
}

// Each block waits for its left neighbour.
__global__ void chain_of_blocks(volatile int* done, int* out) {
  int b = blockIdx.x;
  if (threadIdx.x == 0 && b > 0)
    while (done[b - 1] == 0) {
    }
  __syncthreads();
  out[b * blockDim.x + threadIdx.x] = (b > 0 ? ((volatile int*)out)[(b - 1) * blockDim.x] : 0) + 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) done[b] = 1;
}

// A barrier of the whole grid, made of an atomic counter; for a cooperative launch.
__global__ void grid_barrier(unsigned* arrived, int* box, int* out, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x == 0) box[blockIdx.x] = blockIdx.x * 10 + r;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrived, 1u);
      while (*(volatile unsigned*)arrived < (2 * r + 1) * gridDim.x) {
      }
      __threadfence();
    }
    __syncthreads();
    int next = ((volatile int*)box)[(blockIdx.x + 1) % gridDim.x];
    if (threadIdx.x == 0) {
      out[r * gridDim.x + blockIdx.x] = next;
      __threadfence();
      atomicAdd(arrived, 1u);
      while (*(volatile unsigned*)arrived < (2 * r + 2) * gridDim.x) {
      }
    }
    __syncthreads();
  }
}

// Two warps hand a ball back and forth.
__global__ void ping_pong(int* out, int rounds) {
  __shared__ volatile int turn;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  int me = threadIdx.x / 32;
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x % 32 == 0) {
      while (turn != 2 * r + me) {
      }
      out[2 * r + me] = me * 100 + r;
      __threadfence_block();
      turn = 2 * r + me + 1;
    }
  }
}
