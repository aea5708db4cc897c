"""Graphs: work that is captured once and launched many times (CUDA Programming Guide, "CUDA Graphs").

Names and meanings are those of NVIDIA's ``cuda.core`` (``GraphBuilder``, ``Graph``).
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from warploom import _core

from . import _streams
from ._calls import CudaAPIError, call
from ._pool import default_memory_pool
from .devices import get_context

_UPDATE_RESULTS = {
    1: "an unexpected error",
    2: "it has other nodes, or nodes that wait for others",
    3: "a node is of another kind",
    4: "a node has another function",
    5: "a cooperative launch has become another, or the other way round",
    6: "something is not supported",
}


class _Captured:
    """What a graph builder has captured, not instantiated."""

    def __init__(self, context, core_graph, kept: List[Any]) -> None:
        self.context = context
        self._core_graph = core_graph
        self._kept = kept


class GraphCompleteOptions:
    """How a graph is made ready. ``auto_free_on_launch``: a launch first frees what an earlier launch has allocated and
    nobody has freed, instead of CudaAPIError 1. The others change nothing on the CPU device."""

    def __init__(self, auto_free_on_launch: bool = False, upload_stream: Any = None, device_launch: bool = False,
                 use_node_priority: bool = False) -> None:
        self.auto_free_on_launch = auto_free_on_launch
        self.upload_stream = upload_stream
        self.device_launch = device_launch
        self.use_node_priority = use_node_priority


class Graph:
    """A captured graph, ready to be launched. Made by ``Stream.end_capture()`` and ``GraphBuilder.complete()``.

    Arrays that its kernels use must live as long as it is launched; host memory of its copies is kept alive by it.
    """

    def __init__(self, context, core_graph, kept: Optional[List[Any]] = None,
                 auto_free_on_launch: bool = False) -> None:
        self.context = context
        self._core_graph = core_graph
        self._kept = kept or []
        self._core_exec = call("cuGraphInstantiate", core_graph.instantiate, auto_free_on_launch)

    @property
    def handle(self) -> int:
        """A number of its own for each graph; 0 when it is closed."""
        return 0 if self._core_exec is None else id(self._core_exec)

    def _open(self):
        if self._core_exec is None:
            raise CudaAPIError(400, "Call to cuGraphLaunch results in CUDA_ERROR_INVALID_HANDLE: the graph is closed")
        return self._core_exec

    def launch(self, stream=0) -> None:
        """Queues one run of everything in the graph on ``stream`` (0: the default stream) and returns at once.

        Runs of one graph follow each other, on whatever streams.
        """
        call("cuGraphLaunch", self._open().launch, _streams.core_stream(stream, self.context))

    def upload(self, stream=0) -> None:
        """Prepares the first launch; nothing is left to do on the CPU device."""
        self._open()
        _streams.core_stream(stream, self.context)

    def update(self, builder) -> None:
        """Has later launches do what ``builder``, or another graph, has captured.

        CudaAPIError 910 when that has another shape: other nodes, other dependencies or nodes of other kinds.
        """
        other: Any = builder if isinstance(builder, Graph) else builder._finished()
        result, node = call("cuGraphExecUpdate", self._open().update, other._core_graph)
        if result != 0:
            raise CudaAPIError(910, "Call to cuGraphExecUpdate results in CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE: the "
                                    "graph does not fit: %s (node %d)" % (_UPDATE_RESULTS[result], node))
        self._core_graph = other._core_graph
        self._kept = other._kept

    def set_enabled(self, node: int, on: bool) -> None:
        """Switches a kernel, copy or fill on or off in later launches (cuGraphNodeSetEnabled)."""
        call("cuGraphNodeSetEnabled", self._open().enable, node, on)

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self._core_graph)

    def kind(self, node: int) -> str:
        """What a node does: kernel, copy, fill, host, graph, empty, event_record, event_wait, memory_alloc/free.
        """
        return call("cuGraphNodeGetType", self._core_graph.kind, node)

    def dependencies(self, node: int) -> List[int]:
        """The nodes that a node waits for."""
        return call("cuGraphNodeGetDependencies", self._core_graph.dependencies, node)

    def to_dot(self) -> str:
        """The graph in the language of Graphviz."""
        return self._core_graph.to_dot()

    def close(self) -> None:
        """Lets go of what the graph holds, once its runs have ended; it cannot be launched any more."""
        self._core_exec = None
        self._kept = []


class GraphBuilder:
    """Captures what is queued on it as if it were a stream. Made by ``cuda.graph_builder()``,
    ``Stream.create_graph_builder()`` and ``Device.create_graph_builder()``.

    Give it to a launch or a copy in the place of a stream, between :meth:`begin_building` and :meth:`end_building`.
    """

    def __init__(self, stream: "_streams.Stream", primary: Optional["GraphBuilder"] = None) -> None:
        self._stream = stream
        self._primary = primary
        self._graph: Optional[_Captured] = None

    @property
    def stream(self) -> "_streams.Stream":
        """The stream that is captured."""
        return self._stream

    @property
    def handle(self) -> int:
        """The handle of the stream."""
        return self._stream.handle

    def __cuda_stream__(self) -> Tuple[int, int]:
        """(protocol version, handle) of the stream that is captured."""
        return (0, self._stream.handle)

    @property
    def is_building(self) -> bool:
        """Whether work is being captured."""
        return self._stream.is_capturing

    @property
    def is_join_required(self) -> bool:
        """Whether this is a branch that :meth:`split` made: it must be joined before the graph is complete."""
        return self._primary is not None

    def begin_building(self, mode: str = "relaxed") -> "GraphBuilder":
        """Begins to capture. ``mode``: "global", "thread_local" or "relaxed", as for ``Stream.begin_capture``."""
        if self._primary is not None:
            raise RuntimeError("a branch of a graph builder is building already, with its primary")
        self._graph = None
        self._stream.begin_capture(mode)
        return self

    def end_building(self) -> "GraphBuilder":
        """Ends to capture. CudaAPIError 904 when a branch was not joined."""
        if self._primary is not None:
            raise RuntimeError("end the building where it began: join this branch to its primary")
        self._graph = _Captured(self._stream.context, *self._stream._end_capture())
        return self

    def _finished(self) -> _Captured:
        if self._graph is None:
            raise RuntimeError("the graph has not finished building: call end_building() first")
        return self._graph

    def complete(self, options: Any = None) -> Graph:
        """The graph, ready to be launched. ``options``: a :class:`GraphCompleteOptions`.

        CudaAPIError 801 when the graph allocates or frees memory and has been completed already.
        """
        finished = self._finished()
        return Graph(finished.context, finished._core_graph, finished._kept,
                     bool(getattr(options, "auto_free_on_launch", False)))

    def split(self, count: int) -> Tuple["GraphBuilder", ...]:
        """``count`` builders whose work does not wait for each other, each after the work so far; this one is first.

        All must be given to :meth:`join` in the end. ValueError for a count below 2.
        """
        if count < 2:
            raise ValueError("a graph builder is split into 2 or more, not %r" % (count,))
        if not self.is_building:
            raise RuntimeError("only a graph builder that is building can be split")
        context = self._stream.context
        event = _streams.Event(context, timing=False)
        event.record(self._stream)
        branches = [self]
        for _ in range(count - 1):
            branch = GraphBuilder(context.create_stream(), primary=self._primary or self)
            event.wait(branch._stream)
            branches.append(branch)
        return tuple(branches)

    @staticmethod
    def join(*builders) -> "GraphBuilder":
        """Has later work of the builder that is no branch (or the first one) wait for the work of all; returns it."""
        if len(builders) < 2:
            raise ValueError("two or more graph builders are joined")
        root = next((builder for builder in builders if not builder.is_join_required), builders[0])
        for builder in builders:
            if builder is not root:
                event = _streams.Event(root._stream.context, timing=False)
                event.record(builder._stream)
                event.wait(root._stream)
        return root

    def add_child(self, child) -> None:
        """Adds all that another builder, which has finished, has captured, as one node."""
        finished = child._finished()
        call("cuGraphAddChildGraphNode", self._stream._core_stream.add_graph, finished._core_graph)
        for kept in finished._kept:
            _streams.keep_for_capture(self._stream._core_stream, kept)

    def callback(self, function: Callable[[], Any]) -> None:
        """Adds a call of ``function()`` on a thread of the device; it must not call the CUDA API."""
        self._stream.launch_host_func(lambda _: function(), None)

    def debug_dot_print(self, path: str, options: Any = None) -> None:
        """Writes the finished graph to a file, in the language of Graphviz."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._finished().to_dot())

    def close(self) -> None:
        """Lets go of the graph; one that is building is given up."""
        if self._primary is None and self.is_building:
            try:
                self._stream._end_capture()
            except CudaAPIError:
                pass  # not joined, or invalid: it is gone all the same
        self._graph = None


class GraphMemoryResource:
    """The memory of graphs on the current device: what is allocated while a stream is captured.

    Name and meaning are those of NVIDIA's ``cuda.core``; see also ``MemoryPool.allocate``, which does the same.
    """

    __slots__ = ("context", "_pool")

    def __init__(self, device: Any = None) -> None:
        self.context = get_context(device)
        self._pool = default_memory_pool()

    def allocate(self, nbytes: int, stream: Any) -> int:
        """The address of ``nbytes`` bytes in the graph that is captured on a stream or graph builder.

        CudaAPIError 401 when it is not capturing.
        """
        if not _streams.core_stream(stream, self.context).capture_status:
            raise CudaAPIError(401, "Call to cuGraphAddMemAllocNode results in CUDA_ERROR_ILLEGAL_STATE: the stream is "
                                    "not being captured")
        return self._pool.allocate(nbytes, stream)

    def deallocate(self, address: int, nbytes: int = 0, stream: Any = 0) -> None:
        """Frees in the order of the stream: by a node while it is captured, else what a launch has allocated."""
        self._pool.deallocate(address, nbytes, stream)

    @property
    def attributes(self) -> Dict[str, int]:
        """``used_current``, ``used_high``, ``reserved_current``, ``reserved_high`` (cuDeviceGetGraphMemAttribute)."""
        return call("cuDeviceGetGraphMemAttribute", _core.graph_memory, self.context._core_device)

    def reset_attributes(self) -> None:
        """The high marks become the current values."""
        call("cuDeviceSetGraphMemAttribute", _core.reset_graph_memory, self.context._core_device)

    def trim(self) -> None:
        """Gives memory that no graph uses back to the device (cuDeviceGraphMemTrim)."""
        call("cuDeviceGraphMemTrim", _core.trim_graph_memory, self.context._core_device)


def create_graph_builder(context) -> GraphBuilder:
    """A builder with a stream of its own."""
    return GraphBuilder(_streams.create_stream(context, blocking=False))


__all__ = ["Graph", "GraphBuilder", "GraphCompleteOptions", "GraphMemoryResource", "create_graph_builder"]
