"""DLPack and the CUDA Array Interface: arrays shared with other libraries."""

import gc
import weakref

import numpy as np
import pytest

pytest.importorskip("warploom._core", reason="the extension module is not built")

from warploom import cuda  # noqa: E402
from warploom.cuda.core.errors import TypingError  # noqa: E402
from warploom.cuda.cudadrv.driver import CudaAPIError  # noqa: E402

# NumPy reads memory of the CPU device; that of a GPU is shared with others only (tests/gpu/test_consumers.py).
shared_with_numpy = pytest.mark.skipif(cuda.get_current_device().is_hardware, reason="NumPy cannot read a GPU's memory")


@cuda.jit
def add(a, value):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += value


@cuda.jit
def total(a, out):
    s = 0
    for i in range(a.size):
        s += a[i]
    out[0] = s


@shared_with_numpy
def test_numpy_takes_device_arrays_without_a_copy():
    array = cuda.to_device(np.arange(100, dtype=np.int32))
    stream = cuda.stream()
    add[1, 128, stream](array, 1)
    view = np.from_dlpack(array)  # waits for the kernel
    assert (view == np.arange(1, 101)).all()
    assert view.__array_interface__["data"][0] == array.__cuda_array_interface__["data"][0]
    add[1, 128](array, 1)
    cuda.synchronize()
    assert view[0] == 2
    del array
    gc.collect()
    assert view[99] == 101


@shared_with_numpy
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64", "float16", "float32", "float64", "complex64",
                                   "complex128", "bool"])
def test_element_types_go_there_and_back(dtype):
    host = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    array = cuda.to_device(host)
    there = np.from_dlpack(array)
    assert there.dtype == host.dtype and (there == host).all()
    back = cuda.from_dlpack(host)
    assert back.dtype == host.dtype and (back.copy_to_host() == host).all()


def test_bfloat16_goes_there_and_back():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    array = cuda.device_array(4, ml_dtypes.bfloat16)
    again = cuda.from_dlpack(array)
    assert again.dtype == array.dtype
    assert again.__cuda_array_interface__["data"] == array.__cuda_array_interface__["data"]


@shared_with_numpy
def test_strided_views_keep_their_strides():
    host = np.arange(24, dtype=np.float64).reshape(4, 6)
    array = cuda.to_device(host)
    for item in (np.s_[::2, 1::3], np.s_[:, 2], np.s_[2], np.s_[1:1]):
        view = np.from_dlpack(array[item])
        assert view.shape == host[item].shape and (view == host[item]).all()
        if view.size:
            assert view.strides == host[item].strides
        back = cuda.from_dlpack(host[item])
        assert back.shape == host[item].shape
        assert (np.from_dlpack(back) == host[item]).all()


@shared_with_numpy
def test_kernels_write_to_numpy_arrays_without_a_copy():
    # [share]
    host = np.zeros(64, dtype=np.int64)
    array = cuda.from_dlpack(host)
    add[2, 32](array, 7)
    cuda.synchronize()
    view = np.from_dlpack(array)  # no copy either
    # [/share]
    assert view.__array_interface__["data"] == host.__array_interface__["data"]
    del view
    assert (host == 7).all()
    alive = weakref.ref(host)
    second = cuda.from_dlpack(host)  # the same memory once more
    del array
    gc.collect()
    add[2, 32](second, 1)
    cuda.synchronize()
    assert (host == 8).all()
    part = second[3:5]
    del host, second
    gc.collect()
    assert alive() is not None
    assert (part.copy_to_host() == 8).all()
    del part
    gc.collect()
    assert alive() is None


@shared_with_numpy
def test_read_only_arrays_stay_so():
    host = np.arange(4, dtype=np.int64)
    host.flags.writeable = False
    array = cuda.from_dlpack(host)
    out = cuda.device_array(1, np.int64)
    total[1, 1](array, out)
    assert out.copy_to_host()[0] == 6
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        array[1:].copy_to_device(np.zeros(3, np.int64))
    assert array.__cuda_array_interface__["data"][1] is True
    assert not np.from_dlpack(array).flags.writeable
    with pytest.raises(BufferError, match="max_version"):
        array.__dlpack__()
    with pytest.raises(TypingError, match="read"):
        add[1, 32](array, 1)
    assert host[0] == 0


@shared_with_numpy
def test_copies_on_request():
    array = cuda.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    own = np.from_dlpack(array, copy=True)
    assert own.__array_interface__["data"][0] != array.__cuda_array_interface__["data"][0]
    assert (own == array.copy_to_host()).all()
    shared = np.from_dlpack(array, copy=False)
    assert shared.__array_interface__["data"][0] == array.__cuda_array_interface__["data"][0]
    host = np.arange(3)
    copied = cuda.from_dlpack(host, copy=True)
    host[:] = 0
    assert (copied.copy_to_host() == np.arange(3)).all()


def test_streams_are_ordered():
    array = cuda.to_device(np.zeros(1 << 16, dtype=np.int64))
    add[2048, 32](array, 0)
    cuda.synchronize()  # streams that do not block run beside the default stream
    producer, consumer = cuda.stream(blocking=False), cuda.stream(blocking=False)
    mine = array.bind(producer)
    for _ in range(50):
        add[2048, 32, producer](mine, 1)
    capsule = mine.__dlpack__(stream=int(consumer), dl_device=(2, 0))
    assert "dltensor" in repr(capsule)
    pinned = cuda.pinned_array(1 << 16, np.int64)
    array.copy_to_host(pinned, stream=consumer)
    consumer.synchronize()
    assert (pinned == 50).all()
    mine.__dlpack__(stream=-1)
    mine.__dlpack__(stream=1, dl_device=(2, 0))
    mine.__dlpack__(stream=2, dl_device=(2, 0))


class Foreign:
    """Another library's array on a CUDA device."""

    def __init__(self, array):
        self.array, self.streams = array, []

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None):  # knows nothing of versions
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream, dl_device=(2, 0))


def test_device_memory_of_others():
    array = cuda.to_device(np.arange(10, dtype=np.int64))
    foreign = Foreign(array)
    stream = cuda.stream()
    taken = cuda.from_dlpack(foreign, stream=stream)
    cuda.from_dlpack(foreign)
    assert foreign.streams == [int(stream), 1]
    assert taken.stream is stream
    assert taken.__cuda_array_interface__["data"] == array.__cuda_array_interface__["data"]
    out = cuda.device_array(1, np.int64)
    total[1, 1](foreign, out)
    assert out.copy_to_host()[0] == 45


@shared_with_numpy
def test_capsules_are_used_once():
    from warploom import _core

    array = cuda.to_device(np.arange(3))
    capsule = array.__dlpack__()
    first = _core.dlpack_import(capsule)
    assert first["shape"] == (3,) and first["device"] == (1, 0) and not first["readonly"]
    with pytest.raises(BufferError, match="used already"):
        _core.dlpack_import(capsule)
    with pytest.raises(BufferError):
        _core.dlpack_import(5)
    versioned = array.__dlpack__(max_version=(1, 0))
    assert "versioned" in repr(versioned)
    alive = weakref.ref(array)
    del array
    gc.collect()
    assert alive() is not None
    del first, capsule, versioned
    gc.collect()
    assert alive() is None


def test_refusals():
    array = cuda.to_device(np.arange(4))
    records = cuda.to_device(np.zeros(2, dtype=[("a", np.int32), ("b", np.float64)]))
    with pytest.raises(BufferError, match="no element type"):
        records.__dlpack__()
    with pytest.raises(BufferError, match="no element type"):
        cuda.to_device(np.zeros(2, "datetime64[s]")).__dlpack__()
    with pytest.raises(BufferError, match="multiples"):
        records["b"].__dlpack__()
    with pytest.raises(BufferError, match="given to"):
        array.__dlpack__(dl_device=(10, 0))
    with pytest.raises(ValueError, match="stream 0"):
        array.__dlpack__(stream=0)
    with pytest.raises(TypeError, match="handle"):
        array.__dlpack__(stream="1")
    with pytest.raises(CudaAPIError):
        array.__dlpack__(stream=12345, dl_device=(2, 0))
    with pytest.raises(TypeError, match="__dlpack__"):
        cuda.from_dlpack([1, 2])
    with pytest.raises(ValueError, match="current device"):
        cuda.from_dlpack(np.arange(3), device=7)

    class Elsewhere:
        def __dlpack_device__(self):
            return (10, 0)

        def __dlpack__(self, **options):
            raise AssertionError("not asked")

    with pytest.raises(BufferError, match="device type 10"):
        cuda.from_dlpack(Elsewhere())


@shared_with_numpy
def test_managed_and_mapped_arrays_are_given_too():
    managed = cuda.managed_array(8, dtype=np.int32)
    managed[:] = 3
    add[1, 32](managed, 1)
    view = np.from_dlpack(managed)
    assert (view == 4).all()
    mapped = cuda.mapped_array(4, dtype=np.float32)
    mapped[:] = 2
    assert (np.from_dlpack(mapped) == 2).all()


@shared_with_numpy
def test_empty_arrays():
    empty = np.from_dlpack(cuda.device_array((0, 3), np.float32))
    assert empty.shape == (0, 3)
    assert cuda.from_dlpack(np.zeros((3, 0))).shape == (3, 0)
    scalar = cuda.from_dlpack(np.array(5))
    assert scalar.shape == () and scalar.copy_to_host() == 5


@shared_with_numpy
def test_array_api_strict_takes_and_gives_arrays():
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    array = cuda.to_device(np.arange(12, dtype=np.float64).reshape(3, 4))
    taken = xp.from_dlpack(array)
    assert float(xp.sum(taken)) == 66
    add[1, 32](cuda.from_dlpack(xp.asarray([1, 2, 3])), 0)
    given = cuda.from_dlpack(xp.reshape(xp.arange(6), (2, 3)))
    assert given.shape == (2, 3) and (given.copy_to_host() == np.arange(6).reshape(2, 3)).all()


@shared_with_numpy
def test_pyarrow_gives_arrays():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    given = cuda.from_dlpack(pa.array([1, 2, 3, 4], type=pa.int64()))
    out = cuda.device_array(1, np.int64)
    total[1, 1](given, out)
    assert out.copy_to_host()[0] == 10


# The CUDA Array Interface, version 3.


class Face:
    def __init__(self, face):
        self.__cuda_array_interface__ = face


def test_interface_names_streams():
    array = cuda.to_device(np.arange(4))
    assert array.__cuda_array_interface__["stream"] is None
    stream = cuda.stream()
    assert array.bind(stream).__cuda_array_interface__["stream"] == int(stream)
    assert array.bind(cuda.default_stream()).__cuda_array_interface__["stream"] == 1
    if not cuda.get_current_device().is_hardware:  # there it is a stream of ours
        assert array.bind(cuda.per_thread_default_stream()).__cuda_array_interface__["stream"] == 2
    face = dict(array.__cuda_array_interface__, stream=int(stream))
    taken = cuda.as_cuda_array(Face(face))
    assert int(taken.stream) == int(stream)
    for number in (1, 2):
        assert int(cuda.as_cuda_array(Face(dict(face, stream=number))).stream) == number
    with pytest.raises(ValueError, match="stream 0"):
        cuda.as_cuda_array(Face(dict(face, stream=0)))
    with pytest.raises(CudaAPIError):
        cuda.as_cuda_array(Face(dict(face, stream=98765)))
    with pytest.raises(NotImplementedError, match="Masked"):
        cuda.as_cuda_array(Face(dict(face, mask=array)))


def test_interface_of_read_only_memory():
    array = cuda.to_device(np.arange(4))
    face = dict(array.__cuda_array_interface__)
    face["data"] = (face["data"][0], True)
    taken = cuda.as_cuda_array(Face(face))
    with pytest.raises(ValueError, match="read-only"):
        taken[0] = 5
    assert (taken.copy_to_host() == np.arange(4)).all()


def test_interface_keeps_its_owner():
    class Owner(Face):
        pass

    array = cuda.to_device(np.arange(4))
    owner = Owner(dict(array.__cuda_array_interface__))
    alive = weakref.ref(owner)
    part = cuda.as_cuda_array(owner)[1:]
    del owner
    gc.collect()
    assert alive() is not None
    del part
    gc.collect()
    assert alive() is None


@shared_with_numpy
def test_jax_shares_memory():
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
    import jax

    array = cuda.to_device(np.arange(64, dtype=np.int32))
    add[2, 32](array, 1)
    shared = jnp.from_dlpack(array)
    assert shared.unsafe_buffer_pointer() == array._address
    assert int(shared.sum()) == np.arange(1, 65).sum()
    doubled = jax.jit(lambda x: x * 2)(shared)
    back = cuda.from_dlpack(doubled)
    assert back._address == doubled.unsafe_buffer_pointer()
    np.testing.assert_array_equal(back.copy_to_host(), np.arange(1, 65) * 2)
    for other in (cuda.device_array((0, 3)), cuda.to_device(np.asfortranarray(np.ones((3, 4)))),
                  cuda.to_device(np.array([True, False])), cuda.to_device(np.array(1 + 2j))):
        assert jnp.from_dlpack(other).shape == other.shape
    with pytest.raises(Exception, match="strid"):  # JAX takes compact arrays only
        jnp.from_dlpack(cuda.to_device(np.ones((3, 4), np.float32))[:, 1:])
