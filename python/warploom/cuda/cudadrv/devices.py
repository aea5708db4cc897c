"""The devices, and which context is current in the calling thread (Numba documentation: "Device Management")."""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable, Iterator, List, Optional, TypeVar

from .driver import Context, Device, driver, first_device

F = TypeVar("F", bound=Callable)

# How deep the calling thread is inside functions decorated with `require_context`.
_threads = threading.local()


def _locked() -> bool:
    return getattr(_threads, "depth", 0) > 0


class _DeviceManager:
    """``cuda.gpus[i]``: a device's attributes, and a block in which it is current (``with cuda.gpus[1]:``)."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def __enter__(self) -> "_DeviceManager":
        _switch(self._device, nested=True)
        return self

    def __exit__(self, *_: Any) -> None:
        self._device.get_primary_context().pop()

    def __str__(self) -> str:
        return "<Managed Device %d>" % self._device.id

    def __eq__(self, other: Any) -> bool:
        return getattr(other, "id", None) == self._device.id

    def __hash__(self) -> int:
        return hash(self._device.id)


class _DeviceList:
    """All devices: ``len``, indexing, iteration, ``lst`` and ``current``."""

    _managers: Optional[List[_DeviceManager]] = None

    @property
    def lst(self) -> List[_DeviceManager]:
        """The devices as a list."""
        if self._managers is None:
            self._managers = [_DeviceManager(driver.get_device(i)) for i in range(driver.get_device_count())]
        return self._managers

    def __getitem__(self, number: int) -> _DeviceManager:
        return self.lst[number]

    def __iter__(self) -> Iterator[_DeviceManager]:
        return iter(self.lst)

    def __len__(self) -> int:
        return len(self.lst)

    def __str__(self) -> str:
        return "<Managed Device List [%s]>" % ", ".join(str(device) for device in self.lst)

    @property
    def current(self) -> Optional[_DeviceManager]:
        """The current context's device, or None when the thread has no context."""
        context = driver.primary_context(driver.current_handle())
        return None if context is None else self.lst[context.device.id]


gpus = _DeviceList()


def _switch(device: Device, nested: bool) -> Context:
    context = device.get_primary_context()
    current = driver.current_handle()
    if _locked() and current is not None and current != context.handle:
        raise RuntimeError("Cannot switch CUDA-context.")
    if not nested and current is not None and current != context.handle:
        driver.pop_active_context()
        current = None
    if nested or current is None:
        driver.push_context(context.handle)
    return context


def get_context(devnum: Optional[int] = None) -> Context:
    """The calling thread's current context; with ``devnum``, that device's, which becomes the current one.

    Without a context the primary one of ``first_device()`` becomes current. Raises RuntimeError for a context that is
    not a device's primary one, and when the device would change inside a function decorated with ``require_context``.
    """
    if devnum is None and not driver._forked:
        try:
            return driver._contexts[driver._threads.stack[-1]]
        except (AttributeError, IndexError, KeyError):
            pass
    driver.ensure_initialized()
    handle = driver.current_handle()
    if handle is None:
        return _switch(driver.get_device(first_device() if devnum is None else devnum), nested=False)
    context = driver.primary_context(handle)
    if context is None:
        raise RuntimeError("Numba cannot operate on non-primary CUDA context %x" % handle)
    if devnum is not None and context.device.id != int(devnum):
        return _switch(driver.get_device(devnum), nested=False)
    return context


driver.find_context = get_context


def require_context(function: F) -> F:
    """Decorator: a context is current while the function runs, and it may not be exchanged for another device's."""

    @functools.wraps(function)
    def inside(*args, **kwargs):
        get_context()
        _threads.depth = getattr(_threads, "depth", 0) + 1
        try:
            return function(*args, **kwargs)
        finally:
            _threads.depth -= 1

    return inside


def reset() -> None:
    """Destroys the contexts of all devices and leaves the calling thread without one (``cuda.close()``)."""
    driver.ensure_initialized()
    for manager in gpus:
        manager._device.reset()
    driver.reset()
