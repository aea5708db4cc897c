"""A kernel in Python calls a function in CUDA C++: declare_device names it, link gives its source."""
import numpy as np

from warploom import cuda

# [source]
HASH = cuda.CUSource("""
// Numba's way of calling: the result through the first argument, a status (0) returned.
extern "C" __device__ int hash32(unsigned* result, unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  *result = x ^ (x >> 16);
  return 0;
}
""")
hash32 = cuda.declare_device("hash32", "uint32(uint32)", link=HASH)
# [/source]


# [kernel]
@cuda.jit
def histogram(counts, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(counts, hash32(i) % counts.size, 1)
# [/kernel]


def main():
    n = 100_000
    counts = np.zeros(64, np.int32)
    histogram[(n + 255) // 256, 256](counts, n)

    x = np.arange(n, dtype=np.uint32)
    x ^= x >> 16
    x *= np.uint32(0x7FEB352D)
    x ^= x >> 15
    x *= np.uint32(0x846CA68B)
    x ^= x >> 16
    assert (counts == np.bincount(x % 64, minlength=64)).all()
    print(f"64 buckets of {counts.min()} to {counts.max()} hashes")


if __name__ == "__main__":
    main()
