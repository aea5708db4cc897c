"""Compilation of Python functions to PTX: `compile`, `compile_ptx` and their like, and what dispatchers use.

None of these functions needs a device. Source: Numba, "Compiling Python functions for use with other languages".
"""

from __future__ import annotations

import importlib
import re
import types as _pytypes
import warnings
from typing import Any, List, Optional, Sequence, Tuple

from . import cache, fingerprint, types
from .core import config
from .core.errors import NumbaInvalidConfigWarning, class_named, warn_user
from .typing import normalize_signature

DEBUG_AND_OPT = ("debug=True with opt=True is not supported by CUDA. This may result in a crash - set debug=False or "
                 "opt=False.")
DEBUG_AND_LINEINFO = ("debug and lineinfo are mutually exclusive. Use debug to get full debug info (this disables some "
                      "optimizations), or lineinfo for line info only with code generation unaffected.")
NOT_VOID = "CUDA kernel must have void return type."


class _FunctionDescriptor:
    def __init__(self, mangled_name: str):
        self.mangled_name = mangled_name


class Compiled:
    """A compiled function: PTX and what is known about it.

    `entry` is its name in PTX, `return_type` its type; `error_global`, `exceptions` (class, arguments) and
    `exception_places` (file, line, function) tell what it may raise; `llvm` is LLVM IR or empty; `captured` are
    objects that must live as long as the code; `from_cache` is True when the disk cache had it. `overlapping` is
    another entry, or empty: `entry` is then for launches in which no array that is written overlaps another of
    `arrays` (first parameter, dimensions, bytes of an element, whether it is written).
    """

    __slots__ = ("ptx", "llvm", "entry", "return_type", "types_text", "cooperative", "warnings", "captured",
                 "error_global", "exceptions", "exception_places", "from_cache", "overlapping", "arrays")

    @property
    def fndesc(self):
        """Has `mangled_name`: the name in PTX."""
        return _pytypes.SimpleNamespace(mangled_name=self.entry)

    def to_json(self) -> Optional[dict]:
        """A JSON value of it, or None if it cannot live on disk."""
        if self.captured:
            return None
        exceptions = []
        for cls, arguments in self.exceptions:
            name = _class_name(cls)
            if name is None or not _plain(arguments):
                return None
            exceptions.append([name, list(arguments) if isinstance(arguments, tuple) else arguments])
        try:
            return_type = self.return_type.canonical
        except NotImplementedError:
            return None
        if "enum(" in return_type or "namedtuple(" in return_type or "function(" in return_type:
            return None
        return {"ptx": self.ptx, "llvm": self.llvm, "entry": self.entry, "return_type": return_type,
                "types": self.types_text,
                "cooperative": self.cooperative, "warnings": [[_class_name(c) or str(c), t] for c, t in self.warnings],
                "error_global": self.error_global, "exceptions": exceptions,
                "exception_places": [list(place) for place in self.exception_places],
                "overlapping": self.overlapping, "arrays": [list(array) for array in self.arrays]}

    @property
    def fndesc(self):
        """Kept for its name: what has `mangled_name`, the function's name in PTX."""
        return _FunctionDescriptor(self.entry)

    @classmethod
    def from_json(cls, value: dict) -> Optional["Compiled"]:
        """The reverse of to_json, or None if a class it names is no more."""
        self = cls()
        self.ptx, self.llvm, self.entry = value["ptx"], value["llvm"], value["entry"]
        self.return_type = types.from_canonical(value["return_type"])
        self.types_text, self.cooperative = value["types"], value["cooperative"]
        self.warnings = [(_class_of(c) or c, t) for c, t in value["warnings"]]
        self.captured, self.error_global = (), value["error_global"]
        self.exceptions = []
        for name, arguments in value["exceptions"]:
            found = _class_of(name)
            if found is None:
                return None
            self.exceptions.append((found, arguments))
        self.exception_places = [tuple(place) for place in value["exception_places"]]
        self.overlapping, self.arrays = value["overlapping"], [tuple(array) for array in value["arrays"]]
        self.from_cache = True
        return self

    @classmethod
    def from_result(cls, result, objects: Sequence[Any]) -> "Compiled":
        """From the compiler's CompileResult; `objects` are the classes that its type names by index."""
        self = cls()
        self.ptx, self.llvm, self.entry = result.ptx, getattr(result, "llvm", ""), result.entry
        self.return_type = types.from_canonical(result.return_type, objects)
        self.types_text, self.cooperative = result.types, bool(result.cooperative)
        self.warnings = list(result.warnings)
        self.captured, self.error_global = tuple(result.captured), result.error_global
        self.exceptions = list(result.exceptions)
        self.exception_places = list(getattr(result, "exception_places", ()))
        self.overlapping, self.arrays = result.overlapping, list(result.arrays)
        self.from_cache = False
        return self


def _class_name(cls) -> Optional[str]:
    if isinstance(cls, str):
        return cls
    if not isinstance(cls, type) or "<locals>" in cls.__qualname__ or cls.__module__ == "__main__":
        return None
    return f"{cls.__module__}:{cls.__qualname__}"


def _class_of(name: str):
    module, _, qualname = name.partition(":")
    if not qualname:
        return class_named(name) or name
    try:
        found = importlib.import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
        return found
    except (ImportError, AttributeError):
        return None


def _plain(arguments) -> bool:
    if arguments is None or isinstance(arguments, (str, int, float)):
        return True
    return isinstance(arguments, (tuple, list)) and all(_plain(a) for a in arguments)


def check_launch_bounds(launch_bounds):
    """A tuple of one to three ints, or None. Raises ValueError for more."""
    if launch_bounds is None:
        return None
    bounds = (launch_bounds,) if isinstance(launch_bounds, int) else tuple(launch_bounds)
    if not 1 <= len(bounds) <= 3:
        raise ValueError(f"Got {len(bounds)} launch bounds: {bounds}. A maximum of three are supported: threads per "
                         "block, minimum blocks per multiprocessor, and maximum blocks per cluster")
    return tuple(int(b) for b in bounds)


def check_debug(debug: Optional[bool], opt: Optional[bool], lineinfo: bool) -> Tuple[bool, bool]:
    """Both with the configuration's default for None; warns the caller's caller of options that exclude each other."""
    debug = bool(config.CUDA_DEBUGINFO_DEFAULT) if debug is None else debug
    opt = bool(config.OPT) if opt is None else opt
    if debug and opt:
        warnings.warn(NumbaInvalidConfigWarning(DEBUG_AND_OPT), stacklevel=3)
    if debug and lineinfo:
        warnings.warn(NumbaInvalidConfigWarning(DEBUG_AND_LINEINFO), stacklevel=3)
    return debug, opt


def default_cc() -> Tuple[int, int]:
    """The compute capability to compile for when none is given."""
    return config.FORCE_CUDA_CC or config.CUDA_DEFAULT_PTX_CC


def compile_function(pyfunc, arg_types: Sequence[types.Type], *, device: bool, options: dict,
                     may_load: bool = True) -> Compiled:
    """Compile a Python function for these argument types, or take it from the disk cache.

    `options` are those of `warploom.cuda.frontend.compile`. Errors are the classes of `warploom.cuda.core.errors`.
    With `may_load` False the cache is written only.
    """
    from . import frontend

    digest = None
    if cache.enabled():
        try:
            digest = fingerprint.of_function(pyfunc, arg_types, device, options)
        except fingerprint.NotCacheable:
            digest = None
        if digest is not None and may_load:
            value = cache.load(digest)
            if value is not None:
                found = Compiled.from_json(value)
                if found is not None:
                    _tell(pyfunc, found)
                    return found
    objects: List[Any] = []
    names = [ty.canonical_with(objects) for ty in arg_types]
    result = frontend.compile(pyfunc, names, objects=objects, device=device, options=options)
    compiled = Compiled.from_result(result, objects)
    if digest is not None:
        value = compiled.to_json()
        if value is not None:
            cache.store(digest, value)
    _tell(pyfunc, compiled)
    return compiled


def _dump(title: str, name: str, text: str) -> None:
    print(f"{title} {name}".center(80, "-"))
    print(text)
    print("=" * 80)


def _tell(pyfunc, compiled: Compiled) -> None:
    """Print what NUMBA_DUMP_BYTECODE, _LLVM and _ASSEMBLY ask for, and give the compiler's warnings."""
    if config.DUMP_BYTECODE:
        import dis

        lines = (f"{i.offset}: {i.opname}(arg={i.arg}, {i.argrepr})" for i in dis.get_instructions(pyfunc))
        _dump("BYTECODE", pyfunc.__name__, "\n".join(lines))
    if config.DUMP_LLVM:
        _dump("LLVM DUMP", pyfunc.__name__, compiled.llvm)
    if config.DUMP_ASSEMBLY:
        _dump("ASSEMBLY", pyfunc.__name__, compiled.ptx)
    for category, text in compiled.warnings:
        if text.startswith("Detected uninitialized variable") and not config.ALWAYS_WARN_UNINIT_VAR:
            continue
        cls = category if isinstance(category, type) else class_named(str(category).rpartition(":")[2])
        warn_user((cls if cls is not None and issubclass(cls, Warning) else UserWarning)(text))


def without_line_info(ptx: str) -> str:
    """PTX text without .loc and .file directives."""
    lines = [line for line in ptx.split("\n") if not line.lstrip().startswith((".loc", ".file"))]
    return "\n".join(lines).replace("\t.section\t.debug_macinfo\t{\t}\n", "")


def without_debug_metadata(llvm: str) -> str:
    """LLVM IR text without the metadata that carries source lines."""
    text = re.sub(r",? !dbg !\d+", "", llvm)
    return re.sub(r"^(?:!\d+ = (?:distinct )?!DI.*|!llvm\.dbg\..*)\n", "", text, flags=re.MULTILINE)


def cast_to(ty: types.Type) -> Optional[str]:
    """The canonical string to which a device function's result is cast, None for none asked."""
    return None if ty is None else ty.canonical


def compile(pyfunc, sig, debug: Optional[bool] = None, lineinfo: bool = False, device: bool = True,
            fastmath: bool = False, cc: Optional[Tuple[int, int]] = None, opt: Optional[bool] = None, abi: str = "c",
            abi_info: Optional[dict] = None, output: str = "ptx", forceinline: bool = False, launch_bounds=None,
            typing: Optional[str] = None) -> Tuple[str, types.Type]:
    """Compile a Python function; returns (PTX text, return type).

    `sig`: signature as text, tuple of types or `float32(float32)`; a return type given is the one the function gets.
    `device`: a device function, otherwise a kernel. `cc`: compute capability, default NUMBA_CUDA_DEFAULT_PTX_CC.
    `abi`: "c" (device functions only: `abi_info={"abi_name": …}` names it) or "numba". `output`: "ptx".
    `typing`: "numba", or "narrow" to keep 32-bit arithmetic in 32 bits.

    Raises NotImplementedError for another ABI or output, TypeError for a kernel that returns a value, and the
    compiler's own errors.
    """
    if abi not in ("numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: {abi}")
    if abi == "c" and not device:
        raise NotImplementedError("The C ABI is not supported for kernels")
    if output not in ("ptx", "ltoir"):
        raise NotImplementedError(f"Unsupported output type: {output}")
    if output == "ltoir":
        raise NotImplementedError("Unsupported output type: ltoir. LTO IR is a format of NVIDIA's linker; ask for ptx")
    if forceinline:
        raise ValueError("Can only designate forced inlining in LTO-IR; in PTX calls have been expanded already")
    debug, opt = check_debug(debug, opt, lineinfo)
    args, return_type = normalize_signature(sig)
    options = {
        "debug": debug, "lineinfo": lineinfo, "opt": opt, "fastmath": bool(fastmath), "max_registers": None,
        "launch_bounds": check_launch_bounds(launch_bounds), "cc": tuple(cc or default_cc()),
        "typing": typing or config.WARPLOOM_TYPING, "forceinline": forceinline, "abi": abi,
        "abi_name": (abi_info or {}).get("abi_name"), "boundscheck": False,
    }
    if device and return_type is not None:
        options["return_type"] = cast_to(return_type)
    py_func = getattr(pyfunc, "py_func", pyfunc)
    if abi == "c" and options["abi_name"] is None:
        options["abi_name"] = re.sub(r"\W", "_", py_func.__name__)
    compiled = compile_function(py_func, args, device=device, options=options)
    if not device and not isinstance(compiled.return_type, types.NoneType):
        raise TypeError(NOT_VOID)
    return compiled.ptx, compiled.return_type


def compile_for_current_device(pyfunc, sig, debug=None, lineinfo=False, device=True, fastmath=False, opt=None, abi="c",
                               abi_info=None, output="ptx", forceinline=False, launch_bounds=None):
    """compile() for the compute capability of the current device."""
    return compile(pyfunc, sig, debug=debug, lineinfo=lineinfo, device=device, fastmath=fastmath, cc=_current_cc(),
                   opt=opt, abi=abi, abi_info=abi_info, output=output, forceinline=forceinline,
                   launch_bounds=launch_bounds)


def compile_ptx(pyfunc, sig, debug=None, lineinfo=False, device=False, fastmath=False, cc=None, opt=None, abi="numba",
                abi_info=None, forceinline=False, launch_bounds=None):
    """compile() whose defaults are a kernel and Numba's ABI."""
    return compile(pyfunc, sig, debug=debug, lineinfo=lineinfo, device=device, fastmath=fastmath, cc=cc, opt=opt,
                   abi=abi, abi_info=abi_info, output="ptx", forceinline=forceinline, launch_bounds=launch_bounds)


def compile_ptx_for_current_device(pyfunc, sig, debug=None, lineinfo=False, device=False, fastmath=False, opt=None,
                                   abi="numba", abi_info=None, forceinline=False, launch_bounds=None):
    """compile_ptx() for the compute capability of the current device."""
    return compile_ptx(pyfunc, sig, debug=debug, lineinfo=lineinfo, device=device, fastmath=fastmath, cc=_current_cc(),
                       opt=opt, abi=abi, abi_info=abi_info, forceinline=forceinline, launch_bounds=launch_bounds)


def compile_all(pyfunc, sig, debug=None, lineinfo=False, device=True, fastmath=False, cc=None, opt=None, abi="c",
                abi_info=None, output="ltoir", forceinline=False, launch_bounds=None):
    """compile(), with a list of all pieces of code to link as the first result: ours is one piece."""
    code, return_type = compile(pyfunc, sig, debug=debug, lineinfo=lineinfo, device=device, fastmath=fastmath, cc=cc,
                                opt=opt, abi=abi, abi_info=abi_info, output=output, forceinline=forceinline,
                                launch_bounds=launch_bounds)
    return [code], return_type


def _current_cc() -> Tuple[int, int]:
    from .cudadrv.devices import get_context

    return tuple(get_context().device.compute_capability)
