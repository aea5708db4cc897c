"""A digest of all that a compiled function depends on: its code, the values it captures, types, options, the compiler.

Two functions with one digest compile to the same PTX, so that a cache keyed by it never gives stale code.
"""

from __future__ import annotations

import enum
import hashlib
import os
import sys
import types as pytypes
from typing import Any, Set

import numpy as np

from . import registry, types
from .serialize import code_objects

# Modules whose members are fixed by the interpreter's and the packages' versions.
_FIXED = ("numpy", "math", "cmath", "operator", "builtins", "warploom", "numba", "enum", "sys")


class NotCacheable(Exception):
    """The function captures something whose contents cannot be told from a digest."""


class Fingerprint:
    """Collects values into one digest."""

    def __init__(self):
        self._hash = hashlib.sha256()
        self._seen: Set[int] = set()

    def text(self, *parts: Any) -> None:
        """Add plain texts."""
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode()
            self._hash.update(b"%d:" % len(data))
            self._hash.update(data)

    def hexdigest(self) -> str:
        """The digest of everything added."""
        return self._hash.hexdigest()

    def function(self, function: pytypes.FunctionType) -> None:
        """Add a Python function with what it captures."""
        if id(function) in self._seen:
            self.text("again", function.__qualname__)
            return
        self._seen.add(id(function))
        self.text("function", function.__qualname__, function.__code__.co_filename)
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        self._code(function.__code__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self.text("closure", name)
            try:
                contents = cell.cell_contents
            except ValueError:
                continue
            self._captured(name, contents, function.__code__)
        names = sorted({n for code in code_objects(function.__code__) for n in code.co_names})
        space = function.__globals__
        for name in names:
            if name in space:
                self.text("global", name)
                self._captured(name, space[name], function.__code__)

    def _code(self, code: pytypes.CodeType) -> None:
        self.text(code.co_code, code.co_names, code.co_varnames, code.co_firstlineno, code.co_argcount, code.co_flags,
                  getattr(code, "co_linetable", b""))
        for const in code.co_consts:
            if isinstance(const, pytypes.CodeType):
                self._code(const)
            else:
                self.text(type(const).__name__, repr(const))

    def _captured(self, name: str, value: Any, code: pytypes.CodeType) -> None:
        if not isinstance(value, (pytypes.ModuleType, type)) or registry.name_of(value) is not None:
            self.value(value)
            return
        if isinstance(value, pytypes.ModuleType):
            self._module(value, {n for c in code_objects(code) for n in c.co_names}, 0)
        else:
            self.value(value)

    def _module(self, module: pytypes.ModuleType, names: Set[str], depth: int) -> None:
        self.text("module", module.__name__)
        if module.__name__.partition(".")[0] in _FIXED:
            return
        # Which names are attributes of this module is not told apart: some more than needed enter.
        for name in sorted(names):
            member = vars(module).get(name)
            if member is None:
                continue
            self.text("member", name)
            if isinstance(member, pytypes.ModuleType):
                if depth < 4:
                    self._module(member, names, depth + 1)
            else:
                self.value(member)

    def value(self, value: Any) -> None:
        """Add a captured value. Raises NotCacheable for one that has no fixed contents."""
        plain = (bool, int, float, complex, str, bytes)
        if value is None or isinstance(value, plain) and not isinstance(value, enum.Enum):
            self.text(type(value).__name__, repr(value))
            return
        known = registry.name_of(value)
        if known is not None:
            self.text("known", known)
            return
        if isinstance(value, types.Type):
            self.text("type", repr(value))
        elif isinstance(value, np.dtype):
            self.text("dtype", types.canonical_of(value) or repr(value))
        elif isinstance(value, np.generic):
            self.text("scalar", types.canonical_of(value.dtype) or repr(value.dtype), value.tobytes())
        elif isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                raise NotCacheable("an array of Python objects")
            self.text("array", repr(value.dtype), value.shape, value.strides, value.flags.f_contiguous, value.tobytes())
        elif isinstance(value, (tuple, list)):
            self.text(type(value).__name__, len(value), getattr(value, "_fields", ""))
            for item in value:
                self.value(item)
        elif isinstance(value, dict):
            self.text("dict", len(value))
            for key, item in value.items():
                self.value(key)
                self.value(item)
        elif isinstance(value, enum.Enum):
            self.text("member", value.name)
            self.value(type(value))
        elif isinstance(value, slice):
            self.value((value.start, value.stop, value.step))
        elif isinstance(value, range):
            self.text("range", repr(value))
        elif isinstance(value, type):
            self._class(value)
        elif hasattr(value, "py_func") and hasattr(value, "targetoptions"):
            self.text("jitted", sorted((k, repr(v)) for k, v in value.targetoptions.items()),
                      [repr(s) for s in value.declared_signatures])
            self.function(value.py_func)
        elif isinstance(value, pytypes.FunctionType):
            self.function(value)
        elif isinstance(value, pytypes.ModuleType):
            self._module(value, set(), 0)
        elif hasattr(value, "_warploom_vector_"):
            self.text("vector", value._warploom_vector_.canonical)
        else:
            raise NotCacheable(f"a captured {type(value).__name__}")

    def _class(self, cls: type) -> None:
        self.text("class", cls.__module__, cls.__qualname__)
        if issubclass(cls, enum.Enum):
            for member in cls:
                self.text(member.name)
                self.value(member.value)
        elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
            self.text(cls._fields)
        elif types.canonical_of(cls) is not None or issubclass(cls, BaseException) or cls.__module__ == "builtins":
            return
        else:
            raise NotCacheable(f"a captured class {cls.__name__}")


def _build() -> str:
    """What identifies this build of the compiler."""
    from warploom import __version__, _core

    parts = [__version__, sys.version, np.__version__]
    folder = os.path.dirname(os.path.realpath(_core.__file__))
    own = os.path.dirname(os.path.abspath(__file__))
    for name in [os.path.realpath(_core.__file__), *(os.path.join(folder, n) for n in sorted(os.listdir(folder))
                                                     if n.startswith("libwarploom")), os.path.join(own, "frontend.py")]:
        try:
            stat = os.stat(name)
        except OSError:
            continue
        parts.append(f"{os.path.basename(name)}:{stat.st_size}:{stat.st_mtime_ns}")
    return "|".join(parts)


_build_text: list = []


def build() -> str:
    """What identifies this build of the compiler, looked up once."""
    if not _build_text:
        _build_text.append(_build())
    return _build_text[0]


def of_function(pyfunc: pytypes.FunctionType, arg_types, device: bool, options: dict) -> str:
    """The digest of a compilation. Raises NotCacheable."""
    fingerprint = Fingerprint()
    fingerprint.text(build(), [repr(t) for t in arg_types], device, sorted((k, repr(v)) for k, v in options.items()))
    for ty in arg_types:
        for cls in _classes(ty):
            fingerprint.value(cls)
    fingerprint.function(pyfunc)
    return fingerprint.hexdigest()


def _classes(ty):
    if isinstance(ty, (types.EnumMember, types.EnumClass)):
        yield ty.instance_class
    elif isinstance(ty, types.Dispatcher):
        yield ty.dispatcher
    elif isinstance(ty, types.BaseTuple):
        for t in ty:
            yield from _classes(t)
