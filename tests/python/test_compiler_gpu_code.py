"""The shape of the PTX that kernels become: what keeps a GPU's memory busy, such as loads that do not wait."""


import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import types
from warploom.cuda.dispatcher import CUDADispatcher

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


@pytest.fixture(params=[True, False], ids=["gpu", "cpu"])
def both_codes(request, monkeypatch):
    """Dispatchers compile what a GPU gets, and what the CPU device gets; the default device runs either."""
    options = CUDADispatcher._options
    monkeypatch.setattr(CUDADispatcher, "_options", lambda self: dict(options(self), gpu=request.param))
    return request.param


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


@cuda.jit
def shifted(a, c):
    i = cuda.grid(1)
    for j in range(4):
        c[4 * i + j + 1] = a[4 * i + j] + np.float32(1)


def test_loads_of_an_array_that_is_only_read_do_not_wait_for_stores():
    # A text that someone else may launch cannot assume that arrays are apart.
    assert "ld.global.nc" not in ptx_of(shifted, F1, F1)
    a, c = cuda.to_device(np.arange(9, dtype=np.float32)), cuda.to_device(np.zeros(9, np.float32))
    shifted[1, 2](a, c)
    (ptx,) = shifted.inspect_asm().values()
    assert ptx.count("ld.global.nc") == 4 and ptx.count(".entry") == 2, ptx
    np.testing.assert_array_equal(c.copy_to_host(), [0, 1, 2, 3, 4, 5, 6, 7, 8])


def test_shared_arrays_of_any_kind_overlap_nothing():
    @cuda.jit
    def staged(a, c):
        one, other = cuda.shared.array(32, np.float32), cuda.shared.array(0, np.float32)
        own = cuda.local.array(2, np.float32)
        t = cuda.threadIdx.x
        for k in range(4):
            one[t] = a[t]
            other[t] = a[t + 1]
            own[k % 2] = a[t + k]
            cuda.syncthreads()
            c[k * 32 + t] = one[31 - t] + other[t] + own[k % 2]
            cuda.syncthreads()

    a, c = np.arange(36, dtype=np.float32), np.zeros(128, np.float32)
    staged[1, 32, 0, 128](a, c)
    t = np.arange(32)
    np.testing.assert_array_equal(c, np.concatenate([a[31 - t] + a[t + 1] + a[t + k] for k in range(4)]))
    (ptx,) = staged.inspect_asm().values()
    assert ptx.count(".entry") == 2 and "ld.global.nc" in ptx, ptx


@pytest.mark.parametrize("calls", [1, 3])
def test_arrays_that_overlap_are_seen_by_each_launch(calls):
    def run(a, c):
        for _ in range(calls):
            shifted[1, 1](a, c)

    # In place, each element is one more than the one before it, which was written just now.
    a = cuda.to_device(np.zeros(5, np.float32))
    run(a, a)
    np.testing.assert_array_equal(a.copy_to_host(), [0, 1, 2, 3, 4])
    whole = cuda.to_device(np.zeros(10, np.float32))
    run(whole[:5], whole[5:])  # side by side is no overlap
    np.testing.assert_array_equal(whole.copy_to_host(), [0] * 6 + [1] * 4)
    whole = cuda.to_device(np.zeros(6, np.float32))
    run(whole[1:], whole[:5])
    want = np.zeros(6, np.float32)
    for _ in range(calls):
        for j in range(4):
            want[j + 1] = want[j + 1] + 1
    np.testing.assert_array_equal(whole.copy_to_host(), want)


def test_arrays_that_overlap_backwards():
    @cuda.jit
    def backwards(a, c):
        for j in range(4):
            c[j] = a[j] + np.float32(1)

    whole = cuda.to_device(np.arange(5, dtype=np.float32))
    backwards[1, 1](whole[1:], whole[:4][::-1])
    # c[0] is whole[3], c[1] is whole[2]: the third and fourth load see what the first two stores left.
    want = np.arange(5, dtype=np.float32)
    for j in range(4):
        want[3 - j] = want[1 + j] + 1
    np.testing.assert_array_equal(whole.copy_to_host(), want)


def test_host_arrays_of_one_launch_are_apart():
    a, c = np.arange(9, dtype=np.float32), np.zeros(9, np.float32)
    for _ in range(2):
        shifted[1, 2](a, c)
    np.testing.assert_array_equal(c, [0, 1, 2, 3, 4, 5, 6, 7, 8])


def test_inputs_may_be_the_same_array():
    @cuda.jit
    def both(a, b, c):
        for i in range(c.shape[0]):
            c[i] = a[i] + b[i]

    a, c = cuda.to_device(np.arange(8, dtype=np.float32)), cuda.device_array(8, np.float32)
    both[1, 1](a, a, c)
    np.testing.assert_array_equal(c.copy_to_host(), 2 * np.arange(8))
    both[1, 1](a, c, c)
    np.testing.assert_array_equal(c.copy_to_host(), 3 * np.arange(8))


@cuda.jit
def swapped(a, b):
    i = cuda.grid(1)
    t = a[i]
    a[i] = b[i]
    b[i] = t


@cuda.jit
def reversed_in_place(a, b):
    i = cuda.grid(1)
    last = a.size - 1 - i
    if i < last:
        t, u = a[i], b[last]
        a[i] = u
        b[last] = t


@cuda.jit
def halves_exchanged(a, b, c):
    i = cuda.grid(1)
    x, y = a[i], b[i]
    c[i], c[i + 4] = y, x


@cuda.jit
def through_a_barrier(a, c):
    i = cuda.grid(1)
    x = a[i]
    cuda.syncthreads()
    c[7 - i] = x


@pytest.mark.parametrize("kernel, count", [(swapped, 2), (reversed_in_place, 2), (halves_exchanged, 3),
                                           (through_a_barrier, 2)])
def test_stores_after_a_load_may_overwrite_what_it_read(kernel, count):
    # A constant load might be moved behind them.
    assert "ld.global.nc" not in ptx_of(kernel, *[F1] * count)
    jitted = cuda.jit(kernel.py_func)
    host = np.arange(8, dtype=np.float32)
    if kernel is swapped:
        a, b = cuda.to_device(host), cuda.to_device(-host)
        jitted[1, 8](a, b)
        np.testing.assert_array_equal((a.copy_to_host(), b.copy_to_host()), (-host, host))
    elif kernel is reversed_in_place:
        a = cuda.to_device(host)
        jitted[1, 8](a, a)
        np.testing.assert_array_equal(a.copy_to_host(), host[::-1])
    elif kernel is halves_exchanged:
        a = cuda.to_device(host)
        jitted[1, 4](a[:4], a[4:], a)
        np.testing.assert_array_equal(a.copy_to_host(), np.roll(host, 4))
    else:
        a = cuda.to_device(host)
        jitted[1, 8](a, a)
        np.testing.assert_array_equal(a.copy_to_host(), host[::-1])
    (ptx,) = jitted.inspect_asm().values()
    assert "ld.global.nc" not in ptx, ptx


@pytest.mark.parametrize("what", ["nothing", "fence", "atomic", "sleep"])
def test_loads_that_may_wait_for_other_blocks_are_not_constant(what):
    @cuda.jit
    def waits(flag, a, c):
        c[0] = np.float32(0)
        if what == "fence":
            cuda.threadfence()
        elif what == "atomic":
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
        elif what == "sleep":
            cuda.nanosleep(10)
        c[cuda.grid(1)] = a[0]

    ptx = waits.compile((types.int32[::1], F1, F1)).inspect_asm()
    assert ("ld.global.nc" in ptx) == (what == "nothing"), ptx
    assert ptx.count(".entry") == (2 if what == "nothing" else 1)


def test_arrays_in_a_tuple_are_told_apart():
    @cuda.jit
    def of_tuple(pair):
        for j in range(4):
            pair[1][j + 1] = pair[0][j] + np.float32(1)

    a, c = cuda.to_device(np.arange(5, dtype=np.float32)), cuda.to_device(np.zeros(5, np.float32))
    of_tuple[1, 1]((a, c))
    np.testing.assert_array_equal(c.copy_to_host(), [0, 1, 2, 3, 4])
    of_tuple[1, 1]((c, c))
    np.testing.assert_array_equal(c.copy_to_host(), [0, 1, 2, 3, 4])
    c = cuda.to_device(np.array([7, 0, 0, 0, 0], np.float32))
    of_tuple[1, 1]((c, c))
    np.testing.assert_array_equal(c.copy_to_host(), [7, 8, 9, 10, 11])


def test_written_through_another_name():
    @cuda.jit
    def swapping(a, c, n):
        x, y = a, c
        for _ in range(n):
            for j in range(1, 4):
                y[j] = x[j - 1] + np.float32(1)
            x, y = y, x

    a, c = np.zeros(4, np.float32), np.zeros(4, np.float32)
    swapping[1, 1](a, c, 3)
    x, y = np.zeros(4, np.float32), np.zeros(4, np.float32)
    for _ in range(3):
        y[1:] = x[:-1] + 1
        x, y = y, x
    np.testing.assert_array_equal((c, a), (x, y))  # an odd number of turns


@cuda.jit
def gathered(a, at, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[at[i]]


@cuda.jit
def moved(a, k, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i - k]


@pytest.mark.parametrize("kernel, signature", [(gathered, (F1, types.int32[::1], F1)), (moved, (F1, types.int64, F1))])
def test_a_wrap_around_is_no_branch_on_a_gpu(kernel, signature):
    ptx = ptx_of(kernel, *signature)
    assert sum(" bra" in line for block in blocks_of(ptx) for line in block) <= 2, ptx


def test_indices_wrap_around_in_both_codes(both_codes):
    one, other = cuda.jit(gathered.py_func), cuda.jit(moved.py_func)
    a, c = np.arange(8, dtype=np.float32), np.zeros(4, np.float32)
    one[1, 4](a, np.array([-1, 0, -8, 3], np.int32), c)
    np.testing.assert_array_equal(c, [7, 0, 0, 3])
    other[1, 4](a, 2, c)
    np.testing.assert_array_equal(c, [6, 7, 0, 1])


def strides(a, b, c):
    for i in range(cuda.grid(1), a.shape[0], cuda.gridsize(1)):
        c[i] = np.float32(2) * a[i] + b[i]


def in_place(a, b, c):
    for i in range(cuda.grid(1), a.shape[0], cuda.gridsize(1)):
        c[i] = a[i] + c[i]


def summed(a, b, c):
    total, last, before = np.float32(0), np.float32(-1), np.float32(-2)
    for i in range(cuda.grid(1), a.shape[0], cuda.gridsize(1)):
        total += a[i]
        before, last = last, b[i]
    if cuda.grid(1) < c.size:
        c[cuda.grid(1)] = total + np.float32(1000) * before + np.float32(1000000) * last


@pytest.mark.parametrize("function", [strides, in_place, summed])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 31, 32, 33, 39, 40, 41, 64, 100, 129])
def test_rounds_of_a_stride_loop(function, n, both_codes):
    kernel = cuda.jit(function)
    threads = 8
    a, b = np.arange(n, dtype=np.float32), np.arange(n, dtype=np.float32) % 7
    c = np.ones(max(n, threads), np.float32)
    want = c.copy()
    if function is strides:
        want[:n] = 2 * a + b
    elif function is in_place:
        want[:n] = a + 1
    else:
        for t in range(threads):
            seen = [-2, -1, *b[t::threads]]
            want[t] = a[t::threads].sum() + 1000 * seen[-2] + 1000000 * seen[-1]
    kernel[2, threads // 2](a, b, c)
    np.testing.assert_array_equal(c, want)


@pytest.mark.parametrize("function, at_once", [(strides, 8), (in_place, 8), (summed, 4)])
def test_rounds_of_a_stride_loop_load_together(function, at_once, monkeypatch):
    options = CUDADispatcher._options
    monkeypatch.setattr(CUDADispatcher, "_options", lambda self: dict(options(self), gpu=True))
    ptx = cuda.jit(function).compile((F1, F1, F1)).inspect_asm()
    # No store and no use between them: addresses and loads only.
    best = 0
    for block in blocks_of(ptx):
        run = 0
        for line in block:
            run += line.startswith("ld.global")
            if line.startswith(("st.", "fma.", "add.f32", "add.rn.f32", "atom.")):
                run = 0
            best = max(best, run)
    assert best >= at_once, ptx
