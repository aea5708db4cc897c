"""Linear algebra on device arrays, at the speed of a library: the same calls on a GPU and on the CPU device.

cuBLAS does the work on a GPU (``pip install nvidia-cublas``), OpenBLAS on the CPU device (Debian: libopenblas0); both
are found when they are first used. Arrays are device arrays, or other objects with ``__cuda_array_interface__``
(CuPy, PyTorch). Work is queued on the stream (``stream=0``: the default stream) and the calls return at once; copies
to the host wait for it. Elements: float32, float64, complex64, complex128; matrix products also take float16 and
bfloat16, whose sums are float32. A result shares no memory with the other arguments. What is multiplied by ``beta=0``
is not read.

Raise TypeError for arrays of the host and for element types that differ or are not there, ValueError for arrays of
another device, and ``CudaAPIError``: 1 for shapes that do not fit, 801 when the library is not installed or does not
take a layout (the text says what to do). Sources: BLAS Technical Forum, "Basic Linear Algebra Subprograms"; cuBLAS
documentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warploom import _core
from warploom.cuda import device_array
from warploom.cuda.cudadrv._calls import call

from ._math import device_array_of, native_stream, same_type, writable

__all__ = ["axpy", "dot", "gemm", "gemv", "nrm2", "scal"]

_OPS = {"N": 0, "T": 1, "C": 2}


def _op(name: str, trans: Any) -> int:
    try:
        return _OPS[trans]
    except (KeyError, TypeError):
        raise ValueError('%s is "N", "T" or "C", not %r' % (name, trans)) from None


def _type_name(dtype: np.dtype) -> str:
    if dtype.name not in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128"):
        raise TypeError("there is no linear algebra for elements of type %s" % dtype.name)
    return dtype.name


def _vector_type(dtype: np.dtype) -> str:
    name = _type_name(dtype)
    if name in ("float16", "bfloat16"):
        raise TypeError("%s has matrix products only; use float32" % name)
    return name


def _scalar(name: str, value: Any, dtype: np.dtype) -> complex:
    if dtype.kind != "c" and isinstance(value, complex) and value.imag != 0:
        raise TypeError("%s is complex and the arrays are real" % name)
    return complex(value)


def gemm(a: Any, b: Any, c: Any = None, *, alpha: complex = 1.0, beta: complex = 0.0, trans_a: str = "N",
         trans_b: str = "N", stream: Any = 0) -> Any:
    """``c = alpha op(a) op(b) + beta c``; returns ``c``, which is made when it is None (``beta`` must be 0 then).

    Arrays of two dimensions, or of three: then the first axis counts the matrices of a batch, and ``a`` and ``b`` may
    have 1 there for the same matrix each time. ``trans_a`` and ``trans_b``: "N" for the matrix, "T" for its
    transpose, "C" for its conjugate transpose. Rows or columns lie one after the other with any distance between
    them, so that slices and ``array.T`` are no copies. float32 products are float32 (no TF32). """
    a, b = device_array_of(a, "a"), device_array_of(b, "b")
    op_a, op_b = _op("trans_a", trans_a), _op("trans_b", trans_b)
    if c is None:
        if beta != 0:
            raise ValueError("beta needs an array c to be multiplied with")
        if a.ndim not in (2, 3) or a.ndim != b.ndim:
            raise ValueError("a product takes two matrices, or two batches of them, not arrays of %d and %d dimensions"
                             % (a.ndim, b.ndim))
        shape = (a.shape[-1 if op_a else -2], b.shape[-2 if op_b else -1])
        if a.ndim == 3:
            shape = (max(a.shape[0], b.shape[0]) if a.shape[0] and b.shape[0] else 0,) + shape
        c = device_array(shape, dtype=same_type(a, b))
    c = writable(c, "c")
    dtype = same_type(a, b, c)
    call("gemm", _core.gemm, native_stream(stream), _type_name(dtype), _scalar("alpha", alpha, dtype), a, op_a, b, op_b,
         _scalar("beta", beta, dtype), c)
    return c


def gemv(a: Any, x: Any, y: Any = None, *, alpha: complex = 1.0, beta: complex = 0.0, trans: str = "N",
         stream: Any = 0) -> Any:
    """``y = alpha op(a) x + beta y``; returns ``y``, which is made when it is None (``beta`` must be 0 then)."""
    a, x = device_array_of(a, "a"), device_array_of(x, "x")
    op = _op("trans", trans)
    if y is None:
        if beta != 0:
            raise ValueError("beta needs an array y to be multiplied with")
        if a.ndim != 2:
            raise ValueError("a is no matrix: it has %d dimensions" % a.ndim)
        y = device_array(a.shape[1 if op else 0], dtype=same_type(a, x))
    y = writable(y, "y")
    dtype = same_type(a, x, y)
    call("gemv", _core.gemv, native_stream(stream), _vector_type(dtype), _scalar("alpha", alpha, dtype), a, op, x,
         _scalar("beta", beta, dtype), y)
    return y


def dot(x: Any, y: Any, out: Any = None, *, conjugate: bool = False, stream: Any = 0) -> Any:
    """The sum of ``x y``, or with ``conjugate`` of ``conj(x) y``, as a device array of one element: ``out``, or a new
    one.

    Nothing waits; ``out.copy_to_host()[0]`` does.
    """
    x, y = device_array_of(x, "x"), device_array_of(y, "y")
    out = device_array(1, dtype=same_type(x, y)) if out is None else writable(out, "out")
    call("dot", _core.dot, native_stream(stream), _vector_type(same_type(x, y, out)), x, y, bool(conjugate), out)
    return out


def nrm2(x: Any, out: Any = None, *, stream: Any = 0) -> Any:
    """The Euclidean length of ``x`` as a device array of one real element: ``out``, or a new one."""
    x = device_array_of(x, "x")
    name = _vector_type(same_type(x))
    real = np.dtype(name).type(0).real.dtype
    out = device_array(1, dtype=real) if out is None else writable(out, "out")
    if out.dtype != real:
        raise TypeError("the length of %s elements is %s, not %s" % (name, real.name, out.dtype.name))
    call("nrm2", _core.nrm2, native_stream(stream), name, x, out)
    return out


def axpy(x: Any, y: Any, *, alpha: complex = 1.0, stream: Any = 0) -> Any:
    """``y = alpha x + y``; returns ``y``."""
    x, y = device_array_of(x, "x"), writable(y, "y")
    dtype = same_type(x, y)
    call("axpy", _core.axpy, native_stream(stream), _vector_type(dtype), _scalar("alpha", alpha, dtype), x, y)
    return y


def scal(x: Any, *, alpha: complex, stream: Any = 0) -> Any:
    """``x = alpha x``; returns ``x``."""
    x = writable(x, "x")
    dtype = same_type(x)
    call("scal", _core.scal, native_stream(stream), _vector_type(dtype), _scalar("alpha", alpha, dtype), x)
    return x
