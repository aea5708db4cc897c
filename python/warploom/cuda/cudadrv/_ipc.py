"""Device memory shared with other processes (Numba documentation: "Sharing CUDA Memory").

On the CPU device the pages of an exported allocation are exchanged for pages of one anonymous file of this process, in
which a page lies at the offset that is its address; a handle names process, file descriptor, address and size. Another
process of the same user maps the pages from there. Linux only. On a GPU the driver shares the memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import struct
import sys
import threading
from typing import Any, Iterator, Optional

import numpy as np

from warploom import _core

from . import _geometry
from ._calls import call
from ._memory import MemoryPointer

_PAGE = mmap.PAGESIZE
_MAP_FIXED = 0x10
_SPAN = 1 << 47  # user addresses
_LAYOUT = struct.Struct("<8sqqQQ24x")  # as large as a CUipcMemHandle: 64 bytes
_MAGIC = b"warploom"


class _SharedPages:
    """The pages of this process that others may map."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: set = set()
        self._file = -1
        self._pid = 0

    def share(self, address: int, size: int) -> int:
        """Exchanges the pages of a range, which nothing may access meanwhile; returns the file's descriptor."""
        if not sys.platform.startswith("linux"):
            raise OSError("OS does not support CUDA IPC")
        with self._lock:
            if self._pid != os.getpid():
                self._pages, self._pid = set(), os.getpid()
                self._file = os.memfd_create("warploom-device-memory", os.MFD_CLOEXEC)
                os.ftruncate(self._file, _SPAN)
            first, last = address // _PAGE, (address + size - 1) // _PAGE
            page = first
            while page <= last:
                if page in self._pages:
                    page += 1
                    continue
                end = page
                while end <= last and end not in self._pages:
                    end += 1
                start, length = page * _PAGE, (end - page) * _PAGE
                contents = (ctypes.c_char * length).from_address(start)
                done = 0
                while done < length:
                    done += os.pwrite(self._file, memoryview(contents)[done:done + (64 << 20)], start + done)
                _map(start, length, self._file, start)
                self._pages.update(range(page, end))
                page = end
            return self._file


def _map(address: int, length: int, file: int, offset: int) -> int:
    """Maps a file, at ``address`` unless that is 0, and returns where."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
    flags = mmap.MAP_SHARED | (_MAP_FIXED if address else 0)
    found = libc.mmap(address or None, length, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, offset)
    if found is None or found == ctypes.c_void_p(-1).value:
        error = ctypes.get_errno()
        raise OSError(error, "cannot map shared device memory: %s" % os.strerror(error))
    return found


def _unmap(address: int, length: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.munmap(address, length)


_shared = _SharedPages()


class _MemHandle:
    """The 64 bytes that name memory of a process: ``reserved``."""

    def __init__(self, reserved: bytes) -> None:
        self.reserved = bytes(bytearray(reserved))

    def __bytes__(self) -> bytes:
        return self.reserved

    def __iter__(self):
        return iter(self.reserved)

    def __len__(self) -> int:
        return len(self.reserved)


def ipc_handle_of(context, memory: MemoryPointer) -> "IpcHandle":
    """A handle for device memory; waits for the device first.

    On a GPU it is the driver's (cuIpcGetMemHandle), which other CUDA libraries take too, and names the driver's
    allocation that the memory lies in, ``offset`` bytes after its start.
    """
    context.synchronize()
    if context.device.is_hardware:
        reserved, offset = call("cuIpcGetMemHandle", context._core_device.share_memory, memory.device_pointer)
        return IpcHandle(memory, _MemHandle(reserved), memory.size, offset=offset,
                         source_info=context.device.get_device_identity())
    file = _shared.share(memory.device_pointer, memory.size)
    reserved = _LAYOUT.pack(_MAGIC, os.getpid(), file, memory.device_pointer, memory.size)
    return IpcHandle(memory, _MemHandle(reserved), memory.size, source_info=context.device.get_device_identity())


def open_memory(context, handle: Any, size: int) -> MemoryPointer:
    """Device memory of another process, mapped here until the pointer is dropped; ValueError for a bad handle."""
    reserved = bytes(bytearray(getattr(handle, "reserved", handle)))
    if len(reserved) != _LAYOUT.size:
        raise ValueError("the handle of shared memory has %d bytes, not %d" % (len(reserved), _LAYOUT.size))
    if context.device.is_hardware:
        shared = call("cuIpcOpenMemHandle", _core.SharedMemory, context._core_device, reserved)
        return MemoryPointer(context, shared.address, size, finalizer=shared.close)
    magic, pid, number, address, whole = _LAYOUT.unpack(reserved)
    if magic != _MAGIC:
        raise ValueError("not a handle of shared device memory")
    if pid == os.getpid():
        raise ValueError("a handle of shared memory cannot be opened in the process that made it")
    if size > whole:
        raise ValueError("%d bytes asked for, but the handle is for %d" % (size, whole))
    start = address // _PAGE * _PAGE
    length = -(-(address + whole - start) // _PAGE) * _PAGE
    file = os.open("/proc/%d/fd/%d" % (pid, number), os.O_RDWR | os.O_CLOEXEC)
    try:
        here = _map(0, length, file, start)
    finally:
        os.close(file)
    begin = here + address - start
    device = context._core_device
    call("cuIpcOpenMemHandle", device.register_host, begin, whole)

    def close() -> None:
        try:
            device.unregister_host(begin)
        except (ValueError, RuntimeError):
            pass  # the device was reset meanwhile
        _unmap(here, length)

    return MemoryPointer(context, begin, size, finalizer=close)


class IpcHandle:
    """Device memory of a process for use in others: pickle it, send it there, and open it.

    ``handle.reserved``: the 64 bytes that name it; ``size`` in bytes; ``base``: the memory, in the process that made
    the handle.
    """

    def __init__(self, base: Optional[MemoryPointer], handle: Any, size: int, source_info: Optional[dict] = None,
                 offset: int = 0) -> None:
        self.base = base
        self.handle = handle if hasattr(handle, "reserved") else _MemHandle(handle)
        self.size = size
        self.source_info = source_info
        self.offset = offset
        self._opened: Optional[MemoryPointer] = None

    def can_access_peer(self, context) -> bool:
        """True: all devices share the machine's memory."""
        return True

    def open(self, context) -> MemoryPointer:
        """The memory; ValueError when it is open already, or in the process that made the handle."""
        if self._opened is not None:
            raise ValueError("IpcHandle is already opened")
        if self.base is not None:
            raise ValueError("a handle of shared memory cannot be opened in the process that made it")
        self._opened = open_memory(context, self.handle, self.size + self.offset)
        return self._opened.view(self.offset)

    open_direct = open_staged = open

    def open_array(self, context, shape, dtype, strides=None):
        """The memory as a device array; ``strides`` in bytes, by default those of C order."""
        from .devicearray import DeviceNDArray

        shape = _geometry.normal_shape(shape)
        dtype = np.dtype(dtype)
        if strides is None:
            strides = _geometry.contiguous_strides(shape, dtype.itemsize)
        return DeviceNDArray(shape, strides, dtype, gpu_data=self.open(context))

    def close(self) -> None:
        """Ends the use of the memory, also by arrays; ValueError unless it is open."""
        if self._opened is None:
            raise ValueError("IpcHandle not opened")
        self._opened.free()
        self._opened = None

    def __reduce__(self):
        return _rebuild_handle, (self.handle.reserved, self.size, self.source_info, self.offset)


def _rebuild_handle(reserved: bytes, size: int, source_info: Optional[dict], offset: int) -> IpcHandle:
    return IpcHandle(None, _MemHandle(reserved), size, source_info=source_info, offset=offset)


class IpcArrayHandle:
    """A device array for use in other processes: pickle it, and use it there as ``with handle as array:``."""

    def __init__(self, ipc_handle: Any, array_desc: dict) -> None:
        self._ipc_handle = ipc_handle
        self._array_desc = array_desc

    def open(self):
        """The array; ValueError when it is open already, or in the process that made the handle."""
        from .devices import get_context

        return self._ipc_handle.open_array(get_context(), **self._array_desc)

    def close(self) -> None:
        """Ends the use of the array."""
        self._ipc_handle.close()

    def __enter__(self):
        return self.open()

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self):
        return IpcArrayHandle, (self._ipc_handle, self._array_desc)


@contextlib.contextmanager
def open_ipc_array(handle: Any, shape, dtype, strides=None, offset: int = 0) -> Iterator[Any]:
    """The array at ``offset`` bytes into the memory that ``handle`` (64 bytes) names, while the block runs."""
    from .devices import get_context

    dtype = np.dtype(dtype)
    low, high = 0, _geometry.size_of(_geometry.normal_shape(shape)) * dtype.itemsize
    if strides is not None:
        low, high = _geometry.extents(_geometry.normal_shape(shape), tuple(strides), dtype.itemsize)
    opened = IpcHandle(None, handle, high - low, offset=offset)
    array = opened.open_array(get_context(), shape, dtype, strides)
    try:
        yield array
    finally:
        opened.close()
