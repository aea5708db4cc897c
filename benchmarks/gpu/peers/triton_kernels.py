"""Triton's kernels of the comparison."""
import importlib.util
import os
import tempfile

import triton
import triton.language as tl


@triton.jit
def take_three(a, b, c):
    pass


@triton.jit
def vector_add(a, b, c, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + at, tl.load(a + at) + tl.load(b + at))


@triton.jit
def softmax(a, c, ROW: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * ROW + tl.arange(0, ROW)
    x = tl.load(a + at)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(c + at, e / tl.sum(e, 0))


MATMUL = '''
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    pa = a + rows[:, None] * n + ks[None, :]
    pb = b + ks[:, None] * n + cols[None, :]
    sums = tl.zeros((BM, BN), dtype=tl.float32) + NUMBER
    for k in range(0, n, BK):
        sums = tl.dot(tl.load(pa), tl.load(pb), sums, input_precision="ieee")
        pa += BK
        pb += BK * n
    tl.store(c + rows[:, None] * n + cols[None, :], sums)
'''


def fresh_matmul(number):
    """The product as a new function, so that it is compiled anew; `number` is added to it."""
    path = os.path.join(tempfile.mkdtemp(), "fresh.py")
    with open(path, "w") as file:
        file.write(MATMUL.replace("NUMBER", str(number)))
    spec = importlib.util.spec_from_file_location(f"fresh_{number}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.matmul


matmul = fresh_matmul(0)
