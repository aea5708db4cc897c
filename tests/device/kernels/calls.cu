// Functions that stay calls: arguments and results of several types, recursion, pointers to functions.
struct Pair {
  int a;
  double b;
  short c[3];
};

__device__ __noinline__ int add3(int a, int b, int c) { return a + b * 2 + c * 3; }
__device__ __noinline__ double wide(char a, short b, int c, long long d, float e, double f) {
  return a + b + c + d + e + f;
}
__device__ __noinline__ Pair make_pair(int i) {
  Pair p = {i * 2, i * 0.5, {(short)i, (short)(i + 1), (short)-i}};
  return p;
}
__device__ __noinline__ int take_pair(Pair p, int k) { return p.a + (int)p.b + p.c[k]; }
__device__ __noinline__ void through_pointers(const int* in, int* out, int* extra) {
  *out = *in + 1;
  *extra = *in * 2;
}
__device__ __noinline__ int diverging(int i) {
  if (i & 1) return add3(i, 1, 2);
  int r = 0;
  for (int k = 0; k < (i & 7); ++k) r += add3(k, i, 0);
  return r;
}

__global__ void calls(const int* in, int* out, double* wide_out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ int shared[64];
  int local = in[i], extra = 0;
  through_pointers(&local, &shared[threadIdx.x], &extra);
  Pair p = make_pair(in[i]);
  out[i * 4] = add3(in[i], i, 7);
  out[i * 4 + 1] = take_pair(p, i % 3);
  out[i * 4 + 2] = shared[threadIdx.x] + extra;
  out[i * 4 + 3] = diverging(i);
  wide_out[i] = wide((char)i, (short)(i * 3), i * 5, i * 10000000000ll, i * 0.25f, i * 0.125);
}

// Called by some lanes only.
__global__ void call_in_branch(int* out) {
  int i = threadIdx.x;
  out[i] = (i % 3 == 0) ? add3(i, i, i) : (i % 3 == 1) ? diverging(i) : -1;
}

__device__ __noinline__ unsigned factorial(unsigned n) { return n < 2 ? 1 : n * factorial(n - 1); }
__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ unsigned odd(unsigned n);
__device__ __noinline__ unsigned even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ unsigned odd(unsigned n) { return n == 0 ? 0 : even(n - 1); }
__global__ void recursion(unsigned* out) {
  unsigned i = threadIdx.x;
  out[i * 3] = factorial(i % 13);
  out[i * 3 + 1] = fibonacci(i % 11);
  out[i * 3 + 2] = even(i);
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int op_add(int a, int b) { return a + b; }
__device__ __noinline__ int op_mul(int a, int b) { return a * b; }
__device__ __noinline__ int op_sub(int a, int b) { return a - b; }
__device__ Operation operations[3] = {op_add, op_mul, op_sub};
__global__ void indirect(const int* which, int* out) {
  int i = threadIdx.x;
  out[i] = operations[which[i]](i, 10);
}
// The same function for the whole block.
__global__ void indirect_uniform(int which, int* out) { out[threadIdx.x] = operations[which](threadIdx.x, 10); }
