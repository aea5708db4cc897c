"""The types of kernel arguments and values, under Numba's names; each knows its canonical string for the compiler.

`float32[:]`, `float32[::1]` and `float32[:, ::1]` make array types, `void(float32[:], int32)` a signature, and
`float32(1.5)` on the host a NumPy scalar. Source: Numba, "Types and signatures".
"""

from __future__ import annotations

import enum as _enum
from typing import Any, Dict, List, Optional as _Maybe, Sequence, Tuple as _Tup

import numpy as _np

from .type_classes import (  # noqa: F401
    SINGLETONS,
    Array, ArrayCompatible, BaseTuple, Bfloat16, Boolean, BooleanLiteral, Buffer, CPointer, CharSeq, Complex, Dim3,
    Dispatcher, Dummy, EnumClass, EnumMember, Float, Function, Hashable, IntEnumClass, IntEnumMember, Integer,
    IntegerLiteral, Literal, Module, NPDatetime, NPTimedelta, NamedTuple, NamedUniTuple, NestedArray, NoneType,
    Number, NumberClass, Omitted, Opaque, Optional_, RangeType, RawPointer, Record, SliceType, StringLiteral, Tuple,
    Type, UniTuple, UnicodeCharSeq, UnicodeType, VectorType, literal, maybe_literal, unliteral, _NPDatetimeBase,
)

_pybool = bool  # the name comes to mean the type below

# ---- the types themselves ----

boolean = bool_ = b1 = Boolean("bool")
int8, int16, int32, int64 = (Integer(f"int{b}") for b in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Integer(f"uint{b}") for b in (8, 16, 32, 64))
float16, float32, float64 = Float("float16"), Float("float32"), Float("float64")
bfloat16 = Bfloat16("bfloat16")
complex64, complex128 = Complex("complex64", float32), Complex("complex128", float64)

i1, i2, i4, i8 = int8, int16, int32, int64
u1, u2, u4, u8 = uint8, uint16, uint32, uint64
f2, f4, f8 = float16, float32, float64
c8, c16 = complex64, complex128
intp = ssize_t = longlong = long_ = long = int_ = int64
uintp = size_t = ulonglong = ulong = uint = uint64
intc, uintc = int32, uint32
byte = uchar = uint8
char = int8
short, ushort = int16, uint16
float_, double = float32, float64
none = void = NoneType("none")
voidptr = RawPointer("void*")
unicode_type = string = UnicodeType("unicode_type")
pyobject = Opaque("pyobject")
undefined = Opaque("undefined")
unknown = Dummy("unknown")
range_type = RangeType
range_iter32_type = RangeType(int32)
range_iter64_type = RangeType(int64)
range_state32_type, range_state64_type = range_iter32_type, range_iter64_type
slice2_type, slice3_type = SliceType("slice<a:b>", 2), SliceType("slice<a:b:c>", 3)
ellipsis = Opaque("...")
dim3 = Dim3("Dim3")
bool = boolean  # noqa: A001  (Numba's name: `types.bool`)
Optional = Optional_  # noqa: F811

signed_domain = frozenset([int8, int16, int32, int64])
unsigned_domain = frozenset([uint8, uint16, uint32, uint64])
integer_domain = signed_domain | unsigned_domain
real_domain = frozenset([float32, float64])
complex_domain = frozenset([complex64, complex128])
number_domain = real_domain | integer_domain | complex_domain

SINGLETONS.update({
    (t.__class__, t.name): t
    for t in list(globals().values())
    if isinstance(t, Type) and not isinstance(t, (Array, BaseTuple))
})

# What `from numba.cuda.types import *` gives, and thus what `cuda.` has.
__all__ = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp", "uintp", "intc", "uintc",
    "ssize_t", "size_t", "boolean", "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool_",
    "byte", "char", "uchar", "short", "ushort", "int_", "uint", "long_", "ulong", "longlong", "ulonglong", "float_",
    "double", "void", "none", "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
]


# ---- NumPy dtypes ----

_BY_DTYPE_NAME = {t.name: t for t in number_domain | {float16, bfloat16, boolean}}
# Record dtypes are equal whether aligned or not, but their types are not.
_from_dtype_memo: Dict[_Tup[_np.dtype, bool], Type] = {}


def from_dtype(dtype) -> Type:
    """The type of elements of a NumPy dtype. Raises NumbaNotImplementedError for one that kernels do not know."""
    dtype = _np.dtype(dtype)
    key = (dtype, dtype.isalignedstruct)
    found = _from_dtype_memo.get(key)
    if found is None:
        found = _from_dtype_memo[key] = _type_of_dtype(dtype)
    return found


def _type_of_dtype(dtype: _np.dtype) -> Type:
    from .core.errors import NumbaNotImplementedError

    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return NestedArray(from_dtype(base), shape)
    if dtype.fields is not None:
        fields = []
        for name in dtype.names:
            info = dtype.fields[name]
            title = info[2] if len(info) > 2 else None
            fields.append((name, dict(type=from_dtype(info[0]), offset=info[1], title=title,
                                      alignment=info[0].base.alignment if dtype.isalignedstruct else None)))
        return Record(fields, dtype.itemsize, dtype.isalignedstruct)
    if not dtype.isnative:
        raise NumbaNotImplementedError(f"{dtype} cannot be represented as a Numba type: its byte order is not native")
    if dtype.kind in "mM":
        unit, count = _np.datetime_data(dtype)
        unit = "" if unit == "generic" else (unit if count == 1 else f"{count}{unit}")
        return (NPDatetime if dtype.kind == "M" else NPTimedelta)(unit)
    if dtype.kind == "S":
        return CharSeq(dtype.itemsize)
    if dtype.kind == "U":
        return UnicodeCharSeq(dtype.itemsize // 4)
    if dtype.name in _BY_DTYPE_NAME:
        return _BY_DTYPE_NAME[dtype.name]
    # NumPy has two C types of the same size for some integers: longlong beside long.
    if dtype.kind in "iu":
        return Integer.from_bitwidth(8 * dtype.itemsize, dtype.kind == "i")
    raise NumbaNotImplementedError(f"{dtype} cannot be represented as a Numba type")


def as_dtype(ty: Type) -> _np.dtype:
    """The NumPy dtype of a type. Raises NumbaNotImplementedError where there is none."""
    ty = unliteral(ty)
    if isinstance(ty, Boolean):
        return _np.dtype(_np.bool_)
    if isinstance(ty, Bfloat16):
        import ml_dtypes

        return _np.dtype(ml_dtypes.bfloat16)
    if isinstance(ty, Number):
        return _np.dtype(ty.name)
    if isinstance(ty, _NPDatetimeBase):
        letter = "M8" if isinstance(ty, NPDatetime) else "m8"
        return _np.dtype(f"{letter}[{ty.unit}]" if ty.unit else letter)
    if isinstance(ty, CharSeq):
        return _np.dtype(f"S{ty.count}")
    if isinstance(ty, UnicodeCharSeq):
        return _np.dtype(f"U{ty.count}")
    if isinstance(ty, NestedArray):
        return _np.dtype((as_dtype(ty.dtype), ty.shape))
    if isinstance(ty, Record):
        names = [(f["title"], n) if f["title"] else n for n, f in ty.fields.items()]
        spec = dict(names=list(ty.fields), formats=[as_dtype(f["type"]) for f in ty.fields.values()],
                    offsets=[f["offset"] for f in ty.fields.values()], itemsize=ty.size)
        if any(isinstance(n, tuple) for n in names):
            spec["titles"] = [f["title"] for f in ty.fields.values()]
        return _np.dtype(spec, align=ty.aligned)
    if isinstance(ty, EnumMember):
        return as_dtype(ty.dtype)
    if isinstance(ty, Array):
        return as_dtype(ty.dtype)
    from .core.errors import NumbaNotImplementedError

    raise NumbaNotImplementedError(f"{ty} cannot be represented as a NumPy dtype")


def enum_type(cls: type) -> EnumMember:
    """The type of the members of an Enum class. Raises ValueError unless their values have one number type."""
    from .typing.typeof import typeof

    dtypes = {typeof(member.value) for member in cls}
    if len(dtypes) != 1:
        raise ValueError(f"Cannot type heterogeneous enum: got value types {', '.join(sorted(str(t) for t in dtypes))}"
                         if dtypes else "Cannot type enum with no members")
    dtype = dtypes.pop()
    return IntEnumMember(cls, dtype) if issubclass(cls, _enum.IntEnum) else EnumMember(cls, dtype)


# ---- canonical strings ----

def canonical_of(obj: Any) -> _Maybe[str]:
    """The canonical string of a type given as a value in a kernel, or None when `obj` denotes no type.

    `obj`: a type of this module, int/float/bool/complex, a NumPy scalar class or dtype (records too), a dtype's name,
    or a vector type such as `cuda.float32x4`.
    """
    if isinstance(obj, Type):
        try:
            return obj.canonical
        except NotImplementedError:
            return None
    if obj is int:
        return "int64"
    if obj is float:
        return "float64"
    if obj is _pybool:
        return "bool"
    if obj is complex:
        return "complex128"
    vector = getattr(obj, "_warploom_vector_", None)
    if vector is not None:
        return vector.canonical
    if isinstance(obj, (_np.dtype, str)) or (isinstance(obj, type) and issubclass(obj, _np.generic)) \
            or type(getattr(obj, "dtype", None)) is _np.dtype and isinstance(obj, type):
        from .core.errors import NumbaNotImplementedError

        try:
            return from_dtype(obj).canonical
        except (TypeError, ValueError, NumbaNotImplementedError, NotImplementedError):
            return None
    return None


def _split(text: str) -> List[str]:
    """The parts between commas that are not inside parentheses."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    if text:
        parts.append(text[start:])
    return parts


def from_canonical(text: str, objects: Sequence[Any] = ()) -> Type:
    """The type that a canonical string denotes; `objects` are the classes that its enumerations name by index.

    Raises ValueError for a string that is not canonical.
    """
    head, bracket, rest = text.partition("(")
    if not bracket:
        found = _PLAIN.get(text)
        if found is None:
            raise ValueError(f"not a canonical type: {text!r}")
        return found
    parts = _split(rest[:-1])

    def sub(t):
        return from_canonical(t, objects)

    if head == "array":
        return Array(sub(parts[0]), int(parts[1]), parts[2], readonly=len(parts) > 3 and parts[3] == "ro")
    if head == "ptr":
        return CPointer(sub(parts[0]))
    if head == "tuple":
        return BaseTuple.from_types([sub(p) for p in parts])
    if head == "namedtuple":
        import collections

        fields = [p.split(":", 1) for p in parts[1:]]
        cls = collections.namedtuple(parts[0], [f for f, _ in fields])
        return BaseTuple.from_types([sub(t) for _, t in fields], cls)
    if head == "record":
        fields = []
        for part in parts[2:]:
            name, _, tail = part.partition("@")
            offset, _, ty = tail.partition(":")
            fields.append((name, dict(type=sub(ty), offset=int(offset))))
        return Record(fields, int(parts[0]), parts[1] == "1")
    if head == "nested":
        return NestedArray(sub(parts[0]), [int(d) for d in parts[1].split("x")])
    if head == "char":
        return CharSeq(int(parts[0]))
    if head == "unichar":
        return UnicodeCharSeq(int(parts[0]))
    if head == "datetime":
        return NPDatetime(parts[0] if parts else "")
    if head == "timedelta":
        return NPTimedelta(parts[0] if parts else "")
    if head in ("enum", "intenum"):
        cls = objects[int(parts[0])]
        return (EnumMember if head == "enum" else IntEnumMember)(cls, sub(parts[1]))
    if head == "optional":
        return Optional_(sub(parts[0]))
    if head == "vec":
        base, count = sub(parts[0]), int(parts[1])
        return VectorType(f"{base}x{count}", base, count)
    if head == "function":
        return Dispatcher(objects[int(parts[0])])
    raise ValueError(f"not a canonical type: {text!r}")


def from_display(text: str) -> _Maybe[Type]:
    """The type that a message names, for numbers and arrays of them: "array(float32, 1d, C)"; None for others."""
    import re

    found = re.fullmatch(r"(readonly )?array\((\w+), (\d+)d, ([CFA])\)", text)
    if found:
        dtype = _PLAIN.get(found.group(2))
        return dtype and Array(dtype, int(found.group(3)), found.group(4), readonly=found.group(1) is not None)
    return _PLAIN.get(text)


_PLAIN = dict(_BY_DTYPE_NAME, none=none, void=none, str=unicode_type)
_PLAIN["bool"] = boolean
