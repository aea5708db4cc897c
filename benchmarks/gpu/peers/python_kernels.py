"""Kernels in Numba's language: make(cuda) gives them, compiled by Numba or by Warploom.

Shapes are whole multiples of tiles. Each is written once, so that both compile the same lines.
"""
import math

import numpy as np


def make(cuda, row):
    """The kernels as a dict of name to dispatcher; rows of softmax have `row` elements."""
    per_thread = row // 256
    float32 = np.float32

    @cuda.jit
    def take_three(a, b, c):
        pass

    @cuda.jit
    def matmul_naive(a, b, c):
        x, y = cuda.grid(2)
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[y, k] * b[k, x]
        c[y, x] = total

    # Four elements a thread are on their way at a time: a store might change what a later load reads, so loads are
    # first.
    @cuda.jit
    def vector_add(a, b, c):
        i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
        x0, x1, x2, x3 = a[i], a[i + 256], a[i + 512], a[i + 768]
        y0, y1, y2, y3 = b[i], b[i + 256], b[i + 512], b[i + 768]
        c[i] = x0 + y0
        c[i + 256] = x1 + y1
        c[i + 512] = x2 + y2
        c[i + 768] = x3 + y3

    @cuda.jit
    def copy(a, c):
        i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
        x0, x1, x2, x3 = a[i], a[i + 256], a[i + 512], a[i + 768]
        c[i] = x0
        c[i + 256] = x1
        c[i + 512] = x2
        c[i + 768] = x3

    @cuda.jit
    def transpose(a, c):
        # Tiles of 64 x 64: eight loads of each thread are on their way.
        tile = cuda.shared.array((64, 65), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.blockIdx.x * 64, cuda.blockIdx.y * 64
        for j in range(0, 64, 8):
            tile[ty + j, tx] = a[y + ty + j, x + tx]
        cuda.syncthreads()
        for j in range(0, 64, 8):
            c[x + ty + j, y + tx] = tile[tx, ty + j]

    @cuda.jit
    def blur(a, c):
        # 5 x 5 binomial weights; a thread goes down 16 rows and keeps the sums along five of them. The two outer
        # columns are not computed.
        x, top = cuda.blockIdx.x * 256 + cuda.threadIdx.x, cuda.blockIdx.y * 16
        if x < 2 or x >= a.shape[1] - 2:
            return
        r0, r1, r2, r3 = float32(0), float32(0), float32(0), float32(0)
        for j in range(20):
            y = min(max(top + j - 2, 0), a.shape[0] - 1)
            r4 = a[y, x - 2] + a[y, x + 2] + float32(4) * (a[y, x - 1] + a[y, x + 1]) + float32(6) * a[y, x]
            if j >= 4:
                c[top + j - 4, x] = (r0 + r4 + float32(4) * (r1 + r3) + float32(6) * r2) * float32(1 / 256)
            r0, r1, r2, r3 = r1, r2, r3, r4

    @cuda.jit
    def reduce_sum(a, out):
        parts = cuda.shared.array(32, float32)
        total = float32(0)
        step = cuda.gridsize(1)
        for i in range(cuda.grid(1), a.size, step * 8):
            for k in range(8):
                total += a[i + k * step]
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        if cuda.threadIdx.x % 32 == 0:
            parts[cuda.threadIdx.x // 32] = total
        cuda.syncthreads()
        if cuda.threadIdx.x < 32:
            total = parts[cuda.threadIdx.x] if cuda.threadIdx.x < cuda.blockDim.x // 32 else float32(0)
            for step in (16, 8, 4, 2, 1):
                total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
            if cuda.threadIdx.x == 0:
                cuda.atomic.add(out, 0, total)

    @cuda.jit
    def softmax(a, c):
        # A block of 256 threads for each row, which stays in registers.
        parts = cuda.shared.array(8, float32)
        mine = cuda.local.array(per_thread, float32)
        row, t = cuda.blockIdx.x, cuda.threadIdx.x
        largest = float32(-math.inf)
        for k in range(per_thread):
            mine[k] = a[row, t + k * 256]
            largest = max(largest, mine[k])
        for step in (16, 8, 4, 2, 1):
            largest = max(largest, cuda.shfl_xor_sync(0xFFFFFFFF, largest, step))
        if t % 32 == 0:
            parts[t // 32] = largest
        cuda.syncthreads()
        for w in range(8):
            largest = max(largest, parts[w])
        cuda.syncthreads()
        total = float32(0)
        for k in range(per_thread):
            mine[k] = math.exp(mine[k] - largest)
            total += mine[k]
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_xor_sync(0xFFFFFFFF, total, step)
        if t % 32 == 0:
            parts[t // 32] = total
        cuda.syncthreads()
        total = float32(0)
        for w in range(8):
            total += parts[w]
        scale = float32(1) / total
        for k in range(per_thread):
            c[row, t + k * 256] = mine[k] * scale

    return {
        "take_three": take_three,
        "matmul_naive": matmul_naive,
        "vector_add": vector_add,
        "copy": copy,
        "transpose": transpose,
        "blur": blur,
        "reduce_sum": reduce_sum,
        "softmax": softmax,
    }


def tiled_matmul(cuda, tile=16):
    """The tiled product as a new function each time, so that it is compiled anew."""
    float32 = np.float32

    @cuda.jit
    def matmul_tiled(a, b, c):
        tile_a = cuda.shared.array((tile, tile), float32)
        tile_b = cuda.shared.array((tile, tile), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for t in range(a.shape[1] // tile):
            tile_a[ty, tx] = a[y, t * tile + tx]
            tile_b[ty, tx] = b[t * tile + ty, x]
            cuda.syncthreads()
            for k in range(tile):
                total += tile_a[ty, k] * tile_b[k, tx]
            cuda.syncthreads()
        c[y, x] = total

    return matmul_tiled
