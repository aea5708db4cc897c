"""Devices, memory, streams, modules and launches of Warploom, for the Python package on top of it."""

from __future__ import annotations

from typing import Any, Callable, Literal, Optional, Sequence, Tuple, TypedDict, Union

# Extents in x, y and z; those left out are 1.
Extents = Union[int, Sequence[int]]
# An array argument: an ArrayBase, or (address, shape, strides in bytes).
ArrayArgument = Union["ArrayBase", tuple[int, Sequence[int], Sequence[int]]]

version: str

class Error(RuntimeError):
    """An error of the device or of a call. str() has the message and all that follows, on several lines."""

    id: int  # stable number, shown as "WL1002"
    name: str  # stable name, such as "out_of_memory"
    cuda_code: int  # the CUresult that the CUDA driver would return
    message: str
    where: str  # kernel, block, thread, allocation; may be empty
    remedy: str  # what to do about it; may be empty
    excerpt: str  # the line of the source or PTX with a caret below; may be empty
    file: str
    line: int  # from 1; 0 when unknown
    column: int

class _Properties(TypedDict):
    name: str
    profile: str
    compute_capability_major: int
    compute_capability_minor: int
    warp_size: int
    multiprocessors: int
    max_threads_per_block: int
    max_threads_per_multiprocessor: int
    max_blocks_per_multiprocessor: int
    max_block: tuple[int, int, int]
    max_grid: tuple[int, int, int]
    shared_memory_per_block: int
    max_shared_memory_per_block: int
    shared_memory_per_multiprocessor: int
    registers_per_multiprocessor: int
    total_memory: int

class _Attributes(TypedDict):
    static_shared_bytes: int
    local_bytes: int
    registers: int
    max_threads_per_block: int
    const_bytes: int

class _LaunchRecord(TypedDict):
    kernel: str  # the C++ name with its parameter types
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int  # dynamic, for each block
    start_ms: float  # when it began, from when recording was switched on
    ms: float  # on the device, without compile_ms
    compile_ms: float  # in which it waited for the compiler
    failed: bool

class _Pending(TypedDict):
    memory_count: int
    memory_bytes: int
    object_count: int
    most: int
    flushes: int
    deferred: bool

class DeferredReleases:
    """Nothing of a device is released while one exists."""

class MemoryPool:
    """A pool of device memory, allocated and freed in the order of streams."""

    @property
    def release_threshold(self) -> int:
        """Bytes that a call which waits for the device leaves in the pool."""
    @release_threshold.setter
    def release_threshold(self, value: int) -> None: ...
    @property
    def max_bytes(self) -> int:
        """Bytes that the pool takes from the device at most; 0: no limit of its own."""
    @max_bytes.setter
    def max_bytes(self, value: int) -> None: ...
    @property
    def reuse_follow_event_dependencies(self) -> bool:
        """Reuse in a stream that has waited for an event after the free."""
    @reuse_follow_event_dependencies.setter
    def reuse_follow_event_dependencies(self, value: bool) -> None: ...
    @property
    def reuse_allow_opportunistic(self) -> bool:
        """Reuse in other streams once the free has been reached."""
    @reuse_allow_opportunistic.setter
    def reuse_allow_opportunistic(self, value: bool) -> None: ...
    @property
    def reuse_allow_internal_dependencies(self) -> bool:
        """Rather than fail, make the stream wait for another stream's free."""
    @reuse_allow_internal_dependencies.setter
    def reuse_allow_internal_dependencies(self, value: bool) -> None: ...
    def __init__(self, device: Device, release_threshold: int = 0, max_bytes: int = 0) -> None: ...
    @staticmethod
    def default(device: Device) -> MemoryPool:
        """The device's default pool (cuDeviceGetDefaultMemPool)."""

    @staticmethod
    def current(device: Device) -> MemoryPool:
        """The pool of stream-ordered allocations that name none (cuDeviceGetMemPool)."""

    def make_current(self) -> None:
        """Makes this the device's current pool (cuDeviceSetMemPool)."""

    def allocate(self, nbytes: int, stream: Optional[Stream] = None) -> int:
        """The address of nbytes bytes for later work of the stream, or of the default stream."""

    def deallocate(self, address: int, stream: Optional[Stream] = None) -> None:
        """Frees in the order of the stream (cuMemFreeAsync)."""

    def end(self, address: int, stream: Optional[Stream], captured: bool) -> None:
        """Frees what an object has whose life ends; captured: allocated while the stream was captured."""

    def statistics(self) -> dict[str, int]:
        """used and reserved bytes, each current and high (CU_MEMPOOL_ATTR_*)."""

    def reset_statistics(self) -> None:
        """The high marks become the current values."""

    def trim(self, keep: int = 0) -> None:
        """Gives idle memory back to the device until keep bytes are left (cuMemPoolTrimTo)."""

class PendingReleases:
    """The releases that a device has put off, of memory or of other objects."""

    def __init__(self, device: Device, memory: bool) -> None: ...
    def add(self, release: Callable[[Any], Any], handle: Any, nbytes: int, count: int, ratio: float) -> None:
        """Has release(handle) called later, which gives back nbytes bytes."""

    def clear(self) -> None:
        """Calls all that wait, unless releases are deferred; the first exception cancels the rest."""

    def __len__(self) -> int: ...
    @property
    def size(self) -> int:
        """Bytes that the releases of memory give back."""

    @property
    def flushes(self) -> int:
        """How often either queue was released."""

class Device:
    """A device and its context; it closes with the last object made on it."""

    @staticmethod
    def open(
        name: str = "cpu",
        *,
        threads: int = 0,
        profile: str = "h200",
        deterministic: bool = False,
        unoptimised: bool = False,
        memory_limit: int = 0,
        per_thread_default_stream: bool = False,
        ordinal: int = 0,
    ) -> Device:
        """Opens a device; 0 threads: one for each core; memory_limit in bytes, 0: the profile's.

        ordinal: which of the WARPLOOM_DEVICES.

        Environment variables WARPLOOM_* override the fields they name.
        """

    @staticmethod
    def default_name() -> str:
        """The device that programs run on here which name none: "cuda:0" with a GPU, else "cpu"."""

    @staticmethod
    def names() -> list[str]:
        """The devices there are: "cpu", then the GPUs."""

    @staticmethod
    def count() -> int:
        """How many devices the process sees: WARPLOOM_DEVICES."""

    @staticmethod
    def profiles() -> list[str]:
        """Names of the GPUs that a device can model."""

    @property
    def properties(self) -> _Properties:
        """The modelled GPU, sizes in bytes (cuDeviceGetAttribute)."""

    def memory_info(self) -> tuple[int, int]:
        """(free, total) bytes of device memory (cuMemGetInfo)."""

    def share_memory(self, address: int) -> tuple[bytes, int]: ...

    def set_memory_limit(self, nbytes: int) -> None:
        """Changes how many bytes may be allocated, at most what the device was opened with."""

    def defer_releases(self) -> DeferredReleases:
        """Nothing is released while the result exists."""

    def pending(self) -> _Pending:
        """Releases that are put off: counts, bytes, the most at once, how often they were released."""

    def check_foreign(self, address: int, nbytes: int) -> None:
        """Raises unless kernels reach memory that another library made."""

    def can_access_peer(self, peer: Device) -> bool:
        """Whether the devices may access each other's memory (cuDeviceCanAccessPeer)."""

    def enable_peer_access(self, peer: Device) -> None:
        """Lets kernels access the peer's memory (cuCtxEnablePeerAccess)."""

    def disable_peer_access(self, peer: Device) -> None:
        """Ends that (cuCtxDisablePeerAccess)."""

    def copy_to_peer(self, dst: int, peer: Device, src: int, nbytes: int, stream: Optional[Stream] = None) -> None:
        """Copies to another device's memory (cuMemcpyPeer); queued when there is a stream, of either device."""

    def allocate(self, nbytes: int) -> Memory:
        """Device memory, 256-byte aligned, contents unspecified (cuMemAlloc)."""

    def allocate_host(self, nbytes: int, flags: int = 0) -> Memory:
        """Zeroed page-locked host memory that kernels may access at the same address.

        flags are those of cuMemHostAlloc.
        """

    def allocate_managed(self, nbytes: int, attach_global: bool = True, track: bool = False) -> Memory:
        """Zeroed memory that host and kernels share (cuMemAllocManaged); track: touches of its pages are seen."""

    def host_flags(self, address: int) -> int:
        """Flags of page-locked host memory (cuMemHostGetFlags)."""

    def register_host(self, address: int, nbytes: int) -> None:
        """Lets kernels access host memory that is there already (cuMemHostRegister)."""

    def unregister_host(self, address: int) -> None:
        """Ends a registration, after the work queued so far; ValueError when there is none at the address."""

    def load_ptx(self, text: str, name: str = "<ptx>") -> Module:
        """Loads PTX text; name stands in messages."""

    def synchronize(self) -> None:
        """Waits for all work of all streams; raises the error of asynchronous work, if there was one."""

    def record_launches(self, on: bool = True) -> None:
        """Keeps a record of every launch that ends from now on, or stops to."""

    def take_launches(self) -> list[_LaunchRecord]:
        """The records kept since the last call, in the order of their ends."""

    def reset(self) -> None:
        """Frees all memory, forgets errors; what was made before raises when used."""

    @property
    def default_stream(self) -> Stream:
        """The stream of calls that are given none; its handle is 0."""

    @property
    def legacy_stream(self) -> Stream:
        """The legacy default stream; its handle is 1."""

    @property
    def per_thread_stream(self) -> Stream:
        """The calling thread's own default stream."""

    def external_stream(self, handle: int) -> Stream:
        """The stream with a handle; it is not kept."""

    def copy(self, dst: int, src: int, nbytes: int, stream: Optional[Stream] = None) -> None:
        """Copies bytes between addresses of host or device.

        Without a stream, or with the default stream, it returns when done; with another it is queued, and the memory
        must stay as it is until then.
        """

    def fill(self, dst: int, value: int, width: int, count: int, stream: Optional[Stream] = None) -> None:
        """Writes the lowest width (1, 2, 4, 8) bytes of value count times (cuMemsetD8 and its siblings)."""

def code_statistics() -> tuple[int, int]:
    """Versions of kernels that this process had LLVM compile, and that it loaded from the disk cache."""

def finish_devices() -> None:
    """Waits for the work of every device and prints what went wrong; called when the interpreter ends."""

class Memory:
    """An allocation; it goes back when free() is called or the object dies, after the work queued until then."""

    @property
    def address(self) -> int:
        """Address on the device (and on the host, for host memory); 0 for no bytes."""

    @property
    def size(self) -> int:
        """Bytes."""

    def advise(self, advice: int, host: bool, offset: int, nbytes: int) -> None:
        """Advice (CU_MEM_ADVISE_*) on a part of managed memory, for the host or the device (cuMemAdvise)."""

    def prefetch(self, host: bool, offset: int, nbytes: int, stream: Stream) -> None:
        """Moves pages of managed memory to the host or the device, in the order of the stream (cuMemPrefetchAsync)."""

    def attach(self, how: int, stream: Stream) -> None:
        """Whose work uses managed memory: CU_MEM_ATTACH_*, in the order of the stream (cuStreamAttachMemAsync)."""

    def pages(self) -> dict[str, int]:
        """Where the pages of managed memory are, and how they got there: counts by name."""

    def free(self) -> None:
        """Gives the memory back after the work queued so far (cuMemFree); does nothing a second time."""

class Event:
    """A point in a stream's work (cuEventCreate)."""

    def __init__(self, device: Device, timing: bool = True) -> None: ...
    def record(self, stream: Optional[Stream] = None) -> None:
        """Captures the work queued so far on the stream, or on the default stream."""

    def query(self) -> bool:
        """True when the captured work has finished, and for an event that was never recorded."""

    def synchronize(self) -> None:
        """Waits for the captured work."""

    @staticmethod
    def elapsed_ms(start: Event, end: Event) -> float:
        """Milliseconds between two recorded events that have been reached."""

class Stream:
    """A queue of work that runs in order (cuStreamCreateWithPriority)."""

    def __init__(self, device: Device, blocking: bool = True, priority: int = 0) -> None: ...
    @property
    def handle(self) -> int:
        """A number of its own for each stream; 0 for the default stream, 1 for the legacy default stream."""

    def begin_capture(self, mode: str = "relaxed") -> None:
        """From now on work becomes nodes of a graph (cuStreamBeginCapture).

        The mode is "global", "thread_local" or "relaxed".
        """

    def end_capture(self) -> Graph:
        """The graph of what was captured (cuStreamEndCapture)."""

    def add_graph(self, graph: Graph) -> None:
        """Adds another graph to the capture, as one node."""

    @property
    def is_default(self) -> bool:
        """The device's default stream?"""

    @property
    def capture_status(self) -> int:
        """0: not being captured, 1: being captured, 2: the capture has been invalidated."""

    @property
    def capture_id(self) -> int:
        """A number of the capture; 0 without one."""

    @property
    def blocking(self) -> bool:
        """Whether the default stream and this one wait for each other."""

    @property
    def priority(self) -> int:
        """From -5, the most urgent, to 0."""

    def synchronize(self) -> None:
        """Waits for all work queued so far; raises the error of asynchronous work, if there was one."""

    def query(self) -> bool:
        """True when all work queued so far has finished."""

    def wait(self, event: Event) -> None:
        """Work queued later waits for what the event captured."""

    def host_function(self, function: Callable[[], object]) -> None:
        """Queues a call of function() on a thread of the library, with the GIL held (cuLaunchHostFunc).

        It must not wait for the device; an exception in it becomes host_function_failed at the next synchronising call.
        """

class Graph:
    """Device work and what waits for what (cuGraphCreate). Nodes are numbered from 0."""

    def __init__(self, device: Device) -> None: ...
    def __len__(self) -> int: ...
    def kind(self, node: int) -> str:
        """What a node does: kernel, copy, fill, host, graph, empty, event_record, event_wait, memory_alloc or
        memory_free."""

    def dependencies(self, node: int) -> list[int]:
        """The nodes that a node waits for."""

    def to_dot(self) -> str:
        """Nodes and edges in the language of Graphviz."""

    def child(self, after: Sequence[int], graph: Graph) -> int:
        """Adds all of another graph as one node."""

    def empty(self, after: Sequence[int]) -> int:
        """Adds a node for others to wait for."""

    def copy(self, after: Sequence[int], dst: int, src: int, nbytes: int) -> int:
        """Adds a copy between addresses of host or device."""

    def host_function(self, after: Sequence[int], function: Callable[[], object]) -> int:
        """Adds a call of function(), under the rules of Stream.host_function."""

    def record(self, after: Sequence[int], event: Event) -> int:
        """Adds a record of an event, which is reached when the whole graph has run."""

    def wait(self, after: Sequence[int], event: Event) -> int:
        """Has each launch wait for what the event has captured then."""

    def allocate(self, after: Sequence[int], nbytes: int) -> tuple[int, int]:
        """Adds an allocation; (node, address). Its address is the same in every run."""

    def deallocate(self, after: Sequence[int], address: int) -> int:
        """Adds a node that frees what a node of a graph allocates."""

    def add_dependency(self, before: int, node: int) -> None:
        """Has a node wait for another one too (cuGraphAddDependencies)."""

    def remove_dependency(self, before: int, node: int) -> None:
        """Ends that (cuGraphRemoveDependencies)."""

    def instantiate(self, auto_free_on_launch: bool = False) -> GraphExec:
        """The graph as it is now, made ready to be launched (cuGraphInstantiate)."""

def graph_memory(device: Device) -> dict[str, int]:
    """Bytes that nodes of graphs allocate, and bytes taken from the device for them."""

def reset_graph_memory(device: Device) -> None:
    """The high marks become the current values."""

def trim_graph_memory(device: Device) -> None:
    """Gives memory that no graph uses back to the device (cuDeviceGraphMemTrim)."""

class GraphExec:
    """An instantiated graph (cuGraphLaunch)."""

    def launch(self, stream: Optional[Stream] = None) -> None:
        """Queues one run of all nodes on the stream, or on the default stream."""

    def update(self, graph: Graph) -> tuple[int, int]:
        """(result, node) of cuGraphExecUpdate: 0 when later launches do what the graph says, else nothing changes."""

    def enable(self, node: int, on: bool) -> None:
        """Switches a kernel, copy or fill on or off in later launches."""

    def enabled(self, node: int) -> bool:
        """Whether the node is on."""

    def set_copy(self, node: int, dst: int, src: int, nbytes: int) -> None:
        """Another copy for a node, in later launches."""

def exchange_capture_mode(mode: str) -> str:
    """Sets the calling thread's capture mode and gives the one before."""

class DlpackOwner:
    """The memory of a DLPack tensor of another library; it goes back with this."""

def dlpack_export(
    owner: object,
    address: int,
    shape: Sequence[int],
    strides: Sequence[int],
    code: int,
    bits: int,
    device_type: int,
    device_number: int,
    versioned: bool,
    flags: int,
) -> object:
    """A DLPack capsule for memory that owner keeps; strides in elements, code and bits as DLDataType's."""

def dlpack_import(capsule: object) -> dict[str, object]:
    """Takes a DLPack capsule: a dict of what it holds, and owner, which keeps the memory. BufferError otherwise."""

class Module:
    """Loaded PTX."""

    def kernel(self, name: str) -> Kernel:
        """Finds a kernel by its name in PTX or its C++ name."""

    def kernel_names(self) -> list[str]:
        """Names in PTX of all kernels."""

    def global_(self, name: str) -> tuple[int, int]:
        """(address, bytes) of a variable (cuModuleGetGlobal)."""

class Kernel:
    """A kernel of a module; keeps the module loaded."""

    @property
    def name(self) -> str:
        """The name in PTX."""

    @property
    def demangled_name(self) -> str:
        """The C++ name with its parameter types; name when it is not mangled."""

    def attributes(self) -> _Attributes:
        """What a launch needs (cuFuncGetAttribute). Compiles the kernel."""

    def parameters(self) -> list[tuple[str, int, int, int]]:
        """(name, offset, bytes, alignment) of each parameter."""

    def max_active_blocks(self, block: Extents, smem: int = 0) -> int:
        """Blocks with smem bytes of dynamic shared memory that one multiprocessor holds at once."""
    def max_active_clusters(self, grid: Extents, block: Extents, cluster: Extents, smem: int = 0) -> int: ...
    def max_potential_block(self, smem: Union[int, Callable[[int], int]] = 0, limit: int = 0) -> tuple[int, int]:
        """(grid, block) with most threads resident; smem: bytes, or a function of the block's threads."""

class HostBuffer:
    """Base class: a writable buffer of _buflen_ bytes at _bufptr_, both attributes of the subclass."""

class ArrayBase:
    """Where an array lies in device memory. Immutable, but for the stream; subclasses add the rest."""

    @property
    def stream(self) -> Any: ...
    @stream.setter
    def stream(self, value: object) -> None: ...
    def __init__(
        self,
        address: int,
        shape: Sequence[int],
        strides: Sequence[int],
        type_name: str,
        owner: object = None,
        dtype: object = None,
        c_order: bool = False,
        f_order: bool = False,
        stream: object = 0,
    ) -> None:
        """strides in bytes; type_name: the canonical type, such as array(float32,1,C); owner is kept alive."""

    @property
    def _address(self) -> int: ...
    @property
    def _shape(self) -> tuple[int, ...]: ...
    @property
    def _strides(self) -> tuple[int, ...]: ...
    @property
    def _type_name(self) -> str: ...
    @property
    def _owner(self) -> Any: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def gpu_data(self) -> Any: ...
    @property
    def _c_order(self) -> bool: ...
    @property
    def _f_order(self) -> bool: ...

class NativePointer:
    """Base class of device memory that the default memory manager hands out; calling it releases the memory."""

    @property
    def refct(self) -> int: ...
    @refct.setter
    def refct(self, value: int) -> None: ...
    def __call__(self) -> None: ...
    @property
    def context(self) -> Any: ...
    @property
    def device_pointer(self) -> int: ...
    @property
    def handle(self) -> int: ...
    @property
    def _device_address(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def _cuda_memsize_(self) -> int: ...
    @property
    def is_managed(self) -> bool: ...
    @property
    def alive(self) -> bool: ...
    @property
    def _owner(self) -> None: ...
    @property
    def _finalizer(self) -> Any: ...

def set_pointer_classes(pointer: type, manager: type, get_context: Callable[[], Any], config: object) -> None:
    """Says which class new memory has, for which memory manager, and where the context and the limits are found."""

def forget_pointer_classes() -> None:
    """Takes that back, before the interpreter ends."""

def release_pointers(context: object) -> None:
    """Releases all native memory of a context that is alive."""

def allocate_pointer(nbytes: int) -> Any:
    """New memory of the current context; None when only its memory manager can make it."""

def set_array_class(type: type, plan: Callable[..., Any]) -> None:
    """Says which class new arrays have, and what gives the layout for a shape, a dtype and an order."""

def make_device_array(long_way: Callable[..., Any], dtype: object, module: str) -> Callable[..., Any]: ...
def set_current_context(handle: int) -> None: ...
def contexts_changed() -> None: ...
class ConfiguredLaunch:
    @property
    def pre_launch_callbacks(self) -> list[Callable[..., Any]]: ...

class Configurable:
    @property
    def _configurations(self) -> dict[Any, Any]: ...

def arm_launch(launch: ConfiguredLaunch, dispatcher: FastDispatcher, config: LaunchConfig, context: int) -> None:
    """Calls of the launch in the context of that handle go to the dispatcher first, until contexts change."""

def set_launch_class(
    type: type, long_way: Callable[..., None], error: Callable[..., Exception], done: Callable[[], None]
) -> None: ...

class SharedMemory:
    def __init__(self, device: Device, handle: bytes, offset: int = 0) -> None: ...
    @property
    def address(self) -> int: ...
    def close(self) -> None: ...

def forget_array_class() -> None:
    """Takes that back, before the interpreter ends."""

def new_array(shape: object, dtype: object, order: object, stream: object) -> Any:
    """A contiguous array in new memory of the current context; None where Python code has to make it."""

def read_array(array: object, host: object) -> bool:
    """Copies a contiguous array that new_array() made to a host array of the same layout; False when they are not."""

def write_array(array: object, host: object) -> bool:
    """The same from the host."""

class LaunchConfig:
    """Shape and place of a launch (cuLaunchKernel)."""

    def __init__(
        self,
        grid: Extents,
        block: Extents,
        stream: Optional[Stream] = None,
        smem: int = 0,
        cooperative: bool = False,
    ) -> None:
        """smem: bytes of dynamic shared memory for each block."""

    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    @property
    def smem(self) -> int: ...
    @property
    def cooperative(self) -> bool: ...

class Launcher:
    """A kernel and the canonical types of its arguments."""

    def __init__(self, kernel: Kernel, arg_types: Sequence[str]) -> None:
        """Raises ValueError for a type that no kernel takes as an argument."""

    def when_overlapping(self, kernel: Kernel, arrays: Sequence[Tuple[int, int, int, bool]]) -> None:
        """The kernel to launch instead when an array that is written overlaps another one.

        arrays: (first parameter, dimensions, bytes of an element, whether it is written) of each array argument.
        Raises ValueError when the kernel has no such parameters.
        """

    def launch(
        self,
        grid: Extents,
        block: Extents,
        stream: Optional[Stream],
        smem: int,
        cooperative: bool,
        args: Sequence[Any],
    ) -> None:
        """Queues a launch.

        An array argument is an ArrayArgument; scalars are cast to their type: integers wrap, real numbers are
        truncated, complex numbers raise TypeError.
        """

class FastDispatcher:
    """Launchers of one kernel by the types of its arguments."""

    def __init__(self) -> None: ...
    def add(self, arg_types: Sequence[str], launcher: Launcher) -> None:
        """Calls whose arguments have these canonical types use the launcher, whose own types may differ: it casts."""

    def clear(self) -> None:
        """Forgets all launchers."""

    def call(self, config: LaunchConfig, args: tuple[Any, ...]) -> Literal[0, 1, 2]:
        """Launches, when it can tell the types of all arguments and has a launcher for them.

        0: it cannot, and did nothing. 1: the launch is queued. 2: it has been done, because contiguous NumPy arrays in
        host memory were copied to the device before it and back after it. It knows exact int, float, bool and complex,
        NumPy scalars, ArrayBase, and writable, contiguous NumPy arrays of 1 to 8 dimensions with native elements.
        """

def recent_sources(filename: str) -> list[str]:
    """Texts given to exec() or compile() under a file name such as "<string>" since the import, newest first."""

def image_ptx(device: Device, image: bytes, name: str) -> str:
    """The PTX that a fatbin, object file, archive or program holds for the device, as one text."""

def compile_cuda(
    source: str, *, name: str = "<source>.cu", arch: str = "", include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (), arguments: Sequence[str] = (), debug: bool = False, fast_math: bool = False,
) -> str:
    """Compiles CUDA C++ source to PTX text; name stands in messages, arch is such as "sm_90"."""

def compile_function(
    frontend: Any,
    function: Callable[..., Any],
    argument_types: Sequence[str],
    objects: list[Any],
    return_type: str,
    options: dict[str, Any],
) -> tuple[Any, ...]:
    """Compiles a Python function to PTX; use warploom.cuda.frontend.compile.

    (True, results as a dict) or (False, category, message, file, line, column). frontend: the module that reads
    sources and describes objects; objects: what the canonical types refer to by index; return_type: "" for a kernel.
    """

def gemm(
    stream: Stream, dtype: str, alpha: complex, a: ArrayBase, op_a: int, b: ArrayBase, op_b: int, beta: complex,
    c: ArrayBase,
) -> None:
    """c = alpha op(a) op(b) + beta c, queued; op 0: none, 1: transpose, 2: conjugate transpose. Use warploom.blas."""

def gemv(
    stream: Stream, dtype: str, alpha: complex, a: ArrayBase, op: int, x: ArrayBase, beta: complex, y: ArrayBase
) -> None:
    """y = alpha op(a) x + beta y, queued."""

def dot(stream: Stream, dtype: str, x: ArrayBase, y: ArrayBase, conjugate: bool, result: ArrayBase) -> None:
    """result[0] = sum of x y, or of conj(x) y, queued."""

def nrm2(stream: Stream, dtype: str, x: ArrayBase, result: ArrayBase) -> None:
    """result[0] = the Euclidean length of x, queued."""

def axpy(stream: Stream, dtype: str, alpha: complex, x: ArrayBase, y: ArrayBase) -> None:
    """y = alpha x + y, queued."""

def scal(stream: Stream, dtype: str, alpha: complex, x: ArrayBase) -> None:
    """x = alpha x, queued."""

def fourier(
    stream: Stream, kind: int, f64: bool, inverse: bool, axes: int, scale: float, in_: ArrayBase, out: ArrayBase
) -> None:
    """Transforms the last axes, queued; kind 0: complex, 1: real to complex, 2: complex to real. Use warploom.fft."""

def add_library_folder(folder: str) -> None:
    """A folder where shared libraries are looked for before the system's."""

class Communicator:
    """One rank of a group of devices."""

    @staticmethod
    def unique_id(device: Device) -> bytes: ...
    @staticmethod
    def join(device: Device, id: bytes, ranks: int, rank: int) -> Communicator: ...
    @staticmethod
    def all(devices: Sequence[Device]) -> list[Communicator]: ...
    @property
    def rank(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    def run(
        self, kind: str, src: int, dst: int, count: int, dtype: str, op: str, peer: int, stream: Stream
    ) -> None: ...


class CollectiveGroup:
    """Collectives of one thread that begin together, at end()."""

    def __init__(self, device: Device) -> None: ...
    def end(self) -> None: ...
