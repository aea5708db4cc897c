"""Compute capabilities that code can be compiled for, by the names of Numba's NVRTC layer."""

from __future__ import annotations

from typing import List, Tuple

from warploom.cuda.core import config

from .error import CCSupportError
from .runtime import get_version

ComputeCapability = Tuple[int, int]

# Of CUDA 13.0's compilers (NVRTC documentation, "--gpu-architecture").
_SUPPORTED: List[ComputeCapability] = [
    (7, 5), (8, 0), (8, 6), (8, 7), (8, 8), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 0), (12, 1),
]


def _get_nvrtc_version() -> Tuple[int, int]:
    return get_version()


def get_supported_ccs() -> List[ComputeCapability]:
    """All of them, in ascending order."""
    return list(_SUPPORTED)


def get_lowest_supported_cc() -> ComputeCapability:
    """The lowest of them."""
    return _SUPPORTED[0]


def find_closest_arch(mycc: ComputeCapability) -> ComputeCapability:
    """The highest one that is not above ``mycc``; CCSupportError when all are."""
    below = [cc for cc in _SUPPORTED if cc <= tuple(mycc[:2])]
    if not below:
        raise CCSupportError("GPU compute capability %d.%d is not supported (requires >=%d.%d)"
                             % (tuple(mycc[:2]) + _SUPPORTED[0]))
    return below[-1]


def get_arch_option(major: int, minor: int, arch: str = "") -> str:
    """The architecture to compile for, such as "compute_90", for a compute capability.

    ``arch`` "a" asks for features of this one alone; ValueError unless it is supported exactly.
    ``config.FORCE_CUDA_CC`` (a tuple, with "a" as third item where wanted) takes precedence.
    """
    forced = config.FORCE_CUDA_CC
    if forced:
        return "compute_%d%d%s" % (forced[0], forced[1], forced[2] if len(forced) > 2 else "")
    cc = find_closest_arch((major, minor))
    if arch and cc != (major, minor):
        raise ValueError("Can't use arch-specific compute_%d%d%s with closest found compute capability %d%d"
                         % (major, minor, arch, cc[0], cc[1]))
    return "compute_%d%d%s" % (cc[0], cc[1], arch)
