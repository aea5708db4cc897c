"""Device arrays behave as NumPy's in shape, views, assignment and errors, and keep to their memory."""

import gc
import inspect
import itertools
import pickle
import threading

import numpy as np
import pytest

from warploom import _core, cuda
from warploom.cuda.cudadrv import devicearray
from warploom.cuda.cudadrv.driver import CudaAPIError

KEYS = (3, -1, slice(None), slice(1, 6, 2), slice(None, None, -1), slice(5, 2), Ellipsis, None)


@pytest.fixture(scope="module")
def host():
    return np.arange(7 * 5 * 6).reshape(7, 5, 6)


@pytest.mark.parametrize("order", "CF")
def test_indexing_gives_numpys_views(host, order):
    expected = np.array(host, order=order)
    array = cuda.to_device(expected)
    for key in itertools.product(KEYS, KEYS):
        if key.count(Ellipsis) > 1:
            with pytest.raises(IndexError):
                array[key]
            continue
        view, wanted = array[key], expected[key]
        assert view.shape == wanted.shape and (view.strides == wanted.strides or 0 in view.shape)
        if 0 not in view.shape:
            face = view.__cuda_array_interface__
            offset = wanted.__array_interface__["data"][0] - expected.__array_interface__["data"][0]
            assert face["data"][0] - array.__cuda_array_interface__["data"][0] == offset
        if all(step >= 0 for step in view.strides):
            np.testing.assert_array_equal(view.copy_to_host(), wanted)
    assert array[6, 4, 5] == expected[6, 4, 5]


@pytest.mark.parametrize("key", [7, (0, 5), (0, 0, 0, 0), (slice(None), -6)])
def test_indexes_out_of_range_raise(host, key):
    with pytest.raises(IndexError):
        cuda.to_device(host)[key]


@pytest.mark.parametrize("dtype", ["i1", "f2", "i4", "f8", "c16", [("a", "i2"), ("b", "f8", 3)]])
@pytest.mark.parametrize("key", [(2,), (slice(None), 3), (slice(1, None, 2), slice(None, None, -1)), (4, 2, 1)])
def test_assignment_broadcasts_and_stays_within_its_elements(dtype, key):
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(1)
    random = np.frombuffer(rng.bytes(7 * 5 * 6 * dtype.itemsize), dtype).reshape(7, 5, 6)
    value = np.frombuffer(rng.bytes(6 * dtype.itemsize), dtype)
    value = value[0] if len(key) == 3 else value
    expected, array = random.copy(), cuda.to_device(random)
    expected[key] = value
    array[key] = value
    assert array.copy_to_host().tobytes() == expected.tobytes()
    if len(key) < 3:
        again = cuda.to_device(random)
        again[key] = cuda.to_device(np.ascontiguousarray(value))
        assert again.copy_to_host().tobytes() == expected.tobytes()


def test_assignment_reads_an_overlapping_source_first():
    array = cuda.to_device(np.arange(1000.0))
    array[1:] = array[:-1]
    np.testing.assert_array_equal(array.copy_to_host(), np.r_[0.0, np.arange(999.0)])


def test_assignment_refuses_what_numpy_refuses(host):
    array = cuda.to_device(host)
    with pytest.raises(ValueError, match="Can't assign 4-D array to 3-D self"):
        array[:] = np.ones((1, 1, 1, 1))
    with pytest.raises(ValueError, match="Can't copy sequence with size 2 to array axis 2 with dimension 6"):
        array[:] = [1, 2]
    np.testing.assert_array_equal(array.copy_to_host(), host)


def test_views_keep_the_memory_and_share_it():
    array = cuda.to_device(np.zeros((4, 6)))
    view = array[1:3, ::2]
    del array
    view[:] = 1
    view.gpu_data.owner.memset(0, 8)
    np.testing.assert_array_equal(view.copy_to_host(), np.ones((2, 3)))


@pytest.mark.parametrize("shape,new,order", [
    ((2, 6), (3, 4), "C"), ((2, 6), (-1,), "C"), ((2, 6), (3, 2, 2), "F"), ((4,), (2, 1, 2), "C"),
    ((0, 3), (3, 0), "C"),
])
def test_reshape_gives_numpys_view(shape, new, order):
    host = np.array(np.arange(np.prod(shape)).reshape(shape), order=order)
    got = cuda.to_device(host).reshape(*new, order=order)
    wanted = host.reshape(new, order=order)
    np.testing.assert_array_equal(got.copy_to_host(), wanted)


def test_reshape_of_views_needs_no_copy_or_raises():
    host = np.arange(4 * 6).reshape(4, 6)
    array = cuda.to_device(host)
    np.testing.assert_array_equal(array[::2].reshape(2, 2, 3).copy_to_host(), host[::2].reshape(2, 2, 3))
    with pytest.raises(NotImplementedError, match="operation requires copying"):
        array[:, :3].reshape(12)
    with pytest.raises(NotImplementedError, match="operation requires copying"):
        array[:, ::2].ravel()
    with pytest.raises(ValueError):
        array.reshape(5, 5)


@pytest.mark.parametrize("dtype,key", [("i4", ()), ("f8", ()), ("u1", ()), ("u2", (slice(None), slice(None, None, 2)))])
def test_view_changes_the_dtype(dtype, key):
    host = np.arange(32, dtype="i2").reshape(4, 8)
    np.testing.assert_array_equal(cuda.to_device(host)[key].view(dtype).copy_to_host(), host[key].view(dtype))


def test_view_refuses_what_numpy_refuses():
    array = cuda.to_device(np.zeros((4, 3), "i2"))
    with pytest.raises(ValueError, match="When changing to a larger dtype, its size must be a divisor"):
        array.view("i4")
    with pytest.raises(ValueError, match="To change to a dtype of a different size, the last axis must be contiguous"):
        cuda.to_device(np.zeros((4, 8), "i2"))[:, ::2].view("i4")


@pytest.mark.parametrize("dtype", ["u1", "f4", "c16", [("a", "u1"), ("b", "u2", 3)]])
def test_transpose_copies(dtype):
    dtype = np.dtype(dtype)
    host = np.frombuffer(np.random.default_rng(2).bytes(37 * 65 * dtype.itemsize), dtype).reshape(37, 65)
    array = cuda.to_device(host)
    turned = array.T
    assert turned.is_c_contiguous() and turned.copy_to_host().tobytes() == np.ascontiguousarray(host.T).tobytes()
    assert array[::2, 1:].T.copy_to_host().tobytes() == np.ascontiguousarray(host[::2, 1:].T).tobytes()
    with pytest.raises(NotImplementedError, match="transposing a non-2D DeviceNDArray isn't supported"):
        array.reshape(37, 5, 13).T


def test_split_squeeze_and_length():
    host = np.arange(10)
    parts = [part.copy_to_host().tolist() for part in cuda.to_device(host).split(4)]
    assert parts == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    array = cuda.to_device(host.reshape(1, 10, 1))
    assert array.squeeze().shape == (10,) and array.squeeze(axis=0).shape == (10, 1)
    with pytest.raises(ValueError, match="cannot select an axis to squeeze out"):
        array.squeeze(axis=1)
    assert len(array) == 1 and array.nbytes == 80
    with pytest.raises(TypeError):
        len(cuda.to_device(np.float64(3)))


def test_copies_check_their_sides():
    array = cuda.to_device(np.zeros((3, 4)))
    with pytest.raises(TypeError, match="incompatible dtype: float64 vs. float32"):
        array.copy_to_device(np.zeros((3, 4), np.float32))
    with pytest.raises(ValueError, match=r"incompatible shape: \(3, 4\) vs. \(4, 3\)"):
        array.copy_to_host(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"incompatible strides: \(32, 8\) vs. \(8, 24\)"):
        array.copy_to_host(np.zeros((3, 4), order="F"))
    with pytest.raises(NotImplementedError, match=r"D->H copy not implemented for negative strides: \(-32, 8\)"):
        array[::-1].copy_to_host()
    with pytest.raises(ValueError, match="Array contains non-contiguous buffer"):
        cuda.to_device(np.zeros((3, 4))[:, ::2])
    with pytest.raises(ValueError, match="`copy=False` is not supported"):
        array.__array__(copy=False)


def test_a_strided_view_is_copied_without_what_lies_between():
    array = cuda.to_device(np.arange(10))
    host = np.full(10, -1)
    array[::2].copy_to_host(host[::2])
    assert host.tolist() == [0, -1, 2, -1, 4, -1, 6, -1, 8, -1]


def test_only_the_core_of_a_repeated_array_is_stored():
    host = np.broadcast_to(np.arange(5), (1000, 5))
    array = cuda.to_device(host)
    assert array.alloc_size == 40 and array.shape == (1000, 5)
    np.testing.assert_array_equal(array.copy_to_host(), host)


def test_layout_is_part_of_the_type():
    array = cuda.to_device(np.zeros((3, 4), np.float32))
    assert array._type_name == "array(float32,2,C)" and array[:, 1]._type_name == "array(float32,1,A)"
    assert cuda.device_array((3, 4), "f4", order="F")._type_name == "array(float32,2,F)"
    assert array._numba_type_.layout == "C"


@pytest.mark.parametrize("like", [cuda.device_array_like, cuda.pinned_array_like, cuda.mapped_array_like])
def test_like_keeps_the_order_of_the_axes(like):
    base = np.zeros((4, 6, 8))
    for view in (base, base.T, base[::2, :, ::2], np.asfortranarray(base)[:, ::3], base.transpose(1, 0, 2)):
        assert like(view).strides == np.zeros_like(view).strides
        assert like(view).shape == view.shape


@pytest.mark.parametrize("shape", [1.5, np.float64(2), np.array(1.5), (2.0,), [1.5], np.array([1.5])])
def test_shapes_are_integers(shape):
    with pytest.raises(TypeError):
        cuda.device_array(shape)


def test_empty_arrays_have_no_memory():
    array = cuda.device_array((0, 4))
    assert array.__cuda_array_interface__["data"][0] == 0 and array.alloc_size == 0
    assert array.copy_to_host().shape == (0, 4)
    assert array[:0].T.shape == (4, 0)


class Foreign:
    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def test_array_interface_describes_and_is_understood():
    host = np.arange(24.0).reshape(4, 6)
    array = cuda.to_device(host)
    assert array.__cuda_array_interface__["strides"] is None
    assert array[:, ::2].__cuda_array_interface__["strides"] == (48, 16)
    for view in (array, array[1:, ::2], array[2]):
        taken = cuda.as_cuda_array(Foreign(view))
        np.testing.assert_array_equal(taken.copy_to_host(), view.copy_to_host())
        assert taken.gpu_data.device_pointer == view.gpu_data.device_pointer
    back = cuda.as_cuda_array(Foreign(array[::-1]))
    assert back.strides == (-48, 8) and back[0, 0] == host[3, 0]
    with pytest.raises(TypeError, match=r"\*obj\* doesn't implement the cuda array interface."):
        cuda.as_cuda_array(host)
    masked = dict(array.__cuda_array_interface__, mask=array)
    with pytest.raises(NotImplementedError, match="Masked arrays are not supported"):
        cuda.from_cuda_array_interface(masked)


@pytest.mark.skipif(_core.Device.default_name() != "cpu", reason="GPUs may reach memory of the host")
def test_memory_that_kernels_do_not_reach_is_refused():
    array, host = cuda.to_device(np.arange(24.0)), np.arange(24.0)
    for address in (host.ctypes.data, 0x1000, (1 << 47) - 8192, (1 << 63) + 8):
        with pytest.raises(CudaAPIError, match="memory") as refused:
            cuda.from_cuda_array_interface(dict(array.__cuda_array_interface__, data=(address, False)))
        assert refused.value.code == 1
    nothing = cuda.from_cuda_array_interface(dict(array.__cuda_array_interface__, data=(0x1000, False), shape=(0,)))
    assert nothing.size == 0
    assert array.copy_to_host()[23] == 23


RECORD = np.dtype([("a", "i4"), ("b", "f8"), ("c", [("x", "i2"), ("y", "f4", (2, 3))]), ("d", "U3")], align=True)


def test_records_are_read_and_written_by_field():
    array = cuda.to_device(np.zeros(3, RECORD))
    record = array[1]
    assert isinstance(record, devicearray.DeviceRecord)
    record["a"] = 7
    record["b"] = 2.5
    record["c"]["x"] = -3
    record["c"]["y"][1, 1:] = [4, 5]
    record["d"] = "abc"
    host = array.copy_to_host()
    assert host[1]["a"] == 7 and host[1]["b"] == 2.5 and host[1]["c"]["x"] == -3 and host[1]["d"] == "abc"
    assert host[1]["c"]["y"].tolist() == [[0, 0, 0], [0, 4, 5]]
    assert host[0] == np.zeros((), RECORD) and host[2] == np.zeros((), RECORD)
    assert record["a"] == 7 and record["c"]["y"][1, 2] == 5
    assert array["b"].copy_to_host().tolist() == [0, 2.5, 0]


def test_record_scalars_travel_both_ways():
    record = np.zeros(1, RECORD)[0]
    record["a"] = 9
    device, new = devicearray.auto_device(record)
    assert new and device.copy_to_host()["a"] == 9
    target = np.zeros(1, RECORD)[0]
    device.copy_to_host(target)
    assert target == record


def test_mapped_arrays_are_the_hosts_and_the_devices():
    array = cuda.mapped_array((3, 4), np.float32)
    array[:] = 2
    assert cuda.cudadrv.driver.is_device_memory(array[1:])
    assert not cuda.cudadrv.driver.is_device_memory(array + 1)
    np.testing.assert_array_equal(cuda.as_cuda_array(array[1:, ::2]).copy_to_host(), np.full((2, 2), 2, np.float32))
    cuda.as_cuda_array(array)[0] = 5
    assert array[0].tolist() == [5] * 4
    with pytest.raises(AttributeError):
        (array + 1).__cuda_array_interface__


def test_what_no_memory_can_hold_is_refused():
    for shape in (1 << 62, (1 << 40, 1 << 40), (1 << 31, 1 << 31, 4), 1 << 63):
        with pytest.raises(CudaAPIError) as caught:
            cuda.device_array(shape)
        assert caught.value.code == 2
    for shape in (None, 2.5, "3", (2.0,), ((1,),)):
        with pytest.raises(TypeError, match="shape must be"):
            cuda.device_array(shape)
    with pytest.raises(ValueError, match="negative"):
        cuda.device_array((2, -1))
    for dtype in (object, [("a", "O")]):
        with pytest.raises(TypeError, match="Python objects"):
            cuda.device_array(3, dtype)
        with pytest.raises(TypeError, match="Python objects"):
            cuda.to_device(np.empty(3, dtype))


def test_copies_respect_read_only_arrays():
    host = np.arange(10.0)
    host.flags.writeable = False
    array = cuda.to_device(host)
    for device in (array, array[1:]):
        with pytest.raises(ValueError, match="read-only"):
            device.copy_to_host(host[:device.size])
    array.copy_to_device(host)
    assert (array.copy_to_host() == np.arange(10.0)).all()


def test_memory_of_arrays_knows_its_views_and_its_end():
    array = cuda.device_array(100)
    memory = array.gpu_data
    assert isinstance(memory, cuda.MemoryPointer) and memory.size == 800 and memory.owner is memory
    assert int(memory) == memory.device_pointer == array._address and memory.refct == 1
    view = memory.view(8, 16)
    assert memory.refct == 2 and view.device_pointer == memory.device_pointer + 8
    del view
    assert memory.refct == 1
    memory.free()
    memory.free()
    for copy in (array.copy_to_host, lambda: array.copy_to_device(np.zeros(100)), array[1:].copy_to_host):
        with pytest.raises(CudaAPIError) as caught:
            copy()
        assert caught.value.code == 1


def test_arrays_on_many_threads_in_cycles_and_without_a_context():
    def work():
        for i in range(300):
            array = cuda.to_device(np.full(i % 20, i))
            array.me = array  # only the garbage collector ends it
            assert (array.copy_to_host() == i).all()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert len(cuda.current_context().memory_manager.deallocations) <= cuda.config.CUDA_DEALLOCS_COUNT


def test_new_arrays_take_arguments_as_a_function_does():
    assert list(inspect.signature(cuda.device_array).parameters) == ["shape", "dtype", "strides", "order", "stream"]
    assert pickle.loads(pickle.dumps(cuda.device_array)) is cuda.device_array
    stream = cuda.stream()
    array = cuda.device_array(order="F", stream=stream, dtype=np.int16, shape=(3, 5))
    assert (array.shape, array.strides, array.dtype, array.stream) == ((3, 5), (2, 6), np.int16, stream)
    assert cuda.device_array(7).dtype == np.float64
    assert cuda.device_array((np.int64(2), 3), "int8", None, "C", 0).shape == (2, 3)
    assert cuda.device_array((2, 2), np.float32, strides=(16, 4)).strides == (16, 4)
    for wrong in (dict(), dict(shape=3, size=4), dict(shape=-1)):
        with pytest.raises((TypeError, ValueError)):
            cuda.device_array(**wrong)
    with pytest.raises(TypeError):
        cuda.device_array(3, shape=3)


def test_new_arrays_see_what_changes_in_a_dtype():
    dtype = np.dtype([("a", np.int32), ("b", np.float32)])
    assert cuda.device_array(4, dtype).dtype.names == ("a", "b")
    dtype.names = ("c", "d")
    assert cuda.device_array(4, dtype).dtype.names == ("c", "d")


def test_new_arrays_of_many_shapes_are_not_taken_for_each_other():
    for _ in range(2):
        for n in range(1, 200):
            assert cuda.device_array(n, np.int8).shape == (n,)
            array = cuda.device_array((n, 3), np.dtype(np.float32), order="F" if n % 2 else "C")
            assert array.shape == (n, 3) and array.strides == ((4, 4 * n) if n % 2 else (12, 4))
            assert array.size == 3 * n and array.alloc_size == 12 * n
