// Where a thread is: every special register that names a place, for grids and blocks of 1 to 3 dimensions.
struct Place {
  unsigned tid[3], ctaid[3], ntid[3], nctaid[3], lane, warp_threads;
};

__global__ void where_am_i(Place* places) {
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  Place& p = places[block * (blockDim.x * blockDim.y * blockDim.z) + thread];
  p.tid[0] = threadIdx.x, p.tid[1] = threadIdx.y, p.tid[2] = threadIdx.z;
  p.ctaid[0] = blockIdx.x, p.ctaid[1] = blockIdx.y, p.ctaid[2] = blockIdx.z;
  p.ntid[0] = blockDim.x, p.ntid[1] = blockDim.y, p.ntid[2] = blockDim.z;
  p.nctaid[0] = gridDim.x, p.nctaid[1] = gridDim.y, p.nctaid[2] = gridDim.z;
  asm("mov.u32 %0, %%laneid;" : "=r"(p.lane));
  p.warp_threads = __popc(__ballot_sync(__activemask(), 1));
}

// Counts the threads that ran, in the grid and in each block.
__global__ void count_threads(unsigned long long* all, unsigned* in_block) {
  atomicAdd(all, 1ull);
  atomicAdd(&in_block[blockIdx.x], 1u);
}

__global__ void empty() {}
