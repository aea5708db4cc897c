"""The few entry points of the CUDA driver that programs need which record on a GPU.

A program finds it here or beside itself, so that both can be taken to another machine.
"""
import ctypes


class DriverError(Exception):
    """An entry point of the driver gave an error."""


class Driver:
    """Device 0 with its primary context."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.context, device = ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.attach()

    def attach(self):
        """Makes the context that of the calling thread."""
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code != 0:
            raise DriverError(f"{name} failed with {code}")

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 16)))
        return pointer

    def upload(self, data):
        pointer = self.allocate(len(data))
        self.call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))
        return pointer

    def load(self, text):
        """A module of PTX text, or None and the compiler's complaint. Any thread may call it."""
        self.attach()
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(4096)
        keys = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 4096)
        code = self.lib.cuModuleLoadDataEx(ctypes.byref(module), text.encode() + b"\0", 2, keys, values)
        return (module, "") if code == 0 else (None, f"{code} {log.value.decode(errors='replace')}")
