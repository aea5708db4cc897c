"""The worker of numba-cuda."""
import warnings

import common
from numba_like import NumbaLike


def make():
    warnings.simplefilter("ignore")
    import numpy

    if not hasattr(numpy, "row_stack"):  # which NumPy dropped and some releases of Numba still look for
        numpy.row_stack = numpy.vstack
    import numba_cuda
    from numba import cuda

    cuda.get_current_device()
    return NumbaLike("numba-cuda", numba_cuda.__version__, cuda)


common.serve(make)
