// The same work on even and odd elements, and on even and odd warps.

// Both sides of the branch have lanes in every warp, so every warp runs both, half empty.
__global__ void diverge_even_odd(int* d, int n, int reps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = d[i];
  if (i % 2 == 0) {
    for (int r = 0; r < reps; ++r) v = v * 3 + r;
  } else {
    for (int r = 0; r < reps; ++r) v = (v ^ r) + (v >> 3);
  }
  d[i] = v;
}

// All lanes of a warp take the same side: nothing diverges.
__global__ void diverge_by_warp(int* d, int n, int reps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = d[i];
  if ((i / 32) % 2 == 0) {
    for (int r = 0; r < reps; ++r) v = v * 3 + r;
  } else {
    for (int r = 0; r < reps; ++r) v = (v ^ r) + (v >> 3);
  }
  d[i] = v;
}
