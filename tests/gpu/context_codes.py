"""Records what the driver gives to calls from a thread in no context, or in another: context_codes.py > FILE.

Each row: where the thread was, the call, its code, and whether it did what it would have done in the right context.
The CUDA device enters the context only after the codes 201 and 400, which rests on tests/cuda/context_codes.tsv.
"""
import ctypes

from cuda_driver import Driver

PTX = """.version 7.0
.target sm_70
.address_size 64
.visible .entry count(.param .u64 where) {
  .reg .b64 %r<2>;
  .reg .b32 %v;
  ld.param.u64 %r0, [where];
  cvta.to.global.u64 %r1, %r0;
  atom.global.add.u32 %v, [%r1], 1;
  ret;
}
"""
LEGACY, PER_THREAD, NULL = ctypes.c_void_p(1), ctypes.c_void_p(2), ctypes.c_void_p(0)
size = ctypes.c_size_t
driver = Driver()
lib = driver.lib
module, why = driver.load(PTX)
kernel = ctypes.c_void_p()
driver.call("cuModuleGetFunction", ctypes.byref(kernel), module, b"count")


def made(name, *flags):
    handle = ctypes.c_void_p()
    driver.call(name, ctypes.byref(handle), *flags)
    return handle


memory, copied = driver.allocate(4096), driver.allocate(4096)
stream, other_stream = made("cuStreamCreate", 1), made("cuStreamCreate", 1)
event = made("cuEventCreate", 0)
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
number = ctypes.c_uint32()


def word(pointer):
    driver.attach()
    driver.call("cuCtxSynchronize")
    driver.call("cuMemcpyDtoH_v2", ctypes.byref(number), pointer, size(4))
    return number.value


def launch(on):
    return lambda: lib.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, on, parameters, None)


def set_words(on):
    return lambda: lib.cuMemsetD32Async(memory, 77, size(16), on)


def copy(on):
    return lambda: lib.cuMemcpyAsync(copied, memory, size(64), on)


def download():
    number.value = 0
    return lib.cuMemcpyDtoH_v2(ctypes.byref(number), memory, size(4))


def allocate(on):
    def call():
        pointer = ctypes.c_uint64()
        code = lib.cuMemAllocAsync(ctypes.byref(pointer), size(4096), on)
        if code == 0:
            lib.cuMemFreeAsync(pointer, on)
        return code
    return call


def captured(on):
    """A launch in a graph of one node."""
    graph, instance = ctypes.c_void_p(), ctypes.c_void_p()
    driver.attach()
    driver.call("cuStreamBeginCapture_v2", other_stream, 2)
    driver.call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, other_stream, parameters, None)
    driver.call("cuStreamEndCapture", other_stream, ctypes.byref(graph))
    driver.call("cuGraphInstantiateWithFlags", ctypes.byref(instance), graph, ctypes.c_uint64(0))
    return lambda: lib.cuGraphLaunch(instance, on)


COUNTED = [(f"cuLaunchKernel on {name}", launch(on), lambda before, after: after == before + 1)
           for name, on in (("a stream", stream), ("NULL", NULL), ("CU_STREAM_LEGACY", LEGACY),
                            ("CU_STREAM_PER_THREAD", PER_THREAD))]
COUNTED += [(f"cuGraphLaunch on {name}", captured(on), lambda before, after: after == before + 1)
            for name, on in (("a stream", stream), ("CU_STREAM_LEGACY", LEGACY))]
COUNTED += [(f"cuMemsetD32Async on {name}", set_words(on), lambda before, after: after == 77)
            for name, on in (("a stream", stream), ("CU_STREAM_LEGACY", LEGACY))]
PLAIN = [("cuMemcpyDtoH", download)]
PLAIN += [(f"cuMemcpyAsync on {name}", copy(on)) for name, on in (("a stream", stream), ("CU_STREAM_LEGACY", LEGACY))]
PLAIN += [(f"cuMemAllocAsync on {name}", allocate(on))
          for name, on in (("a stream", stream), ("CU_STREAM_LEGACY", LEGACY))]
PLAIN += [(f"cuEventRecord on {name}", lambda on=on: lib.cuEventRecord(event, on))
          for name, on in (("a stream", stream), ("CU_STREAM_LEGACY", LEGACY))]
PLAIN += [(f"cuStreamWaitEvent on {name}", lambda on=on: lib.cuStreamWaitEvent(on, event, 0))
          for name, on in (("a stream", stream), ("CU_STREAM_LEGACY", LEGACY))]
PLAIN += [("cuStreamQuery", lambda: lib.cuStreamQuery(stream)),
          ("cuStreamSynchronize", lambda: lib.cuStreamSynchronize(stream)),
          ("cuEventQuery", lambda: lib.cuEventQuery(event)),
          ("cuEventSynchronize", lambda: lib.cuEventSynchronize(event))]


def places():
    """Contexts that a thread can be in: none, a second one of the GPU, the primary one of another GPU."""
    yield "no context", ctypes.c_void_p()
    second, device = ctypes.c_void_p(), ctypes.c_int()
    driver.call("cuCtxCreate_v2", ctypes.byref(second), 0, 0)
    yield "another context of the GPU", second
    count = ctypes.c_int()
    driver.call("cuDeviceGetCount", ctypes.byref(count))
    if count.value > 1:
        other = ctypes.c_void_p()
        driver.call("cuDeviceGet", ctypes.byref(device), 1)
        driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(other), device)
        yield "the context of another GPU", other


print("# where the thread was\tcall\tcode\twas it done")
for place, context in places():
    for name, call, done in COUNTED:
        before = word(memory)
        lib.cuCtxSetCurrent(context)
        code = call()
        lib.cuCtxSynchronize()
        after = word(memory)
        print(place, name, code, "yes" if done(before, after) else "no", sep="\t")
        driver.call("cuMemsetD32_v2", memory, 5, size(16))
    for name, call in PLAIN:
        driver.attach()
        driver.call("cuCtxSynchronize")
        lib.cuCtxSetCurrent(context)
        print(place, name, call(), "-", sep="\t")
