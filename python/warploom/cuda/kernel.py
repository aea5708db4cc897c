"""Compiled kernels: loading into a device, launches the long way, preparation of arguments, what the code needs.

Source: Numba, "CUDA kernel API"; CUDA Driver API, "Module Management" and "Execution Control".
"""

from __future__ import annotations

import operator
import pickle
import sys
import threading
import types as _pytypes
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from . import kernel_exceptions, types
from .args import ArgHint, wrap_arg
from .compiler import Compiled, without_debug_metadata, without_line_info
from .errors import missing_launch_config_msg
from .typing import signature
from .typing.typeof import typeof


class _Bound:
    """A compiled kernel loaded into one device."""

    __slots__ = ("context", "module", "kernel", "launcher", "record")


class _Kernel:
    """A kernel compiled for one tuple of argument types: an entry of a dispatcher's `overloads`."""

    launch_config_sensitive = False

    def __init__(self, dispatcher, argtypes: Tuple[types.Type, ...], compiled: Compiled):
        self.py_func = dispatcher.py_func
        self.argtypes = argtypes
        self.options = dispatcher.targetoptions
        self.compiled = compiled
        self.extensions = dispatcher.extensions
        self.debug = bool(self.options["debug"])
        self.lineinfo = bool(self.options["lineinfo"])
        self.max_registers = self.options.get("max_registers")
        self._bound: Dict[Tuple[int, int], _Bound] = {}
        self._lock = threading.Lock()
        # What the kernel is linked with: the options' code, and that of the foreign functions it calls.
        self.links = list(getattr(dispatcher, "_links", ()))
        foreign = [one for one in compiled.captured if hasattr(one, "link")]
        for function in foreign:
            self.links += function.link
        self.image = compiled.ptx
        if self.links or foreign:
            from .compiler import default_cc
            from .cudadrv.linker import link_kernel

            self.image = link_kernel(compiled.ptx, self.py_func.__name__, self.links, default_cc())

    @property
    def argument_types(self) -> Tuple[types.Type, ...]:
        """The types of the arguments."""
        return self.argtypes

    @property
    def signature(self):
        """The signature; kernels return nothing."""
        return signature(types.none, *self.argtypes)

    @property
    def entry_name(self) -> str:
        """The kernel's name in PTX."""
        return self.compiled.entry

    @property
    def cooperative(self) -> bool:
        """Whether all blocks must run at the same time: the kernel synchronises the grid."""
        return self.compiled.cooperative

    def bind(self) -> _Bound:
        """Load the kernel into the current device, once for each device."""
        from .cudadrv import devices

        context = devices.get_context()
        key = (context.handle, context._generation)
        bound = self._bound.get(key)
        if bound is None:
            with self._lock:
                bound = self._bound.get(key)
                if bound is None:
                    bound = self._bound[key] = self._load(context)
        return bound

    def _load(self, context) -> _Bound:
        from warploom import _core

        from .cudadrv._calls import call

        bound = _Bound()
        bound.context = context
        bound.module = call("cuModuleLoadDataEx", context._core_device.load_ptx, self.image,
                            f"{self.py_func.__name__}.ptx")
        bound.kernel = call("cuModuleGetFunction", bound.module.kernel, self.compiled.entry)
        bound.launcher = _core.Launcher(bound.kernel, self._parameter_types())
        if self.compiled.overlapping:
            other = call("cuModuleGetFunction", bound.module.kernel, self.compiled.overlapping)
            bound.launcher.when_overlapping(other, self.compiled.arrays)
        bound.record = None
        if self.compiled.error_global:
            bound.record = kernel_exceptions.ErrorRecord(context, bound.module, self.compiled.error_global,
                                                         self.compiled.exceptions, self.compiled.exception_places,
                                                         self.py_func)
            if not self.debug:
                kernel_exceptions.watch(bound.record)
        if self.links:
            from .cudadrv.linker import module_loaded

            module_loaded(context, bound.module, self.links)
        return bound

    def _parameter_types(self) -> List[str]:
        objects: List[Any] = []
        return [ty.canonical_with(objects) for ty in self.argtypes]

    # ---- launch ----

    def launch(self, args: Sequence[Any], griddim=(1, 1, 1), blockdim=(1, 1, 1), stream=0, sharedmem: int = 0) -> None:
        """Launch with converted dimensions; host arrays are copied to the device and back."""
        if len(args) != len(self.argtypes):
            raise TypeError(f"{self.py_func.__name__}() takes {len(self.argtypes)} arguments, {len(args)} were given")
        bound = self.bind()
        after: List[Callable[[], Any]] = []
        prepared = []
        for ty, value in zip(self.argtypes, args):
            for extension in reversed(self.extensions):
                ty, value = extension.prepare_args(ty, value, stream=stream, retr=after)
            prepared.append(prepare_argument(ty, value, stream, after))
        from .cudadrv import _streams
        from .cudadrv._calls import call

        core_stream = None if isinstance(stream, int) and stream == 0 else _streams.core_stream(stream, bound.context)
        call("cuLaunchKernel", bound.launcher.launch, griddim, blockdim, core_stream, sharedmem, self.cooperative,
             tuple(prepared))
        error = None
        if self.debug and bound.record is not None:
            call("cuStreamSynchronize", bound.context._core_device.synchronize if core_stream is None
                 else core_stream.synchronize)
            error = bound.record.take()
        for write_back in after:
            # All arrays come back, also when the first one reports that the kernel has failed.
            try:
                write_back()
            except Exception as failure:
                error = error or failure
        if error is not None:
            raise error

    def __call__(self, *args, **kwargs):
        raise ValueError(missing_launch_config_msg)

    @property
    def _codelibrary(self):
        """Where Numba's own tools look for the loaded kernel."""
        from .cudadrv._modules import CodeLibrary

        return CodeLibrary(self)

    @property
    def _type_annotation(self):
        """Has `typemap`: the types of variables by name, where they are numbers or arrays."""
        lines = (line.split(": ", 1) for line in self.compiled.types_text.splitlines() if ": " in line)
        return _pytypes.SimpleNamespace(typemap={name: types.from_display(text) for name, text in lines})

    # ---- what the compiled code needs ----

    def _attribute(self, name: str) -> int:
        return int(self.bind().kernel.attributes()[name])

    @property
    def regs_per_thread(self) -> int:
        """Registers for each thread: an estimate, which is never above the limit that was asked for."""
        found = self._attribute("registers")
        return min(found, self.max_registers) if self.max_registers else found

    @property
    def const_mem_size(self) -> int:
        """Bytes of constant memory."""
        return self._attribute("const_bytes")

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of static shared memory for each block."""
        return self._attribute("static_shared_bytes")

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of local memory for each thread."""
        return self._attribute("local_bytes")

    @property
    def max_threads_per_block(self) -> int:
        """The largest block it can be launched with."""
        return self._attribute("max_threads_per_block")

    def max_cooperative_grid_blocks(self, blockdim, dynsmemsize: int = 0) -> int:
        """How many blocks of this shape (int or tuple) can run at once on the device: the limit of a grid with
        grid-wide synchronisation. `dynsmemsize`: bytes of dynamic shared memory for each block."""
        bound = self.bind()
        per_multiprocessor = bound.kernel.max_active_blocks(blockdim, dynsmemsize)
        return int(per_multiprocessor * bound.context.device.MULTIPROCESSOR_COUNT)

    def inspect_asm(self, cc=None) -> str:
        """The PTX; with line information when `lineinfo` or `debug` asked for it."""
        # What runs always has it: errors and reports name source lines.
        shown = self.options.get("lineinfo") or self.options.get("debug")
        return self.compiled.ptx if shown else without_line_info(self.compiled.ptx)

    def inspect_llvm(self) -> str:
        """The LLVM IR; with line information when `lineinfo` or `debug` asked for it."""
        shown = self.options.get("lineinfo") or self.options.get("debug")
        return self.compiled.llvm if shown else without_debug_metadata(self.compiled.llvm)

    def inspect_lto_ptx(self, cc=None) -> str:
        """The PTX of a kernel that was compiled with lto=True, with all it calls. RuntimeError for others."""
        if not self.options.get("lto"):
            raise RuntimeError("Not an LTO compilation: inspect_asm() gives the PTX")
        return self.compiled.ptx

    def inspect_sass(self) -> str:
        """Not available: the code of a GPU is made by NVIDIA's assembler."""
        raise RuntimeError(
            "SASS is made and shown by NVIDIA's tools, which are not used here; inspect_asm() gives the PTX")

    inspect_sass_cfg = inspect_sass

    def inspect_types(self, file=None) -> None:
        """Print the source with the types of its values, to `file` or the standard output."""
        out = sys.stdout if file is None else file
        print(f"{self.entry_name} {self.argtypes}", file=out)
        print("-" * 80, file=out)
        print(self.compiled.types_text, file=out)
        print("=" * 80, file=out)

    def __reduce__(self):
        raise pickle.PicklingError("a compiled kernel is pickled with its dispatcher")


def prepare_argument(ty: types.Type, value: Any, stream, after: List[Callable[[], Any]]) -> Any:
    """What the launcher takes for `value` as an argument of type `ty`; calls to run after the launch go to `after`.

    Raises TypeError when the value cannot be converted: float to int, complex to real.
    """
    if isinstance(ty, types.Array):
        array = _array_argument(value, stream, after)
        found = typeof(array) if not isinstance(array, tuple) else None
        if found is not None and found != ty:
            _check_array(found, ty)
        return array
    if isinstance(ty, types.Integer):
        if isinstance(value, (np.datetime64, np.timedelta64)):
            value = value.view(np.int64)
        try:
            return operator.index(value)
        except TypeError:
            raise TypeError(
                f"an argument of type {ty} takes an integer, got {type(value).__name__} {value!r}") from None
    if isinstance(ty, types.Boolean):
        return bool(value)
    if isinstance(ty, types.Float):
        if isinstance(value, (complex, np.complexfloating)):
            raise TypeError(f"an argument of type {ty} takes a real number, got {value!r}")
        return float(value)
    if isinstance(ty, types.Complex):
        return complex(value)
    if isinstance(ty, (types.NPDatetime, types.NPTimedelta)):
        return int(np.asarray(value).view(np.int64))
    if isinstance(ty, types.EnumMember):
        return prepare_argument(ty.dtype, getattr(value, "value", value), stream, after)
    if isinstance(ty, types.Record):
        record = wrap_arg(value).to_device(after, stream)
        return int(record.gpu_data.device_pointer_value)
    if isinstance(ty, (types.CPointer, types.RawPointer)):
        return _pointer_argument(value)
    if isinstance(ty, types.BaseTuple):
        if len(value) != len(ty):
            raise TypeError(f"an argument of type {ty} takes {len(ty)} elements, got {len(value)}")
        return tuple(prepare_argument(t, v, stream, after) for t, v in zip(ty, value))
    if isinstance(ty, types.Optional):
        return None if value is None else prepare_argument(ty.type, value, stream, after)
    if isinstance(ty, (types.NoneType, types.Omitted, types.Dispatcher, types.NumberClass, types.Literal,
                       types.EnumClass)):
        return None
    raise NotImplementedError(f"{ty}, {value!r}: kernels take no argument of this type")


def _array_argument(value, stream, after):
    from warploom import _core

    if isinstance(value, _core.ArrayBase):
        return value
    if not isinstance(value, ArgHint) and not isinstance(value, (np.ndarray, np.generic)):
        from . import api

        if api.is_cuda_array(value):
            return api.as_cuda_array(value)
    return wrap_arg(value).to_device(after, stream)


def _check_array(given: types.Type, wanted: types.Array) -> None:
    if not isinstance(given, types.Array) or given.ndim != wanted.ndim:
        raise TypeError(f"the kernel was compiled for {wanted}, the argument is {given}")
    if types.as_dtype(given.dtype).itemsize != types.as_dtype(wanted.dtype).itemsize:
        raise TypeError(f"the kernel was compiled for {wanted}, the argument is {given}")


def _pointer_argument(value) -> int:
    if value is None:
        return 0
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return int(interface["data"][0])
    return operator.index(getattr(value, "value", value) or 0)
