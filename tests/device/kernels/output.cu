// What a kernel says: printf, assert, trap.
#include <cassert>
#include <cstdio>

__global__ void print_values(int n) {
  int i = threadIdx.x;
  if (i < n)
    printf("i=%d u=%u x=%x c=%c f=%.3f e=%e s=%s p%%\n", -i, i + 1u, i + 255, 'a' + i, i * 0.5, 1e10 * i, "text");
}
__global__ void print_long(long long v, unsigned long long u, double d) {
  printf("%lld %llu %g %5d|%-5d|\n", v, u, d, 42, 7);
}
__global__ void print_nothing() { printf("no arguments\n"); }
__global__ void print_ordered() { printf("block %d thread %d\n", (int)blockIdx.x, (int)threadIdx.x); }

__global__ void check(const int* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(in[i] != 13);
}
__global__ void trap_at(int where) {
  if ((int)threadIdx.x == where) __trap();
}
