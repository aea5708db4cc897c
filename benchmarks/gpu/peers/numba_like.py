"""The worker for packages with Numba's API: Numba itself and Warploom."""
import time

import numpy as np

import common
import python_kernels


class NumbaLike:
    """Figures of kernels written in Python; `cuda` is numba.cuda or warploom.cuda."""

    def __init__(self, name, version, cuda):
        self.name, self.version, self.cuda = name, version, cuda
        self.kernels = python_kernels.make(cuda, common.ROW)
        self.tiled = python_kernels.tiled_matmul(cuda)
        small = cuda.to_device(np.zeros((16, 16), np.float32))
        self.tiled[(1, 1), (16, 16)](small, small, small)  # the compiler is warm
        cuda.synchronize()

    def timed(self, work):
        start, end = self.cuda.event(), self.cuda.event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return self.cuda.event_elapsed_time(start, end)

    def seconds(self, call, repeats=20):
        return common.seconds_on_gpu(call, self.timed, repeats)

    def launch(self):
        arrays = [self.cuda.device_array(16, np.float32) for _ in range(3)]
        kernel = self.kernels["take_three"]
        configured = kernel[1, 32]
        return {
            "launch with three arrays, us": common.in_a_row(lambda: kernel[1, 32](*arrays), self.cuda.synchronize),
            "launch with three arrays, configured once, us": common.in_a_row(lambda: configured(*arrays),
                                                                             self.cuda.synchronize),
        }

    def allocate(self):
        return {"array of 4 KiB, us": common.each(lambda: self.cuda.device_array(1024, np.float32))}

    def compile(self):
        array = self.cuda.to_device(np.zeros((16, 16), np.float32))
        times = []
        for _ in range(3):
            kernel = python_kernels.tiled_matmul(self.cuda)
            self.cuda.synchronize()
            start = time.perf_counter()
            kernel[(1, 1), (16, 16)](array, array, array)
            self.cuda.synchronize()
            times.append(time.perf_counter() - start)
        return {"first call of the tiled product, s": sorted(times)[1]}

    def matmul(self):
        out = {}
        for n in common.SIZES:
            random = np.random.default_rng(1)
            a, b = (random.integers(-8, 8, (n, n)).astype(np.float32) for _ in range(2))
            c = np.zeros((n, n), np.float32)
            da, db, dc = (self.cuda.to_device(x) for x in (a, b, c))
            for name, kernel, block in (("naive", self.kernels["matmul_naive"], (32, 8)),
                                        ("tiled16", self.tiled, (16, 16))):
                call = lambda: kernel[(n // block[0], n // block[1]), block](da, db, dc)
                seconds = self.seconds(call, 5 if name == "naive" else 20)
                common.check(dc.copy_to_host()[n // 2], a[n // 2] @ b, 0, name)
                out[f"product {name} {n}, TFLOP/s"] = 2 * n**3 / seconds * 1e-12
        return out

    def copies(self):
        n = common.COPY_BYTES
        there, other = self.cuda.device_array(n, np.uint8), self.cuda.device_array(n, np.uint8)
        pinned, pageable = self.cuda.pinned_array(n, np.uint8), np.ones(n, np.uint8)
        pinned[:] = 1
        stream = self.cuda.stream()

        def rate(call, moved=n, repeats=4):
            call()
            times = []
            for _ in range(5):
                stream.synchronize()
                start = time.perf_counter()
                for _ in range(repeats):
                    call()
                stream.synchronize()
                times.append((time.perf_counter() - start) / repeats)
            return moved / sorted(times)[2] * 1e-9

        return {
            "copy pinned to device, GB/s": rate(lambda: there.copy_to_device(pinned, stream=stream)),
            "copy device to pinned, GB/s": rate(lambda: there.copy_to_host(pinned, stream=stream)),
            "copy pageable to device, GB/s": rate(lambda: there.copy_to_device(pageable, stream=stream)),
            "copy on the device, GB/s": rate(lambda: other.copy_to_device(there, stream=stream), 2 * n, 20),
        }

    def streaming(self):
        n, row = common.SIDE, common.ROW
        cuda, k = self.cuda, self.kernels
        random = np.random.default_rng(2)
        host = random.random((n, n), np.float32)
        a, b, c = cuda.to_device(host), cuda.to_device(host), cuda.device_array((n, n), np.float32)
        flat = [x.reshape(n * n) for x in (a, b, c)]
        rows = [x.reshape((n * n // row, row)) for x in (a, c)]
        once = 4.0 * n * n
        some = slice(n // 2, n // 2 + 4)
        out = {}

        def rate(name, moved, call, got, want, tolerance):
            seconds = self.seconds(call)
            common.check(got(), want, tolerance, name)
            out[f"{name}, GB/s"] = moved / seconds * 1e-9

        blocks = n * n // 1024
        here = lambda: c[some].copy_to_host()
        rate("vector add", 3 * once, lambda: k["vector_add"][blocks, 256](*flat), here, 2 * host[some], 0)
        rate("copy", 2 * once, lambda: k["copy"][blocks, 256](flat[0], flat[2]), here, host[some], 0)
        rate("transpose", 2 * once, lambda: k["transpose"][(n // 64, n // 64), (64, 8)](a, c), here, host.T[some], 0)
        w = np.array([1, 4, 6, 4, 1], np.float64) / 16
        near = host[some.start - 2:some.stop + 2].astype(np.float64)
        want = sum(w[j] * w[i] * near[j:j + 4, i:n - 4 + i] for j in range(5) for i in range(5))
        rate("blur 5 x 5", 2 * once, lambda: k["blur"][(n // 256, n // 16), 256](a, c),
             lambda: c[some].copy_to_host()[:, 2:-2], want, 2e-6)
        first = host.reshape(-1, row)[:4].astype(np.float64)
        exps = np.exp(first - first.max(axis=1, keepdims=True))
        rate("softmax", 2 * once, lambda: k["softmax"][n * n // row, 256](*rows), lambda: rows[1][:4].copy_to_host(),
             exps / exps.sum(axis=1, keepdims=True), 1e-6)
        total, sum_blocks = cuda.to_device(np.zeros(1, np.float32)), min(1024, n * n // 2048)
        seconds = self.seconds(lambda: k["reduce_sum"][sum_blocks, 256](flat[0], total))
        total.copy_to_device(np.zeros(1, np.float32))
        k["reduce_sum"][sum_blocks, 256](flat[0], total)
        want = float(host.sum(dtype=np.float64))
        common.check(total.copy_to_host(), want, 1e-4 * want, "sum")
        out["sum, GB/s"] = once / seconds * 1e-9
        return out
