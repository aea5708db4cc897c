"""NumPy dtypes and types: conversions, and views of pointers as arrays. Source: Numba, `numba.np.numpy_support`."""

from __future__ import annotations

import ctypes
from typing import Tuple

import numpy as np

from .. import registry
from ..types import as_dtype, from_dtype

__all__ = ["as_dtype", "carray", "farray", "from_dtype", "is_contiguous", "map_layout", "numpy_version"]

numpy_version: Tuple[int, int] = tuple(int(p) for p in np.__version__.split(".")[:2])


def map_layout(val) -> str:
    """'C', 'F' or 'A': the layout of an array, as it enters its type."""
    flags = val.flags
    if flags["C_CONTIGUOUS"]:
        return "C"
    if flags["F_CONTIGUOUS"]:
        return "F"
    return "A"


def is_contiguous(val) -> bool:
    """Whether the array is one block of memory in C or Fortran order."""
    return map_layout(val) != "A"


def _pointer_array(ptr, shape, dtype, order):
    if isinstance(ptr, ctypes.c_void_p):
        if dtype is None:
            raise TypeError("explicit dtype required for void* argument")
        address = ptr.value
    elif isinstance(ptr, ctypes._Pointer):
        own = np.dtype(ptr._type_)
        if dtype is not None and np.dtype(dtype) != own:
            raise TypeError(f"mismatching dtype '{np.dtype(dtype)}' for pointer {ptr}")
        dtype, address = own, ctypes.cast(ptr, ctypes.c_void_p).value
    else:
        raise TypeError(f"expected a ctypes pointer, got {ptr!r}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    dtype = np.dtype(dtype)
    nbytes = int(np.prod(shape)) * dtype.itemsize
    return np.ndarray(shape, dtype, (ctypes.c_byte * nbytes).from_address(address), order=order)


def carray(ptr, shape, dtype=None):
    """A C-ordered array over the memory at a pointer (host: ctypes pointer; kernel: CPointer), not owning it."""
    return _pointer_array(ptr, shape, dtype, "C")


def farray(ptr, shape, dtype=None):
    """A Fortran-ordered array over the memory at a pointer, not owning it."""
    return _pointer_array(ptr, shape, dtype, "F")


registry.register(carray, "cuda.carray")
registry.register(farray, "cuda.farray")
