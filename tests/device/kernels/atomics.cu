// Atomics of every operation and width, on global and on shared memory; each thread gets a distinct operand.
struct Results {
  int add_i, min_i, max_i, and_i, or_i, xor_i, sub_i;
  unsigned add_u, min_u, max_u, inc_u, dec_u, and_u, or_u, xor_u;
  unsigned long long add_q, min_q, max_q, and_q, or_q, xor_q;
  long long min_l, max_l;
  float add_f;
  double add_d;
};

__device__ void apply(Results* r, int i) {
  atomicAdd(&r->add_i, i - 50);
  atomicSub(&r->sub_i, i);
  atomicMin(&r->min_i, (i * 37) % 101 - 50);
  atomicMax(&r->max_i, (i * 37) % 101 - 50);
  atomicAnd(&r->and_i, ~(1 << (i % 20)));
  atomicOr(&r->or_i, 1 << (i % 20));
  atomicXor(&r->xor_i, i * 977);
  atomicAdd(&r->add_u, i * 3u);
  atomicMin(&r->min_u, 4000000000u + i);
  atomicMax(&r->max_u, 4000000000u + i);
  atomicInc(&r->inc_u, 12u);
  atomicDec(&r->dec_u, 12u);
  atomicAnd(&r->and_u, ~(1u << (i % 31)));
  atomicOr(&r->or_u, 1u << (i % 31));
  atomicXor(&r->xor_u, i * 1000003u);
  atomicAdd(&r->add_q, i * 10000000000ull);
  atomicMin(&r->min_q, (1ull << 63) + i);
  atomicMax(&r->max_q, (1ull << 63) + i);
  atomicAnd(&r->and_q, ~(1ull << (i % 63)));
  atomicOr(&r->or_q, 1ull << (i % 63));
  atomicXor(&r->xor_q, i * 1000000007ull * 1000003ull);
  atomicMin(&r->min_l, -(long long)i * 10000000000ll);
  atomicMax(&r->max_l, -(long long)i * 10000000000ll);
  atomicAdd(&r->add_f, (float)(i % 16));
  atomicAdd(&r->add_d, i * 0.5);
}

__global__ void on_global(Results* r) { apply(r, blockIdx.x * blockDim.x + threadIdx.x); }

// One block; the result is copied out at the end.
__global__ void on_shared(Results* r) {
  __shared__ Results s;
  if (threadIdx.x == 0) s = *r;
  __syncthreads();
  apply(&s, threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) *r = s;
}

// What an atomic returns: tickets are all different.
__global__ void tickets(unsigned* counter, unsigned* ticket) {
  ticket[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1u);
}
__global__ void tickets_shared(unsigned* ticket) {
  __shared__ unsigned counter;
  if (threadIdx.x == 0) counter = 0;
  __syncthreads();
  ticket[threadIdx.x] = atomicInc(&counter, ~0u);
}

// An exchange chain: each value is handed on exactly once.
__global__ void exchanges(int* cell, int* got, float* cell_f, float* got_f, unsigned long long* cell_q,
                          unsigned long long* got_q) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  got[i] = atomicExch(cell, i);
  got_f[i] = atomicExch(cell_f, (float)i);
  got_q[i] = atomicExch(cell_q, (unsigned long long)i << 33);
}

// Compare-and-swap loops: a maximum in float, a product, and 16 bits.
__global__ void cas_loops(const float* in, float* largest, unsigned long long* product, unsigned short* half) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int* cell = reinterpret_cast<int*>(largest);
  int old = *cell;
  while (__int_as_float(old) < in[i]) {
    int seen = atomicCAS(cell, old, __float_as_int(in[i]));
    if (seen == old) break;
    old = seen;
  }
  unsigned long long p = *product;
  while (true) {
    unsigned long long seen = atomicCAS(product, p, p * 3);
    if (seen == p) break;
    p = seen;
  }
  unsigned short h = half[i & 1];
  while (true) {
    unsigned short seen = atomicCAS(&half[i & 1], h, (unsigned short)(h + 5));
    if (seen == h) break;
    h = seen;
  }
}

__global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], s[i]);
}

// The scoped forms.
__global__ void scopes(unsigned* out) {
  __shared__ unsigned s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  atomicAdd_block(&s, 2u);
  atomicMax_block(&out[1], threadIdx.x);
  atomicAdd_system(&out[2], 1u);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd_system(&out[0], s);
}
