"""Streams order their work, callbacks and events report it, and copies wait as CUDA says they do."""

import asyncio
import threading
import time
import warnings

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda.cudadrv.driver import CudaAPIError


@pytest.fixture
def gate():
    """Holds a stream up until it is opened."""
    event = threading.Event()
    yield event
    event.set()
    cuda.synchronize()


def hold(stream, gate):
    stream.add_callback(lambda *_: gate.wait(10))


def test_names_and_handles():
    assert repr(cuda.default_stream()) == "<Default CUDA stream>" and int(cuda.default_stream()) == 0
    assert repr(cuda.legacy_default_stream()) == "<Legacy default CUDA stream>"
    assert repr(cuda.per_thread_default_stream()) == "<Per-thread default CUDA stream>"
    stream = cuda.stream()
    assert repr(stream) == "<CUDA stream %d>" % int(stream) and int(stream) > 2
    assert repr(cuda.external_stream(4711)) == "<External CUDA stream 4711>"
    assert stream.__cuda_stream__() == (0, int(stream)) and bool(cuda.default_stream())
    with pytest.raises(TypeError, match="ptr for external stream must be an int"):
        cuda.external_stream("1")


def test_work_of_a_stream_runs_in_order_and_asynchronously(gate):
    stream = cuda.stream()
    pinned = cuda.pinned_array(4, np.int32)
    pinned[:] = 1
    array = cuda.to_device(np.zeros(4, np.int32))
    hold(stream, gate)
    array.copy_to_device(pinned, stream=stream)
    array.setitem(0, 7, stream=stream)
    result = cuda.pinned_array(4, np.int32)
    result[:] = -1
    array.copy_to_host(result, stream=stream)
    assert result.tolist() == [-1] * 4
    gate.set()
    stream.synchronize()
    assert result.tolist() == [7, 1, 1, 1]


def test_pageable_memory_may_change_after_an_asynchronous_copy_to_the_device(gate):
    stream = cuda.stream()
    array = cuda.device_array(100, np.int32)
    host = np.arange(100, dtype=np.int32)
    hold(stream, gate)
    array.copy_to_device(host, stream=stream)
    host[:] = -1
    gate.set()
    np.testing.assert_array_equal(array.copy_to_host(stream=stream), np.arange(100))


def test_copies_to_pageable_memory_are_complete_when_they_return():
    stream = cuda.stream()
    array = cuda.to_device(np.arange(1 << 20), stream=stream)
    for _ in range(5):
        array.setitem(0, 5, stream=stream)
        assert array.copy_to_host(stream=stream)[0] == 5
        array.setitem(0, 6, stream=stream)
        assert array.getitem(0, stream=stream) == 6


def test_an_external_stream_is_the_stream_of_its_handle(gate):
    stream = cuda.stream()
    hold(stream, gate)
    same = cuda.external_stream(int(stream))
    array = cuda.to_device(np.zeros(1), stream=same)
    array[0] = 1
    event = cuda.event()
    event.record(same)
    assert not event.query()
    gate.set()
    same.synchronize()
    assert event.query() and array[0] == 1
    with pytest.raises(CudaAPIError) as error:
        cuda.external_stream(0x7FFF_FFFF_0000).synchronize()
    assert error.value.code == 400


def test_threads_have_their_own_default_stream():
    handles = {}

    def work(name):
        stream = cuda.per_thread_default_stream()
        array = cuda.to_device(np.arange(5), stream=stream)
        array[1] = 10
        handles[name] = (stream._core_stream.handle, array.copy_to_host().tolist())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({handle for handle, _ in handles.values()}) == 3
    assert all(values == [0, 10, 2, 3, 4] for _, values in handles.values())


def test_callbacks_get_stream_status_and_argument():
    stream = cuda.stream()
    seen = []
    stream.add_callback(lambda *arguments: seen.append(arguments), "argument")
    stream.add_callback(lambda *arguments: seen.append(arguments))
    stream.synchronize()
    assert seen == [(stream, 0, "argument"), (stream, 0, None)]


def test_an_exception_in_a_callback_is_a_warning():
    stream = cuda.stream()

    def fail(*_):
        raise ValueError("from the callback")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stream.add_callback(fail)
        stream.synchronize()
    assert any("Exception in stream callback: from the callback" in str(one.message) for one in caught)


def test_futures_are_done_after_the_work(gate):
    async def main():
        stream = cuda.stream()
        hold(stream, gate)
        done, cancelled = stream.async_done(), stream.async_done()
        await asyncio.sleep(0.01)
        assert not done.done()
        cancelled.cancel()
        gate.set()
        assert await done is stream
        assert cancelled.cancelled()

    asyncio.run(main())


def test_events_order_streams_and_measure(gate):
    first, second = cuda.stream(), cuda.stream()
    array = cuda.to_device(np.zeros(1))
    start, end = cuda.event(), cuda.event()
    start.record(first)
    start.synchronize()  # its time is before the pause
    hold(first, gate)
    array.setitem(0, 1, stream=first)
    end.record(first)
    end.wait(second)
    result = cuda.pinned_array(1)
    result[:] = -1
    array.copy_to_host(result, stream=second)
    assert not end.query() and result[0] == -1
    time.sleep(0.02)
    gate.set()
    second.synchronize()
    assert result[0] == 1 and end.query()
    assert start.elapsed_time(end) >= 15 and cuda.event_elapsed_time(start, end) == start.elapsed_time(end)
    untimed = cuda.event(timing=False)
    untimed.record(first)
    untimed.synchronize()
    with pytest.raises(CudaAPIError):
        start.elapsed_time(untimed)


def test_auto_synchronize_waits_also_after_an_exception():
    stream = cuda.stream()
    seen = []
    with pytest.raises(KeyError):
        with stream.auto_synchronize() as same:
            assert same is stream
            stream.add_callback(lambda *_: (time.sleep(0.02), seen.append(1)))
            raise KeyError
    assert seen == [1]


def test_calls_use_the_arrays_stream_unless_they_are_given_one(gate):
    stream = cuda.stream()
    array = cuda.to_device(np.zeros(2), stream=stream)
    assert array.stream is stream and array[1:].stream is stream and array.bind(0).stream == 0
    hold(stream, gate)
    array[0] = 3  # does not wait
    gate.set()
    assert array[0] == 3
    assert array.__cuda_array_interface__["stream"] == int(stream)
    assert array.bind(cuda.default_stream()).__cuda_array_interface__["stream"] == 1


def test_an_imported_stream_is_waited_for_first(gate):
    stream = cuda.stream()
    array = cuda.to_device(np.zeros(1), stream=stream)
    stream.add_callback(lambda *_: time.sleep(0.05))
    end = cuda.event()
    end.record(stream)
    taken = cuda.from_cuda_array_interface(array.__cuda_array_interface__, owner=array, sync=False)
    assert not end.query() and taken.stream.external
    cuda.as_cuda_array(array)
    assert end.query()


def test_streams_have_priorities():
    assert cuda.stream().priority == 0
    assert cuda.stream(priority=-3).priority == -3
    assert cuda.stream(priority=-100).priority == -5 and cuda.stream(priority=7).priority == 0
    assert cuda.default_stream().priority == 0


def test_streams_that_do_not_block_go_past_the_default_stream(gate):
    apart, blocking = cuda.stream(blocking=False), cuda.stream()
    pinned = cuda.pinned_array(4, np.int32)
    array = cuda.to_device(np.arange(4, dtype=np.int32))
    hold(cuda.legacy_default_stream(), gate)
    array.copy_to_host(pinned, stream=apart)
    apart.synchronize()
    assert pinned.tolist() == [0, 1, 2, 3]
    done = cuda.event()
    done.record(blocking)
    assert not done.query()
    gate.set()
    done.synchronize()


def test_handles_of_other_libraries_find_their_stream(gate):
    stream = cuda.stream()
    same = cuda.external_stream(int(stream))
    hold(same, gate)
    event = cuda.event()
    event.record(stream)
    assert not event.query()
    gate.set()
    same.synchronize()
    assert event.query()
    with pytest.raises(CudaAPIError) as unknown:
        cuda.external_stream(4711).synchronize()
    assert unknown.value.code == 400


def test_a_host_function_gets_its_argument_and_reports_exceptions():
    got = []
    stream = cuda.stream()
    stream.launch_host_func(got.append, 5)
    stream.synchronize()
    assert got == [5]
    stream.launch_host_func(lambda _: 1 / 0)
    with pytest.raises(CudaAPIError, match="division"):
        stream.synchronize()


def test_a_large_copy_of_pageable_memory_warns():
    from warploom.cuda.core.errors import NumbaPerformanceWarning

    stream = cuda.stream()
    host = np.zeros(1 << 16, dtype=np.int64)
    array = cuda.to_device(host)
    with pytest.warns(NumbaPerformanceWarning, match="not pinned"):
        array.copy_to_device(host, stream=stream)
    with pytest.warns(NumbaPerformanceWarning, match="waits for the stream"):
        array.copy_to_host(host, stream=stream)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array.copy_to_device(host)
        array[:100].copy_to_device(host[:100], stream=stream)
        with cuda.pinned(host):
            array.copy_to_device(host, stream=stream)
            stream.synchronize()


PER_THREAD = """
import threading
import numpy as np
from warploom import cuda

array = cuda.to_device(np.arange(4))
opened = threading.Event()
cuda.default_stream().add_callback(lambda *_: opened.wait(60))
done = cuda.event()
done.record()
assert not done.query()

def other():
    # The default stream of this thread is another one.
    assert array.copy_to_host().tolist() == [0, 1, 2, 3]

thread = threading.Thread(target=other)
thread.start()
thread.join()
assert not done.query()
opened.set()
cuda.synchronize()
assert done.query()
print("passed")
"""


def test_default_streams_of_threads():
    import os
    import subprocess
    import sys

    environment = dict(os.environ, NUMBA_CUDA_PER_THREAD_DEFAULT_STREAM="1")
    done = subprocess.run([sys.executable, "-c", PER_THREAD], env=environment, capture_output=True, text=True,
                          timeout=300)
    assert done.stdout.strip() == "passed", done.stderr
