"""Sums: one atomic for each element, a tree in shared memory, shuffles in a warp, and cuda.reduce."""
import numpy as np

from warploom import cuda
from warploom.cuda import int32

THREADS = 256


@cuda.jit
def with_atomics(values, total):
    """Every thread adds to the same place, one after the other."""
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(total, 0, values[i])


# [tree]
@cuda.jit
def with_a_tree(values, total):
    """Half of the threads add the other half's values, then half of those: log2(256) = 8 steps."""
    partial = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = values[i] if i < values.size else 0
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        cuda.syncthreads()  # every thread of the block gets here, in each step
        half //= 2
    if t == 0:
        cuda.atomic.add(total, 0, partial[0])
# [/tree]


# [shuffle]
@cuda.jit
def with_shuffles(values, total):
    """The lanes of a warp hand each other their sums; only one lane of each warp uses an atomic."""
    mine = int32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        mine += values[i]
    for distance in (16, 8, 4, 2, 1):
        mine += cuda.shfl_down_sync(0xFFFFFFFF, int32(mine), distance)
    if cuda.laneid == 0:
        cuda.atomic.add(total, 0, mine)
# [/shuffle]


# [reduce]
@cuda.reduce
def sum_of(a, b):
    return a + b


@cuda.reduce
def largest_of(a, b):
    return max(a, b)
# [/reduce]


def main():
    values = np.random.default_rng(4).integers(-1000, 1000, 100_000, dtype=np.int32)
    d_values = cuda.to_device(values)
    blocks = (values.size + THREADS - 1) // THREADS
    for kernel, grid in ((with_atomics, blocks), (with_a_tree, blocks), (with_shuffles, 16)):
        total = cuda.to_device(np.zeros(1, np.int32))
        kernel[grid, THREADS](d_values, total)
        assert total.copy_to_host()[0] == values.sum()
        print(f"{kernel.__name__}: ok")
    assert sum_of(values) == values.sum()
    assert largest_of(values, init=-2**31) == values.max()
    doubles = values / 7
    np.testing.assert_allclose(sum_of(doubles), doubles.sum(), rtol=1e-12)
    print("cuda.reduce: ok")


if __name__ == "__main__":
    main()
