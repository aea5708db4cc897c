#!/usr/bin/env python3
"""Measures the Python front end against its stated expectations: compile time, launches, kernels beside CUDA C++ twins.

Prints one line for each expectation and, with --json FILE, writes them. Run it on a quiet machine: `make bench`.
The peers' figures (Numba's simulator: threads and multiply-adds per second) were measured on such a machine; see
docs/reference/performance.md.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
import warnings

os.environ.setdefault("WARPLOOM_CACHE", "0")  # compile times, not load times
import numpy as np

from warploom import _core, cuda
from warploom.cuda import frontend

warnings.simplefilter("ignore")
SIMULATOR_THREADS = 1900.0  # Numba's simulator on vector add: threads a second
SIMULATOR_FMA = 13000.0  # on the tiled matmul: multiply-adds a second
TILE = 16
rows = []


def report(name, wanted, limit, value, unit, smaller=True):
    met = value <= limit if smaller else value >= limit
    rows.append({"name": name, "wanted": limit, "value": value, "unit": unit, "met": met})
    print(f"{name:52} {wanted:>14} {value:14,.2f} {unit:9} {'met' if met else 'MISSED'}", flush=True)


def best(function, repeats=5):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


# --- the kernels, and their twins in CUDA C++ -------------------------------------------------------------------------


def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def saxpy(alpha, x, y):
    for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
        y[i] = alpha * x[i] + y[i]


def matmul_naive(a, b, c):
    x, y = cuda.grid(2)
    if y < c.shape[0] and x < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[y, k] * b[k, x]
        c[y, x] = total


def matmul_tiled(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for t in range(a.shape[1] // TILE):
        tile_a[ty, tx] = a[y, t * TILE + tx]
        tile_b[ty, tx] = b[t * TILE + ty, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[y, x] = total


def transpose(a, b):
    tile = cuda.shared.array((TILE, TILE + 1), np.float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    b[cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx] = tile[tx, ty]


def blur(image, result):
    x, y = cuda.grid(2)
    h, w = image.shape
    if 0 < x and x < w - 1 and 0 < y and y < h - 1:
        total = np.float32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                total += image[y + dy, x + dx]
        result[y, x] = total * np.float32(1 / 9)


def softmax(a, result):
    row = cuda.grid(1)
    if row < a.shape[0]:
        top = a[row, 0]
        for k in range(1, a.shape[1]):
            top = max(top, a[row, k])
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += math.exp(a[row, k] - top)
        for k in range(a.shape[1]):
            result[row, k] = math.exp(a[row, k] - top) / total


TWINS = r"""
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void saxpy(float alpha, const float* x, float* y, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (long long)blockDim.x)
    y[i] = alpha * x[i] + y[i];
}
extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, long long n) {
  long long x = blockIdx.x * (long long)blockDim.x + threadIdx.x, y = blockIdx.y * (long long)blockDim.y + threadIdx.y;
  if (y < n && x < n) {
    float total = 0;
    for (long long k = 0; k < n; ++k) total += a[y * n + k] * b[k * n + x];
    c[y * n + x] = total;
  }
}
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, long long n) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  long long x = blockIdx.x * (long long)blockDim.x + threadIdx.x, y = blockIdx.y * (long long)blockDim.y + threadIdx.y;
  int tx = threadIdx.x, ty = threadIdx.y;
  float total = 0;
  for (long long t = 0; t < n / 16; ++t) {
    tile_a[ty][tx] = a[y * n + t * 16 + tx];
    tile_b[ty][tx] = b[(t * 16 + ty) * n + x];
    __syncthreads();
    for (int k = 0; k < 16; ++k) total += tile_a[ty][k] * tile_b[k][tx];
    __syncthreads();
  }
  c[y * n + x] = total;
}
extern "C" __global__ void transpose(const float* a, float* b, long long n) {
  __shared__ float tile[16][17];
  long long x = blockIdx.x * (long long)blockDim.x + threadIdx.x, y = blockIdx.y * (long long)blockDim.y + threadIdx.y;
  int tx = threadIdx.x, ty = threadIdx.y;
  tile[ty][tx] = a[y * n + x];
  __syncthreads();
  b[(blockIdx.x * 16 + ty) * n + blockIdx.y * 16 + tx] = tile[tx][ty];
}
extern "C" __global__ void blur(const float* image, float* result, long long n) {
  long long x = blockIdx.x * (long long)blockDim.x + threadIdx.x, y = blockIdx.y * (long long)blockDim.y + threadIdx.y;
  if (0 < x && x < n - 1 && 0 < y && y < n - 1) {
    float total = 0;
    for (int dy = -1; dy < 2; ++dy)
      for (int dx = -1; dx < 2; ++dx) total += image[(y + dy) * n + x + dx];
    result[y * n + x] = total * (float)(1.0 / 9);
  }
}
extern "C" __global__ void softmax(const float* a, float* result, long long n) {
  long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (row < n) {
    float top = a[row * n];
    for (long long k = 1; k < n; ++k) top = fmaxf(top, a[row * n + k]);
    float total = 0;
    for (long long k = 0; k < n; ++k) total += expf(a[row * n + k] - top);
    for (long long k = 0; k < n; ++k) result[row * n + k] = expf(a[row * n + k] - top) / total;
  }
}
"""


def compile_times():
    array = "array(float32,{},C)"
    for name, function, ndim, limit in (("vector add", vector_add, 1, 25), ("tiled matmul", matmul_tiled, 2, 60)):
        shape = (64,) * ndim
        arrays = [cuda.to_device(np.ones(shape, np.float32)) for _ in range(3)]
        grid, block = ((1, 64) if ndim == 1 else ((4, 4), (TILE, TILE)))

        def first_call():
            cuda.jit(function)[grid, block](*arrays)
            cuda.synchronize()

        first_call()
        report(f"first call of {name}, warm process", f"<= {limit} ms", limit, best(first_call, 9) * 1e3, "ms")
        front = best(lambda: frontend.compile(function, [array.format(ndim)] * 3), 9)
        print(f"{'  of that, Python to PTX':52} {'':14} {front * 1e3:14,.2f} ms")
    imported = min(float(subprocess.run([sys.executable, "-c", "import time; t = time.perf_counter(); import numpy\n"
                                         "n = time.perf_counter(); from warploom import cuda\n"
                                         "print(time.perf_counter() - n)"], capture_output=True, text=True,
                                        check=True).stdout) for _ in range(5))
    report("import, NumPy's own import aside", "<= 0.3 s", 0.3, imported, "s")


def launches():
    arrays = [cuda.to_device(np.ones(128, np.float32)) for _ in range(4)]

    @cuda.jit
    def four(a, b, c, d):
        i = cuda.grid(1)
        if i < d.size:
            d[i] = a[i] + b[i] + c[i]

    configured = four[1, 128]
    configured(*arrays)
    count = 5000

    def many():
        for _ in range(count):
            four[1, 128](*arrays)

    times = []
    for _ in range(7):
        cuda.synchronize()
        start = time.perf_counter()
        many()
        times.append((time.perf_counter() - start) / count)
        cuda.synchronize()
    report("launch with four device arrays, from Python", "<= 4 us", 4, min(times) * 1e6, "us")
    host = np.ones(1000, np.float32)

    @cuda.jit
    def increment(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    increment[8, 128](host)
    report("launch with a host array of 1,000, in and out", "<= 15 us", 15,
           best(lambda: [increment[8, 128](host) for _ in range(1000)]) / 1000 * 1e6, "us")


def memory():
    pool, stream, count = cuda.MemoryPool(release_threshold=1 << 30), cuda.stream(), 10000

    def each(call):
        times = []
        for _ in range(9):
            start = time.process_time()  # one thread: a busy machine measures the same
            for _ in range(count):
                call()
            times.append(time.process_time() - start)
        return min(times) / count * 1e6

    report("allocate and free, warm pool", "<= 2 us", 2, each(lambda: pool.deallocate(pool.allocate(4096))), "us")
    report("the same on a stream", "<= 2 us", 2,
           each(lambda: pool.deallocate(pool.allocate(4096, stream), stream=stream)), "us")
    report("device_array and its release", "<= 2 us", 2, each(lambda: cuda.device_array(1024, np.float32)), "us")
    host = np.zeros(32, np.float32)
    array = cuda.to_device(host)
    report("to_device of 32 numbers", "<= 6 us", 6, each(lambda: cuda.to_device(host)), "us")
    report("copy_to_host of 32 numbers", "<= 4 us", 4, each(lambda: array.copy_to_host(host)), "us")


def kernels():
    device = cuda.current_context()._core_device
    module = device.load_ptx(_core.compile_cuda(TWINS, name="twins.cu"), "twins")
    n, line = 1024, 1 << 22
    square = [cuda.to_device(np.random.default_rng(i).random((n, n), np.float32)) for i in range(3)]
    flat = [cuda.to_device(np.random.default_rng(i).random(line, np.float32)) for i in range(3)]
    cases = (
        (vector_add, flat, (line // 256,), (256,), line, None),
        (saxpy, flat[:2], (256,), (256,), line, np.float32(2)),
        (matmul_naive, square, (n // 16, n // 16), (16, 16), n, None),
        (matmul_tiled, square, (n // 16, n // 16), (16, 16), n, None),
        (transpose, square[:2], (n // 16, n // 16), (16, 16), n, None),
        (blur, square[:2], (n // 32, n // 8), (32, 8), n, None),
        (softmax, square[:2], (n // 64,), (64,), n, None),
    )
    for function, arrays, grid, block, size, alpha in cases:
        kernel = cuda.jit(function)
        arguments = ([alpha] if alpha is not None else []) + list(arrays)
        twin = _core.Launcher(module.kernel(function.__name__),
                              (["float32"] if alpha is not None else []) + ["uint64"] * len(arrays) + ["int64"])
        addresses = tuple(([alpha] if alpha is not None else []) +
                          [a.__cuda_array_interface__["data"][0] for a in arrays] + [size])

        def python():
            kernel[grid, block](*arguments)
            cuda.synchronize()

        def cpp():
            twin.launch(grid, block, None, 0, False, addresses)
            device.synchronize()

        python()
        cpp()
        ours, theirs = [], []
        end = time.perf_counter() + 3
        while len(ours) < 7 or (time.perf_counter() < end and len(ours) < 200):
            ours.append(best(python, 1))  # turn about, so that both see the same machine
            theirs.append(best(cpp, 1))
        report(f"{function.__name__} beside its CUDA C++ twin", "<= 1.1 x", 1.1, min(ours) / min(theirs), "x")
        if function is vector_add:
            report("vector add beside Numba's simulator", ">= 10,000 x", 10000,
                   line / min(ours) / SIMULATOR_THREADS, "x", False)
        if function is matmul_tiled:
            report("tiled matmul beside Numba's simulator", ">= 200,000 x", 200000,
                   n**3 / min(ours) / SIMULATOR_FMA, "x", False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    options = parser.parse_args()
    print(f"{'expectation':52} {'wanted':>14} {'measured':>14}")
    compile_times()
    launches()
    memory()
    kernels()
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out, indent=1)


if __name__ == "__main__":
    main()
