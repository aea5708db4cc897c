#!/usr/bin/env python3
"""Times every variant of matmul.cu, through the driver alone: sweep.py PTX [--json FILE] [--size N]."""
import argparse
import ctypes
import sys

import variants


def main():
    import numpy as np

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ptx")
    parser.add_argument("--json")
    parser.add_argument("--size", type=int, default=4096)
    arguments = parser.parse_args()
    n, rows = arguments.size, []
    driver = variants.Driver()
    text = variants.read(arguments.ptx)
    module, why = driver.load(text)
    if module is None:
        sys.exit(f"the PTX does not load: {why}")
    random = np.random.default_rng(1)
    a, b = (random.integers(-8, 8, (n, n)).astype(np.float32) for _ in range(2))
    pointers = [driver.upload(a.tobytes()), driver.upload(b.tobytes()), driver.upload(bytes(4 * n * n))]
    parameters = [*pointers, ctypes.c_int(n)]
    at, row = n // 2 + 3, np.empty(n, np.float32)
    want = a[at] @ b
    for name in variants.names(text, "matmul"):
        bm, bn, tm, tn, depth, stages, _ = map(int, name.split("_")[1:8])
        shared = 4 * stages * (bm * (depth + 4) + depth * bn if "rows" in name else depth * (bm + 4 + bn))
        facts = {}
        try:
            kernel = variants.Kernel(driver, module, name, (n // bn, n // bm, 1), bm // tm * (bn // tn), shared,
                                     parameters)
            facts.update(kernel.attributes())
            variants.fill(driver, pointers[2], 0, 4 * n * n)
            seconds = kernel.seconds()
            variants.download(driver, pointers[2], row, 4 * n * at)
            facts.update(tflops=2 * n**3 / seconds * 1e-12, right=bool((row == want).all()))
        except variants.DriverError as error:
            facts["error"] = str(error)
        rows.append({"name": name, **facts})
        print(name, facts, flush=True)
    if arguments.json:
        variants.write(arguments.json, rows)


if __name__ == "__main__":
    main()
