"""Device functions with declared signatures, and functions of other code."""

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda.core.errors import TypingError

pytestmark = pytest.mark.filterwarnings("ignore::warploom.cuda.core.errors.NumbaPerformanceWarning")


def caller(signatures, function=lambda x, y: x + y):
    inner = cuda.jit(signatures, device=True)(function)

    @cuda.jit
    def kernel(r, x, y):
        r[0] = inner(x, y)

    return kernel


@pytest.mark.parametrize("signatures, x, y, expected", [
    (["(int64, int64)"], 1.5, 2.5, 3),  # unsafe conversions are made when there is nothing better
    (["(int64, int64)", "(float64, float64)"], np.int32(1), 2.5, 3.5),
    (["(float32, float32)", "(float64, float64)"], 1, 2**-25, 1.0000000298023224),
    (["(float32, float32)", "(float64, float64)"], np.float32(1), np.float32(2**-25), 1.0),
    (["(float32, float64)", "(float64, float32)"], 1.5, 2.5, 4.0),  # the first of equals
    (["int32(float64, float64)"], 1.5, 2.25, 3),
    ("float64(int32, int32)", 2**32 + 1, 1, 2),
])
def test_arguments_are_converted_to_the_best_signature(signatures, x, y, expected):
    r = np.zeros(1)
    caller(signatures)[1, 1](r, x, y)
    assert r[0] == expected


def test_keywords_and_default_arguments():
    inner = cuda.jit("int64(int64, int64)", device=True)(lambda x, y=10: x - y)

    @cuda.jit
    def kernel(r):
        r[0] = inner(y=1.5, x=5.5)
        r[1] = inner(5)

    r = np.zeros(2)
    kernel[1, 1](r)
    assert list(r) == [4, -5]


def test_no_signature_fits():
    with pytest.raises(TypingError) as error:
        caller(["(int64, int64)", "(float64, float64)"])[1, 1](np.zeros(1), 1j, 1j)
    text = str(error.value)
    assert "Invalid use of type(CUDADispatcher(" in text and "with parameters (complex128, complex128)" in text
    assert " * (int64, int64)" in text and "r[0] = inner(x, y)" in text


SOURCE = cuda.CUSource("""
extern "C" __device__ int twice(int* result, int a) { *result = 2 * a; return 0; }
extern "C" __device__ int count(int* result, bool a, unsigned char b) { *result = a ? b : -1; return 0; }
extern "C" __device__ int store(void*, float* p, float v) { *p = v; return 0; }
extern "C" __device__ float scaled(float a, int n) { return a * n; }
extern "C" __device__ bool positive(double a) { return a > 0; }
""")


def test_foreign_functions():
    twice = cuda.declare_device("twice", "int32(int32)", link=SOURCE)
    count = cuda.declare_device("count", "int32(boolean, uint8)", link=SOURCE)
    scaled = cuda.declare_device("scaled", "float32(float32, int32)", link=SOURCE, abi="c")
    positive = cuda.declare_device("positive", "boolean(float64)", link=SOURCE, abi="c")

    @cuda.jit
    def kernel(r, x):
        r[0] = twice(x)
        r[1] = count(x > 0, 300)
        r[2] = scaled(1.5, x)
        if positive(-x):
            r[3] = 1
        else:
            r[3] = 2

    r = np.zeros(4)
    kernel[1, 1](r, 7)
    assert list(r) == [14, 300 % 256, 10.5, 2]


def test_foreign_function_that_does_not_fit():
    twice = cuda.declare_device("twice", "int32(int32)", link=SOURCE)

    @cuda.jit
    def kernel(r):
        r[0] = twice(1j)

    with pytest.raises(TypingError):
        kernel[1, 1](np.zeros(1))


def test_number_types_as_arguments():
    @cuda.jit
    def kernel(x, dtype):
        scratch = cuda.local.array(1, dtype)
        scratch[0] = 3.75
        x[0] = scratch[0]

    x = np.zeros(1)
    for dtype, expected in [(np.float64, 3.75), (np.int32, 3), (cuda.int8, 3), (np.dtype("f4"), 3.75)]:
        kernel[1, 1](x, dtype)
        assert x[0] == expected
