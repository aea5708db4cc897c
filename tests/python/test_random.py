"""xoroshiro128+ states and numbers, against the generator written out step by step."""

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda.random import (create_xoroshiro128p_states, init_xoroshiro128p_states_cpu, xoroshiro128p_dtype,
                                  xoroshiro128p_normal_float32, xoroshiro128p_normal_float64,
                                  xoroshiro128p_uniform_float32, xoroshiro128p_uniform_float64)

pytestmark = pytest.mark.filterwarnings("ignore::warploom.cuda.core.errors.NumbaPerformanceWarning")

MASK = (1 << 64) - 1


def rotl(x, k):
    return (x << k | x >> (64 - k)) & MASK


class Generator:
    """xoroshiro128+ of 2016 (shifts 55, 14, 36), seeded by one output of SplitMix64."""

    def __init__(self, seed):
        z = (seed + 0x9E3779B97F4A7C15) & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        self.s0 = self.s1 = z ^ z >> 31

    def next(self):
        result = (self.s0 + self.s1) & MASK
        s1 = self.s1 ^ self.s0
        self.s0 = rotl(self.s0, 55) ^ s1 ^ (s1 << 14 & MASK)
        self.s1 = rotl(s1, 36)
        return result

    def jump(self):
        s0 = s1 = 0
        for word in (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922):
            for bit in range(64):
                if word >> bit & 1:
                    s0 ^= self.s0
                    s1 ^= self.s1
                self.next()
        self.s0, self.s1 = s0, s1


@pytest.mark.parametrize("n, seed, start", [(1, 0, 0), (2, 1, 0), (37, 12345, 3), (5, 2**64 - 1, 1), (0, 1, 0)])
def test_states(n, seed, start):
    states = np.empty(n, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(states, seed, start)
    generator = Generator(seed)
    for _ in range(start):
        generator.jump()
    for state in states:
        assert (int(state["s0"]), int(state["s1"])) == (generator.s0, generator.s1)
        generator.jump()


def test_many_states_are_distinct():
    states = np.empty(5000, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(states, 7)
    assert len(np.unique(states)) == 5000


def test_uniform_numbers_are_those_of_the_generator():
    @cuda.jit
    def draw(states, single, double):
        i = cuda.grid(1)
        if i < single.shape[0]:
            for k in range(single.shape[1]):
                single[i, k] = xoroshiro128p_uniform_float32(states, i)
                double[i, k] = xoroshiro128p_uniform_float64(states, i)

    single, double = np.zeros((3, 4), np.float32), np.zeros((3, 4))
    draw[1, 32](create_xoroshiro128p_states(3, seed=42), single, double)
    first = Generator(42)
    for i in range(3):
        walker = Generator(42)
        walker.s0, walker.s1 = first.s0, first.s1
        for k in range(4):
            assert single[i, k] == np.float32((walker.next() >> 11) * 2.0**-53)
            assert double[i, k] == (walker.next() >> 11) * 2.0**-53
        first.jump()


@pytest.mark.parametrize("draw, dtype", [(xoroshiro128p_normal_float32, np.float32),
                                         (xoroshiro128p_normal_float64, np.float64)])
def test_normal_numbers(draw, dtype):
    @cuda.jit
    def fill(states, out):
        i = cuda.grid(1)
        out[i] = draw(states, i)

    out = np.zeros(64, dtype)
    fill[1, 64](create_xoroshiro128p_states(64, seed=1), out)
    generator = Generator(1)
    for i in range(64):
        walker = Generator(1)
        walker.s0, walker.s1 = generator.s0, generator.s1
        u1, u2 = (np.float32((walker.next() >> 11) * 2.0**-53) for _ in range(2))
        expected = np.sqrt(-2 * np.log(dtype(u1))) * np.cos(dtype(2 * np.pi) * dtype(u2))
        assert out[i] == pytest.approx(expected, rel=2e-5, abs=2e-6)
        generator.jump()
