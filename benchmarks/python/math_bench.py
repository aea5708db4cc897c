#!/usr/bin/env python3
"""Measures warploom.blas and warploom.fft on the CPU device beside NumPy: prints a table, --json FILE writes it.

NumPy's products are OpenBLAS's as well, with threads of its own; its transforms are pocketfft's, on one thread.
"""
import argparse
import json
import os
import statistics
import time

os.environ["WARPLOOM_DEVICE"] = "cpu"
import numpy as np

from warploom import blas, cuda, fft


def seconds(call, settle, least=0.2):
    """Of one call, the median of several; both sides have warmed up."""
    call()
    settle()
    out = []
    begun = time.perf_counter()
    while time.perf_counter() - begun < least or len(out) < 5:
        start = time.perf_counter()
        call()
        settle()
        out.append(time.perf_counter() - start)
    return statistics.median(out)


def rows():
    """(name, factor wanted, a call of ours, a call of NumPy's, operations)."""
    random = np.random.default_rng(1)
    for n, wanted in ((64, 0.2), (256, 0.8), (1024, 0.95), (2048, 0.95)):
        for dtype in (np.float32, np.float64, np.complex64):
            a, b = (random.random((n, n)).astype(dtype) for _ in range(2))
            c = np.empty((n, n), dtype)
            da, db, dc = (cuda.to_device(x) for x in (a, b, c))
            flops = (8 if np.dtype(dtype).kind == "c" else 2) * n**3
            yield (f"product {n} {np.dtype(dtype).name}", wanted, lambda: blas.gemm(da, db, dc),
                   lambda: np.matmul(a, b, out=c), flops)
    for count, n in ((1, 1 << 20), (1024, 1024), (64, 4096)):
        x = (random.random((count, n)) + 1j * random.random((count, n))).astype(np.complex64)
        dx, out = cuda.to_device(x), cuda.device_array(x.shape, x.dtype)
        flops = 5 * count * n * np.log2(n)
        yield (f"transform {count} x {n} complex64", 1.0, lambda: fft.fft(dx, out=out), lambda: np.fft.fft(x), flops)
    n = 1 << 22
    x, y = (random.random(n).astype(np.float32) for _ in range(2))
    dx, dy, out = cuda.to_device(x), cuda.to_device(y), cuda.device_array(1, np.float32)
    yield ("dot of 4194304 float32", 0.9, lambda: blas.dot(dx, dy, out), lambda: np.dot(x, y), 2 * n)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    table = []
    print(f"{'':36}{'warploom':>12}{'NumPy':>12}{'ratio':>8}{'wanted':>8}   GFLOP/s")
    for name, wanted, ours, theirs, operations in rows():
        # By turns, so that both see the same machine.
        mine, other = [], []
        for _ in range(3):
            mine.append(seconds(ours, cuda.synchronize))
            other.append(seconds(theirs, lambda: None))
        mine, other = statistics.median(mine), statistics.median(other)
        ratio = other / mine
        table.append({"name": name, "warploom": operations / mine * 1e-9, "numpy": operations / other * 1e-9,
                      "wanted": wanted, "met": bool(ratio >= wanted)})
        print(f"{name:36}{operations / mine * 1e-9:12.1f}{operations / other * 1e-9:12.1f}{ratio:8.2f}{wanted:8.2f}   "
              + ("met" if ratio >= wanted else "MISSED"), flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(table, file, indent=1)


if __name__ == "__main__":
    main()
