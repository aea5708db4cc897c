// A 3 x 3 Gaussian blur of the inner pixels; weights 1 2 1, 2 4 2, 1 2 1 over 16. Blocks are 16 x 16.

// Nine loads from global memory for each pixel; neighbours load the same pixels again.
__global__ void blur_global(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
    float s = 0;
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) s += in[(y + dy) * w + x + dx] * ((2 - abs(dx)) * (2 - abs(dy)) / 16.f);
    out[y * w + x] = s;
  }
}

// The block first copies its 18 x 18 tile, halo included, to shared memory: 324 loads instead of 2304.
__global__ void blur_halo(const float* in, float* out, int w, int h) {
  __shared__ float t[18][18];
  int x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 16 - 1, id = threadIdx.y * 16 + threadIdx.x;
  for (int i = id; i < 324; i += 256) {
    int x = min(max(x0 + i % 18, 0), w - 1), y = min(max(y0 + i / 18, 0), h - 1);
    t[i / 18][i % 18] = in[y * w + x];
  }
  __syncthreads();
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
    float s = 0;
    for (int dy = 0; dy < 3; ++dy)
      for (int dx = 0; dx < 3; ++dx)
        s += t[threadIdx.y + dy][threadIdx.x + dx] * ((2 - abs(dx - 1)) * (2 - abs(dy - 1)) / 16.f);
    out[y * w + x] = s;
  }
}
