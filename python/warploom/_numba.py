"""Stands for the package `numba` itself after `warploom.install()`: `numba.cuda`, types, errors and CPU decorators."""

from __future__ import annotations

import importlib

from warploom import __version__ as _warploom_version
from warploom import jit, njit

__warploom_alias__ = True
__version__ = "0.61.2+warploom" + _warploom_version
# A package to the import system, so that `numba.cuda` is looked up as its submodule.
__path__: list = []

_SUBMODULES = {
    "cuda": "warploom.cuda",
    "core": "warploom.cuda.core",
    "errors": "warploom.cuda.core.errors",
    "extending": "warploom.cuda.extending",
    "misc": "warploom.cuda.misc",
    "np": "warploom.cuda.np",
    "types": "warploom.cuda.types",
    "typing": "warploom.cuda.typing",
}


def vectorize(ftylist_or_function=(), target: str = "cpu", **options):
    """`numba.vectorize`: `warploom.cuda.vectorize` for target "cuda"; for the CPU NumPy's vectorize, which calls the
    Python function element by element."""
    if target != "cpu":
        return importlib.import_module("warploom.cuda").vectorize(ftylist_or_function, target=target, **options)
    import numpy as np

    return np.vectorize(ftylist_or_function) if callable(ftylist_or_function) else np.vectorize


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _SUBMODULES:
        return importlib.import_module(_SUBMODULES[name])
    cuda = importlib.import_module("warploom.cuda")
    if name == "guvectorize":
        return cuda.guvectorize
    if name == "typeof":
        return importlib.import_module("warploom.cuda.typing.typeof").typeof
    if name == "literal_unroll":
        return cuda.literal_unroll
    if name == "config":
        return cuda.config
    types = importlib.import_module("warploom.cuda.types")
    if name in types.__all__ or name in ("from_dtype",):
        return getattr(types, name)
    raise AttributeError(f"module 'numba' (warploom) has no attribute {name!r}: only numba.cuda is provided")


__all__ = ["jit", "njit", "vectorize"]
