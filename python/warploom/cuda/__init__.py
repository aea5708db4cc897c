"""Kernels in Python, with the names and meanings of `numba.cuda`: `from warploom import cuda`."""

from __future__ import annotations

from . import api, cg, cudadrv, fp16, registry, types
from .api import *  # noqa: F401,F403
from .args import In, InOut, Out
from .compiler import (compile, compile_all, compile_for_current_device, compile_ptx, compile_ptx_for_current_device)
from .core import config
from .decorators import declare_device, jit
from .cudadrv import devicearray, devices, driver
from .cudadrv._ipc import IpcHandle
from .cudadrv._pool import MemoryPool, current_memory_pool, default_memory_pool, manager_of
from .cudadrv.driver import (BaseCUDAMemoryManager, GetIpcHandleMixin, HostOnlyCUDAMemoryManager, MappedMemory,
                             MemoryInfo, MemoryPointer, PinnedMemory, set_memory_manager)
from .cudadrv.error import CudaSupportError
from .cudadrv.linkable_code import LTOIR, Archive, Cubin, CUSource, Fatbin, LinkableCode, Object, PTXSource
from .errors import KernelRuntimeError
from .stubs import *  # noqa: F401,F403
from .types import *  # noqa: F401,F403
from .vector_types import constructors as _vector_constructors

globals().update(_vector_constructors)

HAS_NUMBA = False
implementation = "Warploom"

# Modules that are only loaded when they are asked for.
_LAZY_MODULES = ("libdevice", "libdevicefuncs", "random", "launchconfig", "kernels", "extending", "bf16")
_LAZY_NAMES = {
    "reduce": ("kernels.reduction", "Reduce"), "Reduce": ("kernels.reduction", "Reduce"),
    "vectorize": ("vectorizers", "vectorize"), "guvectorize": ("vectorizers", "guvectorize"),
}


def __getattr__(name: str):
    import importlib

    if name in _LAZY_MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY_NAMES:
        module, attribute = _LAZY_NAMES[name]
        value = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'warploom.cuda' has no attribute {name!r}")
