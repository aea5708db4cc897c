// Threads run in warps of 32. A block whose size is no multiple of 32 ends in a warp with idle lanes.

__global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// The first lane of each warp writes how many lanes its warp has.
__global__ void count_lanes(int* lanes, int warps_per_block) {
  unsigned present = __ballot_sync(__activemask(), 1);
  if (threadIdx.x % 32 == 0) lanes[blockIdx.x * warps_per_block + threadIdx.x / 32] = __popc(present);
}
