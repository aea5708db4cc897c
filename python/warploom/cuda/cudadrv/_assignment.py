"""Assignment to parts of device arrays with NumPy's broadcasting and casting."""

from __future__ import annotations

import numpy as np

from . import _geometry
from ._cast import cast_array
from ._copies import host_to_device, is_device_memory
from ._kernels import strided_copy


def _host_values(value, dtype: np.dtype) -> np.ndarray:
    """``value`` as host elements of a dtype, in C order, with its zero strides kept."""
    host = np.asarray(value)
    if host.dtype != dtype:
        host = host.astype(dtype)
    return np.ascontiguousarray(host).reshape(host.shape)


def assign(context, left, value, stream) -> None:
    """Queues ``left[...] = value`` on a stream with NumPy's broadcasting and casting."""
    if is_device_memory(value) or hasattr(value, "__cuda_array_interface__"):
        right = _as_device_array(value)
        if right.dtype != left.dtype:
            right = cast_array(context, right, left.dtype, stream)
        on_host = None
    else:
        on_host = right = _host_values(value, left.dtype)
    if right.ndim > left.ndim:
        raise ValueError("Can't assign %s-D array to %s-D self" % (right.ndim, left.ndim))
    shape = (1,) * (left.ndim - right.ndim) + tuple(right.shape)
    for axis, (to, extent) in enumerate(zip(left.shape, shape)):
        if extent != 1 and to != extent:
            raise ValueError("Can't copy sequence with size %d to array axis %d with dimension %d"
                             % (extent, axis, to))
    if left.size == 0:
        return
    if on_host is not None:
        if right.size == left.size and (left.is_c_contiguous() or right.size == 1):
            host_to_device(left.gpu_data, on_host, on_host.nbytes, stream=stream)
            return
        memory = context.memalloc(on_host.nbytes)
        host_to_device(memory, on_host, on_host.nbytes, stream=stream)
        address, strides = memory.device_pointer, right.strides
    else:
        memory = right.gpu_data
        address, strides = right._address, right.strides
        if _overlap(left, right):
            # The source is read as it was before the assignment.
            memory = context.memalloc(right.nbytes)
            packed = _geometry.contiguous_strides(right.shape, right.dtype.itemsize)
            strided_copy(context, memory.device_pointer, packed, address, strides, right.shape, right.dtype.itemsize,
                         stream)
            address, strides = memory.device_pointer, packed
    strides = (0,) * (left.ndim - right.ndim) + tuple(strides)
    strides = tuple(0 if extent == 1 else step for extent, step in zip(shape, strides))
    strided_copy(context, left._address, left.strides, address, strides, left.shape, left.dtype.itemsize, stream)


def _overlap(left, right) -> bool:
    if left._address == right._address and left.shape == right.shape and left.strides == right.strides:
        return False
    a, b = left.gpu_data.device_pointer, right.gpu_data.device_pointer
    return a < b + right.alloc_size and b < a + left.alloc_size


def _as_device_array(value):
    """A device array over the memory of a mapped, managed or foreign array or a record."""
    from .devicearray import DeviceNDArray, DeviceRecord, MappedNDArray

    if isinstance(value, DeviceNDArray):
        return value
    if isinstance(value, DeviceRecord):
        return DeviceNDArray((), (), value.dtype, stream=value.stream, gpu_data=value.gpu_data)
    if isinstance(value, MappedNDArray):
        return value._as_device_array()
    from warploom.cuda.api import as_cuda_array

    return as_cuda_array(value)
