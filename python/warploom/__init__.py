"""Warploom: CUDA kernels in Python or CUDA C++, run, explained and checked on any machine."""

from __future__ import annotations

from ._install import install, uninstall
from ._launches import LaunchRecord, launch_times
from ._version import __version__

__all__ = ["LaunchRecord", "__version__", "blas", "cuda", "fft", "install", "jit", "launch_times", "njit", "uninstall"]


def jit(*args, **options):
    """Identity in place of `numba.jit`: functions that a CPU decorator wrapped can then be called from kernels.

    Takes and ignores every argument of `numba.jit`; returns the function itself.
    """
    if len(args) == 1 and callable(args[0]) and not options:
        return args[0]
    return lambda function: function


njit = jit


def __getattr__(name: str):
    if name in ("blas", "cuda", "fft"):
        import importlib

        return importlib.import_module("warploom." + name)
    raise AttributeError(f"module 'warploom' has no attribute {name!r}")
