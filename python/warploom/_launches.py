"""Times of launches: `with warploom.launch_times() as launches`."""

from __future__ import annotations

import contextlib
from typing import Iterator, NamedTuple


class LaunchRecord(NamedTuple):
    """A launch that has ended."""

    kernel: str  # with the types of its parameters
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int  # dynamic, for each block
    start_ms: float  # when it began, from the beginning of the `with` block
    ms: float  # what it took on the device, without compile_ms
    compile_ms: float  # in which it waited for machine code: at first launches
    failed: bool


@contextlib.contextmanager
def launch_times() -> Iterator[list[LaunchRecord]]:
    """Records of the launches on the current device inside the `with` block; it cannot be nested.

    The list is filled when the block ends, which waits for the device's work and raises what that met.
    """
    from . import cuda

    device = cuda.current_context()._core_device
    records: list[LaunchRecord] = []
    cuda.synchronize()
    device.record_launches()
    try:
        yield records
    finally:
        try:
            cuda.synchronize()
        finally:
            device.record_launches(False)
            records.extend(LaunchRecord(**record) for record in device.take_launches())
