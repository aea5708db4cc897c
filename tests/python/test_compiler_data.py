"""Data in Python kernels: records, enums, tuples, strings, dates, complex numbers, slices and memory spaces."""
import enum
from collections import namedtuple

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import float32, int32

from one_block import quiet, run  # noqa: F401


# --- records --------------------------------------------------------------------------------------------------------

POINT = np.dtype([("x", np.float32), ("y", np.float64)], align=True)
PACKED = np.dtype([("tag", np.uint8), ("x", np.float64), ("n", np.int32)])
NESTED = np.dtype([("id", np.int16), ("at", POINT), ("row", np.int32, (3,)), ("grid", np.float32, (2, 2)),
                   ("name", "S5")], align=True)


@pytest.mark.parametrize("dtype", [POINT, PACKED, NESTED], ids=["aligned", "packed", "nested"])
def test_records_are_copied_whole(dtype):
    @cuda.jit
    def copy(target, source):
        i = cuda.grid(1)
        if i < target.size:
            target[i] = source[i]

    source = np.frombuffer(np.arange(1, 1 + 4 * dtype.itemsize, dtype=np.uint8).tobytes(), dtype=dtype)
    target = np.zeros(4, dtype=dtype)
    copy[1, 4](target, source)
    assert target.tobytes() == source.tobytes()


def test_record_fields_by_attribute_and_by_name():
    @cuda.jit
    def kernel(r, out):
        r[0].x = 1.5
        r[0]["y"] = r[0].x * 2
        p = r[1]
        p["x"] += 4
        p.y = r[0]["y"] - 1
        out[0] = r[1].y

    r, out = np.zeros(2, dtype=POINT), np.zeros(1)
    kernel[1, 1](r, out)
    assert (r["x"].tolist(), r["y"].tolist(), out[0]) == ([1.5, 4.0], [3.0, 2.0], 2.0)


def test_unaligned_fields():
    @cuda.jit
    def kernel(r):
        for i in range(r.size):
            r[i].x = r[i].tag * 1.5
            r[i].n -= i

    r = np.zeros(3, dtype=PACKED)
    r["tag"] = [2, 4, 6]
    kernel[1, 1](r)
    assert (r["x"].tolist(), r["n"].tolist()) == ([3.0, 6.0, 9.0], [0, -1, -2])


def test_nested_records_and_arrays_in_records():
    @cuda.jit
    def kernel(r, out):
        a = r[0]
        a.at.x = 2
        a["at"]["y"] = 3
        for i in range(3):
            a.row[i] = i * i
        a.grid[1, 0] = 5
        a.grid[0] = 7
        r[1].row = a.row
        out[0] = a.at.x + a["at"].y
        out[1] = a.row[-1] + len(a.row)
        out[2] = a.grid[1, 0] + a.grid.shape[1]

    r, out = np.zeros(2, dtype=NESTED), np.zeros(3)
    kernel[1, 1](r, out)
    assert out.tolist() == [5, 7, 7]
    assert r["row"].tolist() == [[0, 1, 4], [0, 1, 4]]
    assert r["grid"][0].tolist() == [[7, 7], [5, 0]]
    assert r["at"][0].tolist() == (2.0, 3.0)


def test_record_as_argument():
    @cuda.jit
    def kernel(r, out):
        out[0] = r.x + r["y"]

    out = np.zeros(1)
    kernel[1, 1](np.array([(1.5, 2.0)], dtype=POINT)[0], out)
    assert out[0] == 3.5


def test_field_of_all_records_is_a_view():
    @cuda.jit
    def kernel(r):
        xs = r["x"]
        for i in range(xs.size):
            xs[i] = i

    r = np.zeros(3, dtype=PACKED)
    kernel[1, 1](r)
    assert r["x"].tolist() == [0, 1, 2] and r["tag"].tolist() == [0, 0, 0]


def test_frozen_record_and_const_records():
    table = np.array([(1, 2), (3, 4)], dtype=POINT)

    @cuda.jit
    def kernel(out):
        frozen = cuda.const.array_like(table)
        out[0] = frozen[1].x + table[0].y

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == 5


# --- enums, tuples, strings, dates ----------------------------------------------------------------------------------


class Color(enum.Enum):
    red = 1
    blue = 5


class Level(enum.IntEnum):
    low = 10
    high = 20


Pair = namedtuple("Pair", "first second")


def test_enums():
    @cuda.jit
    def kernel(out, c, n):
        out[0] = c == Color.blue
        out[1] = c is Color.red
        out[2] = n + Level.low
        out[3] = n > Level.low
        out[4] = Color.blue.value
        out[5] = Level["high"]
        if n == Level.high:
            out[6] = out[Level.low - 10] + 1

    out = np.zeros(7, dtype=np.int64)
    kernel[1, 1](out, Color.blue, Level.high)
    assert out.tolist() == [1, 0, 30, 1, 5, 20, 2]


def test_tuple_arguments():
    @cuda.jit
    def kernel(out, t, p):
        (a, b), c = t
        out[0] = a + b + c[1]
        out[1] = p.first + p[1]
        out[2] = len(t) + len(p)
        x = out.size - 3
        out[3] = (10, 20, 30)[x]

    out = np.zeros(4)
    kernel[1, 1](out, ((1, 2.5), (3, np.float32(4))), Pair(5, 6.5))
    assert out.tolist() == [7.5, 11.5, 4, 20]


def test_arrays_in_tuples_and_made_tuples():
    @cuda.jit
    def kernel(out, arrays):
        for i, a in enumerate(arrays):
            out[i] = a[0]
        made = Pair(out[0], second=out[1])
        out[2] = made.second - made.first
        out[3] = max(made)

    out = np.zeros(4)
    kernel[1, 1](out, (np.array([3], np.int32), np.array([4.5])))
    assert out.tolist() == [3, 4.5, 1.5, 4.5]


def test_strings():
    names = np.array(["ab", "abc", "xyz"], dtype="S4")

    @cuda.jit
    def kernel(out, s):
        out[0] = s[0] == s[1]
        out[1] = s[1] == "abc"
        out[2] = s[2] != "xyz"
        out[3] = len(s[0])
        out[4] = "one" == "one"
        s[0] = "new"

    out = np.zeros(5, dtype=np.int64)
    kernel[1, 1](out, names)
    assert out.tolist() == [0, 1, 0, 2, 1]
    assert names[0] == b"new"


def test_dates():
    @cuda.jit
    def kernel(out, days, span):
        out[0] = days[1] - days[0]
        out[1] = span * 2
        days[1] = days[0] + span
        out[2] = abs(-span)

    days = np.array(["2020-01-01", "2020-03-01"], dtype="datetime64[D]")
    out = np.zeros(3, dtype="timedelta64[D]")
    kernel[1, 1](out, days, np.timedelta64(5, "D"))
    assert out.astype(int).tolist() == [60, 10, 5]
    assert str(days[1]) == "2020-01-06"


def test_complex_numbers():
    def kernel(out, z):
        out[0] = z * z + 1j
        out[1] = z.conjugate() / (2 + 0j)
        out[2] = complex(z.imag, z.real)
        out[3] = -z
        out[4] = z == z

    z = 1.5 - 2j
    expected = np.zeros(5, dtype=np.complex128)
    kernel(expected, z)
    np.testing.assert_allclose(run(kernel, z, out=np.complex128, count=5), expected)


# --- arrays, slices, memory spaces ----------------------------------------------------------------------------------

SLICES = ["a[2:7]", "a[:-1]", "a[::2]", "a[::-1]", "a[-3:]", "a[8:2:-2]", "a[5:5]", "a[100:]", "a[-100:3]", "a[:]",
          "a[...]", "a[1:8][::2]", "a.reshape(5, 2)[1:3, 0]", "a.reshape((2, 5))[:, ::2].T[0]"]


@pytest.mark.parametrize("text", SLICES)
def test_slices_are_views(text):
    scope = {"np": np}
    source = f"def kernel(out, a):\n    v = {text}\n    out[0] = v.size\n    for i in range(v.shape[0]):\n" \
             "        out[1 + i] = v[i]\n        v[i] = -1\n"
    exec(source, scope)
    a, b = np.arange(10.0), np.arange(10.0)
    expected = np.zeros(12)
    scope["kernel"](expected, a)
    out = np.zeros(12)
    cuda.jit(scope["kernel"])[1, 1](out, b)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(b, a)


ASSIGNMENTS = ["a[2:5] = 7", "a[:] = b[0]", "a[1] = b[2]", "a[:, 1] = 3", "a[0, :] = b[1]", "a[::2] = b[::2]",
               "a[...] = 2", "a[-1, 1:3] = (8, 9)", "a[1:3, 1:3] = b[0, :2]", "a[0] += b[1, 1]"]


@pytest.mark.parametrize("text", ASSIGNMENTS)
def test_slice_assignment(text):
    if "+=" in text:
        text = "a[0, 0] += b[1, 1]"
    scope = {}
    exec(f"def kernel(a, b):\n    {text}\n", scope)
    a, c = np.zeros((5, 4)), np.zeros((5, 4))
    b = np.arange(20.0).reshape(5, 4)
    scope["kernel"](a, b)
    cuda.jit(scope["kernel"])[1, 1](c, b)
    np.testing.assert_array_equal(c, a)


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_array_attributes(order):
    def kernel(out, a):
        out[0] = a.ndim
        out[1] = a.size
        out[2] = a.itemsize
        out[3], out[4] = a.shape
        out[5], out[6] = a.strides
        out[7] = a.T.shape[0] + len(a)
        out[8] = a[1, -1]
        out[9] = a.nbytes

    a = np.asarray(np.arange(12, dtype=np.int32).reshape(3, 4), order="F" if order == "F" else "C")
    if order == "A":
        a = np.arange(48, dtype=np.int32).reshape(6, 8)[::2, ::2]
    expected = np.zeros(10, dtype=np.int64)
    kernel(expected, a)
    given = cuda.to_device(np.arange(48, dtype=np.int32).reshape(6, 8))[::2, ::2] if order == "A" else a
    np.testing.assert_array_equal(run(kernel, given, count=10), expected)


SIZE = 32


def test_shared_memory_kinds():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        a = cuda.shared.array(SIZE, int32)
        b = cuda.shared.array((4, 8), "float32")
        c = cuda.shared.array(shape=SIZE, dtype=np.int64, alignment=64)
        a[i] = i
        b[i // 8, i % 8] = 2 * i
        c[i] = 3 * i
        cuda.syncthreads()
        j = SIZE - 1 - i
        out[i] = a[j] + b[j // 8, j % 8] + c[j]

    out = np.zeros(SIZE)
    kernel[1, SIZE](out)
    assert out.tolist() == [6 * (SIZE - 1 - i) for i in range(SIZE)]


def test_dynamic_shared_memory():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        whole = cuda.shared.array(0, int32)
        as_float = cuda.shared.array(0, float32)
        first, second = whole[:SIZE], whole[SIZE:]
        first[i] = i
        second[-1 - i] = 100 * i
        cuda.syncthreads()
        out[i] = whole[i] + whole[SIZE + i]
        if i == 0:
            whole[0] = 0x3F800000
            out[SIZE] = as_float[0]
            out[SIZE + 1] = whole.size

    out = np.zeros(SIZE + 2)
    kernel[1, SIZE, 0, SIZE * 8](out)
    assert out[:SIZE].tolist() == [i + 100 * (SIZE - 1 - i) for i in range(SIZE)]
    assert out[SIZE:].tolist() == [1.0, 2 * SIZE]


def test_local_and_const_arrays():
    table = np.arange(6, dtype=np.float64).reshape(2, 3)[:, ::-1]

    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        mine = cuda.local.array((2, 3), np.float64)
        known = cuda.const.array_like(table)
        for r in range(2):
            for c in range(3):
                mine[r, c] = known[r, c] + i
        out[i] = mine[1, 0] * 10 + mine[0, 2]

    out = np.zeros(4)
    kernel[1, 4](out)
    assert out.tolist() == [(5 + i) * 10 + i for i in range(4)]


def test_globals_are_frozen():
    scope = {"cuda": cuda, "limit": 3, "values": (1, 2.5), "array": np.array([7, 8])}
    exec("@cuda.jit\ndef kernel(out):\n    out[0] = limit\n    out[1] = values[1]\n    out[2] = array[1]\n", scope)
    out = np.zeros(3)
    scope["kernel"][1, 1](out)
    scope["limit"] = 4
    scope["array"][1] = 0
    scope["kernel"][1, 1](out)
    assert out.tolist() == [3, 2.5, 8]


def test_device_array_of_a_global_is_read_when_the_kernel_runs():
    table = cuda.to_device(np.arange(4))

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = table[i]

    out = np.zeros(4)
    kernel[1, 4](out)
    assert out.tolist() == [0, 1, 2, 3]
    table[2] = 50
    kernel[1, 4](out)
    assert out.tolist() == [0, 1, 50, 3]


def test_copy_of_an_array_whose_shape_is_known():
    table = np.arange(6.0).reshape(2, 3)[:, ::-1]

    @cuda.jit
    def kernel(out):
        mine = table.copy()
        mine[0, 0] += cuda.grid(1)
        out[cuda.grid(1)] = mine[0, 0] + mine[1, 2]

    out = np.zeros(3)
    kernel[1, 3](out)
    assert out.tolist() == [5.0, 6.0, 7.0]
