// Attention without its matrix of scores: tiles of keys and values in shared memory and an online softmax, in float32
// on the ordinary units and in float16 on the matrix units. Heads of 64 elements; any length.

constexpr int kWidth = 64;

// How scores become powers of two: 1 / sqrt(64), times log2(e).
constexpr float kScale = 0.125f * 1.4426950408889634f;

// A power of two as the hardware gives it, within 2^-22 (PTX, "ex2.approx").
__device__ float power(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

// [f32]
// out[h] = softmax(q[h] k[h]^T / 8) v[h], all (heads, length, 64); the grid is (length / 128 rounded up, heads), blocks
// have 256 threads and kAttentionShared bytes of shared memory. Threads form 16 x 16: each has 8 queries by 4 keys of
// the scores and 8 queries by 4 elements of the result.
__global__ void __launch_bounds__(256, 2)
    attention_f32(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                  float* __restrict__ out, int length) {
  constexpr int kQueries = 128, kKeys = 64, kQ = kQueries + 4, kK = kKeys + 4;
  extern __shared__ __align__(16) float shared[];
  float* const qs = shared;               // [element][query]
  float* const ks = qs + kWidth * kQ;     // [element][key]
  float* const vs = ks + kWidth * kK;     // [key][element]
  float* const ps = vs + kKeys * kWidth;  // weights, [key][query]
  const int t = threadIdx.x, col = t % 16 * 4, row = t / 16 * 8, first = blockIdx.x * kQueries;
  const size_t head = (size_t)blockIdx.y * length * kWidth;
  q += head, k += head, v += head, out += head;

  // Four elements of a row, or zeros beyond the last row.
  const auto fetch = [&](const float* from, int at, int element) {
    return at < length ? *(const float4*)(from + (size_t)at * kWidth + element) : make_float4(0, 0, 0, 0);
  };
  for (int i = t; i < kQueries * kWidth / 4; i += 256) {
    const int query = i / 16, element = i % 16 * 4;
    const float4 x = fetch(q, first + query, element);
    qs[(element + 0) * kQ + query] = x.x * kScale;
    qs[(element + 1) * kQ + query] = x.y * kScale;
    qs[(element + 2) * kQ + query] = x.z * kScale;
    qs[(element + 3) * kQ + query] = x.w * kScale;
  }
  float result[8][4] = {}, largest[8], total[8] = {};
  for (int i = 0; i < 8; ++i) largest[i] = -INFINITY;
  for (int start = 0; start < length; start += kKeys) {
    __syncthreads();
    for (int i = t; i < kKeys * kWidth / 4; i += 256) {
      const int key = i / 16, element = i % 16 * 4;
      const float4 x = fetch(k, start + key, element);
      ks[(element + 0) * kK + key] = x.x;
      ks[(element + 1) * kK + key] = x.y;
      ks[(element + 2) * kK + key] = x.z;
      ks[(element + 3) * kK + key] = x.w;
      *(float4*)&vs[key * kWidth + element] = fetch(v, start + key, element);
    }
    __syncthreads();
    float score[8][4] = {};
#pragma unroll 8
    for (int d = 0; d < kWidth; ++d) {
      float a[8], b[4];
      *(float4*)&a[0] = *(const float4*)&qs[d * kQ + row];
      *(float4*)&a[4] = *(const float4*)&qs[d * kQ + row + 4];
      *(float4*)&b[0] = *(const float4*)&ks[d * kK + col];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) score[i][j] += a[i] * b[j];
    }
    if (start + kKeys > length)
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 4; ++j)
          if (start + col + j >= length) score[i][j] = -INFINITY;
    // When the largest score so far grows, what was summed under the old one shrinks by the same factor.
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float grown = fmaxf(fmaxf(score[i][0], score[i][1]), fmaxf(score[i][2], score[i][3]));
      for (int step = 8; step > 0; step /= 2) grown = fmaxf(grown, __shfl_xor_sync(0xFFFFFFFF, grown, step));
      grown = fmaxf(grown, largest[i]);
      const float shrink = power(largest[i] - grown);
      largest[i] = grown;
      float sum = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        score[i][j] = power(score[i][j] - grown);
        sum += score[i][j];
        result[i][j] *= shrink;
      }
      total[i] = total[i] * shrink + sum;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float* const to = &ps[(col + j) * kQ + row];
      *(float4*)to = make_float4(score[0][j], score[1][j], score[2][j], score[3][j]);
      *(float4*)(to + 4) = make_float4(score[4][j], score[5][j], score[6][j], score[7][j]);
    }
    __syncwarp();  // a query's weights are written and read by the same half of a warp
#pragma unroll 8
    for (int key = 0; key < kKeys; ++key) {
      float a[8], b[4];
      *(float4*)&a[0] = *(const float4*)&ps[key * kQ + row];
      *(float4*)&a[4] = *(const float4*)&ps[key * kQ + row + 4];
      *(float4*)&b[0] = *(const float4*)&vs[key * kWidth + col];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) result[i][j] += a[i] * b[j];
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float sum = total[i];
    for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, step);
    const float scale = 1 / sum;
    if (first + row + i < length)
      *(float4*)(out + (size_t)(first + row + i) * kWidth + col) =
          make_float4(result[i][0] * scale, result[i][1] * scale, result[i][2] * scale, result[i][3] * scale);
  }
}
// [/f32]

// Two floats as halves, the first one in the lower bits.
__device__ unsigned halves(float low, float high) {
  unsigned out;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}

// c += a b of 16 x 16 and 16 x 8 halves, by the lanes of a warp (PTX, "Matrix Fragments for mma.m16n8k16").
__device__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices of halves, whose rows lie at the addresses of lanes 0 to 7, 8 to 15 and so on.
template <bool kTransposed>
__device__ void load_matrices(unsigned (&out)[4], const unsigned short* row) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(row);
  if (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(at)
                 : "memory");
}

// [f16]
// The same of halves, with sums in float32; the grid is (length / 128 rounded up, heads), blocks have 128 threads. Each
// of the four warps has 32 queries: two times the 16 rows of a matrix operation. While one tile is used the next one is
// on its way.
__global__ void __launch_bounds__(128)
    attention_f16(const unsigned short* __restrict__ q, const unsigned short* __restrict__ k,
                  const unsigned short* __restrict__ v, unsigned short* __restrict__ out, int length) {
  constexpr int kKeys = 64, kRow = kWidth + 8;  // rows 144 bytes apart lie in different banks
  __shared__ __align__(16) unsigned short ks[2][kKeys][kRow], vs[2][kKeys][kRow];
  const int t = threadIdx.x, lane = t % 32, group = lane / 4, pair = lane % 4 * 2;
  const int first = blockIdx.x * 128 + t / 32 * 32;
  const size_t head = (size_t)blockIdx.y * length * kWidth;
  q += head, k += head, v += head, out += head;

  const auto fetch = [&](int half, int start) {
    for (int i = t; i < kKeys * kWidth / 8; i += 128) {
      const int key = i / 8, element = i % 8 * 8;
      // Keys beyond the last one are zeros.
      const int bytes = start + key < length ? 16 : 0;
      const size_t at = (size_t)(bytes != 0 ? start + key : 0) * kWidth + element;
      const unsigned to_k = (unsigned)__cvta_generic_to_shared(&ks[half][key][element]);
      const unsigned to_v = (unsigned)__cvta_generic_to_shared(&vs[half][key][element]);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to_k), "l"(k + at), "r"(bytes) : "memory");
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to_v), "l"(v + at), "r"(bytes) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  fetch(0, 0);
  unsigned query[2][4][4];  // [16 queries][16 elements]
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int d = 0; d < 4; ++d)
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const int row = first + m * 16 + group + part % 2 * 8, element = d * 16 + pair + part / 2 * 8;
        query[m][d][part] = row < length ? *(const unsigned*)(q + (size_t)row * kWidth + element) : 0;
      }
  float result[2][8][4] = {}, largest[2][2], total[2][2] = {};
  for (int m = 0; m < 2; ++m) largest[m][0] = largest[m][1] = -INFINITY;
  for (int start = 0, half = 0; start < length; start += kKeys, half ^= 1) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    if (start + kKeys < length) fetch(half ^ 1, start + kKeys);
    float score[2][8][4] = {};
#pragma unroll
    for (int n = 0; n < 8; ++n)  // 8 keys
#pragma unroll
      for (int d = 0; d < 4; d += 2) {
        unsigned b[4];
        load_matrices<false>(b, &ks[half][n * 8 + lane % 8][d * 16 + lane / 8 * 8]);
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          multiply(score[m][n], query[m][d], b[0], b[1]);
          multiply(score[m][n], query[m][d + 1], b[2], b[3]);
        }
      }
    if (start + kKeys > length)
      for (int n = 0; n < 8; ++n)
        for (int m = 0; m < 2; ++m)
          for (int i = 0; i < 4; ++i)
            if (start + n * 8 + pair + i % 2 >= length) score[m][n][i] = -INFINITY;
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int r = 0; r < 2; ++r) {  // rows `group` and `group` + 8
        float grown = score[m][0][2 * r];
#pragma unroll
        for (int n = 0; n < 8; ++n) grown = fmaxf(grown, fmaxf(score[m][n][2 * r], score[m][n][2 * r + 1]));
        for (int step = 2; step > 0; step /= 2) grown = fmaxf(grown, __shfl_xor_sync(0xFFFFFFFF, grown, step));
        grown = fmaxf(grown * kScale, largest[m][r]);
        const float shrink = power(largest[m][r] - grown);
        largest[m][r] = grown;
        float sum = 0;
#pragma unroll
        for (int n = 0; n < 8; ++n)
#pragma unroll
          for (int i = 2 * r; i < 2 * r + 2; ++i) {
            score[m][n][i] = power(score[m][n][i] * kScale - grown);
            sum += score[m][n][i];
            result[m][n][i] *= shrink;
          }
        total[m][r] = total[m][r] * shrink + sum;
      }
#pragma unroll
    for (int key = 0; key < 4; ++key) {  // 16 keys
      // What a product leaves in the lanes is what the next one takes from them.
      unsigned weight[2][4];
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int part = 0; part < 4; ++part) {
          const float* s = &score[m][2 * key + part / 2][part % 2 * 2];
          weight[m][part] = halves(s[0], s[1]);
        }
#pragma unroll
      for (int d = 0; d < 4; ++d) {  // 16 elements
        unsigned b[4];
        load_matrices<true>(b, &vs[half][key * 16 + lane % 16][d * 16 + lane / 16 * 8]);
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          multiply(result[m][2 * d], weight[m], b[0], b[1]);
          multiply(result[m][2 * d + 1], weight[m], b[2], b[3]);
        }
      }
    }
  }
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float sum = total[m][r];
      for (int step = 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, step);
      const int row = first + m * 16 + group + r * 8;
      if (row >= length) continue;
      const float scale = 1 / sum;
      for (int d = 0; d < 8; ++d)
        *(unsigned*)(out + (size_t)row * kWidth + d * 8 + pair) =
            halves(result[m][d][2 * r] * scale, result[m][d][2 * r + 1] * scale);
    }
}
// [/f16]
