"""The extension module warploom._core: devices, memory, streams, launches and errors."""
from __future__ import annotations

import gc
import struct
import threading
import time
import weakref

import pytest

from warploom import _core

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 counter[8];
.const .align 4 .b8 table[16];
// axpy(a: array(float32,1,C), x: array(float32,1,C), y, z, n: int32): a[i] = x[i] + y[i] * z[i]
.visible .entry axpy(
  .param .u64 a, .param .u64 an, .param .u64 as, .param .u64 x, .param .u64 xn, .param .u64 xs,
  .param .u64 y, .param .u64 yn, .param .u64 ys, .param .u64 z, .param .u64 zn, .param .u64 zs)
{
  .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<5>; .reg .pred %p;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %d1, %r4;
  ld.param.u64 %d2, [an];
  setp.ge.u64 %p, %d1, %d2;
  @%p ret;
  shl.b64 %d1, %d1, 2;
  ld.param.u64 %d3, [a]; ld.param.u64 %d4, [x]; ld.param.u64 %d5, [y]; ld.param.u64 %d6, [z];
  add.u64 %d3, %d3, %d1; add.u64 %d4, %d4, %d1; add.u64 %d5, %d5, %d1; add.u64 %d6, %d6, %d1;
  ld.global.f32 %f1, [%d4]; ld.global.f32 %f2, [%d5]; ld.global.f32 %f3, [%d6];
  fma.rn.f32 %f4, %f2, %f3, %f1;
  st.global.f32 [%d3], %f4;
  ret;
}
// Writes each parameter's bits to out, one after the other.
.visible .entry scalars(.param .u64 out, .param .u8 b, .param .s32 i, .param .u64 u, .param .b16 h, .param .f32 f,
  .param .f64 g, .param .f32 re, .param .f32 im)
{
  .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .b16 %h<4>; .reg .f32 %f<4>; .reg .f64 %g<2>;
  ld.param.u64 %d1, [out];
  ld.param.u8 %h1, [b]; st.global.u8 [%d1], %h1;
  ld.param.s32 %r1, [i]; st.global.u32 [%d1+4], %r1;
  ld.param.u64 %d2, [u]; st.global.u64 [%d1+8], %d2;
  ld.param.b16 %h2, [h]; st.global.b16 [%d1+16], %h2;
  ld.param.f32 %f1, [f]; st.global.f32 [%d1+20], %f1;
  ld.param.f64 %g1, [g]; st.global.f64 [%d1+24], %g1;
  ld.param.f32 %f2, [re]; st.global.f32 [%d1+32], %f2;
  ld.param.f32 %f3, [im]; st.global.f32 [%d1+36], %f3;
  ret;
}
.visible .entry store_far(.param .u64 out)
{
  .reg .b64 %d<3>; .reg .b32 %r<2>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, 7;
  st.global.u32 [%d1], %r1;
  ret;
}
"""


@pytest.fixture(scope="module")
def device():
    return _core.Device.open("cpu", threads=1)


@pytest.fixture(scope="module")
def module(device):
    return device.load_ptx(PTX, "core.ptx")


def floats(memory_device, count, value=0.0):
    memory = memory_device.allocate(4 * count)
    memory_device.fill(memory.address, struct.unpack("<I", struct.pack("<f", value))[0], 4, count)
    return _core.ArrayBase(memory.address, (count,), (4,), "array(float32,1,C)", memory)


def read(device, address, nbytes):
    out = bytearray(nbytes)
    view = memoryview(out)
    import ctypes
    device.copy(ctypes.addressof(ctypes.c_char.from_buffer(view)), address, nbytes)
    return bytes(out)


def test_properties_describe_the_modelled_gpu(device):
    properties = device.properties
    assert properties["profile"] == "h200" and properties["warp_size"] == 32
    assert properties["max_grid"][0] == 2**31 - 1
    free, total = device.memory_info()
    assert 0 < free <= total == properties["total_memory"]


def test_allocating_takes_and_returns_memory(device):
    before = device.memory_info()[0]
    memory = device.allocate(1 << 20)
    assert memory.size == 1 << 20 and memory.address % 256 == 0
    assert device.memory_info()[0] == before - (1 << 20)
    memory.free()
    memory.free()
    assert device.memory_info()[0] == before
    assert device.allocate(0).address == 0


def test_copy_and_fill_in_every_direction(device):
    first, second = device.allocate(64), device.allocate(64)
    device.fill(first.address, 0xABCD, 2, 32)
    stream = _core.Stream(device)
    device.copy(second.address, first.address, 64, stream)
    stream.synchronize()
    assert read(device, second.address, 64) == b"\xcd\xab" * 32
    with pytest.raises(_core.Error) as error:
        device.copy(second.address + 4, first.address, 64)
    assert error.value.name == "invalid_value" and error.value.cuda_code == 1
    with pytest.raises(ValueError):
        device.fill(first.address, 0, 3, 1)


def test_host_memory_is_open_to_kernels(device, module):
    host = device.allocate_host(4096)
    launcher = _core.Launcher(module.kernel("store_far"), ["ptr(int32)"])
    launcher.launch(1, 1, None, 0, False, (host.address,))
    device.synchronize()
    import ctypes
    assert ctypes.c_int.from_address(host.address).value == 7


def test_registration_is_refused_twice(device):
    import ctypes
    memory = ctypes.create_string_buffer(256)
    address = ctypes.addressof(memory)
    device.register_host(address, 256)
    with pytest.raises(_core.Error) as error:
        device.register_host(address + 128, 16)
    assert error.value.cuda_code == 712
    device.unregister_host(address)
    with pytest.raises(ValueError):
        device.unregister_host(address)


def test_kernel_attributes_and_globals(module):
    kernel = module.kernel("axpy")
    assert kernel.name == "axpy"
    attributes = kernel.attributes()
    assert attributes["max_threads_per_block"] == 1024 and attributes["const_bytes"] == 16
    assert attributes["registers"] > 0 and attributes["static_shared_bytes"] == 0
    assert [bytes for _, _, bytes, _ in kernel.parameters()] == [8] * 12
    assert kernel.max_active_blocks((128, 2)) > 0
    clusters = kernel.max_active_clusters(64, (128, 2), 2)
    assert 0 < kernel.max_active_clusters((64,), (128, 2), (4, 1, 1), smem=1024) <= clusters
    with pytest.raises(_core.Error):
        kernel.max_active_clusters(64, 128, 3)  # which does not divide the grid
    assert module.kernel_names() == ["axpy", "scalars", "store_far"]
    assert module.global_("counter")[1] == 8


def test_launch_with_arrays(device, module):
    a, x, y, z = (floats(device, 100, value) for value in (0.0, 1.0, 2.0, 3.0))
    launcher = _core.Launcher(module.kernel("axpy"), ["array(float32,1,C)"] * 4)
    launcher.launch((4,), (32, 1, 1), None, 0, False, (a, x, y, (z._address, (100,), (4,))))
    assert struct.unpack("<100f", read(device, a._address, 400)) == (7.0,) * 100


def test_launch_counts_and_checks_arguments(device, module):
    launcher = _core.Launcher(module.kernel("axpy"), ["array(float32,1,C)"] * 4)
    with pytest.raises(TypeError, match="takes 4 arguments, 1 were given"):
        launcher.launch(1, 1, None, 0, False, (1,))
    with pytest.raises(TypeError, match="ArrayBase"):
        launcher.launch(1, 1, None, 0, False, (1, 2, 3, 4))
    wrong = _core.Launcher(module.kernel("axpy"), ["int32"])
    with pytest.raises(_core.Error) as error:
        wrong.launch(1, 1, None, 0, False, (1,))
    assert error.value.name == "launch_arguments"
    with pytest.raises(_core.Error) as error:
        _core.Launcher(module.kernel("store_far"), ["ptr(int32)"]).launch(1, 2048, None, 0, False, (0,))
    assert error.value.name == "launch_dimensions"
    with pytest.raises(ValueError, match="cannot have the type"):
        _core.Launcher(module.kernel("axpy"), ["unicode"])


SCALARS = ["ptr(uint8)", "bool", "int32", "uint64", "float16", "float32", "float64", "complex64"]


def pack(device, module, types, values):
    out = device.allocate(40)
    _core.Launcher(module.kernel("scalars"), types).launch(1, 1, None, 0, False, (out.address, *values))
    return struct.unpack("<?3xiQe2xfdff", read(device, out.address, 40))


def test_scalars_are_cast_as_numba_does(device, module):
    assert pack(device, module, SCALARS, (True, 3.9, -1, 0.1, 2, True, 1 + 2j)) == (
        True, 3, 2**64 - 1, struct.unpack("<e", struct.pack("<e", 0.1))[0], 2.0, 1.0, 1.0, 2.0)
    assert pack(device, module, SCALARS, (0, 2**32 - 1, 5, 1e6, 0.5, 7, 3))[1:4] == (-1, 5, float("inf"))
    with pytest.raises(TypeError):
        pack(device, module, SCALARS, (0, 1j, 5, 0, 0, 0, 0))


def test_numpy_scalars_are_cast(device, module):
    np = pytest.importorskip("numpy")
    values = (np.bool_(True), np.int8(-3), np.uint64(9), np.float16(0.25), np.float32(1.5), np.float64(2.5),
              np.complex64(1 - 1j))
    assert pack(device, module, SCALARS, values) == (True, -3, 9, 0.25, 1.5, 2.5, 1.0, -1.0)
    with pytest.raises(TypeError, match="complex"):
        pack(device, module, SCALARS, (0, np.complex64(1), 5, 0, 0, 0, 0))
    half = [np.float16(x) for x in (6.1e-5, 5.96e-8, 65504.0, 2.98e-8, 1 / 3)]
    for value in half:
        assert pack(device, module, SCALARS, (0, 0, 0, float(value), 0, 0, 0))[3] == float(value)


def test_tuples_and_optionals_are_flattened(device, module):
    types = ["ptr(uint8)", "tuple(bool,int32)", "namedtuple(P,u:uint64,h:float16)", "float32",
             "tuple(float64,complex64)"]
    values = ((True, 4), (5, 0.5), 1.0, (2.0, 3j))
    assert pack(device, module, types, values) == (True, 4, 5, 0.5, 1.0, 2.0, 0.0, 3.0)
    types = ["ptr(uint8)", "optional(int32)", "uint64", "float16", "float32", "float64", "complex64", "none"]
    assert pack(device, module, types, (None, 1, 0, 0, 0, 0, None))[:3] == (False, 0, 1)
    assert pack(device, module, types, (6, 1, 0, 0, 0, 0, None))[:3] == (True, 6, 1)


def test_array_base_can_be_subclassed(device):
    class Array(_core.ArrayBase):
        def __init__(self, memory):
            super().__init__(memory.address, (2, 3), (12, 4), "array(int32,2,C)", memory)
            self.note = "mine"

    memory = device.allocate(24)
    array = Array(memory)
    assert (array._shape, array._strides, array._type_name) == ((2, 3), (12, 4), "array(int32,2,C)")
    assert array._address == memory.address and array._owner is memory
    gc.collect()
    before = device.memory_info()[0]
    del memory
    gc.collect()
    assert device.memory_info()[0] == before
    array.cycle = Array(array._owner)
    array.cycle.cycle = array
    del array
    gc.collect()
    assert device.memory_info()[0] == before + 512


def test_array_base_stands_among_other_bases():
    class Mixin:
        def __init__(self, note, **rest):
            super().__init__(**rest)
            self.note = note

    class Array(Mixin, _core.ArrayBase):
        pass

    array = Array("mine", address=0, shape=[], strides=(), type_name="array(int8,0,C)")
    assert (array.note, array._shape, array._owner) == ("mine", (), None)
    assert weakref.ref(array)() is array
    with pytest.raises(TypeError, match="immutable"):
        _core.ArrayBase.__init__(array, 1, (), (), "array(int8,0,C)")
    with pytest.raises(AttributeError):
        array._address = 1
    with pytest.raises(ValueError):
        _core.ArrayBase(0, (1,), (), "array(int8,1,C)")
    with pytest.raises(OverflowError):
        _core.ArrayBase(-1, (), (), "array(int8,0,C)")
    with pytest.raises(TypeError):
        _core.ArrayBase(0, ("x",), (1,), "array(int8,1,C)")
    unmade = _core.ArrayBase.__new__(_core.ArrayBase)
    assert unmade._shape is None
    assert _core.FastDispatcher().call(_core.LaunchConfig(1, 1), (unmade,)) == 0


def test_fast_dispatcher_knows_types(device, module):
    fast = _core.FastDispatcher()
    config = _core.LaunchConfig((4, 1, 1), (32, 1, 1))
    a, x, y, z = (floats(device, 100, value) for value in (0.0, 1.0, 2.0, 3.0))
    assert fast.call(config, (a, x, y, z)) == 0
    launcher = _core.Launcher(module.kernel("axpy"), ["array(float32,1,C)"] * 4)
    fast.add(["array(float32,1,C)"] * 4, launcher)
    assert fast.call(config, (a, x, y, z)) == 1
    assert fast.call(config, (a, x, y, 1)) == 0
    assert fast.call(config, (a, x, y, "text")) == 0
    assert struct.unpack("<100f", read(device, a._address, 400)) == (7.0,) * 100
    out = device.allocate(40)
    fast.add(["uint64", "bool", "int64", "int64", "float64", "float64", "float64", "complex128"],
             _core.Launcher(module.kernel("scalars"), SCALARS))
    target = _core.ArrayBase(out.address, (), (), "uint64", out)
    assert fast.call(config, (target, True, 1, 2, 0.5, 1.5, 2.5, 1j)) == 1
    assert read(device, out.address, 12)[4:] == struct.pack("<iI", 1, 2)


def test_fast_dispatcher_copies_numpy_arrays_in_and_out(device, module):
    np = pytest.importorskip("numpy")
    fast = _core.FastDispatcher()
    fast.add(["array(float32,1,C)"] * 4, _core.Launcher(module.kernel("axpy"), ["array(float32,1,C)"] * 4))
    config = _core.LaunchConfig(32, 32)
    a, x, y, z = (np.full(1000, value, np.float32) for value in (0, 1, 2, 3))
    free = device.memory_info()[0]
    assert fast.call(config, (a, x, y, z)) == 2
    assert (a == 7).all() and device.memory_info()[0] == free
    on_device = floats(device, 1000, 5.0)
    assert fast.call(config, (a, a, on_device, y)) == 2
    assert (a == 17).all() or (a == 7).all()  # two copies of `a`; the one that goes back last wins
    assert fast.call(config, (a[::2], x, y, z)) == 0
    assert fast.call(config, (a.astype("f8"), x, y, z)) == 0
    assert fast.call(config, (a.astype(">f4"), x, y, z)) == 0
    assert fast.call(config, (a[:0], x, y, z)) == 0
    assert fast.call(config, (a.reshape(10, 100), x, y, z)) == 0
    assert fast.call(config, (np.zeros(3, "M8[s]"), x, y, z)) == 0
    assert fast.call(config, (np.zeros(3, "f4,i4"), x, y, z)) == 0
    a.flags.writeable = False
    assert fast.call(config, (a, x, y, z)) == 0
    a.flags.writeable = True
    a.resize(2000)  # no buffer is held any more


def test_fast_dispatcher_tells_layouts_apart(device, module):
    np = pytest.importorskip("numpy")
    launcher = _core.Launcher(module.kernel("store_far"), ["ptr(int32)"])
    for array, name in ((np.zeros((2, 3), "i4"), "array(int32,2,C)"),
                        (np.zeros((2, 3), "c8").T, "array(complex64,2,F)"),
                        (np.zeros((1, 3), "u2"), "array(uint16,2,C)"), (np.zeros((1, 1, 3), "?"), "array(bool,3,C)")):
        fast = _core.FastDispatcher()
        fast.add([name], launcher)
        # Found by its type, but the launcher does not take an array.
        assert fast.call(_core.LaunchConfig(1, 1), (array,)) == 0
        for other in ("array(int32,2,F)", "array(complex64,2,C)"):
            fast.clear()
            fast.add([other], _core.Launcher(module.kernel("axpy"), ["array(int32,2,C)"]))
            assert fast.call(_core.LaunchConfig(1, 1), (array,)) == 0


def test_fast_dispatcher_knows_numpy_scalars(device, module):
    np = pytest.importorskip("numpy")
    out = device.allocate(40)
    target = _core.ArrayBase(out.address, (), (), "pointer", out)
    fast = _core.FastDispatcher()
    fast.add(["pointer", "bool", "int32", "uint64", "float16", "float32", "float64", "complex64"],
             _core.Launcher(module.kernel("scalars"), SCALARS))
    values = (np.bool_(True), np.int32(-3), np.uint64(9), np.float16(0.25), np.float32(1.5), np.float64(2.5),
              np.complex64(1 - 1j))
    assert fast.call(_core.LaunchConfig(1, 1), (target, *values)) == 1
    assert struct.unpack("<?3xiQe2xfdff", read(device, out.address, 40)) == (True, -3, 9, 0.25, 1.5, 2.5, 1.0, -1.0)
    assert fast.call(_core.LaunchConfig(1, 1), (target, True, np.int64(1), *values[2:])) == 0


def test_launch_config_normalises(device):
    config = _core.LaunchConfig(4, (8, 2), _core.Stream(device), 256, True)
    assert (config.grid, config.block, config.smem, config.cooperative) == ((4, 1, 1), (8, 2, 1), 256, True)
    with pytest.raises(ValueError):
        _core.LaunchConfig((1, 1, 1, 1), 1)
    with pytest.raises(TypeError):
        _core.LaunchConfig(1.5, 1)


def test_streams_events_and_host_functions(device):
    stream, event, seen = _core.Stream(device), _core.Event(device), []
    assert stream.handle != 0 and device.default_stream.handle == 0
    started = threading.Event()
    stream.host_function(lambda: (started.wait(5), seen.append(threading.get_ident())))
    event.record(stream)
    assert not event.query()
    started.set()
    event.synchronize()
    assert event.query() and seen and seen[0] != threading.get_ident()
    later = _core.Event(device)
    later.record(stream)
    later.synchronize()
    assert _core.Event.elapsed_ms(event, later) >= 0
    stream.host_function(lambda: 1 / 0)
    with pytest.raises(_core.Error) as error:
        stream.synchronize()
    assert error.value.name == "host_function_failed" and "ZeroDivisionError" in str(error.value)


def test_waiting_lets_other_threads_run(device):
    stream, gate, ticks = _core.Stream(device), threading.Event(), []

    def tick():
        time.sleep(0.01)
        ticks.append(1)
        gate.set()

    stream.host_function(lambda: gate.wait(10))
    threading.Thread(target=tick).start()
    stream.synchronize()
    assert ticks == [1]


def test_kernel_errors_are_sticky_until_reset():
    device = _core.Device.open("cpu", threads=1)
    kernel = device.load_ptx(PTX, "core.ptx").kernel("store_far")
    _core.Launcher(kernel, ["ptr(int32)"]).launch(1, 1, None, 0, False, (64,))
    with pytest.raises(_core.Error) as error:
        device.synchronize()
    assert (error.value.id, error.value.name, error.value.cuda_code) == (3101, "illegal_address", 700)
    assert "store_far" in error.value.where and error.value.line > 0 and error.value.file == "core.ptx"
    with pytest.raises(_core.Error) as error:
        device.allocate(1)
    assert error.value.name == "context_poisoned"
    device.reset()
    device.allocate(1)


def test_bad_ptx_is_reported_with_its_line(device):
    with pytest.raises(_core.Error) as error:
        device.load_ptx("nonsense", "bad.ptx")
    assert error.value.name.startswith("ptx_") and error.value.line == 1 and isinstance(error.value, RuntimeError)
