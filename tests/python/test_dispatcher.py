"""Dispatchers: forms of cuda.jit, launch configurations, argument conversion, overloads, pickling. Kernels are tiny."""

import pickle
import warnings

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import config, types
from warploom.cuda.core.errors import DeprecationError, NumbaInvalidConfigWarning, NumbaPerformanceWarning, TypingError
from warploom.cuda.types import float32, float64, int32, int64, void

pytestmark = pytest.mark.filterwarnings("ignore::warploom.cuda.core.errors.NumbaPerformanceWarning")


def add_kernel(r, x, y):
    r[0] = x + y


def inner_plus(x, y=10):
    return x + y


# ---- forms and options of cuda.jit ----


@pytest.mark.parametrize("decorate, specialized, count", [
    (lambda f: cuda.jit(f), False, 0),
    (lambda f: cuda.jit()(f), False, 0),
    (lambda f: cuda.jit("void(float64[:], int64, int64)")(f), True, 1),
    (lambda f: cuda.jit("(float64[::1], int64, int64)")(f), True, 1),
    (lambda f: cuda.jit((float64[:], int64, int64))(f), True, 1),
    (lambda f: cuda.jit(void(float64[:], int64, int64))(f), True, 1),
    (lambda f: cuda.jit(["(float64[:], int64, int64)", "(float64[:], float64, float64)"])(f), False, 2),
])
def test_forms_of_jit(decorate, specialized, count):
    kernel = decorate(add_kernel)
    assert kernel.specialized is specialized
    assert len(kernel.overloads) == count
    result = np.zeros(1)
    kernel[1, 1](result, 2, 3)
    assert result[0] == 5
    assert len(kernel.overloads) == max(count, 1)


def test_options_that_contradict():
    with pytest.raises(ValueError, match="link keyword invalid for device function"):
        cuda.jit(link=("a.cu",), device=True)
    with pytest.raises(DeprecationError):
        cuda.jit(argtypes=[int32])
    with pytest.warns(NumbaInvalidConfigWarning, match="not supported by CUDA"):
        cuda.jit(debug=True, opt=True)
    with pytest.warns(NumbaInvalidConfigWarning, match="mutually exclusive"):
        cuda.jit(debug=True, opt=False, lineinfo=True)
    with pytest.raises(TypeError, match="void return type"):
        cuda.jit("int32(int32)")(lambda x: x)
    with pytest.raises(ValueError, match="between -1 and 100"):
        cuda.jit(shared_memory_carveout=101)
    with pytest.raises(ValueError, match="Invalid carveout value"):
        cuda.jit(shared_memory_carveout="MinShared")
    with pytest.raises(ValueError, match="Got 4 launch bounds"):
        cuda.jit("void()", launch_bounds=(1, 2, 3, 4))(lambda: None)
    with pytest.raises(TypeError, match="unknown option"):
        cuda.jit(nonsense=1)
    with pytest.raises(TypeError, match="already jitted"):
        cuda.jit(cuda.jit(add_kernel))


# ---- launch configuration ----


@pytest.mark.parametrize("args, error, text", [
    ((1,), ValueError, "must specify at least the griddim and blockdim"),
    ((1, 2, 3, 4, 5), ValueError, "must specify at least the griddim and blockdim"),
    (((1, 2, 3, 4), 1), ValueError, r"griddim must be a sequence of 1, 2 or 3 integers, got \[1, 2, 3, 4\]"),
    ((1, (1, 2, 3, 4)), ValueError, r"blockdim must be a sequence of 1, 2 or 3 integers, got \[1, 2, 3, 4\]"),
    ((2.0, 1), TypeError, r"griddim must be a sequence of integers, got \[2.0\]"),
    ((1, 3.0), TypeError, r"blockdim must be a sequence of integers, got \[3.0\]"),
])
def test_launch_configuration_errors(args, error, text):
    with pytest.raises(error, match=text):
        cuda.jit(add_kernel)[args]


def test_launch_configuration():
    kernel = cuda.jit(add_kernel)
    launch = kernel[np.int64(2), (np.int32(3), 4)]
    assert (launch.griddim, launch.blockdim) == ((2, 1, 1), (3, 4, 1))
    assert kernel[2, 3] is kernel[2, 3]
    assert kernel[2, 3] is kernel[2, 3, 0]
    with pytest.raises(ValueError, match="launch configuration was not specified"):
        kernel(np.zeros(1), 1, 2)


def test_low_occupancy_is_warned_about_when_configuring():
    kernel = cuda.jit(add_kernel)
    with pytest.warns(NumbaPerformanceWarning, match="Grid size 2 will likely result in GPU under-utilization"):
        kernel[2, 32]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[128, 32]


@pytest.mark.parametrize("launch", [lambda k, x: k[1, 32](x), lambda k, x: k.forall(3)(x),
                                    lambda k, x: k.configure(3, 32)(x)])
def test_warnings_name_the_line_of_the_program(launch):
    @cuda.jit
    def fill(x):
        x[0] = 1

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        launch(fill, np.zeros(1))
    assert len(seen) == 2 and {w.filename for w in seen} == {__file__}


# ---- arguments ----


def test_overloads_by_argument_types():
    kernel = cuda.jit(add_kernel)
    result = np.zeros(1, np.complex128)
    for x, y, count in [(1, 2, 1), (1.5, 2.5, 2), (1, 2.5, 3), (1, 2, 3), (1j, 2.0, 4), (np.float32(1), 2, 5)]:
        kernel[1, 1](result, x, y)
        assert result[0] == x + y
        assert len(kernel.overloads) == count


def test_host_arrays_come_back_and_are_warned_about():
    @cuda.jit
    def fill(x, y):
        x[0] = 1
        y[0] = 2

    x, y = np.zeros(2), np.zeros(2)
    with pytest.warns(NumbaPerformanceWarning, match="Host array used in CUDA kernel will incur"):
        fill[1, 1](x, y)
    assert (x[0], y[0]) == (1, 2)


def test_intents():
    @cuda.jit
    def both(x, y):
        x[0] += 1
        y[0] = 7

    x, y = np.zeros(1), np.zeros(1)
    both[1, 1](cuda.In(x), cuda.Out(y))
    assert (x[0], y[0]) == (0, 7)
    both[1, 1](cuda.InOut(x), y)
    assert x[0] == 1


def test_repeated_launches_take_the_same_values():
    kernel = cuda.jit(add_kernel)
    device = cuda.to_device(np.zeros(1))
    launch = kernel[1, 1]
    for i in range(5):
        launch(device, i, 10)
        assert device.copy_to_host()[0] == 10 + i
    host = np.zeros(1)
    for i in range(5):
        launch(host, i, 10)
        assert host[0] == 10 + i
    assert len(kernel.overloads) == 1
    assert launch._fast is not None


def test_keyword_and_default_arguments():
    @cuda.jit
    def scale(r, x, factor=3):
        r[0] = x * factor

    r = np.zeros(1)
    scale[1, 1](r, 2)
    assert r[0] == 6
    scale[1, 1](r, factor=5, x=2)
    assert r[0] == 10
    with pytest.raises(TypeError, match="scale"):
        scale[1, 1](r)


def test_a_signature_casts_integers_and_refuses_what_loses():
    kernel = cuda.jit("(int32[::1], int32, int32)")(add_kernel)
    r = np.zeros(1, np.int32)
    kernel[1, 1](r, np.int8(3), True)
    assert r[0] == 4
    for bad in (1.5, 1j, "1"):
        with pytest.raises(TypeError):
            kernel[1, 1](r, 1, bad)
    with pytest.raises(TypeError, match="compiled for"):
        kernel[1, 1](np.zeros(1, np.float64), 1, 2)


def test_no_and_ambiguous_overloads():
    kernel = cuda.jit(["(float64[::1], float32, float64)", "(float64[::1], float64, float32)",
                       "(float64[::1], int64, int64)"])(add_kernel)
    with pytest.raises(TypeError, match=r"Ambiguous overloading for <function add_kernel [^>]*> \(Array\(float64"):
        kernel[1, 1](np.zeros(1), 1.0, 2.0)
    with pytest.raises(TypeError, match="No matching definition"):
        kernel[1, 1](np.zeros(1, np.complex128), 1j, 1j)
    r = np.zeros(1)
    kernel[1, 1](r, 1, 2)
    assert r[0] == 3


def test_pointer_arguments():
    @cuda.jit(void(types.CPointer(int32), int32))
    def set_first(p, value):
        p[0] = value

    device = cuda.to_device(np.zeros(2, np.int32))
    set_first[1, 1](device.__cuda_array_interface__["data"][0], 5)
    assert device.copy_to_host()[0] == 5


def test_extensions_prepare_arguments():
    class Doubling:
        def prepare_args(self, ty, val, stream, retr):
            return (ty, 2 * val) if isinstance(ty, types.Integer) else (ty, val)

    r = np.zeros(1)
    cuda.jit(extensions=[Doubling()])(add_kernel)[1, 1](r, 1, 2)
    assert r[0] == 6


def test_unknown_argument():
    with pytest.raises((TypingError, NotImplementedError)):
        cuda.jit(add_kernel)[1, 1](np.zeros(1), object(), 1)


# ---- other ways to launch ----


def test_forall():
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    for n in (1, 5, 1000):
        x = np.arange(n, dtype=np.float64)
        double.forall(n)(x)
        np.testing.assert_array_equal(x, 2 * np.arange(n))
    double.forall(0)(np.zeros(1))
    with pytest.raises(ValueError, match="Can't create ForAll with negative task count"):
        double.forall(-1)


def test_specialize():
    kernel = cuda.jit(add_kernel)
    one = kernel.specialize(float32[::1], float32, float32)
    assert one is kernel.specialize(np.zeros(1, np.float32), np.float32(1), np.float32(2))
    assert one.specialized and not kernel.specialized
    with pytest.raises(RuntimeError, match="Dispatcher already specialized"):
        one.specialize(float32[::1], float32, float32)
    assert isinstance(one.get_regs_per_thread(), int)
    assert kernel.get_regs_per_thread() == {}


def test_a_kernel_as_a_method():
    class Box:
        @cuda.jit
        def fill(x, value):
            x[0] = value

    x = np.zeros(1)
    Box.fill[1, 1](x, 3)
    assert x[0] == 3


def test_inspection():
    kernel = cuda.jit(add_kernel)
    r = np.zeros(1)
    kernel[1, 1](r, 1, 2)
    sig = (float64[::1], int64, int64)
    assert ".visible .entry" in kernel.inspect_asm(sig)
    assert list(kernel.inspect_asm()) == [sig] == kernel.signatures
    assert kernel.get_max_threads_per_block(sig) > 0
    assert kernel.overloads[sig].max_cooperative_grid_blocks(128) > 0


# ---- pickling ----


def test_pickling():
    @cuda.jit(device=True)
    def plus_one(a):
        return a + 1

    @cuda.jit
    def kernel(x):
        x[0] = plus_one(x[0])

    text = pickle.dumps(kernel)
    assert pickle.loads(text) is kernel
    launch = pickle.loads(pickle.dumps(kernel[5, 8]))
    assert (launch.griddim, launch.blockdim) == ((5, 1, 1), (8, 1, 1))
    del kernel, launch
    copy = pickle.loads(text)
    x = np.array([100])
    copy[1, 1](x)
    assert x[0] == 101


def test_launches_with_callbacks_are_not_pickled():
    launch = cuda.jit(add_kernel)[1, 1]
    seen = []
    launch.pre_launch_callbacks.append(lambda kernel, configuration: seen.append(configuration))
    launch(np.zeros(1), 1, 2)
    assert seen == [launch]
    with pytest.raises(pickle.PicklingError, match="Cannot pickle configured launches with pre-launch callbacks"):
        pickle.dumps(launch)


# ---- exceptions of kernels ----


def test_exceptions_in_debug_mode():
    @cuda.jit(debug=True, opt=False)
    def check(x):
        i = cuda.grid(1)
        if x[i] < 0:
            raise ValueError("negative")
        x[i] += 1

    x = np.array([1.0, -1.0, 2.0])
    with pytest.raises(ValueError, match=r"tid=\[1, 0, 0\] ctaid=\[0, 0, 0\]: negative"):
        check[1, 3](x)
    assert x[0] == 2
    check[1, 3](np.ones(3))


def test_exceptions_without_debug_come_with_the_next_wait():
    @cuda.jit
    def check(x):
        if x[0] < 0:
            raise ValueError("negative")

    x = cuda.to_device(np.array([-1.0]))
    check[1, 1](x)
    with pytest.raises(ValueError, match="negative"):
        cuda.synchronize()
    cuda.synchronize()


def test_configuration_can_be_reread(monkeypatch):
    monkeypatch.setenv("NUMBA_OPT", "max")
    monkeypatch.setenv("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
    try:
        config.reload_config()
        assert config.OPT == 3 and config.OPT.is_opt_max
        assert config.CUDA_LOW_OCCUPANCY_WARNINGS == 0
    finally:
        monkeypatch.undo()
        config.reload_config()


def test_the_record_of_a_kernel_that_is_gone_is_not_read():
    for _ in range(3):
        @cuda.jit
        def check(x):
            if x[0] < 0:
                raise ValueError("negative")

        check[1, 1](cuda.to_device(np.array([1.0])))
        del check
        noise = cuda.to_device(np.full(100000, 7, np.uint32))
        noise.copy_to_host()
