"""Copies between host and device, and the addresses and sizes of what is copied."""

from __future__ import annotations

import ctypes
from typing import Any, Tuple

import numpy as np

from warploom import _core

from . import _geometry, _streams
from ._calls import CudaAPIError, api_error, synchronized


driver: Any = None  # the one driver; that module, which needs this one, sets it


def is_device_memory(obj: Any) -> bool:
    """Whether the object says that it is memory of the device."""
    return getattr(obj, "__cuda_memory__", False)


def require_device_memory(obj: Any) -> None:
    """Raises unless the object is memory of the device."""
    if not is_device_memory(obj):
        raise Exception("Not a CUDA memory object.")


def device_pointer(obj: Any) -> int:
    """The device address of an array, a memory object or an int; CudaAPIError 1 when the memory has been freed."""
    if isinstance(obj, int):
        return obj
    require_device_memory(obj)
    memory = getattr(obj, "gpu_data", obj)
    finalizer = getattr(getattr(memory, "_root", memory), "_finalizer", None)
    if finalizer is not None and not finalizer.alive:
        raise CudaAPIError(1, "Call to cuMemcpy results in CUDA_ERROR_INVALID_VALUE: the memory at 0x%x has been "
                              "freed, by a reset of its context or by free()" % memory.device_pointer)
    address = getattr(obj, "_device_address", None)
    return obj.device_ctypes_pointer.value or 0 if address is None else address


def device_memory_size(devmem: Any) -> int:
    """Bytes that a device array or memory object covers."""
    size = getattr(devmem, "_cuda_memsize_", None)
    if size is None:
        low, high = _geometry.extents(devmem.shape, devmem.strides, devmem.dtype.itemsize)
        size = devmem._cuda_memsize_ = high - low
    return size


def host_pointer(obj: Any) -> int:
    """The address of a host array, scalar record, ctypes object, buffer, or an int that is one."""
    if isinstance(obj, int):
        return obj
    if isinstance(obj, np.ndarray):
        return obj.__array_interface__["data"][0]
    known = getattr(obj, "host_pointer", None)
    if known is not None:
        return known
    if isinstance(obj, (ctypes._SimpleCData, ctypes.Structure, ctypes.Array, ctypes.Union)):
        return ctypes.addressof(obj)
    view = memoryview(obj)
    if view.readonly and not isinstance(obj, np.void):
        return np.frombuffer(view, dtype=np.uint8).__array_interface__["data"][0] if view.nbytes else 0
    return np.frombuffer(obj, dtype=np.uint8).__array_interface__["data"][0] if view.nbytes else 0


def host_memory_extents(obj: Any) -> Tuple[int, int]:
    """(lowest address, one past the highest) of a host array or buffer."""
    if isinstance(obj, np.ndarray):
        start = obj.__array_interface__["data"][0]
        low, high = _geometry.extents(obj.shape, obj.strides, obj.itemsize)
        return start + low, start + high
    start = host_pointer(obj)
    return start, start + memoryview(obj).nbytes


def host_memory_size(obj: Any) -> int:
    """Bytes between the ends of a host array or buffer."""
    start, end = host_memory_extents(obj)
    return end - start


def memory_size_from_info(shape, strides, itemsize: int) -> int:
    """Bytes that an array of this shape and these strides covers."""
    low, high = _geometry.extents(shape, strides, itemsize)
    return high - low


def _settle(obj: Any) -> None:
    """Waits for the device that holds ``obj`` when it is not the current one: streams order work on their own only."""
    memory = getattr(obj, "gpu_data", obj)
    context = getattr(memory, "context", None)
    if context is None or len(driver._devices or ()) < 2:
        return
    if context.handle != driver.current_handle():
        context.synchronize()


def _keep(stream, memory: Any) -> None:
    """A graph that is being captured uses the memory whenever it is launched."""
    context = driver.find_context()
    _streams.keep_for_capture(_streams.core_stream(stream, context), memory)


def write_plain(array: Any, host: np.ndarray) -> bool:
    """Copies the bytes of a host array to a contiguous device array; False when nothing was copied."""
    if "cuMemcpyHtoD" in driver.__dict__:  # a program has put a function of its own there
        return False
    try:
        return _core.write_array(array, host)
    except _core.Error as error:
        raise api_error("cuMemcpyHtoD", error) from error


def read_plain(array: Any, host: np.ndarray) -> bool:
    """The same to the host."""
    if "cuMemcpyDtoH" in driver.__dict__:
        return False
    try:
        done = _core.read_array(array, host)
    except _core.Error as error:
        raise api_error("cuMemcpyDtoH", error) from error
    if done:
        synchronized(array.gpu_data.context)
    return done


def host_to_device(dst, src, size: int, stream=0) -> None:
    """Copies ``size`` bytes from the host (see :func:`host_pointer`) to device memory.

    ``stream`` 0: returns when done. Else queued on the stream; pageable memory may be changed at once, memory that is
    pinned not before the stream has reached the copy.
    """
    if size == 0:
        return
    to, source = device_pointer(dst), host_pointer(src)
    if stream:
        driver.cuMemcpyHtoDAsync(to, source, size, stream)
        _keep(stream, src)
    else:
        driver.cuMemcpyHtoD(to, source, size)


def device_to_host(dst, src, size: int, stream=0, offset: int = 0) -> None:
    """Copies ``size`` bytes of device memory, from ``offset`` bytes after its address on, to the host.

    Returns when done, except with a ``stream`` and pinned host memory: then the copy is queued.
    """
    if size == 0:
        return
    _settle(src)
    to, source = host_pointer(dst), device_pointer(src) + offset
    if stream:
        driver.cuMemcpyDtoHAsync(to, source, size, stream)
        _keep(stream, dst)
    else:
        driver.cuMemcpyDtoH(to, source, size)


def device_to_device(dst, src, size: int, stream=0) -> None:
    """Copies ``size`` bytes between device memory, also of two devices; queued when ``stream`` is not 0."""
    if size == 0:
        return
    _settle(src)
    _settle(dst)
    to, source = device_pointer(dst), device_pointer(src)
    if stream:
        driver.cuMemcpyDtoDAsync(to, source, size, stream)
    else:
        driver.cuMemcpyDtoD(to, source, size)


def device_memset(dst, val: int, size: int, stream=0) -> None:
    """Sets ``size`` bytes of device memory to the lowest byte of ``val``; queued when ``stream`` is not 0."""
    driver.set_memory(device_pointer(dst), val & 0xFF, size, stream)


def device_extents(devmem) -> Tuple[int, int]:
    """(first address, one past the last) of the allocation behind device memory."""
    start = device_pointer(devmem)
    return start, start + device_memory_size(devmem)
