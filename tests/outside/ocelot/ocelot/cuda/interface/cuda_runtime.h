// What Ocelot's tests of PTX call of the CUDA runtime of their time; runner.cpp defines it on the CPU device.
#pragma once
#include <math.h>  // for isnan outside std too
#include <cstddef>

#undef issubnormal  // the tests have functions of that name

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_, unsigned y_, unsigned z_) : x(x_), y(y_), z(z_) {}
};
struct cudaDeviceProp {
  char name[256];
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };

void cudaGetDeviceCount(int* count);
void cudaSetDevice(int device);
void cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
void cudaMalloc(void** address, std::size_t bytes);
void cudaMemset(void* address, int value, std::size_t bytes);
void cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
void cudaFree(void* address);
void cudaSetupArgument(const void* argument, std::size_t bytes, std::size_t offset);
void cudaConfigureCall(dim3 grid, dim3 block, std::size_t shared_bytes, int stream);
void cudaThreadSynchronize();
