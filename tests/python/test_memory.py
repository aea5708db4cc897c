"""Memory is freed when its last view is gone, in batches; managers, contexts and processes share it as documented."""

import ctypes
import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda.core import config
from warploom.cuda.cudadrv import driver
from warploom.cuda.cudadrv.driver import CudaAPIError


@pytest.fixture
def queue():
    pending = cuda.current_context().memory_manager.deallocations
    pending.clear()
    assert len(pending) == 0
    yield pending
    pending.clear()


def test_the_eleventh_release_frees_all(queue):
    for i in range(config.CUDA_DEALLOCS_COUNT):
        cuda.device_array(1)
        assert len(queue) == i + 1
    cuda.device_array(1)
    assert len(queue) == 0


def test_many_bytes_free_all(queue, monkeypatch):
    total = cuda.current_context().get_memory_info().total
    monkeypatch.setattr(config, "CUDA_DEALLOCS_RATIO", 1e6 / total)
    cuda.device_array(500_000, np.int8)
    cuda.device_array(queue._max_pending_bytes - queue._size, np.int8)
    assert len(queue) == 2
    cuda.device_array(1, np.int8)
    assert len(queue) == 0 and queue._size == 0


def test_memory_is_released_with_its_last_view(queue):
    before = cuda.current_context().get_memory_info().free
    array = cuda.device_array(1 << 20)
    view = array[5:].view("u4")[::2]
    del array
    assert len(queue) == 0
    del view
    assert len(queue) == 1 and cuda.current_context().get_memory_info().free < before
    queue.clear()
    assert cuda.current_context().get_memory_info().free == before


def test_cleanup_is_deferred_in_nested_blocks_and_after_exceptions(queue):
    with pytest.raises(KeyError):
        with cuda.defer_cleanup():
            with cuda.defer_cleanup():
                for _ in range(30):
                    cuda.device_array(1)
            queue.clear()
            assert len(queue) == 30
            raise KeyError
    assert len(queue) == 30
    cuda.device_array(1)
    assert len(queue) == 0


def test_out_of_memory_frees_what_is_pending_and_tries_again():
    code = """if 1:
        from warploom import cuda
        a = cuda.device_array(6 << 20, 'u1')
        with cuda.defer_cleanup():
            del a
            try:
                cuda.device_array(6 << 20, 'u1')
            except cuda.cudadrv.driver.CudaAPIError as error:
                print(error.code, str(error).startswith('[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY'))
        cuda.device_array(6 << 20, 'u1')
        print(cuda.current_context().get_memory_info().total)
    """
    result = subprocess.run([sys.executable, "-c", code], env=dict(os.environ, WARPLOOM_MEMORY_LIMIT=str(8 << 20)),
                            capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["2", "True", str(8 << 20)]


def test_pointers_count_their_references_and_run_their_finalizer_once():
    freed = []
    pointer = driver.MemoryPointer(cuda.current_context(), ctypes.c_void_p(0xDEAD0000), 40,
                                   finalizer=lambda: freed.append(1))
    view = pointer.view(8, 20)
    assert view.size == 12 and int(view.handle) == 0xDEAD0008 and pointer.refct == 2 and view.owner is pointer
    del pointer
    assert freed == []
    del view
    assert freed == [1]


def test_pinning_ends_at_once():
    array = np.zeros(1000)
    for _ in range(2):
        with cuda.defer_cleanup():
            with cuda.pinned(array):
                with pytest.raises(CudaAPIError) as error:
                    with cuda.pinned(array):
                        pass
                assert error.value.code == 712
            with pytest.raises(KeyError):
                with cuda.mapped(array) as device:
                    device[:10] = 3
                    raise KeyError
    assert array[:11].tolist() == [3] * 10 + [0]
    with cuda.mapped(array, np.ones(3)) as (first, second):
        second[:] = first[:3]
        assert second.copy_to_host().tolist() == [3] * 3


def test_host_memory_has_the_buffer_protocol():
    context = cuda.current_context()
    for memory in (context.memhostalloc(64), context.memhostalloc(64, mapped=True), context.memallocmanaged(64)):
        array = np.ndarray(16, np.uint32, buffer=memory)
        array[:] = 7
        assert bytes(memory) == b"\7\0\0\0" * 16
        if driver.is_device_memory(memory):
            driver.device_memset(memory, 0xAB, 64)
            assert array.tolist() == [0xABABABAB] * 16


class Plugin(cuda.HostOnlyCUDAMemoryManager):
    interface_version = 1

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.live = {}
        self.ready = False

    def initialize(self):
        self.ready = True

    def memalloc(self, size):
        assert self.ready
        memory = self.context._core_device.allocate(size)
        self.live[memory.address] = memory
        return driver.AutoFreePointer(self.context, ctypes.c_void_p(memory.address), size,
                                      finalizer=lambda: self.live.pop(memory.address))

    def get_memory_info(self):
        return cuda.MemoryInfo(free=32, total=64)

    def get_ipc_handle(self, memory):
        return "handle"


def test_a_plugin_allocates_and_learns_of_releases():
    context = cuda.current_context()
    before = context.memory_manager
    context.memory_manager = plugin = Plugin(context=context)
    try:
        array = cuda.to_device(np.arange(10))
        view = array[2:]
        assert len(plugin.live) == 1 and context.get_memory_info() == (32, 64)
        del array
        assert view.copy_to_host().tolist() == list(range(2, 10))
        del view
        assert not plugin.live
        assert cuda.mapped_array(3).shape == (3,)
    finally:
        context.memory_manager = before


def test_a_plugin_of_another_version_is_refused():
    class Other(Plugin):
        interface_version = 2

    with pytest.raises(RuntimeError, match="EMM Plugin interface has version 2 - version 1 required"):
        cuda.set_memory_manager(Other)


def test_a_plugin_is_named_by_the_environment(tmp_path):
    (tmp_path / "plugin.py").write_text(
        "from warploom.cuda.cudadrv.driver import NumbaCUDAMemoryManager\n"
        "class _numba_memory_manager(NumbaCUDAMemoryManager):\n    pass\n")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]),
                       NUMBA_CUDA_MEMORY_MANAGER="plugin")
    code = "from warploom import cuda; print(type(cuda.current_context().memory_manager).__name__)"
    run = [sys.executable, "-c", code]
    result = subprocess.run(run, env=environment, capture_output=True, text=True)
    assert result.stdout.strip() == "_numba_memory_manager"
    environment["NUMBA_CUDA_MEMORY_MANAGER"] = "nowhere"
    result = subprocess.run(run, env=environment, capture_output=True, text=True)
    assert "RuntimeError: Failed to use memory manager from nowhere" in result.stderr


def test_reset_of_a_context_frees_arrays_that_are_still_used():
    context = cuda.current_context()
    before = context.get_memory_info().free
    array = cuda.device_array(1 << 20)
    context.reset()
    assert context.get_memory_info().free >= before
    del array
    assert cuda.to_device(np.arange(3)).copy_to_host().tolist() == [0, 1, 2]


TWO_DEVICES = """if 1:
    import numpy as np
    from warploom import cuda
    from warploom.cuda.cudadrv.driver import driver
    assert len(cuda.gpus) == 2 and [gpu.id for gpu in cuda.gpus] == [0, 1] and cuda.gpus.current is None
    with cuda.gpus[1]:
        first = cuda.to_device(np.arange(4))
        assert cuda.gpus.current.id == 1 and cuda.current_context().device.id == 1
        with cuda.gpus[0]:
            second = cuda.to_device(np.zeros(4, int))
            second.copy_to_device(first)
            assert second.copy_to_host().tolist() == [0, 1, 2, 3] and cuda.get_current_device().id == 0
        assert cuda.get_current_device().id == 1
    assert driver.current_handle() is None

    @cuda.require_context
    def switch():
        with cuda.gpus[1]:
            pass

    with cuda.gpus[0]:
        try:
            switch()
        except RuntimeError as error:
            assert str(error) == 'Cannot switch CUDA-context.'
        else:
            raise AssertionError
    assert cuda.select_device(1).id == 1
    cuda.close()
    try:
        first.copy_to_host()
    except cuda.cudadrv.driver.CudaAPIError:
        print('closed')
    assert cuda.to_device(np.arange(2)).copy_to_host().tolist() == [0, 1]
    handle = driver.cuCtxCreate(0, 0)
    try:
        cuda.current_context()
    except RuntimeError as error:
        assert 'Numba cannot operate on non-primary CUDA context' in str(error)
        print('non-primary')
"""


def test_two_devices_and_their_contexts():
    result = subprocess.run([sys.executable, "-c", TWO_DEVICES], env=dict(os.environ, WARPLOOM_DEVICES="2"),
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["closed", "non-primary"]


def test_contexts_are_shared_by_threads():
    array = cuda.to_device(np.arange(100))
    results = []

    def work():
        array[cuda.current_context().device.id] = 5
        results.append(array.copy_to_host()[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [5] * 4


@pytest.mark.parametrize("environment,code,expected", [
    ({"NUMBA_DISABLE_CUDA": "1"}, "cuda.device_array(1)", "CUDA is disabled due to setting NUMBA_DISABLE_CUDA=1"),
    ({}, "driver.driver.cuInit = fail; cuda.device_array(1)", "Error at driver init: CUDA_ERROR_UNKNOWN (999)"),
])
def test_failures_of_the_set_up_are_reported(environment, code, expected):
    program = ("from warploom import cuda\nfrom warploom.cuda.cudadrv import driver\n"
               "def fail(flags): raise driver.CudaAPIError(999, 'CUDA_ERROR_UNKNOWN')\n"
               "try:\n    " + code + "\nexcept cuda.CudaSupportError as error:\n"
               "    print(error.msg, '|', cuda.cuda_error(), '|', cuda.is_available())\n")
    result = subprocess.run([sys.executable, "-c", program], env=dict(os.environ, **environment), capture_output=True,
                            text=True)
    assert expected in result.stdout and result.stdout.strip().endswith("| False"), result.stderr


def test_a_forked_child_is_told():
    code = """if 1:
        import os
        from warploom import cuda
        cuda.current_context()
        if os.fork() == 0:
            try:
                cuda.device_array(1)
            except cuda.cudadrv.error.CudaDriverError as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
    """
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "CUDA initialized before forking"


def other_process(handle, reserved, size, offset):
    with handle as array:
        got = array.copy_to_host()
        array[0] = 77
        with pytest.raises(ValueError, match="IpcHandle is already opened"):
            handle.open()
    with cuda.open_ipc_array(reserved, shape=size // 8, dtype=np.int64, offset=offset) as array:
        return got.tolist(), array.copy_to_host().tolist()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is shared through Linux's memfd")
def test_processes_share_device_memory():
    neighbour = cuda.to_device(np.arange(5.0))
    array = cuda.to_device(np.arange(10))[2:8]
    handle = array.get_ipc_handle()
    memory = cuda.current_context().get_ipc_handle(array.gpu_data)
    assert len(memory.handle.reserved) == 64
    with pytest.raises(ValueError):
        handle.open()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        got, again = pool.apply(other_process, (handle, memory.handle.reserved, memory.size,
                                                              memory.offset))
    assert got == list(range(2, 8)) and again == [77, *range(3, 8)]
    assert array.copy_to_host().tolist() == again
    assert neighbour.copy_to_host().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.skipif(cuda.get_current_device().is_hardware, reason="of the modelled GPU")
def test_devices_describe_the_modelled_gpu(capsys):
    device = cuda.get_current_device()
    assert device.compute_capability == (9, 0) and device.WARP_SIZE == 32 and device.MAX_THREADS_PER_BLOCK == 1024
    assert device.MULTIPROCESSOR_COUNT > 100 and device.MAX_SHARED_MEMORY_PER_BLOCK == 48 << 10
    assert device.uuid.startswith("GPU-") and device.supports_float16 and device.supports_fp8
    with pytest.raises(AttributeError):
        device.NOT_AN_ATTRIBUTE
    assert cuda.detect()
    assert "Found 1 CUDA devices" in capsys.readouterr().out


def test_flags_of_host_memory():
    pinned, combined = cuda.pinned_array(4), cuda.mapped_array(4, wc=True, portable=True)
    assert driver.driver.cuMemHostGetFlags(pinned.ctypes.data) == 2
    assert driver.driver.cuMemHostGetFlags(combined.ctypes.data) == 6
    with pytest.raises(CudaAPIError) as caught:
        driver.driver.cuMemHostGetFlags(np.zeros(4).ctypes.data)
    assert caught.value.code == 1
