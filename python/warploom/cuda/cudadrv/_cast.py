"""Conversion of device arrays from one dtype to another, by a kernel."""

from __future__ import annotations

import functools

import numpy as np

from . import _geometry


@functools.lru_cache(maxsize=None)
def _kernel():
    from warploom import cuda

    @cuda.jit
    def convert(out, source):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = source[i]

    return convert


def cast_array(context, source, dtype: np.dtype, stream):
    """A new C-ordered device array with the elements of ``source`` converted to ``dtype``, queued on ``stream``."""
    from ._kernels import strided_copy
    from .devicearray import DeviceNDArray

    packed = _geometry.contiguous_strides(source.shape, source.dtype.itemsize)
    if not source.is_c_contiguous():
        copy = DeviceNDArray(source.shape, packed, source.dtype, stream)
        strided_copy(context, copy._address, packed, source._address, source.strides, source.shape,
                     source.dtype.itemsize, stream)
        source = copy
    result = DeviceNDArray(source.shape, _geometry.contiguous_strides(source.shape, dtype.itemsize), dtype, stream)
    if source.size:
        blocks = -(-source.size // 256)
        _kernel()[blocks, 256, stream](result.reshape(source.size), source.reshape(source.size))
    return result
