"""Device, pinned, mapped and managed memory with its owners, and the deferred release of all of it.

Numba documentation: "CUDA Memory Management", "External Memory Management (EMM) Plugin interface".
"""

from __future__ import annotations

import bisect
import contextlib
import ctypes
import sys
import threading
import weakref
from abc import ABCMeta, abstractmethod
from collections import namedtuple
from typing import Any, Callable, Iterator, Optional, Union

from warploom import _core
from warploom.cuda.core import config

from ._calls import CudaAPIError, call

MemoryInfo = namedtuple("MemoryInfo", "free,total")
MemoryInfo.__doc__ = "Free and total device memory in bytes."


PendingInfo = namedtuple("PendingInfo", "memory_count,memory_bytes,object_count,most,flushes,deferred")
PendingInfo.__doc__ = """Releases that wait: of memory (count and bytes) and of other objects, the most at once so far,
how often they were released, and whether a ``defer_cleanup`` is in force."""


def _address(pointer: Any) -> int:
    """The integer of an int, a ctypes pointer or anything else that has one."""
    if isinstance(pointer, int):
        return pointer
    value = getattr(pointer, "value", pointer)
    return 0 if value is None else int(value)


class _Finalizer:
    """Calls a function without arguments, once; the owner's ``__del__`` calls it, a reset may have done so before."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function: Optional[Callable[[], Any]] = function

    @property
    def alive(self) -> bool:
        """Whether it has not been called."""
        return self._function is not None

    def __call__(self) -> Any:
        function, self._function = self._function, None
        return None if function is None else function()


class _Finalized:
    """Base of what calls its ``_finalizer`` when it dies, except while the interpreter ends."""

    _finalizer: Optional[_Finalizer] = None

    def __del__(self, _ends=sys.is_finalizing) -> None:
        finalizer = self._finalizer
        if finalizer is not None and not _ends():
            finalizer()


class MemoryPointer(_Finalized):
    """Device memory: ``size`` bytes at ``pointer``.

    ``owner`` is an object to keep alive; ``finalizer`` (a callable without arguments) runs once, when the last
    reference to this pointer and to its views is gone. Attributes: ``context``, ``device_pointer`` (int), ``size``,
    ``refct`` (this pointer and its live views and owned references).
    """

    __cuda_memory__ = True

    def __init__(self, context, pointer, size: int, owner=None, finalizer: Optional[Callable[[], Any]] = None) -> None:
        self.context = context
        self.device_pointer = self.handle = _address(pointer)
        self.size = self._cuda_memsize_ = size
        self._owner = owner
        self.refct = 1
        self.is_managed = finalizer is not None
        self._finalizer = _Finalizer(finalizer) if finalizer is not None else None

    @property
    def owner(self):
        """What keeps the memory alive: the pointer itself, or what it was made with."""
        return self if self._owner is None else self._owner

    @property
    def device_pointer_value(self) -> Optional[int]:
        """The address, or None for a null pointer."""
        return self.device_pointer or None

    @property
    def _device_address(self) -> int:
        return self.device_pointer

    @property
    def device_ctypes_pointer(self) -> ctypes.c_size_t:
        """The address as a ctypes value."""
        return ctypes.c_size_t(self.device_pointer)

    def own(self) -> "OwnedPointer":
        """A counted reference to the same memory."""
        return OwnedPointer(self)

    def free(self) -> None:
        """Releases the memory now; it must not be used any more, by views neither."""
        if self._finalizer is not None:
            self._finalizer()

    def view(self, start: int, stop: Optional[int] = None) -> "OwnedPointer":
        """Bytes ``start`` to ``stop`` (by default: the end) of this memory, which lives as long as the view."""
        size = (self.size if stop is None else stop) - start
        if size < 0:
            raise RuntimeError("size cannot be negative")
        return OwnedPointer(self, self.device_pointer + start if self.device_pointer else 0, size)

    def memset(self, byte: int, count: Optional[int] = None, stream=0) -> None:
        """Sets ``count`` bytes (by default all)."""
        from .driver import driver

        driver.set_memory(self.device_pointer, byte & 0xFF, self.size if count is None else count, stream)

    def __int__(self) -> int:
        return self.device_pointer

    def __repr__(self) -> str:
        return "<%s of %d bytes at 0x%x>" % (type(self).__name__, self.size, self.device_pointer)


class DevicePointer(_core.NativePointer, MemoryPointer):
    """Memory that the default memory manager has handed out: made and released without Python code."""


class AutoFreePointer(MemoryPointer):
    """A :class:`MemoryPointer` whose life is that of its references alone (for memory manager plugins)."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.refct = 0


class OwnedPointer(MemoryPointer):
    """A counted reference to memory, or to a part of it, owned by another pointer."""

    def __init__(self, base: MemoryPointer, pointer: Optional[int] = None, size: Optional[int] = None) -> None:
        root = base._root if isinstance(base, OwnedPointer) else base
        self._root = root
        self.context = root.context
        self.device_pointer = self.handle = base.device_pointer if pointer is None else pointer
        self.size = self._cuda_memsize_ = base.size if size is None else size
        self.is_managed = False
        self._finalizer = None
        self._owner = root
        root.refct += 1

    @property
    def refct(self) -> int:
        return self._root.refct

    def free(self) -> None:
        self._root.free()

    def __del__(self) -> None:
        root = getattr(self, "_root", None)
        if root is not None:
            root.refct -= 1


class MappedMemory(AutoFreePointer, _core.HostBuffer):
    """Host memory that kernels access at the same address: pinned and mapped. ``host_pointer`` is its address.

    It is a writable buffer of bytes, for instance for ``numpy.ndarray(shape, dtype, buffer=memory)``.
    """

    __cuda_memory__ = True

    def __init__(self, context, pointer, size: int, owner=None, finalizer=None) -> None:
        super().__init__(context, pointer, size, owner=owner, finalizer=finalizer)
        self.host_pointer = self._bufptr_ = self.device_pointer
        self._buflen_ = size


class ManagedMemory(MappedMemory):
    """Memory that host and device share (cuMemAllocManaged)."""

    _core_memory: Optional["_core.Memory"] = None

    def pages(self) -> dict:
        """Counts of pages: where they are (``on_host``, ``on_device``, ``on_both``) and how they got there."""
        return call("cuMemRangeGetAttribute", self._managed().pages)

    def advise(self, advice: int, host: bool, offset: int = 0, nbytes: Optional[int] = None) -> None:
        """cuMemAdvise for a part of this memory: ``advice`` is one of CU_MEM_ADVISE_*, 1 to 6."""
        size = self.size - offset if nbytes is None else nbytes
        call("cuMemAdvise", self._managed().advise, advice, host, offset, size)

    def attach(self, how: int, stream: "_core.Stream") -> None:
        """cuStreamAttachMemAsync: ``how`` is one of CU_MEM_ATTACH_*, 1, 2 or 4."""
        call("cuStreamAttachMemAsync", self._managed().attach, how, stream)

    def prefetch(self, host: bool, stream: "_core.Stream", offset: int = 0, nbytes: Optional[int] = None) -> None:
        """cuMemPrefetchAsync for a part of this memory, in the order of the native ``stream``."""
        call("cuMemPrefetchAsync", self._managed().prefetch, host, offset,
             self.size - offset if nbytes is None else nbytes, stream)

    def _managed(self) -> "_core.Memory":
        if self._core_memory is None:
            raise TypeError("this memory manager's managed memory has no pages to tell of")
        return self._core_memory


class PinnedMemory(_Finalized, _core.HostBuffer):
    """Page-locked host memory without a device address: a writable buffer of ``size`` bytes at ``host_pointer``."""

    def __init__(self, context, pointer, size: int, owner=None, finalizer: Optional[Callable[[], Any]] = None) -> None:
        self.context = context
        self._owner = owner
        self.size = self._buflen_ = size
        self.host_pointer = self.handle = self._bufptr_ = _address(pointer)
        self.is_managed = finalizer is not None
        self._finalizer = _Finalizer(finalizer) if finalizer is not None else None

    @property
    def owner(self):
        """What keeps the memory alive."""
        return self if self._owner is None else self._owner

    def own(self) -> "PinnedMemory":
        """The memory itself: Python's references count its owners."""
        return self


class PendingDeallocs:
    """Releases that wait until there are many, or much memory waits (Numba's documentation: "Deallocation Behavior").

    Everything is released when more than ``config.CUDA_DEALLOCS_COUNT`` items wait, or more bytes than
    ``config.CUDA_DEALLOCS_RATIO`` of the ``capacity`` in bytes. The queue is the native device's, one for ``memory``
    and one for everything else: it is released before an allocation fails, too.
    """

    def __init__(self, capacity: int, device: "_core.Device", memory: bool) -> None:
        self.memory_capacity = capacity
        self._device = device
        self._memory = memory
        self._queue = _core.PendingReleases(device, memory)

    @property
    def _max_pending_bytes(self) -> int:
        return int(self.memory_capacity * config.CUDA_DEALLOCS_RATIO)

    @property
    def _size(self) -> int:
        return self._queue.size if self._memory else 0

    def add_item(self, release: Callable, handle: Any, size: int = 0) -> None:
        """Queues ``release(handle)``; ``size``: bytes that it will free, 0 when unknown."""
        self._queue.add(release, handle, size, config.CUDA_DEALLOCS_COUNT, config.CUDA_DEALLOCS_RATIO)

    def clear(self) -> None:
        """Releases everything that waits; does nothing within :meth:`disable`.

        The first exception is raised, and what came after it is not released any more.
        """
        self._queue.clear()

    @contextlib.contextmanager
    def disable(self) -> Iterator[None]:
        """Nothing is released while in here; may be nested."""
        deferred = self._device.defer_releases()
        try:
            yield
        finally:
            del deferred

    @property
    def is_disabled(self) -> bool:
        """Whether :meth:`disable` is in force."""
        return self._device.pending()["deferred"]

    def __len__(self) -> int:
        return len(self._queue)


class PinnedRanges:
    """Host memory that is page-locked, so that asynchronous copies may read and write it after the call returns."""

    def __init__(self) -> None:
        self._starts: list = []
        self._ends: dict = {}
        self._lock = threading.Lock()

    def add(self, start: int, size: int) -> None:
        """Notes a range."""
        with self._lock:
            if start not in self._ends:
                bisect.insort(self._starts, start)
            self._ends[start] = start + size

    def remove(self, start: int) -> None:
        """Forgets the range at ``start``."""
        with self._lock:
            if self._ends.pop(start, None) is not None:
                del self._starts[bisect.bisect_left(self._starts, start)]

    def contain(self, start: int, size: int) -> bool:
        """Whether all of the bytes lie in one noted range."""
        with self._lock:
            at = bisect.bisect_right(self._starts, start)
            return at > 0 and start + size <= self._ends[self._starts[at - 1]]


pinned_ranges = PinnedRanges()


class BaseCUDAMemoryManager(metaclass=ABCMeta):
    """What a memory manager plugin implements (Numba's documentation: "EMM Plugin interface"), version 1.

    One instance serves one context, for as long as the context lives.
    """

    def __init__(self, *args, **kwargs) -> None:
        if "context" not in kwargs:
            raise RuntimeError("Memory manager requires a context")
        self.context = kwargs.pop("context")

    @abstractmethod
    def memalloc(self, size: int) -> MemoryPointer:
        """``size`` bytes of device memory."""

    @abstractmethod
    def memhostalloc(self, size: int, mapped: bool, portable: bool, wc: bool) -> Union[MappedMemory, PinnedMemory]:
        """``size`` bytes of pinned host memory; ``mapped``: accessible to kernels."""

    @abstractmethod
    def mempin(self, owner, pointer, size: int, mapped: bool) -> Union[MappedMemory, PinnedMemory]:
        """Pins ``size`` bytes of host memory at ``pointer``, which ``owner`` keeps alive."""

    @abstractmethod
    def initialize(self) -> None:
        """Called before the first use, and possibly more often."""

    @abstractmethod
    def get_ipc_handle(self, memory: MemoryPointer):
        """An :class:`IpcHandle` for the allocation."""

    @abstractmethod
    def get_memory_info(self) -> MemoryInfo:
        """Free and total memory of the context; NotImplementedError when it is not known."""

    @abstractmethod
    def reset(self) -> None:
        """Frees all memory that the manager has given out in this context."""

    @abstractmethod
    def defer_cleanup(self):
        """A context manager in which no memory is freed."""

    @property
    @abstractmethod
    def interface_version(self) -> int:
        """The version of this interface that the plugin implements: 1."""


class HostOnlyCUDAMemoryManager(BaseCUDAMemoryManager):
    """Base for plugins that manage device memory only: everything about host memory is done here.

    A plugin defines ``memalloc``, ``initialize``, ``get_memory_info``, ``get_ipc_handle``, ``reset`` (calling this
    one's) and ``interface_version``.
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.allocations: dict = {}
        self._deallocations: Optional[PendingDeallocs] = None
        self._lock = threading.Lock()

    @property
    def deallocations(self) -> PendingDeallocs:
        """The queue of memory that waits to be freed."""
        if self._deallocations is None:
            device = self.context._core_device
            self._deallocations = PendingDeallocs(device.memory_info()[1], device, memory=True)
        return self._deallocations

    def memhostalloc(self, size, mapped=False, portable=False, wc=False):
        """Pinned host memory of ``size`` bytes. ``portable`` and ``wc`` (write-combined) change nothing on the CPU."""
        # Flags of cuMemHostAlloc.
        flags = (1 if portable else 0) | (2 if mapped else 0) | (4 if wc else 0)
        memory = self._attempt("cuMemHostAlloc", self.context._core_device.allocate_host, size, flags)
        pinned_ranges.add(memory.address, size)
        kind = MappedMemory if mapped else PinnedMemory
        return self._hand_out(kind, memory, _free_host, size, size if mapped else 0)

    def memallocmanaged(self, size, attach_global=True):
        """Memory of ``size`` bytes that host and device share."""
        memory = self._attempt("cuMemAllocManaged", self.context._core_device.allocate_managed, size, attach_global)
        pinned_ranges.add(memory.address, size)
        managed = self._hand_out(ManagedMemory, memory, _free_host, size, size)
        managed._core_memory = memory
        return managed

    def mempin(self, owner, pointer, size, mapped=False):
        """Pins host memory that is there already; it is unpinned at once when the result is dropped."""
        address = _address(pointer)
        device = self.context._core_device
        if size and pinned_ranges.contain(address, size):
            raise CudaAPIError(712, "Call to cuMemHostRegister results in CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED")
        if size:
            call("cuMemHostRegister", device.register_host, address, size)
            pinned_ranges.add(address, size)

        def unpin() -> None:
            if size:
                pinned_ranges.remove(address)
                try:
                    device.unregister_host(address)
                except (ValueError, _core.Error):
                    pass  # the device was reset meanwhile

        return (MappedMemory if mapped else PinnedMemory)(self.context, address, size, owner=owner, finalizer=unpin)

    def reset(self) -> None:
        """Frees everything this manager handed out, used or not."""
        while self.allocations:
            try:
                _, kept = self.allocations.popitem()
            except KeyError:
                break
            # Plugins keep what they like here; letting go of it is their release.
            if isinstance(kept, _Finalizer):
                kept()
        _core.release_pointers(self.context)
        self.deallocations.clear()

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """While in here memory is queued and not freed."""
        with self.deallocations.disable():
            yield

    def _attempt(self, api: str, allocate: Callable, *arguments):
        try:
            return call(api, allocate, *arguments)
        except CudaAPIError as error:
            if error.code != 2:
                raise
        # Out of memory: what waits to be freed may be enough.
        self.deallocations.clear()
        return call(api, allocate, *arguments)

    def _hand_out(self, kind, memory, release: Callable, size: int, counted: int):
        manager = weakref.ref(self)
        key = id(memory)

        def finalizer() -> None:
            self = manager()
            if self is None:
                release(memory)
                return
            self.allocations.pop(key, None)
            self.deallocations.add_item(release, memory, counted)

        pointer = kind(self.context, memory.address, size, finalizer=finalizer)
        if isinstance(pointer, MemoryPointer):
            pointer.refct = 1
        self.allocations[key] = pointer._finalizer
        return pointer


def _free_device(memory) -> None:
    memory.free()


def _free_host(memory) -> None:
    pinned_ranges.remove(memory.address)
    memory.free()


class GetIpcHandleMixin:
    """``get_ipc_handle`` for plugins whose device memory comes from the driver itself."""

    def get_ipc_handle(self, memory: MemoryPointer):
        """An :class:`IpcHandle` that another process can open."""
        from ._ipc import ipc_handle_of

        return ipc_handle_of(self.context, memory)


class NumbaCUDAMemoryManager(GetIpcHandleMixin, HostOnlyCUDAMemoryManager):
    """The memory manager that is used unless a plugin is set: allocations of the device, freed in batches."""

    def initialize(self) -> None:
        """Nothing is left to do."""

    def memalloc(self, size: int) -> MemoryPointer:
        """``size`` bytes of device memory; frees what is pending and tries again when there is not enough."""
        try:
            memory = self.context._core_device.allocate(size)
        except _core.Error:
            memory = self._attempt("cuMemAlloc", self.context._core_device.allocate, size)
        return self._hand_out(MemoryPointer, memory, _free_device, size, size)

    def get_memory_info(self) -> MemoryInfo:
        """Free and total device memory in bytes (cuMemGetInfo)."""
        return MemoryInfo(*self.context._core_device.memory_info())

    @property
    def interface_version(self) -> int:
        """1."""
        return _SUPPORTED_EMM_VERSION


_SUPPORTED_EMM_VERSION = 1
_manager_class = None


def set_memory_manager(mm_plugin) -> None:
    """Uses the class ``mm_plugin`` for contexts made from now on; RuntimeError when its interface version is not 1."""
    global _manager_class
    version = mm_plugin(context=None).interface_version
    if version != _SUPPORTED_EMM_VERSION:
        raise RuntimeError("EMM Plugin interface has version %d - version %d required"
                           % (version, _SUPPORTED_EMM_VERSION))
    _manager_class = mm_plugin


def memory_manager_class():
    """The class in force: what was set, else the plugin that ``NUMBA_CUDA_MEMORY_MANAGER`` names, else the default."""
    global _manager_class
    if _manager_class is None:
        name = getattr(config, "CUDA_MEMORY_MANAGER", "default")
        if name == "default":
            _manager_class = NumbaCUDAMemoryManager
        else:
            try:
                module = __import__(name, fromlist=["_numba_memory_manager"])
                set_memory_manager(module._numba_memory_manager)
            except Exception as error:
                raise RuntimeError("Failed to use memory manager from %s" % name) from error
    return _manager_class
