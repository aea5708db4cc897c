"""Canonical types of arrays, and what every new array of a shape has in common."""

from __future__ import annotations

import functools
from typing import Optional

import numpy as np

from . import _geometry


@functools.lru_cache(maxsize=None)
def element_type(dtype: np.dtype, aligned: bool) -> str:
    """The canonical string of a dtype; empty when kernels have no such type.

    ``aligned`` is the dtype's ``isalignedstruct``, which makes no difference to NumPy's equality.
    """
    from warploom.cuda.np.numpy_support import from_dtype

    try:
        return from_dtype(dtype).canonical
    except Exception:
        return ""


@functools.lru_cache(maxsize=None)
def array_type(dtype: np.dtype, aligned: bool, ndim: int, layout: str, readonly: bool) -> str:
    """The canonical string of an array's type; empty when kernels have no such elements."""
    element = element_type(dtype, aligned)
    return "array(%s,%d,%s%s)" % (element, ndim, layout, ",ro" if readonly else "") if element else ""


def layout_of(shape: tuple, strides: tuple, itemsize: int) -> str:
    """"C", "F" or "A", as kernels are compiled for it."""
    c_order, f_order = _geometry.contiguity(shape, strides, itemsize)
    if 0 in strides:
        return "A"
    return "C" if c_order else "F" if f_order else "A"


def layout_for(shape, dtype, order: str) -> Optional[tuple]:
    """(bytes, shape, strides, canonical type, dtype, C order, Fortran order) of a new contiguous array.

    ``shape`` is a size or a tuple of sizes. None for structures and other orders.
    """
    dtype = np.dtype(dtype)
    if dtype.names is not None or dtype.subdtype is not None or dtype.hasobject or order not in ("C", "F"):
        return None
    if not isinstance(shape, tuple):
        shape = (shape,)
    strides = _geometry.contiguous_strides(shape, dtype.itemsize, order)
    c_order, f_order = _geometry.contiguity(shape, strides, dtype.itemsize)
    type_name = array_type(dtype, False, len(shape), layout_of(shape, strides, dtype.itemsize), False)
    size = _geometry.size_of(shape) * dtype.itemsize
    return None if size >= 1 << 63 else (size, shape, strides, type_name, dtype, c_order, f_order)
