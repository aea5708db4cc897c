"""Arrays and records in device memory (Numba documentation: "CUDA Memory Management", "Device arrays")."""

from __future__ import annotations

import atexit
import math
from typing import Any, Iterator, Optional, Tuple

import numpy as np

from warploom import _core
from warploom.cuda.core import config

from . import _geometry, devices
from . import driver as _driver
from ._assignment import assign
from ._calls import CudaAPIError
from ._copies import read_plain, write_plain
from ._kernels import strided_copy
from ._managed import ManagedPages
from ._memory import DevicePointer, MappedMemory, MemoryPointer, NumbaCUDAMemoryManager
from ._plans import array_type, element_type, layout_for
from ._strided import _Flags, _Strided

errmsg_contiguous_buffer = (
    "Array contains non-contiguous buffer and cannot be transferred as a single memory region. Please ensure "
    "contiguous buffer with numpy .ascontiguousarray()"
)

# What numpy.array(copy=...) is given to copy only where it has to.
_IF_NEEDED = None if int(np.__version__.split(".")[0]) >= 2 else False


def is_cuda_ndarray(obj: Any) -> bool:
    """Whether the object is an array of the device."""
    return getattr(obj, "__cuda_ndarray__", False)


def require_cuda_ndarray(obj: Any) -> None:
    """Raises ValueError unless the object is an array of the device."""
    if not is_cuda_ndarray(obj):
        raise ValueError("require an cuda ndarray object")


def verify_cuda_ndarray_interface(obj: Any) -> None:
    """Raises unless the object has what an array of the device has."""
    require_cuda_ndarray(obj)
    for name, kind in (("shape", tuple), ("strides", tuple), ("dtype", np.dtype), ("size", int)):
        if not hasattr(obj, name):
            raise AttributeError(name)
        if not isinstance(getattr(obj, name), kind):
            raise AttributeError("%s must be of type %s" % (name, kind))


class DeviceNDArray(_Strided, _core.ArrayBase):
    """An array in device memory. Made by ``cuda.to_device``, ``cuda.device_array`` and others.

    ``shape``, ``strides`` (bytes), ``dtype``, ``size``, ``ndim``, ``nbytes`` as NumPy's; ``alloc_size``: bytes between
    its ends; ``gpu_data``: its memory; ``stream``: what calls use that are given no stream, 0 for none.
    """

    __cuda_memory__ = True
    # NumPy leaves operators and functions to this class.
    __array_priority__ = 1000

    def __init__(self, shape, strides, dtype, stream=0, gpu_data: Optional[MemoryPointer] = None) -> None:
        shape = _geometry.normal_shape(shape)
        strides = (strides,) if isinstance(strides, int) else tuple(int(step) for step in strides)
        dtype = np.dtype(dtype)
        if len(shape) != len(strides):
            raise ValueError("strides not match ndim")
        if gpu_data is None:
            gpu_data = _allocate(shape, strides, dtype.itemsize)
        self._make(shape, strides, dtype, stream, gpu_data)

    def _make(self, shape: tuple, strides: tuple, dtype: np.dtype, stream, gpu_data, readonly: bool = False) -> None:
        if dtype.hasobject:
            raise TypeError("Python objects cannot be in device memory: dtype %s" % dtype)
        itemsize = dtype.itemsize
        c_order, f_order = _geometry.contiguity(shape, strides, itemsize)
        layout = "A" if 0 in strides else "C" if c_order else "F" if f_order else "A"
        low, _ = _geometry.extents(shape, strides, itemsize)
        # The memory begins at the lowest byte, the array at its first element.
        _core.ArrayBase.__init__(self, gpu_data.device_pointer - low if gpu_data.device_pointer else 0, shape, strides,
                                 array_type(dtype, dtype.isalignedstruct, len(shape), layout, readonly), gpu_data,
                                 dtype, c_order, f_order, stream)
        if readonly:
            self._readonly = True

    @classmethod
    def _view_of(cls, base: "DeviceNDArray", offset: int, shape: tuple, strides: tuple, dtype: np.dtype,
                 stream=None) -> "DeviceNDArray":
        """A view whose first element lies ``offset`` bytes after that of ``base``."""
        low, high = _geometry.extents(shape, strides, dtype.itemsize)
        memory = base.gpu_data
        start = base._address + offset + low - memory.device_pointer if base._address else 0
        view = cls.__new__(cls)
        if low == high:
            data = memory.view(0, 0)
        elif start == 0 and high - low == memory.size:
            data = memory
        else:
            data = memory.view(start, start + high - low)
        view._make(shape, strides, dtype, base.stream if stream is None else stream, data, base._readonly)
        return view

    @classmethod
    def _new(cls, shape: tuple, strides: tuple, dtype: np.dtype, stream) -> "DeviceNDArray":
        """A new array; ``shape`` and ``strides`` are tuples of Python ints."""
        array = cls.__new__(cls)
        array._make(shape, strides, dtype, stream, _allocate(shape, strides, dtype.itemsize))
        return array

    @property
    def _device_address(self) -> int:
        return self._address

    @property
    def alloc_size(self) -> int:
        """Bytes between the ends of the array."""
        low, high = _geometry.extents(self.shape, self.strides, self.dtype.itemsize)
        return high - low

    _cuda_memsize_ = alloc_size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def flags(self) -> dict:
        """``C_CONTIGUOUS`` and ``F_CONTIGUOUS``."""
        return _Flags(C_CONTIGUOUS=self._c_order, F_CONTIGUOUS=self._f_order)

    def is_c_contiguous(self) -> bool:
        """Whether the elements lie one after the other in C order."""
        return self._c_order

    def is_f_contiguous(self) -> bool:
        """Whether the elements lie one after the other in Fortran order."""
        return self._f_order

    def bind(self, stream=0) -> "DeviceNDArray":
        """The same array with another stream for calls that are given none."""
        clone = type(self).__new__(type(self))
        clone._make(self.shape, self.strides, self.dtype, stream, self.gpu_data, self._readonly)
        return clone

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return "<DeviceNDArray shape=%s dtype=%s at 0x%x>" % (self.shape, self.dtype, self._address)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if copy is False:
            raise ValueError("`copy=False` is not supported. A copy is always created.")
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype)

    # Copies.

    def copy_to_device(self, ary, stream=0) -> None:
        """Copies ``ary``, an array of host or device with the same shape and dtype, to this one.

        Queued on the stream if there is one. Raises TypeError for another dtype, ValueError for another shape, other
        strides (device to device) or memory that is not contiguous.
        """
        if not (self._is_like(ary, stream) and write_plain(self, ary)):
            self._copy_to_device(ary, stream)

    def _is_like(self, ary, stream) -> bool:
        """Whether a copy between this and a host array is one of bytes, on the default stream."""
        return (type(ary) is np.ndarray and type(stream) is int and stream == 0 and self.stream == 0 and self._c_order
                and not self._readonly and ary.shape == self.shape and ary.dtype == self.dtype
                and ary.flags.c_contiguous)

    @devices.require_context
    def _copy_to_device(self, ary, stream) -> None:
        if ary.size == 0:
            return
        self._writable()
        sentry_contiguous(self)
        stream = self._default_stream(stream)
        own_core = array_core(self)
        if _driver.is_device_memory(ary):
            sentry_contiguous(ary)
            check_array_compatibility(own_core, array_core(ary))
            _driver.device_to_device(self, ary, self.alloc_size, stream=stream)
            return
        # The host's elements in the order of this array's memory.
        host = np.array(array_core(ary), order="C" if own_core.is_c_contiguous() else "F", subok=True, copy=_IF_NEEDED)
        check_array_compatibility(own_core, host)
        _driver.host_to_device(self, host, self.alloc_size, stream=stream)

    def copy_to_host(self, ary: Optional[np.ndarray] = None, stream=0) -> np.ndarray:
        """Copies this array to ``ary``, or to a new one, and returns it.

        Returns when the copy is done, unless there is a stream and ``ary`` is pinned. Raises NotImplementedError for
        negative strides, TypeError and ValueError when ``ary`` does not fit.
        """
        if ary is None and type(stream) is int and stream == 0 and self._c_order and self.stream == 0:
            host = np.empty(self.shape, self.dtype)
            if read_plain(self, host):
                return host
        elif self._is_like(ary, stream) and read_plain(self, ary):
            return ary
        return self._copy_to_host(ary, stream)

    @devices.require_context
    def _copy_to_host(self, ary, stream) -> np.ndarray:
        if any(stride < 0 for stride in self.strides):
            raise NotImplementedError("D->H copy not implemented for negative strides: {}".format(self.strides))
        stream = self._default_stream(stream)
        size = self.alloc_size
        if ary is None:
            raw = np.empty(size, dtype=np.uint8)
            _driver.device_to_host(raw, self, size, stream=stream)
            if self.size == 0:
                return np.ndarray(self.shape, self.dtype, raw)
            return np.ndarray(self.shape, self.dtype, raw, strides=self.strides)
        if self.ndim or isinstance(ary, np.ndarray):
            check_array_compatibility(self, ary)
        if isinstance(ary, np.ndarray) and not ary.flags.writeable:
            raise ValueError("the array to copy to is read-only")
        if self.size * self.dtype.itemsize == size:
            _driver.device_to_host(ary, self, size, stream=stream)
        else:
            # Between the elements lie bytes of others, which are not the host array's.
            ary[...] = self.copy_to_host(stream=stream)
        return ary

    # Views.

    def __getitem__(self, item):
        return self._get(item, self.stream)

    def getitem(self, item, stream=0):
        """``self[item]`` with a stream for the copy of an element."""
        return self._get(item, self._default_stream(stream))

    @devices.require_context
    def _get(self, item, stream):
        if isinstance(item, str):
            return self._field(item, stream)
        offset, shape, strides = _geometry.index(self.shape, self.strides, self.dtype.itemsize, item)
        if shape or (isinstance(item, tuple) and Ellipsis in item) or item is Ellipsis:
            return DeviceNDArray._view_of(self, offset, shape, strides, self.dtype, stream)
        if self.dtype.names is not None:
            element = DeviceNDArray._view_of(self, offset, (), (), self.dtype, stream)
            return DeviceRecord(self.dtype, stream=stream, gpu_data=element.gpu_data)
        host = np.empty(1, dtype=self.dtype)
        _driver.device_to_host(host, self, self.dtype.itemsize, stream=stream, offset=offset)
        return host[0]

    def _field(self, name: str, stream) -> "DeviceNDArray":
        if self.dtype.names is None or name not in self.dtype.names:
            raise IndexError("no field of name %s" % name)
        dtype, offset = self.dtype.fields[name][:2]
        shape, strides = self.shape, self.strides
        if dtype.subdtype is not None:
            dtype, inner = dtype.subdtype
            shape, strides = shape + inner, strides + _geometry.contiguous_strides(inner, dtype.itemsize)
        return DeviceNDArray._view_of(self, offset, shape, strides, dtype, stream)

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]

    def reshape(self, *newshape, order: str = "C", **kws) -> "DeviceNDArray":
        """A view with another shape; one extent may be -1. NotImplementedError when it would need a copy."""
        if kws:
            raise TypeError("unknown keyword arguments %s" % list(kws))
        if len(newshape) == 1 and isinstance(newshape[0], (tuple, list)):
            newshape = newshape[0]
        if order not in "CFA":
            raise ValueError("order not C|F|A")
        if order == "A":
            order = "F" if self._f_order and not self._c_order else "C"
        shape = _geometry.complete_shape(newshape, self.size)
        if shape == self.shape:
            return DeviceNDArray._view_of(self, 0, self.shape, self.strides, self.dtype)
        strides = _geometry.reshaped(self.shape, self.strides, self.dtype.itemsize, shape, order)
        if strides is None:
            raise NotImplementedError("operation requires copying")
        return DeviceNDArray._view_of(self, 0, shape, strides, self.dtype)

    def ravel(self, order: str = "C", stream=0) -> "DeviceNDArray":
        """A one-dimensional view in the given order; NotImplementedError when it would need a copy."""
        if order not in "CFA":
            raise ValueError("order not C|F|A")
        if (order in "CA" and self._c_order) or (order in "FA" and self._f_order):
            flat = (self.dtype.itemsize,)
            return DeviceNDArray._view_of(self, 0, (self.size,), flat, self.dtype, self._default_stream(stream))
        raise NotImplementedError("operation requires copying")

    def squeeze(self, axis=None, stream=0) -> "DeviceNDArray":
        """A view without axes of one element: all of them, or ``axis`` (int or tuple), ValueError for a longer one."""
        if axis is None:
            gone = {i for i, extent in enumerate(self.shape) if extent == 1}
        else:
            wanted = axis if isinstance(axis, tuple) else (axis,)
            gone = set()
            for one in wanted:
                if not -self.ndim <= one < self.ndim:
                    raise ValueError("axis %d is out of bounds for array of dimension %d" % (one, self.ndim))
                gone.add(one % self.ndim)
            if any(self.shape[i] != 1 for i in gone):
                raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        kept = [i for i in range(self.ndim) if i not in gone]
        return DeviceNDArray._view_of(self, 0, tuple(self.shape[i] for i in kept),
                                      tuple(self.strides[i] for i in kept), self.dtype, self._default_stream(stream))

    def view(self, dtype) -> "DeviceNDArray":
        """The same bytes with another dtype; the rules are NumPy's, ValueError where they forbid it."""
        dtype = np.dtype(dtype)
        old, new = self.dtype.itemsize, dtype.itemsize
        shape, strides = list(self.shape), list(self.strides)
        if old != new:
            if not shape:
                raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
            if strides[-1] != old and shape[-1] != 1:
                raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
            if new > old:
                if shape[-1] * old % new != 0:
                    raise ValueError("When changing to a larger dtype, its size must be a divisor of the total size in "
                                     "bytes of the last axis of the array.")
            elif new == 0 or old % new != 0:
                raise ValueError("When changing to a smaller dtype, its size must be a divisor of the size of original "
                                 "dtype")
            shape[-1] = shape[-1] * old // new
            strides[-1] = new
        return DeviceNDArray._view_of(self, 0, tuple(shape), tuple(strides), dtype)

    def split(self, section: int, stream=0) -> Iterator["DeviceNDArray"]:
        """Views of ``section`` elements each, the last one may be shorter; one-dimensional arrays only."""
        if self.ndim != 1:
            raise ValueError("only support 1d array")
        if self.strides[0] != self.dtype.itemsize:
            raise ValueError("only support unit stride")
        stream = self._default_stream(stream)
        for part in range(int(math.ceil(float(self.size) / section))):
            begin = part * section
            shape = (min(begin + section, self.size) - begin,)
            yield DeviceNDArray._view_of(self, begin * self.strides[0], shape, self.strides, self.dtype, stream)

    @property
    def T(self) -> "DeviceNDArray":
        """The transpose, see :meth:`transpose`."""
        return self.transpose()

    @devices.require_context
    def transpose(self, axes=None) -> "DeviceNDArray":
        """A new C-ordered array with the axes exchanged (the array itself for identical axes); two axes only."""
        if axes is not None and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        if axes is not None and set(axes) != {0, 1}:
            raise ValueError("invalid axes list %r" % (axes,))
        shape = self.shape[::-1]
        result = DeviceNDArray(shape, _geometry.contiguous_strides(shape, self.dtype.itemsize), self.dtype,
                               stream=self.stream)
        strided_copy(devices.get_context(), result._address, result.strides, self._address, self.strides[::-1], shape,
                     self.dtype.itemsize, self.stream)
        return result

    # Assignment.

    def __setitem__(self, key, value) -> None:
        self._set(key, value)

    def setitem(self, key, value, stream=0) -> None:
        """``self[key] = value`` on a stream; returns without waiting when there is one."""
        self._set(key, value, stream)

    @devices.require_context
    def _set(self, key, value, stream=0) -> None:
        self._writable()
        stream = self._default_stream(stream)
        synchronous = not stream
        context = devices.get_context()
        if synchronous:
            stream = context.get_default_stream()
        if isinstance(key, str):
            left = self._field(key, stream)
        else:
            offset, shape, strides = _geometry.index(self.shape, self.strides, self.dtype.itemsize, key)
            left = DeviceNDArray._view_of(self, offset, shape, strides, self.dtype, stream)
        assign(context, left, value, stream)
        if synchronous:
            stream.synchronize()


def _allocate(shape: tuple, strides: tuple, itemsize: int) -> MemoryPointer:
    low, high = _geometry.extents(shape, strides, itemsize)
    if high == low:
        return MemoryPointer(devices.get_context(), 0, 0)
    if high - low >= 1 << 63:
        raise CudaAPIError(2, "Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY: no memory has %d bytes"
                           % (high - low))
    return _core.allocate_pointer(high - low) or devices.get_context().memalloc(high - low)


class DeviceRecord(_Strided, _core.ArrayBase):
    """One record in device memory; ``record["field"]`` reads and ``record["field"] = value`` writes.

    Fields that are records or arrays give views. ``dtype``, ``alloc_size`` (bytes), ``gpu_data``, ``stream``.
    """

    __cuda_memory__ = True
    shape: tuple = ()
    strides: tuple = ()
    ndim = 0
    size = 1

    def __init__(self, dtype, stream=0, gpu_data: Optional[MemoryPointer] = None) -> None:
        dtype = np.dtype(dtype)
        if dtype.hasobject:
            raise TypeError("Python objects cannot be in device memory: dtype %s" % dtype)
        if gpu_data is None:
            gpu_data = devices.get_context().memalloc(dtype.itemsize)
        _core.ArrayBase.__init__(self, gpu_data.device_pointer, (), (), element_type(dtype, dtype.isalignedstruct),
                                 gpu_data, dtype, True, True, stream)
        self.alloc_size = self.nbytes = self._cuda_memsize_ = dtype.itemsize

    @property
    def _device_address(self) -> int:
        return self._address

    @property
    def flags(self) -> dict:
        """A record is contiguous."""
        return _Flags(C_CONTIGUOUS=True, F_CONTIGUOUS=True)

    def is_c_contiguous(self) -> bool:
        """True."""
        return True

    is_f_contiguous = is_c_contiguous

    @property
    def _numba_type_(self):
        from warploom.cuda.np.numpy_support import from_dtype

        return from_dtype(self.dtype)

    def bind(self, stream=0) -> "DeviceRecord":
        """The same record with another stream for calls that are given none."""
        return DeviceRecord(self.dtype, stream, self.gpu_data)

    @devices.require_context
    def copy_to_device(self, ary, stream=0) -> None:
        """Copies a record of host or device with the same dtype to this one."""
        stream = self._default_stream(stream)
        check_array_compatibility(self, ary)
        if _driver.is_device_memory(ary):
            _driver.device_to_device(self, ary, self.alloc_size, stream=stream)
        else:
            _driver.host_to_device(self, ary, self.alloc_size, stream=stream)

    @devices.require_context
    def copy_to_host(self, ary=None, stream=0):
        """Copies this record to ``ary``, a NumPy record or an array of one, or to a new record, and returns it."""
        stream = self._default_stream(stream)
        if ary is None:
            host = np.empty(1, dtype=self.dtype)
            _driver.device_to_host(host, self, self.alloc_size, stream=stream)
            return host[0]
        check_array_compatibility(self, ary)
        _driver.device_to_host(ary, self, self.alloc_size, stream=stream)
        return ary

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if copy is False:
            raise ValueError("`copy=False` is not supported. A copy is always created.")
        host = np.empty((), dtype=self.dtype)
        _driver.device_to_host(host, self, self.alloc_size, stream=self.stream)
        return host if dtype is None else host.astype(dtype)

    def __getitem__(self, item: str):
        return self._get(item, self.stream)

    def getitem(self, item: str, stream=0):
        """``self[item]`` with a stream for the copy."""
        return self._get(item, self._default_stream(stream))

    @devices.require_context
    def _get(self, item: str, stream):
        field, dtype = self._field(item)
        if dtype.subdtype is not None:
            dtype, shape = dtype.subdtype
            return DeviceNDArray(shape, _geometry.contiguous_strides(shape, dtype.itemsize), dtype, stream, field)
        if dtype.names is not None:
            return DeviceRecord(dtype, stream, field)
        host = np.empty(1, dtype=dtype)
        _driver.device_to_host(host, field, dtype.itemsize, stream=stream)
        return host[0]

    def _field(self, item: str) -> Tuple[MemoryPointer, np.dtype]:
        if isinstance(item, int):
            item = self.dtype.names[item]
        dtype, offset = self.dtype.fields[item][:2]
        return self.gpu_data.view(offset, offset + dtype.itemsize), dtype

    def __setitem__(self, key: str, value) -> None:
        self._set(key, value)

    def setitem(self, key: str, value, stream=0) -> None:
        """``self[key] = value`` on a stream; returns without waiting when there is one."""
        self._set(key, value, stream)

    @devices.require_context
    def _set(self, key: str, value, stream=0) -> None:
        stream = self._default_stream(stream)
        synchronous = not stream
        context = devices.get_context()
        if synchronous:
            stream = context.get_default_stream()
        field, dtype = self._field(key)
        shape: tuple = ()
        if dtype.subdtype is not None:
            dtype, shape = dtype.subdtype
        left = DeviceNDArray(shape, _geometry.contiguous_strides(shape, dtype.itemsize), dtype, stream, field)
        assign(context, left, value, stream)
        if synchronous:
            stream.synchronize()


class MappedNDArray(_Strided, np.ndarray):
    """A NumPy array in host memory that kernels access too. Made by ``cuda.mapped_array`` and ``cuda.mapped``."""

    gpu_data: Optional[MappedMemory] = None

    def device_setup(self, gpu_data: MappedMemory, stream=0) -> None:
        """Says in which memory the elements lie, and what stream calls use that are given none."""
        self.gpu_data = gpu_data
        self.stream = stream

    def __array_finalize__(self, source) -> None:
        self.gpu_data = getattr(source, "gpu_data", None)
        self.stream = getattr(source, "stream", 0)

    # Results of computations have this class but lie elsewhere, and then are arrays of the host.

    def _holds(self) -> bool:
        memory = self.gpu_data
        if memory is None:
            return False
        start, end = _driver.host_memory_extents(self)
        return memory.host_pointer <= start and end <= memory.host_pointer + memory.size

    @property
    def __cuda_memory__(self) -> bool:
        return self._holds()

    @property
    def __cuda_ndarray__(self) -> bool:
        return self._holds()

    @property
    def __cuda_array_interface__(self) -> dict:
        if not self._holds():
            raise AttributeError("the array does not lie in memory of the device")
        return _Strided.__cuda_array_interface__.fget(self)

    @property
    def _device_address(self) -> int:
        return self.__array_interface__["data"][0]

    @property
    def alloc_size(self) -> int:
        """Bytes between the ends of the array."""
        return _driver.host_memory_size(self)

    _cuda_memsize_ = alloc_size

    def _as_device_array(self) -> DeviceNDArray:
        """The same memory as a device array."""
        memory = self.gpu_data
        start, end = _driver.host_memory_extents(self)
        array = DeviceNDArray.__new__(DeviceNDArray)
        array._make(self.shape, self.strides, self.dtype, self.stream,
                    memory.view(start - memory.host_pointer, end - memory.host_pointer))
        return array

    def copy_to_host(self, ary: Optional[np.ndarray] = None, stream=0) -> np.ndarray:
        """Copies the elements to ``ary`` or to a new array, after the work queued so far."""
        return self._as_device_array().copy_to_host(ary, stream)

    def copy_to_device(self, ary, stream=0) -> None:
        """Copies ``ary`` to this array, as :meth:`DeviceNDArray.copy_to_device`."""
        self._as_device_array().copy_to_device(ary, stream)

    def bind(self, stream=0) -> "MappedNDArray":
        """The same array with another stream for calls that are given none."""
        clone = self.view()
        clone.device_setup(self.gpu_data, stream)
        return clone

    def split(self, section: int, stream=0) -> Iterator[DeviceNDArray]:
        """As :meth:`DeviceNDArray.split`."""
        return self._as_device_array().split(section, stream)


class ManagedNDArray(ManagedPages, MappedNDArray):
    """A NumPy array in memory that host and device share. Made by ``cuda.managed_array``."""


DeviceNDArrayBase = DeviceNDArray

_core.set_pointer_classes(DevicePointer, NumbaCUDAMemoryManager, devices.get_context, config)
_core.set_array_class(DeviceNDArray, layout_for)
atexit.register(_core.forget_pointer_classes)
atexit.register(_core.forget_array_class)


def from_array_like(ary, stream=0, gpu_data: Optional[MemoryPointer] = None) -> DeviceNDArray:
    """A device array with the shape, strides and dtype of ``ary``, not its contents."""
    return DeviceNDArray(ary.shape, ary.strides, ary.dtype, stream=stream, gpu_data=gpu_data)


def from_record_like(rec, stream=0, gpu_data: Optional[MemoryPointer] = None) -> DeviceRecord:
    """A device record with the dtype of ``rec``, not its contents."""
    return DeviceRecord(rec.dtype, stream=stream, gpu_data=gpu_data)


def array_core(ary):
    """``ary`` without its repeated elements: axes of stride 0 have one element."""
    if not ary.strides or not ary.size or 0 not in ary.strides:
        return ary
    return ary[tuple(0 if stride == 0 else slice(None) for stride in ary.strides) + (Ellipsis,)]


def is_contiguous(ary) -> bool:
    """Whether the elements of ``ary`` lie one after the other in C order, repeated ones counted once."""
    core = [(extent, step) for extent, step in zip(ary.shape, ary.strides) if step != 0]
    return _geometry.contiguity([extent for extent, _ in core], [step for _, step in core], ary.dtype.itemsize)[0]


def sentry_contiguous(ary) -> None:
    """Raises ValueError unless ``ary`` is one region of memory."""
    core = array_core(ary)
    if not core.flags["C_CONTIGUOUS"] and not core.flags["F_CONTIGUOUS"]:
        raise ValueError(errmsg_contiguous_buffer)


def check_array_compatibility(ary1, ary2) -> None:
    """Raises TypeError unless the dtypes agree, ValueError unless shapes and (when there are elements) strides do."""
    if ary1.dtype != ary2.dtype:
        raise TypeError("incompatible dtype: %s vs. %s" % (ary1.dtype, ary2.dtype))
    shape1, shape2 = tuple(ary1.shape), tuple(ary2.shape)
    if shape1 != shape2:
        raise ValueError("incompatible shape: %s vs. %s" % (shape1, shape2))
    if not ary1.size:
        return
    # Strides of axes of one element do not matter.
    for extent, one, other in zip(shape1, ary1.strides, ary2.strides):
        if extent > 1 and one != other:
            raise ValueError("incompatible strides: %s vs. %s" % (tuple(ary1.strides), tuple(ary2.strides)))


_IMPLICIT_COPY = "Host array used in CUDA kernel will incur copy overhead to/from device."


def auto_device(obj, stream=0, copy: bool = True, user_explicit: bool = False):
    """(array or record of the device, whether it is new) for any array, record or number.

    Memory of the device and objects with ``__cuda_array_interface__`` are taken as they are; host memory gets new
    device memory, with a copy of the contents if ``copy``. A host array warns unless ``user_explicit``. ValueError for
    host memory that is not contiguous.
    """
    if _driver.is_device_memory(obj):
        return obj, False
    if hasattr(obj, "__cuda_array_interface__"):
        from warploom.cuda.api import as_cuda_array

        return as_cuda_array(obj), False
    from ._dlpack import shared_array

    shared = shared_array(obj, stream)
    if shared is not obj:
        return shared, False
    if isinstance(obj, np.void):
        record = from_record_like(obj, stream=stream)
        if copy:
            record.copy_to_device(obj, stream=stream)
        return record, True
    host = np.array(obj, copy=_IF_NEEDED, subok=True)
    sentry_contiguous(host)
    array = from_array_like(host, stream=stream)
    if copy:
        if config.CUDA_WARN_ON_IMPLICIT_COPY and not user_explicit and isinstance(obj, np.ndarray):
            from warploom.cuda.core.errors import NumbaPerformanceWarning, warn_user

            warn_user(NumbaPerformanceWarning(_IMPLICIT_COPY))
        array.copy_to_device(host, stream=stream)
    return array, True
