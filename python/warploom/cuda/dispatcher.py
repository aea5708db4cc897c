"""Dispatchers: what `@cuda.jit` makes of a function. `kernel[grid, block, stream, smem](*args)` compiles and launches.

Source: Numba, "CUDA kernel API" and "Kernel invocation"; numba-cuda's documented texts of warnings and errors.
"""

from __future__ import annotations

import collections
import functools
import inspect
import pickle
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from warploom import _core

from . import kernel_exceptions, launchconfig, typeconv, types
from .args import ArgHint
from .compiler import NOT_VOID, Compiled, check_launch_bounds, compile_function, default_cc
from .core import config
from .core.errors import NumbaPerformanceWarning, warn_user
from .errors import missing_launch_config_msg, normalize_kernel_dimensions
from .kernel import _Kernel
from .serialize import PackedFunction
from .typing import normalize_signature, signature
from .typing.typeof import Purpose, typeof

_CompileStats = collections.namedtuple("_CompileStats", ("cache_path", "cache_hits", "cache_misses"))

_CARVEOUTS = {"default": -1, "maxl1": 0, "maxshared": 100}


def parse_carveout(carveout: Union[None, int, str]) -> Optional[int]:
    """Percent of the multiprocessor's memory to use as shared memory, -1 for the default. Raises ValueError."""
    if carveout is None:
        return None
    if isinstance(carveout, str):
        if carveout.lower() not in _CARVEOUTS:
            raise ValueError(f"Invalid carveout value: {carveout}. Must be -1 to 100 or one of "
                             f"{['default', 'MaxL1', 'MaxShared']}")
        return _CARVEOUTS[carveout.lower()]
    if isinstance(carveout, int):
        if not -1 <= carveout <= 100:
            raise ValueError(f"Carveout value must be between -1 and 100, got {carveout}")
        return carveout
    raise TypeError(f"shared_memory_carveout must be str or int, got {type(carveout).__name__}")


class _LaunchConfiguration(_core.ConfiguredLaunch):
    """A kernel with grid, block, stream and dynamic shared memory: what a subscript gives, and what is called.

    `pre_launch_callbacks`: functions (kernel, launch configuration) called before each launch.
    """

    def __init__(self, dispatcher: "CUDADispatcher", griddim, blockdim, stream, sharedmem):
        self.dispatcher = dispatcher
        self.griddim = griddim
        self.blockdim = blockdim
        self.stream = stream
        self.sharedmem = sharedmem
        self.args = None
        self._fast = None  # the fast path, once this launch may use it
        self._core_config = None
        self._warn_low_occupancy()

    def _warn_low_occupancy(self) -> None:
        if not config.CUDA_LOW_OCCUPANCY_WARNINGS or config.DISABLE_PERFORMANCE_WARNINGS:
            return
        # Fewer blocks than this leave most multiprocessors of any recent GPU without work.
        grid_size = self.griddim[0] * self.griddim[1] * self.griddim[2]
        if grid_size < 128:
            warn_user(NumbaPerformanceWarning(f"Grid size {grid_size} will likely result in GPU under-utilization "
                                              "due to low occupancy."))

    def __getstate__(self):
        raise pickle.PicklingError("use pickle on the configured launch itself")

    def __reduce__(self):
        if self.pre_launch_callbacks:
            raise pickle.PicklingError("Cannot pickle configured launches with pre-launch callbacks")
        return _configured, (self.dispatcher, self.griddim, self.blockdim, self.stream, self.sharedmem)

    def __repr__(self) -> str:
        return f"<{self.dispatcher!r} configured for grid {self.griddim}, block {self.blockdim}>"


def _launch_long_way(launch: _LaunchConfiguration, args: tuple, kwargs: dict) -> None:
    launch.dispatcher._launch(launch, args, kwargs)


def _launch_error(error: RuntimeError) -> Exception:
    from .fastpath import launch_error

    return launch_error(error)


def _launch_done() -> None:
    if kernel_exceptions.watched:
        kernel_exceptions.raise_pending()


_core.set_launch_class(_LaunchConfiguration, _launch_long_way, _launch_error, _launch_done)


def _configured(dispatcher, griddim, blockdim, stream, sharedmem) -> _LaunchConfiguration:
    return _LaunchConfiguration(dispatcher, griddim, blockdim, stream, sharedmem)


class ForAll:
    """A kernel to be launched over `ntasks` threads; made by `kernel.forall(n)`."""

    def __init__(self, dispatcher: "CUDADispatcher", ntasks: int, tpb: int = 0, stream=0, sharedmem: int = 0):
        if ntasks < 0:
            raise ValueError("Can't create ForAll with negative task count: %s" % ntasks)
        self.dispatcher = dispatcher
        self.ntasks = ntasks
        self.thread_per_block = tpb
        self.stream = stream
        self.sharedmem = sharedmem

    def __call__(self, *args):
        if self.ntasks == 0:
            return None
        kernel = self.dispatcher if self.dispatcher.specialized else self.dispatcher.specialize(*args)
        block = self._block(kernel)
        grid = (self.ntasks + block - 1) // block
        return kernel._configure_quietly(grid, block, self.stream, self.sharedmem)(*args)

    def _block(self, dispatcher) -> int:
        if self.thread_per_block:
            return self.thread_per_block
        kernel = next(iter(dispatcher.overloads.values()))
        bound = kernel.bind()
        limit = kernel.max_threads_per_block
        best, best_threads = limit, 0
        # The smallest block that keeps as many threads resident as any.
        for block in range(limit - limit % 32 or limit, 0, -32):
            threads = bound.kernel.max_active_blocks(block, self.sharedmem) * block
            if threads > best_threads:
                best, best_threads = block, threads
        return best


class CUDADispatcher(_core.Configurable):
    """A function compiled for the device when it is needed: a kernel, or with `device=True` a device function.

    `py_func` is the Python function, `overloads` what has been compiled for which argument types, `targetoptions` the
    options of `cuda.jit`.
    """

    _known: "weakref.WeakValueDictionary[str, CUDADispatcher]" = weakref.WeakValueDictionary()

    def __init__(self, py_func: Callable, targetoptions: dict, signatures: Sequence[Any] = ()):
        self._setup(py_func, targetoptions)
        if signatures:
            self.declare(signatures)

    def _setup(self, py_func: Callable, targetoptions: dict) -> None:
        self.py_func = py_func
        self.targetoptions = dict(targetoptions)
        self.overloads: Dict[tuple, Any] = collections.OrderedDict()
        self.specializations: Dict[tuple, CUDADispatcher] = {}
        self.declared_signatures: List[Any] = []
        self._specialized = False
        self._can_compile = True
        self._launch_config_sensitive = False
        self._compiling_lock = threading.RLock()
        self._configurations: Dict[tuple, _LaunchConfiguration] = {}
        self._cache_hits: collections.Counter = collections.Counter()
        self._cache_misses: collections.Counter = collections.Counter()
        self._cache = None
        self._pysig = inspect.signature(py_func)
        self._fast = None
        self._uuid: Optional[str] = None
        functools.update_wrapper(self, py_func)
        self.__wrapped__ = py_func

    @property
    def _is_device(self) -> bool:
        return bool(self.targetoptions.get("device"))

    @property
    def extensions(self) -> list:
        """Objects with `prepare_args(ty, val, stream, retr)` that transform arguments at launch."""
        return self.targetoptions.setdefault("extensions", [])

    def __repr__(self) -> str:
        return f"CUDADispatcher({self.py_func!r})"

    def __get__(self, obj, objtype=None):
        """As a class attribute it is a method: the instance is the first argument."""
        return self if obj is None else functools.partial(self, obj) if self._is_device else _BoundKernel(self, obj)

    # ---- pickling ----

    def __reduce__(self):
        if self._uuid is None:
            import uuid

            self._uuid = uuid.uuid4().hex
            CUDADispatcher._known[self._uuid] = self
        return _blank_dispatcher, (self._uuid,), self._state()

    def _state(self) -> dict:
        options = {k: v for k, v in self.targetoptions.items()}
        return {"py_func": PackedFunction(self.py_func), "options": options, "signatures": self.declared_signatures,
                "specialized": self._specialized, "can_compile": self._can_compile, "uuid": self._uuid}

    def __setstate__(self, state: dict) -> None:
        if "py_func" in self.__dict__:
            return  # this process has it already
        self._setup(state["py_func"].function(), state["options"])
        self._uuid = state["uuid"]
        if state["signatures"]:
            self._declare_later = (state["signatures"], state["specialized"])
            self.declared_signatures = list(state["signatures"])
        self._specialized = state["specialized"]
        self._pending_signatures = list(state["signatures"])
        self._can_compile_later = state["can_compile"]

    _pending_signatures: Sequence[Any] = ()

    def _finish_unpickling(self) -> None:
        # Compiling needs all the function's globals, which are only complete when the whole pickle has been read.
        pending, self._pending_signatures = self._pending_signatures, ()
        for sig in pending:
            self._compile_signature(sig)
        self._can_compile = self._can_compile_later

    # ---- configuration and launch ----

    def _configure_subscript(self, args) -> _LaunchConfiguration:
        """The kernel with a launch configuration: `[grid, block]`, `[grid, block, stream]` or with shared bytes too."""
        if not isinstance(args, tuple) or len(args) not in (2, 3, 4):
            raise ValueError("must specify at least the griddim and blockdim")
        return self.configure(*args)

    def configure(self, griddim, blockdim, stream=0, sharedmem: int = 0) -> _LaunchConfiguration:
        """The same as a subscript. `griddim`, `blockdim`: int or up to three of them; `sharedmem` in bytes."""
        grid, block = normalize_kernel_dimensions(griddim, blockdim)
        made = _LaunchConfiguration(self, grid, block, stream, sharedmem)
        self._prepare_fast(made)
        if len(self._configurations) >= 128:
            self._configurations.clear()
        given = (griddim, blockdim, stream, sharedmem)
        try:
            for count in (2, 3, 4):
                if given[count:] == (0, 0)[: 4 - count]:
                    self._configurations[given[:count]] = made
        except TypeError:
            # Lists cannot be remembered, as in Numba.
            raise TypeError(f"unhashable launch configuration {given}: use tuples") from None
        return made

    def _configure_quietly(self, griddim, blockdim, stream, sharedmem) -> _LaunchConfiguration:
        return self.configure(griddim, blockdim, stream, sharedmem)

    def __call__(self, *args, **kwargs):
        if self._is_device:
            return self.py_func(*args, **kwargs)
        raise ValueError(missing_launch_config_msg)

    def forall(self, ntasks: int, tpb: int = 0, stream=0, sharedmem: int = 0) -> ForAll:
        """A launch over `ntasks` threads in one dimension; the block's size is chosen unless `tpb` gives it.

        The kernel must check its index: there may be more threads than tasks. Raises ValueError for a negative count.
        """
        return ForAll(self, ntasks, tpb=tpb, stream=stream, sharedmem=sharedmem)

    def _bind_arguments(self, args: tuple, kwargs: dict) -> tuple:
        """Positional arguments, with keywords put in place and defaults filled in."""
        parameters = self._pysig.parameters
        if not kwargs and len(args) == len(parameters):
            return args
        try:
            bound = self._pysig.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.py_func.__name__}(): {error}") from None
        bound.apply_defaults()
        out: List[Any] = []
        for name, parameter in parameters.items():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                out.extend(bound.arguments[name])
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                raise TypeError(f"{self.py_func.__name__}(): a kernel cannot take **{name}")
            else:
                out.append(bound.arguments[name])
        return tuple(out)

    def _launch(self, launch: _LaunchConfiguration, args: tuple, kwargs: dict) -> None:
        if self._pending_signatures:
            self._finish_unpickling()
        if self._is_device:
            raise RuntimeError("Cannot compile a device function as a kernel: call it from a kernel")
        args = self._bind_arguments(args, kwargs)
        if any(hasattr(type(a), "__dlpack_device__") for a in args):
            from .cudadrv._dlpack import shared_array

            args = tuple(shared_array(a, launch.stream) for a in args)
        kernel = self._kernel_for(launch, args)
        for callback in launch.pre_launch_callbacks:
            callback(kernel, launch)
        kernel.launch(args, launch.griddim, launch.blockdim, launch.stream, launch.sharedmem)
        self._learn_fast(kernel, args, launch)

    def _kernel_for(self, launch, args: tuple) -> _Kernel:
        if self._specialized:
            return next(iter(self.overloads.values()))
        argtypes = tuple([self.typeof_pyval(a) for a in args])
        kernel = self.overloads.get(argtypes)
        if kernel is None:
            with launchconfig.compiling_for(launch, args):
                kernel = self._compile_for_args(*args)
        return kernel

    def typeof_pyval(self, val) -> types.Type:
        """The type of an argument; objects with the CUDA array interface count as device arrays."""
        if isinstance(val, ArgHint):
            val = val.value
        try:
            return typeof(val, Purpose.argument)
        except ValueError:
            from . import api

            if api.is_cuda_array(val):
                return typeof(api.as_cuda_array(val, sync=False), Purpose.argument)
            raise

    def _compile_for_args(self, *args, **kws) -> _Kernel:
        assert not kws
        argtypes = tuple(self.typeof_pyval(a) for a in args)
        if self._can_compile:
            return self.compile(argtypes)
        return self._resolve(argtypes)

    def _resolve(self, argtypes: tuple) -> _Kernel:
        """Of the kernels that exist the one that fits best. Raises TypeError when none or several do."""
        found = typeconv.best_matches(argtypes, self.overloads)
        if len(found) == 1:
            return self.overloads[found[0]]
        if not found:
            raise TypeError(f"No matching definition for argument type(s) {', '.join(map(str, argtypes))}")
        lines = "\n".join(f"{sig} -> none" for sig in found)
        raise TypeError(f"Ambiguous overloading for {self.py_func!r} {argtypes}:\n{lines}")

    # ---- the fast path: device arrays and plain numbers, packed in C++ ----

    def _prepare_fast(self, launch: _LaunchConfiguration) -> None:
        if self._fast is not None:
            self._fast.arm(launch)

    def _learn_fast(self, kernel: _Kernel, args: tuple, launch: _LaunchConfiguration) -> None:
        from . import fastpath

        fastpath.learn(self, kernel, args, launch)

    # ---- compilation ----

    def _options(self) -> dict:
        """The options as the compiler takes them."""
        from .cudadrv.driver import on_gpus

        o = self.targetoptions
        return {
            "debug": bool(o["debug"]), "lineinfo": True, "opt": bool(o["opt"]),
            "fastmath": bool(o["fastmath"]), "max_registers": o.get("max_registers"),
            "launch_bounds": check_launch_bounds(o.get("launch_bounds")), "cc": tuple(default_cc()),
            "typing": o.get("typing") or config.WARPLOOM_TYPING, "forceinline": bool(o.get("forceinline")),
            "abi": "numba", "abi_name": None, "disjoint": True, "gpu": on_gpus(),
            "boundscheck": bool(config.BOUNDSCHECK if o.get("boundscheck") is None else o["boundscheck"]),
        }

    def declare(self, signatures: Sequence[Any]) -> None:
        """Compile for these signatures."""
        for sig in signatures:
            self._compile_signature(sig)

    def _compile_signature(self, sig) -> None:
        args, return_type = normalize_signature(sig)
        self.declared_signatures.append(signature(return_type or types.none, *args)
                                        if return_type is not None or not self._is_device else args)
        if self._is_device:
            self.compile_device(args, return_type)
        else:
            self.compile(args)

    def compile(self, sig) -> _Kernel:
        """Compile the kernel for a signature (text, tuple of types or signature) and return it; once for each."""
        if self._pending_signatures:
            self._finish_unpickling()
        argtypes, return_type = normalize_signature(sig)
        if return_type is not None and not isinstance(return_type, types.NoneType):
            raise TypeError(NOT_VOID)
        with self._compiling_lock:
            kernel = self.overloads.get(argtypes)
            if kernel is not None:
                return kernel
            if not self._can_compile:
                raise RuntimeError("Compilation disabled")
            kernel = self._compile_uncached(argtypes)
            self.overloads[argtypes] = kernel
            return kernel

    def _compile_uncached(self, argtypes: tuple) -> _Kernel:
        compiled = None
        if self._cache is not None:
            compiled = self._cache.load(argtypes, self._options())
            if compiled is not None:
                self._cache_hits[argtypes] += 1
        if compiled is None:
            if self._cache is not None:
                self._cache.check(self)
            compiled = compile_function(self.py_func, argtypes, device=False, options=self._options(),
                                        may_load=not getattr(self, "_recompiling", False))
            if not isinstance(compiled.return_type, types.NoneType):
                raise TypeError(NOT_VOID)
            if self._cache is not None:
                self._cache_misses[argtypes] += 1
                self._cache.store(argtypes, self._options(), compiled)
        return self._made(_Kernel(self, argtypes, compiled))

    def _made(self, kernel: _Kernel) -> _Kernel:
        kernel.launch_config_sensitive = self._launch_config_sensitive
        return kernel

    def compile_device(self, args, return_type=None) -> Compiled:
        """Compile the device function for argument types, once for each tuple of them; kernels need not wait for it."""
        args = tuple(args)
        with self._compiling_lock:
            compiled = self.overloads.get(args)
            if compiled is None:
                options = self._options()
                if return_type is not None:
                    options["return_type"] = return_type.canonical
                compiled = compile_function(self.py_func, args, device=True, options=options)
                self.overloads[args] = compiled
            return compiled

    def disable_compile(self, val: bool = True) -> None:
        """No further argument types are compiled for."""
        self._can_compile = not val

    def mark_launch_config_sensitive(self) -> None:
        """Say that what is being compiled depends on the launch configuration."""
        self._launch_config_sensitive = True

    def specialize(self, *args) -> "CUDADispatcher":
        """A dispatcher with one kernel, compiled for these values or types; the same one for the same types.

        Raises RuntimeError for a dispatcher that is specialized.
        """
        if self.specialized:
            raise RuntimeError("Dispatcher already specialized")
        argtypes = tuple(a if isinstance(a, types.Type) else self.typeof_pyval(a) for a in args)
        found = self.specializations.get(argtypes)
        if found is not None:
            return found
        made = CUDADispatcher(self.py_func, self.targetoptions)
        made.compile(argtypes)
        made.declared_signatures.append(signature(types.none, *argtypes))
        made.disable_compile()
        made._specialized = True
        self.specializations[argtypes] = made
        return made

    @property
    def specialized(self) -> bool:
        """Whether it has exactly one signature, given when it was made."""
        return self._specialized

    @property
    def signatures(self) -> List[tuple]:
        """The tuples of argument types compiled for."""
        return list(self.overloads)

    @property
    def nopython_signatures(self) -> list:
        """The same as Signature objects."""
        return [signature(types.none, *args) for args in self.overloads]

    # ---- caching ----

    def enable_caching(self) -> None:
        """Keep compiled kernels beside the source as Numba does with `cache=True`."""
        from .filecache import FileCache

        self._cache = FileCache(self.py_func)

    @property
    def stats(self) -> _CompileStats:
        """cache_path, and Counters of hits and misses by argument types, for `cache=True`."""
        return _CompileStats(cache_path=self._cache.cache_path if self._cache else None,
                             cache_hits=self._cache_hits, cache_misses=self._cache_misses)

    def recompile(self) -> None:
        """Compile all signatures again, with globals as they are now."""
        keys = list(self.overloads)
        self.overloads.clear()
        self.specializations.clear()
        self._fast = None
        self._configurations.clear()
        can_compile, self._can_compile = self._can_compile, True
        if self._cache is not None:
            self._cache.flush()
        try:
            for args in keys:
                self.compile_device(args) if self._is_device else self.compile(args)
        finally:
            self._can_compile = can_compile

    # ---- inspection ----

    def _of_signature(self, sig, read: Callable[[Any], Any]):
        if self._pending_signatures:
            self._finish_unpickling()
        if sig is not None:
            args = sig.args if hasattr(sig, "args") else tuple(sig)
            return read(self.overloads[args])
        if self._specialized:
            return read(next(iter(self.overloads.values())))
        return {args: read(kernel) for args, kernel in self.overloads.items()}

    def get_regs_per_thread(self, signature=None):
        """Registers for each thread, of one signature or (not specialized, none given) as a dict by argument types."""
        return self._of_signature(signature, lambda k: k.regs_per_thread)

    def get_const_mem_size(self, signature=None):
        """Bytes of constant memory; see get_regs_per_thread."""
        return self._of_signature(signature, lambda k: k.const_mem_size)

    def get_shared_mem_per_block(self, signature=None):
        """Bytes of static shared memory for each block; see get_regs_per_thread."""
        return self._of_signature(signature, lambda k: k.shared_mem_per_block)

    def get_local_mem_per_thread(self, signature=None):
        """Bytes of local memory for each thread; see get_regs_per_thread."""
        return self._of_signature(signature, lambda k: k.local_mem_per_thread)

    def get_max_threads_per_block(self, signature=None):
        """The largest block; see get_regs_per_thread."""
        return self._of_signature(signature, lambda k: k.max_threads_per_block)

    def _inspect(self, sig, read):
        if self._pending_signatures:
            self._finish_unpickling()
        if sig is None:
            return {args: read(kernel) for args, kernel in self.overloads.items()}
        return read(self.overloads[sig.args if hasattr(sig, "args") else tuple(sig)])

    def inspect_asm(self, signature=None):
        """The PTX for a signature, or a dict of all by argument types."""
        return self._inspect(signature, lambda k: k.inspect_asm() if isinstance(k, _Kernel) else k.ptx)

    def inspect_llvm(self, signature=None):
        """The LLVM IR for a signature, or a dict of all by argument types."""
        return self._inspect(signature, lambda k: k.inspect_llvm() if isinstance(k, _Kernel) else k.llvm)

    def inspect_lto_ptx(self, signature=None):
        """The PTX after linking for a signature, or a dict of all; RuntimeError unless compiled with lto=True."""
        if not self.targetoptions.get("lto"):
            raise RuntimeError("Not an LTO compilation: inspect_asm() gives the PTX")
        return self.inspect_asm(signature)

    def inspect_sass(self, signature=None):
        """Raises RuntimeError: SASS is made by NVIDIA's assembler."""
        if self._is_device:
            raise RuntimeError("Cannot inspect SASS of a device function")
        return self._inspect(signature, lambda k: k.inspect_sass())

    def inspect_sass_cfg(self, signature=None):
        """Raises RuntimeError: SASS is made by NVIDIA's assembler."""
        if self._is_device:
            raise RuntimeError("Cannot get the CFG of a device function")
        return self._inspect(signature, lambda k: k.inspect_sass_cfg())

    def inspect_types(self, file=None) -> None:
        """Print the source with the types of its values for each signature, to `file` or the standard output."""
        for args, kernel in self.overloads.items():
            if isinstance(kernel, _Kernel):
                kernel.inspect_types(file=file)
            else:
                print(f"{self.py_func.__name__} {args}\n{'-' * 80}\n{kernel.types_text}\n{'=' * 80}",
                      file=file or sys.stdout)

    def call_template(self) -> None:
        """Kept for its name: the compiler asks for the function itself."""


class _BoundKernel:
    """A kernel read from an instance: the instance is its first argument."""

    def __init__(self, dispatcher: CUDADispatcher, obj):
        self._dispatcher = dispatcher
        self._obj = obj

    def __getitem__(self, args):
        return functools.partial(self._dispatcher[args], self._obj)

    def __getattr__(self, name):
        return getattr(self._dispatcher, name)

    def __call__(self, *args, **kwargs):
        return self._dispatcher(self._obj, *args, **kwargs)


def _blank_dispatcher(key: str) -> CUDADispatcher:
    found = CUDADispatcher._known.get(key)
    if found is None:
        found = CUDADispatcher.__new__(CUDADispatcher)
        CUDADispatcher._known[key] = found
    return found
