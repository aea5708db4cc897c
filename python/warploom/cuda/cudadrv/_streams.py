"""Streams and events (Numba documentation: "Stream Management", "Events")."""

from __future__ import annotations

import contextlib
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional

from warploom import _core

from ._calls import CudaAPIError, call, synchronized

if TYPE_CHECKING:
    import asyncio

    from ._graphs import Graph, GraphBuilder

# Handles that the CUDA Driver API reserves.
DEFAULT, LEGACY, PER_THREAD = 0, 1, 2

# What copies that are being captured read and write in memory of the host, by the number of the capture.
_kept: Dict[int, List[Any]] = {}


class _Native:
    """A native stream with its context."""

    __slots__ = ("core", "context")

    def __init__(self, core, context) -> None:
        self.core = core
        self.context = context


class Stream:
    """A queue of work that runs in order (CUDA Programming Guide, "Streams"). Made by ``cuda.stream()`` and others.

    ``int(stream)`` and ``handle`` give the CUstream; it is true in a condition, the default stream too.
    """

    def __init__(self, context, handle: Optional[int], native: Optional[_Native] = None,
                 external: bool = False) -> None:
        self.context = context
        self._handle = handle
        self.external = external
        self._native = native

    @property
    def handle(self) -> int:
        """The CUstream, by which other libraries know the stream."""
        if self._handle is None:
            self._handle = self._native.core.handle
        if self._handle == PER_THREAD and not self.external and self.context.device.is_hardware:
            return self.context._core_device.per_thread_stream.handle  # the driver's own is another stream
        return self._handle

    @property
    def _core_stream(self):
        """The native stream; CudaAPIError 400 when the handle of an external stream is not one."""
        if self._native is not None:
            return self._native.core
        if self._handle == DEFAULT:
            return self.context._core_device.default_stream
        if self._handle == PER_THREAD and not self.external:
            return self.context._core_device.per_thread_stream
        core = call("cuStreamGetCtx", self.context._core_device.external_stream, self.handle)
        if self.context.device.is_hardware:
            self._native = _Native(core, self.context)
        return core

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
        if self._handle in named:
            return "<%s CUDA stream>" % named[self._handle]
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

        core = self._core_stream
        if core.capture_status:
            # A callback is not possible in a capture, and invalidates it, as asking the stream does.
            call("cuStreamAddCallback", core.query)
        call("cuStreamAddCallback", core.host_function, run)

    def launch_host_func(self, callback: Callable[[Any], Any], arg: Any = None) -> None:
        """Has ``callback(arg)`` called, on a thread of the device, after the work queued so far (cuLaunchHostFunc).

        It must not call the CUDA API; an exception in it is raised by the next call that waits. In a captured stream it
        becomes a node of the graph.
        """
        call("cuLaunchHostFunc", self._core_stream.host_function, lambda: callback(arg))

    def begin_capture(self, mode: str = "relaxed") -> None:
        """From here on work of this stream is not run but becomes part of a graph (cuStreamBeginCapture).

        Streams that wait for an event recorded here join the capture, and must be joined again by an event before its
        end. ``mode`` says where calls that may wait for the device, such as allocations, are refused meanwhile:
        "global", in all threads, "thread_local", in this one, or "relaxed", nowhere.
        """
        call("cuStreamBeginCapture", self._core_stream.begin_capture, mode)

    def end_capture(self, auto_free_on_launch: bool = False) -> "Graph":
        """The :class:`Graph` of what was queued since :meth:`begin_capture` (cuStreamEndCapture).

        ``auto_free_on_launch``: a launch first frees what an earlier launch has allocated and nobody has freed; else
        such a launch is CudaAPIError 1.

        CudaAPIError 401 when the stream is not being captured, 901 when an error has invalidated the capture, 904 when
        a stream that joined was not joined again, 908 in another thread than the one that began it.
        """
        from ._graphs import Graph

        return Graph(self.context, *self._end_capture(), auto_free_on_launch)

    def _end_capture(self):
        """The native graph, and what it keeps alive."""
        core = self._core_stream
        kept = _kept.pop(core.capture_id, [])
        return call("cuStreamEndCapture", core.end_capture), kept

    @property
    def is_capturing(self) -> bool:
        """Whether the stream is being captured; CudaAPIError 901 when the capture has been invalidated."""
        status = call("cuStreamIsCapturing", lambda: self._core_stream.capture_status)
        if status == 2:
            raise CudaAPIError(901, "Call to cuStreamIsCapturing results in CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: an "
                                    "earlier error has invalidated the capture; end it")
        return status == 1

    def create_graph_builder(self) -> "GraphBuilder":
        """A :class:`GraphBuilder` that captures on this stream."""
        from ._graphs import GraphBuilder

        return GraphBuilder(self)

    @property
    def priority(self) -> int:
        """From -5, the most urgent, to 0."""
        return self._core_stream.priority

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


def keep_for_capture(core, memory: Any) -> None:
    """Has the graph that is being captured on a native stream, if one is, keep ``memory`` alive."""
    capture = core.capture_id
    if capture:
        _kept.setdefault(capture, []).append(memory)


def new_native(context, blocking: bool = True, priority: int = 0) -> _Native:
    """A new native stream that :class:`ExternalStream` finds by its handle."""
    return _Native(call("cuStreamCreateWithPriority", _core.Stream, context._core_device, blocking, priority), context)


def create_stream(context, blocking: bool = True, priority: int = 0) -> Stream:
    """A new stream; when it is dropped, it waits in ``context.deallocations`` to be destroyed."""
    native = new_native(context, blocking, priority)
    stream = Stream(context, None, native)
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
