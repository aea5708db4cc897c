"""Names of the objects that the compiler knows: `name_of(cuda.grid)` is "cuda.grid", of `math.sin` "math.sin".

Kernels name these objects however they like (`from math import sin as s`): it is the object that counts.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
from typing import Any, Dict, Optional, Tuple

import numpy as np

# id of the object -> (the object, kept alive so that its id stays its own; its name)
_names: Dict[int, Tuple[Any, str]] = {}

_BUILTINS = (
    "abs", "all", "any", "bin", "bool", "callable", "chr", "complex", "divmod", "enumerate", "filter", "float",
    "getattr", "hasattr", "hash", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next",
    "ord", "pow", "print", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple",
    "type", "zip", "breakpoint", "id", "dict", "frozenset", "bytes",
)

_NUMPY = (
    "shape", "size", "ndim", "zeros", "ones", "empty", "full", "arange", "array", "sum", "prod", "mean", "dot", "where",
    "zeros_like", "ones_like", "empty_like", "asarray", "copyto", "round", "around", "clip", "argmax", "argmin", "amax",
    "amin", "min", "max", "all", "any", "var", "std", "isclose", "allclose", "iscomplex", "isreal", "nan_to_num",
    "real", "imag", "angle", "sinc", "cross", "outer", "take", "transpose", "ravel", "reshape", "concatenate",
    "count_nonzero", "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax",
)


def register(obj: Any, name: str) -> Any:
    """Give `obj` a name for the compiler, and return it."""
    _names[id(obj)] = (obj, name)
    return obj


def name_of(obj: Any) -> Optional[str]:
    """The name of an object that the compiler knows, or None.

    Types (`np.float32`, `cuda.float32`, `float`) are found with `types.canonical_of` too; of the builtin types the name
    is given here, since `int(x)` and `float(x)` are also functions.
    """
    found = _names.get(id(obj))
    return found[1] if found is not None and found[0] is obj else None


def names() -> Dict[str, Any]:
    """All names with their objects."""
    return {name: obj for obj, name in _names.values()}


def _register_all() -> None:
    for name in _BUILTINS:
        register(getattr(builtins, name), "builtins." + name)
    for module, prefix in ((math, "math."), (cmath, "cmath."), (operator, "operator.")):
        for name in vars(module):
            value = getattr(module, name)
            # Names with underscores at both ends are the same objects under a second name.
            if callable(value) and not name.startswith("_") and id(value) not in _names:
                register(value, prefix + name)
    for value in list(vars(np).values()):
        if isinstance(value, np.ufunc):
            # np.abs is np.absolute: the ufunc's own name is the one to give.
            register(value, "numpy." + value.__name__)
    for name in _NUMPY:
        value = getattr(np, name, None)
        if value is not None and id(value) not in _names and callable(value):
            register(value, "numpy." + name)


_register_all()
