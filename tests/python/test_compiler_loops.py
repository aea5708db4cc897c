"""Loops whose variables change type, with returns inside; reads before assignments; narrow minima; integer inverses."""

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda.core.errors import TypingError

ARRAY = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.int64)


def run(function, count=40, options=None):
    device = cuda.jit(device=True)(function)

    @cuda.jit(**(options or {}))
    def kernel(array, result):
        i = cuda.grid(1)
        if i < result.size:
            result[i] = device(i, array)

    result = np.zeros(count, np.float64)
    kernel[2, 32](ARRAY, result)
    np.testing.assert_array_equal(result, [function(i, ARRAY) for i in range(count)])


def widens_and_returns(i, array):
    s = 0
    for j in range(array.size):
        if array[j] < -4 and i % 3 == 0:
            return s
        s += array[j] * 0.5
    return s


def widens_in_while(i, array):
    best = 0
    w = 0
    while w < 7 and i > best:
        w += 1
        if array[w] == 9:
            return best
        best = max(best, array[w] / 2)
    return best + w


def returns_from_an_inner_loop(i, array):
    s = 0
    for p in range(3):
        for q in range(4):
            if q > i:
                return s
        s += 0.5
    return s


def swaps_while_it_may_return(i, array):
    a = i
    b = -3
    c = array[i % array.size]
    d = i * 3 - 7
    w = 0
    while w < 7 and ((d % 2 == 0) or (d > c)):
        w += 1
        if (i + c) % 3 == 1:
            return b
        a, c = c, array[-1 - (b) % 8]
        b = array[0]
    return a + b


def parameter_changes_type(i, array):
    x = np.int32(i)
    for q in range(3):
        if x > 2:
            return q
        x = q
    return x


def condition_reads_what_the_body_assigns(i, array):
    w = 0
    while w < i and (w == 0 or i > c):  # noqa: F821
        w += 1
        c = w + 1
    return w


def reads_the_round_before(i, array):
    s = 0
    w = 0
    while w < i:
        if w > 0 and before < i:  # noqa: F821
            s += before  # noqa: F821
        before = w
        w += 1
    return s


def breaks_out_of_the_loop_around(i, array):
    s = 0
    for p in range(5):
        for q in range(p):
            s += 0.25
            if q == i:
                break
        else:
            if p == 3:
                break
        s += 1
    return s


@pytest.mark.parametrize("options", [{}, {"typing": "narrow"}, {"debug": True, "opt": False}], ids=str)
@pytest.mark.parametrize("function", [
    widens_and_returns, widens_in_while, returns_from_an_inner_loop, swaps_while_it_may_return, parameter_changes_type,
    condition_reads_what_the_body_assigns, reads_the_round_before, breaks_out_of_the_loop_around])
def test_loops_that_are_typed_again(function, options):
    run(function, options=options)


def test_a_return_in_a_kernel_whose_variable_widens():
    @cuda.jit
    def kernel(array, result):
        i = cuda.grid(1)
        if i < result.size:
            s = 0
            for j in range(array.size):
                if array[j] < -4:
                    return
                s += array[j] * 0.5
            result[i] = s

    result = np.ones(8)
    kernel[1, 8](ARRAY, result)
    np.testing.assert_array_equal(result, np.ones(8))
    kernel[1, 8](np.arange(5), result)
    np.testing.assert_array_equal(result, np.full(8, 5.0))


@pytest.mark.parametrize("in_function", [False, True])
def test_a_variable_that_nothing_assigns_is_named(in_function):
    def endless(i):
        while w < 7:  # noqa: F821
            w += 1  # noqa: F821

    device = cuda.jit(device=True)(endless)

    @cuda.jit
    def calls(result):
        result[0] = device(1)

    @cuda.jit
    def direct(result):
        while w1 < 7:  # noqa: F821
            w1 += 1  # noqa: F821

    with pytest.raises(TypingError, match="'w1?' is read before anything is assigned"):
        (calls if in_function else direct)[1, 1](np.zeros(1))


def test_narrow_minimum_with_a_large_literal():
    @cuda.jit(typing="narrow")
    def kernel(a, result):
        result[0] = min(a[0], 4000000000)
        result[1] = max(a[0], -5000000000)
        result[2] = min(a[0], 5)

    result = np.zeros(3, np.int64)
    kernel[1, 1](np.array([7], np.int32), result)
    np.testing.assert_array_equal(result, [7, 7, 5])


def test_integers_to_negative_powers():
    @cuda.jit
    def kernel(a, exponent, result):
        i = cuda.grid(1)
        if i < a.size:
            result[i, 0] = a[i] ** -1
            result[i, 1] = a[i] ** exponent

    base = np.array([1, -1, 2, -7, 1], np.int64)
    result = np.zeros((5, 2), np.int64)
    kernel[1, 8](base, -3, result)
    np.testing.assert_array_equal(result[:, 0], [1, -1, 0, 0, 1])
    np.testing.assert_array_equal(result[:, 1], [1, -1, 0, 0, 1])
