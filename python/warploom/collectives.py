"""Collectives over several devices: sums, copies to all, parts of all and messages, in the order of streams.

Each device is one rank of a group. On GPUs NCCL does the work (package ``nvidia-nccl-cu13``, or ``libnccl.so.2``, or
the file that WARPLOOM_NCCL names); CPU devices (WARPLOOM_DEVICES=2) form groups inside one process. Every rank asks for
the same operations with the same sizes and types in the same order. (NCCL documentation, "Collective Communication
Functions".)
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, List, Optional, Sequence

import numpy as np

from warploom import _core
from warploom._math import device_array_of
from warploom.cuda import device_array, gpus
from warploom.cuda.cudadrv import devices
from warploom.cuda.cudadrv._streams import core_stream

__all__ = ["Communicator", "create_all", "group", "unique_id"]


def _array(obj: Any, what: str) -> Any:
    array = device_array_of(obj, what)
    if not array.flags["C_CONTIGUOUS"]:
        raise ValueError("%s is not contiguous: copy it first" % what)
    return array


def _result(obj: Any, shape: tuple, dtype: Any) -> Any:
    if obj is None:
        return device_array(shape, dtype)
    array = _array(obj, "the result")
    if array.dtype != dtype:
        raise TypeError("the result has elements of type %s, and %s is needed" % (array.dtype, dtype))
    if array.size != int(np.prod(shape)):
        raise ValueError("the result has %d elements, and %d are needed" % (array.size, int(np.prod(shape))))
    return array


class Communicator:
    """One rank of a group: ``rank`` of ``size``, on ``device``.

    ``Communicator(id, size, rank)`` joins the group that ``unique_id()`` named, on the current device, and returns when
    all ranks have joined: each needs a thread or a process of its own. :func:`create_all` makes all ranks at once.

    Calls return at once, in the order of ``stream`` (0: the device's default stream); arrays must stay until it has
    passed them. They are contiguous device arrays of the communicator's device, or objects with
    ``__cuda_array_interface__``: TypeError or ValueError otherwise. A result that is not given is made, and returned;
    it may be the input itself. ``op``: "sum", "product", "max", "min" or "average".
    """

    def __init__(self, id: bytes, size: int, rank: int) -> None:
        context = devices.get_context()
        self._set(context, _core.Communicator.join(context._core_device, id, size, rank))

    def _set(self, context: Any, native: Any) -> None:
        self._context = context
        self._core = native

    @property
    def rank(self) -> int:
        """This rank's number, from 0."""
        return self._core.rank

    @property
    def size(self) -> int:
        """How many ranks the group has."""
        return self._core.ranks

    @property
    def device(self) -> Any:
        """The device, as ``cuda.gpus`` has it."""
        return gpus[self._context.device.id]

    def all_reduce(self, array: Any, out: Any = None, op: str = "sum", stream: Any = 0) -> Any:
        """All ranks' arrays combined, on all ranks (ncclAllReduce)."""
        with self.device:
            array = _array(array, "the array")
            out = _result(out, array.shape, array.dtype)
            self._run("all_reduce", array, out, array.size, op, 0, stream)
        return out

    def reduce(self, array: Any, out: Any = None, op: str = "sum", root: int = 0, stream: Any = 0) -> Any:
        """The same on rank ``root`` only; elsewhere the result is None (ncclReduce)."""
        with self.device:
            array = _array(array, "the array")
            if self.rank == root:
                out = _result(out, array.shape, array.dtype)
            else:
                out = None
            self._run("reduce", array, out, array.size, op, root, stream)
        return out

    def broadcast(self, array: Any, root: int = 0, stream: Any = 0) -> Any:
        """Copies the array of rank ``root`` over those of all others (ncclBroadcast)."""
        with self.device:
            array = _array(array, "the array")
            self._run("broadcast", array, array, array.size, "sum", root, stream)
        return array

    def all_gather(self, array: Any, out: Any = None, stream: Any = 0) -> Any:
        """The arrays of all ranks along a new first axis, on all ranks (ncclAllGather)."""
        with self.device:
            array = _array(array, "the array")
            out = _result(out, (self.size,) + array.shape, array.dtype)
            self._run("all_gather", array, out, array.size, "sum", 0, stream)
        return out

    def reduce_scatter(self, array: Any, out: Any = None, op: str = "sum", stream: Any = 0) -> Any:
        """Of the combined arrays, whose first axis divides by ``size``, this rank's part (ncclReduceScatter)."""
        with self.device:
            array = _array(array, "the array")
            if not array.shape or array.shape[0] % self.size:
                raise ValueError("the first axis does not divide into %d parts" % self.size)
            out = _result(out, (array.shape[0] // self.size,) + array.shape[1:], array.dtype)
            self._run("reduce_scatter", array, out, out.size, op, 0, stream)
        return out

    def send(self, array: Any, peer: int, stream: Any = 0) -> None:
        """A message to rank ``peer``, which receives as many elements of the same type (ncclSend)."""
        with self.device:
            array = _array(array, "the array")
            self._run("send", array, None, array.size, "sum", peer, stream)

    def receive(self, out: Any, peer: int, stream: Any = 0) -> Any:
        """Fills ``out`` with what rank ``peer`` sends (ncclRecv)."""
        with self.device:
            out = _array(out, "the result")
            self._run("receive", None, out, out.size, "sum", peer, stream)
        return out

    def _run(self, kind: str, source: Any, target: Any, count: int, op: str, peer: int, stream: Any) -> None:
        dtype = (target if source is None else source).dtype
        if not dtype.isnative:
            raise TypeError("elements in the other byte order; convert them first")
        self._core.run(kind, 0 if source is None else source._device_address,
                       0 if target is None else target._device_address, count, dtype.name, op, peer,
                       core_stream(stream, self._context))

    def __repr__(self) -> str:
        return "<Communicator: rank %d of %d>" % (self.rank, self.size)


def unique_id() -> bytes:
    """128 bytes that name a new group: make them on one rank, and hand them to the others (ncclGetUniqueId)."""
    return _core.Communicator.unique_id(devices.get_context()._core_device)


def create_all(members: Optional[Sequence[Any]] = None) -> List[Communicator]:
    """All ranks of a group in this process, in the order of ``members`` (``cuda.gpus`` or their numbers; None: all)."""
    numbers = [getattr(one, "id", one) for one in (gpus if members is None else members)]
    contexts = [gpus[number]._device.get_primary_context() for number in numbers]
    out = []
    for context, native in zip(contexts, _core.Communicator.all([c._core_device for c in contexts])):
        communicator = Communicator.__new__(Communicator)
        communicator._set(context, native)
        out.append(communicator)
    return out


@contextlib.contextmanager
def group() -> Iterator[None]:
    """Collectives that begin together at the block's end: needed where one thread calls for several ranks, and for a
    send and a receive that wait for each other (ncclGroupStart, ncclGroupEnd)."""
    native = _core.CollectiveGroup(devices.get_context()._core_device)
    try:
        yield
    finally:
        native.end()
