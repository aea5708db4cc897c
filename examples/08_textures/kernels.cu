// An image filter, an enlargement and a negative, through textures and surfaces.

// A 3 x 3 Gaussian. The texture repeats the edge, so no index is ever out of bounds.
__global__ void blur_texture(cudaTextureObject_t image, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      sum += tex2D<float>(image, x + dx + 0.5f, y + dy + 0.5f) * ((2 - abs(dx)) * (2 - abs(dy)));
  out[y * width + x] = sum / 16;
}

// The texture unit blends four texels: coordinates from 0 to 1 span the image, whatever its size.
__global__ void enlarge(cudaTextureObject_t image, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = tex2D<float>(image, (x + 0.5f) / width, (y + 0.5f) / height);
}

// A surface is read and written in place; its first coordinate counts bytes.
__global__ void negative(cudaSurfaceObject_t image, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    surf2Dwrite(255 - surf2Dread<float>(image, x * sizeof(float), y), image, x * sizeof(float), y);
}
