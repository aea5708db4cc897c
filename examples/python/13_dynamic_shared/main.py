"""Shared memory sized by the launch: arrays of shape 0 are all the same memory, shared.dynamic keeps them apart."""
import numpy as np

from warploom import cuda
from warploom.cuda import float32, int32


# [alias]
@cuda.jit
def same_memory(out):
    """Two arrays of shape 0 start at the same byte: the second shows the first one's bits."""
    as_floats = cuda.shared.array(0, float32)
    as_ints = cuda.shared.array(0, int32)
    if cuda.threadIdx.x == 0:
        as_floats[0] = 3.14
        out[0] = as_ints[0]
        as_ints[0] = 1
        out[1] = as_ints[0]
        out[2] = as_floats.size
# [/alias]


# [slices]
@cuda.jit
def two_slices(out, n):
    """Parts of one dynamic array, cut by hand."""
    memory = cuda.shared.array(0, float32)
    numbers, squares = memory[:n], memory[n:2 * n]
    t = cuda.threadIdx.x
    if t < n:
        numbers[t] = t
        squares[t] = t * t
    cuda.syncthreads()
    if t < n:
        out[t] = numbers[n - 1 - t] + squares[t]
# [/slices]


# [dynamic]
@cuda.jit
def two_windows(out, n):
    """Each shared.dynamic gets its own part of the launch's bytes, with a shape and type of its own."""
    counts = cuda.shared.dynamic(n, int32)
    table = cuda.shared.dynamic((n, 2), float32)
    t = cuda.threadIdx.x
    if t < n:
        counts[t] = t
        table[t, 0] = t * 0.5
        table[t, 1] = t * 0.25
    cuda.syncthreads()
    if t < n:
        out[t] = counts[n - 1 - t] + table[t, 0] + table[t, 1]
# [/dynamic]


def main():
    n = 40
    t = np.arange(n)
    # [launch]
    out = np.zeros(3, np.int32)
    same_memory[1, 32, 0, 64](out)  # grid, block, stream, bytes of dynamic shared memory
    # [/launch]
    np.testing.assert_array_equal(out, [np.float32(3.14).view(np.int32), 1, 16])
    print("arrays of shape 0 are one memory: ok")
    out = np.zeros(n, np.float32)
    two_slices[1, 64, 0, 2 * n * 4](out, n)
    np.testing.assert_array_equal(out, (n - 1 - t) + t * t)
    print("slices: ok")
    two_windows[1, 64, 0, n * 4 + n * 2 * 4](out, n)
    np.testing.assert_array_equal(out, (n - 1 - t) + t * 0.75)
    print("shared.dynamic: ok")


if __name__ == "__main__":
    main()
