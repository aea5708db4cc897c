#!/usr/bin/env python3
"""Times every variant of matmul.cu, through the driver alone: sweep.py PTX [--json FILE] [--size N]."""
import argparse
import ctypes
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests", "gpu"))
from cuda_driver import Driver, DriverError  # noqa: E402  (it may also lie beside this file)


def main():
    import numpy as np

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ptx")
    parser.add_argument("--json")
    parser.add_argument("--size", type=int, default=4096)
    arguments = parser.parse_args()
    n, rows = arguments.size, []
    driver = Driver()
    with open(arguments.ptx, encoding="utf-8") as file:
        text = file.read()
    module, why = driver.load(text)
    if module is None:
        sys.exit(f"the PTX does not load: {why}")
    random = np.random.default_rng(1)
    a, b = (random.integers(-8, 8, (n, n)).astype(np.float32) for _ in range(2))
    pointers = [driver.upload(a.tobytes()), driver.upload(b.tobytes()), driver.upload(bytes(4 * n * n))]
    size = ctypes.c_int(n)
    parameters = (ctypes.c_void_p * 4)(*(ctypes.addressof(p) for p in pointers), ctypes.addressof(size))
    at, row = n // 2 + 3, np.empty(n, np.float32)
    want = a[at] @ b
    events = [ctypes.c_void_p() for _ in range(2)]
    for event in events:
        driver.call("cuEventCreate", ctypes.byref(event), 0)
    for name in sorted(set(re.findall(r"\.entry (matmul_\w+)", text))):
        bm, bn, tm, tn, depth, stages, _ = map(int, name.split("_")[1:8])
        function, value = ctypes.c_void_p(), ctypes.c_int()
        facts = {}
        try:
            driver.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            for what, key in (("registers", 4), ("local", 3)):
                driver.call("cuFuncGetAttribute", ctypes.byref(value), key, function)
                facts[what] = value.value
            shared = 4 * stages * (bm * (depth + 4) + depth * bn if "rows" in name else depth * (bm + 4 + bn))
            driver.call("cuFuncSetAttribute", function, 8, shared)
            driver.call("cuMemsetD8_v2", pointers[2], 0, ctypes.c_size_t(4 * n * n))

            def launch():
                driver.call("cuLaunchKernel", function, n // bn, n // bm, 1, bm // tm * (bn // tn), 1, 1, shared, None,
                            parameters, None)

            for _ in range(3):
                launch()
            times = []
            for _ in range(7):
                driver.call("cuEventRecord", events[0], None)
                for _ in range(10):
                    launch()
                driver.call("cuEventRecord", events[1], None)
                driver.call("cuEventSynchronize", events[1])
                ms = ctypes.c_float()
                driver.call("cuEventElapsedTime", ctypes.byref(ms), events[0], events[1])
                times.append(ms.value / 10)
            driver.call("cuMemcpyDtoH_v2", row.ctypes.data_as(ctypes.c_void_p),
                        ctypes.c_uint64(pointers[2].value + 4 * n * at), ctypes.c_size_t(4 * n))
            right = bool((row == want).all())
            facts.update(tflops=2 * n**3 / sorted(times)[3] * 1e-9, right=right)
        except DriverError as error:
            facts["error"] = str(error)
        rows.append({"name": name, **facts})
        print(name, facts, flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
