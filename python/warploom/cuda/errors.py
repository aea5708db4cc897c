"""Errors of kernels and of their launch, and all classes of `warploom.cuda.core.errors`."""

from .core.errors import *  # noqa: F401,F403
from .core.errors import LoweringError, UnsupportedBytecodeError  # noqa: F401

missing_launch_config_msg = """Kernel launch configuration was not specified. Use the syntax:

kernel_function[blockspergrid, threadsperblock](arg0, arg1, ..., argn)

See "Kernel invocation" in the documentation: the grid comes first, then the block.
"""


class KernelRuntimeError(RuntimeError):
    """An exception raised in a kernel for which no Python class is known.

    `tid` and `ctaid` are the thread's and the block's indices (x, y, z).
    """

    def __init__(self, msg, tid=None, ctaid=None):
        self.tid = tid
        self.ctaid = ctaid
        self.msg = msg
        super().__init__("An exception was raised in thread=%s block=%s\n\t%s" % (tid, ctaid, msg))


class CudaLoweringError(LoweringError):
    """Code could not be generated for the CUDA target."""


def normalize_kernel_dimensions(griddim, blockdim):
    """Grid and block as two tuples of three ints, 1 where a dimension was not given.

    Raises ValueError for more than three dimensions (or none), TypeError for what is not an integer; NumPy's integers
    are integers. Source: Numba, "Kernel invocation".
    """
    return _dimensions("griddim", griddim), _dimensions("blockdim", blockdim)


def _dimensions(name, dim):
    if type(dim) is int:
        return (dim, 1, 1)
    given = list(dim) if isinstance(dim, (tuple, list)) else [dim]
    if not 1 <= len(given) <= 3:
        raise ValueError(f"{name} must be a sequence of 1, 2 or 3 integers, got {given!r}")
    for v in given:
        if not isinstance(v, _Integral):
            raise TypeError(f"{name} must be a sequence of integers, got {given!r}")
    return tuple(int(v) for v in given) + (1,) * (3 - len(given))


from numbers import Integral as _Integral  # noqa: E402
