"""The driver: devices, contexts, modules and copies (Numba documentation: "Device Management", "Memory Management").

Names that other parts import from here, as with Numba: ``driver``, ``Device``, ``Context``, ``Stream``, ``Event``,
``MemoryPointer`` and its kin, the copy functions, the memory manager classes and the errors.
"""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from warploom import _core
from warploom._libraries import find_libraries
from warploom.cuda.core import config

from . import _copies
from ._attributes import device_attributes
from ._calls import ERROR_NAMES, CudaAPIError, api_error, at_synchronize, call, synchronized
from ._copies import (device_extents, device_memory_size, device_memset, device_pointer, device_to_device,
                      device_to_host, host_memory_extents, host_memory_size, host_pointer, host_to_device,
                      is_device_memory, memory_size_from_info, require_device_memory)
from ._memory import (AutoFreePointer, BaseCUDAMemoryManager, GetIpcHandleMixin, HostOnlyCUDAMemoryManager,
                      ManagedMemory, MappedMemory, MemoryInfo, MemoryPointer, NumbaCUDAMemoryManager, OwnedPointer,
                      PendingDeallocs, PendingInfo, PinnedMemory, memory_manager_class, pinned_ranges,
                      set_memory_manager)
from ._modules import FuncAttr, Function, Module, max_potential_block_size
from ._streams import (DEFAULT, LEGACY, PER_THREAD, Event, ExternalStream, Stream, core_stream, create_stream,
                       event_elapsed_time, new_native)
from .error import CudaDriverError, CudaSupportError
from .linker import Linker as _Linker
from .linker import LinkerError

# An asynchronous copy of at most this many bytes from pageable memory does not wait (CUDA Driver API, "API
# synchronization behavior").
_STAGED_BYTES = 64 * 1024
_PAGEABLE = ("A copy of %d bytes on a stream waits for the stream, because the host array is not pinned. Allocate it "
             "with cuda.pinned_array(), or pin it with cuda.pinned(), so that it overlaps with other work.")


def _warn_pageable(queue, address: int, size: int) -> None:
    if size <= _STAGED_BYTES or not config.CUDA_WARN_ON_PAGEABLE_COPY or config.DISABLE_PERFORMANCE_WARNINGS:
        return
    if queue.is_default or pinned_ranges.contain(address, size) or queue.capture_status:
        return
    from warploom.cuda.core.errors import NumbaPerformanceWarning, warn_user

    warn_user(NumbaPerformanceWarning(_PAGEABLE % size))


_DISABLED = ("CUDA is disabled due to setting NUMBA_DISABLE_CUDA=1 in the environment, or because CUDA is unsupported "
             "on 32-bit systems.")


class UnsupportedPtxVersion(CudaAPIError):
    """PTX of a version that the device does not read."""


def _have_nvjitlink() -> bool:
    """Whether linking of all kinds of code is there; it needs no library here."""
    return True


class _CUdevice(int):
    """A device's number."""


class _CUdeviceptr(int):
    """A device address."""


class _Result(int):
    """A CUresult that prints its name."""

    def __repr__(self) -> str:
        return "CUresult.%s" % ERROR_NAMES.get(int(self), "?")


class _CUresult:
    def __getattr__(self, name: str) -> _Result:
        for code, known in ERROR_NAMES.items():
            if known == name:
                return _Result(code)
        raise AttributeError(name)


class _Binding:
    """The few names of ``cuda.bindings.driver`` that callers take from here."""

    CUdevice = _CUdevice
    CUdeviceptr = _CUdeviceptr
    CUresult = _CUresult()

    @staticmethod
    def cuDriverGetVersion() -> Tuple[_Result, int]:
        return _Result(0), _DRIVER_VERSION


binding = _Binding()
_DRIVER_VERSION = 13000


class _ActiveContext:
    """The calling thread's current context as (``context_handle``, ``devnum``), both None without one."""

    def __enter__(self) -> "_ActiveContext":
        self.context_handle = driver.current_handle()
        context = driver.primary_context(self.context_handle)
        self.devnum = None if context is None else context.device.id
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __bool__(self) -> bool:
        return self.context_handle is not None


def _no_context() -> "Context":
    raise CudaDriverError("warploom.cuda.cudadrv.devices has not been imported")


class Driver:
    """The driver's functions, by their names in the CUDA Driver API where they have one. There is one: ``driver``.

    Set up at the first use of a device. A function may be replaced by setting an attribute of the same name.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._threads = threading.local()
        self._devices: Optional[List["Device"]] = None
        self._contexts: Dict[int, "Context"] = {}  # primary ones that are in use, by handle
        self._next_handle = 0x10000
        self._forked = False
        self.find_context: Callable[[], "Context"] = _no_context
        self.initialization_error: Optional[str] = None
        self.pid: Optional[int] = None
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._forked = self._devices is not None
        self._lock = threading.RLock()
        # The thread that goes on has no context any more, which launches look at without asking for one.
        self._threads.__dict__.clear()
        _core.set_current_context(0)

    # Set-up.

    def ensure_initialized(self) -> None:
        """Finds the devices; CudaSupportError when CUDA is disabled, CudaDriverError in a forked child."""
        if self._devices is not None and not self._forked:
            return
        if self._forked:
            raise CudaDriverError("CUDA initialized before forking")
        with self._lock:
            if self._devices is not None:
                return
            try:
                if getattr(config, "DISABLE_CUDA", False):
                    raise CudaSupportError(_DISABLED)
                self.cuInit(0)
                count = _device_count()
            except CudaAPIError as error:
                self.initialization_error = "%s (%s)" % (error.msg, error.code)
                raise CudaSupportError("Error at driver init: %s" % self.initialization_error) from error
            except CudaSupportError as error:
                self.initialization_error = error.msg
                raise CudaSupportError("Error at driver init: \n%s:" % error.msg) from None
            self.pid = os.getpid()
            self._devices = [Device(number) for number in range(count)]

    @property
    def is_available(self) -> bool:
        """Whether a device can be used."""
        try:
            self.ensure_initialized()
        except (CudaSupportError, CudaDriverError):
            return False
        return bool(self._devices)

    def get_device_count(self) -> int:
        """Number of devices."""
        self.ensure_initialized()
        return len(self._devices)

    def get_device(self, devnum: int = 0) -> "Device":
        """The device of a number; CudaAPIError 101 when there is none."""
        self.ensure_initialized()
        number = int(devnum)
        if not 0 <= number < len(self._devices):
            raise CudaAPIError(101, "Call to cuDeviceGet results in CUDA_ERROR_INVALID_DEVICE: there are %d devices"
                               % len(self._devices))
        return self._devices[number]

    def get_version(self) -> Tuple[int, int]:
        """The version of the CUDA driver API that is provided."""
        return _DRIVER_VERSION // 1000, _DRIVER_VERSION % 1000 // 10

    # The calling thread's stack of contexts.

    @property
    def _stack(self) -> List[int]:
        try:
            return self._threads.stack
        except AttributeError:
            self._threads.stack = []
            return self._threads.stack

    def current_handle(self) -> Optional[int]:
        """The handle of the calling thread's current context, or None."""
        return self._stack[-1] if self._stack else None

    def push_context(self, handle: int) -> None:
        """Makes a context the calling thread's current one."""
        self._stack.append(handle)
        _core.set_current_context(handle)

    def pop_active_context(self) -> Optional[int]:
        """Takes the current context off the calling thread's stack; None when it is empty."""
        stack = self._stack
        popped = stack.pop() if stack else None
        _core.set_current_context(stack[-1] if stack else 0)
        return popped

    def get_active_context(self) -> _ActiveContext:
        """A context manager with ``context_handle`` and ``devnum`` of the calling thread's current context."""
        return _ActiveContext()

    def primary_context(self, handle: Optional[int]) -> Optional["Context"]:
        """The primary context that has the handle, if one has."""
        for device in self._devices or ():
            if handle is not None and device._handle == handle:
                return device.get_primary_context()
        return None

    def reset(self) -> None:
        """Empties the calling thread's stack of contexts."""
        self._stack.clear()
        _core.set_current_context(0)

    def new_handle(self) -> int:
        """A number that no other handle has."""
        with self._lock:
            self._next_handle += 0x100
            return self._next_handle

    # Functions of the CUDA Driver API.

    def cuInit(self, flags: int) -> None:
        """Always succeeds."""

    def cuDriverGetVersion(self) -> int:
        return _DRIVER_VERSION

    def cuDeviceGetCount(self) -> int:
        return self.get_device_count()

    def cuDevicePrimaryCtxRetain(self, device: int) -> int:
        return self.get_device(device)._handle

    def cuDevicePrimaryCtxRelease(self, device: int) -> None:
        self.get_device(device)

    def cuCtxCreate(self, *arguments) -> int:
        """A further context, made current; nothing can run in it."""
        self.get_device(arguments[-1])
        handle = self.new_handle()
        self.push_context(handle)
        return handle

    def cuCtxDestroy(self, handle: int) -> None:
        stack = self._stack
        stack[:] = [other for other in stack if other != handle]

    def cuCtxSynchronize(self) -> None:
        _current().synchronize()

    def cuMemGetInfo(self) -> Tuple[int, int]:
        return _current()._core_device.memory_info()

    def cuStreamCreate(self, flags: int = 0) -> int:
        """A stream that lives until cuStreamDestroy."""
        native = new_native(_current(), blocking=not flags & 1)
        self.__dict__.setdefault("_raw_streams", {})[native.core.handle] = native
        return native.core.handle

    def cuStreamDestroy(self, handle: int) -> None:
        self.__dict__.setdefault("_raw_streams", {}).pop(int(handle), None)

    def cuMemcpyHtoD(self, dst: int, src: int, size: int) -> None:
        call("cuMemcpyHtoD", _current()._core_device.copy, dst, src, size)

    def cuMemcpyDtoH(self, dst: int, src: int, size: int) -> None:
        context = _current()
        call("cuMemcpyDtoH", context._core_device.copy, dst, src, size)
        synchronized(context)

    def cuMemcpyDtoD(self, dst: int, src: int, size: int) -> None:
        call("cuMemcpyDtoD", _current()._core_device.copy, dst, src, size)

    def cuMemcpyHtoDAsync(self, dst: int, src: int, size: int, stream) -> None:
        context = _current()
        queue = core_stream(stream, context)
        _warn_pageable(queue, src, size)
        call("cuMemcpyHtoDAsync", context._core_device.copy, dst, src, size, queue)

    def cuMemcpyDtoHAsync(self, dst: int, src: int, size: int, stream) -> None:
        context = _current()
        queue = core_stream(stream, context)
        _warn_pageable(queue, dst, size)
        call("cuMemcpyDtoHAsync", context._core_device.copy, dst, src, size, queue)
        if not pinned_ranges.contain(dst, size) and not queue.capture_status:
            # The copy has waited for the stream; what failed there is raised here.
            call("cuMemcpyDtoHAsync", queue.synchronize)
            synchronized(context)

    def cuMemcpyDtoDAsync(self, dst: int, src: int, size: int, stream) -> None:
        context = _current()
        call("cuMemcpyDtoDAsync", context._core_device.copy, dst, src, size, core_stream(stream, context))

    def cuMemcpyPeer(self, dst: int, dst_context: "Context", src: int, src_context: "Context", size: int) -> None:
        """Copies between two devices after all their work so far; returns when done."""
        call("cuMemcpyPeer", src_context._core_device.copy_to_peer, dst, dst_context._core_device, src, size)

    def cuMemcpyPeerAsync(self, dst: int, dst_context: "Context", src: int, src_context: "Context", size: int,
                          stream) -> None:
        """The same in the order of a stream of the current context."""
        call("cuMemcpyPeerAsync", src_context._core_device.copy_to_peer, dst, dst_context._core_device, src, size,
             core_stream(stream, _current()))

    def cuMemHostGetFlags(self, address: int) -> int:
        """Flags of page-locked host memory: 2 (mapped), and 4 when it is write-combined; CudaAPIError 1 for other."""
        return call("cuMemHostGetFlags", _current()._core_device.host_flags, address)

    def cuMemsetD8(self, dst: int, value: int, size: int) -> None:
        call("cuMemsetD8", _current()._core_device.fill, dst, value, 1, size)

    def cuMemsetD8Async(self, dst: int, value: int, size: int, stream) -> None:
        context = _current()
        call("cuMemsetD8Async", context._core_device.fill, dst, value, 1, size, core_stream(stream, context))

    def cuProfilerStart(self) -> None:
        """Accepted: observers are set when a device is opened."""

    def cuProfilerStop(self) -> None:
        """Accepted."""

    # For this package.

    def set_memory(self, dst: int, value: int, size: int, stream=0) -> None:
        """Sets bytes, asynchronously when ``stream`` is not 0."""
        if size == 0:
            return
        if stream:
            self.cuMemsetD8Async(dst, value, size, stream)
        else:
            self.cuMemsetD8(dst, value, size)


def on_gpus() -> bool:
    """Whether the devices are the driver's GPUs: when there are some, unless WARPLOOM_DEVICE or another variable asks
    for the CPU device."""
    return _core.Device.default_name() != "cpu"


def first_device() -> int:
    """The device of threads that ask for none: the first, or the one that WARPLOOM_DEVICE names (cuda:1)."""
    name = _core.Device.default_name()
    return int(name[len("cuda:"):]) if name.startswith("cuda:") else 0


def _device_count() -> int:
    """The GPUs, or on the CPU WARPLOOM_DEVICES (default 1), of which CUDA_VISIBLE_DEVICES shows the listed ones up to
    the first unknown. CudaSupportError when WARPLOOM_DEVICE names a device that is not there."""
    if on_gpus():
        names = _core.Device.names()
        if len(names) == 1 or _core.Device.default_name() not in [*names, "cuda"]:
            try:
                _core.Device.open("")
            except _core.Error as error:
                raise CudaSupportError(str(error)) from error
        return len(names) - 1
    count = int(os.environ.get("WARPLOOM_DEVICES", "1"))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return count
    shown = 0
    for item in visible.split(","):
        if not item.strip().isdigit() or int(item) >= count:
            break
        shown += 1
    return shown


def _current() -> "Context":
    """The calling thread's current context; ``devices``, which needs this module, sets what finds it."""
    return driver.find_context()


driver = Driver()
_copies.driver = driver


class Device:
    """One device; also ``cuda.gpus[i]``. CUdevice_attribute values are attributes (``MULTIPROCESSOR_COUNT``, ...)."""

    def __init__(self, number: int) -> None:
        self.id = number
        self._handle = driver.new_handle()
        self._lock = threading.Lock()
        self._core: Any = None
        self._context: Optional[Context] = None

    @classmethod
    def from_identity(cls, identity: str) -> "Device":
        """The device with a ``uuid``; RuntimeError when there is none."""
        for number in range(driver.get_device_count()):
            device = driver.get_device(number)
            if device.uuid == identity:
                return device
        raise RuntimeError("No device of %s is found. Target device may not be visible in this process." % identity)

    @property
    def _core_device(self):
        if self._core is None:
            with self._lock:
                if self._core is None:
                    self._core = call("cuDevicePrimaryCtxRetain", _open_device, self.id)
        return self._core

    @property
    def properties(self) -> dict:
        """The modelled GPU's properties by the names of ``warploom::DeviceProperties``; sizes in bytes."""
        return self._core_device.properties

    @property
    def is_hardware(self) -> bool:
        """Whether this is a GPU, whose memory the host cannot reach, and not the CPU device."""
        return on_gpus()

    @property
    def compute_capability(self) -> Tuple[int, int]:
        """(major, minor)."""
        found = self.properties
        return found["compute_capability_major"], found["compute_capability_minor"]

    @property
    def name(self) -> str:
        """For instance "NVIDIA H200 (modelled on the CPU)"."""
        return self.properties["name"]

    @property
    def uuid(self) -> str:
        """"GPU-" and a UUID, the same in all processes."""
        return "GPU-%s" % uuid.uuid5(uuid.NAMESPACE_URL, "warploom:%s:%d" % ("gpu" if on_gpus() else "cpu", self.id))

    @property
    def supports_float16(self) -> bool:
        """Whether 16-bit floats are supported (compute capability 5.3)."""
        return self.compute_capability >= (5, 3)

    @property
    def supports_bfloat16(self) -> bool:
        """Whether bfloat16 is supported (compute capability 8.0)."""
        return self.compute_capability >= (8, 0)

    @property
    def supports_fp8(self) -> bool:
        """Whether 8-bit floats are supported (compute capability 8.9)."""
        return self.compute_capability >= (8, 9)

    def get_device_identity(self) -> dict:
        """Where the device sits: PCI domain, bus and device number."""
        return {"pci_domain_id": self.PCI_DOMAIN_ID, "pci_bus_id": self.PCI_BUS_ID, "pci_device_id": self.PCI_DEVICE_ID}

    def get_primary_context(self) -> "Context":
        """The context that all users of the device in this process share."""
        if self._context is None:
            context = Context(self, self._handle)
            with self._lock:
                if self._context is None:
                    self._context = context
            self._context.prepare_for_use()
            driver._contexts[self._handle] = self._context
        return self._context

    def create_graph_builder(self):
        """A :class:`GraphBuilder` with a stream of its own, in the device's primary context."""
        return self.get_primary_context().create_graph_builder()

    def release_primary_context(self) -> None:
        """Gives the device's resources back (see :meth:`reset`)."""
        self.reset()

    def reset(self) -> None:
        """Frees everything on the device; arrays, kernels, streams and events made before raise when used."""
        if self._context is not None:
            self._context.reset()
        if self._core is not None:
            call("cuDevicePrimaryCtxReset", self._core.reset)
        if self._context is not None:
            self._context._generation += 1
        _core.contexts_changed()

    @property
    def memory_limit(self) -> int:
        """Bytes of memory that may be allocated: the profile's, WARPLOOM_MEMORY_LIMIT, or what was set last.

        Setting it frees nothing; CudaAPIError 1 for 0 bytes and for more than there were at the beginning.
        """
        return self._core_device.memory_info()[1]

    @memory_limit.setter
    def memory_limit(self, nbytes: int) -> None:
        call("cuDeviceSetMemoryLimit", self._core_device.set_memory_limit, nbytes)

    def __getattr__(self, attribute: str) -> int:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        known = device_attributes(self.properties, self.id)
        try:
            return known[attribute]
        except KeyError:
            raise AttributeError(attribute) from None

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __repr__(self) -> str:
        return "<CUDA device %d '%s'>" % (self.id, self.name)


def _open_device(number: int):
    per_thread = bool(config.CUDA_PER_THREAD_DEFAULT_STREAM)
    if on_gpus():
        find_libraries()
        return _core.Device.open("cuda:%d" % number, per_thread_default_stream=per_thread)
    return _core.Device.open("cpu", ordinal=number, per_thread_default_stream=per_thread)


class Context:
    """What a device's users share: memory, streams, modules. Get it from ``cuda.current_context()``.

    ``memory_manager`` and ``deallocations`` are what their names say; ``_core_device`` is the native device, and
    ``_generation`` grows when a reset has made all native objects unusable.
    """

    def __init__(self, device, handle: int) -> None:
        self.device = device if isinstance(device, Device) else driver.get_device(device)
        self.handle = handle
        self.modules: Dict[int, Callable[[], None]] = {}  # what to call when linked code is let go
        self.extras: dict = {}
        self._generation = 0
        self._deallocations: Optional[PendingDeallocs] = None
        self._in_use = False
        self._memory_manager = memory_manager_class()(context=self)

    @property
    def _core_device(self):
        return self.device._core_device

    @property
    def deallocations(self) -> PendingDeallocs:
        """Streams, events and modules that wait to be destroyed."""
        if self._deallocations is None:
            device = self._core_device
            self._deallocations = PendingDeallocs(device.memory_info()[1], device, memory=False)
        return self._deallocations

    @property
    def memory_manager(self) -> BaseCUDAMemoryManager:
        """What allocates memory in this context. One that is set while the context is in use is initialised first."""
        return self._memory_manager

    @memory_manager.setter
    def memory_manager(self, manager: BaseCUDAMemoryManager) -> None:
        if self._in_use:
            manager.initialize()
        self._memory_manager = manager
        _core.contexts_changed()

    def prepare_for_use(self) -> None:
        """Initialises the memory manager."""
        self._in_use = True
        self.memory_manager.initialize()

    def reset(self) -> None:
        """Frees all memory and modules of this context; kernels can be launched again."""
        self.memory_manager.reset()
        while self.modules:
            self.modules.popitem()[1]()
        self.deallocations.clear()

    def push(self) -> None:
        """Makes this the calling thread's current context."""
        driver.push_context(self.handle)
        self.prepare_for_use()

    def pop(self) -> None:
        """Makes the context before it current again."""
        popped = driver.pop_active_context()
        if popped != self.handle:
            raise RuntimeError("the context that is popped is not the current one")

    def get_memory_info(self) -> MemoryInfo:
        """Free and total device memory in bytes, as the memory manager knows them."""
        return self.memory_manager.get_memory_info()

    def memalloc(self, bytesize: int) -> MemoryPointer:
        """Device memory."""
        return self.memory_manager.memalloc(bytesize)

    def memallocmanaged(self, bytesize: int, attach_global: bool = True) -> ManagedMemory:
        """Memory that host and device share."""
        return self.memory_manager.memallocmanaged(bytesize, attach_global)

    def memhostalloc(self, bytesize: int, mapped: bool = False, portable: bool = False, wc: bool = False):
        """Pinned host memory; ``mapped``: kernels may access it."""
        return self.memory_manager.memhostalloc(bytesize, mapped, portable, wc)

    def mempin(self, owner, pointer: int, size: int, mapped: bool = False):
        """Pins ``size`` bytes of host memory that ``owner`` keeps alive."""
        return self.memory_manager.mempin(owner, pointer, size, mapped)

    def get_ipc_handle(self, memory: MemoryPointer):
        """A handle with which another process opens the memory."""
        return self.memory_manager.get_ipc_handle(memory)

    def open_ipc_handle(self, handle, size: int) -> MemoryPointer:
        """The memory behind the handle of another process."""
        from ._ipc import open_memory

        return open_memory(self, handle, size)

    def defer_cleanup(self):
        """A context manager in which nothing is freed, so that no free waits for the device."""
        return _defer(self)

    def create_stream(self, blocking: bool = True, priority: int = 0) -> Stream:
        """A new stream; see ``cuda.stream``."""
        return create_stream(self, blocking, priority)

    def create_graph_builder(self):
        """A :class:`GraphBuilder` with a stream of its own."""
        from ._graphs import create_graph_builder

        return create_graph_builder(self)

    def get_default_stream(self) -> Stream:
        """The default stream as an object: handle 0."""
        return Stream(self, DEFAULT)

    def get_legacy_default_stream(self) -> Stream:
        """The legacy default stream: handle 1."""
        return Stream(self, LEGACY)

    def get_per_thread_default_stream(self) -> Stream:
        """The calling thread's default stream: handle 2."""
        return Stream(self, PER_THREAD)

    def create_external_stream(self, ptr: int) -> Stream:
        """A stream made elsewhere, by its handle; TypeError unless that is an int."""
        if not isinstance(ptr, int):
            raise TypeError("ptr for external stream must be an int")
        return ExternalStream(self, ptr, external=True)

    def create_event(self, timing: bool = True) -> Event:
        """A new event."""
        return Event(self, timing)

    def synchronize(self) -> None:
        """Waits for all work of the device; raises what that work met."""
        call("cuCtxSynchronize", self._core_device.synchronize)
        synchronized(self)

    def pending(self) -> PendingInfo:
        """Releases that are put off (Numba's documentation: "Deallocation Behavior"), counted by queue."""
        return PendingInfo(**self._core_device.pending())

    def _peer(self, peer) -> "Device":
        return driver.get_device(getattr(getattr(peer, "device", peer), "id", peer))

    def can_access_peer(self, peer_context) -> bool:
        """Whether this device may access the memory of another one (its number, :class:`Device` or context)."""
        try:
            peer = self._peer(peer_context)
        except CudaAPIError:
            return False
        return self._core_device.can_access_peer(peer._core_device)

    def enable_peer_access(self, peer_context, flags: int = 0) -> None:
        """Lets kernels access the peer's memory; CudaAPIError 704 when they may already, 101 for the device itself."""
        if flags:
            raise CudaAPIError(1, "Call to cuCtxEnablePeerAccess results in CUDA_ERROR_INVALID_VALUE: flags must be 0")
        call("cuCtxEnablePeerAccess", self._core_device.enable_peer_access, self._peer(peer_context)._core_device)

    def disable_peer_access(self, peer_context) -> None:
        """Ends that; CudaAPIError 705 when it is not enabled."""
        call("cuCtxDisablePeerAccess", self._core_device.disable_peer_access, self._peer(peer_context)._core_device)

    def create_module_ptx(self, ptx) -> "Module":
        """Loads PTX text."""
        text = ptx.decode("utf-8") if isinstance(ptx, bytes) else ptx
        native = call("cuModuleLoadDataEx", self._core_device.load_ptx, text)
        return Module(self, native)

    create_module_image = create_module_ptx

    def unload_module(self, module: "Module") -> None:
        """Forgets a module."""
        self.modules.pop(id(module), None)

    def get_active_blocks_per_multiprocessor(self, func: "Function", blocksize: int, memsize: int, flags=None) -> int:
        """Blocks of ``blocksize`` threads with ``memsize`` bytes of dynamic shared memory on one multiprocessor."""
        return call("cuOccupancyMaxActiveBlocksPerMultiprocessor", func._core_kernel.max_active_blocks, blocksize,
                    memsize)

    def get_max_active_clusters(self, func: "Function", griddim, blockdim, clusterdim, memsize: int = 0) -> int:
        """Clusters of ``clusterdim`` blocks, of a launch with these extents, that the device holds at once."""
        count = func._core_kernel.max_active_clusters
        return call("cuOccupancyMaxActiveClusters", count, griddim, blockdim, clusterdim, memsize)

    def get_max_potential_block_size(self, func: "Function", b2d_func, memsize: int, blocksizelimit: int,
                                     flags=None) -> Tuple[int, int]:
        """(grid, block) that occupies the device best; ``b2d_func(block)`` gives dynamic shared memory in bytes."""
        return max_potential_block_size(self, func._core_kernel, b2d_func, memsize, blocksizelimit)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Context) and self.handle == other.handle

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return "<CUDA context 0x%x of device %d>" % (self.handle, self.device.id)


def _to_core_stream(stream):
    """The stream itself: it has ``__cuda_stream__``, which is what other libraries take."""
    return stream


@contextlib.contextmanager
def _defer(context: Context) -> Iterator[None]:
    with context.memory_manager.defer_cleanup():
        with context.deallocations.disable():
            yield


def profile_start() -> None:
    """Starts profiling (cuProfilerStart)."""
    driver.ensure_initialized()
    driver.cuProfilerStart()


def profile_stop() -> None:
    """Stops profiling (cuProfilerStop)."""
    driver.ensure_initialized()
    driver.cuProfilerStop()


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """Profiles the block."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()


def __getattr__(name: str):
    if name in ("IpcHandle", "IpcArrayHandle"):
        from . import _ipc

        return getattr(_ipc, name)
    raise AttributeError(name)
