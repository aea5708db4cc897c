"""Streams and events (Numba documentation: "Stream Management", "Events")."""

from __future__ import annotations

import contextlib
import threading
import warnings
import weakref
from typing import Any, Callable, Iterator, Optional

from warploom import _core

from ._calls import CudaAPIError, call, synchronized

# Handles that the CUDA Driver API reserves.
DEFAULT, LEGACY, PER_THREAD = 0, 1, 2

# Native streams by handle, so that a handle that came back from another library finds its stream.
_streams_by_handle: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()
_per_thread = threading.local()


class _Native:
    """A native stream that can be referred to weakly."""

    __slots__ = ("core", "context", "__weakref__")

    def __init__(self, core, context) -> None:
        self.core = core
        self.context = context


class Stream:
    """A queue of work that runs in order (CUDA Programming Guide, "Streams"). Made by ``cuda.stream()`` and others.

    ``int(stream)`` and ``handle`` give the CUstream; it is true in a condition, the default stream too.
    """

    def __init__(self, context, handle: int, native: Optional[_Native] = None, external: bool = False) -> None:
        self.context = context
        self.handle = handle
        self.external = external
        self._native = native

    @property
    def _core_stream(self):
        """The native stream; CudaAPIError 400 when the handle of an external stream is not one."""
        if self._native is not None:
            return self._native.core
        if self.handle == PER_THREAD:
            return _thread_stream(self.context)
        return self.context._core_device.default_stream

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return self.handle

    def __cuda_stream__(self):
        """(protocol version, handle), as libraries exchange streams."""
        return (0, self.handle)

    def __repr__(self) -> str:
        if self.external:
            return "<External CUDA stream %d>" % self.handle
        named = {DEFAULT: "Default", LEGACY: "Legacy default", PER_THREAD: "Per-thread default"}
        if self.handle in named:
            return "<%s CUDA stream>" % named[self.handle]
        return "<CUDA stream %d>" % self.handle

    def synchronize(self) -> None:
        """Waits for all work queued on this stream so far; raises what that work met."""
        call("cuStreamSynchronize", self._core_stream.synchronize)
        synchronized(self.context)

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator["Stream"]:
        """Waits for the stream's work when the block ends, also by an exception."""
        try:
            yield self
        finally:
            self.synchronize()

    def add_callback(self, callback: Callable[["Stream", int, Any], Any], arg: Any = None) -> None:
        """Has ``callback(stream, status, arg)`` called, on a thread of the device, after the work queued so far.

        ``status`` is 0 for success. An exception in it becomes a warning. The callback must not call the CUDA API.
        """

        def run() -> None:
            try:
                callback(self, 0, arg)
            except Exception as error:
                warnings.warn("Exception in stream callback: %s" % error)

        call("cuStreamAddCallback", self._core_stream.host_function, run)

    def async_done(self) -> "asyncio.Future":
        """A future of the running asyncio loop that is done, with this stream as result, after the work so far."""
        import asyncio

        loop = asyncio.get_event_loop()
        future = loop.create_future()

        def resolve(status: int) -> None:
            if future.done():  # cancelled
                return
            if status == 0:
                future.set_result(self)
            else:
                future.set_exception(Exception("Stream error %d" % status))

        def done(stream: "Stream", status: int, _: Any) -> None:
            loop.call_soon_threadsafe(resolve, status)

        self.add_callback(done)
        return future


class ExternalStream(Stream):
    """A stream by its handle alone; the work goes to the stream that has it."""

    @property
    def _core_stream(self):
        if self.handle in (DEFAULT, LEGACY):
            return self.context._core_device.default_stream
        if self.handle == PER_THREAD:
            return _thread_stream(self.context)
        native = _streams_by_handle.get(self.handle)
        if native is None:
            raise CudaAPIError(400, "Call to cuStreamSynchronize results in CUDA_ERROR_INVALID_HANDLE: no stream of "
                                    "this process has the handle %d" % self.handle)
        return native.core


def _thread_stream(context):
    """The calling thread's own default stream in this context."""
    streams = _per_thread.__dict__
    key = (context.handle, context._generation)
    core = streams.get(key)
    if core is None:
        core = streams[key] = _core.Stream(context._core_device)
    return core


def new_native(context, blocking: bool = True) -> _Native:
    """A new native stream that :class:`ExternalStream` finds by its handle."""
    native = _Native(call("cuStreamCreate", _core.Stream, context._core_device, blocking), context)
    _streams_by_handle[native.core.handle] = native
    return native


def create_stream(context) -> Stream:
    """A new stream; when it is dropped, it waits in ``context.deallocations`` to be destroyed."""
    native = new_native(context)
    stream = Stream(context, native.core.handle, native)
    weakref.finalize(stream, context.deallocations.add_item, _drop, native).atexit = False
    return stream


def _drop(handle: Any) -> None:
    """Destroying is dropping the last reference, which the caller does."""


def core_stream(stream, context):
    """The native stream for an argument of the API: a stream, 0 or None for the default stream, an integer handle, or
    an object of another library with ``__cuda_stream__``."""
    if isinstance(stream, Stream):
        return stream._core_stream
    if stream is None:
        return context._core_device.default_stream
    if not isinstance(stream, int):
        protocol = getattr(stream, "__cuda_stream__", None)
        if protocol is None:
            handle = getattr(stream, "handle", None)
            if handle is None:
                raise TypeError("expected a stream, not %r" % type(stream).__name__)
            stream = int(handle)
        else:
            stream = int((protocol() if callable(protocol) else protocol)[1])
    return ExternalStream(context, stream, external=True)._core_stream


class Event:
    """A point in a stream's work. Made by ``cuda.event()``."""

    def __init__(self, context, timing: bool = True) -> None:
        self.context = context
        self._core_event = call("cuEventCreate", _core.Event, context._core_device, timing)
        self.handle = id(self._core_event)
        weakref.finalize(self, context.deallocations.add_item, _drop, self._core_event).atexit = False

    def query(self) -> bool:
        """Whether the work before the last record has finished; True when there was none."""
        return call("cuEventQuery", self._core_event.query)

    def record(self, stream=0) -> None:
        """Captures the work queued so far on ``stream`` (0: the default stream)."""
        call("cuEventRecord", self._core_event.record, core_stream(stream, self.context))

    def synchronize(self) -> None:
        """Waits for the captured work."""
        call("cuEventSynchronize", self._core_event.synchronize)
        synchronized(self.context)

    def wait(self, stream=0) -> None:
        """Has later work of ``stream`` wait for the captured work; does not wait itself."""
        call("cuStreamWaitEvent", core_stream(stream, self.context).wait, self._core_event)

    def elapsed_time(self, evtend: "Event") -> float:
        """Milliseconds from this event to ``evtend``."""
        return event_elapsed_time(self, evtend)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two recorded events; CudaAPIError 600 when one has not been reached yet."""
    return call("cuEventElapsedTime", _core.Event.elapsed_ms, evtstart._core_event, evtend._core_event)
