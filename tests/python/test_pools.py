"""Memory pools, what is said when memory is short, late releases, allocators of other libraries, peers."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda.core import config
from warploom.cuda.cudadrv import driver
from warploom.cuda.cudadrv.driver import CudaAPIError


def run(code, **environment):
    result = subprocess.run([sys.executable, "-c", code], env=dict(os.environ, **environment), capture_output=True,
                            text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


# Pools.


def test_a_pool_gives_a_stream_its_memory_back():
    # [pool]
    pool = cuda.MemoryPool(release_threshold=1 << 20)
    stream = cuda.stream()
    address = pool.allocate(1000, stream)
    pool.deallocate(address, stream=stream)
    assert pool.allocate(900, stream) == address  # at once: work on one stream is ordered
    pool.deallocate(address, stream=stream)
    stream.synchronize()
    assert pool.statistics()["used_current"] == 0
    pool.trim()  # what the threshold would have kept
    assert pool.statistics()["reserved_current"] == 0
    # [/pool]


def test_pools_count_and_are_current():
    pool = cuda.MemoryPool(max_bytes=1 << 20)
    assert (pool.max_bytes, pool.release_threshold) == (1 << 20, 0)
    address = pool.allocate(5000)
    assert pool.statistics()["used_current"] == 5120
    with pytest.raises(CudaAPIError, match="of at most 1048576"):
        pool.allocate(1 << 20)
    pool.deallocate(address)
    pool.reset_statistics()
    assert pool.statistics()["used_high"] == 0
    pool.make_current()
    assert cuda.current_memory_pool().max_bytes == 1 << 20
    cuda.default_memory_pool().make_current()
    assert cuda.current_memory_pool().max_bytes == 0
    pool.reuse_allow_opportunistic = False
    assert not pool.reuse_allow_opportunistic and "reserved" in repr(pool)


def test_pool_memory_as_an_object():
    pool = cuda.MemoryPool()
    memory = pool.memalloc(80)
    array = cuda.devicearray.DeviceNDArray((10,), (8,), np.float64, gpu_data=memory)
    array.copy_to_device(np.arange(10.0))
    del memory
    assert array.copy_to_host().sum() == 45
    assert pool.statistics()["used_current"] == 512
    del array
    assert pool.statistics()["used_current"] == 0


def test_pools_refuse_what_is_wrong():
    pool = cuda.MemoryPool()
    address = pool.allocate(10)
    pool.deallocate(address)
    with pytest.raises(CudaAPIError) as caught:
        pool.deallocate(address)
    assert caught.value.code == 1 and "cuMemFreeAsync" in str(caught.value)
    with pytest.raises(TypeError):
        pool.allocate("many")
    assert pool.allocate(0) == 0
    pool.deallocate(0)


# Out of memory.

OUT_OF_MEMORY = """
import numpy as np
from warploom import cuda
kept = cuda.device_array(5 << 20, np.uint8)
other = cuda.to_device(np.zeros(1000))
assert cuda.get_current_device().memory_limit == 8 << 20
try:
    cuda.device_array(6 << 20, np.uint8)
except cuda.cudadrv.driver.CudaAPIError as error:
    print(error)
with cuda.defer_cleanup():
    del kept
    try:
        cuda.device_array(6 << 20, np.uint8)
    except cuda.cudadrv.driver.CudaAPIError as error:
        print(error)
cuda.device_array(6 << 20, np.uint8)  # what was put off is released first
cuda.get_current_device().memory_limit = 1 << 20
assert cuda.current_context().get_memory_info().total == 1 << 20
"""


def test_out_of_memory_names_the_largest_and_their_lines(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(OUT_OF_MEMORY)
    result = subprocess.run([sys.executable, str(program)], env=dict(os.environ, WARPLOOM_MEMORY_LIMIT="8M"),
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    first, second = result.stdout.split("CUDA_ERROR_OUT_OF_MEMORY")[1:]
    assert "6291456 bytes asked for, 1048576 of 8388608 free" in first and "0 releases pending" in first
    assert "largest live allocations: 5242880 bytes at" in first and "program.py:4" in first, first
    assert "8000 bytes at" in first and "program.py:5" in first
    assert "1 releases pending of 5242880 bytes" in second


def test_a_limit_is_refused():
    device = cuda.get_current_device()
    for wrong in (0, 1 << 62):
        with pytest.raises(CudaAPIError) as caught:
            device.memory_limit = wrong
        assert caught.value.code == 1
    before = device.memory_limit
    device.memory_limit = before // 2
    assert cuda.current_context().get_memory_info().total == before // 2
    device.memory_limit = before


# Late releases.


def test_pending_releases_are_counted():
    context = cuda.current_context()
    context.memory_manager.deallocations.clear()
    context.deallocations.clear()
    # [pending]
    with cuda.defer_cleanup():
        for _ in range(20):
            cuda.device_array(1000, np.uint8)
        pending = cuda.current_context().pending()
        assert (pending.memory_count, pending.memory_bytes, pending.deferred) == (20, 20_000, True)
    # [/pending]
    assert context.pending().memory_count == 20 and context.pending().most >= 20
    cuda.stream()
    assert context.pending().object_count == 1
    context.memory_manager.deallocations.clear()
    context.deallocations.clear()
    assert context.pending()[:3] == (0, 0, 0)


def test_an_exception_in_a_release_is_raised_and_cancels_the_rest():
    queue = cuda.current_context().memory_manager.deallocations
    queue.clear()
    seen = []

    def release(handle):
        seen.append(handle)
        if handle == 1:
            raise KeyError("cannot release")

    for handle in range(4):
        queue.add_item(release, handle)
    with pytest.raises(KeyError, match="cannot release"):
        queue.clear()
    assert seen == [0, 1] and len(queue) == 0


def test_limits_are_read_when_something_is_queued(monkeypatch):
    queue = cuda.current_context().deallocations
    queue.clear()
    seen = []
    monkeypatch.setattr(config, "CUDA_DEALLOCS_COUNT", 2)
    for handle in range(3):
        assert seen == []
        queue.add_item(seen.append, handle)
    assert seen == [0, 1, 2]


# Allocators of other libraries: stand-ins with the protocols that RMM and CuPy publish.


class RmmResource:
    """rmm.mr.DeviceMemoryResource: addresses, sizes."""

    def __init__(self):
        self.pool = cuda.MemoryPool()
        self.live = {}

    def allocate(self, nbytes, stream=None):
        address = self.pool.allocate(nbytes)
        self.live[address] = nbytes
        return address

    def deallocate(self, ptr, nbytes, stream=None):
        assert self.live.pop(ptr) == nbytes
        self.pool.deallocate(ptr)


class CupyMemoryPointer:
    """cupy.cuda.MemoryPointer: memory that lives as long as the object, at ptr."""

    def __init__(self, pool, nbytes):
        self.pool, self.ptr = pool, pool.allocate(nbytes)

    def __del__(self):
        self.pool.deallocate(self.ptr)


class RmmDeviceBuffer:
    """rmm.DeviceBuffer."""

    def __init__(self, pool, size):
        self.memory, self.size = pool.memalloc(size), size
        self.ptr = int(self.memory)


@pytest.fixture
def manager():
    context = cuda.current_context()
    before = context.memory_manager
    yield context
    context.memory_manager.deallocations.clear()
    context.memory_manager = before


def uses_and_returns(context, live):
    # The assignment of a manager is what set_memory_manager does for later contexts.
    array = cuda.to_device(np.arange(100.0))
    view = array[10:20]
    assert live() == 1
    assert array.copy_to_host().sum() == 4950 and view.copy_to_host()[0] == 10

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    double[4, 32](array)
    assert array.copy_to_host()[3] == 6
    del array
    context.memory_manager.deallocations.clear()
    assert live() == 1, "the view keeps it"
    del view
    assert len(context.memory_manager.deallocations) == 1
    context.memory_manager.deallocations.clear()
    assert live() == 0


def test_a_resource_of_rmm_serves_arrays(manager):
    resource = RmmResource()
    manager.memory_manager = cuda.manager_of(resource)(context=manager)
    uses_and_returns(manager, lambda: len(resource.live))


def test_an_allocator_of_cupy_serves_arrays(manager):
    pool = cuda.MemoryPool()
    manager.memory_manager = cuda.manager_of(lambda size: CupyMemoryPointer(pool, size))(context=manager)
    uses_and_returns(manager, lambda: pool.statistics()["used_current"] // 512 and 1)


def test_the_plugin_of_rmm_serves_arrays(manager):
    # rmm.allocators.numba.RMMNumbaManager, in outline: a buffer for each allocation, freed by dropping it.
    pool = cuda.MemoryPool()

    class Manager(cuda.HostOnlyCUDAMemoryManager):
        def initialize(self):
            pass

        def memalloc(self, size):
            buffer = RmmDeviceBuffer(pool, size)
            pointer = driver.binding.CUdeviceptr(int(buffer.ptr))
            self.allocations[int(pointer)] = buffer
            allocations, queue = self.allocations, self.deallocations

            def finalizer():
                queue.add_item(lambda key: allocations.pop(key, None), int(pointer), size)

            return cuda.MemoryPointer(self.context, pointer, size, finalizer=finalizer)

        def get_ipc_handle(self, memory):
            raise NotImplementedError

        def get_memory_info(self):
            raise NotImplementedError

        @property
        def interface_version(self):
            return 1

    cuda.set_memory_manager(Manager)  # for contexts to come
    driver.set_memory_manager(driver.NumbaCUDAMemoryManager)
    manager.memory_manager = Manager(context=manager)
    uses_and_returns(manager, lambda: len(manager.memory_manager.allocations))
    with pytest.raises(NotImplementedError):
        manager.get_memory_info()
    array = cuda.device_array(10)
    manager.memory_manager.reset()
    assert pool.statistics()["used_current"] == 0 and array.size == 10


def test_our_pools_serve_them():
    # rmm.mr.CallbackMemoryResource(pool.allocate, pool.deallocate) calls (nbytes, stream) and (ptr, nbytes, stream);
    # cupy.cuda.PythonFunctionAllocator(pool.malloc, pool.free) calls (nbytes, device) and (ptr, device).
    pool = cuda.MemoryPool()
    stream = cuda.stream()
    address = pool.allocate(100, stream)
    pool.deallocate(address, 100, stream)
    address = pool.malloc(100, 0)
    pool.free(address, 0)
    assert pool.statistics()["used_current"] == 0


def test_what_is_no_allocator_is_refused():
    for wrong in (None, 5, "pool", object()):
        with pytest.raises(TypeError, match="allocator"):
            cuda.manager_of(wrong)
    class Failing:
        def allocate(self, nbytes):
            raise MemoryError("nothing left")

        def deallocate(self, address, nbytes):
            raise AssertionError

    context = cuda.current_context()
    with pytest.raises(MemoryError, match="nothing left"):
        cuda.manager_of(Failing())(context=context).memalloc(10)


# Managed memory.

MANAGED = """
import numpy as np
from warploom import cuda
@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2
array = cuda.managed_array(1 << 16, np.float32)
for turn in range(3):
    array[:] = turn
    double[1 << 8, 256](array)
    cuda.synchronize()
assert array[5] == 4
found = array.pages()
print(found["pages"], found["to_device"], found["ping_pong"], found["tracked"])
"""


def test_pages_are_tracked_under_explain(tmp_path):
    out = run(MANAGED, WARPLOOM_OBSERVE="explain", WARPLOOM_REPORT_JSON=str(tmp_path / "report.json"),
              NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0")
    assert out.splitlines()[0] == "4 12 4 True"
    assert "4 pages go back and forth between host and device, one of them 6 times" in " ".join(out.split()), out
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["managed_memory"][0]["ping_pong"] == 4
    assert report["releases"]["put_off"] >= 1 and "late releases" in out


def test_managed_arrays_take_advice_and_are_prefetched():
    array = cuda.managed_array((4, 1 << 14), np.float32)
    array[:] = 1
    array.advise("set_read_mostly")
    array.prefetch("device", cuda.stream())
    cuda.synchronize()
    found = array.pages()
    assert not found["tracked"]
    modelled = not cuda.get_current_device().is_hardware  # a GPU's driver does not say where pages are
    if modelled:
        assert found["prefetched_to_device"] == 4 and found["on_device"] == 4
    array[1].prefetch("host")
    cuda.synchronize()
    if modelled:
        assert array.pages()["prefetched_to_host"] == 1
    for call in (lambda: array.advise("be_quick"), lambda: array.prefetch("moon"), lambda: array.advise("read", 5)):
        with pytest.raises(ValueError):
            call()


def test_managed_arrays_are_attached():
    array = cuda.managed_array(64, np.float32)
    stream = cuda.stream()
    array.attach("single", stream)
    array.attach("host", stream)
    array.attach()
    cuda.synchronize()
    array[:] = 2
    assert array.copy_to_host().sum() == 128
    with pytest.raises(ValueError, match="global, host, single"):
        array.attach("mine")
    with pytest.raises(CudaAPIError, match="default stream"):
        array.attach("single", cuda.legacy_default_stream())


# Several devices.

PEERS = """
import numpy as np
from warploom import cuda
from warploom.cuda.cudadrv.driver import CudaAPIError, driver
def code(call, *arguments):
    try:
        call(*arguments)
    except CudaAPIError as error:
        return error.code
with cuda.gpus[0]:
    one = cuda.current_context()
    source = cuda.to_device(np.arange(4.0))
with cuda.gpus[1]:
    two = cuda.current_context()
    target = cuda.device_array(4)
    assert two.get_memory_info().total == one.get_memory_info().total
    driver.cuMemcpyPeer(target.gpu_data.device_pointer, two, source.gpu_data.device_pointer, one, 32)
    assert target.copy_to_host().sum() == 6
    stream = cuda.stream()
    driver.cuMemcpyPeerAsync(target.gpu_data.device_pointer + 8, two, source.gpu_data.device_pointer, one, 8, stream)
    stream.synchronize()
    assert target.copy_to_host()[1] == 0
    assert code(driver.cuMemcpyPeer, target.gpu_data.device_pointer, two, source.gpu_data.device_pointer, one, 64) == 1
assert one.can_access_peer(1) and one.can_access_peer(two) and not one.can_access_peer(0) and not one.can_access_peer(7)
one.enable_peer_access(two)
print(code(one.enable_peer_access, 1), code(two.disable_peer_access, 0), code(one.enable_peer_access, 0),
      code(one.enable_peer_access, 1, 1), code(one.enable_peer_access, 9))
one.disable_peer_access(1)
print(code(one.disable_peer_access, two))
cuda.gpus[0].memory_limit  # an attribute of each
one.device.memory_limit = 1 << 20
assert two.get_memory_info().total > 1 << 20
"""


def test_peers():
    assert run(PEERS, WARPLOOM_DEVICES="2").split() == ["704", "705", "101", "1", "101", "705"]


PEER_KERNEL = """
import numpy as np
from warploom import cuda
from warploom.cuda.cudadrv.driver import CudaAPIError
@cuda.jit
def add(a, b):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += b[i]
a = cuda.to_device(np.arange(4.0))
with cuda.gpus[1]:
    b = cuda.to_device(np.ones(4))
cuda.current_context().enable_peer_access(1)
add[1, 32](a, b)
print(int(a.copy_to_host().sum()))
cuda.current_context().disable_peer_access(1)
for other in (b, b[1:], b.reshape(2, 2).ravel()):
    try:
        add[1, 32](a, other)
        print("taken")
    except CudaAPIError as error:
        assert "another device" in str(error), error
        print(error.code)
with cuda.gpus[1]:
    print(int(b.copy_to_host().sum()))
"""


def test_kernels_keep_out_of_a_peers_memory():
    assert run(PEER_KERNEL, WARPLOOM_DEVICES="2", NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0").split() == \
        ["10", "400", "400", "400", "4"]


STALE = """
import numpy as np
from warploom import cuda
from warploom.cuda.cudadrv.driver import CudaAPIError
@cuda.jit
def add(a, b):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += b[i]
@cuda.jit
def add_first(a, b):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += b[0][i]
def refused(*arguments, kernel=add):
    try:
        kernel[1, 32](*arguments)
    except CudaAPIError as error:
        assert error.code == 400 and "released" in str(error), error
        return
    raise AssertionError("taken")
a, b = cuda.to_device(np.arange(4.0)), cuda.to_device(np.ones(4))
part = b[1:]
add[1, 32](a, b)
add_first[1, 32](a, (b,))
b.gpu_data.free()
refused(a, b)
refused(a, (b,), kernel=add_first)
refused(a, part)
cuda.current_context().reset()
c = cuda.to_device(np.arange(4.0))
refused(c, a)
refused(a, c)
add[1, 32](c, np.ones(4))
print(int(c.copy_to_host().sum()))
"""


def test_kernels_are_not_given_memory_that_is_gone():
    assert run(STALE, NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0").split() == ["10"]


EXIT = """
import atexit, threading
import numpy as np
from warploom import cuda
class Late:
    def __del__(self):
        try:
            cuda.device_array(3)
        except Exception:
            pass
keep, late = [cuda.to_device(np.arange(100.0)) for _ in range(50)], Late()
late.me = late
late.array = cuda.device_array(10)
atexit.register(lambda: print(cuda.device_array(5).copy_to_host().shape))
builder = cuda.graph_builder().begin_building()
cuda.MemoryPool().allocate(64, builder)
threading.Thread(target=lambda: [cuda.device_array(10) for _ in range(1000)], daemon=True).start()
"""


def test_a_program_may_end_with_arrays_threads_and_captures():
    for _ in range(3):
        assert run(EXIT).split() == ["(5,)"]
