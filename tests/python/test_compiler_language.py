"""The Python language in kernels: statements, typing rules, records, enums, tuples, strings, memory spaces, atomics.

Most cases run one thread and compare what the kernel writes with what Python or NumPy gives for the same function.
"""
import cmath
import enum
import math
import warnings
from collections import namedtuple

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import float32, int32, types
from warploom.cuda.core.errors import NumbaPerformanceWarning


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        yield


def run(function, *arguments, out=np.int64, count=1, block=1, **options):
    """What `function(out, *arguments)` writes as a kernel of one block."""
    result = np.zeros(count, dtype=out)
    cuda.jit(**options)(function)[1, block](result, *arguments)
    return result


# --- statements: the same function on the host and on the device ------------------------------------------------------


def if_chain(out, x):
    for i in range(out.size):
        v = x + i
        if v < 2:
            out[i] = 1
        elif v == 2:
            out[i] = 20
        else:
            out[i] = 300


def while_else(out, x):
    n = 0
    while n < x:
        n += 1
        if n == 100:
            break
    else:
        out[0] = 7
    out[1] = n
    while True:
        n -= 1
        if n < 0:
            break
    else:
        out[2] = 9
    out[3] = n


def for_else(out, x):
    for i in range(10):
        if i == x:
            out[0] = i
            break
    else:
        out[0] = -1
    for i in range(0):
        out[1] = 5
    else:
        out[1] = 6


def continue_and_nest(out, x):
    for i in range(x):
        if i % 2:
            continue
        for j in range(i, 10, 3):
            if j > 7:
                break
            out[0] += i * j
    for i in range(10, -10, -3):
        out[1] += i


def ternary_and_chains(out, x):
    out[0] = 1 if x > 3 else 2
    out[1] = 1 < x < 10
    out[2] = 1 < x < 2 < 10
    out[3] = 0 if not x else 4
    out[4] = (x and 5) + (0 or x)


def unpacking(out, x):
    a, b = x, x + 1
    a, b = b, a
    (c, d), e = (a, b), 3
    out[0], out[1], out[2], out[3] = a, b, c + d, e
    f = g = x
    out[4] = f + g


def nested_functions(out, x):
    scale = 3

    def times(v, by=scale):
        return v * by

    def twice(f, v):
        return f(f(v))

    out[0] = times(x)
    out[1] = twice(times, x)
    out[2] = (lambda v: v - scale)(x)
    out[3] = times(x, by=10)


def enumerate_zip(out, x):
    values = (x, 2 * x, 3 * x)
    for i, v in enumerate(values):
        out[i] += v
    for i, (v, w) in enumerate(zip(values, (1, 2, 3)), 3):
        out[i] = v * w
    for i, v in enumerate(out, -6):
        if i == -1:
            out[6] = v


def deletion(out, x):
    a = x
    for i in range(3):
        b = a + i
        del b
        b = i
        out[i] = b
    del a


def shadowing(out, x):
    range = x  # noqa: A001
    len = range + 1  # noqa: A001
    abs = lambda v: v + 100  # noqa: A001, E731
    out[0] = len
    out[1] = abs(-1)


def unreachable(out, x):
    if x > 0:
        out[0] = 1
        return
        out[0] = 2
    while False:
        out[0] = 3
    if False:
        out[0] = "text"
    out[0] = 4


def empty_loops(out, x):
    for _ in range(0):
        pass
    for i in range(5, 5):
        out[0] = i
    for i in range(3):
        pass
    out[1] = i
    for _ in ():
        out[0] = 1
    while x < 0:
        pass


def divisions(out, x):
    out[0], out[1] = divmod(x, 3)
    out[2], out[3] = divmod(-x, 3)
    out[4] = -x // 4
    out[5] = x % -4
    out[6] = int(-7.5 // 2)
    out[7] = round(2.5) + round(3.5)


def powers(out, x):
    out[0] = x ** 3
    out[1] = 2 ** x
    out[2] = pow(x, 2)
    out[3] = (-x) ** 3


def bits(out, x):
    out[0] = x << 3 | 1
    out[1] = ~x
    out[2] = (x ^ 0xFF) & 0x3C
    out[3] = -x >> 1


def bool_arithmetic(out, x):
    out[0] = True + True
    out[1] = (x > 2) * 10
    out[2] = (x > 2) & (x < 100)
    out[3] = not x
    out[4] = bool(x) | False


def minimum_maximum(out, x):
    out[0] = min(x, 3, 7)
    out[1] = max(x, 3, 7)
    out[2] = max((x, 1, 2))
    out[3] = abs(-x) + abs(x)


def sums(out, x):
    t = (x, x + 1, x + 2)
    out[0] = sum(t)
    out[1] = any((x == 1, x == 5))
    out[2] = all((x, 0))
    out[3] = len(t) + len(t[1:])
    out[4] = t[-1] + t[0:2][1] + t[::-1][0]


def augmented(out, x):
    a = x
    a += 1
    a *= 2
    a -= 3
    a //= 2
    a **= 2
    a %= 1000
    a <<= 2
    a >>= 1
    a |= 1
    a &= 0xFFF
    a ^= 5
    out[0] = a
    out[1] += x
    out[1] *= 3


def walrus(out, x):
    if (n := x + 1) > 3:
        out[0] = n
    while (n := n - 1) > 0:
        out[1] += n


def default_arguments(out, x):
    out[0] = with_defaults(x)
    out[1] = with_defaults(x, c=1)
    out[2] = with_defaults(c=x, a=2)
    out[3] = with_rest(1, x, 3, 4)
    out[4] = with_rest(*(1, 2))


def with_defaults(a, b=10, *, c=100):
    return a + b * c


def with_rest(a, *rest):
    total = a
    for v in rest:
        total += 10 * v
    return total


def recursion(out, x):
    out[0] = fibonacci(x)
    out[1] = is_even(x)


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


def loop_variable_changes_type(out, x):
    total = 0
    for i in range(x):
        total = total + 0.5
    out[0] = int(total * 2)
    value = x
    if x > 2:
        value = 2.5
    out[1] = int(value * 2)


def assigned_in_branches(out, x):
    if x > 2:
        a = 1
    else:
        a = 2
    if x > 100:
        b = 3
    else:
        b = a
    out[0] = a + b


def try_many_names(out, x):
    a_0 = b_0 = c_0 = x
    for _ in range(3):
        a_0, b_0, c_0 = b_0, c_0, a_0 + b_0
    out[0], out[1], out[2] = a_0, b_0, c_0


def none_value(out, x):
    nothing = None
    out[0] = nothing is None
    out[1] = maybe(x) is None
    if maybe(x) is not None:
        out[2] = maybe(x)
    out[3] = maybe(-1) is None


def maybe(x):
    if x > 0:
        return x
    return None


def deep_expression(out, x):
    out[0] = ((((((((((((((((((((x + 1) * 2) + 1) * 2) + 1) * 2) + 1) * 2) + 1) * 2) + 1) * 2) + 1) * 2) + 1) * 2)
                + 1) * 2) + 1) * 2)


HOST_CASES = [
    (if_chain, 4), (while_else, 5), (for_else, 2), (continue_and_nest, 5), (ternary_and_chains, 5), (unpacking, 5),
    (nested_functions, 5), (enumerate_zip, 7), (deletion, 3), (shadowing, 3), (unreachable, 2), (empty_loops, 2),
    (divisions, 8), (powers, 4), (bits, 4), (bool_arithmetic, 5), (minimum_maximum, 4), (sums, 5), (augmented, 2),
    (walrus, 2), (default_arguments, 5), (recursion, 2), (loop_variable_changes_type, 2), (assigned_in_branches, 1),
    (try_many_names, 3), (none_value, 4), (deep_expression, 1),
]


@pytest.mark.parametrize("value", [0, 3, 5, 9])
@pytest.mark.parametrize("function, count", HOST_CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_kernel_does_what_python_does(function, count, value):
    expected = np.zeros(max(count, 8), dtype=np.int64)
    function(expected, value)
    np.testing.assert_array_equal(run(function, value, count=max(count, 8)), expected)


def test_match_statement():
    source = """
def kernel(out, x):
    for i in range(out.size):
        match x + i:
            case 0 | 1:
                out[i] = 10
            case 2:
                out[i] = 20
            case n if n > 4:
                out[i] = n
            case _:
                out[i] = -1
"""
    scope = {}
    try:
        exec(source, scope)
    except SyntaxError:
        pytest.skip("match needs Python 3.10")
    np.testing.assert_array_equal(run(scope["kernel"], 0, count=6), [10, 10, 20, -1, -1, 5])


# --- typing rules: operands -> type of the result -------------------------------------------------------------------

SCALARS = {"bool": True, "int8": 5, "int16": 5, "int32": 5, "int64": 5, "uint8": 5, "uint16": 5, "uint32": 5,
           "uint64": 5, "float16": 2.5, "float32": 2.5, "float64": 2.5, "complex64": 1 + 2j, "complex128": 1 + 2j}


def result_type(function, *names):
    """The type that a device function returns for arguments of the types named."""
    signature = tuple(getattr(types, "boolean" if name == "bool" else name) for name in names)
    return str(cuda.compile(function, signature)[1])


add = eval("lambda a, b: a + b")
sub = eval("lambda a, b: a - b")
mul = eval("lambda a, b: a * b")
div = eval("lambda a, b: a / b")
floordiv = eval("lambda a, b: a // b")
mod = eval("lambda a, b: a % b")
shift = eval("lambda a, b: a << b")
band = eval("lambda a, b: a & b")
power = eval("lambda a, b: a ** b")

BINARY = [
    # integers meet in 64 bits: signed unless both are unsigned
    (add, "int32", "int32", "int64"), (add, "int8", "int16", "int64"), (add, "uint8", "uint32", "uint64"),
    (sub, "int32", "uint32", "int64"), (mul, "int64", "uint64", "int64"), (add, "uint64", "uint64", "uint64"),
    (add, "bool", "bool", "int64"), (add, "bool", "uint8", "int64"), (floordiv, "int32", "int32", "int64"),
    (mod, "uint16", "uint16", "uint64"),
    # true division gives a float
    (div, "int32", "int32", "float64"), (div, "int8", "float32", "float32"), (div, "int32", "float32", "float64"),
    (div, "float32", "float32", "float32"),
    # floats
    (add, "float32", "float32", "float32"), (add, "float32", "float64", "float64"), (mul, "int16", "float32", "float32"),
    (mul, "uint16", "float32", "float32"), (mul, "int32", "float32", "float64"), (mul, "uint32", "float32", "float64"),
    (add, "int64", "float32", "float64"), (add, "bool", "float32", "float32"), (add, "complex64", "float32", "complex64"),
    (add, "complex64", "float64", "complex128"), (mul, "complex64", "complex64", "complex64"),
    # bits
    (shift, "int32", "int32", "int64"), (shift, "uint32", "uint32", "uint64"), (band, "bool", "bool", "bool"),
    (band, "int16", "int16", "int64"),
    # powers
    (power, "int32", "int32", "int64"), (power, "float32", "int32", "float32"), (power, "float32", "int64", "float32"),
    (power, "float64", "int8", "float64"), (power, "float32", "float32", "float32"),
]


@pytest.mark.parametrize("function, left, right, expected", BINARY)
def test_type_of_a_binary_operation(function, left, right, expected):
    assert result_type(function, left, right) == expected


UNARY = [
    ("lambda a: -a", "int32", "int64"), ("lambda a: -a", "float32", "float32"), ("lambda a: ~a", "uint8", "uint64"),
    ("lambda a: ~a", "bool", "bool"), ("lambda a: +a", "int16", "int64"), ("lambda a: not a", "int32", "bool"),
    ("lambda a: abs(a)", "int32", "int32"), ("lambda a: abs(a)", "float32", "float32"),
    ("lambda a: abs(a)", "complex64", "float32"), ("lambda a: a * 2.0", "float32", "float64"),
    ("lambda a: a * 2", "float32", "float64"), ("lambda a: a + 1", "int32", "int64"),
    ("lambda a: a + 1", "uint8", "int64"), ("lambda a: a ** 2", "float32", "float32"),
    ("lambda a: 1j * a", "float32", "complex128"), ("lambda a: round(a)", "float32", "int64"),
    ("lambda a: round(a, 2)", "float32", "float32"), ("lambda a: int(a)", "float32", "int64"),
    ("lambda a: float(a)", "int32", "float64"), ("lambda a: bool(a)", "int32", "bool"),
    ("lambda a: complex(a)", "float32", "complex64"), ("lambda a: max(a, 1)", "int32", "int64"),
    ("lambda a: a if a else 1.5", "int32", "float64"), ("lambda a: a.real", "complex64", "float32"),
    ("lambda a: math.sin(a)", "float32", "float32"), ("lambda a: math.sin(a)", "int32", "float64"),
    ("lambda a: math.floor(a)", "float32", "float32"), ("lambda a: math.ceil(a)", "int32", "float64"),
    ("lambda a: cmath.sqrt(a)", "complex64", "complex64"), ("lambda a: (a, 1)[0]", "int8", "int8"),
    ("lambda a: np.float32(a)", "float64", "float32"), ("lambda a: np.uint8(a)", "int64", "uint8"),
    ("lambda a: cuda.threadIdx.x", "int32", "int32"), ("lambda a: cuda.grid(1)", "int32", "int64"),
    ("lambda a: len((a, a))", "int32", "int64"), ("lambda a: 9223372036854775807", "int32", "int64"),
    ("lambda a: 9223372036854775808", "int32", "uint64"), ("lambda a: sum((a, a))", "int32", "int64"),
]


@pytest.mark.parametrize("text, operand, expected", UNARY)
def test_type_of_an_expression(text, operand, expected):
    scope = {"math": math, "cmath": cmath, "np": np, "cuda": cuda}
    function = eval(compile(text, f"<{text}>", "eval"), scope)
    assert result_type(function, operand) == expected


@pytest.mark.parametrize("operand, expected", [("int32", "int32"), ("int64", "int64"), ("uint64", "uint64")])
def test_type_of_a_range(operand, expected):
    def last(n):
        found = n
        for i in range(n):
            found = i
        return found

    assert result_type(last, operand) == expected


def test_narrow_typing_keeps_32_bits():
    def kernel(a, b):
        return a * b + 1

    assert str(cuda.compile(kernel, (types.int32, types.int32), typing="narrow")[1]) == "int32"
    assert str(cuda.compile(lambda x: x * 2.0, (types.float32,), typing="narrow")[1]) == "float32"


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
    np.testing.assert_array_equal(run(kernel, a if order != "A" else cuda.to_device(np.arange(48, dtype=np.int32).reshape(6, 8))[::2, ::2],
                                      count=10), expected)


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


# --- threads --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64])
def test_atomic_arithmetic(dtype):
    @cuda.jit
    def kernel(a, values):
        i = cuda.grid(1)
        v = values[i]
        cuda.atomic.add(a, 0, v)
        cuda.atomic.sub(a, 1, v)
        cuda.atomic.max(a, 2, v)
        cuda.atomic.min(a, 3, v)
        cuda.atomic.exch(a, 4, values[0])
        cuda.atomic.add(a, -1, 1)

    values = np.arange(1, 65).astype(dtype)
    a = np.array([0, 5000, 0, 5000, 0, 0], dtype=dtype)
    kernel[2, 32](a, values)
    assert a.tolist() == [2080, 2920, 64, 1, 1, 64]


def test_atomic_old_values_and_swaps():
    @cuda.jit
    def kernel(counter, order, b):
        i = cuda.grid(1)
        order[i] = cuda.atomic.add(counter, 0, 1)
        cuda.atomic.or_(b, 0, 1 << i)
        cuda.atomic.and_(b, 1, ~(1 << i))
        cuda.atomic.xor(b, 2, 3)
        cuda.atomic.inc(b, 3, 5)
        cuda.atomic.dec(b, 4, 5)
        cuda.atomic.cas(b, 5, 0, i + 1)
        cuda.atomic.compare_and_swap(b[6:], 9, i)

    counter, order = np.zeros(1, np.int32), np.zeros(16, np.int32)
    b = np.array([0, 0xFFFF, 5, 0, 0, 0, 8], dtype=np.uint32)
    kernel[1, 16](counter, order, b)
    assert sorted(order) == list(range(16)) and counter[0] == 16
    assert b[:5].tolist() == [0xFFFF, 0, 5, 16 % 6, (0 - 16) % 6]
    assert 1 <= b[5] <= 16 and b[6] == 8


def test_atomics_on_shared_memory_and_two_dimensions():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        s = cuda.shared.array((2, 2), int32)
        if i < 4:
            s[i // 2, i % 2] = 0
        cuda.syncthreads()
        cuda.atomic.add(s, (i % 2, 1), i)
        cuda.syncthreads()
        if i < 4:
            out[i] = s[i // 2, i % 2]

    out = np.zeros(4, dtype=np.int32)
    kernel[1, 32](out)
    assert out.tolist() == [0, sum(range(0, 32, 2)), 0, sum(range(1, 32, 2))]


def test_warp_operations():
    @cuda.jit
    def kernel(out, ballots):
        i = cuda.threadIdx.x
        full = 0xFFFFFFFF
        out[0, i] = cuda.shfl_sync(full, i, 3)
        out[1, i] = cuda.shfl_up_sync(full, i, 1)
        out[2, i] = cuda.shfl_down_sync(full, 1.5 * i, 2)
        out[3, i] = cuda.shfl_xor_sync(full, i, 16)
        ballots[i] = cuda.ballot_sync(full, i % 2)
        out[4, i] = cuda.all_sync(full, i < 32)
        out[5, i] = cuda.any_sync(full, i == 40)
        out[6, i] = cuda.popc(cuda.match_any_sync(full, i % 4))
        out[7, i] = cuda.laneid + cuda.warpsize

    out, ballots = np.zeros((8, 32)), np.zeros(32, dtype=np.uint32)
    kernel[1, 32](out, ballots)
    i = np.arange(32)
    np.testing.assert_array_equal(out[0], 3)
    np.testing.assert_array_equal(out[1], np.maximum(i - 1, 0))
    np.testing.assert_array_equal(out[2], 1.5 * np.where(i < 30, i + 2, i))
    np.testing.assert_array_equal(out[3], i ^ 16)
    assert set(ballots) == {0xAAAAAAAA}
    assert (out[4] == 1).all() and (out[5] == 0).all() and (out[6] == 8).all()
    np.testing.assert_array_equal(out[7], i + 32)


def test_block_votes_and_grid_barrier():
    @cuda.jit
    def kernel(out, data):
        i = cuda.grid(1)
        data[i] = i
        cuda.cg.this_grid().sync()
        out[i] = data[data.size - 1 - i]
        count = cuda.syncthreads_count(i % 4 == 0)
        if cuda.threadIdx.x == 0:
            out[data.size + cuda.blockIdx.x] = count

    out, data = np.zeros(36, dtype=np.int32), np.zeros(32, dtype=np.int32)
    kernel[4, 8](out, data)
    assert out.tolist() == list(range(31, -1, -1)) + [2, 2, 2, 2]


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_grid_positions(ndim):
    source = f"""
def kernel(out):
    place = cuda.grid({ndim})
    size = cuda.gridsize({ndim})
    if {ndim} == 1:
        out[place] = size
    else:
        out[place] = size[0] * 100 + size[1]
"""
    scope = {"cuda": cuda}
    exec(source, scope)
    shape = (4, 6, 2)[:ndim]
    out = np.zeros(shape, dtype=np.int32)
    cuda.jit(scope["kernel"])[(2, 3, 1)[:ndim], (2, 2, 2)[:ndim]](out)
    assert (out == (4 if ndim == 1 else 406)).all()


# --- print and exceptions -------------------------------------------------------------------------------------------


def test_print(capfd):
    @cuda.jit
    def kernel(x, t):
        print("x =", x, 1.5, True, t, None)
        print(f"sum {x + 1} done")
        print()

    kernel[1, 1](41, (1, (2.0, np.float32(0.5))))
    cuda.synchronize()
    assert capfd.readouterr().out == "x = 41 1.500000 True (1, (2.000000, 0.500000)) None\nsum 42 done\n\n"


class OwnError(Exception):
    pass


@pytest.mark.parametrize("index, cls, text", [(0, ValueError, "too small 3"), (1, OwnError, ""),
                                              (2, AssertionError, "not two"), (3, ZeroDivisionError, "division by zero")])
def test_exceptions_with_debug(index, cls, text):
    @cuda.jit(debug=True, opt=False)
    def kernel(out, which):
        i = cuda.grid(1)
        if i == 5:
            if which == 0:
                raise ValueError("too small", 3)
            if which == 1:
                raise OwnError
            assert which != 2, "not two"
            out[0] = 1 // (which - 3)

    with pytest.raises(cls) as caught:
        kernel[2, 4](np.zeros(1), index)
    message = str(caught.value)
    assert "tid=[1, 0, 0] ctaid=[1, 0, 0]" in message
    for part in text.split():
        assert part in message


def test_division_by_zero_without_debug_does_not_raise():
    def kernel(out, x):
        out[0] = 1.0 / x
        out[1] = 1 // x

    result = run(kernel, 0, out=np.float64, count=2)
    cuda.synchronize()
    assert np.isinf(result[0])


def test_bounds_check():
    @cuda.jit(boundscheck=True)
    def kernel(a, i):
        a[i] = 1

    kernel[1, 1](np.zeros(4), 3)
    cuda.synchronize()
    with pytest.raises(IndexError):
        kernel[1, 1](np.zeros(4), 4)
        cuda.synchronize()


def test_device_function_signatures():
    @cuda.jit(["int64(int64, int64)", "float64(float64, float64)"], device=True)
    def combine(a, b):
        return a / b

    @cuda.jit
    def kernel(out, x, y):
        out[0] = combine(x, y)

    out = np.zeros(1)
    kernel[1, 1](out, 7, 2)
    assert out[0] == 3
    kernel[1, 1](out, 7.0, np.float32(2))
    assert out[0] == 3.5
