"""Fourier transforms of device arrays, at the speed of a library: the same calls on a GPU and on the CPU device.

Names, shapes and norms are those of ``numpy.fft``; precision is that of the array, float32/complex64 or
float64/complex128. The last one (``fft``), two (``fft2``) or one to three axes (``fftn``) are transformed, the others
count a batch. Arrays lie in C order. cuFFT does the work on a GPU (``pip install nvidia-cufft``), FFTW on the CPU
device (Debian: libfftw3-double3, libfftw3-single3); both are found when they are first used. Arrays are device
arrays, or other objects with ``__cuda_array_interface__``. Work is queued on the stream (``stream=0``: the default
stream) and the calls return at once; copies to the host wait for it. ``out``: the result, of its shape and type; for
complex transforms it may be the input.

Raise TypeError for arrays of the host and other element types, ValueError for arrays of another device, axes that are
not the last ones and unknown norms, and ``CudaAPIError``: 1 for shapes and layouts that do not fit, 801 when the
library is not installed. Sources: NumPy, "Discrete Fourier Transform"; cuFFT documentation.
"""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence

import numpy as np

from warploom import _core
from warploom.cuda import device_array
from warploom.cuda.cudadrv._calls import call

from ._math import device_array_of, native_stream, same_type, writable

__all__ = ["fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn"]

_COMPLEX, _TO_COMPLEX, _TO_REAL = 0, 1, 2
_REAL_TYPES, _COMPLEX_TYPES = ("float32", "float64"), ("complex64", "complex128")


def _last_axes(ndim: int, axes: Sequence[int]) -> int:
    given = [axis + ndim if axis < 0 else axis for axis in axes]
    if given != list(range(ndim - len(given), ndim)) or not 1 <= len(given) <= 3:
        raise ValueError("a transform is of the last one to three axes in order, not of axes %s of %d; transpose the "
                         "array and copy it to C order" % (tuple(axes), ndim))
    return len(given)


def _scale(norm: Optional[str], inverse: bool, count: int) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError('norm is "backward", "ortho" or "forward", not %r' % (norm,))
    if norm == "ortho":
        return 1.0 / math.sqrt(count)
    return 1.0 / count if (norm == "forward") != inverse else 1.0


def _run(a: Any, axes: Sequence[int], kind: int, inverse: bool, norm: Optional[str], out: Any, stream: Any,
         last: Optional[int] = None) -> Any:
    a = device_array_of(a, "the array")
    name = same_type(a).name
    wanted = _REAL_TYPES if kind == _TO_COMPLEX else _COMPLEX_TYPES
    if name not in wanted:
        raise TypeError("this transform takes elements of type %s, not %s" % (" or ".join(wanted), name))
    f64 = name in ("float64", "complex128")
    count = _last_axes(a.ndim, axes)
    shape = list(a.shape)
    if kind == _TO_COMPLEX:
        shape[-1] = shape[-1] // 2 + 1
    elif kind == _TO_REAL:
        shape[-1] = 2 * (shape[-1] - 1) if last is None else int(last)
    full = shape if kind == _TO_REAL else a.shape
    elements = math.prod(full[-count:])
    if elements < 1:
        raise ValueError("a transform has at least one element, not shape %s" % (tuple(full[-count:]),))
    result = (_REAL_TYPES if kind == _TO_REAL else _COMPLEX_TYPES)[f64]
    out = device_array(tuple(shape), dtype=np.dtype(result)) if out is None else writable(out, "out")
    if out.dtype != np.dtype(result):
        raise TypeError("the result has elements of type %s, not %s" % (result, out.dtype.name))
    scale = _scale(norm, inverse, elements)
    call("fft", _core.fourier, native_stream(stream), kind, f64, inverse, count, scale, a, out)
    return out


def _default(a: Any, axes: Optional[Sequence[int]]) -> Sequence[int]:
    return range(len(a.shape)) if axes is None else axes


def fft(a: Any, *, axis: int = -1, norm: Optional[str] = None, out: Any = None, stream: Any = 0) -> Any:
    """The transform of complex elements along the last axis (numpy.fft.fft)."""
    return _run(a, (axis,), _COMPLEX, False, norm, out, stream)


def ifft(a: Any, *, axis: int = -1, norm: Optional[str] = None, out: Any = None, stream: Any = 0) -> Any:
    """Its inverse (numpy.fft.ifft)."""
    return _run(a, (axis,), _COMPLEX, True, norm, out, stream)


def fft2(a: Any, *, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, out: Any = None,
         stream: Any = 0) -> Any:
    """The transform of complex elements along the last two axes (numpy.fft.fft2)."""
    return _run(a, axes, _COMPLEX, False, norm, out, stream)


def ifft2(a: Any, *, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, out: Any = None,
          stream: Any = 0) -> Any:
    """Its inverse (numpy.fft.ifft2)."""
    return _run(a, axes, _COMPLEX, True, norm, out, stream)


def fftn(a: Any, *, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, out: Any = None,
         stream: Any = 0) -> Any:
    """The transform of complex elements along the last axes, without ``axes`` along all (numpy.fft.fftn)."""
    return _run(a, _default(a, axes), _COMPLEX, False, norm, out, stream)


def ifftn(a: Any, *, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, out: Any = None,
          stream: Any = 0) -> Any:
    """Its inverse (numpy.fft.ifftn)."""
    return _run(a, _default(a, axes), _COMPLEX, True, norm, out, stream)


def rfft(a: Any, *, axis: int = -1, norm: Optional[str] = None, out: Any = None, stream: Any = 0) -> Any:
    """The transform of real elements along the last axis, where n give n // 2 + 1 (numpy.fft.rfft)."""
    return _run(a, (axis,), _TO_COMPLEX, False, norm, out, stream)


def irfft(a: Any, n: Optional[int] = None, *, axis: int = -1, norm: Optional[str] = None, out: Any = None,
          stream: Any = 0) -> Any:
    """Its inverse, of ``n`` real elements; None: twice (elements - 1) (numpy.fft.irfft)."""
    return _run(a, (axis,), _TO_REAL, True, norm, out, stream, n)


def rfft2(a: Any, *, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, out: Any = None,
          stream: Any = 0) -> Any:
    """The transform of real elements along the last two axes (numpy.fft.rfft2)."""
    return _run(a, axes, _TO_COMPLEX, False, norm, out, stream)


def irfft2(a: Any, n: Optional[int] = None, *, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None,
           out: Any = None, stream: Any = 0) -> Any:
    """Its inverse, with ``n`` real elements on the last axis (numpy.fft.irfft2)."""
    return _run(a, axes, _TO_REAL, True, norm, out, stream, n)


def rfftn(a: Any, *, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, out: Any = None,
          stream: Any = 0) -> Any:
    """The transform of real elements along the last axes, without ``axes`` along all (numpy.fft.rfftn)."""
    return _run(a, _default(a, axes), _TO_COMPLEX, False, norm, out, stream)


def irfftn(a: Any, n: Optional[int] = None, *, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None,
           out: Any = None, stream: Any = 0) -> Any:
    """Its inverse, with ``n`` real elements on the last axis (numpy.fft.irfftn)."""
    return _run(a, _default(a, axes), _TO_REAL, True, norm, out, stream, n)
