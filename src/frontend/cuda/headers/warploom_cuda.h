// The device header that every CUDA C++ compile includes first: what nvcc gives a source file without an #include.
#pragma once

#define __WARPLOOM__ 1
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#define CUDART_VERSION 12090
#define CUDA_VERSION 12090

#include <stddef.h>
#include <stdint.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
// Device memory without .attribute(.managed), which clang does not write.
#define __managed__ __attribute__((device))
#define __grid_constant__ __attribute__((grid_constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define CUDARTAPI
#define CUDART_CB

// Functions of these headers carry no debug lines: after inlining their instructions belong to the caller's line.
#define WL_DEVICE static inline __attribute__((device, always_inline, nodebug, unused))
#define WL_DEVICE_CALL static __attribute__((device, noinline, nodebug, unused))
#define WL_DEVICE_TABLE static const __attribute__((device))
#define WL_HOST_DEVICE static inline __attribute__((host, device, always_inline, nodebug, unused))
#define WL_DEVICE_MEMBER inline __attribute__((device, always_inline, nodebug))
#define WL_MEMBER inline __attribute__((host, device, always_inline, nodebug))

#include "warploom_cuda/types.h"
#include "warploom_cuda/builtin_variables.h"
#include "warploom_cuda/runtime_api.h"
#include "warploom_cuda/texture_api.h"
#include "warploom_cuda/sync.h"
#include "warploom_cuda/warp.h"
#include "warploom_cuda/atomics.h"
#include "warploom_cuda/integer.h"
#include "warploom_cuda/convert.h"
#include "warploom_cuda/memory.h"
#include "warploom_cuda/texture.h"
#include "warploom_cuda/surface.h"
#include "warploom_cuda/math.h"
#include "warploom_cuda/library.h"
