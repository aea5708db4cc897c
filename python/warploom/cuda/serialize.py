"""Pickling of Python functions by value: code, closure and the globals they use; used for dispatchers.

A function that its module still has under its name is pickled by name, as pickle does.
"""

from __future__ import annotations

import builtins
import importlib
import marshal
import sys
import types as pytypes
from typing import Any, Dict, Iterator, Optional

_EMPTY_CELL = "__warploom_empty_cell__"


def code_objects(code: pytypes.CodeType) -> Iterator[pytypes.CodeType]:
    """`code` and all code objects nested in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, pytypes.CodeType):
            yield from code_objects(const)


def used_globals(function: pytypes.FunctionType) -> Dict[str, Any]:
    """The global names that the function's code may read, with their values now."""
    names = {n for code in code_objects(function.__code__) for n in code.co_names}
    return {n: function.__globals__[n] for n in sorted(names) if n in function.__globals__}


class ByName:
    """A module that is pickled by its name."""

    def __init__(self, name: str):
        self.name = name


def _pack(value: Any) -> Any:
    if isinstance(value, pytypes.ModuleType):
        return ByName(value.__name__)
    if isinstance(value, pytypes.FunctionType):
        return PackedFunction(value)
    return value


def _unpack(value: Any) -> Any:
    if isinstance(value, ByName):
        return importlib.import_module(value.name)
    if isinstance(value, PackedFunction):
        return value.function()
    return value


def _source_lines(function: pytypes.FunctionType) -> Optional[list]:
    """Lines of the file if only this process's linecache has them (functions made by exec in a notebook)."""
    import linecache
    import os

    name = function.__code__.co_filename
    if os.path.exists(name):
        return None
    entry = linecache.cache.get(name)
    return list(entry[2]) if entry and len(entry) == 4 else None


class PackedFunction:
    """The state of a Python function, ready to be pickled; `function()` gives the function again."""

    def __init__(self, function: pytypes.FunctionType):
        self._function = function

    def __reduce__(self):
        # An empty one comes first, its state later: a function may refer to itself through what it uses.
        return _empty, (), self._state()

    def _state(self) -> dict:
        f = self._function
        module = sys.modules.get(f.__module__)
        found = module
        for part in f.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is f and f.__module__ != "__main__":
            return {"module": f.__module__, "qualname": f.__qualname__}
        cells = []
        for cell in f.__closure__ or ():
            try:
                cells.append(_pack(cell.cell_contents))
            except ValueError:
                cells.append(_EMPTY_CELL)
        return {
            "code": marshal.dumps(f.__code__), "name": f.__name__, "qualname": f.__qualname__, "module": f.__module__,
            "doc": f.__doc__, "defaults": f.__defaults__, "kwdefaults": f.__kwdefaults__, "cells": cells,
            "globals": {n: _pack(v) for n, v in used_globals(f).items()}, "source": _source_lines(f),
        }

    def __setstate__(self, state: dict) -> None:
        if "code" not in state:
            found = importlib.import_module(state["module"])
            for part in state["qualname"].split("."):
                found = getattr(found, part)
            # The module's name may by now stand for the dispatcher.
            self._function = getattr(found, "py_func", found)
            return
        code = marshal.loads(state["code"])
        if state["source"] is not None:
            import linecache

            lines = state["source"]
            linecache.cache.setdefault(code.co_filename, (sum(map(len, lines)), None, lines, code.co_filename))
        space = {"__name__": state["module"], "__builtins__": builtins}
        cells = tuple(pytypes.CellType() for _ in state["cells"])
        self._function = pytypes.FunctionType(code, space, state["name"], state["defaults"], cells)
        self._function.__kwdefaults__ = state["kwdefaults"]
        self._function.__qualname__ = state["qualname"]
        self._function.__module__ = state["module"]
        self._function.__doc__ = state["doc"]
        for name, value in state["globals"].items():
            space[name] = _unpack(value)
        for cell, value in zip(cells, state["cells"]):
            if not (isinstance(value, str) and value == _EMPTY_CELL):
                cell.cell_contents = _unpack(value)

    def function(self) -> pytypes.FunctionType:
        """The function."""
        return self._function


def _empty() -> PackedFunction:
    return PackedFunction.__new__(PackedFunction)
