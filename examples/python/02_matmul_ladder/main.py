"""The matmul ladder: the same product six times, each with less memory traffic for the same arithmetic."""
import sys

import numpy as np

from warploom import cuda
from warploom.cuda import float32

TILE = 16
WIDE = 64  # the tile of a block whose threads compute 4 x 4 elements each
DEPTH = 8


# [naive]
@cuda.jit
def naive(a, b, c):
    """Each thread walks a row of A and a column of B in global memory."""
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total
# [/naive]


# [tiled]
@cuda.jit
def tiled(a, b, c):
    """A block copies a tile of A and of B to shared memory, where each element is read TILE times. Any shape."""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = float32(0)
    for k in range(0, a.shape[1], TILE):
        tile_a[ty, tx] = a[i, k + tx] if i < a.shape[0] and k + tx < a.shape[1] else 0
        tile_b[ty, tx] = b[k + ty, j] if j < b.shape[1] and k + ty < b.shape[0] else 0
        cuda.syncthreads()
        for n in range(TILE):
            total += tile_a[ty, n] * tile_b[n, tx]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total
# [/tiled]


@cuda.jit
def column_tile(a, b, c):
    """A's tile is stored transposed: lanes of a warp write down a column, which is one bank."""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = float32(0)
    for k in range(0, a.shape[1], TILE):
        tile_a[tx, ty] = a[i, k + tx]
        tile_b[ty, tx] = b[k + ty, j]
        cuda.syncthreads()
        for n in range(TILE):
            total += tile_a[n, ty] * tile_b[n, tx]
        cuda.syncthreads()
    c[i, j] = total


# [padded]
@cuda.jit
def padded(a, b, c):
    """The same with one element of padding: a column now touches a different bank in each row."""
    tile_a = cuda.shared.array((TILE, TILE + 1), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = float32(0)
    for k in range(0, a.shape[1], TILE):
        tile_a[tx, ty] = a[i, k + tx]
        tile_b[ty, tx] = b[k + ty, j]
        cuda.syncthreads()
        for n in range(TILE):
            total += tile_a[n, ty] * tile_b[n, tx]
        cuda.syncthreads()
    c[i, j] = total
# [/padded]


# [registers]
@cuda.jit
def registers(a, b, c):
    """A block of 256 threads computes 64 x 64 elements, 4 x 4 in the registers of each thread."""
    tile_a = cuda.shared.array((DEPTH, WIDE), float32)
    tile_b = cuda.shared.array((DEPTH, WIDE), float32)
    sums = cuda.local.array((4, 4), float32)
    t = cuda.threadIdx.x
    tx, ty = t % 16, t // 16
    row, column = cuda.blockIdx.y * WIDE, cuda.blockIdx.x * WIDE
    for i in range(4):
        for j in range(4):
            sums[i, j] = 0
    for k in range(0, a.shape[1], DEPTH):
        for n in range(t, DEPTH * WIDE, 256):
            tile_a[n % DEPTH, n // DEPTH] = a[row + n // DEPTH, k + n % DEPTH]
            tile_b[n // WIDE, n % WIDE] = b[k + n // WIDE, column + n % WIDE]
        cuda.syncthreads()
        for n in range(DEPTH):
            for i in range(4):
                for j in range(4):
                    sums[i, j] += tile_a[n, ty * 4 + i] * tile_b[n, tx * 4 + j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            c[row + ty * 4 + i, column + tx * 4 + j] = sums[i, j]
# [/registers]


# [vectors]
@cuda.jit
def vectors(a, b, c):
    """The same, four floats to a load: one instruction moves 16 bytes, from global memory and from the tiles."""
    tile_a = cuda.shared.array((DEPTH, WIDE), float32)
    tile_b = cuda.shared.array((DEPTH, WIDE), float32)
    sums = cuda.local.array((4, 4), float32)
    t = cuda.threadIdx.x
    tx, ty = t % 16, t // 16
    row, column = cuda.blockIdx.y * WIDE, cuda.blockIdx.x * WIDE
    for i in range(4):
        for j in range(4):
            sums[i, j] = 0
    for k in range(0, a.shape[1], DEPTH):
        if t < 128:  # half of the threads fetch A's tile and turn it, the others fetch B's
            r, n = t // 2, t % 2 * 4
            p = cuda.load_float4(a, (row + r, k + n))
            tile_a[n, r], tile_a[n + 1, r], tile_a[n + 2, r], tile_a[n + 3, r] = p.x, p.y, p.z, p.w
        else:
            n, r = (t - 128) // 16, t % 16 * 4
            cuda.store_float4(tile_b, (n, r), cuda.load_float4(b, (k + n, column + r)))
        cuda.syncthreads()
        for n in range(DEPTH):
            p = cuda.load_float4(tile_a, (n, ty * 4))
            q = cuda.load_float4(tile_b, (n, tx * 4))
            left, right = (p.x, p.y, p.z, p.w), (q.x, q.y, q.z, q.w)
            for i in range(4):
                for j in range(4):
                    sums[i, j] += left[i] * right[j]
        cuda.syncthreads()
    for i in range(4):
        four = cuda.float32x4(sums[i, 0], sums[i, 1], sums[i, 2], sums[i, 3])
        cuda.store_float4(c, (row + ty * 4 + i, column + tx * 4), four)
# [/vectors]


def timed(launch):
    """Milliseconds of the second call; the first one compiles."""
    launch()
    start, end = cuda.event(), cuda.event()
    start.record()
    launch()
    end.record()
    end.synchronize()
    return cuda.event_elapsed_time(start, end)


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 128
    if n % WIDE:
        sys.exit(f"the size must be a multiple of {WIDE}")
    generator = np.random.default_rng(2)
    a, b = (generator.uniform(-1, 1, (n, n)).astype(np.float32) for _ in range(2))
    expected = a.astype(np.float64) @ b
    bound = np.abs(a).astype(np.float64) @ np.abs(b) * n * 2.0**-24  # holds for any order of the additions
    d_a, d_b, d_c = cuda.to_device(a), cuda.to_device(b), cuda.device_array((n, n), np.float32)
    ladder = [(naive, TILE, (TILE, TILE)), (tiled, TILE, (TILE, TILE)), (column_tile, TILE, (TILE, TILE)),
              (padded, TILE, (TILE, TILE)), (registers, WIDE, 256), (vectors, WIDE, 256)]
    print(f"{n} x {n}\n{'kernel':12}{'ms':>10}{'GFMA/s':>10}{'shared bytes':>14}{'largest error':>16}")
    for kernel, side, block in ladder:
        d_c.copy_to_device(np.full((n, n), np.nan, np.float32))
        ms = timed(lambda: kernel[(n // side, n // side), block](d_a, d_b, d_c))
        error = np.abs(d_c.copy_to_host() - expected)
        assert (error <= bound).all(), f"{kernel.__name__} is wrong"
        shared = list(kernel.get_shared_mem_per_block().values())[0]
        print(f"{kernel.__name__:12}{ms:10.3f}{n**3 / ms * 1e-6:10.3f}{shared:14,}{error.max():16.2e}")

    # A shape that no tile divides: the guards of `tiled` fill the edges with zeros.
    a, b = generator.random((37, 61), dtype=np.float32), generator.random((61, 53), dtype=np.float32)
    c = np.full((37, 53), np.nan, np.float32)
    tiled[(4, 3), (TILE, TILE)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    print("37 x 61 times 61 x 53: ok")


if __name__ == "__main__":
    main()
