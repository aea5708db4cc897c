"""Numeric built-ins in kernels: cmath, NumPy's universal functions, 16-bit floats, fastmath."""
import cmath
import itertools
import math

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import bf16
from warploom.cuda.core import errors

pytestmark = pytest.mark.filterwarnings("ignore")

_PARTS = (-math.inf, -3.5, -1.0, -0.0, 0.0, 1.0, 1.5, math.inf, math.nan)
_CMATH = ("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
          "acosh", "atanh")


def _run(function, *arrays):
    cuda.jit(function)[1, 1](*arrays)


@pytest.mark.parametrize("name, dtype", [(name, "complex128") for name in _CMATH]
                         + [(name, "complex64") for name in ("exp", "log", "tanh", "asin")])
def test_cmath_agrees_with_python(name, dtype):
    function = getattr(cmath, name)

    @cuda.jit
    def kernel(out, z):
        i = cuda.grid(1)
        if i < z.size:
            out[i] = function(z[i])

    inputs, wanted = [], []
    for real, imag in itertools.product(_PARTS, _PARTS):
        try:
            wanted.append(function(complex(real, imag)))
        except ValueError:  # a domain error in Python, a special value in a kernel
            continue
        inputs.append(complex(real, imag))
    out = np.zeros(len(inputs), dtype)
    kernel[1, 128](out, np.array(inputs, dtype))
    wanted = np.array(wanted).astype(dtype)
    tolerance = 4 * np.finfo(dtype).eps
    for got, want in ((out.real, wanted.real), (out.imag, wanted.imag)):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=np.finfo(dtype).eps)


def test_complex_powers():
    def kernel(out, x, y):
        out[0] = x[0] ** y[0]
        out[1] = x[0] ** 2
        out[2] = pow(x[0], 0.5)

    x, y = np.array([1.5 - 2j]), np.array([0.5 + 1j])
    out = np.zeros(3, complex)
    _run(kernel, out, x, y)
    np.testing.assert_allclose(out, [x[0] ** y[0], x[0] ** 2, x[0] ** 0.5], rtol=1e-14)


@pytest.mark.parametrize("name", ("sin", "cos", "tan", "arcsin", "arctan", "sinh", "cosh", "tanh", "exp", "exp2",
                                  "expm1",
                                  "log", "log2", "log10", "log1p", "sqrt", "cbrt", "rint", "floor", "ceil", "trunc",
                                  "absolute", "negative", "square", "sign", "reciprocal", "deg2rad", "degrees"))
def test_unary_functions_of_numpy(name):
    function = getattr(np, name)

    def kernel(x, out, scalar):
        function(x, out)
        scalar[0] = function(x[0, 0])

    x = np.linspace(0.1, 0.9, 12).reshape(3, 4)
    out, scalar = np.zeros((3, 4)), np.zeros(1)
    _run(kernel, x, out, scalar)
    np.testing.assert_allclose(out, function(x), rtol=4e-16)
    assert scalar[0] == out[0, 0]


@pytest.mark.parametrize("name", ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "power",
                                  "arctan2", "hypot", "copysign", "maximum", "minimum", "fmax", "fmin", "logaddexp"))
def test_binary_functions_broadcast(name):
    function = getattr(np, name)

    def kernel(x, y, out):
        function(x, y, out)

    x = np.array([[0.5], [-2.5], [3.0]])
    y = np.array([1.5, -2.0, 2.0, 0.25])
    out, wanted = np.zeros((3, 4)), np.zeros((3, 4))
    _run(kernel, x, y, out)
    with np.errstate(invalid="ignore"):
        function(x, y, wanted)
    np.testing.assert_allclose(out, wanted, rtol=1e-15)


@pytest.mark.parametrize("name", ("fmod", "remainder", "floor_divide", "left_shift", "right_shift", "bitwise_and",
                                  "bitwise_or", "bitwise_xor", "maximum", "less", "equal", "logical_and",
                                  "logical_xor"))
def test_integer_functions_of_numpy(name):
    function = getattr(np, name)

    def kernel(x, y, out):
        function(x, y, out=out)

    x = np.array([7, -7, 5, 0, 100, -1], np.int32)
    y = np.array([3, 3, 1, 4, 7, 2], np.int32)
    out, wanted = np.zeros(6, np.int64), np.zeros(6, np.int64)
    _run(kernel, x, y, out)
    function(x, y, out=wanted, casting="unsafe")
    np.testing.assert_array_equal(out, wanted)


def test_maximum_keeps_nan_and_fmax_drops_it():
    def kernel(x, y, out):
        np.maximum(x, y, out[0])
        np.fmax(x, y, out[1])
        np.minimum(x, y, out[2])
        np.fmin(x, y, out[3])

    x, y = np.array([np.nan, 1, np.nan, 2]), np.array([1, np.nan, np.nan, 3])
    out = np.zeros((4, 4))
    _run(kernel, x, y, out)
    np.testing.assert_array_equal(out, [f(x, y) for f in (np.maximum, np.fmax, np.minimum, np.fmin)])


def test_functions_of_numpy_on_arrays_need_a_place_for_the_result():
    @cuda.jit
    def kernel(x):
        np.sin(x)

    with pytest.raises(errors.TypingError, match="numpy.sin\\(x, out\\)"):
        kernel[1, 1](np.zeros(3))


def test_half_precision_functions():
    def kernel(out, a, b):
        x, y = a[0], b[0]
        out[0] = cuda.fp16.hadd(x, y)
        out[1] = cuda.fp16.hfma(x, y, x)
        out[2] = cuda.fp16.hsqrt(x)
        out[3] = cuda.fp16.hmax(x, y)
        out[4] = cuda.fp16.hrint(x)
        out[5] = cuda.fp16.hrcp(y)
        out[6] = cuda.fp16.hexp2(y)
        out[7] = math.sin(x)
        out[8] = x / y

    a, b = np.array([2.5], np.float16), np.array([1.5], np.float16)
    out = np.zeros(9, np.float16)
    _run(kernel, out, a, b)
    x, y = a[0], b[0]
    wanted = np.array([x + y, x * y + x, np.sqrt(x), x, np.rint(x), 1 / y, np.exp2(y), np.sin(x), x / y], np.float16)
    np.testing.assert_allclose(out, wanted, rtol=1e-3)


def test_bfloat16_conversions_round_as_they_say():
    @cuda.jit
    def kernel(out, whole, single):
        out[0] = bf16.bfloat16_to_float32(bf16.int64_to_bfloat16_rn(whole[0]))
        out[1] = bf16.bfloat16_to_float32(bf16.int64_to_bfloat16_rz(whole[0]))
        out[2] = bf16.bfloat16_to_float32(bf16.int64_to_bfloat16_ru(whole[0]))
        out[3] = bf16.bfloat16_to_float32(bf16.int64_to_bfloat16_rd(-whole[0]))
        out[4] = bf16.bfloat16_to_float32(bf16.float32_to_bfloat16_ru(single[0]))
        out[5] = bf16.bfloat16_to_float32(bf16.float32_to_bfloat16_rd(single[0]))
        out[6] = bf16.bfloat16_to_int32_rn(bf16.float32_to_bfloat16(single[1]))

    # Half a step and a little more: to the nearest is up.
    whole = np.array([(1 << 60) + (1 << 52) + 1], np.int64)
    single = np.array([1.001, 2.5], np.float32)
    out = np.zeros(7)
    kernel[1, 1](out, whole, single)
    step = float(1 << 53)
    up = 2.0**60 + step
    np.testing.assert_array_equal(out, [up, 2.0**60, up, -up, 1 + 2.0**-7, 1.0, 2.0])


def test_fastmath_takes_the_hardware_functions_and_keeps_nan():
    def kernel(out, x):
        out[0] = math.sin(x[0]) / x[1]
        out[1] = math.sqrt(x[0])
        out[2] = math.exp(x[1])
        out[3] = 1 if math.isnan(x[2]) else 0

    out, x = np.zeros(4, np.float32), np.array([0.5, 2.0, np.nan], np.float32)
    fast = cuda.jit(fastmath=True)(kernel)
    fast[1, 1](out, x)
    np.testing.assert_allclose(out, [math.sin(0.5) / 2, math.sqrt(0.5), math.exp(2), 1], rtol=1e-6)
    ptx = next(iter(fast.inspect_asm().values()))
    for instruction in ("sin.approx.ftz.f32", "div.approx.ftz.f32", "sqrt.approx.ftz.f32", "ex2.approx.ftz.f32"):
        assert instruction in ptx


def test_no_fused_operations_without_optimisation():
    def function(x, y, z):
        return x * y + z

    fused, _ = cuda.compile_ptx(function, cuda.float64(cuda.float64, cuda.float64, cuda.float64), device=True)
    signature = cuda.float64(cuda.float64, cuda.float64, cuda.float64)
    plain, _ = cuda.compile_ptx(function, signature, device=True, opt=False)
    assert "fma.rn.f64" in fused and "fma.rn.f64" not in plain


def test_numpy_function_of_an_integer_array_computes_in_double():
    @cuda.jit
    def kernel(x, r):
        np.sin(x, r)

    x = np.arange(10, dtype=np.int32)
    r = np.zeros(10)
    kernel[1, 1](x, r)
    np.testing.assert_allclose(r, np.sin(x), rtol=1e-14)


def test_divisors_and_whole_roots():
    def kernel(out, a, b):
        for i in range(a.size):
            out[i, 0] = math.gcd(a[i], b[i])
            out[i, 1] = math.lcm(a[i], b[i])
            out[i, 2] = math.isqrt(abs(a[i]))

    a, b = np.array([12, -18, 0, 7, (1 << 62) - 1, 1 << 52]), np.array([18, 12, 5, 0, 3, 6])
    out = np.zeros((a.size, 3), np.int64)
    _run(kernel, out, a, b)
    for x, y, row in zip(a.tolist(), b.tolist(), out.tolist()):
        assert row == [math.gcd(x, y), (math.lcm(x, y) + (1 << 63)) % (1 << 64) - (1 << 63), math.isqrt(abs(x))]


def test_logarithm_to_a_base_and_choices():
    def kernel(out, x, z):
        out[0] = math.log(x[0], 2)
        out[1] = np.where(x[0] > 1, x[0], 0)
        out[2] = np.clip(x[0], 0.0, 1.0)
        out[3] = np.real(z[0]) + np.imag(z[0])
        out[4] = np.angle(z[0])
        out[5] = math.isclose(x[0], x[0] * (1 + 1e-12))
        out[6] = math.isclose(x[0], x[0] * 1.001)
        out[7] = np.isclose(x[0], x[0] * (1 + 1e-6))
        out[8] = math.isclose(math.inf, math.inf) and not math.isclose(math.inf, 1.0)
        out[9] = np.round(x[0] / 4) + np.round(x[0] / 16, 2)

    out, x, z = np.zeros(10), np.array([10.0]), np.array([1 + 2j])
    _run(kernel, out, x, z)
    np.testing.assert_allclose(out, [math.log2(10), 10, 1, 3, cmath.phase(1 + 2j), 1, 0, 1, 1, 2.62], rtol=1e-15)
