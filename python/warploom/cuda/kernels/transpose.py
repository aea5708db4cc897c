"""Transposition of a matrix on the device through tiles in shared memory. Source: CUDA Best Practices Guide."""

from __future__ import annotations

from typing import Dict

from .. import types
from ..decorators import jit
from ..stubs import blockIdx, shared, syncthreads, threadIdx

_TILE = 16
_kernels: Dict[types.Type, object] = {}


def _make_kernel(dtype: types.Type):
    # One column more than is used: rows of the tile then begin in different banks.
    shape = (_TILE, _TILE + 1)

    def transpose_tiles(source, target):
        tile = shared.array(shape, dtype)
        x, y = threadIdx.x, threadIdx.y
        row, column = blockIdx.y * _TILE, blockIdx.x * _TILE
        if row + y < source.shape[0] and column + x < source.shape[1]:
            tile[y, x] = source[row + y, column + x]
        syncthreads()
        if column + y < target.shape[0] and row + x < target.shape[1]:
            target[column + y, row + x] = tile[x, y]

    return jit(transpose_tiles)


def transpose(a, b=None):
    """Write the transpose of the matrix `a` into `b`, by default a new device array, and return it.

    a: a NumPy array or a two-dimensional device array, on whose stream the work is then queued. b: a device array of
    the reversed shape and the same dtype, or a NumPy array, which is filled when this returns.
    """
    from .. import api
    from ..core import config
    from ..cudadrv import devicearray

    stream = getattr(a, "stream", 0)
    if b is None:
        rows, columns = a.shape
        b = api.device_array((columns, rows), dtype=a.dtype, stream=stream)
    source, _ = devicearray.auto_device(a, stream=stream)
    target, fresh = devicearray.auto_device(b, stream=stream)
    dtype = types.from_dtype(a.dtype)
    kernel = _kernels.get(dtype)
    if kernel is None:
        kernel = _kernels[dtype] = _make_kernel(dtype)
    grid = ((source.shape[1] + _TILE - 1) // _TILE, (source.shape[0] + _TILE - 1) // _TILE)
    before, config.CUDA_LOW_OCCUPANCY_WARNINGS = config.CUDA_LOW_OCCUPANCY_WARNINGS, 0
    try:
        launch = kernel[grid, (_TILE, _TILE), stream]
    finally:
        config.CUDA_LOW_OCCUPANCY_WARNINGS = before
    if source.size:
        launch(source, target)
    if fresh:
        target.copy_to_host(b, stream=stream)
    return target
