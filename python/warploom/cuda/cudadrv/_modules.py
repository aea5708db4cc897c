"""Modules of PTX and their kernels, as the driver layer hands them out."""

from __future__ import annotations

from typing import Tuple

from ._calls import call
from ._memory import MemoryPointer


def max_potential_block_size(context, kernel, b2d_func, memsize: int, limit: int) -> Tuple[int, int]:
    """The block size with most resident threads, largest first among equals (cuOccupancyMaxPotentialBlockSize)."""
    if context.device.is_hardware:
        return call("cuOccupancyMaxPotentialBlockSize", kernel.max_potential_block,
                    b2d_func if callable(b2d_func) else memsize, limit)
    properties = context.device.properties
    largest = kernel.attributes()["max_threads_per_block"]
    if limit:
        largest = min(largest, limit)
    warp = properties["warp_size"]
    best, best_block, best_count = -1, warp, 1
    for block in range(max(largest // warp, 1) * warp, 0, -warp):
        size = min(block, largest)
        count = kernel.max_active_blocks(size, b2d_func(size) if callable(b2d_func) else memsize)
        if count * size > best:
            best, best_block, best_count = count * size, size, count
    return best_count * properties["multiprocessors"], best_block


class Module:
    """Loaded PTX."""

    def __init__(self, context, native) -> None:
        self.context = context
        self._core_module = self.handle = native

    def get_function(self, name: str) -> "Function":
        """A kernel by its name in PTX; CudaAPIError 500 when there is none."""
        return Function(self, call("cuModuleGetFunction", self._core_module.kernel, name))

    def get_global_symbol(self, name: str) -> Tuple[MemoryPointer, int]:
        """(memory, size) of a module variable."""
        address, size = call("cuModuleGetGlobal", self._core_module.global_, name)
        return MemoryPointer(self.context, address, size, owner=self), size

    def unload(self) -> None:
        """Lets the module go; its kernels keep it while they live."""
        self._core_module = self.handle = None
        self.context.unload_module(self)


class Function:
    """A kernel of a module. ``attrs``: what a launch of it needs."""

    def __init__(self, module: Module, native) -> None:
        self.module = module
        self.name = native.name
        self._core_kernel = self.kernel = native
        self._carveout = -1

    @property
    def attrs(self):
        """FuncAttr: regs, shared, local, const (bytes for one block or thread) and maxthreads."""
        found = call("cuFuncGetAttribute", self._core_kernel.attributes)
        return FuncAttr(found["registers"], found["static_shared_bytes"], found["local_bytes"], found["const_bytes"],
                        found["max_threads_per_block"])

    @property
    def device(self):
        """The device it is loaded on."""
        return self.module.context.device

    def cache_config(self, prefer_equal: bool = False, prefer_cache: bool = False, prefer_shared: bool = False) -> None:
        """Accepted: the split between L1 cache and shared memory is a hint."""

    def set_shared_memory_carveout(self, carveout: int) -> None:
        """Accepted, a hint: percent of the most shared memory, or -1 for the default; ValueError otherwise."""
        if not -1 <= carveout <= 100:
            raise ValueError("carveout must be -1 or between 0 and 100, got %d" % carveout)
        self._carveout = carveout


class FuncAttr(tuple):
    """What a kernel needs: ``regs`` for each thread, ``shared``, ``local`` and ``const`` bytes, ``maxthreads``."""

    def __new__(cls, regs: int, shared: int, local: int, const: int, maxthreads: int) -> "FuncAttr":
        return super().__new__(cls, (regs, shared, local, const, maxthreads))

    regs = property(lambda self: self[0])
    shared = property(lambda self: self[1])
    local = property(lambda self: self[2])
    const = property(lambda self: self[3])
    maxthreads = property(lambda self: self[4])


class CodeLibrary:
    """A compiled kernel's code, by the names that Numba's tools use."""

    def __init__(self, kernel) -> None:
        self._kernel = kernel

    def get_cufunc(self) -> Function:
        """The kernel in the current context, loaded if it was not."""
        bound = self._kernel.bind()
        # Whoever launches it without looking at the arguments needs the entry that serves all.
        entry = self._kernel.compiled.overlapping
        return Function(Module(bound.context, bound.module), bound.module.kernel(entry) if entry else bound.kernel)

    def get_asm_str(self, cc=None) -> str:
        """The kernel's PTX, without what it is linked with."""
        return self._kernel.compiled.ptx

    def get_llvm_str(self) -> str:
        """The kernel's LLVM IR."""
        return self._kernel.compiled.llvm
