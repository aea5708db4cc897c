"""What warploom.blas and warploom.fft share: arrays and streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from warploom.cuda import as_cuda_array, is_cuda_array
from warploom.cuda.cudadrv import devicearray, devices
from warploom.cuda.cudadrv._streams import core_stream


def device_array_of(obj: Any, what: str) -> Any:
    """A device array, or one over the memory of an object with ``__cuda_array_interface__``.

    TypeError for arrays of the host, ValueError for an array of another device than the current context's.
    """
    if not isinstance(obj, devicearray._Strided):
        if not is_cuda_array(obj):
            raise TypeError(
                "%s is no array in device memory but %s: copy it there with cuda.to_device"
                % (what, type(obj).__name__))
        obj = as_cuda_array(obj)
    context = devices.get_context()
    owner = getattr(getattr(obj, "gpu_data", None), "context", context)
    if owner is not None and owner.device.id != context.device.id:
        raise ValueError("%s is in memory of device %d and the current device is %d: copy it there, or use "
                         "cuda.gpus[%d]" % (what, owner.device.id, context.device.id, owner.device.id))
    return obj


def writable(obj: Any, what: str) -> Any:
    """The same for a result; ValueError for a read-only array."""
    array = device_array_of(obj, what)
    if array._readonly:
        raise ValueError("%s is read-only" % what)
    return array


def same_type(*arrays: Any) -> np.dtype:
    """The common type of elements; TypeError when they differ."""
    types = {np.dtype(array.dtype) for array in arrays}
    if len(types) != 1:
        raise TypeError("the arrays have elements of different types: %s; convert them first"
                        % ", ".join(sorted(t.name for t in types)))
    (dtype,) = types
    if not dtype.isnative:
        raise TypeError("elements in the other byte order; convert them first")
    return dtype


def native_stream(stream: Any) -> Any:
    """The native stream that a stream argument stands for; 0 and None: the default stream."""
    return core_stream(stream, devices.get_context())
