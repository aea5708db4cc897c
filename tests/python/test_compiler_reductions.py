"""NumPy's reductions of whole arrays in kernels."""
import numpy as np
import pytest

from warploom import cuda
from warploom.cuda.core import errors

pytestmark = pytest.mark.filterwarnings("ignore")

_ARRAYS = (
    np.array([1.5, -2.0, 0.0, 4.0]), np.array([np.nan, 3.0, -1.0]), np.array([[1.0, np.inf], [2.0, -5.0]]),
    np.array([3, -7, 5], np.int32), np.array([200, 100], np.uint8), np.array([True, False]),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
)


@pytest.mark.parametrize("array", _ARRAYS, ids=lambda a: f"{a.dtype}-{a.ndim}")
def test_reductions_agree_with_numpy(array):
    def kernel(out, a):
        out[0] = np.sum(a)
        out[1] = np.prod(a)
        out[2] = np.mean(a)
        out[3] = np.var(a)
        out[4] = np.std(a)
        out[5] = np.min(a)
        out[6] = np.max(a)
        out[7] = np.argmin(a)
        out[8] = np.argmax(a)
        out[9] = np.all(a)
        out[10] = np.any(a)
        out[11] = np.count_nonzero(a)
        out[12] = a.sum() + a.max()

    functions = (np.sum, np.prod, np.mean, np.var, np.std, np.min, np.max, np.argmin, np.argmax, np.all, np.any,
                 np.count_nonzero, lambda a: float(a.sum()) + float(a.max()))
    out = np.zeros(13)
    cuda.jit(kernel)[1, 1](out, array)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(out, [f(array) for f in functions], rtol=1e-15)


@pytest.mark.parametrize("array", (np.array([np.nan, 2.0, -1.0, np.nan]), np.array([np.nan, np.nan]), np.array([3, 1])),
                         ids=("some", "only", "integers"))
def test_reductions_that_skip_nan(array):
    def kernel(out, a):
        out[0] = np.nansum(a)
        out[1] = np.nanprod(a)
        out[2] = np.nanmean(a)
        out[3] = np.nanmin(a)
        out[4] = np.nanmax(a)
        out[5] = np.nanvar(a)

    out = np.zeros(6)
    cuda.jit(kernel)[1, 1](out, array)
    wanted = [f(array) for f in (np.nansum, np.nanprod, np.nanmean, np.nanmin, np.nanmax, np.nanvar)]
    np.testing.assert_array_equal(out, wanted)


def test_a_complex_sum_and_one_element():
    def kernel(out, a, b):
        out[0] = np.sum(a)
        out[1] = np.mean(a)
        out[2] = np.var(a)
        out[3] = np.max(b)

    a, b = np.array([1 + 2j, -3j]), np.array(7.0)
    out = np.zeros(4, complex)
    cuda.jit(kernel)[1, 1](out, a, b)
    np.testing.assert_allclose(out, [np.sum(a), np.mean(a), np.var(a), 7], rtol=1e-15)


def test_an_axis_is_refused():
    @cuda.jit
    def kernel(a):
        np.sum(a, axis=0)

    with pytest.raises(errors.TypingError, match="whole arrays"):
        kernel[1, 1](np.zeros((2, 2)))
