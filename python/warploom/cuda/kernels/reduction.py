"""cuda.reduce: reduction of an array with a binary function. Source: Numba, "GPU Reduction"."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from .. import types
from ..decorators import jit
from ..stubs import blockIdx, gridDim, shared, syncthreads, threadIdx

_BLOCK = 256
_MAX_BLOCKS = 256


def _make_kernel(function: Callable, dtype: types.Type):
    """A kernel in which each block reduces what its threads visit to one element of `out`."""
    combine = jit(device=True)(function)

    def reduce_blocks(data, n, out):
        tile = shared.array(_BLOCK, dtype)
        thread = threadIdx.x
        first = blockIdx.x * _BLOCK
        i = first + thread
        if i < n:
            total = dtype(data[i])
            i += _BLOCK * gridDim.x
            while i < n:
                total = dtype(combine(total, data[i]))
                i += _BLOCK * gridDim.x
            tile[thread] = total
        syncthreads()
        held = min(n - first, _BLOCK)
        half = _BLOCK // 2
        while half > 0:
            if thread < half and thread + half < held:
                tile[thread] = combine(tile[thread], tile[thread + half])
            syncthreads()
            half //= 2
        if thread == 0:
            out[blockIdx.x] = tile[0]

    def add_initial(out, initial):
        out[0] = combine(initial, out[0])

    return jit(reduce_blocks), jit(add_initial)


class Reduce:
    """`Reduce(f)` is callable: it reduces one-dimensional arrays with `f(a, b)`, which must be associative.

    Elements are combined in no fixed order.
    """

    def __init__(self, functor: Callable):
        self._functor = getattr(functor, "py_func", functor)
        self._kernels: Dict[Any, Tuple[Any, Any]] = {}

    def __call__(self, arr, size: Optional[int] = None, res=None, init=0, stream=0):
        """Reduce the first `size` elements (default: all) of a host or device array.

        res: a device array whose first element takes the result; None is then returned, without waiting. init: combined
        with the result; the result for no elements. stream: where the work is queued.

        Raises TypeError for an array that has not one dimension.
        """
        if arr.ndim != 1:
            raise TypeError("only support 1D array")
        n = arr.shape[0] if size is None else int(size)
        dtype = np.dtype(arr.dtype)
        if n == 0:
            if res is not None:
                res[:1] = dtype.type(init)
                return None
            return init
        result = self.on_device(arr, n, stream, initial=dtype.type(init), res=res)
        if res is not None:
            return None
        return result.copy_to_host(stream=stream)[0] if stream == 0 else _awaited(result, stream)

    def on_device(self, arr, n: int, stream, initial=None, res=None):
        """The device array whose first element is, or will be, the result; `initial` None leaves it out."""
        from .. import api
        from ..cudadrv import devicearray

        dtype = np.dtype(arr.dtype)
        data, _ = devicearray.auto_device(arr, stream=stream)
        blocks = min(_MAX_BLOCKS, (n + _BLOCK - 1) // _BLOCK)
        kernel, add_initial = self._kernels_for(dtype)
        out = api.device_array(max(blocks, 1), dtype=dtype, stream=stream) if blocks > 1 or res is None else res
        with _no_occupancy_warnings():
            kernel[blocks, _BLOCK, stream](data, n, out)
            if blocks > 1:
                partial, out = out, api.device_array(1, dtype=dtype, stream=stream) if res is None else res
                kernel[1, _BLOCK, stream](partial, blocks, out)
            if initial is not None:
                add_initial[1, 1, stream](out, initial)
        return out

    def _kernels_for(self, dtype: np.dtype):
        found = self._kernels.get(dtype)
        if found is None:
            found = self._kernels[dtype] = _make_kernel(self._functor, types.from_dtype(dtype))
        return found


def _awaited(result, stream):
    host = result.copy_to_host(stream=stream)
    stream.synchronize()
    return host[0]


class _no_occupancy_warnings:
    """Small grids are how reductions end: no advice about them."""

    def __enter__(self):
        from ..core import config

        self._before = config.CUDA_LOW_OCCUPANCY_WARNINGS
        config.CUDA_LOW_OCCUPANCY_WARNINGS = 0

    def __exit__(self, *error):
        from ..core import config

        config.CUDA_LOW_OCCUPANCY_WARNINGS = self._before
