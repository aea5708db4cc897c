"""The worker of Warploom's Python package; WARPLOOM_BENCH_PTX names the PTX of kernels.cu."""
import math
import os

import numpy as np

import common
from numba_like import NumbaLike


class Warploom(NumbaLike):
    """Also kernels of CUDA C++, linear algebra and transforms."""

    module = None

    def matmul(self):
        from warploom import blas

        out = super().matmul()
        for n in common.SIZES:
            random = np.random.default_rng(1)
            a, b = (random.integers(-8, 8, (n, n)).astype(np.float32) for _ in range(2))
            da, db = self.cuda.to_device(a), self.cuda.to_device(b)
            dc = self.cuda.device_array((n, n), np.float32)
            seconds = self.seconds(lambda: blas.gemm(da, db, dc))
            common.check(dc.copy_to_host()[n // 2], a[n // 2] @ b, 0, "blas.gemm")
            out[f"product by library {n}, TFLOP/s"] = 2 * n**3 / seconds * 1e-12
            if os.environ.get("WARPLOOM_BENCH_PTX") and n % 128 == 0:
                addresses = [x.device_ctypes_pointer.value for x in (da, db, dc)]
                for name, label, rows, threads in (("matmul_best", "best", 128, 128),
                                                   ("matmul_best_small", "best, small tiles", 64, 256)):
                    launch = self.compiled(name, ["uint64"] * 3 + ["int32"])
                    seconds = self.seconds(lambda: launch((n // 128, n // rows), threads, 0, *addresses, n))
                    common.check(dc.copy_to_host()[n // 2], a[n // 2] @ b, 0, name)
                    out[f"product {label} {n}, TFLOP/s"] = 2 * n**3 / seconds * 1e-12
            ha, hb = self.cuda.to_device(a.astype(np.float16)), self.cuda.to_device(b.astype(np.float16))
            hc = self.cuda.device_array((n, n), np.float16)
            seconds = self.seconds(lambda: blas.gemm(ha, hb, hc))
            out[f"product by library, float16 {n}, TFLOP/s"] = 2 * n**3 / seconds * 1e-12
        return out

    def fourier(self):
        from warploom import fft

        out = {}
        for count, length in ((64, 256),) if common.QUICK else ((16384, 1024), (16, 1 << 20)):
            random = np.random.default_rng(1)
            host = (random.random((count, length)) + 1j * random.random((count, length))).astype(np.complex64)
            a, b = self.cuda.to_device(host), self.cuda.device_array((count, length), np.complex64)
            seconds = self.seconds(lambda: fft.fft(a, out=b))
            want = np.fft.fft(host[1].astype(np.complex128))
            common.check(b[1].copy_to_host(), want, 1e-4 * abs(want).max(), "fft")
            out[f"transform {count} x {length}, GB/s"] = 16.0 * count * length / seconds * 1e-9
        return out

    def compiled(self, name, types):
        """A function that launches a kernel of kernels.cu: (grid, block, shared bytes, arguments)."""
        from warploom import _core

        context = self.cuda.current_context()
        if self.module is None:
            with open(os.environ["WARPLOOM_BENCH_PTX"], encoding="utf-8") as file:
                self.module = context.create_module_ptx(file.read())
        names = [n for n in self.module._core_module.kernel_names() if f"{len(name)}{name}" in n]  # mangled
        launcher = _core.Launcher(self.module.get_function(names[0])._core_kernel, types)
        stream = context._core_device.default_stream
        return lambda grid, block, shared, *arguments: launcher.launch(grid, block, stream, shared, False, arguments)

    def attention(self):
        if not os.environ.get("WARPLOOM_BENCH_PTX"):
            raise RuntimeError("WARPLOOM_BENCH_PTX names no PTX")
        heads, length, width = common.ATTENTION
        random, out = np.random.default_rng(1), {}
        q, k, v = (random.uniform(-1, 1, (heads, length, width)).astype(np.float16) for _ in range(3))
        wide = [x[1, :8].astype(np.float64) for x in (q,)] + [x[1].astype(np.float64) for x in (k, v)]
        weights = np.exp(wide[0] @ wide[1].T / math.sqrt(width))
        want = weights / weights.sum(axis=1, keepdims=True) @ wide[2]
        shared = (64 * 132 + 64 * 68 + 64 * 64 + 64 * 132) * 4
        for label, dtype, block, bytes_, tolerance in (("float32", np.float32, 256, shared, 1e-5),
                                                       ("float16", np.float16, 128, 0, 2e-3)):
            name = "attention_f32" if label == "float32" else "attention_f16"
            launch = self.compiled(name, ["uint64"] * 4 + ["int32"])
            arrays = [self.cuda.to_device(x.astype(dtype)) for x in (q, k, v)]
            arrays.append(self.cuda.device_array(q.shape, dtype))
            addresses = [x.device_ctypes_pointer.value for x in arrays]
            seconds = self.seconds(lambda: launch(((length + 127) // 128, heads), block, bytes_, *addresses, length))
            common.check(arrays[3][1, :8].copy_to_host(), want, tolerance, "attention")
            out[f"attention {label}, TFLOP/s"] = common.attention_flops() / seconds * 1e-12
        return out


def make():
    os.environ.setdefault("WARPLOOM_CACHE", "0")
    import warploom
    from warploom import cuda

    name = cuda.get_current_device().name
    return Warploom("warploom", f"{warploom.__version__} on {name.decode() if isinstance(name, bytes) else name}", cuda)


common.serve(make)
