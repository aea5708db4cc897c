"""The types of kernel arguments and values, under Numba's names; each knows its canonical string for the compiler.

`float32[:]`, `float32[::1]` and `float32[:, ::1]` make array types, `void(float32[:], int32)` a signature, and
`float32(1.5)` on the host a NumPy scalar. Source: Numba, "Types and signatures".
"""

from __future__ import annotations

import enum as _enum
from typing import Any, Dict, List, Optional, Sequence, Tuple as _Tup

import numpy as _np

_pybool = bool  # the name comes to mean the type below


class Type:
    """Base of all types. Two types are equal when their keys are; `name` is Numba's text for the type.

    `canonical` is the string that the compiler reads (enumerations and functions: see `canonical_with`).
    """

    mutable = False
    reflected = False

    def __init__(self, name: str):
        self.name = name

    @property
    def key(self) -> Any:
        """What identifies the type."""
        return self.name

    def __eq__(self, other) -> bool:
        return self is other or (self.__class__ is other.__class__ and self.key == other.key)

    def __ne__(self, other) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *args):
        """A signature when given types, otherwise the value cast to this type (a NumPy scalar)."""
        if len(args) == 1 and not isinstance(args[0], Type):
            return self.cast_python_value(args[0])
        from .typing import signature

        return signature(self, *args)

    def __getitem__(self, index) -> "Array":
        """The array type that a slice expression such as `[:, ::1]` denotes."""
        ndim, layout = _array_spec(index)
        return Array(dtype=self, ndim=ndim, layout=layout)

    def __reduce__(self):
        return _rebuild, (self.__class__, self.__dict__.copy())

    def cast_python_value(self, value):
        """`value` as this type; only number types have it."""
        raise NotImplementedError(f"{self} cannot convert a Python value")

    def is_precise(self) -> bool:
        """Whether the type is fully known."""
        return True

    @property
    def canonical(self) -> str:
        """The canonical string of the type."""
        return self.canonical_with([])

    def canonical_with(self, objects: List[Any]) -> str:
        """The canonical string; classes and functions it refers to are appended to `objects` and named by index."""
        raise NotImplementedError(f"type {self} cannot be used in a kernel")


def _rebuild(cls, state):
    found = _SINGLETONS.get((cls, state.get("name")))
    if found is not None:
        return found
    self = cls.__new__(cls)
    self.__dict__.update(state)
    return self


def _array_spec(index) -> _Tup[int, str]:
    if isinstance(index, (tuple, list)):
        slices = tuple(index)
        if not slices or not all(isinstance(s, slice) for s in slices):
            raise KeyError(f"Can only index numba types with slices with no start or stop, got {index!r}.")
    elif isinstance(index, slice):
        slices = (index,)
    else:
        raise KeyError(f"Can only index numba types with slices with no start or stop, got {index!r}.")
    for s in slices:
        if s.start is not None or s.stop is not None:
            raise KeyError(f"Can only index numba types with slices with no start or stop, got {s!r}.")
    if slices[-1].step == 1:
        return len(slices), "C"
    if slices[0].step == 1:
        return len(slices), "F"
    return len(slices), "A"


class Dummy(Type):
    """A type without run-time data that only has a name."""


class Opaque(Dummy):
    """A type whose contents are not known."""


class Hashable(Type):
    """Kept for `isinstance` tests."""


class Number(Hashable):
    """A number."""

    def canonical_with(self, objects) -> str:
        return self.name

    def unify(self, typingctx, other):
        """Kept for its name."""
        return None


class Integer(Number):
    """A signed or unsigned integer of 8, 16, 32 or 64 bits."""

    def __init__(self, name: str, bitwidth: Optional[int] = None, signed: Optional[bool] = None):
        super().__init__(name)
        self.bitwidth = int(name.lstrip("uint")) if bitwidth is None else bitwidth
        self.signed = name.startswith("int") if signed is None else signed

    @classmethod
    def from_bitwidth(cls, bitwidth: int, signed: bool = True) -> "Integer":
        """The integer type of that many bits."""
        return globals()[("int%d" if signed else "uint%d") % bitwidth]

    @property
    def maxval(self) -> int:
        """The largest value."""
        return (1 << (self.bitwidth - 1)) - 1 if self.signed else (1 << self.bitwidth) - 1

    @property
    def minval(self) -> int:
        """The smallest value."""
        return -(1 << (self.bitwidth - 1)) if self.signed else 0

    def cast_python_value(self, value):
        return getattr(_np, self.name)(value)

    def __lt__(self, other):
        if self.__class__ is not other.__class__ or self.signed != other.signed:
            return NotImplemented
        return self.bitwidth < other.bitwidth


class Boolean(Hashable):
    """True or False, one byte in memory."""

    bitwidth = 8

    def cast_python_value(self, value):
        return _pybool(value)

    def canonical_with(self, objects) -> str:
        return "bool"


class Float(Number):
    """float16, bfloat16, float32 or float64."""

    def __init__(self, name: str):
        super().__init__(name)
        self.bitwidth = int("".join(c for c in name if c.isdigit()))

    def cast_python_value(self, value):
        return as_dtype(self).type(value)

    def __lt__(self, other):
        if self.__class__ is not other.__class__:
            return NotImplemented
        return self.bitwidth < other.bitwidth


class Bfloat16(Float):
    """The 16-bit format with float32's exponent; NumPy has it through the package ml_dtypes."""


class Complex(Number):
    """Two floats: real and imaginary part."""

    def __init__(self, name: str, underlying_float: Float):
        super().__init__(name)
        self.underlying_float = underlying_float
        self.bitwidth = 2 * underlying_float.bitwidth

    def cast_python_value(self, value):
        return getattr(_np, self.name)(value)


class NoneType(Opaque):
    """The type of None, and `void` as a return type."""

    def canonical_with(self, objects) -> str:
        return "none"


class UnicodeType(Hashable):
    """Text known when compiling."""

    def canonical_with(self, objects) -> str:
        return "str"


class RangeType(Type):
    """The type of range() over `dtype`."""

    def __init__(self, dtype: Integer):
        self.dtype = dtype
        super().__init__(f"range_state_{dtype}")


class RawPointer(Type):
    """A pointer to anything, for `voidptr`."""

    def canonical_with(self, objects) -> str:
        return "ptr(uint8)"


class CPointer(Type):
    """A pointer to `dtype`; launches take the address as an int. Numba: `types.CPointer`."""

    mutable = True

    def __init__(self, dtype: Type, addrspace=None):
        self.dtype = dtype
        self.addrspace = addrspace
        super().__init__(f"{dtype}*")

    @property
    def key(self):
        return self.dtype, self.addrspace

    def canonical_with(self, objects) -> str:
        return f"ptr({self.dtype.canonical_with(objects)})"


class ArrayCompatible(Type):
    """Kept for `isinstance` tests."""


class Buffer(ArrayCompatible):
    """Base of arrays."""

    mutable = True


class Array(Buffer):
    """An n-dimensional array. `layout` is 'C', 'F' or 'A' (any strides).

    Arguments: element type, number of dimensions, layout, whether kernels may not write it, Numba's text, whether
    elements lie at multiples of their size.
    """

    def __init__(self, dtype: Type, ndim: int, layout: str, readonly: bool = False, name: Optional[str] = None,
                 aligned: bool = True, addrspace=None):
        if layout not in ("C", "F", "A"):
            raise ValueError(f"unsupported layout {layout!r}: C, F or A")
        self.dtype = dtype
        self.ndim = ndim
        self.layout = layout
        self.mutable = not readonly
        self.aligned = aligned
        self.addrspace = addrspace
        if name is None:
            name = f"array({dtype}, {ndim}d, {layout})"
            if readonly:
                name = "readonly " + name
            if not aligned:
                name = "unaligned " + name
        super().__init__(name)

    @property
    def readonly(self) -> bool:
        """Whether kernels may not write it."""
        return not self.mutable

    @property
    def key(self):
        return self.dtype, self.ndim, self.layout, self.mutable, self.aligned

    @property
    def is_contig(self) -> bool:
        """Whether the layout is C or F."""
        return self.layout in "CF"

    @property
    def is_c_contig(self) -> bool:
        """Whether the last index is the one with neighbours in memory."""
        return self.layout == "C" or (self.ndim <= 1 and self.layout in "CF")

    @property
    def is_f_contig(self) -> bool:
        """Whether the first index is the one with neighbours in memory."""
        return self.layout == "F" or (self.ndim <= 1 and self.layout in "CF")

    def copy(self, dtype=None, ndim=None, layout=None, readonly=None) -> "Array":
        """This type with some of its properties replaced."""
        return Array(dtype=self.dtype if dtype is None else dtype, ndim=self.ndim if ndim is None else ndim,
                     layout=self.layout if layout is None else layout,
                     readonly=self.readonly if readonly is None else readonly, aligned=self.aligned)

    def __repr__(self) -> str:
        return f"Array({self.dtype!r}, {self.ndim}, {self.layout!r}, {self.readonly}, aligned={self.aligned})"

    def canonical_with(self, objects) -> str:
        tail = ",ro" if self.readonly else ""
        return f"array({self.dtype.canonical_with(objects)},{self.ndim},{self.layout}{tail})"


class NestedArray(Array):
    """An array of fixed shape inside a record."""

    def __init__(self, dtype: Type, shape: Sequence[int]):
        self._shape = tuple(shape)
        super().__init__(dtype, len(self._shape), "C", name=f"nestedarray({dtype}, {self._shape})")

    @property
    def shape(self) -> _Tup[int, ...]:
        """The shape, in elements."""
        return self._shape

    @property
    def nitems(self) -> int:
        """The number of elements."""
        return int(_np.prod(self._shape))

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.nitems * as_dtype(self.dtype).itemsize

    @property
    def key(self):
        return self.dtype, self._shape

    def canonical_with(self, objects) -> str:
        return f"nested({self.dtype.canonical_with(objects)},{'x'.join(map(str, self._shape))})"


class BaseTuple(Hashable):
    """Base of tuples; iterating gives the element types."""

    types: _Tup[Type, ...]

    @property
    def count(self) -> int:
        """The number of elements."""
        return len(self.types)

    def __len__(self) -> int:
        return len(self.types)

    def __iter__(self):
        return iter(self.types)

    def __getitem__(self, index):
        return self.types[index]

    @property
    def key(self):
        return self.types

    def canonical_with(self, objects) -> str:
        return "tuple(" + ",".join(t.canonical_with(objects) for t in self.types) + ")"

    @classmethod
    def from_types(cls, tys, pyclass=None) -> "BaseTuple":
        """The tuple type of those element types; homogeneous ones are UniTuple."""
        tys = tuple(tys)
        if pyclass is not None and pyclass is not tuple:
            if tys and all(t == tys[0] for t in tys):
                return NamedUniTuple(tys[0], len(tys), pyclass)
            return NamedTuple(tys, pyclass)
        if tys and all(t == tys[0] for t in tys):
            return UniTuple(tys[0], len(tys))
        return Tuple(tys)


class UniTuple(BaseTuple):
    """A tuple of `count` elements of one type."""

    def __init__(self, dtype: Type, count: int):
        self.dtype = dtype
        self.types = (dtype,) * count
        super().__init__(f"UniTuple({dtype} x {count})")

    def __repr__(self) -> str:
        return f"UniTuple({self.dtype!r}, {self.count})"


class Tuple(BaseTuple):
    """A tuple; `Tuple((int32, float32))`. Homogeneous ones become UniTuple."""

    def __new__(cls, types=()):
        types = tuple(types)
        if cls is Tuple and types and all(t == types[0] for t in types):
            return UniTuple(types[0], len(types))
        return object.__new__(cls)

    def __init__(self, types=()):
        self.types = tuple(types)
        super().__init__(f"Tuple({', '.join(str(t) for t in self.types)})")

    def __repr__(self) -> str:
        return f"Tuple({self.types!r})"


class _NamedBase(BaseTuple):
    fields: _Tup[str, ...]
    instance_class: type

    @property
    def key(self):
        return self.instance_class, self.types

    def canonical_with(self, objects) -> str:
        inner = ",".join(f"{f}:{t.canonical_with(objects)}" for f, t in zip(self.fields, self.types))
        return f"namedtuple({self.instance_class.__name__},{inner})"


class NamedTuple(_NamedBase):
    """A collections.namedtuple."""

    def __init__(self, types, cls):
        self.types = tuple(types)
        self.instance_class = cls
        self.fields = tuple(cls._fields)
        super().__init__(f"{cls.__name__}({', '.join(str(t) for t in self.types)})")


class NamedUniTuple(_NamedBase):
    """A collections.namedtuple whose fields have one type."""

    def __init__(self, dtype, count, cls):
        self.dtype = dtype
        self.types = (dtype,) * count
        self.instance_class = cls
        self.fields = tuple(cls._fields)
        super().__init__(f"{cls.__name__}({dtype} x {count})")


class Record(Type):
    """A structured NumPy dtype: fields are (name, {'type', 'offset', 'alignment', 'title'}), size in bytes."""

    mutable = True

    def __init__(self, fields, size: int, aligned: bool):
        self.fields = {name: dict(type=f["type"], offset=f["offset"], alignment=f.get("alignment"),
                                  title=f.get("title")) for name, f in fields}
        self.size = size
        self.aligned = aligned
        self.bitwidth = 8 * size
        inner = ",".join(f"{n}[type={f['type']};offset={f['offset']}"
                         + (f";alignment={f['alignment']}" if f["alignment"] is not None else "") + "]"
                         for n, f in self.fields.items())
        super().__init__(f"Record({inner};{size};{aligned})")

    def __len__(self) -> int:
        return len(self.fields)

    def offset(self, key: str) -> int:
        """Where the field starts, in bytes."""
        return self.fields[key]["offset"]

    def typeof(self, key: str) -> Type:
        """The field's type."""
        return self.fields[key]["type"]

    @property
    def members(self):
        """(name, type) of the fields in order of their offsets."""
        return [(n, f["type"]) for n, f in sorted(self.fields.items(), key=lambda item: item[1]["offset"])]

    @property
    def dtype(self) -> _np.dtype:
        """The NumPy dtype."""
        return as_dtype(self)

    def canonical_with(self, objects) -> str:
        inner = "".join(f",{n}@{f['offset']}:{f['type'].canonical_with(objects)}" for n, f in self.fields.items())
        return f"record({self.size},{int(self.aligned)}{inner})"


class CharSeq(Hashable):
    """A NumPy bytes scalar of `count` bytes."""

    mutable = True

    def __init__(self, count: int):
        self.count = count
        super().__init__(f"[char x {count}]")

    def canonical_with(self, objects) -> str:
        return f"char({self.count})"


class UnicodeCharSeq(Hashable):
    """A NumPy str scalar of `count` code points."""

    mutable = True

    def __init__(self, count: int):
        self.count = count
        super().__init__(f"[unichr x {count}]")

    def canonical_with(self, objects) -> str:
        return f"unichar({self.count})"


class _NPDatetimeBase(Hashable):
    kind = ""

    def __init__(self, unit: str):
        self.unit = unit
        super().__init__(f"{self.kind}64[{unit}]" if unit else f"{self.kind}64()")

    bitwidth = 64

    def canonical_with(self, objects) -> str:
        return f"{self.kind}({self.unit})"


class NPDatetime(_NPDatetimeBase):
    """datetime64 of one unit: an int64 that counts it."""

    kind = "datetime"


class NPTimedelta(_NPDatetimeBase):
    """timedelta64 of one unit: an int64 that counts it."""

    kind = "timedelta"


class Optional_(Type):
    """A value or None. Numba: `types.Optional`."""

    def __init__(self, typ: Type):
        self.type = typ.type if isinstance(typ, Optional_) else typ
        super().__init__(f"OptionalType({self.type})")

    @property
    def key(self):
        return self.type

    def canonical_with(self, objects) -> str:
        return f"optional({self.type.canonical_with(objects)})"


Optional_.__name__ = Optional_.__qualname__ = "Optional"


def _object_index(objects: List[Any], obj: Any) -> int:
    for i, o in enumerate(objects):
        if o is obj:
            return i
    objects.append(obj)
    return len(objects) - 1


class EnumMember(Type):
    """A member of an Enum whose values have one number type."""

    _prefix, _text = "enum", "Enum"

    def __init__(self, cls: type, dtype: Type):
        self.instance_class = cls
        self.dtype = dtype
        super().__init__(f"{self._text}<{dtype}>({cls.__name__})")

    @property
    def key(self):
        return self.instance_class, self.dtype

    def canonical_with(self, objects) -> str:
        return f"{self._prefix}({_object_index(objects, self.instance_class)},{self.dtype.canonical_with(objects)})"


class IntEnumMember(EnumMember):
    """A member of an IntEnum: also a number."""

    _prefix, _text = "intenum", "IntEnum"


class EnumClass(Dummy):
    """An Enum class as a value."""

    def __init__(self, cls: type, dtype: Type):
        self.instance_class = cls
        self.dtype = dtype
        super().__init__(f"Enum class<{dtype}>({cls.__name__})")

    @property
    def key(self):
        return self.instance_class, self.dtype


class IntEnumClass(EnumClass):
    """An IntEnum class as a value."""


class Dispatcher(Dummy):
    """A jitted function given as an argument; it has no run-time data."""

    def __init__(self, dispatcher):
        self.dispatcher = dispatcher
        super().__init__(f"type({dispatcher!r})")

    @property
    def key(self):
        return id(self.dispatcher)

    def canonical_with(self, objects) -> str:
        return f"function({_object_index(objects, self.dispatcher)})"


class NumberClass(Dummy):
    """A dtype given as an argument, for instance to `cuda.local.array`; it has no run-time data."""

    def __init__(self, instance_type: Type):
        self.instance_type = instance_type
        super().__init__(f"class({instance_type})")

    @property
    def key(self):
        return self.instance_type

    def canonical_with(self, objects) -> str:
        return f"function({_object_index(objects, self.instance_type)})"


class Function(Dummy):
    """A function object that the compiler knows."""

    def __init__(self, typing_key):
        self.typing_key = typing_key
        super().__init__(f"Function({typing_key})")


class Module(Dummy):
    """A module as a value."""

    def __init__(self, pymod):
        self.pymod = pymod
        super().__init__(f"Module({pymod})")


class Omitted(Opaque):
    """An argument that was left to its default value."""

    def __init__(self, default):
        self.value = default
        super().__init__(f"omitted(default={default!r})")

    @property
    def key(self):
        return type(self.value), id(self.value)


class Literal(Type):
    """A value known when compiling."""

    def __init__(self, value):
        self.literal_value = value
        super().__init__(f"Literal[{type(value).__name__}]({value})")

    @property
    def key(self):
        return type(self.literal_value), self.literal_value

    @property
    def literal_type(self) -> Type:
        """The type of the value when it is not known."""
        from .typing.typeof import typeof

        return typeof(self.literal_value)

    def canonical_with(self, objects) -> str:
        return self.literal_type.canonical_with(objects)


class IntegerLiteral(Literal):
    """An int known when compiling."""


class StringLiteral(Literal):
    """A str known when compiling."""


class BooleanLiteral(Literal):
    """A bool known when compiling."""


class SliceType(Type):
    """A slice with (2) or without (3 members) a step of 1."""

    def __init__(self, name: str, members: int):
        self.members = members
        super().__init__(name)


class VectorType(Type):
    """A vector of 1 to 4 numbers such as float32x4, CUDA's float4."""

    def __init__(self, name: str, base_type: Type, num_elements: int):
        self.base_type = base_type
        self.num_elements = num_elements
        super().__init__(name)

    @property
    def attr_names(self) -> _Tup[str, ...]:
        """x, y, z, w: as many as there are elements."""
        return ("x", "y", "z", "w")[: self.num_elements]

    def canonical_with(self, objects) -> str:
        return f"vec({self.base_type.canonical_with(objects)},{self.num_elements})"


class Dim3(Type):
    """The type of threadIdx and its like."""


def literal(value) -> Literal:
    """The literal type of an int, bool or str."""
    if isinstance(value, bool):
        return BooleanLiteral(value)
    if isinstance(value, int):
        return IntegerLiteral(value)
    if isinstance(value, str):
        return StringLiteral(value)
    from .core.errors import LiteralTypingError

    raise LiteralTypingError(f"{type(value)} cannot be used as a literal")


def maybe_literal(value) -> Optional[Literal]:
    """literal(), or None where there is none."""
    return literal(value) if isinstance(value, (bool, int, str)) else None


def unliteral(ty: Type) -> Type:
    """The type without the knowledge of the value."""
    return ty.literal_type if isinstance(ty, Literal) else ty


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

_SINGLETONS: Dict[_Tup[type, str], Type] = {
    (t.__class__, t.name): t
    for t in list(globals().values())
    if isinstance(t, Type) and not isinstance(t, (Array, BaseTuple))
}

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

def canonical_of(obj: Any) -> Optional_:
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


def from_display(text: str) -> Optional_:
    """The type that a message names, for numbers and arrays of them: "array(float32, 1d, C)"; None for others."""
    import re

    found = re.fullmatch(r"(readonly )?array\((\w+), (\d+)d, ([CFA])\)", text)
    if found:
        dtype = _PLAIN.get(found.group(2))
        return dtype and Array(dtype, int(found.group(3)), found.group(4), readonly=found.group(1) is not None)
    return _PLAIN.get(text)


_PLAIN = dict(_BY_DTYPE_NAME, none=none, void=none, str=unicode_type)
_PLAIN["bool"] = boolean
