"""The worker of CuPy, whose raw kernels NVRTC compiles."""
import os
import time

import common

SOURCE = """
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16], bs[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    as[ty][tx] = a[row * n + k0 + tx];
    bs[ty][tx] = b[(k0 + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
"""


class Cupy:
    name = "cupy"

    def __init__(self):
        os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
        import cupy

        self.cupy, self.version = cupy, cupy.__version__
        self.settle = cupy.cuda.Device().synchronize
        self.settle()

    def timed(self, work):
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return self.cupy.cuda.get_elapsed_time(start, end)

    def seconds(self, call, repeats=20):
        return common.seconds_on_gpu(call, self.timed, repeats)

    def launch(self):
        kernel = self.cupy.RawKernel('extern "C" __global__ void take_three(float*, float*, float*) {}', "take_three")
        arrays = tuple(self.cupy.zeros(16, self.cupy.float32) for _ in range(3))
        return {"launch with three arrays, us": common.in_a_row(lambda: kernel((1,), (32,), arrays), self.settle)}

    def allocate(self):
        return {"array of 4 KiB, us": common.each(lambda: self.cupy.empty(1024, self.cupy.float32))}

    def compile(self):
        cupy = self.cupy
        array, times = cupy.zeros((16, 16), cupy.float32), []
        for i in range(3):
            text = f"// {time.perf_counter()}\n" + SOURCE
            self.settle()
            start = time.perf_counter()
            cupy.RawKernel(text, "matmul_tiled")((1, 1), (16, 16), (array, array, array, cupy.int32(16)))
            self.settle()
            times.append(time.perf_counter() - start)
        return {"first call of the tiled product, s": sorted(times)[1]}

    def matmul(self):
        cupy, out = self.cupy, {}
        kernel = cupy.RawKernel(SOURCE, "matmul_tiled")
        for n in common.SIZES:
            a = cupy.asarray(cupy.random.randint(-8, 8, (n, n)), cupy.float32)
            b, c = a.T.copy(), cupy.zeros((n, n), cupy.float32)
            call = lambda: kernel((n // 16, n // 16), (16, 16), (a, b, c, cupy.int32(n)))
            out[f"product tiled16 {n}, TFLOP/s"] = 2 * n**3 / self.seconds(call) * 1e-12
            out[f"product by library {n}, TFLOP/s"] = 2 * n**3 / self.seconds(lambda: cupy.matmul(a, b, out=c)) * 1e-12
        return out

    def copies(self):
        cupy, n = self.cupy, common.COPY_BYTES
        a, b = cupy.zeros(n, cupy.uint8), cupy.zeros(n, cupy.uint8)
        return {"copy on the device, GB/s": 2 * n / self.seconds(lambda: cupy.copyto(a, b)) * 1e-9}

    def streaming(self):
        cupy, n = self.cupy, common.SIDE
        a = cupy.random.random((n, n), dtype=cupy.float32)
        b, c = cupy.zeros_like(a), cupy.empty_like(a)
        once = 4.0 * n * n
        return {
            "vector add, GB/s": 3 * once / self.seconds(lambda: cupy.add(a, b, out=c)) * 1e-9,
            "sum, GB/s": once / self.seconds(lambda: a.sum()) * 1e-9,
            "transpose, GB/s": 2 * once / self.seconds(lambda: cupy.copyto(c, a.T)) * 1e-9,
        }

    def fourier(self):
        cupy, out = self.cupy, {}
        for count, length in ((64, 256),) if common.QUICK else ((16384, 1024), (16, 1 << 20)):
            a = cupy.random.random((count, length), dtype=cupy.float32).astype(cupy.complex64)
            seconds = self.seconds(lambda: cupy.fft.fft(a))
            out[f"transform {count} x {length}, GB/s"] = 16.0 * count * length / seconds * 1e-9
        return out


common.serve(Cupy)
