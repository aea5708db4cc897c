"""The classes of types: what `warploom.cuda.types` makes its types of, under Numba's class names.

Source: Numba, "Types and signatures".
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple as _Tup

import numpy as _np

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


# (class, name) of the types that exist once; filled by `warploom.cuda.types`.
SINGLETONS: Dict[_Tup[type, str], Type] = {}


def _dtype_of(ty: Type) -> _np.dtype:
    from .types import as_dtype

    return as_dtype(ty)


def _rebuild(cls, state):
    found = SINGLETONS.get((cls, state.get("name")))
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
        return SINGLETONS[cls, ("int%d" if signed else "uint%d") % bitwidth]

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
        return bool(value)

    def canonical_with(self, objects) -> str:
        return "bool"


class Float(Number):
    """float16, bfloat16, float32 or float64."""

    def __init__(self, name: str):
        super().__init__(name)
        self.bitwidth = int("".join(c for c in name if c.isdigit()))

    def cast_python_value(self, value):
        return _dtype_of(self).type(value)

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
        return self.nitems * _dtype_of(self.dtype).itemsize

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
        return _dtype_of(self)

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
