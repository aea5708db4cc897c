"""Softmax of the rows of a matrix: a warp for each row, with and without a second walk over the row."""
import math

import numpy as np

from warploom import cuda
from warploom.cuda import float32

WARPS = 4


# [warp]
@cuda.jit(device=True)
def warp_max(value):
    for distance in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, distance))
    return value


@cuda.jit(device=True)
def warp_sum(value):
    for distance in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, distance)
    return value
# [/warp]


@cuda.jit
def three_walks(x, y):
    """The largest element, then the sum, then the quotients."""
    row = cuda.blockIdx.x * WARPS + cuda.threadIdx.y
    if row < x.shape[0]:
        largest = float32(-math.inf)
        for j in range(cuda.laneid, x.shape[1], 32):
            largest = max(largest, x[row, j])
        largest = warp_max(largest)
        total = float32(0)
        for j in range(cuda.laneid, x.shape[1], 32):
            total += math.exp(x[row, j] - largest)
        total = warp_sum(total)
        for j in range(cuda.laneid, x.shape[1], 32):
            y[row, j] = math.exp(x[row, j] - largest) / total


# [online]
@cuda.jit
def online(x, y):
    """Largest element and sum in one walk: when the maximum grows, the sum so far is scaled down."""
    row = cuda.blockIdx.x * WARPS + cuda.threadIdx.y
    if row < x.shape[0]:
        largest, total = float32(-math.inf), float32(0)
        for j in range(cuda.laneid, x.shape[1], 32):
            grown = max(largest, x[row, j])
            total = total * math.exp(largest - grown) + math.exp(x[row, j] - grown)
            largest = grown
        of_all = warp_max(largest)
        if total > 0:  # a lane without elements has seen nothing
            total *= math.exp(largest - of_all)
        total = warp_sum(total)
        for j in range(cuda.laneid, x.shape[1], 32):
            y[row, j] = math.exp(x[row, j] - of_all) / total
# [/online]


def main():
    generator = np.random.default_rng(9)
    for rows, columns in ((37, 100), (64, 20)):
        x = generator.normal(0, 20, (rows, columns)).astype(np.float32)
        exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        exact /= exact.sum(axis=1, keepdims=True)
        for kernel in (three_walks, online):
            y = cuda.to_device(np.full_like(x, np.nan))
            kernel[(rows + WARPS - 1) // WARPS, (32, WARPS)](cuda.to_device(x), y)
            np.testing.assert_allclose(y.copy_to_host(), exact, rtol=2e-5, atol=1e-30)
            print(f"{kernel.__name__} {rows} x {columns}: ok")


if __name__ == "__main__":
    main()
