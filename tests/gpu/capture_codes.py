"""Records what calls of the CUDA driver give while a stream is captured: `capture_codes.py > capture_codes.tsv`.

Each row: a call, made on the capturing thread or another one, for each mode and for blocking and nonblocking streams.
tests/api/capture_test.cpp compares with the table.
"""
import ctypes
import threading

from cuda_driver import Driver

PTX = """.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
"""
LEGACY, PER_THREAD = ctypes.c_void_p(1), ctypes.c_void_p(2)
MODES = ("global", "this_thread", "relaxed")

driver = Driver()
lib = driver.lib
size = ctypes.c_size_t
module, _ = driver.load(PTX)
kernel = ctypes.c_void_p()
driver.call("cuModuleGetFunction", ctypes.byref(kernel), module, b"nothing")
memory, other_memory = driver.allocate(4096), driver.allocate(4096)
host = ctypes.create_string_buffer(4096)
host_function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: None)
callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda stream, status, data: None)
kept = []


def made(name, *flags):
    """A new stream or event."""
    handle = ctypes.c_void_p()
    driver.call(name, ctypes.byref(handle), *flags)
    return handle


def code_of_made(name, *arguments):
    return getattr(lib, name)(ctypes.byref(ctypes.c_void_p()), *arguments)


def launch(stream):
    return lib.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, None, None)


def register():
    kept.append(ctypes.create_string_buffer(1 << 16))
    return lib.cuMemHostRegister_v2(kept[-1], size(1 << 16), 0)


def elapsed(start, end):
    return lib.cuEventElapsedTime(ctypes.byref(ctypes.c_float()), start, end)


def capture_status(stream):
    status = ctypes.c_int(-1)
    return lib.cuStreamIsCapturing(stream, ctypes.byref(status)), status.value


def end_capture(stream):
    return lib.cuStreamEndCapture(stream, ctypes.byref(ctypes.c_void_p()))


plain, nonblocking = made("cuStreamCreate", 0), made("cuStreamCreate", 1)
before, timed = made("cuEventCreate", 0), made("cuEventCreate", 0)
driver.call("cuEventRecord", before, plain)
driver.call("cuEventRecord", timed, plain)
driver.call("cuCtxSynchronize")
spare_memory = [driver.allocate(256) for _ in range(12)]
spare_streams = [made("cuStreamCreate", 0) for _ in range(12)]
spare_events = [made("cuEventCreate", 2) for _ in range(12)]

# Functions of the captured stream and an event recorded in it.
CALLS = {
    "cuStreamSynchronize(capturing)": lambda s, e: lib.cuStreamSynchronize(s),
    "cuStreamQuery(capturing)": lambda s, e: lib.cuStreamQuery(s),
    "cuStreamSynchronize(other)": lambda s, e: lib.cuStreamSynchronize(plain),
    "cuStreamQuery(other)": lambda s, e: lib.cuStreamQuery(plain),
    "cuStreamSynchronize(legacy)": lambda s, e: lib.cuStreamSynchronize(None),
    "cuStreamQuery(legacy)": lambda s, e: lib.cuStreamQuery(None),
    "cuStreamSynchronize(ptds)": lambda s, e: lib.cuStreamSynchronize(PER_THREAD),
    "cuCtxSynchronize": lambda s, e: lib.cuCtxSynchronize(),
    "cuEventSynchronize(captured)": lambda s, e: lib.cuEventSynchronize(e),
    "cuEventQuery(captured)": lambda s, e: lib.cuEventQuery(e),
    "cuEventElapsedTime(captured)": lambda s, e: elapsed(e, e),
    "cuEventSynchronize(plain)": lambda s, e: lib.cuEventSynchronize(before),
    "cuEventQuery(plain)": lambda s, e: lib.cuEventQuery(before),
    "cuEventElapsedTime(plain)": lambda s, e: elapsed(before, timed),
    "cuEventRecord(plain,other)": lambda s, e: lib.cuEventRecord(made("cuEventCreate", 2), plain),
    "cuEventRecord(plain,legacy)": lambda s, e: lib.cuEventRecord(made("cuEventCreate", 2), None),
    "cuLaunchKernel(other)": lambda s, e: launch(plain),
    "cuLaunchKernel(nonblocking)": lambda s, e: launch(nonblocking),
    "cuLaunchKernel(legacy)": lambda s, e: launch(None),
    "cuLaunchKernel(ptds)": lambda s, e: launch(PER_THREAD),
    "cuMemcpyHtoD": lambda s, e: lib.cuMemcpyHtoD_v2(memory, host, size(64)),
    "cuMemcpyDtoD": lambda s, e: lib.cuMemcpyDtoD_v2(memory, other_memory, size(64)),
    "cuMemcpyHtoDAsync(pageable,capturing)": lambda s, e: lib.cuMemcpyHtoDAsync_v2(memory, host, size(64), s),
    "cuMemcpyDtoHAsync(pageable,capturing)": lambda s, e: lib.cuMemcpyDtoHAsync_v2(host, memory, size(64), s),
    "cuMemcpyHtoDAsync(legacy)": lambda s, e: lib.cuMemcpyHtoDAsync_v2(memory, host, size(64), None),
    "cuMemsetD8": lambda s, e: lib.cuMemsetD8_v2(memory, ctypes.c_ubyte(0), size(64)),
    "cuMemsetD8Async(capturing)": lambda s, e: lib.cuMemsetD8Async(memory, ctypes.c_ubyte(0), size(64), s),
    "cuMemAlloc": lambda s, e: code_of_made("cuMemAlloc_v2", size(256)),
    "cuMemFree": lambda s, e: lib.cuMemFree_v2(spare_memory.pop()),
    "cuMemAllocHost": lambda s, e: code_of_made("cuMemAllocHost_v2", size(256)),
    "cuMemAllocManaged": lambda s, e: code_of_made("cuMemAllocManaged", size(256), 1),
    "cuMemHostRegister": lambda s, e: register(),
    "cuMemAllocAsync(capturing)": lambda s, e: code_of_made("cuMemAllocAsync", size(256), s),
    "cuMemAllocAsync(other)": lambda s, e: code_of_made("cuMemAllocAsync", size(256), plain),
    "cuMemGetInfo": lambda s, e: lib.cuMemGetInfo_v2(ctypes.byref(size()), ctypes.byref(size())),
    "cuEventCreate": lambda s, e: code_of_made("cuEventCreate", 2),
    "cuStreamCreate": lambda s, e: code_of_made("cuStreamCreate", 0),
    "cuStreamDestroy(other)": lambda s, e: lib.cuStreamDestroy_v2(spare_streams.pop()),
    "cuEventDestroy(plain)": lambda s, e: lib.cuEventDestroy_v2(spare_events.pop()),
    "cuModuleLoadData": lambda s, e: code_of_made("cuModuleLoadData", PTX.encode() + b"\0"),
    "cuLaunchHostFunc(capturing)": lambda s, e: lib.cuLaunchHostFunc(s, host_function, None),
    "cuStreamAddCallback(capturing)": lambda s, e: lib.cuStreamAddCallback(s, callback, None, 0),
    "cuStreamAddCallback(other)": lambda s, e: lib.cuStreamAddCallback(plain, callback, None, 0),
    "cuStreamAttachMemAsync(capturing)": lambda s, e: lib.cuStreamAttachMemAsync(s, memory, size(0), 1),
    "cuStreamBeginCapture(again)": lambda s, e: lib.cuStreamBeginCapture_v2(s, 0),
    "cuStreamBeginCapture(legacy)": lambda s, e: lib.cuStreamBeginCapture_v2(LEGACY, 0),
    "cuStreamBeginCapture(null)": lambda s, e: lib.cuStreamBeginCapture_v2(None, 0),
    "cuStreamBeginCapture(mode 7)": lambda s, e: lib.cuStreamBeginCapture_v2(plain, 7),
    "cuStreamEndCapture(other)": lambda s, e: end_capture(plain),
    "cuStreamWaitEvent(capturing, plain)": lambda s, e: lib.cuStreamWaitEvent(s, before, 0),
    "cuStreamWaitEvent(legacy, captured)": lambda s, e: lib.cuStreamWaitEvent(None, e, 0),
    "cuStreamIsCapturing(legacy)": lambda s, e: capture_status(None)[0],
    "cuStreamGetCtx": lambda s, e: lib.cuStreamGetCtx(s, ctypes.byref(ctypes.c_void_p())),
    "cuStreamGetPriority": lambda s, e: lib.cuStreamGetPriority(s, ctypes.byref(ctypes.c_int())),
}


def on_another_thread(function):
    result = []

    def call():
        driver.attach()
        result.append(function())

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return result[0]


def main():
    print("# CUresult of calls while a stream is captured: an H200, driver 13.0. Recorded by",
          "tests/gpu/capture_codes.py.")
    print("# call\tcaptured stream\tmode\tcalled by\tcode\tstatus then (1 active, 2 invalidated)\tcode of the end")
    for flags, kind in enumerate(("blocking", "nonblocking")):
        for mode, mode_name in enumerate(MODES):
            for caller in ("own", "other"):
                for name, call in CALLS.items():
                    stream, event = made("cuStreamCreate", flags), made("cuEventCreate", 0)
                    driver.call("cuStreamBeginCapture_v2", stream, mode)
                    launch(stream)
                    driver.call("cuEventRecord", event, stream)
                    code = on_another_thread(lambda: call(stream, event)) if caller == "other" else call(stream, event)
                    status, end = capture_status(stream)[1], end_capture(stream)
                    if flags == 0 or code or end:
                        print(name, kind, mode_name, caller, code, status, end, sep="\t")
                    lib.cuStreamDestroy_v2(stream)
                    lib.cuEventDestroy_v2(event)


if __name__ == "__main__":
    main()
