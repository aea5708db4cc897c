"""Fills a volume with random numbers: a three-dimensional grid that strides over a larger array."""
import numpy as np

from warploom import cuda
from warploom.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32


# [kernel]
@cuda.jit
def fill(volume, states):
    """One generator for each thread, not for each element: a thread fills every element that its stride meets."""
    x0, y0, z0 = cuda.grid(3)
    dx, dy, dz = cuda.gridsize(3)
    mine = (z0 * dy + y0) * dx + x0
    for z in range(z0, volume.shape[0], dz):
        for y in range(y0, volume.shape[1], dy):
            for x in range(x0, volume.shape[2], dx):
                volume[z, y, x] = xoroshiro128p_uniform_float32(states, mine)
# [/kernel]


def main():
    shape, block, grid = (50, 61, 70), (8, 8, 4), (2, 2, 2)
    threads = int(np.prod(block) * np.prod(grid))
    volume = cuda.to_device(np.full(shape, -1, np.float32))
    fill[grid, block](volume, create_xoroshiro128p_states(threads, seed=1))
    result = volume.copy_to_host()
    assert result.min() >= 0 and result.max() < 1
    assert 0.49 < result.mean() < 0.51 and abs(result.std() - 12**-0.5) < 0.01
    print(f"{result.size} numbers from {threads} generators, mean {result.mean():.4f}: ok")


if __name__ == "__main__":
    main()
