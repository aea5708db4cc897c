"""What the sweeps share: the kernels of a PTX text one by one, their attributes, and how long they take."""
import ctypes
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests", "gpu"))
from cuda_driver import Driver, DriverError  # noqa: E402, F401  (it may also lie beside this file)

ATTRIBUTES = {"registers": 4, "local": 3}  # CU_FUNC_ATTRIBUTE_NUM_REGS and _LOCAL_SIZE_BYTES


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)


def names(text, prefix):
    return sorted(set(re.findall(rf"\.entry ({prefix}_\w+)", text)))


def only(text, name):
    """The text without its other kernels."""
    parts = re.split(r"^(?=(?:\.visible |\.weak )?\.(?:entry|func) )", text, flags=re.M)
    return "".join(part for part in parts if f".entry {name}(" in part or ".entry " not in part)


class Kernel:
    """A kernel of a module, with dynamic shared memory and parameters that are ctypes objects."""

    def __init__(self, driver, module, name, grid, block, shared, parameters):
        self.driver, self.function, self.parameters = driver, ctypes.c_void_p(), parameters
        driver.call("cuModuleGetFunction", ctypes.byref(self.function), module, name.encode())
        driver.call("cuFuncSetAttribute", self.function, 8, shared)  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        pointers = (ctypes.c_void_p * len(parameters))(*map(ctypes.addressof, parameters))
        self.arguments = (self.function, *grid, block, 1, 1, shared, None, pointers, None)

    def attributes(self):
        out, value = {}, ctypes.c_int()
        for name, key in ATTRIBUTES.items():
            self.driver.call("cuFuncGetAttribute", ctypes.byref(value), key, self.function)
            out[name] = value.value
        return out

    def launch(self):
        self.driver.call("cuLaunchKernel", *self.arguments)

    def seconds(self, warm=3, rounds=7, launches=10):
        """Of one launch of many in a row: the median of rounds, by events."""
        events = [ctypes.c_void_p() for _ in range(2)]
        for event in events:
            self.driver.call("cuEventCreate", ctypes.byref(event), 0)
        for _ in range(warm):
            self.launch()
        times = []
        for _ in range(rounds):
            self.driver.call("cuEventRecord", events[0], None)
            for _ in range(launches):
                self.launch()
            self.driver.call("cuEventRecord", events[1], None)
            self.driver.call("cuEventSynchronize", events[1])
            ms = ctypes.c_float()
            self.driver.call("cuEventElapsedTime", ctypes.byref(ms), *events)
            times.append(ms.value * 1e-3 / launches)
        return sorted(times)[rounds // 2]


def fill(driver, pointer, byte, size):
    driver.call("cuMemsetD8_v2", pointer, byte, ctypes.c_size_t(size))


def download(driver, pointer, array, offset=0):
    """Fills a NumPy array from device memory, and so waits for the kernels before."""
    driver.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(pointer.value + offset),
                ctypes.c_size_t(array.nbytes))
