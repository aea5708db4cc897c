"""What kernels call: indices, barriers, warp operations, memory spaces, atomics. On the host these names only stand.

Source: CUDA C++ Programming Guide, chapter "C++ Language Extensions"; Numba, "CUDA Python reference".
"""

from __future__ import annotations

from .registry import register


class OutsideKernelError(NotImplementedError, RuntimeError):
    """A device-side function was called on the host."""


def device_function(name: str):
    """Decorator: the function is known to the compiler as `name`, and refuses to be called on the host."""

    def decorate(function):
        def refuse(*args, **kwargs):
            raise OutsideKernelError(f"{name}() can only be called inside a kernel or device function")

        refuse.__name__ = function.__name__
        refuse.__qualname__ = name.rpartition("cuda.")[2] or name
        refuse.__doc__ = function.__doc__
        refuse.__module__ = "warploom.cuda"
        refuse.__annotations__ = dict(function.__annotations__)
        refuse.__wrapped__ = function
        return register(refuse, name)

    return decorate


class DeviceValue:
    """A value that only exists inside a kernel, such as `threadIdx`."""

    def __init__(self, name: str, doc: str):
        self._name = name
        self.__doc__ = doc
        register(self, "cuda." + name)

    def __repr__(self) -> str:
        return f"<cuda.{self._name}>"

    def __reduce__(self):
        return _find, (self._name,)


class _Dim3(DeviceValue):
    @property
    def x(self):
        """The x component, an int32; only inside a kernel."""
        return self._outside("x")

    @property
    def y(self):
        """The y component, an int32; only inside a kernel."""
        return self._outside("y")

    @property
    def z(self):
        """The z component, an int32; only inside a kernel."""
        return self._outside("z")

    def _outside(self, member):
        raise OutsideKernelError(f"cuda.{self._name}.{member} only has a value inside a kernel")


def _find(name: str):
    return globals()[name]


threadIdx = _Dim3("threadIdx", "The thread's index in its block: `.x`, `.y`, `.z`, each an int32 from 0.")
blockIdx = _Dim3("blockIdx", "The block's index in the grid: `.x`, `.y`, `.z`, each an int32 from 0.")
blockDim = _Dim3("blockDim", "The block's shape in threads: `.x`, `.y`, `.z`, each an int32.")
gridDim = _Dim3("gridDim", "The grid's shape in blocks: `.x`, `.y`, `.z`, each an int32.")
laneid = DeviceValue("laneid", "The thread's lane in its warp, an int32 from 0 to 31.")
warpsize = DeviceValue("warpsize", "The number of threads in a warp: 32, an int32.")


@device_function("cuda.grid")
def grid(ndim: int):
    """The thread's position in the whole grid: an int64 for `ndim` 1, a tuple of them for 2 and 3 (x first).

    `ndim` must be a literal 1, 2 or 3.
    """


@device_function("cuda.gridsize")
def gridsize(ndim: int):
    """The grid's size in threads: an int64 for `ndim` 1, a tuple for 2 and 3; `ndim` must be a literal."""


# ---- barriers and fences ----


@device_function("cuda.syncthreads")
def syncthreads() -> None:
    """Wait until every thread of the block is here; memory written before is then seen by all of them."""


@device_function("cuda.syncthreads_count")
def syncthreads_count(predicate: int) -> int:
    """syncthreads(), and the number of threads whose `predicate` is not 0, as an int32."""


@device_function("cuda.syncthreads_and")
def syncthreads_and(predicate: int) -> int:
    """syncthreads(), and not 0 if `predicate` is not 0 in every thread, as an int32."""


@device_function("cuda.syncthreads_or")
def syncthreads_or(predicate: int) -> int:
    """syncthreads(), and not 0 if `predicate` is not 0 in some thread, as an int32."""


@device_function("cuda.syncwarp")
def syncwarp(mask: int = 0xFFFFFFFF) -> None:
    """Wait until the lanes of `mask` are here; memory written before is then seen by these lanes."""


@device_function("cuda.threadfence")
def threadfence() -> None:
    """Order this thread's memory accesses for all threads of the device."""


@device_function("cuda.threadfence_block")
def threadfence_block() -> None:
    """Order this thread's memory accesses for the threads of its block."""


@device_function("cuda.threadfence_system")
def threadfence_system() -> None:
    """Order this thread's memory accesses for all threads of all devices and the host."""


# ---- warp operations ----


@device_function("cuda.shfl_sync")
def shfl_sync(mask: int, value, src_lane: int):
    """`value` of lane `src_lane`, among the lanes of `mask`; value: int32, int64, float32 or float64."""


@device_function("cuda.shfl_up_sync")
def shfl_up_sync(mask: int, value, delta: int):
    """`value` of the lane `delta` below; lanes that have none keep their own."""


@device_function("cuda.shfl_down_sync")
def shfl_down_sync(mask: int, value, delta: int):
    """`value` of the lane `delta` above; lanes that have none keep their own."""


@device_function("cuda.shfl_xor_sync")
def shfl_xor_sync(mask: int, value, lane_mask: int):
    """`value` of the lane whose number is this one's xor `lane_mask`."""


@device_function("cuda.all_sync")
def all_sync(mask: int, predicate) -> bool:
    """Whether `predicate` holds in every lane of `mask`."""


@device_function("cuda.any_sync")
def any_sync(mask: int, predicate) -> bool:
    """Whether `predicate` holds in some lane of `mask`."""


@device_function("cuda.eq_sync")
def eq_sync(mask: int, predicate) -> bool:
    """Whether `predicate` is the same in all lanes of `mask`."""


@device_function("cuda.ballot_sync")
def ballot_sync(mask: int, predicate) -> int:
    """The lanes of `mask` in which `predicate` holds, one bit each, as an int32."""


@device_function("cuda.match_any_sync")
def match_any_sync(mask: int, value) -> int:
    """The lanes of `mask` that have the same `value` as this one, one bit each."""


@device_function("cuda.match_all_sync")
def match_all_sync(mask: int, value):
    """(`mask`, True) if all lanes of `mask` have the same `value`, otherwise (0, False)."""


@device_function("cuda.activemask")
def activemask() -> int:
    """The lanes that execute this call together, one bit each."""


@device_function("cuda.lanemask_lt")
def lanemask_lt() -> int:
    """The lanes below this one, one bit each, as a uint32."""


# ---- bits, selection, arithmetic ----


@device_function("cuda.popc")
def popc(x: int) -> int:
    """The number of bits that are 1."""


@device_function("cuda.brev")
def brev(x: int) -> int:
    """The bits in reverse order."""


@device_function("cuda.clz")
def clz(x: int) -> int:
    """The number of leading bits that are 0."""


@device_function("cuda.ffs")
def ffs(x: int) -> int:
    """The position of the lowest bit that is 1, counted from 1; 0 if there is none."""


@device_function("cuda.selp")
def selp(condition, a, b):
    """`a` if `condition` holds, otherwise `b`; both are evaluated."""


@device_function("cuda.fma")
def fma(a: float, b: float, c: float) -> float:
    """a*b + c, rounded once."""


@device_function("cuda.cbrt")
def cbrt(x: float) -> float:
    """The cube root."""


@device_function("cuda.nanosleep")
def nanosleep(ns: int) -> None:
    """Suspend the thread for about `ns` nanoseconds."""


@device_function("cuda.breakpoint")
def breakpoint() -> None:
    """Stop in the debugger; without one it does nothing on the CPU device."""


@device_function("cuda.printf")
def printf(format: str, *args) -> int:
    """C's printf from the device: `format` is a literal; returns the number of arguments. Output comes at a sync."""


# ---- loads and stores with a cache hint, vectors ----


@device_function("cuda.ldca")
def ldca(array, index):
    """Load `array[index]`, cached at all levels (ld.ca)."""


@device_function("cuda.ldcg")
def ldcg(array, index):
    """Load `array[index]`, cached in L2 (ld.cg)."""


@device_function("cuda.ldcs")
def ldcs(array, index):
    """Load `array[index]`, likely read once (ld.cs)."""


@device_function("cuda.ldlu")
def ldlu(array, index):
    """Load `array[index]`, last use (ld.lu)."""


@device_function("cuda.ldcv")
def ldcv(array, index):
    """Load `array[index]`, never from a cached copy (ld.cv)."""


@device_function("cuda.stcg")
def stcg(array, index, value) -> None:
    """Store to `array[index]`, cached in L2 (st.cg)."""


@device_function("cuda.stcs")
def stcs(array, index, value) -> None:
    """Store to `array[index]`, likely used once (st.cs)."""


@device_function("cuda.stwb")
def stwb(array, index, value) -> None:
    """Store to `array[index]`, write-back at all levels (st.wb)."""


@device_function("cuda.stwt")
def stwt(array, index, value) -> None:
    """Store to `array[index]`, write-through (st.wt)."""


@device_function("cuda.load_float4")
def load_float4(array, index):
    """A float4 from `array[index]` … `array[index + 3]` in one 16-byte load; the address must be a multiple of 16."""


@device_function("cuda.store_float4")
def store_float4(array, index, value) -> None:
    """Store a float4 to `array[index]` … `array[index + 3]` in one 16-byte store; the address is a multiple of 16."""


@device_function("cuda.literal_unroll")
def literal_unroll(container):
    """In `for x in literal_unroll(t)`: unroll the loop over a tuple, whose elements may differ in type."""


# ---- memory spaces ----


class shared:
    """Shared memory: one copy for each block, seen by all its threads."""

    @device_function("cuda.shared.array")
    def array(shape, dtype, alignment=None):
        """An array in shared memory; `shape` an int or tuple of ints known when compiling.

        Shape 0 denotes the dynamic shared memory of the launch; all arrays so made begin at its start.
        """

    @device_function("cuda.shared.dynamic")
    def dynamic(shape, dtype):
        """The next part of the launch's dynamic shared memory: unlike `array(0, …)`, calls give disjoint arrays."""

    array = staticmethod(array)
    dynamic = staticmethod(dynamic)


@device_function("cuda.shared_memory")
def shared_memory(shape, dtype):
    """An array in shared memory: `shared.array` under its short name."""


class local:
    """Local memory: one copy for each thread."""

    @device_function("cuda.local.array")
    def array(shape, dtype, alignment=None):
        """An array in local memory; `shape` an int or tuple of ints known when compiling."""

    array = staticmethod(array)


class const:
    """Constant memory: read-only, the same for all threads."""

    @device_function("cuda.const.array_like")
    def array_like(ndarray):
        """A copy of a global or closure array, as it is when the kernel is compiled, in constant memory."""

    array_like = staticmethod(array_like)


class atomic:
    """Atomic read-modify-write operations; each returns the old value. `index` is an int or a tuple of ints."""

    @device_function("cuda.atomic.add")
    def add(array, index, value):
        """array[index] += value"""

    @device_function("cuda.atomic.sub")
    def sub(array, index, value):
        """array[index] -= value"""

    @device_function("cuda.atomic.and_")
    def and_(array, index, value):
        """array[index] &= value; int32, int64, uint32 or uint64"""

    @device_function("cuda.atomic.or_")
    def or_(array, index, value):
        """array[index] |= value; int32, int64, uint32 or uint64"""

    @device_function("cuda.atomic.xor")
    def xor(array, index, value):
        """array[index] ^= value; int32, int64, uint32 or uint64"""

    @device_function("cuda.atomic.inc")
    def inc(array, index, value):
        """array[index] = 0 if array[index] >= value else array[index] + 1; uint32 or uint64"""

    @device_function("cuda.atomic.dec")
    def dec(array, index, value):
        """array[index] = value if array[index] in (0, more than value) else array[index] - 1; uint32 or uint64"""

    @device_function("cuda.atomic.exch")
    def exch(array, index, value):
        """array[index] = value; int32, int64, uint32 or uint64"""

    @device_function("cuda.atomic.max")
    def max(array, index, value):
        """array[index] = max(array[index], value); NaN is kept out as by Python's max"""

    @device_function("cuda.atomic.min")
    def min(array, index, value):
        """array[index] = min(array[index], value); NaN is kept out as by Python's min"""

    @device_function("cuda.atomic.nanmax")
    def nanmax(array, index, value):
        """array[index] = max(array[index], value), where a NaN counts as no value"""

    @device_function("cuda.atomic.nanmin")
    def nanmin(array, index, value):
        """array[index] = min(array[index], value), where a NaN counts as no value"""

    @device_function("cuda.atomic.compare_and_swap")
    def compare_and_swap(array, old, value):
        """array[0] = value if array[0] == old; returns what array[0] was"""

    @device_function("cuda.atomic.cas")
    def cas(array, index, old, value):
        """array[index] = value if array[index] == old; returns what array[index] was"""


for _name, _value in list(vars(atomic).items()):
    if not _name.startswith("_"):
        setattr(atomic, _name, staticmethod(_value))
del _name, _value

# What `warploom.cuda` shows of this module.
DEVICE_NAMES = [
    "threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize", "grid", "gridsize", "syncthreads",
    "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp", "threadfence", "threadfence_block",
    "threadfence_system", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "all_sync", "any_sync",
    "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync", "activemask", "lanemask_lt", "popc", "brev", "clz",
    "ffs", "selp", "fma", "cbrt", "nanosleep", "breakpoint", "printf", "ldca", "ldcg", "ldcs", "ldlu", "ldcv", "stcg",
    "stcs", "stwb", "stwt", "load_float4", "store_float4", "literal_unroll", "shared", "shared_memory", "local",
    "const", "atomic",
]

__all__ = DEVICE_NAMES
