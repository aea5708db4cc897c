"""Types, signatures, typeof and canonical strings."""

import enum
import pickle
from collections import namedtuple

import numpy as np
import pytest

from warploom.cuda import types
from warploom.cuda.core.errors import TypingError
from warploom.cuda.typing import normalize_signature, signature
from warploom.cuda.typing.typeof import typeof


class Color(enum.Enum):
    red = 1
    green = 2


class Shape(enum.IntEnum):
    square = 1
    circle = 2


Point = namedtuple("Point", "x y")
RECORD = np.dtype([("a", "i4"), ("b", "f8", (2, 3)), ("c", "S4")], align=True)


@pytest.mark.parametrize("value, text, canonical", [
    (1, "int64", "int64"),
    (2**63, "uint64", "uint64"),
    (1.5, "float64", "float64"),
    (1j, "complex128", "complex128"),
    (True, "bool", "bool"),
    (None, "none", "none"),
    (np.int8(1), "int8", "int8"),
    (np.float16(1), "float16", "float16"),
    (np.datetime64("2020-01-01"), "datetime64[D]", "datetime(D)"),
    (np.zeros(3, np.float32), "array(float32, 1d, C)", "array(float32,1,C)"),
    (np.zeros((2, 3)).T, "array(float64, 2d, F)", "array(float64,2,F)"),
    (np.zeros(6)[::2], "array(float64, 1d, A)", "array(float64,1,A)"),
    (np.zeros(()), "array(float64, 0d, C)", "array(float64,0,C)"),
    ((1, 2), "UniTuple(int64 x 2)", "tuple(int64,int64)"),
    ((1, 2.0), "Tuple(int64, float64)", "tuple(int64,float64)"),
    (Point(1, 2.0), "Point(int64, float64)", "namedtuple(Point,x:int64,y:float64)"),
    (Color.red, "Enum<int64>(Color)", "enum(0,int64)"),
    (Shape.circle, "IntEnum<int64>(Shape)", "intenum(0,int64)"),
    (np.zeros(1, RECORD)[0], None, "record(64,1,a@0:int32,b@8:nested(float64,2x3),c@56:char(4))"),
])
def test_typeof(value, text, canonical):
    ty = typeof(value)
    assert ty.canonical == canonical
    if text is not None:
        assert str(ty) == text


def test_readonly_array():
    array = np.zeros(3)
    array.flags.writeable = False
    assert typeof(array).canonical == "array(float64,1,C,ro)"
    assert typeof(array) != typeof(np.zeros(3))


def test_unknown_argument_is_both_errors():
    with pytest.raises(TypingError):
        typeof(object())
    with pytest.raises(ValueError):
        typeof(object())


@pytest.mark.parametrize("index, layout, ndim", [
    (slice(None), "A", 1), (slice(None, None, 1), "C", 1), ((slice(None), slice(None)), "A", 2),
    ((slice(None), slice(None, None, 1)), "C", 2), ((slice(None, None, 1), slice(None)), "F", 2),
])
def test_array_spec(index, layout, ndim):
    ty = types.float32[index]
    assert (ty.layout, ty.ndim, ty.dtype) == (layout, ndim, types.float32)


@pytest.mark.parametrize("text", [
    "int32", "array(float32,2,F)", "array(float32,1,C,ro)", "ptr(int32)", "tuple(int64,array(float32,1,A))",
    "record(16,0,a@0:int32,b@8:float64)", "char(4)", "unichar(3)", "datetime(s)", "timedelta()", "optional(float32)",
    "vec(float32,4)", "none", "bool",
])
def test_canonical_round_trip(text):
    assert types.from_canonical(text).canonical == text


@pytest.mark.parametrize("obj, canonical", [
    (np.float32, "float32"), (int, "int64"), (float, "float64"), (bool, "bool"), (complex, "complex128"),
    ("float32", "float32"), ("int33", None), (np.dtype("i2"), "int16"), (types.uint8, "uint8"), (np.bool_, "bool"),
    (RECORD, "record(64,1,a@0:int32,b@8:nested(float64,2x3),c@56:char(4))"), (3, None), (np.sin, None), (print, None),
])
def test_canonical_of(obj, canonical):
    assert types.canonical_of(obj) == canonical


def test_record_round_trips_to_the_dtype():
    assert types.as_dtype(types.from_dtype(RECORD)) == RECORD


def test_signatures():
    sig = types.void(types.float32[:], types.int32)
    assert sig == signature(types.void, types.float32[:], types.int32)
    assert normalize_signature("void(float32[:], int32)") == normalize_signature(sig)
    assert normalize_signature("(int64, float64)") == ((types.int64, types.float64), None)
    assert normalize_signature("void(CPointer(int32), UniTuple(int64, 2))")[0] == (
        types.CPointer(types.int32), types.UniTuple(types.int64, 2))


@pytest.mark.parametrize("text", ["__import__('os')", "(lambda: 1)()", "float32.__class__", "void(int32"])
def test_signature_text_runs_no_code(text):
    with pytest.raises((TypeError, NameError)):
        normalize_signature(text)


def test_pickling_keeps_identity():
    assert pickle.loads(pickle.dumps(types.int32)) is types.int32
    assert pickle.loads(pickle.dumps(types.float32[:, ::1])) == types.float32[:, ::1]


def test_types_cast_values_on_the_host():
    assert types.boolean(2) is True and types.int8(300 - 256) == 44 and types.complex64(1) == 1
    assert isinstance(types.float32(1), np.float32)


def test_display_strings():
    for ty in (types.float32[:], types.int8[::1, :], types.boolean, types.float64):
        assert types.from_display(str(ty)) == ty
    assert types.from_display("Record(x)") is None
