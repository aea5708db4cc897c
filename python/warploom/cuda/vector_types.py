"""CUDA's vector types, int8x1 to float64x4, and their C names such as `float4`.

In a kernel `float32x4(a, b, c, d)` makes a vector, whose members are `.x .y .z .w`; scalars and shorter vectors may be
mixed as arguments. Source: CUDA C++ Programming Guide, "Built-in Vector Types".
"""

from __future__ import annotations

from typing import Dict

from . import types
from .registry import register
from .stubs import OutsideKernelError

_C_NAMES = {
    "int8": ("char",), "uint8": ("uchar",), "int16": ("short",), "uint16": ("ushort",), "int32": ("int",),
    "uint32": ("uint",), "int64": ("long", "longlong"), "uint64": ("ulong", "ulonglong"), "float32": ("float",),
    "float64": ("double",),
}


class VectorConstructor:
    """A vector type as a value in kernels: a constructor, and a dtype where one is asked for."""

    def __init__(self, name: str, base: types.Type, count: int, aliases):
        self.__name__ = name
        self.aliases = tuple(aliases)
        self.__doc__ = (f"A vector of {count} {base} elements in a kernel"
                        + (f" (CUDA C++: {', '.join(self.aliases)})." if self.aliases else "."))
        self._warploom_vector_ = types.VectorType(name, base, count)
        self._warploom_vector_.user_facing_object = self

    def __call__(self, *args):
        raise OutsideKernelError(f"cuda.{self.__name__}() can only be called inside a kernel or device function")

    def __repr__(self) -> str:
        return f"<cuda.{self.__name__}>"

    def __reduce__(self):
        return _by_name, (self.__name__,)


def _by_name(name: str) -> VectorConstructor:
    return constructors[name]


constructors: Dict[str, VectorConstructor] = {}
vector_types: Dict[str, types.VectorType] = {}
for _base, _c in _C_NAMES.items():
    for _count in (1, 2, 3, 4):
        _name = f"{_base}x{_count}"
        _made = VectorConstructor(_name, getattr(types, _base), _count, [f"{c}{_count}" for c in _c])
        vector_types[_name] = _made._warploom_vector_
        register(_made, "vec." + _name)
        for _alias in (_name,) + _made.aliases:
            constructors[_alias] = _made
del _base, _c, _count, _name, _made, _alias
