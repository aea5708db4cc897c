"""The workers of PyTorch and of Triton: `torch_worker.py torch` or `torch_worker.py triton`."""
import sys
import time

import common


class Torch:
    name = "torch"

    def __init__(self):
        import torch

        self.torch, self.version = torch, torch.__version__
        torch.backends.cuda.matmul.allow_tf32 = False
        self.settle = torch.cuda.synchronize
        torch.zeros(1, device="cuda")

    def timed(self, work):
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def seconds(self, call, repeats=20):
        return common.seconds_on_gpu(call, self.timed, repeats)

    def allocate(self):
        torch = self.torch
        return {"array of 4 KiB, us": common.each(lambda: torch.empty(1024, device="cuda"))}

    def matmul(self):
        torch, out = self.torch, {}
        for n in common.SIZES:
            for label, dtype in (("", torch.float32), (", float16", torch.float16)):
                a, b = (torch.randn(n, n, device="cuda").to(dtype) for _ in range(2))
                c = torch.empty_like(a)
                seconds = self.seconds(lambda: torch.mm(a, b, out=c))
                out[f"product by library{label} {n}, TFLOP/s"] = 2 * n**3 / seconds * 1e-12
        return out

    def copies(self):
        torch, n = self.torch, common.COPY_BYTES
        pinned = torch.ones(n, dtype=torch.uint8).pin_memory()
        there = torch.empty(n, dtype=torch.uint8, device="cuda")
        other, pageable = torch.empty_like(there), torch.ones(n, dtype=torch.uint8)
        rate = lambda call, moved, repeats: moved / self.seconds(call, repeats) * 1e-9
        return {
            "copy pinned to device, GB/s": rate(lambda: there.copy_(pinned, non_blocking=True), n, 4),
            "copy device to pinned, GB/s": rate(lambda: pinned.copy_(there, non_blocking=True), n, 4),
            "copy pageable to device, GB/s": rate(lambda: there.copy_(pageable), n, 4),
            "copy on the device, GB/s": rate(lambda: other.copy_(there), 2 * n, 20),
        }

    def streaming(self):
        torch, n, row = self.torch, common.SIDE, common.ROW
        a = torch.rand(n, n, device="cuda")
        b, c = torch.rand_like(a), torch.empty_like(a)
        once = 4.0 * n * n
        rows, out_rows = a.view(-1, row), c.view(-1, row)
        rate = lambda call, moved: moved / self.seconds(call) * 1e-9
        return {
            "vector add, GB/s": rate(lambda: torch.add(a, b, out=c), 3 * once),
            "copy, GB/s": rate(lambda: c.copy_(a), 2 * once),
            "transpose, GB/s": rate(lambda: c.copy_(a.t()), 2 * once),
            "softmax, GB/s": rate(lambda: torch.softmax(rows, 1, out=out_rows), 2 * once),
            "sum, GB/s": rate(lambda: a.sum(), once),
        }

    def fourier(self):
        torch, out = self.torch, {}
        for count, length in ((64, 256),) if common.QUICK else ((16384, 1024), (16, 1 << 20)):
            a = torch.randn(count, length, dtype=torch.complex64, device="cuda")
            b = torch.empty_like(a)
            seconds = self.seconds(lambda: torch.fft.fft(a, out=b))
            out[f"transform {count} x {length}, GB/s"] = 16.0 * count * length / seconds * 1e-9
        return out

    def attention(self):
        torch, out = self.torch, {}
        heads, length, width = common.ATTENTION
        for label, dtype in (("float32", torch.float32), ("float16", torch.float16)):
            q, k, v = (torch.randn(1, heads, length, width, device="cuda", dtype=dtype) for _ in range(3))
            seconds = self.seconds(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v))
            out[f"attention {label}, TFLOP/s"] = common.attention_flops() / seconds * 1e-12
        return out


class Triton(Torch):
    name = "triton"

    def __init__(self):
        super().__init__()
        import triton

        import triton_kernels

        self.triton, self.version, self.kernels = triton, triton.__version__, triton_kernels
        self.allocate = self.copies = self.fourier = self.attention = lambda: {}

    def launch(self):
        torch = self.torch
        arrays = [torch.zeros(16, device="cuda") for _ in range(3)]
        kernel = self.kernels.take_three
        return {"launch with three arrays, us": common.in_a_row(lambda: kernel[(1,)](*arrays), self.settle)}

    def compile(self):
        a = self.torch.zeros(64, 64, device="cuda")
        times = []
        for i in range(3):
            kernel = self.kernels.fresh_matmul(i + int(time.time()) % 1000 * 10)
            self.settle()
            start = time.perf_counter()
            kernel[(1, 1)](a, a, a, 64, BM=64, BN=64, BK=16)
            self.settle()
            times.append(time.perf_counter() - start)
        return {"first call of the tiled product, s": sorted(times)[1]}

    def matmul(self):
        torch, out = self.torch, {}
        kernel = self.kernels.matmul
        for n in common.SIZES:
            a, b = (torch.randint(-8, 8, (n, n), device="cuda").float() for _ in range(2))
            c = torch.empty_like(a)
            best = 0.0
            for bm, bn, bk, warps, stages in ((128, 128, 16, 8, 3), (128, 64, 16, 4, 3), (64, 64, 16, 4, 3),
                                              (128, 64, 32, 4, 3), (128, 128, 32, 8, 2)):
                if n % bm or n % bn:
                    continue
                try:
                    call = lambda: kernel[(n // bm, n // bn)](a, b, c, n, BM=bm, BN=bn, BK=bk, num_warps=warps,
                                                              num_stages=stages)
                    seconds = self.seconds(call, 5)
                except Exception as error:  # too much shared memory
                    print(error, file=sys.stderr)
                    continue
                common.check(c[n // 2], a[n // 2] @ b, 0, "triton's product")
                best = max(best, 2 * n**3 / seconds * 1e-12)
            out[f"product best {n}, TFLOP/s"] = best
        return out

    def streaming(self):
        torch, n, row = self.torch, common.SIDE, common.ROW
        a = torch.rand(n, n, device="cuda")
        b, c = torch.rand_like(a), torch.empty_like(a)
        once, k = 4.0 * n * n, self.kernels
        rate = lambda call, moved: moved / self.seconds(call) * 1e-9
        out = {
            "vector add, GB/s": rate(lambda: k.vector_add[(n * n // 1024,)](a, b, c, BLOCK=1024), 3 * once),
            "softmax, GB/s": rate(lambda: k.softmax[(n * n // row,)](a, c, ROW=row, num_warps=8), 2 * once),
        }
        common.check(c.view(-1, row)[:4], torch.softmax(a.view(-1, row)[:4], 1), 1e-6, "triton's softmax")
        return out


common.serve({"torch": Torch, "triton": Triton}[sys.argv[1]])
