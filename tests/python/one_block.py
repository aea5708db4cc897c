"""Kernels of one block, which tests of the compiler run without a word about how small they are."""
import warnings

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda.core.errors import NumbaPerformanceWarning


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        yield


def run(function, *arguments, out=np.int64, count=1, block=1, **options):
    """What `function(out, *arguments)` writes as a kernel of one block."""
    result = np.zeros(count, dtype=out)
    cuda.jit(**options)(function)[1, block](result, *arguments)
    return result
