"""Random numbers in kernels: xoroshiro128+, one generator state for each thread, 2**64 steps apart.

Generator and jump: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators"; seeding: SplitMix64.
States, numbers and the API are those of Numba, "Random Number Generation", bit for bit.
"""

from __future__ import annotations

import math
from typing import List, Tuple

import numpy as np

from .decorators import jit
from .types import float32, float64, from_dtype, int64, uint32

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
xoroshiro128p_type = from_dtype(xoroshiro128p_dtype)

_MASK = (1 << 64) - 1
_JUMP = 0xD86B048B86AA9922BEAC0467EBA5FACB  # the jump polynomial, lowest step first
_TWO_PI_32 = np.float32(2 * math.pi)
_TWO_PI_64 = np.float64(2 * math.pi)
_TO_UNIT = np.float64(2.0**-53)

# ---- in kernels ----


@jit(device=True)
def xoroshiro128p_next(states, index):
    """Advance state `index` of an array of states and return the next 64 random bits as a uint64."""
    at = int64(index)
    first = states[at]["s0"]
    second = states[at]["s1"]
    mixed = second ^ first
    states[at]["s0"] = ((first << uint32(55)) | (first >> uint32(9))) ^ mixed ^ (mixed << uint32(14))
    states[at]["s1"] = (mixed << uint32(36)) | (mixed >> uint32(28))
    return first + second


@jit(device=True)
def xoroshiro128p_uniform_float64(states, index):
    """A float64 from [0, 1) of generator `index`; advances it by one step."""
    return (xoroshiro128p_next(states, index) >> uint32(11)) * _TO_UNIT


@jit(device=True)
def xoroshiro128p_uniform_float32(states, index):
    """A float32 from [0, 1] of generator `index` (a float64 rounded); advances it by one step."""
    return float32(xoroshiro128p_uniform_float64(states, index))


@jit(device=True)
def xoroshiro128p_normal_float32(states, index):
    """A float32 from the normal distribution (mean 0, deviation 1) of generator `index`; advances it by two steps."""
    radius = xoroshiro128p_uniform_float32(states, index)
    angle = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float32(-2.0) * math.log(radius)) * math.cos(_TWO_PI_32 * angle)


@jit(device=True)
def xoroshiro128p_normal_float64(states, index):
    """A float64 from the normal distribution (mean 0, deviation 1) of generator `index`; advances it by two steps.

    As in Numba both uniform numbers are rounded to float32 first.
    """
    radius = xoroshiro128p_uniform_float32(states, index)
    angle = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float64(-2.0) * math.log(radius)) * math.cos(_TWO_PI_64 * angle)


# ---- on the host: states ----


def _step(state: int) -> int:
    """One step of the generator; a state is s0 + (s1 << 64)."""
    first, second = state & _MASK, state >> 64
    mixed = first ^ second
    s0 = ((first << 55 | first >> 9) & _MASK) ^ mixed ^ (mixed << 14 & _MASK)
    return s0 | ((mixed << 36 | mixed >> 28) & _MASK) << 64


def _jumped(state: int) -> int:
    """The state 2**64 steps later."""
    sum_ = 0
    for bit in range(128):
        if _JUMP >> bit & 1:
            sum_ ^= state
        state = _step(state)
    return sum_


class _Linear:
    """A linear map of states over GF(2), as the images of the 128 one-bit states."""

    def __init__(self, images: List[int]):
        self.images = images
        self._tables = None

    def __call__(self, state: int) -> int:
        out, bit = 0, 0
        while state:
            if state & 1:
                out ^= self.images[bit]
            state >>= 1
            bit += 1
        return out

    def squared(self) -> "_Linear":
        """The map applied twice."""
        return _Linear([self(image) for image in self.images])

    def of_arrays(self, s0: np.ndarray, s1: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """The map of many states."""
        if self._tables is None:
            tables = np.zeros((2, 16, 256), np.uint64)
            for byte in range(16):
                for value in range(1, 256):
                    low = value & -value
                    rest = value ^ low
                    image = self.images[8 * byte + low.bit_length() - 1]
                    tables[0, byte, value] = tables[0, byte, rest] ^ np.uint64(image & _MASK)
                    tables[1, byte, value] = tables[1, byte, rest] ^ np.uint64(image >> 64)
            self._tables = tables
        out0, out1 = np.zeros_like(s0), np.zeros_like(s1)
        for byte in range(16):
            word, shift = (s0, 8 * byte) if byte < 8 else (s1, 8 * (byte - 8))
            index = (word >> np.uint64(shift)) & np.uint64(255)
            out0 ^= self._tables[0, byte][index]
            out1 ^= self._tables[1, byte][index]
        return out0, out1


# _jumps[k] jumps 2**k times 2**64 steps.
_jumps: List[_Linear] = []


def _jump_power(k: int) -> _Linear:
    if not _jumps:
        _jumps.append(_Linear([_jumped(1 << bit) for bit in range(128)]))
    while len(_jumps) <= k:
        _jumps.append(_jumps[-1].squared())
    return _jumps[k]


def _seeded(seed: int) -> int:
    """The first state of a seed: one SplitMix64 output, in both halves."""
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    z ^= z >> 31
    return z | z << 64


def init_xoroshiro128p_states_cpu(states: np.ndarray, seed: int, subsequence_start: int = 0) -> None:
    """Fill an array of `xoroshiro128p_dtype`: state i is (`subsequence_start` + i) * 2**64 steps after the seed's."""
    n = states.shape[0]
    if n == 0:
        return
    state = _seeded(int(seed) & _MASK)
    start, k = int(subsequence_start), 0
    while start:
        if start & 1:
            state = _jump_power(k)(state)
        start >>= 1
        k += 1
    s0, s1 = np.empty(n, np.uint64), np.empty(n, np.uint64)
    s0[0], s1[0] = np.uint64(state & _MASK), np.uint64(state >> 64)
    done, k = 1, 0
    while done < n:
        # The states so far, each jumped as many subsequences ahead as there are of them.
        more = min(done, n - done)
        s0[done:done + more], s1[done:done + more] = _jump_power(k).of_arrays(s0[:more], s1[:more])
        done += more
        k += 1
    states["s0"], states["s1"] = s0, s1


def init_xoroshiro128p_states(states, seed: int, subsequence_start: int = 0, stream=0) -> None:
    """Set a device array of generator states (dtype `xoroshiro128p_dtype`), 2**64 steps apart.

    seed: a 64-bit number. subsequence_start: how many times 2**64 steps to go ahead first. stream: where the copy to
    the device is queued.
    """
    host = np.empty(states.shape, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(host, seed, subsequence_start)
    states.copy_to_device(host, stream=stream)


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream=0):
    """A new device array of `n` generator states; see init_xoroshiro128p_states."""
    from . import api

    states = api.device_array(n, dtype=xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states
