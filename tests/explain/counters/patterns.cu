// Recorder: launches every pattern of patterns.hpp as one warp, so that a profiler can read its counters.
#include <cstdio>

#include "patterns.hpp"

struct Index {
  unsigned mask;
  unsigned index[32];
};

#define LANE                \
  unsigned t = threadIdx.x; \
  if (!((p.mask >> t) & 1)) return;

template <int N>
__global__ void shared_load(Index p) {
  __shared__ uint4 s[1100];
  LANE unsigned a = (unsigned)__cvta_generic_to_shared(s) + p.index[t] * N;
  unsigned x, y, z, w;
  if (N == 4) asm volatile("ld.volatile.shared.u32 %0,[%1];" : "=r"(x) : "r"(a) : "memory");
  if (N == 8) asm volatile("ld.volatile.shared.v2.u32 {%0,%1},[%2];" : "=r"(x), "=r"(y) : "r"(a) : "memory");
  if (N == 16)
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3},[%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "r"(a)
                 : "memory");
}
template <int N>
__global__ void shared_store(Index p) {
  __shared__ uint4 s[1100];
  LANE unsigned a = (unsigned)__cvta_generic_to_shared(s) + p.index[t] * N;
  if (N == 4) asm volatile("st.volatile.shared.u32 [%1],%0;" ::"r"(t), "r"(a) : "memory");
  if (N == 8) asm volatile("st.volatile.shared.v2.u32 [%1],{%0,%0};" ::"r"(t), "r"(a) : "memory");
  if (N == 16) asm volatile("st.volatile.shared.v4.u32 [%1],{%0,%0,%0,%0};" ::"r"(t), "r"(a) : "memory");
}
template <int N>
__global__ void shared_red(Index p) {
  __shared__ uint4 s[1100];
  LANE unsigned a = (unsigned)__cvta_generic_to_shared(s) + p.index[t] * N;
  asm volatile("red.shared.add.u32 [%0],%1;" ::"r"(a), "r"(t) : "memory");
}
template <int N>
__global__ void shared_atom(Index p, unsigned* out) {
  __shared__ uint4 s[1100];
  LANE unsigned a = (unsigned)__cvta_generic_to_shared(s) + p.index[t] * N;
  if (N == 4) {
    unsigned r;
    asm volatile("atom.shared.add.u32 %0,[%1],%2;" : "=r"(r) : "r"(a), "r"(t) : "memory");
    out[t] = r;
  } else {
    unsigned long long r;
    asm volatile("atom.shared.exch.b64 %0,[%1],%2;" : "=l"(r) : "r"(a), "l"((unsigned long long)t) : "memory");
    out[t] = (unsigned)r;
  }
}
template <int N>
__global__ void global_load(Index p, char* g, unsigned* out) {
  LANE char* a = g + p.index[t] * N;
  unsigned x = 0, y = 0, z = 0, w = 0;
  if (N == 4) asm volatile("ld.global.u32 %0,[%1];" : "=r"(x) : "l"(a) : "memory");
  if (N == 16)
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(a) : "memory");
  out[t] = x + y + z + w;
}
template <int N>
__global__ void global_store(Index p, char* g) {
  LANE char* a = g + p.index[t] * N;
  if (N == 4) asm volatile("st.global.u32 [%1],%0;" ::"r"(t), "l"(a) : "memory");
}
template <int N>
__global__ void global_red(Index p, char* g) {
  LANE char* a = g + p.index[t] * N;
  if (N == 4) asm volatile("red.global.add.u32 [%0],%1;" ::"l"(a), "r"(t) : "memory");
  if (N == 8) asm volatile("red.global.add.u64 [%0],%1;" ::"l"(a), "l"((unsigned long long)t) : "memory");
}
template <int N>
__global__ void global_atom(Index p, char* g, unsigned* out) {
  LANE char* a = g + p.index[t] * N;
  if (N == 4) {
    unsigned r;
    asm volatile("atom.global.add.u32 %0,[%1],%2;" : "=r"(r) : "l"(a), "r"(t) : "memory");
    out[t] = r;
  } else {
    unsigned long long r;
    asm volatile("atom.global.add.u64 %0,[%1],%2;" : "=l"(r) : "l"(a), "l"((unsigned long long)t) : "memory");
    out[t] = (unsigned)r;
  }
}
template <int N>
__global__ void local_load(Index p, unsigned* out) {
  __align__(16) unsigned a[64];
  for (int k = 0; k < 64; ++k) asm volatile("st.u32 [%0],%1;" ::"l"(&a[k]), "r"(k) : "memory");
  LANE unsigned x = 0, y = 0, z = 0, w = 0;
  const unsigned* from = a + p.index[t] * (N / 4);
  if (N == 4)
    asm volatile("{.reg .u64 l; cvta.to.local.u64 l,%1; ld.local.u32 %0,[l];}" : "=r"(x) : "l"(from) : "memory");
  if (N == 16)
    asm volatile("{.reg .u64 l; cvta.to.local.u64 l,%4; ld.local.v4.u32 {%0,%1,%2,%3},[l];}"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "l"(from)
                 : "memory");
  out[t] = x + y + z + w;
}

int main() {
  char* g;
  unsigned* out;
  if (cudaMalloc(&g, 1 << 16) != cudaSuccess || cudaMalloc(&out, 128) != cudaSuccess) return 1;
  for (const patterns::Pattern& pattern : patterns::all()) {
    Index p{pattern.mask, {}};
    for (int t = 0; t < 32; ++t) p.index[t] = pattern.index[t];
    using patterns::Kind;
#define CASE(kernel, size, ...) \
  if (pattern.kind == Kind::kernel && pattern.bytes == size) kernel<size><<<1, 32>>>(p, ##__VA_ARGS__)
    CASE(shared_load, 4);
    CASE(shared_load, 8);
    CASE(shared_load, 16);
    CASE(shared_store, 4);
    CASE(shared_store, 8);
    CASE(shared_store, 16);
    CASE(shared_red, 4);
    CASE(shared_atom, 4, out);
    CASE(shared_atom, 8, out);
    CASE(global_load, 4, g, out);
    CASE(global_load, 16, g, out);
    CASE(global_store, 4, g);
    CASE(global_red, 4, g);
    CASE(global_red, 8, g);
    CASE(global_atom, 4, g, out);
    CASE(local_load, 4, out);
    CASE(local_load, 16, out);
  }
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
