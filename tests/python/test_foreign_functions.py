"""Kernels call functions written in CUDA C++ or PTX, in Numba's and in C's way of calling."""

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda.core.errors import TypingError

CODE = cuda.CUSource("""
extern "C" __device__ int twice(int* result, int x) { *result = 2 * x; return 0; }
extern "C" __device__ int sum(double* result, const float* values, long long n) {
  *result = 0;
  for (long long i = 0; i < n; ++i) *result += values[i];
  return 0;
}
extern "C" __device__ int set_first(void*, float* values, float x, bool negative) {
  values[0] = negative ? -x : x;
  return 0;
}
extern "C" __device__ int block_sum(int* result, int x) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, x);
  __syncthreads();
  *result = total;
  return 0;
}
extern "C" __device__ float add_c(float x, double y) { return x + y; }
extern "C" __device__ bool odd_c(short x) { return x & 1; }
""", name="code.cu")


def declare(name, sig, **options):
    return cuda.declare_device(name, sig, link=CODE, **options)


def test_numbers_and_pointers_are_passed():
    twice = declare("twice", "int32(int32)")
    total = declare("sum", "float64(CPointer(float32), int64)")
    set_first = declare("set_first", "void(CPointer(float32), float32, boolean)")
    ffi = pytest.importorskip("cffi").FFI()

    @cuda.jit
    def kernel(x, values, out):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = twice(x[i])
        if i == 0:
            set_first(ffi.from_buffer(values), 7, True)
            out[0] = total(ffi.from_buffer(values), len(values))

    x, values, out = np.arange(40, dtype=np.int32), np.ones(5, np.float32), np.zeros(1)
    kernel[2, 32](x, values, out)
    np.testing.assert_array_equal(x, 2 * np.arange(40))
    assert values[0] == -7 and out[0] == -3


def test_barriers_in_foreign_functions_are_the_blocks():
    block_sum = declare("block_sum", "int32(int32)")

    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = block_sum(cuda.threadIdx.x)

    out = np.zeros(128, np.int32)
    kernel[2, 64](out)
    assert (out == 64 * 63 // 2).all()


def test_the_c_way_of_calling():
    add, odd = declare("add_c", "float32(float32, float64)", abi="c"), declare("odd_c", "boolean(int16)", abi="c")

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = add(x[i], 0.5) if odd(i) else -1

    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    kernel[1, 32](x, out)
    assert out.tolist() == [-1, 1.5, -1, 3.5, -1, 5.5, -1, 7.5]


def test_code_is_linked_by_the_decorator_and_told_of_loading():
    seen = []
    code = cuda.CUSource(CODE.data, setup_callback=lambda module: seen.append("loaded"),
                         teardown_callback=lambda module: seen.append("unloaded"))
    twice = cuda.declare_device("twice", "int32(int32)")

    @cuda.jit(link=[code])
    def kernel(x):
        x[0] = twice(x[0])

    x = np.array([21], np.int32)
    for expected in (42, 84):
        kernel[1, 1](x)
        assert x[0] == expected and seen == ["loaded"]
    cuda.current_context().reset()
    assert seen == ["loaded", "unloaded"]


def test_arguments_are_checked():
    twice = declare("twice", "int32(int32)")

    @cuda.jit
    def kernel(x):
        x[0] = twice(x[0], 1)

    with pytest.raises(TypingError, match=r"twice\(\) takes 1 arguments, 2 were given"):
        kernel[1, 1](np.zeros(1, np.int32))
