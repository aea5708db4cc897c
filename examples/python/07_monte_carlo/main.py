"""Pi by Monte Carlo: a random number generator for each thread, and a reduction on the device."""
import numpy as np

from warploom import cuda
from warploom.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32


# [kernel]
@cuda.jit
def count_hits(states, tries, hits):
    """hits[i] = how many of `tries` random points of the unit square lie in the quarter circle."""
    i = cuda.grid(1)
    inside = 0
    for _ in range(tries):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float32(states, i)
        if x * x + y * y <= 1:
            inside += 1
    hits[i] = inside


@cuda.reduce
def sum_of(a, b):
    return a + b
# [/kernel]


def main():
    blocks, threads, tries = 24, 64, 1000
    count = blocks * threads
    hits = []
    for _ in range(2):
        # [states]
        states = create_xoroshiro128p_states(count, seed=1)
        d_hits = cuda.device_array(count, np.int64)
        count_hits[blocks, threads](states, tries, d_hits)
        pi = 4 * sum_of(d_hits) / (count * tries)
        # [/states]
        hits.append(d_hits.copy_to_host())
    np.testing.assert_array_equal(hits[0], hits[1])  # a seed gives the same numbers everywhere
    deviation = np.sqrt(np.pi * (4 - np.pi) / (count * tries))
    assert abs(pi - np.pi) < 5 * deviation
    print(f"pi = {pi:.5f}: ok")


if __name__ == "__main__":
    main()
