"""Statements and typing rules of Python kernels: what Python does with the same function, and Numba's result types."""
import cmath
import math

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import types

from one_block import quiet, run  # noqa: F401


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


def isinstance_tests(out, x):
    t = (x, 1.5)
    out[0] = isinstance(x, int)
    out[1] = isinstance(t, tuple)
    out[2] = isinstance(t[1], (int, float))
    out[3] = isinstance(t, (int, float))
    out[4] = isinstance("text", str)


def loop_variables_live_on(out, x):
    for i in range(x + 1):
        last = 10 * i
    out[0] = i + last
    n = 0
    while n <= x:
        square = n * n
        n += 1
    out[1] = square


def assigned_on_other_paths(out, x):
    if x > 100:
        value = 1
    if x < 100:
        out[0] = 5
    else:
        out[0] = value
    out[1] = value if x > 100 else 3


HOST_CASES = [
    (isinstance_tests, 5), (loop_variables_live_on, 2), (assigned_on_other_paths, 2),
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
    (add, "float32", "float32", "float32"), (add, "float32", "float64", "float64"),
    (mul, "int16", "float32", "float32"),
    (mul, "uint16", "float32", "float32"), (mul, "int32", "float32", "float64"), (mul, "uint32", "float32", "float64"),
    (add, "int64", "float32", "float64"), (add, "bool", "float32", "float32"),
    (add, "complex64", "float32", "complex64"),
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
