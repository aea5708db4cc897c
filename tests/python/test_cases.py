"""Programs that people find puzzling: memory order, index -1, stale shared memory, launch shapes, dtypes, pinning."""
import gc
import resource
import warnings

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import float32, int32
from warploom.cuda.core.errors import NumbaPerformanceWarning, TypingError

LENGTH = 64


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        yield


def test_index_minus_one_is_the_last_element():
    @cuda.jit
    def rotate(source, target):
        i = cuda.grid(1)
        if i < target.size:
            target[i] = source[i - 1]

    source = np.arange(100, 100 + LENGTH, dtype=np.int32)
    target = np.zeros_like(source)
    rotate[1, LENGTH](source, target)
    np.testing.assert_array_equal(target, np.roll(source, 1))


def test_reading_past_the_end_leaves_the_other_threads_right():
    @cuda.jit
    def shift(source, target):
        i = cuda.grid(1)
        if i < target.size:
            target[i] = source[i + 1]

    source = np.arange(LENGTH, dtype=np.int32)
    target = np.zeros_like(source)
    shift[1, LENGTH](source, target)
    np.testing.assert_array_equal(target[:-1], source[1:])


def test_a_shared_counter_that_is_set_to_zero_counts():
    @cuda.jit
    def count(out):
        counter = cuda.shared.array(1, int32)
        if cuda.threadIdx.x == 0:
            counter[0] = 0
        cuda.syncthreads()
        cuda.atomic.add(counter, 0, 1)
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            out[cuda.blockIdx.x] = counter[0]

    for _ in range(2):
        out = np.zeros(3, np.int32)
        count[3, 32](out)
        np.testing.assert_array_equal(out, 32)


@cuda.jit
def copy_2d(source, target):
    column, row = cuda.grid(2)
    if row < source.shape[0] and column < source.shape[1]:
        target[row, column] = source[row, column]


BASE = np.arange(60, dtype=np.float32).reshape(6, 10)


@pytest.mark.parametrize("make, wanted", [
    (lambda: BASE, BASE),
    (lambda: np.asfortranarray(BASE), BASE),
    (lambda: BASE.T, BASE.T),
    (lambda: cuda.to_device(BASE)[:, ::2], BASE[:, ::2]),
    (lambda: cuda.to_device(BASE)[1:, :], BASE[1:]),
    (lambda: cuda.to_device(BASE).T, BASE.T),
    (lambda: cuda.to_device(np.asfortranarray(BASE))[2:5, 1:7], BASE[2:5, 1:7]),
], ids=["c", "fortran", "transposed", "every-other-column", "rows", "device-transposed", "fortran-window"])
def test_memory_order_means_what_numpy_says(make, wanted):
    target = np.full(wanted.shape, -1, np.float32)
    copy_2d[(1, 1), (16, 16)](make(), target)
    np.testing.assert_array_equal(target, wanted)


def test_both_axis_orders_give_the_same_sums():
    @cuda.jit
    def down(a, b, c):
        x, y = cuda.grid(2)
        if x < c.shape[0] and y < c.shape[1]:
            c[x, y] = a[x, y] + b[x, y]

    @cuda.jit
    def across(a, b, c):
        x, y = cuda.grid(2)
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = a[y, x] + b[y, x]

    n = 64
    a, b = cuda.to_device(np.ones((n, n), np.float32)), cuda.to_device(np.full((n, n), 2, np.float32))
    for kernel in (down, across):
        c = cuda.device_array((n, n), np.float32)
        kernel[(n // 32, n // 8), (32, 8)](a, b, c)
        assert c.copy_to_host().sum() == 12288


def test_launch_shapes():
    @cuda.jit
    def bump(values):
        for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
            values[i] += 1

    n, threads = 10_000, 128
    blocks = (n + threads - 1) // threads
    values = cuda.to_device(np.zeros(n, np.float32))
    bump[blocks, threads](values)
    bump[1, 1024](values)
    bump[threads, 79](values)
    with pytest.raises(cuda.cudadrv.driver.CudaAPIError):
        bump[threads, 4096](values)
    assert values.copy_to_host().sum() == 3 * n
    host = np.zeros(n, np.float32)
    bump[blocks, threads](host)
    assert host.sum() == n


def test_pinning_again_and_nested():
    array = np.zeros(1024, np.float32)
    for _ in range(3):
        with cuda.pinned(array):
            cuda.to_device(array)
    with cuda.pinned(array):
        with pytest.raises(cuda.cudadrv.driver.CudaAPIError) as error:
            with cuda.pinned(array):
                pass
    assert "712" in str(error.value) or "REGISTERED" in str(error.value).upper()


def test_dropped_pinned_arrays_are_freed():
    def peak_mib():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

    before = peak_mib()
    for k in range(20):
        array = cuda.pinned_array(8 << 20, np.uint8)
        array[:] = k
        del array
        gc.collect()
    assert peak_mib() - before < 100


def test_shape_of_a_shared_array_comes_from_a_constant():
    @cuda.jit
    def reverse(out):
        buffer = cuda.shared.array(LENGTH, float32)
        t = cuda.threadIdx.x
        buffer[t] = t
        cuda.syncthreads()
        out[t] = buffer[LENGTH - 1 - t]

    out = np.zeros(LENGTH, np.float32)
    reverse[1, LENGTH](out)
    np.testing.assert_array_equal(out, np.arange(LENGTH)[::-1])


def test_shape_from_the_launch_or_an_argument_is_refused_briefly():
    @cuda.jit
    def from_launch(out):
        buffer = cuda.shared.array(cuda.blockDim.x, float32)
        buffer[cuda.threadIdx.x] = 1
        out[cuda.threadIdx.x] = buffer[0]

    @cuda.jit
    def from_argument(out, n):
        buffer = cuda.local.array(n, float32)
        buffer[0] = 1
        out[0] = buffer[0]

    out = np.zeros(LENGTH, np.float32)
    for kernel, arguments, culprit in ((from_launch, (out,), "blockDim.x"), (from_argument, (out, 4), "n")):
        with pytest.raises(TypingError) as error:
            kernel[1, LENGTH](*arguments)
        text = str(error.value)
        assert "compile" in text and culprit in text and "test_cases.py" in text
        assert len(text.splitlines()) < 30


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_atomic_add(dtype):
    out, values = np.zeros(1, dtype), np.ones(64, dtype)
    add_one[1, 64](out, values)
    assert out[0] == 64


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_atomic_add_on_small_integers_is_refused(dtype):
    with pytest.raises(TypingError) as error:
        add_one[1, 64](np.zeros(1, dtype), np.ones(64, dtype))
    assert dtype in str(error.value)


@cuda.jit
def add_one(out, values):
    cuda.atomic.add(out, 0, values[cuda.grid(1)])


def test_atomic_add_gives_the_old_value():
    @cuda.jit
    def old_value(counter, old):
        old[cuda.grid(1)] = cuda.atomic.add(counter, 0, 1)

    counter, old = np.full(1, 10, np.int32), np.zeros(4, np.int32)
    old_value[1, 4](counter, old)
    assert sorted(old.tolist()) == [10, 11, 12, 13] and counter[0] == 14
