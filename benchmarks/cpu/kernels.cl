// OpenCL C twins of the examples' CUDA kernels: the same algorithm, grid and block.

__kernel void vector_add(__global const float* a, __global const float* b, __global float* c, int n) {
  const int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}

__kernel void matmul_naive(__global const float* a, __global const float* b, __global float* c, int n) {
  const int col = get_global_id(0);
  const int row = get_global_id(1);
  if (row >= n || col >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum = fma(a[row * n + k], b[k * n + col], sum);
  c[row * n + col] = sum;
}

#define TILE 16

__kernel void matmul_tiled(__global const float* a, __global const float* b, __global float* c, int n) {
  __local float as[TILE][TILE];
  __local float bs[TILE][TILE];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const int col = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (int t = 0; t < n; t += TILE) {
    as[ty][tx] = a[row * n + t + tx];
    bs[ty][tx] = b[(t + ty) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; ++k) sum = fma(as[ty][k], bs[k][tx], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + col] = sum;
}

__kernel void matmul_unrolled(__global const float* a, __global const float* b, __global float* c, int n) {
  __local float as[TILE][TILE];
  __local float bs[TILE][TILE];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const int col = get_global_id(0), row = get_global_id(1);
  float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
  for (int t = 0; t < n; t += TILE) {
    as[ty][tx] = a[row * n + t + tx];
    bs[ty][tx] = b[(t + ty) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k += 4) {
      s0 = fma(as[ty][k], bs[k][tx], s0);
      s1 = fma(as[ty][k + 1], bs[k + 1][tx], s1);
      s2 = fma(as[ty][k + 2], bs[k + 2][tx], s2);
      s3 = fma(as[ty][k + 3], bs[k + 3][tx], s3);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + col] = (s0 + s1) + (s2 + s3);
}
