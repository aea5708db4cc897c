"""What a kernel cannot do is refused with the class Numba raises, the file, the line and a caret under the place."""
import builtins
import enum
import math
import re
import textwrap

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import float32, types
from warploom.cuda.core import errors

ARRAY = types.Array(types.float32, 1, "C")
SIGNATURE = (ARRAY, types.int32)


class Color(enum.Enum):
    red = 1


def define(body, **names):
    """The function `kernel(x, n)` with this body."""
    source = "def kernel(x, n):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
    scope = dict(globals(), **names)
    exec(compile(source, "<kernel source>", "exec"), scope)
    return scope["kernel"]


def refusal(body, signature=SIGNATURE, cls=Exception, **names):
    """The exception that compiling the body raises."""
    with pytest.raises(cls) as caught:
        cuda.compile_ptx(define(body, **names), signature)
    return caught.value


def marked(message):
    """(line number, text above the carets) of a message."""
    lines = message.split("\n")
    for i, line in enumerate(lines):
        if re.fullmatch(r"\s*\^+", line):
            start, end = line.index("^"), len(line)
            place = next(re.search(r'File "([^"]+)", line (\d+)', one) for one in lines[:i][::-1] if "File" in one)
            return int(place.group(2)), lines[i - 1][start:end]
    raise AssertionError("no caret in:\n" + message)


# body, class, fragment of the message, line of the body (from 1), text above the caret
REFUSALS = [
    # names
    ("x[0] = y", "TypingError", "NameError: name 'y' is not defined", 1, "y"),
    ("x[0] = math.nothing", "TypingError", "Unknown attribute 'nothing' of type Module", 1, "math.nothing"),
    ("x[0] = x.nothing", "TypingError", "Unknown attribute 'nothing' of type array(float32, 1d, C)", 1, "x.nothing"),
    ("x[0] = n\nx[1] = a\na = 1", "TypingError", "local variable 'a' is read before", 2, "a"),
    ("a = 1\ndel a\nx[0] = a", "TypingError", "'a'", 3, "a"),
    # types
    ("a = 1\nif n:\n    a = 's'\nx[0] = a", "TypingError", "Cannot unify", 4, "a"),
    ("x[0] = 's'", "TypingError", "cannot store", 1, None),
    ("x[0] = x", "TypingError", "cannot store", 1, None),
    ("x[0] = n + 's'", "TypingError", "No implementation of function Function(<built-in function add>)", 1, "n + 's'"),
    ("x[0] = n & 1.5", "TypingError", "No implementation of function Function(<built-in function and_>)", 1, "n & 1.5"),
    ("x[0] = 1.0 << n", "TypingError", "No implementation of function", 1, "1.0 << n"),
    ("x[0] = ~1.5", "TypingError", "No implementation of function", 1, "~1.5"),
    ("x[0] = 1j < 2", "TypingError", "No implementation of function", 1, "1j < 2"),
    ("x[0] = len(n)", "TypingError", "No implementation of function Function(<built-in function len>)", 1, "len(n)"),
    ("for i in n:\n    x[0] = i", "TypingError", "is not iterable", 1, "n"),
    ("for i in range(1.5):\n    x[0] = i", "TypingError", "range needs integers", 1, "range(1.5)"),
    ("x[1.5] = 1", "TypingError", "unsupported array index type", 1, None),
    ("x[0, 1] = 1", "TypingError", "cannot index", 1, None),
    ("x['f'] = 1", "TypingError", "unsupported array index type", 1, None),
    ("a, b = n, n, n", "TypingError", "cannot unpack 3 values into 2 names", 1, "a, b"),
    ("a, b = n", "TypingError", "failed to unpack", 1, "a, b"),
    ("(1, 2)[5]\nx[0] = (1, 2)[5]", "TypingError", "tuple index 5 is out of range", 1, "(1, 2)[5]"),
    ("x[0] = (1, 'a')[n]", "TypingError", "elements differ in type", 1, "(1, 'a')[n]"),
    ("t = (1, 2)\nt[0] = 3", "TypingError", "tuples cannot be changed", 2, "t[0]"),
    ("n()", "TypingError", "Cannot call non-function type", 1, "n()"),
    ("x[0] = n.real.nothing", "TypingError", "Unknown attribute 'nothing' of type int32", 1, "n.real.nothing"),
    ("x[0] = 1 in x", "TypingError", "'in' needs a tuple", 1, "1 in x"),
    ("x[0] = Color.green", "TypingError", "Unknown attribute 'green'", 1, "Color.green"),
    ("return n", "TypeError", "CUDA kernel must have void return type.", 1, "return n"),
    # calls
    ("x[0] = helper()", "TypingError", "helper() missing a required argument: 'a'", 1, "helper()"),
    ("x[0] = helper(1, 2, 3)", "TypingError", "helper() takes 2 positional arguments but 3 were given", 1, None),
    ("x[0] = helper(1, c=2)", "TypingError", "unexpected keyword argument 'c'", 1, "helper(1, c=2)"),
    ("x[0] = helper(1, a=2)", "TypingError", "multiple values for argument 'a'", 1, "helper(1, a=2)"),
    ("x[0] = helper(**n)", "UnsupportedError", "** in a call is not supported", 1, None),
    ("x[0] = helper(*n)", "TypingError", "* in a call needs a tuple", 1, "*n"),
    ("x[0] = math.sin('s')", "TypingError", "No implementation of function", 1, "math.sin('s')"),
    ("x[0] = math.sin(1, 2)", "TypingError", "No implementation of function", 1, "math.sin(1, 2)"),
    ("x[0] = abs('s')", "TypingError",
     "No implementation of function Function(<built-in function abs>)", 1, "abs('s')"),
    ("x[0] = max()", "TypingError", "No implementation of function", 1, "max()"),
    # statements that a device has no counterpart for
    ("import math\nx[0] = 1", "UnsupportedBytecodeError", "IMPORT_NAME", 1, None),
    ("from math import sin\nx[0] = 1", "UnsupportedBytecodeError", "IMPORT_NAME", 1, None),
    ("class C:\n    pass", "UnsupportedBytecodeError", "LOAD_BUILD_CLASS", 1, None),
    ("global g\ng = 1", "UnsupportedBytecodeError", "STORE_GLOBAL", 1, None),
    ("a, *b = (1, 2, 3)", "UnsupportedBytecodeError", "UNPACK_EX", 1, "a, *b"),
    ("try:\n    x[0] = 1\nexcept ValueError:\n    pass", "UnsupportedError",
     "try/except cannot run on a device", 1, None),
    ("with n:\n    x[0] = 1", "UnsupportedError", "with blocks", 1, None),
    ("x[0] = [i for i in range(3)]", "UnsupportedError", "comprehension", 1, "[i for i in range(3)]"),
    ("x[0] = sum(i for i in range(3))", "UnsupportedError", "generator expressions", 1, None),
    ("a = {1, 2}", "UnsupportedError", "sets cannot be made", 1, "{1, 2}"),
    ("a = {1: 2}", "UnsupportedError", "dicts cannot be made", 1, "{1: 2}"),
    ("yield n", "UnsupportedError", "yield cannot run on a device", 1, "yield n"),
    ("a = [1]\na.append(2)", "TypingError", "Unknown attribute 'append'", 2, "a.append"),
    ("raise", "UnsupportedError", "raise needs an exception", 1, "raise"),
    ("raise n", "TypingError", "exceptions must derive from BaseException", 1, None),
    ("raise ValueError(n)", "UnsupportedError", "must be constants", 1, "n"),
    ("def f(a):\n    return f(a)\nx[0] = f(1)", "UnsupportedError", "cannot call itself", 2, "f(a)"),
    # numbers
    ("x[0] = 10 ** 0 + 340282366920938463463374607431768211456", "TypingError", "Int value is too large", 1,
     "340282366920938463463374607431768211456"),
    ("x[0] = BIG", "TypingError", "Int value is too large", 1, "BIG"),
    # memory spaces
    ("a = cuda.shared.array(n, float32)", "TypingError",
     "No implementation of function Function(<function shared.array",
     1, "cuda.shared.array(n, float32)"),
    ("a = cuda.shared.array([4], float32)", "TypingError", "Function(<function shared.array", 1, None),
    ("a = cuda.shared.array(4.0, float32)", "TypingError", "Function(<function shared.array", 1, None),
    ("a = cuda.shared.array(4, 'int33')", "TypingError", "Invalid NumPy dtype specified: 'int33'", 1, None),
    ("a = cuda.shared.array(4, n)", "TypingError", "is not a dtype", 1, None),
    ("a = cuda.shared.array(4, float32, alignment=3)", "ValueError", "power of 2", 1, None),
    ("a = cuda.local.array(n, float32)", "TypingError", "Function(<function local.array", 1, None),
    ("a = cuda.local.array(0, float32)", "NumbaValueError", "array length <= 0", 1, None),
    ("a = cuda.local.array(-4, float32)", "NumbaValueError", "array length <= 0", 1, None),
    ("a = cuda.const.array_like(x)", "TypingError", "const.array_like takes an array that is a global", 1, None),
    ("FROZEN[0] = 1", "NumbaTypeError", "Cannot modify readonly array", 1, None),
    # threads
    ("x[0] = cuda.grid(n)", "RequireLiteralValue", "needs a literal 1, 2 or 3", 1, "cuda.grid(n)"),
    ("x[0] = cuda.grid(4)", "NumbaValueError", "argument can only be 1, 2, 3", 1, "cuda.grid(4)"),
    ("cuda.syncthreads_count(1.5)", "TypingError", "the predicate is an integer", 1, None),
    ("cuda.atomic.add(n, 0, 1)", "TypingError", "the first argument is an array", 1, None),
    ("cuda.atomic.and_(x, 0, 1)", "TypingError", "there is no atomic operation of this kind", 1, None),
    ("cuda.atomic.add(x, (0, 0), 1)", "TypingError", "indexing 1-D array with 2-D index", 1, None),
    ("cuda.shfl_sync(0xFFFFFFFF, (1, 2), 0)", "TypingError", "", 1, None),
    ("print(x)", "TypingError", "cannot be printed", 1, "print(x)"),
    ("x[0] = 1 if x else 2", "TypingError", "ambiguous", 1, "x"),
]


def helper(a, b=1):
    return a + b


FROZEN = np.zeros(3, dtype=np.float32)
BIG = 1 << 70


@pytest.mark.parametrize("body, cls, fragment, line, above", REFUSALS, ids=[row[0].split("\n")[0] for row in REFUSALS])
def test_refusal(body, cls, fragment, line, above):
    error = refusal(body)
    expected = getattr(errors, cls, None) or getattr(builtins, cls)
    message = str(error)
    assert isinstance(error, expected), f"{type(error).__name__}: {message}"
    assert fragment in message
    assert 'File "<kernel source>"' in message
    found = marked(message)
    assert found[0] == line + 1
    if above is not None:
        assert found[1] == above


def test_place_in_a_device_function_names_the_call():
    @cuda.jit
    def inner(a):
        return a.nothing

    def kernel(x):
        x[0] = inner(x[0])

    with pytest.raises(errors.TypingError) as caught:
        cuda.compile_ptx(kernel, (ARRAY,))
    message = str(caught.value)
    assert "Unknown attribute 'nothing' of type float32" in message
    assert "resolving callee type: type(CUDADispatcher(inner" in message
    assert re.search(r"typing of call at .*test_compiler_errors.py \(\d+\)", message)


def test_launch_reports_the_same():
    @cuda.jit
    def kernel(x):
        x[0] = missing  # noqa: F821

    with pytest.raises(errors.TypingError, match="name 'missing' is not defined"):
        kernel[1, 1](np.zeros(1))


def test_message_of_a_long_line_keeps_the_caret_in_place():
    error = refusal("x[0] = 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + missing + 13 + 14 + 15 + 16 + 17 + 18")
    assert marked(str(error)) == (2, "missing")


def test_caret_after_letters_of_several_bytes():
    error = refusal("x[0] = len('äöü') + missing")
    line = next(one for one in str(error).split("\n") if "missing" in one and "x[0]" in one)
    caret = next(one for one in str(error).split("\n") if set(one.strip()) == {"^"})
    assert caret.index("^") == line.index("missing")


# --- nothing that is compiled ends in an internal error ---------------------------------------------------------------

ODD = [
    "pass", "...", "'text'", "return", "return None", "x[0] = (1,)[0]", "x[0] = ()", "x = 1", "n = x", "x[:] = ()",
    "x[n] += x[n:][0]", "while n:\n    n = n - 1\n    continue", "while True:\n    break", "while True:\n    return",
    "for x in range(3):\n    n = x", "for i in range(10**18):\n    break", "for i in range(3, 0, 0):\n    x[0] = i",
    "for i in ((1, 2), (3, 4)):\n    x[i[0]] = i[1]", "for i, (a, b) in enumerate(zip(x, x)):\n    x[i] = a + b",
    "for _ in range(n):\n    for _ in range(n):\n        for _ in range(n):\n            x[0] += 1",
    "a = b = c = lambda: 1\nx[0] = a() + b()", "x[0] = (lambda *a: len(a))(1, 2)",
    "x[0] = (lambda f: f(f))(lambda f: 1)", "x[0] = (lambda f: f(f))(lambda f: f(f))",
    "f = lambda v: f(v)\nx[0] = f(1)", "def f(): pass\nx[0] = f() is None", "def f(a=n): return a\nx[0] = f()",
    "def f(**k): return 1\nx[0] = f(a=1)", "@helper\ndef f(a): return a\nf(1)", "x[0] = not not not x.size",
    "x[0] = - - -n", "x[0] = n if n else n if n else n", "x[0] = x[x[0]]", "x[x] = 1", "x[None] = 1", "x[...] = x",
    "x[::0] = 1", "x[0:n:n] = 1", "x[True] = 1", "x[-1] = x[-n]", "x[n][0] = 1", "x[0] = x[0][0]", "x.size = 3",
    "x.T[0] = 1", "x[0] = x.shape[0] + x.shape[n]", "x[0] = 2 ** 100", "x[0] = 2 ** -1", "x[0] = 1 // 0",
    "x[0] = 1 % 0", "x[0] = 1.0 / 0", "x[0] = 0 ** 0", "x[0] = -9223372036854775808 // -1",
    "x[0] = 9223372036854775807 + 1", "x[0] = 1 << 64", "x[0] = 1 << -1", "x[0] = 1e400", "x[0] = float('nan')",
    "x[0] = float('text')", "x[0] = int('5')", "x[0] = complex('1j').real", "x[0] = 'a' < 'b'",
    "x[0] = 'a' * 3 == 'aaa'", "x[0] = 'abc'[n] == 'a'", "x[0] = len('')", "x[0] = None", "x[0] = None + 1",
    "x[0] = None is None", "x[0] = n is n", "x[0] = n == None", "x[0] = type(n)(1.5)", "x[0] = type(x)",
    "x[0] = isinstance(n, int)", "x[0] = hash(n)", "x[0] = id(n)", "x[0] = str(n)", "x[0] = sorted((2, 1))[0]",
    "x[0] = list((1, 2))[0]", "x[0] = set()", "x[0] = dict()", "x[0] = open('f')", "x[0] = eval('1')",
    "x[0] = getattr(x, 'size')", "x[0] = globals()", "x[0] = super()", "x[0] = __name__ == 'a'", "x[0] = __debug__",
    "x[0] = min(())", "x[0] = max(1)", "x[0] = sum(())", "x[0] = any(())", "x[0] = round(n, n)",
    "x[0] = range(3)[1]", "x[0] = slice(1, 2)", "x[0] = enumerate(x)", "x[0] = next(iter((1, 2)))", "x[0] = zip()",
    "x[0] = map(helper, (1,))", "x[0] = reversed((1, 2))[0]", "x[0] = math", "x[0] = np", "x[0] = cuda",
    "x[0] = cuda.jit", "x[0] = math.pi", "x[0] = np.pi", "x[0] = np.float32", "x[0] = np.zeros(3)[0]",
    "x[0] = cuda.threadIdx", "x[0] = cuda.threadIdx.w", "cuda.threadIdx.x = 1", "x[0] = cuda.grid", "cuda.grid()",
    "cuda.grid(1, 2)", "cuda.syncthreads(1)", "cuda.shared.array()", "cuda.shared.array(10**15, float32)",
    "cuda.local.array((0, 3), float32)", "cuda.local.array((), float32)", "cuda.local.array(4, x)",
    "cuda.shared.array(4, 'O')", "cuda.shared.array(4, Color)", "x[0] = Color", "x[0] = Color.red",
    "x[0] = Color.red.name == 'red'", "x[0] = Color.red + 1", "print", "print()", "print(print)", "print(Color.red)",
    "print(n, sep='')", "print(f'{n:5d}')", "print(*x)", "print(*(1, 2))", "print((), (1,))", "assert n",
    "assert n, n", "assert False", "raise ValueError", "raise Color", "raise ValueError('a', 1, 2.5)",
    "raise ValueError('a') from None", "del x", "del x[0]", "del n, x", "nonlocal_ = 1", "x[0] = (yield)",
    "lambda: (yield)", "x[0] = (n := n + 1) + n", "async_ = await_ = 1", "x[0] = x[0] @ x[0]", "x @= x", "x += 1",
    "n += x", "a: int = 1\nx[0] = a", "a: int\nx[0] = 1", "x[0] = [1, 2][n]", "x[0] = [[1, 2], [3, 4]][1][0]",
    "x[0] = ([1] * 3)[0]", "x[0] = (1, 2) + (3,)", "x[0] = (1, 2) == (1, 2)", "x[0] = (1, 2) < (1, 3)",
    "x[0] = (n, n)[n]", "x[0] = (x, x)[n][0]", "x[0] = ((1, 2), (3, 4))[n][n]", "t = (n,) * 3\nx[0] = t[0]",
    "if n:\n    def f(): return 1\nelse:\n    def f(): return 2\nx[0] = f()",
    "f = helper\nif n:\n    f = len\nx[0] = f(1)", "a = None\nif n:\n    a = 1\nx[0] = a",
    "a = x\nif n:\n    a = None\nx[0] = a is None", "a = 1\nwhile n:\n    a = a, a\n    n -= 1",
    "a = 1\nwhile n:\n    a = lambda: a\n    n -= 1", "a = ()\nfor i in range(3):\n    a = a + (i,)",
    "while n:\n    a = n\n    n = a - 1\nx[0] = a", "for i in range(n):\n    if i:\n        x[0] = b\n    b = 1.5",
    "for i in range(n):\n    if i:\n        x[0] = b\n    b = 'text'", "for i in ():\n    pass\nx[0] = i",
    "for i in range(n):\n    pass\nelse:\n    i = 's'\nx[0] = 1", "x[0] = " + "(" * 60 + "n" + ")" * 60,
    "x[0] = " + " + ".join(["n"] * 400), "x[0] = " + "-" * 200 + "n",
    "\n".join(f"v{i} = n + {i}" for i in range(300)) + "\nx[0] = v299",
    "if n == 0:\n    x[0] = 0\n" + "".join(f"elif n == {i}:\n    x[0] = {i}\n" for i in range(1, 80)),
    "def f0(): return n\n" + "".join(f"def f{i}(): return f{i - 1}()\n" for i in range(1, 90)) + "x[0] = f89()",
    "def f0(): return n\n" + "".join(f"def f{i}(): return f{i - 1}() + f{i - 1}()\n" for i in range(1, 7))
    + "x[0] = f6()",
    "return\nx[0] = missing", "while True:\n    pass\nx[0] = missing", "if False:\n    x[0] = missing",
    "raise ValueError\nx[0] = missing", "x[0] = 1; x[1] = 2", "x[0] = x[1] = x[2] = n", "x[0], x[1] = x[1], x[0]",
    "(x[0]) = ((n))", "[a, b] = n, n\nx[0] = a", "(a, b), c = (1, 2), 3\nx[0] = a", "x[0] = helper(helper)",
    "x[0] = helper", "match n:\n    case 1:\n        x[0] = 1\n    case _:\n        pass",
    "match n:\n    case {'a': 1}:\n        pass", "match n:\n    case int():\n        pass",
    "match (n, 1):\n    case (a, *b):\n        pass", "match n:\n    case a:\n        x[0] = a",
]


@pytest.mark.parametrize("typing", ["numba", "narrow"])
@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_odd_programs_compile_or_are_refused(body, typing):
    try:
        kernel = define(body)
    except SyntaxError:
        pytest.skip("not Python of this version")
    try:
        ptx, _ = cuda.compile(kernel, SIGNATURE, device=False, abi="numba", typing=typing)
    except (errors.NumbaError, TypeError) as refused:
        assert 'File "' in str(refused)
    else:
        assert ".entry" in ptx


KINDS = [
    "boolean", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
    "float64", "complex64", "complex128", "none",
]
OPERATIONS = [
    "a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "a ** b", "a << b", "a & b", "a | b", "a ^ b", "a < b",
    "a == b", "a is b", "a and b", "not a", "-a", "~a", "abs(a)", "int(a)", "float(a)", "complex(a)", "bool(a)",
    "round(a)", "min(a, b)", "divmod(a, b)", "a if b else a", "(a, b)[0]", "math.sqrt(a)", "a.real", "a[0]", "a()",
]


@pytest.mark.parametrize("text", OPERATIONS)
def test_every_operation_on_every_kind_of_number(text):
    function = eval(compile(f"lambda a, b: {text}", f"<every {text}>", "eval"), {"math": math})
    for left in KINDS:
        for right in ("int32", left, "float32"):
            try:
                cuda.compile(function, (getattr(types, left), getattr(types, right)))
            except errors.NumbaError as refused:
                assert "^" in str(refused)


@pytest.mark.parametrize("value", [object(), {1: 2}, {3}, b"bytes", 1 << 80, lambda: 1, type, [1, 2], "text"],
                         ids=lambda v: type(v).__name__)
def test_unusual_arguments_are_refused_by_name(value):
    @cuda.jit
    def kernel(x, v):
        x[0] = 1

    with pytest.raises(Exception) as caught:
        kernel[1, 1](np.zeros(1), value)
    assert not isinstance(caught.value, (SystemError, AttributeError, KeyError, AssertionError)), repr(caught.value)


def test_functions_without_source_are_refused():
    code = compile("def kernel(x):\n    x[0] = 1\n", "<nowhere>", "exec")
    scope = {}
    exec(code.replace(co_filename="<elsewhere>"), scope)
    function = scope["kernel"]
    function.__code__ = function.__code__.replace(co_filename="<elsewhere>")
    with pytest.raises(errors.UnsupportedError, match="source of kernel.* is not available"):
        cuda.compile_ptx(function, (ARRAY,))
