"""Host functions of ``warploom.cuda``: memory, streams, events, devices (Numba documentation: "CUDA Host API")."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator, Optional

import numpy as np

from warploom import _core
from warploom.cuda.core import config

from .cudadrv import _geometry, devicearray, devices
from .cudadrv import driver as _driver
from .cudadrv._calls import call
from .cudadrv._dlpack import from_dlpack
from .cudadrv._graphs import Graph, GraphBuilder, GraphCompleteOptions, GraphMemoryResource
from .cudadrv._memory import MemoryPointer
from .cudadrv._streams import Event, Stream
from .cudadrv._streams import event_elapsed_time as _elapsed

__all__ = [
    "Graph", "GraphBuilder", "GraphCompleteOptions", "GraphMemoryResource", "as_cuda_array", "close", "cuda_error",
    "current_context", "default_stream",
    "defer_cleanup", "detect", "device_array", "device_array_like", "event", "event_elapsed_time", "external_stream",
    "from_cuda_array_interface", "from_dlpack", "get_current_device", "gpus", "graph_builder", "is_available",
    "is_bfloat16_supported", "is_cuda_array", "is_float16_supported", "is_fp8_supported", "is_supported_version",
    "legacy_default_stream", "list_devices", "managed_array", "mapped", "mapped_array", "mapped_array_like",
    "open_ipc_array", "per_thread_default_stream", "pinned", "pinned_array", "pinned_array_like", "profile_start",
    "profile_stop", "profiling", "require_context", "select_device", "stream", "synchronize", "to_device",
]

require_context = devices.require_context
current_context = devices.get_context
gpus = devices.gpus


# Arrays from elsewhere.


@require_context
def from_cuda_array_interface(desc: dict, owner: Any = None, sync: bool = True) -> devicearray.DeviceNDArray:
    """A device array over the memory that a ``__cuda_array_interface__`` dictionary describes (version 3).

    ``owner`` is kept alive. With a stream in ``desc`` that stream becomes the array's, and is waited for first unless
    ``sync`` is False or NUMBA_CUDA_ARRAY_INTERFACE_SYNC is 0. Read-only memory gives a read-only array.
    NotImplementedError for masked arrays, ValueError for stream 0, which version 3 forbids, CudaAPIError for memory
    that kernels do not reach: of a GPU when they run on the CPU device, of another GPU, of the host.
    """
    version = desc.get("version")
    if version is not None and version >= 1 and desc.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported")
    shape = _geometry.normal_shape(desc["shape"])
    dtype = np.dtype(desc["typestr"])
    if dtype.kind == "V" and desc.get("descr"):
        described = np.dtype(desc["descr"])
        if described.itemsize == dtype.itemsize:
            dtype = described
    strides = desc.get("strides")
    if strides is None:
        strides = _geometry.contiguous_strides(shape, dtype.itemsize)
    strides = tuple(strides)
    low, high = _geometry.extents(shape, strides, dtype.itemsize)
    address = desc["data"][0] or 0
    context = current_context()
    if address and high > low:
        call("cuPointerGetAttribute", context._core_device.check_foreign, address + low, high - low)
    memory = MemoryPointer(context, address + low if address else 0, high - low, owner=owner)
    handle = desc.get("stream")
    stream: Any = 0
    if handle == 0:
        raise ValueError("stream 0 does not say which default stream is meant: 1 is the legacy, 2 the per-thread one")
    if handle is not None:
        stream = external_stream(handle)
        if sync and config.CUDA_ARRAY_INTERFACE_SYNC:
            stream.synchronize()
    array = devicearray.DeviceNDArray.__new__(devicearray.DeviceNDArray)
    array._make(shape, strides, dtype, stream, memory, readonly=bool(desc["data"][1]))
    return array


def as_cuda_array(obj: Any, sync: bool = True) -> devicearray.DeviceNDArray:
    """A device array over the memory of an object with ``__cuda_array_interface__``, which it keeps alive.

    ``sync`` as for :func:`from_cuda_array_interface`. TypeError for other objects.
    """
    if not is_cuda_array(obj):
        raise TypeError("*obj* doesn't implement the cuda array interface.")
    return from_cuda_array_interface(obj.__cuda_array_interface__, owner=obj, sync=sync)


def is_cuda_array(obj: Any) -> bool:
    """Whether the object has ``__cuda_array_interface__``."""
    return hasattr(obj, "__cuda_array_interface__")


# Device memory.


def to_device(obj: Any, stream=0, copy: bool = True, to: Optional[devicearray.DeviceNDArray] = None):
    """Copies an array, record or number to new device memory (or to the array ``to``) and returns the device object.

    With a ``stream`` the copy is queued on it. ``copy=False`` allocates only. Device memory is returned as it is.
    ValueError for host memory that is not contiguous.
    """
    if to is None:
        # The usual case: the bytes of a NumPy array, on the default stream.
        if copy and type(obj) is np.ndarray and type(stream) is int and stream == 0 and obj.flags.c_contiguous:
            array = _core.new_array(obj.shape, obj.dtype, "C", 0)
            if array is not None and devicearray.write_plain(array, obj):
                return array
        return _to_device(obj, stream, copy)
    if copy:
        to.copy_to_device(obj, stream=stream)
    return to


@require_context
def _to_device(obj: Any, stream, copy: bool):
    return devicearray.auto_device(obj, stream=stream, copy=copy, user_explicit=True)[0]


def _shape_strides(shape, strides, order: str, itemsize: int):
    shape = _geometry.normal_shape(shape)
    if strides is None:
        return shape, _geometry.contiguous_strides(shape, itemsize, order)
    return shape, (strides,) if isinstance(strides, int) else tuple(strides)


def _device_array(shape, dtype=np.float64, strides=None, order: str = "C", stream=0) -> devicearray.DeviceNDArray:
    dtype = np.dtype(dtype)
    devices.get_context()
    shape, strides = _shape_strides(shape, strides, order, dtype.itemsize)
    return devicearray.DeviceNDArray._new(shape, strides, dtype, stream)


device_array = _core.make_device_array(_device_array, np.float64, __name__)


def _host_memory_array(cls, memory, shape, strides, dtype):
    """A host array of class ``cls`` over pinned, mapped or managed memory."""
    return np.ndarray.__new__(cls, shape, dtype, memory, 0, strides)


def _extent(shape, strides, dtype: np.dtype) -> int:
    low, high = _geometry.extents(shape, strides, dtype.itemsize)
    if low < 0:
        raise ValueError("strides of new memory must not be negative")
    return high


@require_context
def pinned_array(shape, dtype=np.float64, strides=None, order: str = "C") -> np.ndarray:
    """A NumPy array in pinned host memory: copies from and to it on a stream do not wait."""
    dtype = np.dtype(dtype)
    shape, strides = _shape_strides(shape, strides, order, dtype.itemsize)
    size = _extent(shape, strides, dtype)
    if not size:
        return np.empty(shape, dtype)
    return _host_memory_array(np.ndarray, current_context().memhostalloc(size), shape, strides, dtype)


@require_context
def mapped_array(shape, dtype=np.float64, strides=None, order: str = "C", stream=0, portable: bool = False,
                 wc: bool = False) -> devicearray.MappedNDArray:
    """A NumPy array in host memory that kernels access directly. ``portable`` and ``wc`` are hints."""
    dtype = np.dtype(dtype)
    shape, strides = _shape_strides(shape, strides, order, dtype.itemsize)
    memory = current_context().memhostalloc(max(_extent(shape, strides, dtype), 1), mapped=True, portable=portable,
                                            wc=wc)
    array = _host_memory_array(devicearray.MappedNDArray, memory, shape, strides, dtype)
    array.device_setup(memory, stream=stream)
    return array


@require_context
def managed_array(shape, dtype=np.float64, strides=None, order: str = "C", stream=0,
                  attach_global: bool = True) -> devicearray.ManagedNDArray:
    """A NumPy array in memory that host and device share; synchronise before the host reads what kernels wrote.

    Its ``pages()``, ``advise()`` and ``prefetch()`` are about where its pages are.
    """
    dtype = np.dtype(dtype)
    shape, strides = _shape_strides(shape, strides, order, dtype.itemsize)
    memory = current_context().memallocmanaged(max(_extent(shape, strides, dtype), 1), attach_global=attach_global)
    array = _host_memory_array(devicearray.ManagedNDArray, memory, shape, strides, dtype)
    array.device_setup(memory, stream=stream)
    return array


def _like(ary):
    """Shape, dtype, strides and order of a new array in the memory order of ``ary``."""
    shape = tuple(ary.shape)
    strides, order = _geometry.strides_like(shape, tuple(ary.strides), ary.dtype.itemsize)
    return dict(shape=shape, dtype=ary.dtype, strides=strides, order=order)


def device_array_like(ary, stream=0) -> devicearray.DeviceNDArray:
    """:func:`device_array` with the shape, dtype and memory order of ``ary``."""
    return device_array(stream=stream, **_like(ary))


def mapped_array_like(ary, stream=0, portable: bool = False, wc: bool = False) -> devicearray.MappedNDArray:
    """:func:`mapped_array` with the shape, dtype and memory order of ``ary``."""
    return mapped_array(stream=stream, portable=portable, wc=wc, **_like(ary))


def pinned_array_like(ary) -> np.ndarray:
    """:func:`pinned_array` with the shape, dtype and memory order of ``ary``."""
    return pinned_array(**_like(ary))


@contextlib.contextmanager
def pinned(*arylist) -> Iterator[None]:
    """Pins host arrays while the block runs; they are unpinned at once when it ends."""
    context = current_context()
    pins = []
    try:
        for ary in arylist:
            start, end = _driver.host_memory_extents(ary)
            pins.append(context.mempin(ary, start, end - start, mapped=False))
        yield
    finally:
        _unpin(pins)


@contextlib.contextmanager
def mapped(*arylist, **kws) -> Iterator[Any]:
    """Gives kernels access to host arrays while the block runs; yields the device array, or a list for several.

    ``stream``: what the arrays use when a call is given none.
    """
    stream = kws.pop("stream", 0)
    if kws:
        raise TypeError("mapped() got unexpected keyword arguments %s" % sorted(kws))
    context = current_context()
    pins = []
    try:
        arrays = []
        for ary in arylist:
            start, end = _driver.host_memory_extents(ary)
            memory = context.mempin(ary, start, end - start, mapped=True)
            pins.append(memory)
            arrays.append(devicearray.from_array_like(ary, stream=stream, gpu_data=memory))
        yield arrays[0] if len(arrays) == 1 else arrays
    finally:
        _unpin(pins)


def _unpin(pins: list) -> None:
    for memory in pins:
        if memory._finalizer is not None:
            memory._finalizer()


def open_ipc_array(handle, shape, dtype, strides=None, offset: int = 0):
    """A context manager that yields another process's array, by the handle (bytes) of its memory."""
    from .cudadrv._ipc import open_ipc_array as opened

    return opened(handle, shape, dtype, strides, offset)


# Streams and events.


@require_context
def stream(blocking: bool = True, priority: int = 0) -> Stream:
    """A new stream.

    ``blocking=False``: the legacy default stream and this one do not wait for each other. ``priority``: from -5, the
    most urgent, to 0; blocks of more urgent streams begin first (cuStreamCreateWithPriority).
    """
    return current_context().create_stream(blocking, priority)


@require_context
def graph_builder() -> GraphBuilder:
    """Something to give to launches and copies as a stream, which captures them into a graph."""
    return current_context().create_graph_builder()


@require_context
def default_stream() -> Stream:
    """The default stream, as an object."""
    return current_context().get_default_stream()


@require_context
def legacy_default_stream() -> Stream:
    """The legacy default stream, which other streams wait for and which waits for them."""
    return current_context().get_legacy_default_stream()


@require_context
def per_thread_default_stream() -> Stream:
    """The calling thread's default stream."""
    return current_context().get_per_thread_default_stream()


@require_context
def external_stream(ptr: int) -> Stream:
    """The stream with the handle ``ptr``, made elsewhere; TypeError unless that is an int."""
    return current_context().create_external_stream(ptr)


@require_context
def event(timing: bool = True) -> Event:
    """A new event; ``timing=False``: it has no time and is cheaper on a GPU."""
    return current_context().create_event(timing=timing)


event_elapsed_time = _elapsed


# Devices and contexts.


def synchronize() -> None:
    """Waits for all work of the current device; raises what that work met."""
    current_context().synchronize()


def defer_cleanup():
    """A context manager in which no memory is freed, so that no free waits for the device; may be nested."""
    return current_context().defer_cleanup()


def select_device(device_id: int) -> _driver.Device:
    """Makes the device's context current in the calling thread, and returns the device."""
    return devices.get_context(device_id).device


def get_current_device() -> _driver.Device:
    """The device of the calling thread's current context."""
    return current_context().device


def list_devices() -> devices._DeviceList:
    """All devices."""
    return devices.gpus


def close() -> None:
    """Destroys the contexts of all devices: memory, kernels and streams made before raise when used."""
    devices.reset()


def is_available() -> bool:
    """Whether there is a device."""
    return _driver.driver.is_available


def is_supported_version() -> bool:
    """Whether the CUDA version that is provided is one that is supported: True."""
    return True


def cuda_error() -> Optional[str]:
    """What went wrong when the driver was set up, or None."""
    return _driver.driver.initialization_error


def detect() -> bool:
    """Prints the devices with their facts, and returns whether there is one that can be used."""
    lst = list_devices()
    print("Found %d CUDA devices" % len(lst))
    for device in lst:
        major, minor = device.compute_capability
        print("id %d %20s %40s" % (device.id, device.name, "[SUPPORTED]"))
        for what, value in (
            ("Compute Capability", "%d.%d" % (major, minor)),
            ("PCI Device ID", device.PCI_DEVICE_ID),
            ("PCI Bus ID", device.PCI_BUS_ID),
            ("UUID", device.uuid),
            ("FP32/FP64 Performance Ratio", device.SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
            ("Host cores", os.cpu_count()),
        ):
            print("%40s: %s" % (what, value))
    print("Summary:")
    print("\t%d/%d devices are supported" % (len(lst), len(lst)))
    return len(lst) > 0


def is_float16_supported() -> bool:
    """Whether the current device has 16-bit floats."""
    return current_context().device.supports_float16


def is_bfloat16_supported() -> bool:
    """Whether the current device has bfloat16."""
    return current_context().device.supports_bfloat16


def is_fp8_supported() -> bool:
    """Whether the current device has 8-bit floats."""
    return current_context().device.supports_fp8


profile_start = _driver.profile_start
profile_stop = _driver.profile_stop
profiling = _driver.profiling
