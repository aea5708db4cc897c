"""Exceptions raised in kernels: read from the module's record of the first one, raised on the host as Python classes.

With debug=True a launch waits and raises; without it the next call that waits for the device raises. The record is the
variable `warploom_error` of the kernel's module: code, thread and block index, line. Source: Numba, "Debugging CUDA
Python: exceptions"; the report without debug is Warploom's own.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import Any, Optional, Sequence

from .errors import KernelRuntimeError


class ErrorRecord:
    """The record of one module loaded into `context`, which it keeps loaded.

    `exceptions[code - 1]` is (class or its name, arguments of the message), and `places[code - 1]` (file, line,
    function), if known.
    """

    def __init__(self, context, module, name: str, exceptions: Sequence[Any], places: Sequence[Any], pyfunc):
        address, _ = module.global_(name)
        self._module = module
        self._context = context
        self._generation = context._generation
        words = ctypes.c_uint32 * 8
        self._address = address if context.device.is_hardware else None  # the host cannot read it there
        self._words = words.from_address(address) if self._address is None else words()
        self._exceptions = exceptions
        self._places = places
        self._pyfunc = pyfunc

    def take(self) -> Optional[BaseException]:
        """The exception recorded since the last call, or None; the record is cleared. The device must be idle."""
        if self._context._generation != self._generation:
            return None  # the device has been reset, and the variable is gone
        if self._address is not None:
            self._context._core_device.copy(ctypes.addressof(self._words), self._address, ctypes.sizeof(self._words))
        code = self._words[0]
        if code == 0:
            return None
        tid, ctaid, line = list(self._words[1:4]), list(self._words[4:7]), self._words[7]
        self._words[0] = 0
        if self._address is not None:
            self._context._core_device.copy(self._address, ctypes.addressof(self._words), 4)
        file, function = self._pyfunc.__code__.co_filename, self._pyfunc.__name__
        if code <= len(self._places):
            file, line, function = self._places[code - 1]
        where = f"In function {function!r}, file {file}, line {line}, "
        place = f"{where if line else ''}tid={tid} ctaid={ctaid}"
        if code > len(self._exceptions):
            return KernelRuntimeError(f"unknown exception {code}", tid, ctaid)
        cls, arguments = self._exceptions[code - 1]
        if isinstance(cls, str):
            from .core.errors import class_named

            found = class_named(cls)
            if found is None:
                return KernelRuntimeError(f"{cls}: {_text(arguments)}", tid, ctaid)
            cls = found
        if isinstance(arguments, (tuple, list)) and arguments:
            return _make(cls, (f"{place}: {arguments[0]}",) + tuple(arguments[1:]))
        if arguments and not isinstance(arguments, (tuple, list)):
            return _make(cls, (f"{place}: {arguments}",))
        return _make(cls, (place,))


def _text(arguments) -> str:
    return ", ".join(map(str, arguments)) if isinstance(arguments, (tuple, list)) else str(arguments)


def _make(cls, arguments) -> BaseException:
    try:
        return cls(*arguments)
    except TypeError:
        # A class of the user's that wants other arguments.
        error = cls.__new__(cls)
        error.args = arguments
        return error


# The records to look at: of kernels that may raise and that somebody can still launch.
watched: "weakref.WeakSet[ErrorRecord]" = weakref.WeakSet()
_lock = threading.Lock()


def watch(record: ErrorRecord) -> None:
    """Look at the record whenever the device has been waited for."""
    global _hooked
    with _lock:
        watched.add(record)
        if not _hooked:
            from .cudadrv._calls import at_synchronize

            at_synchronize(lambda context: raise_pending())
            _hooked = True


_hooked = False


def raise_pending() -> None:
    """Raise what a kernel has raised since the last call, if anything. The device must be idle."""
    for record in list(watched):
        error = record.take()
        if error is not None:
            raise error
