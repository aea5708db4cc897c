// Recorder: kernels that use shared memory with one block alone on the GPU, where nothing else disturbs its banks, so
// that conflicts are those of the addresses.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "truth_kernels.cu"

int main() {
  const int n = 1 << 20;
  float *a, *b, *c;
  if (cudaMalloc(&a, n * sizeof(float)) != cudaSuccess || cudaMalloc(&b, n * sizeof(float)) != cudaSuccess ||
      cudaMalloc(&c, n * sizeof(float)) != cudaSuccess)
    return 1;
  cudaMemset(a, 0, n * sizeof(float));
  cudaMemset(b, 0, n * sizeof(float));
  dim3 b16(16, 16), b328(32, 8), b32(32, 32);
  transpose_tile<0><<<1, b328>>>(a, c, 1024);
  transpose_tile<1><<<1, b328>>>(a, c, 1024);
  matmul_tiled<16><<<1, b16>>>(a, b, c, 512);
  matmul_tiled<32><<<1, b32>>>(a, b, c, 512);
  matmul_tiled_conflict<16><<<1, b16>>>(a, b, c, 512);
  matmul_tiled_conflict<32><<<1, b32>>>(a, b, c, 512);
  matmul_tiled_unroll4<<<1, b16>>>(a, b, c, 512);
  matmul_regtile<<<1, 256>>>(a, b, c, 512);
  reduce_interleaved<<<1, 256>>>(a, c, n);
  reduce_bankconflict<<<1, 256>>>(a, c, n);
  reduce_sequential<<<1, 256>>>(a, c, n);
  reduce_shuffle<<<1, 256>>>(a, c, 256);
  blur_halo<<<1, b16>>>(a, c, 1024, 1024);
  shared_stride<4><<<1, 32>>>(c);
  shared_float2<<<1, 128>>>(c);
  shared_float4<<<1, 128>>>(c);
  shared_double_stride2<<<1, 128>>>((double*)c);
  shared_bytes<<<1, 128>>>((unsigned*)c);
  softmax_row<<<1, 256>>>(a, c, 1000);
  nbody_tile<<<1, 128>>>((float4*)a, (float4*)c, 4096);
  scan_hillis<<<1, 256>>>((int*)a, (int*)c);
  scan_blelloch<<<1, 256>>>((int*)a, (int*)c);
  const cudaError_t error = cudaDeviceSynchronize();
  std::puts(cudaGetErrorString(error));
  return error != cudaSuccess;
}
