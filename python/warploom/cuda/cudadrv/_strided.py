"""What device arrays, mapped and managed arrays share: flags, interfaces to other libraries, contiguity."""

from __future__ import annotations

from typing import Any

from . import _geometry, devices
from ._plans import layout_of
from ._streams import Stream


class _Flags(dict):
    """Contiguity by NumPy's names, as items and as attributes in lower case."""

    c_contiguous = property(lambda self: self["C_CONTIGUOUS"])
    f_contiguous = property(lambda self: self["F_CONTIGUOUS"])
    contiguous = c_contiguous


class _Strided:
    """What device arrays, mapped and managed arrays share."""

    __cuda_ndarray__ = True
    stream: Any  # what calls use that are given none; 0 for none
    _readonly = False

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule that shares the elements, for ``numpy.from_dlpack(array)`` and others.

        As memory of the host (device type kDLCPU), or as ``dl_device=(2, id)`` of a CUDA device. ``stream``: None waits
        for all work of the device, since users of host memory cannot; the handle of a stream has that stream wait for
        the array's own; -1 waits for nothing. ``copy=True`` gives memory of its own. ``max_version``: the newest
        version that the consumer knows; from (1, 0) on read-only arrays can be given. BufferError for elements or
        strides that DLPack has not, ValueError for stream 0.
        """
        from ._dlpack import export

        return export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        """(1, 0): memory of the CPU; (2, id) on a GPU."""
        from ._dlpack import home

        return home(devices.get_context())

    def _writable(self) -> None:
        if self._readonly:
            raise ValueError("assignment destination is read-only")

    def _default_stream(self, stream):
        return self.stream if stream is None or (isinstance(stream, int) and stream == 0) else stream

    @property
    def __cuda_array_interface__(self) -> dict:
        strides = None if self.is_c_contiguous() else tuple(self.strides)
        if isinstance(self.stream, Stream) or self.stream:
            handle = int(self.stream) if hasattr(self.stream, "__int__") else int(self.stream.handle)
            stream = handle or 1  # 0 is not allowed: it does not say which default stream
        else:
            stream = None
        face = {
            "shape": tuple(self.shape),
            "strides": strides,
            "data": (self._device_address if self.size else 0, self._readonly),
            "typestr": self.dtype.str,
            "stream": stream,
            "version": 3,
        }
        if self.dtype.names is not None:
            face["descr"] = self.dtype.descr
        return face

    @property
    def device_ctypes_pointer(self):
        """The address as a ctypes value."""
        from ctypes import c_size_t

        return c_size_t(self._device_address)

    def is_c_contiguous(self) -> bool:
        """Whether the elements lie one after the other in C order."""
        return _geometry.contiguity(self.shape, self.strides, self.dtype.itemsize)[0]

    def is_f_contiguous(self) -> bool:
        """Whether the elements lie one after the other in Fortran order."""
        return _geometry.contiguity(self.shape, self.strides, self.dtype.itemsize)[1]

    @property
    def _numba_type_(self):
        from warploom.cuda import types
        from warploom.cuda.np.numpy_support import from_dtype

        layout = layout_of(self.shape, self.strides, self.dtype.itemsize)
        return types.Array(from_dtype(self.dtype), len(self.shape), layout, readonly=self._readonly)

    def get_ipc_handle(self):
        """An :class:`IpcArrayHandle` with which another process opens this array."""
        from ._ipc import IpcArrayHandle

        handle = devices.get_context().get_ipc_handle(self.gpu_data)
        return IpcArrayHandle(handle, dict(shape=self.shape, strides=self.strides, dtype=self.dtype))
