"""How an array argument of a launch is moved: In (to the device only), Out (back only), InOut (both; the default).

Source: Numba, "CUDA kernel API", section on argument intents.
"""

from __future__ import annotations

from typing import Any, Callable, List


class ArgHint:
    """Base of In, Out and InOut. `value` is a host or device array; device arrays are never copied."""

    copy_in = True
    copy_out = True

    def __init__(self, value: Any):
        self.value = value

    def to_device(self, retr: List[Callable[[], Any]], stream=0):
        """The device array to launch with; calls to run after the launch are appended to `retr`."""
        from .cudadrv import devicearray

        if devicearray.is_cuda_ndarray(self.value):
            mapped = isinstance(self.value, devicearray.MappedNDArray)
            return self.value._as_device_array() if mapped else self.value
        if self.copy_in:
            array, fresh = devicearray.auto_device(self.value, stream=stream)
        else:
            array, fresh = devicearray.auto_device(self.value, stream=stream, copy=False)
        # Kernels cannot write to arrays that are read-only.
        flags = getattr(self.value, "flags", None)
        if fresh and self.copy_out and (flags is None or flags.writeable):
            retr.append(lambda: array.copy_to_host(self.value, stream=stream))
        return array

    @property
    def _numba_type_(self):
        from .typing.typeof import typeof

        return typeof(self.value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


class In(ArgHint):
    """The array is copied to the device before the launch, and not back."""

    copy_out = False


class Out(ArgHint):
    """The array is copied back after the launch; what it held before is not sent."""

    copy_in = False


class InOut(ArgHint):
    """The array is copied to the device before the launch and back after it."""


def wrap_arg(value: Any, default=InOut) -> ArgHint:
    """`value` itself if it already is In, Out or InOut, otherwise `default(value)`."""
    return value if isinstance(value, ArgHint) else default(value)
