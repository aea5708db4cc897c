"""Memory pools, and allocators of other libraries as memory managers.

CUDA Programming Guide: "Stream Ordered Memory Allocator". Numba documentation: "EMM Plugin interface".
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Type

from warploom import _core

from ._calls import api_error, call
from ._memory import HostOnlyCUDAMemoryManager, MemoryInfo, MemoryPointer
from ._streams import Stream, core_stream
from .devices import get_context


def _queue(stream: Any):
    # None is the default stream, which the native pool keeps.
    return stream._core_stream if isinstance(stream, Stream) else core_stream(stream, get_context())


class MemoryPool:
    """A pool of memory of the current device, allocated and freed in the order of streams (cuMemPoolCreate).

    ``release_threshold``: bytes that a call which waits for the device leaves in the pool; ``max_bytes``: what it takes
    from the device at most, 0 for no limit of its own. Memory goes to later work of the same stream at once, to other
    streams once their work comes after the free. Allocations outlive the pool's object.
    """

    __slots__ = ("_pool", "context")

    def __init__(self, release_threshold: int = 0, max_bytes: int = 0) -> None:
        self.context = get_context()
        self._pool = call("cuMemPoolCreate", _core.MemoryPool, self.context._core_device, release_threshold, max_bytes)

    @classmethod
    def _of(cls, native) -> "MemoryPool":
        pool = cls.__new__(cls)
        pool.context = get_context()
        pool._pool = native
        return pool

    def allocate(self, nbytes: int, stream: Any = 0) -> int:
        """The address of ``nbytes`` bytes for later work of the stream (cuMemAllocFromPoolAsync); 0 for no bytes.

        On a stream that is being captured, and on a graph builder, it becomes a node of the graph; its memory is there
        in every launch of the graph, at this address, from there on until it is freed.

        CudaAPIError 2 when there is not enough: its text names the largest allocations and where they were made.
        """
        try:
            return self._pool.allocate(nbytes, _queue(stream) if stream else None)
        except _core.Error as error:
            raise api_error("cuMemAllocFromPoolAsync", error) from error

    def deallocate(self, address: int, nbytes: int = 0, stream: Any = 0) -> None:
        """Frees in the order of the stream (cuMemFreeAsync); CudaAPIError 1 for a wrong address. ``nbytes`` is ignored.

        With :meth:`allocate`, what ``rmm.mr.CallbackMemoryResource`` takes.
        """
        try:
            self._pool.deallocate(address, _queue(stream) if stream else None)
        except _core.Error as error:
            raise api_error("cuMemFreeAsync", error) from error

    def malloc(self, nbytes: int, device_id: int = 0) -> int:
        """:meth:`allocate` as ``cupy.cuda.PythonFunctionAllocator`` calls it."""
        return self.allocate(nbytes)

    def free(self, address: int, device_id: int = 0) -> None:
        """:meth:`deallocate` as ``cupy.cuda.PythonFunctionAllocator`` calls it."""
        self.deallocate(address)

    def memalloc(self, nbytes: int, stream: Any = 0) -> MemoryPointer:
        """Memory as an object, which frees it in the order of the stream when its last reference is gone.

        On a stream that is being captured, a node frees it when that is before the capture's end.
        """
        queue = _queue(stream) if stream else None
        captured = queue is not None and queue.capture_status == 1
        address = self.allocate(nbytes, stream)
        return MemoryPointer(self.context, address, nbytes,
                             finalizer=lambda: call("cuMemFreeAsync", self._pool.end, address, queue, captured))

    def make_current(self) -> None:
        """Makes this the pool of stream-ordered allocations that name none (cuDeviceSetMemPool)."""
        call("cuDeviceSetMemPool", self._pool.make_current)

    def statistics(self) -> Dict[str, int]:
        """``used_current``, ``used_high``, ``reserved_current``, ``reserved_high`` in bytes (CU_MEMPOOL_ATTR_*)."""
        return call("cuMemPoolGetAttribute", self._pool.statistics)

    def reset_statistics(self) -> None:
        """The high marks become the current values."""
        call("cuMemPoolSetAttribute", self._pool.reset_statistics)

    def trim(self, keep: int = 0) -> None:
        """Gives idle memory back to the device until ``keep`` bytes are left (cuMemPoolTrimTo)."""
        call("cuMemPoolTrimTo", self._pool.trim, keep)

    def __repr__(self) -> str:
        return "<MemoryPool %s>" % self.statistics()


def _option(name: str, text: str) -> property:
    def get(self):
        return call("cuMemPoolGetAttribute", getattr, self._pool, name)

    def put(self, value):
        call("cuMemPoolSetAttribute", setattr, self._pool, name, value)

    return property(get, put, doc=text)


MemoryPool.release_threshold = _option("release_threshold", "Bytes that a waiting call leaves in the pool.")
MemoryPool.max_bytes = _option("max_bytes", "Bytes that the pool takes from the device at most; 0: no limit.")
for _name in ("reuse_follow_event_dependencies", "reuse_allow_opportunistic", "reuse_allow_internal_dependencies"):
    setattr(MemoryPool, _name, _option(_name, "Whether the pool may do that (CU_MEMPOOL_ATTR_%s)." % _name.upper()))
del _name


def default_memory_pool() -> MemoryPool:
    """The current device's default pool, which its arrays use (cuDeviceGetDefaultMemPool)."""
    return MemoryPool._of(call("cuDeviceGetDefaultMemPool", _core.MemoryPool.default, get_context()._core_device))


def current_memory_pool() -> MemoryPool:
    """The pool of stream-ordered allocations that name none (cuDeviceGetMemPool)."""
    return MemoryPool._of(call("cuDeviceGetMemPool", _core.MemoryPool.current, get_context()._core_device))


class AllocatorManager(HostOnlyCUDAMemoryManager):
    """Base of the memory managers that :func:`manager_of` makes."""

    _allocate: Callable[[int], Any]  # gives what keeps the memory
    _address: Callable[[Any], int]
    _free: Callable[[Any, int], None]
    _memory_info: Optional[Callable[[], Any]] = None

    def initialize(self) -> None:
        """Nothing is left to do."""

    def memalloc(self, size: int) -> MemoryPointer:
        """``size`` bytes of the allocator's memory, given back through the queue of late releases."""
        kept = type(self)._allocate(size)
        address = type(self)._address(kept)
        allocations, queue, free = self.allocations, self.deallocations, type(self)._free

        def finalizer() -> None:
            allocations.pop(address, None)
            queue.add_item(lambda memory: free(memory, size), kept, size)

        pointer = MemoryPointer(self.context, address, size, finalizer=finalizer)
        allocations[address] = pointer._finalizer
        return pointer

    def get_memory_info(self) -> MemoryInfo:
        """Free and total bytes of the device."""
        return MemoryInfo(*self.context._core_device.memory_info())

    def get_ipc_handle(self, memory: MemoryPointer):
        """NotImplementedError: another process cannot open an allocator's memory."""
        raise NotImplementedError("memory of an allocator cannot be shared with other processes")

    @property
    def interface_version(self) -> int:
        """1."""
        return 1


def manager_of(allocator: Any) -> Type[HostOnlyCUDAMemoryManager]:
    """A memory manager class for ``cuda.set_memory_manager`` over an allocator of another library.

    ``allocator``: an object with ``allocate(nbytes) -> int`` and ``deallocate(address, nbytes)``, as RMM's memory
    resources (``rmm.mr``) and :class:`MemoryPool`; or a function of a size that returns an object with ``ptr``, which
    keeps the memory, as CuPy's (``cupy.cuda.get_allocator()``, ``cupy.cuda.MemoryPool().malloc``). TypeError for
    others.
    """
    if callable(getattr(allocator, "allocate", None)) and callable(getattr(allocator, "deallocate", None)):
        members = dict(
            _allocate=staticmethod(lambda size: int(allocator.allocate(size))),
            _address=staticmethod(lambda address: address),
            _free=staticmethod(lambda address, size: allocator.deallocate(address, size)),
        )
    elif callable(allocator):
        members = dict(
            _allocate=staticmethod(allocator),
            _address=staticmethod(lambda memory: int(memory.ptr)),
            _free=staticmethod(lambda memory, size: None),  # with its last reference, which the queue had
        )
    else:
        raise TypeError("an allocator has allocate(nbytes) and deallocate(address, nbytes), or is a function of a size")
    return type("ManagerOfAllocator", (AllocatorManager,), members)

