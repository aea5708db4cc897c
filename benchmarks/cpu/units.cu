// Kernels that use what a GPU has units for: matrix instructions and textures. Sizes stand in units.cpp.
#include <cuda_fp16.h>
#include <mma.h>

namespace {

// A block of 128 threads computes 64 x 64 elements, each warp 32 x 32 of them, 32 of the inner dimension at a time.
constexpr int kTile = 64, kDepth = 32, kPitch = kDepth + 8, kPitchB = kTile + 8;

struct Tiles {
  half a[kTile][kPitch], b[kDepth][kPitchB];
};

__device__ void fetch(Tiles& tiles, const float* a, const float* b, int n, int row0, int col0, int k0) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int row = warp; row < kTile; row += 4) tiles.a[row][lane] = __float2half(a[(row0 + row) * n + k0 + lane]);
  for (int row = warp; row < kDepth; row += 4) {
    tiles.b[row][lane] = __float2half(b[(k0 + row) * n + col0 + lane]);
    tiles.b[row][lane + 32] = __float2half(b[(k0 + row) * n + col0 + lane + 32]);
  }
}

}  // namespace

// Halves multiplied, floats summed, by nvcuda::wmma.
__global__ void matmul_wmma(const float* a, const float* b, float* c, int n) {
  using namespace nvcuda;
  __shared__ Tiles tiles;
  const int warp = threadIdx.x / 32, y = warp / 2 * 32, x = warp % 2 * 32, row0 = blockIdx.y * kTile,
            col0 = blockIdx.x * kTile;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
  for (int k0 = 0; k0 < n; k0 += kDepth) {
    fetch(tiles, a, b, n, row0, col0, k0);
    __syncthreads();
    for (int k = 0; k < kDepth; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb[2];
      for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(fa[i], &tiles.a[y + 16 * i][k], kPitch);
      for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(fb[j], &tiles.b[k][x + 16 * j], kPitchB);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(c + (row0 + y + 16 * i) * n + col0 + x + 16 * j, sum[i][j], n, wmma::mem_row_major);
}

// The same by ldmatrix and mma.sync.
__global__ void matmul_mma(const float* a, const float* b, float* c, int n) {
  __shared__ Tiles tiles;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, y = warp / 2 * 32, x = warp % 2 * 32,
            row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  float sum[2][4][4] = {};
  for (int k0 = 0; k0 < n; k0 += kDepth) {
    fetch(tiles, a, b, n, row0, col0, k0);
    __syncthreads();
    for (int k = 0; k < kDepth; k += 16) {
      unsigned fa[2][4], fb[4][2];
      for (int i = 0; i < 2; ++i) {
        const auto at = (unsigned)__cvta_generic_to_shared(&tiles.a[y + 16 * i + lane % 16][k + lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3])
                     : "r"(at));
      }
      for (int j = 0; j < 4; j += 2) {
        const auto at = (unsigned)__cvta_generic_to_shared(&tiles.b[k + lane % 16][x + 8 * j + lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fb[j][0]), "=r"(fb[j][1]), "=r"(fb[j + 1][0]), "=r"(fb[j + 1][1])
                     : "r"(at));
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
              "{%0, %1, %2, %3};"
              : "+f"(sum[i][j][0]), "+f"(sum[i][j][1]), "+f"(sum[i][j][2]), "+f"(sum[i][j][3])
              : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j][0]), "r"(fb[j][1]));
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int e = 0; e < 4; ++e)
        c[(row0 + y + 16 * i + lane / 4 + e / 2 * 8) * n + col0 + x + 8 * j + lane % 4 * 2 + e % 2] = sum[i][j][e];
}

// An image made larger or smaller: the texture unit blends the four texels around each point.
__global__ void resize(cudaTextureObject_t image, float* out, int width, float scale) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width) out[y * width + x] = tex2D<float>(image, (x + 0.5f) * scale, (y + 0.5f) * scale);
}
