"""What the compiler asks about Python: the source of functions, what names mean, what objects are.

`compile()` is the way in; the rest answers the questions of the compiler in `warploom._core`, which knows syntax and
types but no Python object.
"""

from __future__ import annotations

import ast
import builtins
import enum
import linecache
import types as _pytypes
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .. import _core
from . import registry, types
from .core import errors

# (file name, source text) -> functions and lambdas by the line they start at
_trees: Dict[Tuple[str, int], Tuple[str, Dict[int, list], List[str]]] = {}
_MOST_TREES = 256


@dataclass
class CompileResult:
    """A compiled function; see `compile`."""

    ptx: str
    llvm: str
    entry: str
    return_type: str
    types: str
    cooperative: bool
    error_global: Optional[str]
    warnings: List[Tuple[str, str]] = field(default_factory=list)
    exceptions: List[Tuple[Any, tuple]] = field(default_factory=list)
    exception_places: List[Tuple[str, int, str]] = field(default_factory=list)
    captured: List[Any] = field(default_factory=list)
    overlapping: str = ""
    arrays: List[Tuple[int, int, int, bool]] = field(default_factory=list)


def compile(pyfunc, arg_types: Sequence[str], *, objects: Sequence[Any] = (), device: bool = False,
            return_type: str = "",
            options: Optional[dict] = None) -> CompileResult:
    """Compile a Python function for canonical argument types to PTX, without any device.

    `objects` are what `enum(k,…)` and `function(k)` in the types refer to. `options`: debug, lineinfo, opt, fastmath,
    max_registers, launch_bounds, cc, typing ("numba" or "narrow"), boundscheck, abi_name, gpu, disjoint. `gpu` False
    prefers what the CPU device runs well; either code runs on either device. With `disjoint`, `entry` may be for
    launches in which no array that the kernel writes overlaps another argument; `overlapping` is then the entry for
    all launches, and `arrays` lists the arrays: index of the first parameter, dimensions, bytes of an element, whether
    it is written. What cannot be compiled raises the class of `warploom.cuda.core.errors` that Numba would raise, with
    the file, the line and a caret under the place.
    """
    given = dict(options or {})
    given["device"] = device
    if given.get("cc") is not None:
        given["cc"] = tuple(given["cc"])
    bounds = given.get("launch_bounds")
    if bounds is None:
        given.pop("launch_bounds", None)
    elif isinstance(bounds, int):
        given["launch_bounds"] = (bounds,)
    return_type = given.pop("return_type", None) or return_type
    objects = objects if isinstance(objects, list) else list(objects)
    answer = _core.compile_function(_this(), pyfunc, list(arg_types), objects, return_type or "", given)
    if not answer[0]:
        _, category, message, _file, _line, _column = answer
        raise _error_class(category)(message)
    values = answer[1]
    exceptions, places = [], []
    for raised, arguments, file, line, function in values.pop("exceptions"):
        exceptions.append((getattr(builtins, raised) if isinstance(raised, str) else raised, arguments))
        places.append((file, line, function))
    return CompileResult(exceptions=exceptions, exception_places=places, **values)


def _this():
    import sys

    return sys.modules[__name__]


def _error_class(category: str):
    found = getattr(errors, category, None) or getattr(builtins, category, None)
    return found or errors.TypingError


# --- source ---------------------------------------------------------------------------------------------------------


def _code_of(function) -> _pytypes.CodeType:
    return function.__code__


def _index(filename: str, text: str) -> Tuple[Dict[int, list], List[str]]:
    key = (filename, hash(text))
    known = _trees.get(key)
    if known is not None and known[0] == text:
        return known[1], known[2]
    by_line: Dict[int, list] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            first = min([node.lineno] + [one.lineno for one in getattr(node, "decorator_list", [])])
            by_line.setdefault(first, []).append(node)
    if len(_trees) >= _MOST_TREES:
        _trees.pop(next(iter(_trees)))
    lines = text.splitlines()
    _trees[key] = (text, by_line, lines)
    return by_line, lines


def _candidates(function):
    """(file name, source text) that may hold the function, likeliest first."""
    code = _code_of(function)
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    if lines:
        yield "".join(lines)
    if code.co_filename.startswith("<"):
        yield from (text for text in _core.recent_sources(code.co_filename)
                    if code.co_name == "<lambda>" or code.co_name in text)
    if code.co_filename == "<string>":
        yield from _command_line_source()


def _command_line_source() -> List[str]:
    """The program of `python -c program`, which has no file."""
    import sys

    arguments = getattr(sys, "orig_argv", None)
    if arguments is None:  # Python 3.9
        try:
            with open("/proc/self/cmdline", encoding="utf-8") as file:
                arguments = file.read().split("\0")
        except OSError:
            return []
    at = arguments.index("-c") + 1 if "-c" in arguments else len(arguments)
    return arguments[at:at + 1]


def _same_code(node, code: _pytypes.CodeType, filename: str) -> bool:
    """Whether a function or lambda of a syntax tree compiles to `code`."""
    import copy

    if isinstance(node, ast.Lambda):
        module = ast.Module([ast.Expr(node)], [])
    else:
        bare = copy.copy(node)
        bare.decorator_list = []
        module = ast.Module([bare], [])
    free = set(code.co_freevars)
    if free:
        # Free variables are free only inside a function that has them.
        outer = ast.FunctionDef(
            name="outer", args=ast.arguments(posonlyargs=[], args=[ast.arg(arg=name) for name in sorted(free)],
                                             vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]),
            body=module.body, decorator_list=[], returns=None, type_params=[])
        module = ast.Module([outer], [])
    try:
        compiled = builtins.compile(ast.fix_missing_locations(module), filename, "exec")
    except (SyntaxError, ValueError):
        return False
    pending = [compiled]
    while pending:
        one = pending.pop()
        if one.co_name == code.co_name and one.co_code == code.co_code and one.co_names == code.co_names \
                and one.co_varnames == code.co_varnames and _constants(one) == _constants(code):
            return True
        pending.extend(c for c in one.co_consts if isinstance(c, _pytypes.CodeType))
    return False


def _constants(code: _pytypes.CodeType) -> List[str]:
    return [repr(one) for one in code.co_consts if not isinstance(one, _pytypes.CodeType)]


def source_of(function) -> Tuple[Any, str, List[str], int]:
    """(syntax tree node, file name, lines of the file, 1) of a Python function; UnsupportedError without source."""
    code = _code_of(function)
    likely = None  # a function at the right place whose code differs
    for text in _candidates(function):
        try:
            by_line, lines = _index(code.co_filename, text)
        except SyntaxError:
            continue
        nodes = [n for n in by_line.get(code.co_firstlineno, [])
                 if (n.name if isinstance(n, ast.FunctionDef) else "<lambda>") == code.co_name]
        # Several lambdas on one line, or a text that is not what the function came from.
        matching = [n for n in nodes if _same_code(n, code, code.co_filename)]
        if matching:
            return matching[0], code.co_filename, lines, 1
        if len(nodes) == 1 and likely is None:
            likely = nodes[0], code.co_filename, lines, 1
    if likely is not None:
        return likely
    raise errors.UnsupportedError(
        f"The source of {code.co_name}() is not available ({code.co_filename}, line {code.co_firstlineno}). Kernels "
        "are compiled from their source: define the function in a file, a notebook cell, or a string given to exec() "
        "or compile() after warploom was imported.")


# --- names ----------------------------------------------------------------------------------------------------------

_MISSING = object()


def lookup(function, name: str) -> Tuple[bool, Any]:
    """(found, object) of a closure, global or built-in name of the function."""
    code = _code_of(function)
    if name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return True, cell.cell_contents
        except ValueError:
            # A function that names itself is compiled by its decorator before the name is bound.
            return (True, function) if name == code.co_name else (False, None)
    # A closure of a lambda or inner function that the function passes on.
    found = function.__globals__.get(name, _MISSING)
    if found is _MISSING:
        scope = function.__globals__.get("__builtins__", builtins)
        found = scope.get(name, _MISSING) if isinstance(scope, dict) else getattr(scope, name, _MISSING)
    if found is _MISSING and name == code.co_name:
        return True, function
    return (True, found) if found is not _MISSING else (False, None)


def attribute(obj, name: str) -> Tuple[bool, Any]:
    """(found, getattr(obj, name))."""
    found = getattr(obj, name, _MISSING)
    return (True, found) if found is not _MISSING else (False, None)


def type_of_name(name: str) -> Optional[str]:
    """Canonical type that a dtype's name stands for, or None."""
    try:
        return types.canonical_of(np.dtype(name))
    except Exception:
        return None


# --- objects --------------------------------------------------------------------------------------------------------


def _canonical_typeof(value, objects: list) -> Optional[str]:
    from .typeof import typeof

    try:
        kind = typeof(value)
    except Exception:
        return None
    try:
        return kind.canonical_with(objects)
    except NotImplementedError:
        return None


def describe(obj, objects: list) -> tuple:
    """What an object is to the compiler: a tuple whose first item says which kind, see PythonWorld::describe()."""
    if obj is None or obj is Ellipsis or type(obj) in (bool, int, float, complex, str):
        return "constant", obj, ""
    if isinstance(obj, bytes):
        return "constant", obj.decode("latin-1"), ""
    if obj in (int, float, bool, complex) if isinstance(obj, type) else False:
        return "type", types.canonical_of(obj), obj.__name__
    if isinstance(obj, enum.Enum):
        return _describe_enum(obj, objects)
    name = registry.name_of(obj) if not isinstance(obj, (tuple, list)) else None
    if name is not None:
        return "builtin", name
    if isinstance(obj, _pytypes.ModuleType):
        return "module", obj.__name__
    if isinstance(obj, (np.generic,)) and not isinstance(obj, np.void):
        return _describe_scalar(obj, objects)
    if isinstance(obj, np.void):
        kind = _canonical_typeof(obj, objects)
        if kind is not None:
            return "record", kind, (), obj.tobytes()
    if isinstance(obj, tuple):
        fields = getattr(type(obj), "_fields", None)
        return "tuple", list(obj), type(obj).__name__ if fields else "", list(fields or ())
    if isinstance(obj, list):
        return "tuple", list(obj), "", []
    if isinstance(obj, type):
        if issubclass(obj, enum.Enum):
            return "enum", obj.__name__
        if issubclass(obj, BaseException):
            return "exception", obj.__name__
        if issubclass(obj, tuple) and hasattr(obj, "_fields"):
            return "namedtuple", obj.__name__, list(obj._fields)
    if not isinstance(obj, (np.ndarray, str)):
        try:
            canonical = types.canonical_of(obj)
        except Exception:
            canonical = None
        if canonical is not None:
            return "type", canonical, ""
    if isinstance(obj, np.ndarray):
        return _describe_array(obj, objects)
    function = getattr(obj, "py_func", None)
    # A ufunc made by vectorize has the function too, but is called by the host.
    if function is not None and hasattr(obj, "targetoptions") and isinstance(function, _pytypes.FunctionType):
        options = getattr(obj, "targetoptions", {}) or {}
        never = options.get("inline") == "never" and options.get("_noinline", False)
        return "function", function, function.__name__, bool(never), _signatures(obj, objects)
    if isinstance(obj, _pytypes.FunctionType):
        return "function", obj, obj.__name__, False, []
    if isinstance(obj, _pytypes.MethodType) and obj.__name__ == "from_buffer" and type(obj.__self__).__name__ == "FFI":
        return "builtin", "cffi.from_buffer"
    if isinstance(obj, _pytypes.MethodType):
        return "other", repr(obj), "method"
    from .decorators import ExternFunction

    if isinstance(obj, ExternFunction):
        result = obj.sig.return_type
        return ("foreign", obj.name, result.canonical, [kind.canonical for kind in obj.sig.args], obj.abi,
                bool(obj.use_cooperative))
    if hasattr(obj, "__cuda_array_interface__"):
        return _describe_device_array(obj, objects)
    return "other", repr(obj)[:200], type(obj).__name__


def _signature(declared, objects: list) -> Tuple[List[str], str]:
    """(canonical argument types, canonical result or "") of a signature or a tuple of types."""
    arguments = getattr(declared, "args", declared)
    result = getattr(declared, "return_type", None)
    return [one.canonical_with(objects) for one in arguments], "" if result is None else result.canonical_with(objects)


def _signatures(dispatcher, objects: list) -> list:
    return [_signature(one, objects) for one in getattr(dispatcher, "declared_signatures", ())
            if (getattr(dispatcher, "targetoptions", None) or {}).get("device")]


def _describe_enum(obj: enum.Enum, objects: list) -> tuple:
    value = obj.value
    if not isinstance(value, (int, float, complex, np.generic)):
        return "other", repr(obj), type(obj).__name__
    kind = _canonical_typeof(obj, objects)
    if kind is None:
        return "constant", value, ""
    return "constant", value.item() if isinstance(value, np.generic) else value, kind


def _describe_scalar(obj, objects: list) -> tuple:
    if isinstance(obj, (np.datetime64, np.timedelta64)):
        return "constant", int(obj.astype(np.int64)), _canonical_typeof(obj, objects) or ""
    if isinstance(obj, (np.str_, np.bytes_)):
        return "constant", obj.decode("latin-1") if isinstance(obj, bytes) else str(obj), ""
    kind = types.canonical_of(obj.dtype)
    value = obj.item()
    if kind in ("bfloat16",):
        value = float(obj)
    return "constant", value, kind or ""


def _describe_array(obj: np.ndarray, objects: list) -> tuple:
    from .typeof import typeof

    try:
        element = typeof(obj).dtype.canonical_with(objects)
    except Exception:
        return "other", f"array of {obj.dtype}", "ndarray"
    return "array", f"array({element},{obj.ndim},C,ro)", obj.shape, np.ascontiguousarray(obj).tobytes()


def _describe_device_array(obj, objects: list) -> tuple:
    from .api import as_cuda_array

    array = as_cuda_array(obj, sync=False)
    kind = array._type_name
    strides = array.strides
    address = int(array.__cuda_array_interface__["data"][0])
    return "device_array", kind, tuple(array.shape), tuple(strides), address


def registered(function) -> bool:
    """Whether the source of a function can be had."""
    try:
        source_of(function)
    except errors.UnsupportedError:
        return False
    return True


