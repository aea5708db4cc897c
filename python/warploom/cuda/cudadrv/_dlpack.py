"""DLPack: arrays shared with other libraries without copies (DLPack specification 1.1; Python array API standard).

The memory of the CPU device is memory of the host, so its arrays are given away as kDLCPU, which NumPy and others
take; those of a GPU as kDLCUDA.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Optional, Tuple

import numpy as np

from warploom import _core

from . import _geometry, _streams, devices
from ._calls import CudaAPIError, call
from ._memory import MemoryPointer, pinned_ranges

if TYPE_CHECKING:
    from .devicearray import DeviceNDArray

# DLDeviceType.
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
# DLDataTypeCode.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_KINDS = {code: kind for kind, code in _CODES.items()}
_BFLOAT16 = 4
_READ_ONLY, _COPIED = 1, 2

# Host memory of others that kernels may access because it was imported, by address.
_imported: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()


def _element_type(dtype: np.dtype) -> Tuple[int, int]:
    """(code, bits) of DLDataType; BufferError when it has none."""
    if dtype.name == "bfloat16":
        return _BFLOAT16, 16
    if dtype.kind not in _CODES or not dtype.isnative:
        raise BufferError("DLPack has no element type for %s: only native integers, real and complex numbers and "
                          "booleans are exchanged" % dtype)
    return _CODES[dtype.kind], 8 * dtype.itemsize


def _dtype(code: int, bits: int, lanes: int) -> np.dtype:
    if lanes == 1 and code == _BFLOAT16 and bits == 16:
        try:
            import ml_dtypes
        except ImportError:
            raise BufferError("arrays of bfloat16 need the package ml_dtypes") from None
        return np.dtype(ml_dtypes.bfloat16)
    if lanes != 1 or code not in _KINDS or bits % 8 or (code == _CODES["b"] and bits != 8):
        raise BufferError("elements of DLPack's type (code %d, %d bits, %d lanes) cannot be used" % (code, bits, lanes))
    kind = "?" if code == _CODES["b"] else "%s%d" % (_KINDS[code], bits // 8)
    try:
        return np.dtype(kind)
    except TypeError:
        raise BufferError("there are no elements of DLPack's type (code %d, %d bits)" % (code, bits)) from None


def _order(array, stream: Optional[int]) -> None:
    """Has work of the consumer's ``stream`` wait for what the array's stream has been given so far."""
    context = devices.get_context()
    producer = _streams.core_stream(array.stream, context)
    consumer = _streams.core_stream(stream, context)
    event = _core.Event(context._core_device, False)
    call("cuEventRecord", event.record, producer)
    call("cuStreamWaitEvent", consumer.wait, event)


def home(context) -> Tuple[int, int]:
    """DLPack's device type and number of the context's memory."""
    return (CUDA, context.device.id) if context.device.is_hardware else (CPU, 0)


@devices.require_context
def export(array, stream=None, max_version=None, dl_device=None, copy: Optional[bool] = None):
    """The DLPack capsule of a device array; see ``DeviceNDArray.__dlpack__``."""
    context = devices.get_context()
    device_type, number = home(context) if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    if (device_type, number) not in (home(context), (CUDA, context.device.id)):
        if context.device.is_hardware:
            raise BufferError("the array can be given to (2, %d), not to (%d, %d)"
                              % (context.device.id, device_type, number))
        raise BufferError("the array can be given to the CPU, device (1, 0), or to (2, %d), not to (%d, %d)"
                          % (context.device.id, device_type, number))
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int) or stream < -1):
        raise TypeError("stream is None, -1, or the handle of a stream, not %r" % (stream,))
    if stream == 0:
        raise ValueError("stream 0 does not say which default stream is meant: pass 1 (legacy) or 2 (per thread)")
    code, bits = _element_type(array.dtype)
    itemsize = array.dtype.itemsize
    versioned = max_version is not None and tuple(max_version)[0] >= 1
    readonly = getattr(array, "_readonly", False)
    if readonly and not versioned and not copy:
        raise BufferError("a read-only array needs a consumer that knows DLPack 1.0: pass max_version=(1, 0)")
    flags = 0
    if copy:
        from . import devicearray

        source = array
        array = devicearray.DeviceNDArray._new(source.shape, _geometry.contiguous_strides(source.shape, itemsize),
                                               source.dtype, source.stream)
        _copy_elements(array, source)
        flags |= _COPIED
    elif readonly:
        flags |= _READ_ONLY
    if array.size and any(stride % itemsize for stride in array.strides):
        raise BufferError("DLPack counts strides in elements: bytes %s are no multiples of %d"
                          % (tuple(array.strides), itemsize))
    strides = [stride // itemsize for stride in array.strides]
    if stream is None and device_type == CPU:
        context.synchronize()  # nobody can wait for work of the device afterwards
    elif stream != -1:
        _order(array, _streams.LEGACY if stream is None else stream)
    address = array._device_address if array.size else 0
    return _core.dlpack_export(array, address, list(array.shape), strides, code, bits, device_type, number, versioned,
                               flags)


def _copy_elements(target, source) -> None:
    from ._kernels import strided_copy

    context = devices.get_context()
    strided_copy(context, target._device_address, target.strides, source._device_address, source.strides, target.shape,
                 target.dtype.itemsize, target.stream or context.get_default_stream())


def _memory(context, address: int, size: int, owner, kind: int) -> Any:
    """Memory of someone else, made accessible to kernels."""
    if size == 0:
        return MemoryPointer(context, 0, 0, owner=owner)
    if kind != CPU and context.device.is_hardware:
        return MemoryPointer(context, address, size, owner=owner)
    for start, memory in list(_imported.items()):
        if start <= address and address + size <= start + memory.size:
            return MemoryPointer(context, address, size, owner=(owner, memory))
    if pinned_ranges.contain(address, size):
        return MemoryPointer(context, address, size, owner=owner)
    memory = context.mempin(owner, address, size, mapped=True)
    _imported[address] = memory
    return memory


@devices.require_context
def from_dlpack(x: Any, /, *, device: Any = None, copy: Optional[bool] = None, stream=0) -> "DeviceNDArray":
    """A device array that shares the memory of ``x``, an object with ``__dlpack__``, such as a NumPy array.

    ``device``: None or the current device. ``copy``: True for memory of its own, False never to copy, None to copy only
    where sharing is impossible. ``stream``: what work on the result is queued on; the producer is told, so that this
    stream waits for its work. Memory of the host becomes accessible to kernels as long as the result or a view of it
    lives. TypeError for an object without ``__dlpack__``, BufferError for memory of another kind of device, elements
    that have no dtype, and when sharing is impossible with ``copy=False``.
    """
    from . import devicearray

    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError("from_dlpack takes an object with __dlpack__ and __dlpack_device__, not %r" % type(x).__name__)
    context = devices.get_context()
    if device is not None and getattr(device, "id", device) != context.device.id:
        raise ValueError("device is None or the current device, not %r" % (device,))
    kind, number = (int(part) for part in x.__dlpack_device__())
    if kind == CUDA and context.device.is_hardware and number != context.device.id:
        raise BufferError("the memory lies on GPU %d, the current device is %d" % (number, context.device.id))
    if kind not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise BufferError("memory of DLPack's device type %d cannot be used here" % kind)
    options: dict = {}
    if kind in (CUDA, CUDA_MANAGED):
        handle = _streams.core_stream(stream, context).handle
        options["stream"] = handle or _streams.LEGACY
    capsule = _capsule(x, options, copy)
    tensor = _core.dlpack_import(capsule)
    dtype = _dtype(tensor["code"], tensor["bits"], tensor["lanes"])
    shape = tensor["shape"]
    if tensor["strides"] is None:
        strides = _geometry.contiguous_strides(shape, dtype.itemsize)
    else:
        strides = tuple(step * dtype.itemsize for step in tensor["strides"])
    low, high = _geometry.extents(shape, strides, dtype.itemsize)
    owner = tensor["owner"]
    try:
        memory = _memory(context, tensor["address"] + low, high - low, owner, kind)
    except CudaAPIError as error:
        # A part of the memory is shared already, and cannot be a second time.
        if copy is False:
            raise BufferError("the memory cannot be shared: %s" % error) from error
        return devicearray.auto_device(np.array(np.from_dlpack(x)), stream=stream, user_explicit=True)[0]
    array = devicearray.DeviceNDArray.__new__(devicearray.DeviceNDArray)
    array._make(shape, strides, dtype, stream, memory, readonly=tensor["readonly"])
    if not copy:
        return array
    own = devicearray.DeviceNDArray._new(shape, _geometry.contiguous_strides(shape, dtype.itemsize), dtype, stream)
    _copy_elements(own, array)
    return own


def _capsule(x: Any, options: dict, copy: Optional[bool]):
    """A capsule of ``x``, asked for as DLPack 1.0 does, or as before when the producer knows only that."""
    try:
        return x.__dlpack__(max_version=(1, 1), **({"copy": False} if copy is False else {}), **options)
    except TypeError:
        return x.__dlpack__(**options)


def shared_array(obj: Any, stream=0) -> Any:
    """A device array over the memory of another library's array, when DLPack says that it lies on a CUDA device; for
    everything else the object itself."""
    if isinstance(obj, (np.ndarray, np.generic)) or not hasattr(type(obj), "__dlpack_device__"):
        return obj
    if hasattr(obj, "__cuda_array_interface__") or int(obj.__dlpack_device__()[0]) not in (CUDA, CUDA_MANAGED):
        return obj
    return from_dlpack(obj, stream=stream)
