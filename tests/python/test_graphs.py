"""Stream capture, graphs and graph builders of warploom.cuda."""

import gc
import threading

import numpy as np
import pytest

pytest.importorskip("warploom._core", reason="the extension module is not built")

from warploom import cuda  # noqa: E402
from warploom.cuda.cudadrv.driver import CudaAPIError  # noqa: E402


@cuda.jit
def add(a, value):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += value


@cuda.jit
def double(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= 2


def code_of(function, *arguments):
    with pytest.raises(CudaAPIError) as caught:
        function(*arguments)
    return caught.value.code


@pytest.fixture
def array():
    result = cuda.to_device(np.zeros(256, dtype=np.int64))
    add[8, 32](result, 0)
    double[8, 32](result)
    cuda.synchronize()
    return result


def test_capture_records_kernels_and_copies(array):
    stream = cuda.stream()
    source, back = cuda.pinned_array(256, np.int64), cuda.pinned_array(256, np.int64)
    source[:] = 5
    assert not stream.is_capturing
    stream.begin_capture()
    assert stream.is_capturing
    array.copy_to_device(source, stream=stream)
    add[8, 32, stream](array, 1)
    double[8, 32, stream](array)
    array.copy_to_host(back, stream=stream)
    graph = stream.end_capture()
    assert [graph.kind(i) for i in range(len(graph))] == ["copy", "kernel", "kernel", "copy"]
    assert graph.dependencies(3) == [2]
    back[:] = 0
    cuda.synchronize()
    assert not back.any()
    graph.launch(stream)
    stream.synchronize()
    assert (back == 12).all()
    source[:] = 7
    graph.launch()
    cuda.synchronize()
    assert (back == 16).all()
    assert "digraph" in graph.to_dot()


def test_graph_keeps_host_memory_of_its_copies(array):
    stream = cuda.stream()
    stream.begin_capture()
    array.copy_to_device(np.arange(256, dtype=np.int64)[::-1], stream=stream)  # a temporary in another order
    graph = stream.end_capture()
    for _ in range(20):
        np.full(256, 9, dtype=np.int64)
    graph.launch(stream)
    stream.synchronize()
    assert (array.copy_to_host() == np.arange(256)[::-1]).all()


def test_builder_is_given_as_a_stream(array):
    builder = cuda.graph_builder()
    assert not builder.is_building
    builder.begin_building()
    assert builder.is_building
    add[8, 32, builder](array, 3)
    graph = builder.end_building().complete()
    assert (array.copy_to_host() == 0).all()
    stream = cuda.stream()
    graph.upload(stream)
    graph.launch(stream)
    graph.launch(stream)
    stream.synchronize()
    assert (array.copy_to_host() == 6).all()
    assert cuda.get_current_device().create_graph_builder().handle != builder.handle


def test_builder_splits_and_joins(array):
    second = cuda.to_device(np.ones(256, dtype=np.int64))
    third = cuda.to_device(np.ones(256, dtype=np.int64))
    # [builder]
    builder = cuda.stream().create_graph_builder().begin_building()
    add[8, 32, builder](array, 1)
    one, two, three = builder.split(3)
    add[8, 32, one](array, 1)
    add[8, 32, two](second, 1)
    double[8, 32, three](third)
    joined = cuda.GraphBuilder.join(one, two, three)
    add[8, 32, joined](array, 10)
    graph = builder.end_building().complete()
    graph.launch()
    # [/builder]
    assert joined is builder and one is builder
    assert not one.is_join_required and two.is_join_required
    assert sorted(graph.dependencies(4)) == [1, 2, 3]
    cuda.synchronize()
    assert (array.copy_to_host() == 12).all()
    assert (second.copy_to_host() == 2).all() and (third.copy_to_host() == 2).all()


def test_builder_refuses_what_cannot_be(array):
    builder = cuda.graph_builder()
    with pytest.raises(RuntimeError, match="not finished building"):
        builder.complete()
    with pytest.raises(RuntimeError, match="building can be split"):
        builder.split(2)
    assert code_of(builder.end_building) == 401
    builder.begin_building()
    with pytest.raises(ValueError, match="2 or more"):
        builder.split(1)
    with pytest.raises(ValueError, match="two or more"):
        cuda.GraphBuilder.join(builder)
    _, branch = builder.split(2)
    add[8, 32, branch](array, 1)
    with pytest.raises(RuntimeError, match="branch"):
        branch.end_building()
    assert code_of(builder.end_building) == 904
    with pytest.raises(ValueError, match="capture mode"):
        builder.begin_building("strict")
    builder.begin_building()
    builder.close()
    assert not builder.is_building


def test_builder_takes_children_and_callbacks(array):
    called = []
    child = cuda.graph_builder().begin_building()
    add[8, 32, child](array, 1)
    child.end_building()
    builder = cuda.graph_builder().begin_building()
    builder.add_child(child)
    builder.add_child(child)
    builder.callback(lambda: called.append(threading.get_ident()))
    graph = builder.end_building().complete()
    assert [graph.kind(i) for i in range(3)] == ["graph", "graph", "host"]
    assert not called
    graph.launch()
    cuda.synchronize()
    assert len(called) == 1 and called[0] != threading.get_ident()
    assert (array.copy_to_host() == 2).all()
    assert code_of(child.add_child, child) == 401


def test_update(array):
    def built(value, times):
        builder = cuda.graph_builder().begin_building()
        for _ in range(times):
            add[8, 32, builder](array, value)
        return builder.end_building()

    graph = built(1, 2).complete()
    graph.launch()
    graph.update(built(10, 2))
    graph.launch()
    cuda.synchronize()
    assert (array.copy_to_host() == 22).all()
    assert code_of(graph.update, built(1, 3)) == 910
    graph.set_enabled(0, False)
    graph.launch()
    cuda.synchronize()
    assert (array.copy_to_host() == 32).all()
    assert code_of(graph.set_enabled, 7, False) == 400
    graph.close()
    assert code_of(graph.launch) == 400


def test_illegal_calls_during_a_capture(array):
    def attempt(call, mode="relaxed"):
        stream = cuda.stream()
        stream.begin_capture(mode)
        code = code_of(call, stream)
        with pytest.raises(CudaAPIError) as invalid:
            stream.is_capturing
        assert invalid.value.code == 901
        assert code_of(stream.end_capture) == 901
        return code

    event = cuda.event()
    assert attempt(lambda stream: stream.synchronize()) == 900
    assert attempt(lambda stream: cuda.synchronize()) == 900
    assert attempt(lambda stream: stream.add_callback(print)) == 900
    assert attempt(lambda stream: cuda.device_array(10), "global") == 900
    assert attempt(lambda stream: cuda.device_array(10), "thread_local") == 900
    assert attempt(lambda stream: add[8, 32](array, 1)) == 906
    assert attempt(lambda stream: array.copy_to_host()) == 906

    def query(stream):
        event.record(stream)
        event.query()

    assert attempt(query) == 907
    stream = cuda.stream()
    stream.begin_capture()
    assert code_of(stream.begin_capture) == 401
    cuda.device_array(10)  # a relaxed capture does not mind
    stream.end_capture()
    assert code_of(cuda.legacy_default_stream().begin_capture) == 900


def test_capture_ends_in_its_thread(array):
    stream = cuda.stream()
    stream.begin_capture("thread_local")
    codes = []

    def end():
        codes.append(code_of(stream.end_capture))

    thread = threading.Thread(target=end)
    thread.start()
    thread.join()
    assert codes == [908]


def test_host_arrays_cannot_be_captured(array):
    stream = cuda.stream()
    host = np.zeros(256, dtype=np.int64)
    double[8, 32](host)
    stream.begin_capture()
    with pytest.raises(CudaAPIError) as caught:
        double[8, 32, stream](host)
    assert caught.value.code in (900, 901)
    with pytest.raises(CudaAPIError):
        stream.end_capture()


def test_fork_and_join_by_events(array):
    stream, other = cuda.stream(), cuda.stream()
    fork, join = cuda.event(), cuda.event()
    second = cuda.to_device(np.ones(256, dtype=np.int64))
    stream.begin_capture()
    add[8, 32, stream](array, 1)
    fork.record(stream)
    fork.wait(other)
    double[8, 32, other](second)
    join.record(other)
    join.wait(stream)
    add[8, 32, stream](array, 1)
    graph = stream.end_capture()
    assert not other.is_capturing
    assert graph.dependencies(1) == [0] and sorted(graph.dependencies(2)) in ([0, 1], [1])
    graph.launch(other)
    other.synchronize()
    assert (array.copy_to_host() == 2).all() and (second.copy_to_host() == 2).all()


def test_allocations_on_a_builder_become_nodes(array):
    memory = cuda.GraphMemoryResource()
    memory.reset_attributes()
    before = memory.attributes["used_current"]
    builder = cuda.graph_builder()
    with pytest.raises(CudaAPIError):
        memory.allocate(2048, builder)
    builder.begin_building()
    address = memory.allocate(2048, builder)
    scratch = cuda.devicearray.DeviceNDArray((256,), (8,), np.int64, gpu_data=cuda.MemoryPointer(
        builder.stream.context, address, 2048))
    scratch.copy_to_device(array, stream=builder)
    add[8, 32, builder](scratch, 7)
    array.copy_to_device(scratch, stream=builder)
    memory.deallocate(address, stream=builder)
    graph = builder.end_building().complete()
    assert [graph.kind(i) for i in range(len(graph))] == ["memory_alloc", "copy", "kernel", "copy", "memory_free"]
    assert code_of(builder.complete) == 801
    for _ in range(2):
        graph.launch()
    cuda.synchronize()
    assert (array.copy_to_host() == 14).all()
    assert memory.attributes["used_current"] == before + 2048
    graph.close()
    builder.close()
    del graph, builder
    gc.collect()  # what the errors above have caught
    assert memory.attributes["used_current"] == before
    memory.trim()
    assert memory.attributes["reserved_current"] <= memory.attributes["reserved_high"]


def test_memory_of_a_graph_is_freed_before_it_is_launched_again(array):
    pool, stream = cuda.MemoryPool(), cuda.stream()
    stream.begin_capture()
    address = pool.allocate(64, stream)
    graph = stream.end_capture()
    assert code_of(pool.deallocate, address, 0, stream) == 1
    graph.launch(stream)
    assert code_of(graph.launch, stream) == 1
    pool.deallocate(address, stream=stream)
    graph.launch(stream)
    pool.deallocate(address, stream=stream)
    graph.close()

    stream.begin_capture()
    address = pool.allocate(64, stream)
    graph = stream.end_capture(auto_free_on_launch=True)
    for _ in range(3):
        graph.launch(stream)
    pool.deallocate(address, stream=stream)
    stream.synchronize()
    builder = cuda.graph_builder().begin_building()
    address = pool.allocate(64, builder)
    graph = builder.end_building().complete(cuda.GraphCompleteOptions(auto_free_on_launch=True))
    graph.launch()
    graph.launch()
    pool.deallocate(address)


def test_memory_objects_of_a_capture_end_with_it():
    pool, stream = cuda.MemoryPool(), cuda.stream()
    stream.begin_capture()
    first = pool.memalloc(64, stream)
    del first
    kept = pool.memalloc(64, stream)
    graph = stream.end_capture()
    assert [graph.kind(i) for i in range(len(graph))] == ["memory_alloc", "memory_free", "memory_alloc"]
    graph.launch(stream)
    del kept  # frees what the launch has allocated
    graph.launch(stream)
    stream.synchronize()
    never = pool.memalloc(64, stream)
    del never
    assert pool.statistics()["used_current"] == 0
