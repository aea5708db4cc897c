// Kernels with matrix instructions around branches and memory, and products of nvcuda::wmma.
#include <mma.h>

namespace wmma = nvcuda::wmma;

// c = a * b for one tile of m x n, with a row-major and b column-major, k a multiple of the shape's.
template <int m, int n, int k, class T, class Memory, class C>
__device__ void product(const Memory* a, const Memory* b, C* c, int depth) {
  wmma::fragment<wmma::matrix_a, m, n, k, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, m, n, k, T, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, m, n, k, C> fc;
  wmma::fill_fragment(fc, C(0));
  for (int i = 0; i < depth; i += k) {
    wmma::load_matrix_sync(fa, a + i, depth);
    wmma::load_matrix_sync(fb, b + i, depth);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + C(1);
  wmma::store_matrix_sync(c, fc, n, wmma::mem_row_major);
}

extern "C" __global__ void product_half(const half* a, const half* b, float* c, int depth) {
  product<16, 16, 16, half>(a, b, c, depth);
}
extern "C" __global__ void product_half_wide(const half* a, const half* b, half* c, int depth) {
  product<32, 8, 16, half>(a, b, c, depth);
}
extern "C" __global__ void product_bfloat(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int depth) {
  product<8, 32, 16, __nv_bfloat16>(a, b, c, depth);
}
extern "C" __global__ void product_tf32(const float* a, const float* b, float* c, int depth) {
  product<16, 16, 8, wmma::precision::tf32>(a, b, c, depth);
}
extern "C" __global__ void product_byte(const signed char* a, const signed char* b, int* c, int depth) {
  product<16, 16, 16, signed char>(a, b, c, depth);
}
extern "C" __global__ void product_unsigned(const unsigned char* a, const unsigned char* b, int* c, int depth) {
  product<8, 32, 16, unsigned char>(a, b, c, depth);
}
extern "C" __global__ void product_double(const double* a, const double* b, double* c, int depth) {
  product<8, 8, 4, double>(a, b, c, depth);
}

// Factors whose elements all have the same bits: 4 bits signed, and single ones compared both ways.
extern "C" __global__ void product_narrow(const unsigned* in, int* c) {
  namespace narrow = wmma::experimental;
  wmma::fragment<wmma::matrix_a, 8, 8, 32, narrow::precision::s4, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 32, narrow::precision::s4, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc;
  wmma::load_matrix_sync(fa, in, 32);
  wmma::fill_fragment(fb, 0x33333333);
  wmma::fill_fragment(fc, 1);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 8, wmma::mem_row_major);
  wmma::fragment<wmma::matrix_a, 8, 8, 128, narrow::precision::b1, wmma::row_major> ba;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, narrow::precision::b1, wmma::col_major> bb;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> bc;
  wmma::fill_fragment(ba, ~0u);
  wmma::fill_fragment(bb, 0x01010101u);
  wmma::fill_fragment(bc, 0);
  wmma::bmma_sync(bc, ba, bb, bc);
  wmma::store_matrix_sync(c + 64, bc, 8, wmma::mem_row_major);
  wmma::bmma_sync(bc, ba, bb, bc, narrow::bmmaBitOpAND);
  wmma::store_matrix_sync(c + 128, bc, 8, wmma::mem_col_major);
}

extern "C" __global__ void turned(const unsigned* in, unsigned* out, int divergent) {
  const int lane = threadIdx.x % 32;
  unsigned x = in[threadIdx.x];
  // Lanes part and meet again before the instruction.
  if (divergent != 0 && lane % 3 == 1) {
    for (int i = 0; i < lane; ++i) x = x * 3 + 1;
  }
  unsigned y = 0;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
  out[threadIdx.x] = y;
}

// Only the lanes of `mask` come to the instruction.
extern "C" __global__ void part(unsigned* out, unsigned mask) {
  unsigned y = threadIdx.x;
  if ((mask >> threadIdx.x % 32 & 1) != 0)
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(threadIdx.x));
  out[threadIdx.x] = y;
}

// Rows of shared memory at multiples of `step` bytes.
extern "C" __global__ void rows(unsigned* out, int step) {
  __shared__ __align__(16) unsigned tile[1024];
  for (int i = threadIdx.x; i < 1024; i += 32) tile[i] = i;
  __syncthreads();
  unsigned y = 0;
  const char* at = reinterpret_cast<const char*>(tile) + threadIdx.x % 8 * step;
  asm volatile("{.reg .u64 a; cvta.to.shared.u64 a, %1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [a];}"
               : "=r"(y)
               : "l"(at));
  out[threadIdx.x] = y;
}

extern "C" __global__ void load(const unsigned short* matrix, unsigned* out, unsigned stride) {
  unsigned r[8];
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
               : "l"(matrix), "r"(stride));
  for (int i = 0; i < 8; ++i) out[i * 32 + threadIdx.x] = r[i];
}
