// Every memory space, every width, and pointers whose space is known only at run time.
__constant__ int constant_table[64];
__device__ int global_table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ double global_double = 2.5;
__device__ unsigned counter;
extern __shared__ int dynamic_ints[];
extern __shared__ double dynamic_doubles[];

struct Mixed {
  char c;
  short s;
  int i;
  long long l;
  float f;
  double d;
  unsigned char bytes[5];
};

__global__ void reverse_static(const int* in, int* out) {
  __shared__ int tile[256];
  tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void reverse_dynamic(const int* in, int* out) {
  dynamic_ints[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = dynamic_ints[blockDim.x - 1 - threadIdx.x];
}

// All extern arrays begin at the same address.
__global__ void dynamic_arrays_alias(int* out) {
  if (threadIdx.x == 0) dynamic_doubles[0] = 1.0;
  __syncthreads();
  out[threadIdx.x] = dynamic_ints[threadIdx.x & 1];
}

__global__ void static_and_dynamic(int* out) {
  __shared__ int fixed[64];
  fixed[threadIdx.x] = threadIdx.x;
  dynamic_ints[threadIdx.x] = 1000 + threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = fixed[63 - threadIdx.x] * 10000 + dynamic_ints[63 - threadIdx.x];
}

__global__ void constants(int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = constant_table[i % 64] + constant_table[5];
}

__global__ void globals(int* out) {
  int i = threadIdx.x;
  out[i] = global_table[i % 8] + static_cast<int>(global_double * 2);
  __syncthreads();
  if (i < 8) global_table[i] = -i;
  atomicAdd(&counter, 1u);
}

// A local array that is indexed by data lives in local memory.
__global__ void local_array(const int* index, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int a[32];
  for (int k = 0; k < 32; ++k) a[k] = i * 100 + k;
  for (int k = 0; k < 16; ++k) {
    int at = index[(i + k) & 63] & 31;
    a[at] += a[(at + k) & 31];
  }
  int sum = 0;
  for (int k = 0; k < 32; ++k) sum = sum * 31 + a[k];
  out[i] = sum;
}

// The same load instruction reads shared, global, local or constant memory, by lane.
__global__ void generic_pointers(int* in, int* out) {
  __shared__ int tile[32];
  int local[4] = {(int)threadIdx.x, 7, 8, 9};
  tile[threadIdx.x] = 100 + threadIdx.x;
  __syncthreads();
  const int* p;
  switch (threadIdx.x & 3) {
    case 0: p = &tile[31 - threadIdx.x]; break;
    case 1: p = &in[threadIdx.x]; break;
    case 2: p = &local[in[threadIdx.x] & 3]; break;
    default: p = &constant_table[threadIdx.x]; break;
  }
  out[threadIdx.x] = *p;
  int* q = (threadIdx.x & 1) ? &tile[threadIdx.x] : &in[threadIdx.x];
  *q += 5;
  __syncthreads();
  out[32 + threadIdx.x] = tile[threadIdx.x];
}

__global__ void struct_by_value(Mixed m, Mixed* out) {
  Mixed r = m;
  r.c += threadIdx.x;
  r.s -= threadIdx.x;
  r.i *= 2;
  r.l += 1ll << 40;
  r.f = m.f * 0.5f;
  r.d = m.d + m.f;
  r.bytes[threadIdx.x % 5] = 200 + threadIdx.x;
  out[threadIdx.x] = r;
}

__global__ void widths(const signed char* c, const unsigned short* s, const float2* f2, const int4* i4,
                       const double2* d2, long long* out) {
  int i = threadIdx.x;
  float2 f = f2[i];
  int4 v = i4[i];
  double2 d = d2[i];
  out[i] = c[i] * 3ll + s[i] + static_cast<int>(f.x - f.y) + v.x + v.y * 2 + v.z * 3 + v.w * 4 +
           static_cast<long long>(d.x * d.y);
}

__global__ void copy_vectors(const float4* a, float4* b, const uchar4* c, uchar4* d, const short2* e, short2* f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  b[i] = a[i];
  d[i] = c[i];
  f[i] = e[i];
}

// Overlapping stores of one warp: which lane wins is open, but it is one of them, whole.
__global__ void same_address(int* out) { *out = 1000 + threadIdx.x; }

__global__ void write_at(int* p, long long offset) { p[offset] = 1; }
__global__ void read_at(const int* p, long long offset, int* out) { *out = p[offset]; }
