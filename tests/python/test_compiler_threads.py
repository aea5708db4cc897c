"""Threads in Python kernels: atomics, warps, barriers, print, exceptions and device functions with signatures."""
import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import int32

from one_block import quiet, run  # noqa: F401


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
                                              (2, AssertionError, "not two"),
                                              (3, ZeroDivisionError, "division by zero")])
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


def test_a_variable_without_a_value_raises_where_it_is_read():
    @cuda.jit(debug=True, opt=False)
    def kernel(out, n):
        if n > 1:
            value = 2
            out[0] = value
            return
        out[0] = value + 1

    out = np.zeros(1)
    kernel[1, 1](out, 5)
    assert out[0] == 2
    with pytest.raises(UnboundLocalError, match="value"):
        kernel[1, 1](out, 0)


def test_tuple_index_is_checked_with_debug():
    @cuda.jit(debug=True, opt=False)
    def kernel(out, i):
        out[0] = (1, 2, 3)[i]

    out = np.zeros(1)
    kernel[1, 1](out, -1)
    assert out[0] == 3
    with pytest.raises(IndexError, match="tuple index out of range"):
        kernel[1, 1](out, 3)


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
