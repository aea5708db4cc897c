// Kernels that read textures and work on surfaces.

// One texel for each thread, all of them in rows.
extern "C" __global__ void read_rows(cudaTextureObject_t image, int width, int height, float4* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) out[y * width + x] = tex2D<float4>(image, x + 0.5f, y + 0.5f);
}

extern "C" __global__ void read_bytes(cudaTextureObject_t image, int width, int height, uchar4* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) out[y * width + x] = tex2D<uchar4>(image, x + 0.5f, y + 0.5f);
}

// Threads take textures by turns, some go another way, and some do nothing.
extern "C" __global__ void read_apart(cudaTextureObject_t a, cudaTextureObject_t b, float* out) {
  const int i = threadIdx.x;
  float v = -1;
  if (i % 3 == 0)
    v = tex1Dfetch<float>(i % 2 == 0 ? a : b, i);
  else if (i % 3 == 1)
    v = tex1Dfetch<float>(i % 4 < 2 ? a : b, i / 2);
  for (int k = 0; k < i % 5; ++k) v += tex1Dfetch<float>(b, k);
  out[i] = v;
}

extern "C" __global__ void read_layers(cudaTextureObject_t layers, cudaTextureObject_t volume, float* out) {
  const int i = threadIdx.x;
  out[2 * i] = tex2DLayered<float>(layers, i % 4 + 0.5f, i / 4 % 4 + 0.5f, i / 16);
  out[2 * i + 1] = tex3D<float>(volume, i % 4 + 0.5f, i / 4 % 4 + 0.5f, i / 16 + 0.5f);
}

// A box filter of (2r+1) x (2r+1), whose edges the texture sees to.
extern "C" __global__ void box(cudaTextureObject_t image, int width, int height, int r, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int dy = -r; dy <= r; ++dy)
    for (int dx = -r; dx <= r; ++dx) sum += tex2D<float>(image, x + dx + 0.5f, y + dy + 0.5f);
  out[y * width + x] = sum / ((2 * r + 1) * (2 * r + 1));
}

extern "C" __global__ void surface_invert(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  uchar4 v = surf2Dread<uchar4>(from, x * 4, y, cudaBoundaryModeClamp);
  v.x = 255 - v.x, v.y = 255 - v.y, v.z = 255 - v.z;
  surf2Dwrite(v, to, x * 4, y, cudaBoundaryModeZero);
}

// All sizes of elements, in 1, 2 and 3 dimensions and layers.
extern "C" __global__ void surface_sizes(cudaSurfaceObject_t line, cudaSurfaceObject_t volume,
                                         cudaSurfaceObject_t layers) {
  const int i = threadIdx.x;
  if (i < 16) {
    const float4 v = make_float4(i, i + 0.25f, i + 0.5f, i + 0.75f);
    surf1Dwrite(v, line, i * 16);
    const float2 w = surf1Dread<float2>(line, i * 16 + 8);
    surf1Dwrite(make_float2(w.y, w.x), line, i * 16 + 8);
  }
  if (i < 24) {
    const int x = i % 4, y = i / 4 % 3, z = i / 12;
    surf3Dwrite<unsigned short>(i * 7, volume, x * 2, y, z);
    surf2DLayeredwrite<unsigned char>(surf3Dread<unsigned short>(volume, x * 2, y, z) + 1, layers, x, y, z);
  }
}

extern "C" __global__ void surface_outside(cudaSurfaceObject_t s, int x) {
  surf2Dwrite(1.0f, s, (threadIdx.x == 5 ? x : 0) * 4, 0);
}

extern "C" __global__ void surface_unaligned(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, 2, 0); }

extern "C" __global__ void look_up(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex2D<float>(t, threadIdx.x, 0.0f);
}

extern "C" __global__ void queries(cudaTextureObject_t t, int* out) {
  int w, h;
  asm("txq.width.b32 %0, [%1];" : "=r"(w) : "l"(t));
  asm("txq.height.b32 %0, [%1];" : "=r"(h) : "l"(t));
  out[0] = w;
  out[1] = h;
}
