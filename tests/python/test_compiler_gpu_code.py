"""The shape of the PTX that kernels become: what keeps a GPU's memory busy, such as loads that do not wait for each other."""


import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import types

F1, F2 = types.float32[::1], types.float32[:, ::1]


def ptx_of(kernel, *signature):
    return cuda.compile_ptx(kernel.py_func, signature, cc=(9, 0))[0]


def blocks_of(ptx):
    """Instructions without operands' guards, block by block."""
    blocks = [[]]
    for line in ptx[ptx.index("{") + 1:].splitlines():
        line = line.strip()
        if line.startswith("$L"):
            blocks.append([])
        elif line and line[0].islower():
            blocks[-1].append(line)
        elif line.startswith("@"):
            blocks[-1].append(line)
            blocks.append([])
    return blocks


def loads(block):
    return sum(line.startswith("ld.global") for line in block)


@cuda.jit
def sum_of_eight(a, out):
    total = np.float32(0)
    step = cuda.gridsize(1)
    for i in range(cuda.grid(1), a.size, step * 8):
        for k in range(8):
            total += a[i + k * step]
    cuda.atomic.add(out, 0, total)


def test_loads_of_a_grid_stride_loop_are_in_one_block():
    ptx = ptx_of(sum_of_eight, F1, F1)
    assert max(map(loads, blocks_of(ptx))) >= 8, ptx


@cuda.jit
def clamped(a, c):
    i = cuda.grid(1)
    for j in range(6):
        y = min(max(i + j - 2, 0), a.shape[0] - 1)
        c[j, i] = a[y]


def test_clamping_to_an_array_needs_no_wrap_around():
    ptx = ptx_of(clamped, F1, F2)
    assert max(map(loads, blocks_of(ptx))) == 6, ptx
    a, c = np.arange(32, dtype=np.float32), np.zeros((6, 32), np.float32)
    clamped[1, 32](a, c)
    at = np.clip(np.arange(32) + np.arange(6)[:, None] - 2, 0, 31)
    np.testing.assert_array_equal(c, a[at])


@cuda.jit
def clamped_to_another(a, b, c):
    i = cuda.grid(1)
    c[i] = b[min(max(i - 2, 0), a.shape[0] - 1)]


def test_clamping_to_another_array_wraps_around():
    b, c = np.arange(1, 9, dtype=np.float32), np.zeros(32, np.float32)
    clamped_to_another[1, 32](cuda.device_array(0, np.float32), cuda.to_device(b), c)
    np.testing.assert_array_equal(c, np.full(32, b[-1]))


@cuda.jit
def row_before_the_test(a, c):
    i = cuda.grid(1)
    row = a[i - 1]  # a view is no access
    if a.shape[0] > 0:
        c[i] = row[0]


def test_a_view_of_an_empty_array_may_be_made():
    c = np.full(4, 7, np.float32)
    row_before_the_test[1, 4](cuda.device_array((0, 3), np.float32), c)
    np.testing.assert_array_equal(c, np.full(4, 7, np.float32))


@cuda.jit
def by_steps(a, n, step, c):
    for i in range(cuda.grid(1), n, step):
        c[i] = a[i]


@pytest.mark.parametrize("step", [32, -32])
def test_a_range_whose_step_is_an_argument(step):
    a, c = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    by_steps[1, 32](a, 64 if step > 0 else -1, step, c)
    want = a if step > 0 else np.where(np.arange(64) < 32, a, 0)
    np.testing.assert_array_equal(c, want)
