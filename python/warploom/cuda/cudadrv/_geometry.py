"""Shapes and strides of arrays: contiguity, extents, views, without touching their elements."""

from __future__ import annotations

import operator
from typing import Iterable, Optional, Sequence, Tuple, Union

import numpy as np

Shape = Tuple[int, ...]


def contiguous_strides(shape: Sequence[int], itemsize: int, order: str = "C") -> Shape:
    """Strides in bytes of a new array; ``order`` "C" or "F"."""
    strides = [0] * len(shape)
    step = itemsize
    for i in range(len(shape)) if order == "F" else range(len(shape) - 1, -1, -1):
        strides[i] = step
        step *= max(shape[i], 1)
    return tuple(strides)


def size_of(shape: Iterable[int]) -> int:
    """Number of elements."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def contiguity(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> Tuple[bool, bool]:
    """(C-contiguous, F-contiguous) as NumPy's flags: axes of one element do not count, empty arrays are both."""
    ndim = len(shape)
    if ndim == 1:
        only = shape[0] <= 1 or strides[0] == itemsize
        return only, only
    if 0 in shape:
        return True, True
    c_order = f_order = True
    step = itemsize
    for i in range(ndim - 1, -1, -1):
        if shape[i] != 1:
            if strides[i] != step:
                c_order = False
                break
            step *= shape[i]
    step = itemsize
    for i in range(ndim):
        if shape[i] != 1:
            if strides[i] != step:
                f_order = False
                break
            step *= shape[i]
    return c_order, f_order


def extents(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> Tuple[int, int]:
    """Byte offsets from the first element: lowest byte of the array, and one past its highest. Empty: (0, 0)."""
    low, high = 0, itemsize
    for extent, stride in zip(shape, strides):
        if extent == 0:
            return 0, 0
        if stride >= 0:
            high += (extent - 1) * stride
        else:
            low += (extent - 1) * stride
    return low, high


def index(shape: Shape, strides: Shape, itemsize: int, key) -> Tuple[int, Shape, Shape]:
    """The view ``array[key]`` as (offset in bytes, shape, strides).

    Only basic indexing: integers, slices, ``...`` and ``None``. Raises IndexError as NumPy does, NotImplementedError
    for indexing with arrays.
    """
    ndim = len(shape)
    if type(key) is not tuple:
        key = (key,)
    used = ellipses = 0
    for item in key:
        if item is Ellipsis:
            ellipses += 1
        elif item is not None:
            used += 1
    if used > ndim:
        raise IndexError("too many indices for array: array is %d-dimensional, but %d were indexed" % (ndim, used))
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    offset = axis = 0
    new_shape, new_strides = [], []
    for item in key:
        if isinstance(item, slice):
            start, stop, step = item.indices(shape[axis])
            length = len(range(start, stop, step))
            offset += start * strides[axis] if length else 0
            new_shape.append(length)
            new_strides.append(step * strides[axis])
            axis += 1
        elif item is None:
            new_shape.append(1)
            new_strides.append(0)
        elif item is Ellipsis:
            after = axis + ndim - used
            new_shape += shape[axis:after]
            new_strides += strides[axis:after]
            axis = after
        else:
            if type(item) is not int:
                if isinstance(item, (bool, np.bool_, list, str)) or np.ndim(item) != 0:
                    raise NotImplementedError("device arrays are indexed with integers, slices, ... and None, not "
                                              "with %r" % type(item).__name__)
                item = operator.index(item)
            extent = shape[axis]
            if not -extent <= item < extent:
                raise IndexError("index %d is out of bounds for axis %d with size %d" % (item, axis, extent))
            offset += (item + extent if item < 0 else item) * strides[axis]
            axis += 1
    new_shape += shape[axis:]
    new_strides += strides[axis:]
    return 0 if 0 in new_shape else offset, tuple(new_shape), tuple(new_strides)


def reshaped(shape: Shape, strides: Shape, itemsize: int, new_shape: Shape, order: str) -> Optional[Shape]:
    """Strides of the array seen with ``new_shape``, or None when that needs a copy. Sizes must agree."""
    if size_of(new_shape) == 0:
        return contiguous_strides(new_shape, itemsize, order)
    old = [(n, s) for n, s in zip(shape, strides) if n != 1]
    new = list(new_shape)
    if order == "C":
        old.reverse()
        new.reverse()
    # From here on the first axis varies fastest. Axes that follow each other in memory become one run.
    runs = []
    for extent, stride in old:
        if runs and stride == runs[-1][0] * runs[-1][1]:
            runs[-1][0] *= extent
        else:
            runs.append([extent, stride])
    result = []
    at = 0
    left, stride = runs[0] if runs else (1, itemsize)
    for extent in new:
        if extent == 1:
            result.append(stride)
            continue
        if left == 1:
            at += 1
            left, stride = runs[at]
        if left % extent != 0:
            return None
        result.append(stride)
        left //= extent
        stride *= extent
    if order == "C":
        result.reverse()
    return tuple(result)


def complete_shape(new_shape: Sequence[int], size: int) -> Shape:
    """``new_shape`` with a single -1 worked out; ValueError when the sizes do not agree."""
    new = [operator.index(extent) for extent in new_shape]
    unknown = [i for i, extent in enumerate(new) if extent == -1]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown:
        known = size_of(extent for extent in new if extent != -1)
        if known == 0 or size % known != 0:
            raise ValueError("cannot reshape array of size %d into shape %s" % (size, tuple(new)))
        new[unknown[0]] = size // known
    if any(extent < 0 for extent in new) or size_of(new) != size:
        raise ValueError("cannot reshape array of size %d into shape %s" % (size, tuple(new)))
    return tuple(new)


def normal_shape(shape: Union[int, Sequence[int]]) -> Shape:
    """``shape`` as a tuple of Python ints; TypeError unless it is an integer or a sequence of them."""
    if type(shape) is int and shape >= 0:
        return (shape,)
    try:
        if hasattr(shape, "__len__") and not (isinstance(shape, np.ndarray) and shape.ndim == 0):
            dims = tuple(operator.index(extent) for extent in shape)
        else:
            dims = (operator.index(shape),)
    except TypeError:
        raise TypeError("shape must be an integer or tuple of integers") from None
    if any(extent < 0 for extent in dims):
        raise ValueError("negative dimensions are not allowed")
    return dims


def strides_like(shape: Shape, strides: Shape, itemsize: int) -> Tuple[Optional[Shape], str]:
    """(strides, order) of a new contiguous array that keeps the order of the axes in memory (NumPy's order="K").

    Strides None: those of ``order``.
    """
    c_order, f_order = contiguity(shape, strides, itemsize)
    if c_order:
        return None, "C"
    if f_order:
        return None, "F"
    new = [0] * len(shape)
    step = itemsize
    # Fastest axis last in C order: among equal strides the later axis is the faster one.
    for i in sorted(range(len(shape)), key=lambda axis: (abs(strides[axis]), -axis)):
        new[i] = step
        step *= shape[i]
    return tuple(new), "C"
