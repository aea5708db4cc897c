"""`cuda.jit` and `cuda.declare_device`. Source: Numba, "CUDA kernel API", and numba-cuda's option list."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, Union

from . import types
from .compiler import NOT_VOID, check_debug, check_launch_bounds
from .core.errors import DeprecationError
from .dispatcher import CUDADispatcher, parse_carveout
from .typing import Signature, normalize_signature

_REMOVED = "Deprecated keyword argument `{0}`. Signatures should be passed as the first positional argument."


def _is_signature(obj: Any) -> bool:
    return isinstance(obj, (str, tuple, Signature)) or (isinstance(obj, types.Type) and not callable(obj))


def jit(func_or_sig=None, device: bool = False, inline: str = "never", forceinline: bool = False, link=(),
        debug: Optional[bool] = None, opt: Optional[bool] = None, lineinfo: bool = False, cache: bool = False,
        launch_bounds: Union[None, int, Sequence[int]] = None, lto: Optional[bool] = None,
        shared_memory_carveout: Union[None, int, str] = None, fastmath: bool = False,
        max_registers: Optional[int] = None, extensions: Sequence[Any] = (), boundscheck: Optional[bool] = None,
        typing: Optional[str] = None, **kws) -> Union[CUDADispatcher, Callable]:
    """Compile a Python function for the device: `@cuda.jit`, `@cuda.jit(options)`, or with one or a list of signatures.

    func_or_sig: the function, a signature (text, tuple of types, `void(float32[:])`) or a list of them; with
        signatures the function is compiled now, and for no others.
    device: a device function, callable from kernels. inline: accepted. forceinline: inline it at every call.
    debug: wait after each launch and raise kernels' exceptions; opt: optimise (default NUMBA_OPT); lineinfo: accepted,
        lines are always known. fastmath: approximate division and square root, denormals as zero.
    cache: keep compiled kernels beside the source (the content-addressed cache is on in any case).
    launch_bounds: threads per block, or with minimum blocks per multiprocessor and maximum cluster size.
    shared_memory_carveout: "default", "MaxL1", "MaxShared" or -1 to 100. max_registers: per thread.
    extensions: objects that transform arguments at launch. link: CUDA sources or PTX to link with; lto: accepted.
    boundscheck: indices outside an array raise IndexError. typing: "numba", or "narrow" to keep 32-bit arithmetic
        in 32 bits.

    Raises ValueError, TypeError and the compiler's errors (`warploom.cuda.core.errors`).
    """
    if link and device:
        raise ValueError("link keyword invalid for device function")
    for name in ("argtypes", "restype"):
        if kws.pop(name, None) is not None:
            raise DeprecationError(_REMOVED.format(name))
    if kws.pop("bind", None) is not None:
        raise DeprecationError("Deprecated keyword argument `bind`. Launch configurations are given in a subscript.")
    for name in ("nopython", "target", "parallel", "nogil", "error_model"):
        kws.pop(name, None)
    if kws:
        raise TypeError(f"cuda.jit: unknown option {', '.join(sorted(kws))}")
    debug, opt = check_debug(debug, opt, lineinfo)
    parse_carveout(shared_memory_carveout)
    options = {
        "device": device, "debug": debug, "opt": opt, "lineinfo": lineinfo, "fastmath": fastmath,
        "link": _links(link), "lto": lto, "inline": inline,
        "forceinline": forceinline, "launch_bounds": launch_bounds, "max_registers": max_registers,
        "shared_memory_carveout": shared_memory_carveout, "extensions": list(extensions), "boundscheck": boundscheck,
        "typing": typing,
    }

    if isinstance(func_or_sig, list):
        signatures, specialized = list(func_or_sig), False
    elif func_or_sig is not None and (isinstance(func_or_sig, (str, tuple, Signature))):
        signatures, specialized = [func_or_sig], True
    else:
        signatures, specialized = None, False

    def make(function) -> CUDADispatcher:
        if isinstance(function, CUDADispatcher):
            raise TypeError("A jit decorator was called on an already jitted function "
                            f"{function.py_func.__name__}. If trying to get access to the original python function, "
                            f"use the {function.py_func.__name__}.py_func attribute.")
        if not callable(function) or not hasattr(function, "__code__"):
            raise TypeError(f"cuda.jit takes a Python function, got {function!r}")
        made = CUDADispatcher(function, options)
        made._links = options["link"]
        if cache:
            made.enable_caching()
        if signatures is not None:
            check_launch_bounds(launch_bounds)
            for sig in signatures:
                _, return_type = normalize_signature(sig)
                if return_type is not None and not device and not isinstance(return_type, types.NoneType):
                    raise TypeError(NOT_VOID)
            made.declare(signatures)
            made._specialized = specialized
            made.disable_compile()
        return made

    if func_or_sig is None or signatures is not None:
        return make
    return make(func_or_sig)


def _links(link) -> tuple:
    """What `link=` names, as a tuple: a path or code, or a collection of them."""
    if link is None:
        return ()
    return tuple(link) if isinstance(link, (tuple, list, set, frozenset)) else (link,)


def declare_device(name: str, sig, link=None, use_cooperative: bool = False, abi: str = "numba"):
    """Declare a device function that other code provides: `name` in PTX, its signature, and the code to link.

    The result is called in kernels as the function. `abi` "numba" returns through a pointer, "c" directly.
    """
    if abi not in ("numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: {abi}")
    args, return_type = normalize_signature(sig)
    if return_type is None:
        raise TypeError("Return type must be provided for device declarations")
    return ExternFunction(name, Signature(return_type, args), link, use_cooperative, abi)


class ExternFunction:
    """A device function that other code provides."""

    def __init__(self, name: str, sig: Signature, link, use_cooperative: bool, abi: str):
        self.name = name
        self.sig = sig
        self.link = _links(link)
        self.use_cooperative = use_cooperative
        self.abi = abi

    def __call__(self, *args):
        raise NotImplementedError(f"{self.name}() can only be called inside a kernel or device function")

    def __repr__(self) -> str:
        return f"<external device function {self.name}{self.sig.args}>"
