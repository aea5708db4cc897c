"""warploom.blas and warploom.fft against NumPy, within the bounds of their arithmetic."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from warploom import blas, cuda, fft
from warploom.cuda.cudadrv.driver import CudaAPIError

TYPES = ("float32", "float64", "complex64", "complex128")


def library(work):
    """What `work` gives; skips where the library is not installed."""
    try:
        return work()
    except CudaAPIError as error:
        if error.code != 801 or "there is no " not in str(error):
            raise
        print("[SKIP]", error)
        pytest.skip(str(error))


def values(shape, dtype, seed=1):
    generator = np.random.default_rng(seed)
    out = generator.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        out = out + 1j * generator.uniform(-1, 1, shape)
    return out.astype(dtype)


def gamma(terms, dtype):
    """Of a sum of products (Higham, Accuracy and Stability of Numerical Algorithms, (3.13)); NumPy's own is another."""
    unit = np.finfo(dtype).eps / 2 * (3 if np.dtype(dtype).kind == "c" else 1)
    return (terms + 4) * unit / (1 - (terms + 4) * unit)


def assert_product(got, a, b, scale=1.0):
    wide = np.result_type(a.dtype, np.float64)
    want = scale * (a.astype(wide) @ b.astype(wide))
    magnitude = abs(scale) * (abs(a).astype(np.float64) @ abs(b).astype(np.float64))
    twice = 2 if np.dtype(got.dtype).itemsize == np.dtype(wide).itemsize else 1
    assert np.all(abs(got - want) <= twice * gamma(a.shape[-1], got.dtype) * magnitude)


@pytest.mark.parametrize("dtype", TYPES)
def test_products(dtype):
    a, b = values((37, 53), dtype), values((53, 29), dtype, 2)
    da, db = cuda.to_device(a), cuda.to_device(b)
    assert_product(library(lambda: blas.gemm(da, db)).copy_to_host(), a, b)
    assert_product(blas.gemm(db, da, trans_a="T", trans_b="T").copy_to_host(), b.T, a.T)
    # Slices and arrays in Fortran order are no copies.
    assert_product(blas.gemm(db.T, da.T).copy_to_host(), b.T, a.T)
    f_order = cuda.to_device(np.asfortranarray(a))
    assert_product(blas.gemm(f_order, db).copy_to_host(), a, b)
    assert_product(blas.gemm(da[3:20, 5:50], db[5:50]).copy_to_host(), a[3:20, 5:50], b[5:50])
    square = values((53, 53), dtype, 3)
    ds = cuda.to_device(square)
    assert_product(blas.gemm(ds, ds, trans_a="C", alpha=0.5).copy_to_host(), square.conj().T, square, 0.5)
    c = values((37, 29), dtype, 4)
    dc = cuda.to_device(c)
    assert blas.gemm(da, db, dc, alpha=2, beta=-1) is dc
    wide = np.result_type(dtype, np.float64)
    want = 2 * (a.astype(wide) @ b.astype(wide)) - c
    assert np.all(abs(dc.copy_to_host() - want) <= 2 * gamma(53, dtype) * (2 * abs(a) @ abs(b) + abs(c)))


@pytest.mark.parametrize("dtype", TYPES)
def test_batches(dtype):
    a, b = values((4, 6, 5), dtype), values((4, 5, 7), dtype, 2)
    assert_product(library(lambda: blas.gemm(cuda.to_device(a), cuda.to_device(b))).copy_to_host(), a, b)
    one = blas.gemm(cuda.to_device(a), cuda.to_device(b[:1])).copy_to_host()
    assert_product(one, a, np.broadcast_to(b[:1], b.shape))


def test_float16():
    # Whole numbers: sums below 2048 are exact.
    generator = np.random.default_rng(1)
    a = generator.integers(-4, 5, (33, 40)).astype(np.float16)
    b = generator.integers(-4, 5, (40, 21)).astype(np.float16)
    got = library(lambda: blas.gemm(cuda.to_device(a), cuda.to_device(b))).copy_to_host()
    assert got.dtype == np.float16 and np.array_equal(got, (a.astype(int) @ b.astype(int)).astype(np.float16))


@pytest.mark.parametrize("dtype", TYPES)
def test_vectors(dtype):
    a, x, y = values((9, 40), dtype), values(40, dtype, 2), values(40, dtype, 3)
    da, dx, dy = cuda.to_device(a), cuda.to_device(x), cuda.to_device(y)
    assert_product(library(lambda: blas.gemv(da, dx)).copy_to_host(), a, x)
    assert_product(blas.gemv(da, dx[::-1]).copy_to_host(), a, x[::-1])
    assert_product(blas.gemv(da, cuda.to_device(x[:9]), trans="T").copy_to_host(), a.T, x[:9])
    assert_product(blas.dot(dx, dy).copy_to_host(), x[None, :], y)
    assert_product(blas.dot(dx, dy, conjugate=True).copy_to_host(), x.conj()[None, :], y)
    length = blas.nrm2(dx).copy_to_host()
    want = math.sqrt(float(np.sum(abs(x).astype(np.float64) ** 2)))
    assert length.dtype == abs(x).dtype and abs(length[0] - want) <= gamma(40, dtype) * want
    assert blas.axpy(dx[::2], dy[:20], alpha=2) is not None
    bound = gamma(1, dtype) * (2 * abs(x[::2]) + abs(y[:20]))
    assert np.all(abs(dy.copy_to_host()[:20] - (2 * x[::2] + y[:20])) <= bound)
    assert np.array_equal(blas.scal(dx, alpha=4).copy_to_host(), 4 * x)


def assert_transform(got, want, elements):
    """In the 2-norm (Higham, Theorem 24.2); NumPy's result, in double precision, has the same bound of its own."""
    unit = np.finfo(got.dtype).eps / 2
    eta = unit + 4 * unit / (1 - 4 * unit) * (math.sqrt(2) + unit)
    double = 2.0 ** -53
    stages = math.ceil(math.log2(elements)) + 1
    limit = stages * (eta + double + 4 * double * (math.sqrt(2) + double))
    assert got.shape == want.shape
    assert np.linalg.norm((got - want).ravel()) <= limit * np.linalg.norm(want.ravel())


@pytest.mark.parametrize("real, complex_", [("float32", "complex64"), ("float64", "complex128")])
def test_transforms(real, complex_):
    x, r = values((6, 10, 48), complex_), values((6, 10, 48), real, 2)
    wide, wide_r = x.astype(np.complex128), r.astype(np.float64)
    dx, dr = cuda.to_device(x), cuda.to_device(r)
    assert_transform(library(lambda: fft.fft(dx)).copy_to_host(), np.fft.fft(wide), 48)
    assert_transform(fft.ifft(dx).copy_to_host(), np.fft.ifft(wide), 48)
    assert_transform(fft.fft2(dx, norm="ortho").copy_to_host(), np.fft.fft2(wide, norm="ortho"), 480)
    assert_transform(fft.ifft2(dx, norm="forward").copy_to_host(), np.fft.ifft2(wide, norm="forward"), 480)
    assert_transform(fft.fftn(dx).copy_to_host(), np.fft.fftn(wide), 2880)
    assert_transform(fft.ifftn(dx, axes=(1, 2)).copy_to_host(), np.fft.ifftn(wide, axes=(1, 2)), 480)
    half = fft.rfft(dr)
    assert half.dtype == np.dtype(complex_)
    assert_transform(half.copy_to_host(), np.fft.rfft(wide_r), 48)
    assert_transform(fft.rfft2(dr).copy_to_host(), np.fft.rfft2(wide_r), 480)
    assert_transform(fft.rfftn(dr).copy_to_host(), np.fft.rfftn(wide_r), 2880)
    # Forth and back: twice the stages.
    for forth, back in ((fft.rfft, fft.irfft), (fft.rfft2, fft.irfft2), (fft.rfftn, fft.irfftn)):
        there = forth(dr)
        kept = there.copy_to_host()
        again = back(there)
        assert again.dtype == np.dtype(real)
        assert_transform(again.copy_to_host(), wide_r, 2880**2)
        assert np.array_equal(there.copy_to_host(), kept)
    odd = cuda.to_device(np.ascontiguousarray(r[0, :, :47]))
    assert_transform(fft.irfft(fft.rfft(odd), 47).copy_to_host(), wide_r[0, :, :47], 47**2)
    assert fft.fft(dx, out=dx) is dx
    assert_transform(dx.copy_to_host(), np.fft.fft(wide), 48)


def test_as_the_guide_shows():
    a, b = values((64, 48), "float32"), values((48, 32), "float32", 2)

    def guide():
        # [guide]
        c = blas.gemm(cuda.to_device(a), cuda.to_device(b))  # c = a b
        spectrum = fft.rfft(c)  # of each row
        length = blas.nrm2(c[0]).copy_to_host()[0]
        # [/guide]
        return c.copy_to_host(), spectrum.copy_to_host(), length

    c, spectrum, length = library(guide)
    assert_product(c, a, b)
    assert_transform(spectrum, np.fft.rfft(c.astype(np.float64)), 32)
    assert abs(length - np.linalg.norm(c[0].astype(np.float64))) <= gamma(32, "float32") * length


def test_streams_and_arrays_of_others():
    class Foreign:
        def __init__(self, array):
            self.array = array

        __cuda_array_interface__ = property(lambda self: self.array.__cuda_array_interface__)

    a = values((16, 16), "float32")
    stream = cuda.stream()
    da = cuda.to_device(a, stream=stream)
    c = library(lambda: blas.gemm(Foreign(da), da, stream=stream))
    assert_product(c.copy_to_host(stream=stream), a, a)


def test_calls_that_cannot_be():
    a = cuda.to_device(np.ones((3, 4), np.float32))
    for work, error, text in (
        (lambda: blas.gemm(a, np.ones((4, 3), np.float32)), TypeError, "to_device"),
        (lambda: blas.gemm(a, cuda.to_device(np.ones((4, 3)))), TypeError, "different types"),
        (lambda: blas.gemm(a, a), CudaAPIError, "op\\(a\\) is 3 x 4, op\\(b\\) 3 x 4"),
        (lambda: blas.gemm(a, a, trans_b="X"), ValueError, "trans_b"),
        (lambda: blas.gemm(a, a, beta=1, trans_b="T"), ValueError, "beta"),
        (lambda: blas.gemm(a, a, alpha=1j, trans_b="T"), TypeError, "complex"),
        (lambda: blas.dot(cuda.to_device(np.ones(3, np.int32)), a[0]), TypeError, "types"),
        (lambda: blas.scal(cuda.to_device(np.ones(3, np.int32)), alpha=2), TypeError, "int32"),
        (lambda: blas.scal(cuda.to_device(np.ones(3, np.float16)), alpha=2), TypeError, "float32"),
        (lambda: blas.axpy(a[0], a[:, 0]), CudaAPIError, "4 and 3 elements"),
        (lambda: fft.fft(a), TypeError, "complex64"),
        (lambda: fft.rfft(a, axis=0), ValueError, "last"),
        (lambda: fft.rfft(a, norm="no"), ValueError, "norm"),
        (lambda: fft.rfft(a[:, :3]), CudaAPIError, "C order"),
        (lambda: fft.rfft(a, out=cuda.to_device(np.ones((3, 4), np.complex64))), CudaAPIError, "n / 2 \\+ 1"),
    ):
        with pytest.raises(error, match=text):
            work()


@pytest.mark.parametrize(
    "variable, call", [("WARPLOOM_OPENBLAS", "blas.gemm(a, a)"), ("WARPLOOM_FFTWF", "fft.rfft(a)")]
)
def test_a_missing_library_is_named_with_its_package(variable, call):
    text = (
        "import numpy as np\nfrom warploom import blas, cuda, fft\na = cuda.to_device(np.ones((4, 4), np.float32))\n"
        "try:\n    %s\nexcept cuda.cudadrv.driver.CudaAPIError as error:\n    print(error)\n" % call
    )
    environment = dict(os.environ, WARPLOOM_DEVICE="cpu", **{variable: "/nowhere/lib.so"})
    done = subprocess.run([sys.executable, "-c", text], env=environment,
                          capture_output=True, text=True, check=True)
    assert "[801]" in done.stdout and "/nowhere/lib.so" in done.stdout and "Debian: lib" in done.stdout
