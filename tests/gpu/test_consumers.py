"""CuPy, PyTorch and JAX beside warploom on one GPU: memory shared both ways, in the order of the streams.

For pytest on a machine with a GPU; what is not installed is skipped.
"""

import gc

import numpy as np
import pytest

pytest.importorskip("warploom._core", reason="the extension module is not built")

from warploom import cuda  # noqa: E402

if not (cuda.is_available() and cuda.get_current_device().is_hardware):
    pytest.skip("no GPU", allow_module_level=True)

TYPES = ["int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128", "bool"]
LONG = 1 << 22


@cuda.jit
def add(a, value):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += value


@cuda.jit
def double_slowly(a, rounds):
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        for _ in range(rounds):
            x = x * 1.0000001 + 1e-9
        a[i] = a[i] * 2 + (x - x)


def address(array):
    return array.__cuda_array_interface__["data"][0]


# CuPy


@pytest.mark.parametrize("dtype", TYPES)
def test_cupy_takes_arrays_both_ways(dtype):
    cupy = pytest.importorskip("cupy")
    host = np.arange(12).reshape(3, 4).astype(dtype)
    array = cuda.to_device(host)
    for taken in (cupy.asarray(array), cupy.from_dlpack(array)):
        assert taken.data.ptr == address(array)
        assert (cupy.asnumpy(taken) == host).all()
    there = cupy.asarray(host)
    for back in (cuda.as_cuda_array(there), cuda.from_dlpack(there)):
        assert address(back) == there.data.ptr
        assert back.dtype == host.dtype and (back.copy_to_host() == host).all()


def test_cupy_strides():
    cupy = pytest.importorskip("cupy")
    host = np.arange(24, dtype=np.float64).reshape(4, 6)
    array, there = cuda.to_device(host), cupy.asarray(host)
    for item in (np.s_[::2, 1::3], np.s_[:, 2], np.s_[2]):
        assert (cupy.asnumpy(cupy.asarray(array[item])) == host[item]).all()
        assert (cupy.asnumpy(cupy.from_dlpack(array[item])) == host[item]).all()
        assert (cuda.from_dlpack(there[item]).copy_to_host() == host[item]).all()
        assert (cuda.as_cuda_array(there[item]).copy_to_host() == host[item]).all()


def test_cupy_arrays_as_arguments():
    cupy = pytest.importorskip("cupy")
    there = cupy.zeros(1000, dtype=cupy.float32)
    add[8, 128](there, 2.5)
    cuda.synchronize()
    assert (cupy.asnumpy(there) == 2.5).all()


def test_cupy_waits_for_our_stream():
    cupy = pytest.importorskip("cupy")
    stream = cuda.stream(blocking=False)
    array = cuda.to_device(np.ones(LONG)).bind(stream)
    cuda.synchronize()
    double_slowly[LONG // 256, 256, stream](array, 3000)
    with cupy.cuda.Stream(non_blocking=True) as theirs:
        total = cupy.from_dlpack(array).sum()
    theirs.synchronize()
    assert float(total) == 2 * LONG
    double_slowly[LONG // 256, 256, stream](array, 3000)
    with cupy.cuda.Stream(non_blocking=True) as theirs:
        total = cupy.asarray(array).sum()
    theirs.synchronize()
    assert float(total) == 4 * LONG


def test_we_wait_for_cupys_stream():
    cupy = pytest.importorskip("cupy")
    theirs, ours = cupy.cuda.Stream(non_blocking=True), cuda.stream(blocking=False)
    with theirs:
        there = cupy.ones(LONG)
        for _ in range(100):
            there = cupy.sqrt(there) * 1.0
        there = there + 1
        array = cuda.from_dlpack(there, stream=ours)
    add[LONG // 256, 256, ours](array, 1)
    ours.synchronize()
    assert (array.copy_to_host() == 3).all()


def test_cupys_memory_outlives_its_array():
    cupy = pytest.importorskip("cupy")
    pool = cupy.get_default_memory_pool()
    before = pool.used_bytes()
    array = cuda.from_dlpack(cupy.full(1 << 20, 7, dtype=cupy.int32))
    gc.collect()
    assert pool.used_bytes() >= before + (4 << 20)
    assert (array.copy_to_host() == 7).all()
    del array
    gc.collect()
    assert pool.used_bytes() == before


def test_our_memory_outlives_its_array():
    cupy = pytest.importorskip("cupy")
    array = cuda.to_device(np.arange(1 << 18))
    there = cupy.from_dlpack(array)
    del array
    gc.collect()
    others = [cuda.to_device(np.zeros(1 << 18, dtype=np.int64)) for _ in range(4)]
    assert int(there.sum()) == (1 << 18) * ((1 << 18) - 1) // 2
    del others


# PyTorch


@pytest.mark.parametrize("dtype", [t for t in TYPES if t != "uint16"])
def test_torch_takes_arrays_both_ways(dtype):
    torch = pytest.importorskip("torch")
    host = np.arange(12).reshape(3, 4).astype(dtype)
    array = cuda.to_device(host)
    taken = torch.from_dlpack(array)
    assert taken.is_cuda and taken.data_ptr() == address(array)
    assert (taken.cpu().numpy() == host).all()
    there = torch.from_numpy(host).cuda()
    given = [cuda.from_dlpack(there)]
    if dtype != "bool":
        given.append(cuda.as_cuda_array(there))
        assert torch.as_tensor(array, device="cuda").data_ptr() == address(array)
    for back in given:
        assert address(back) == there.data_ptr()
        assert back.dtype == host.dtype and (back.copy_to_host() == host).all()


def test_torch_tensors_as_arguments():
    torch = pytest.importorskip("torch")
    there = torch.zeros(1000, device="cuda")
    add[8, 128](there, 2.5)
    torch.cuda.synchronize()
    assert bool((there == 2.5).all())


def test_kernels_on_torchs_stream():
    torch = pytest.importorskip("torch")
    side = torch.cuda.Stream()
    ours = cuda.external_stream(side.cuda_stream)
    with torch.cuda.stream(side):
        there = torch.ones(LONG, device="cuda", dtype=torch.float64)
        for _ in range(20):
            there = there * 1.0
        double_slowly[LONG // 256, 256, ours](there, 1000)
        total = there.sum()
    side.synchronize()
    assert float(total) == 2 * LONG


def test_torch_waits_for_our_stream():
    torch = pytest.importorskip("torch")
    stream = cuda.stream(blocking=False)
    array = cuda.to_device(np.ones(LONG)).bind(stream)
    cuda.synchronize()
    double_slowly[LONG // 256, 256, stream](array, 3000)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        total = torch.from_dlpack(array).sum()
    side.synchronize()
    assert float(total) == 2 * LONG


def test_gradients_flow_around_our_kernels():
    torch = pytest.importorskip("torch")

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.detach().clone()
            stream = cuda.external_stream(torch.cuda.current_stream().cuda_stream)
            double_slowly[(y.numel() + 255) // 256, 256, stream](y, 1)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.arange(10.0, device="cuda", dtype=torch.float64, requires_grad=True)
    Double.apply(x).sum().backward()
    assert bool((x.grad == 2).all())


# JAX


def test_jax_takes_arrays_both_ways():
    jax = pytest.importorskip("jax")
    if not any(d.platform in ("gpu", "cuda") for d in jax.devices()):
        pytest.skip("JAX has no GPU here")
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = cuda.to_device(host)
    taken = jax.dlpack.from_dlpack(array)
    assert (np.asarray(taken) == host).all()
    given = cuda.from_dlpack(jax.numpy.asarray(host) * 2)
    assert (given.copy_to_host() == host * 2).all()
