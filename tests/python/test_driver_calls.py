"""What operations that programs repeat ask of a GPU's driver: counted by the stand-in of tests/cuda."""
from __future__ import annotations

import ctypes
import gc
import os
import threading

import numpy as np
import pytest

from warploom import cuda

library = os.environ.get("WARPLOOM_CUDA_DRIVER", "")
if "stand_in" not in library or not cuda.get_current_device().is_hardware:
    pytest.skip("only the stand-in for the driver counts its calls", allow_module_level=True)

told = ctypes.CDLL(library).stand_in_calls
told.restype = ctypes.c_char_p


def calls(operation, times=10):
    """Calls of the driver by name, of so many repetitions after the first ones."""
    for _ in range(3):
        operation()
    cuda.synchronize()
    gc.collect()
    told()
    for _ in range(times):
        operation()
    return {name: int(count) for name, count in (line.split() for line in told().decode().splitlines())}


@cuda.jit
def take(a, b, c):
    pass


@pytest.fixture
def arrays():
    return [cuda.device_array(16, np.float32) for _ in range(3)]


def test_a_launch_is_one(arrays):
    configured, stream = take[1, 32], cuda.stream()
    take[1, 32](*arrays)
    take[1, 32, stream](*arrays)
    assert calls(lambda: take[1, 32](*arrays)) == {"cuLaunchKernel": 10}
    assert calls(lambda: configured(*arrays)) == {"cuLaunchKernel": 10}
    assert calls(lambda: take[1, 32, stream](*arrays)) == {"cuLaunchKernel": 10}
    assert calls(lambda: take[1, 32](arrays[0], 5, 2.5)) == {"cuLaunchKernel": 10}


def test_a_launch_of_another_thread_is_one(arrays):
    take[1, 32](*arrays)
    found = []
    thread = threading.Thread(target=lambda: found.append(calls(lambda: take[1, 32](*arrays))))
    thread.start()
    thread.join()
    assert found == [{"cuLaunchKernel": 10}]


def test_memory_of_the_pool_is_none(arrays):
    assert calls(lambda: cuda.device_array(1024, np.float32), 100) == {}
    assert calls(lambda: cuda.device_array((3, 5), order="F"), 100) == {}
    assert calls(lambda: cuda.device_array_like(arrays[0]), 100) == {}


def test_a_copy_on_a_stream_is_one(arrays):
    stream, pinned = cuda.stream(), cuda.pinned_array(16, np.float32)
    assert calls(lambda: arrays[0].copy_to_device(arrays[1], stream=stream)) == {"cuMemcpyAsync": 10}
    assert calls(lambda: arrays[0].copy_to_device(pinned, stream=stream)) == {"cuMemcpyAsync": 10}
    assert calls(lambda: arrays[0].copy_to_host(pinned, stream=stream)) == {"cuMemcpyAsync": 10}
    stream.synchronize()


def test_an_event_is_one():
    stream, event = cuda.stream(), cuda.event()
    assert calls(lambda: event.record(stream)) == {"cuEventRecord": 10}
