"""The worker of the raw CUDA driver, by ctypes: what calls from Python cost at least, and the copies."""
import ctypes
import time

import common

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry take_three(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }
"""


class Driver:
    name = "raw driver"

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        version, device, self.context = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        self.version = str(version.value)

    def call(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} gives {status}")

    def settle(self):
        self.call("cuCtxSynchronize")

    def allocated(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def launch(self):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"take_three")
        pointers = [self.allocated(64) for _ in range(3)]
        parameters = (ctypes.c_void_p * 3)(*(ctypes.addressof(p) for p in pointers))
        launch = self.lib.cuLaunchKernel
        launch.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3
        return {
            "launch with three arrays, us": common.in_a_row(
                lambda: launch(function, 1, 1, 1, 32, 1, 1, 0, None, parameters, None), self.settle)
        }

    def copies(self):
        n = common.COPY_BYTES
        there, other = self.allocated(n), self.allocated(n)
        pinned = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(n), 0)
        ctypes.memset(pinned, 1, n)
        pageable = ctypes.create_string_buffer(b"\1" * n, n)
        size = ctypes.c_size_t(n)

        def rate(moved, repeats, name, *arguments):
            self.call(name, *arguments)
            self.settle()
            times = []
            for _ in range(5):
                start = time.perf_counter()
                for _ in range(repeats):
                    self.call(name, *arguments)
                self.settle()
                times.append((time.perf_counter() - start) / repeats)
            return moved / sorted(times)[2] * 1e-9

        out = {
            "copy pinned to device, GB/s": rate(n, 4, "cuMemcpyHtoDAsync_v2", there, pinned, size, None),
            "copy device to pinned, GB/s": rate(n, 4, "cuMemcpyDtoHAsync_v2", pinned, there, size, None),
            "copy pageable to device, GB/s": rate(n, 4, "cuMemcpyHtoD_v2", there, pageable, size),
            "copy on the device, GB/s": rate(2 * n, 20, "cuMemcpyDtoDAsync_v2", other, there, size, None),
        }
        for pointer in (there, other):
            self.call("cuMemFree_v2", pointer)
        self.call("cuMemFreeHost", pinned)
        return out


common.serve(Driver)
