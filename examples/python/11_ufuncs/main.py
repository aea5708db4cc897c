"""Functions of elements and of small arrays that run over whole arrays: vectorize, guvectorize, NumPy's in a kernel."""
import math

import numpy as np

from warploom import cuda
from warploom.cuda import guvectorize, vectorize


# [vectorize]
@vectorize(["float32(float32, float32, float32)", "float64(float64, float64, float64)"], target="cuda")
def discriminant(a, b, c):
    return math.sqrt(b * b - 4 * a * c)
# [/vectorize]


# [guvectorize]
@guvectorize(["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)", target="cuda")
def small_products(a, b, c):
    """One thread multiplies one pair of small matrices."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            total = np.float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total
# [/guvectorize]


# [numpy]
@cuda.jit
def sines(x, result):
    """A NumPy function called in a kernel runs over the whole array, by each thread that calls it."""
    np.sin(x, result)
# [/numpy]


def main():
    generator = np.random.default_rng(11)
    for kind in (np.float32, np.float64):
        a, c = generator.random((2, 10_000)).astype(kind)
        b = (generator.random(10_000) + 2).astype(kind)
        result = discriminant(a, b, c)
        assert result.dtype == kind
        np.testing.assert_allclose(result, np.sqrt(b * b - 4 * a * c), rtol=1e-5)
    on_device = discriminant(*(cuda.to_device(array) for array in (a, b, c)))  # device arrays in, a device array out
    np.testing.assert_allclose(on_device.copy_to_host(), np.sqrt(b * b - 4 * a * c))
    print("vectorize: ok")

    left = generator.random((100, 4, 3), dtype=np.float32)
    right = generator.random((100, 3, 5), dtype=np.float32)
    np.testing.assert_allclose(small_products(left, right), left @ right, rtol=1e-5)
    print("guvectorize: ok")

    x, result = generator.random(10), np.zeros(10)
    sines[1, 1](x, result)
    np.testing.assert_allclose(result, np.sin(x), rtol=1e-14)
    print("a NumPy function in a kernel: ok")


if __name__ == "__main__":
    main()
