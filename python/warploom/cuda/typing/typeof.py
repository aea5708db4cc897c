"""typeof(value): the type that a Python value has as an argument. Source: Numba, "Types and signatures"."""

from __future__ import annotations

import enum
from collections import OrderedDict
from typing import Any

import numpy as np

from .. import types
from ..core.errors import UntypedArgumentError

__all__ = ["Purpose", "typeof", "typeof_impl"]


class Purpose(enum.Enum):
    """What the type is for: an argument of a call, or a constant in a function."""

    argument = 1
    constant = 2


def _typeof_int(value: int) -> types.Type:
    if -(1 << 63) <= value < (1 << 63):
        return types.int64
    if 0 <= value < (1 << 64):
        return types.uint64
    raise ValueError(f"Int value is too large: {value}")


_EXACT = {
    bool: lambda v: types.boolean,
    float: lambda v: types.float64,
    complex: lambda v: types.complex128,
    int: _typeof_int,
    str: lambda v: types.unicode_type,
    type(None): lambda v: types.none,
}


class _UserTypes:
    """Kept for Numba's `typeof_impl.register`: functions (value, context) -> type for further classes."""

    def __init__(self):
        self._by_class: "OrderedDict[type, Any]" = OrderedDict()

    def register(self, cls, function=None):
        """Register `function` for `cls`; usable as a decorator."""
        if function is None:
            return lambda f: self.register(cls, f)
        self._by_class[cls] = function
        return function

    def __call__(self, value, context):
        for cls in type(value).__mro__:
            if cls in self._by_class:
                return self._by_class[cls](value, context)
        return None


class _Context:
    def __init__(self, purpose):
        self.purpose = purpose


typeof_impl = _UserTypes()


def _array_type(value: np.ndarray) -> types.Array:
    flags = value.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    return types.Array(types.from_dtype(value.dtype), value.ndim, layout, readonly=not flags.writeable)


def typeof(value: Any, purpose: Purpose = Purpose.argument) -> types.Type:
    """The type of `value`: int is int64 (uint64 from 2**63 on), float is float64, arrays carry their layout.

    Raises UntypedArgumentError (a TypingError and a ValueError) when kernels have no such type.
    """
    exact = _EXACT.get(type(value))
    if exact is not None:
        return exact(value)
    own = getattr(value, "_numba_type_", None)
    if isinstance(own, types.Type):
        return own
    if isinstance(value, np.ndarray):
        return _array_type(value)
    if isinstance(value, np.generic):
        return types.from_dtype(value.dtype)
    if isinstance(value, tuple):
        return types.BaseTuple.from_types((typeof(v, purpose) for v in value),
                                          type(value) if hasattr(value, "_fields") else None)
    if isinstance(value, enum.Enum):
        return types.enum_type(type(value))
    if isinstance(value, enum.EnumMeta):
        member = types.enum_type(value)
        return (types.IntEnumClass if isinstance(member, types.IntEnumMember) else types.EnumClass)(value, member.dtype)
    if isinstance(value, (int, float, complex)):
        for base in (int, float, complex):
            if isinstance(value, base):
                return _EXACT[base](base(value))
    user = typeof_impl(value, _Context(purpose))
    if user is not None:
        return user
    if hasattr(value, "py_func") and hasattr(value, "targetoptions"):
        return types.Dispatcher(value)
    if isinstance(value, types.Type):
        return types.NumberClass(value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return types.NumberClass(types.from_dtype(np.dtype(value)))
    raise UntypedArgumentError(f"Cannot determine Numba type of {type(value)}")
