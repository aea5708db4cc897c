"""vectorize, guvectorize, reduce and transpose against NumPy."""

import pickle

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import float32, float64, guvectorize, int32, vectorize
from warploom.cuda.kernels.transpose import transpose

pytestmark = pytest.mark.filterwarnings("ignore::warploom.cuda.core.errors.NumbaPerformanceWarning")


@pytest.fixture(scope="module")
def add():
    @vectorize([int32(int32, int32), float32(float32, float32), float64(float64, float64)])
    def vector_add(a, b):
        return a + b

    return vector_add


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("n", [1, 8, 1025])
def test_elementwise(add, dtype, n):
    x = np.arange(n).astype(dtype)
    result = add(x, x)
    np.testing.assert_array_equal(result, x + x)
    assert result.dtype == dtype


@pytest.mark.parametrize("ndim", range(1, 6))
@pytest.mark.parametrize("order", ["C", "F"])
def test_dimensions_and_orders(add, ndim, order):
    x = np.random.default_rng(ndim).random((3,) * ndim)
    y = np.array(x.T, order=order)
    np.testing.assert_array_equal(add(x, y), x + y)
    np.testing.assert_array_equal(add(cuda.to_device(x), cuda.to_device(y)).copy_to_host(), x + y)


def test_broadcasting(add):
    a = np.random.default_rng(0).random((10, 3, 1))
    b = a.transpose(2, 1, 0)
    np.testing.assert_array_equal(add(a, b), a + b)
    np.testing.assert_array_equal(add(cuda.to_device(a), cuda.to_device(b)).copy_to_host(), a + b)
    np.testing.assert_array_equal(add(a, 1.0), a + 1)
    assert add(1.5, 2.0) == 3.5


def test_results_stay_where_arguments_are(add):
    x = np.arange(10, dtype=np.float32)
    device = cuda.to_device(x)
    assert isinstance(add(x, x), np.ndarray)
    assert not isinstance(add(x, device), np.ndarray)
    out = np.zeros_like(x)
    assert add(x, x, out=out) is out
    np.testing.assert_array_equal(out, 2 * x)
    add(device, device, out=device)
    np.testing.assert_array_equal(device.copy_to_host(), 2 * x)


def test_types_must_match_exactly(add):
    with pytest.raises(TypeError, match="No matching version"):
        add(np.zeros(3, np.int16), np.zeros(3, np.int16))


def test_ufunc_reduce(add):
    for n in (1, 8, 100, 3000):
        x = np.arange(n, dtype=np.int32)
        result = add.reduce(x)
        assert result == x.sum() and result.dtype == np.int32


def test_pickled_ufunc(add):
    x = np.arange(4.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(add))(x, x), x + x)


def test_options():
    with pytest.raises(KeyError, match="Unrecognized options"):
        vectorize(["float32(float32)"], nonexistent=2)
    with pytest.warns(RuntimeWarning, match="nopython kwarg for cuda target is redundant"):
        vectorize(["float32(float32)"], nopython=True)
    with pytest.raises(TypeError, match="nopython flag must be True"):
        guvectorize(["void(float32[:], float32[:])"], "(x)->(x)", nopython=False)
    with pytest.raises(TypeError, match="The following target options are not supported: 'what'"):
        guvectorize(["void(float32[:], float32[:])"], "(x)->(x)", what=1)
    with pytest.raises(TypeError, match="specifies int32 return type"):
        guvectorize(["int32(int32[:], int32[:])"], "(m)->(m)")(lambda x, y: None)


@pytest.fixture(scope="module")
def matmul():
    @guvectorize(["void(float64[:,:], float64[:,:], float64[:,:])"], "(m,n),(n,p)->(m,p)")
    def matmulcore(a, b, c):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                total = 0.0
                for k in range(a.shape[1]):
                    total += a[i, k] * b[k, j]
                c[i, j] = total

    return matmulcore


@pytest.mark.parametrize("left, right", [((2, 4), (4, 5)), ((7, 2, 4), (7, 4, 5)), ((3, 5, 2, 4), (3, 5, 4, 5)),
                                         ((7, 2, 4), (4, 5)), ((3, 1, 2, 4), (5, 4, 5))])
def test_gufunc(matmul, left, right):
    rng = np.random.default_rng(1)
    a, b = rng.random(left), rng.random(right)
    np.testing.assert_allclose(matmul(a, b), np.matmul(a, b))
    np.testing.assert_allclose(matmul(cuda.to_device(a), b).copy_to_host(), np.matmul(a, b))


def test_gufunc_outputs_and_scalars():
    @guvectorize(["void(float64[:], float64, float64[:], float64[:])"], "(n),()->(n),()")
    def scaled(x, factor, out, total):
        total[0] = 0
        for i in range(x.shape[0]):
            out[i] = x[i] * factor
            total[0] += out[i]

    x = np.arange(6.0).reshape(2, 3)
    out, total = scaled(x, 2.0)
    np.testing.assert_array_equal(out, 2 * x)
    np.testing.assert_array_equal(total, 2 * x.sum(axis=1))
    a, b = np.zeros((2, 3)), np.zeros(2)
    scaled(x, np.array([1.0, 3.0]), a, b)
    np.testing.assert_array_equal(a, x * np.array([[1.0], [3.0]]))
    with pytest.raises(TypeError, match="gufunc accepts 2 positional arguments .* or 4 positional arguments"):
        scaled(x)
    with pytest.raises(ValueError, match="both positional and keyword"):
        scaled(x, 2.0, a, b, out=(a, b))


@pytest.mark.parametrize("n", [1, 15, 255, 256, 257, 5000, 100001])
def test_reduce(n):
    total = cuda.reduce(lambda a, b: a + b)
    x = np.arange(n, dtype=np.float64)
    assert total(x) == x.sum()
    assert total(x, init=3) == x.sum() + 3
    assert total(cuda.to_device(x), size=1) == 0


def test_reduce_edges():
    largest = cuda.Reduce(lambda a, b: max(a, b))
    assert largest(np.array([1.0, 7.0, 3.0]), init=0) == 7
    assert largest(np.zeros(0), init=5) == 5
    result = cuda.to_device(np.zeros(1))
    assert largest(np.array([1.0, 7.0]), res=result) is None
    assert result.copy_to_host()[0] == 7
    with pytest.raises(TypeError, match="only support 1D array"):
        largest(np.zeros((2, 2)))


@pytest.mark.parametrize("shape, dtype", [((5, 6), np.float64), ((33, 16), np.complex128), ((1, 40), np.int8)])
def test_transpose(shape, dtype):
    x = np.arange(shape[0] * shape[1]).astype(dtype).reshape(shape)
    np.testing.assert_array_equal(transpose(cuda.to_device(x)).copy_to_host(), x.T)
    out = np.zeros(shape[::-1], dtype)
    transpose(x, out)
    np.testing.assert_array_equal(out, x.T)


class Foreign:
    """Device memory of another library."""

    def __init__(self, array):
        self._array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def test_memory_of_other_libraries(add):
    x = np.arange(5.0)
    np.testing.assert_array_equal(add(Foreign(cuda.to_device(x)), 6).copy_to_host(), x + 6)
    result = add(x, 6, out=Foreign(cuda.device_array(5)))
    np.testing.assert_array_equal(result.copy_to_host(), x + 6)


def test_a_function_alone_runs_on_the_host():
    double = vectorize(lambda x: 2 * x)
    np.testing.assert_array_equal(double(np.arange(3)), [0, 2, 4])
