// Warp functions: every shuffle mode, width and type, partial masks, votes, matches, reductions.
__global__ void shuffle_idx(const int* source, int width, int* out) {
  out[threadIdx.x] = __shfl_sync(~0u, threadIdx.x * 3, source[threadIdx.x % 32], width);
}
__global__ void shuffle_up(unsigned delta, int width, int* out) {
  out[threadIdx.x] = __shfl_up_sync(~0u, (int)threadIdx.x * 3, delta, width);
}
__global__ void shuffle_down(unsigned delta, int width, int* out) {
  out[threadIdx.x] = __shfl_down_sync(~0u, (int)threadIdx.x * 3, delta, width);
}
__global__ void shuffle_xor(int mask, int width, int* out) {
  out[threadIdx.x] = __shfl_xor_sync(~0u, (int)threadIdx.x * 3, mask, width);
}
__global__ void shuffle_types(double* d, long long* l, float* f) {
  int t = threadIdx.x;
  d[t] = __shfl_xor_sync(~0u, t * 1.25 + 1e100, 5);
  l[t] = __shfl_down_sync(~0u, (long long)t * 1000000007ll * 1000000007ll, 3);
  f[t] = __shfl_up_sync(~0u, t * 0.5f, 2);
}
// Only the named lanes take part.
__global__ void shuffle_partial(int* out) {
  int t = threadIdx.x;
  out[t] = -1;
  if (t < 12) out[t] = __shfl_down_sync(0xfffu, t * 7, 1, 4);
  if (t >= 16) out[t] = __shfl_xor_sync(0xffff0000u, t * 7, 1);
}

__global__ void votes(const int* in, unsigned* out) {
  int t = threadIdx.x, p = in[t];
  out[t * 5] = __ballot_sync(~0u, p & 1);
  out[t * 5 + 1] = __all_sync(~0u, p & 2);
  out[t * 5 + 2] = __any_sync(~0u, p & 4);
  out[t * 5 + 3] = __uni_sync(~0u, p & 8);
  out[t * 5 + 4] = __activemask();
}

__global__ void matches(const int* in, unsigned* any, unsigned* all, int* same) {
  int t = threadIdx.x;
  any[t] = __match_any_sync(~0u, in[t]);
  all[t] = __match_all_sync(~0u, in[t] & 8, &same[t]);
}
__global__ void matches_wide(const unsigned long long* in, unsigned* any) {
  any[threadIdx.x] = __match_any_sync(~0u, in[threadIdx.x]);
}

__global__ void reductions(const int* in, unsigned* out) {
  int t = threadIdx.x, v = in[t];
  unsigned* o = out + t * 9;
  o[0] = __reduce_add_sync(~0u, v);
  o[1] = __reduce_min_sync(~0u, v);
  o[2] = __reduce_max_sync(~0u, v);
  o[3] = __reduce_min_sync(~0u, (unsigned)v);
  o[4] = __reduce_max_sync(~0u, (unsigned)v);
  o[5] = __reduce_and_sync(~0u, (unsigned)v);
  o[6] = __reduce_or_sync(~0u, (unsigned)v);
  o[7] = __reduce_xor_sync(~0u, (unsigned)v);
  o[8] = __reduce_add_sync((t & 1) ? 0xaaaaaaaau : 0x55555555u, (unsigned)t);
}

// A block sum by shuffles, for any block size.
__global__ void block_sum(const int* in, int* out) {
  __shared__ int partial[32];
  int t = threadIdx.x, n = blockDim.x, lane = t & 31;
  int v = in[blockIdx.x * n + t];
  unsigned present = __ballot_sync(__activemask(), 1);
  for (int d = 16; d > 0; d /= 2) {
    int other = __shfl_down_sync(present, v, d);
    if (lane + d < __popc(present)) v += other;
  }
  if (lane == 0) partial[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (int w = 0; w < (n + 31) / 32; ++w) sum += partial[w];
    out[blockIdx.x] = sum;
  }
}

// A prefix sum over the warp.
__global__ void warp_scan(const int* in, int* out) {
  int t = threadIdx.x, lane = t & 31, v = in[t];
  for (int d = 1; d < 32; d *= 2) {
    int other = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += other;
  }
  out[t] = v;
}
