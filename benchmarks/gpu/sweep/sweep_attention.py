#!/usr/bin/env python3
"""Times every variant of attention.cu, through the driver alone:
sweep_attention.py PTX [--json FILE] [--size LENGTH] [--heads HEADS] [--only PATTERN] [--timeout SECONDS].

Each runs in a process of its own, because a fault loses a process its GPU, and with a time limit, because a barrier
that nobody reaches hangs.
"""
import argparse
import ctypes
import json
import math
import os
import re
import subprocess
import sys

import variants

WIDTH = 64
FACTS = ("groups", "keys", "stages", "turns", "blocks", "producer", "first", "ordered", "held", "lazy", "poly")


def parameters_of(name):
    return dict(zip(FACTS, map(int, name.split("_")[1:])))


def shared_bytes(p):
    rows = 2 * p["stages"] * p["turns"] * p["keys"] + (0 if p["held"] else 64 * p["groups"])
    return rows * 2 * WIDTH + 32 * p["stages"]  # and barriers


def reference(q, k, v):
    """In double precision, for a head."""
    import numpy as np

    scores = q.astype(np.float64) @ k.astype(np.float64).T / math.sqrt(WIDTH)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v.astype(np.float64)


class Problem:
    """Arrays on the device, and one variant on them."""

    def __init__(self, driver, module, name, heads, length, spread):
        import numpy as np

        random, p = np.random.default_rng(1), parameters_of(name)
        self.driver, self.shape = driver, (heads, length, WIDTH)
        self.inputs = [(random.uniform(-1, 1, self.shape) * x).astype(np.float16) for x in (spread, 1, 1)]
        self.bytes = self.inputs[0].nbytes
        pointers = [driver.upload(x.tobytes()) for x in self.inputs] + [driver.allocate(self.bytes)]
        self.out, rows = pointers[3], 64 * p["groups"]
        self.kernel = variants.Kernel(driver, module, name, ((length + rows - 1) // rows, heads, 1),
                                      128 * (p["groups"] + (p["producer"] != 0)), shared_bytes(p),
                                      [*pointers, ctypes.c_int(length)])

    def result(self, fresh):
        import numpy as np

        if fresh:
            variants.fill(self.driver, self.out, 0x7F, self.bytes)  # no number
            self.kernel.launch()
        out = np.empty(self.shape, np.float16)
        variants.download(self.driver, self.out, out)
        return out

    def error(self, out, head, rows):
        """The largest difference from the reference; infinite where there is no number."""
        import numpy as np

        q, k, v = (x[head] for x in self.inputs)
        error = float(np.abs(out[head, rows].astype(np.float64) - reference(q[rows], k, v)).max())
        return error if math.isfinite(error) else math.inf


def measure(text, name, heads, length):
    """What is known of a variant; raises DriverError."""
    import numpy as np

    driver = variants.Driver()
    module, why = driver.load(variants.only(text, name))
    if module is None:
        return {"error": f"does not load: {why.strip()}"}
    # Weights of a few keys, so that results are near 1 and large scores come late; a length that no tile divides.
    peaks = Problem(driver, module, name, 2, length - 37, 16)
    out = peaks.result(True)
    error = max(peaks.error(out, head, slice(None)) for head in range(2))
    facts = {**peaks.kernel.attributes(), "shared": shared_bytes(parameters_of(name)), "error_of_peaks": error}
    # What is timed: results are means of many values, and small.
    timed = Problem(driver, module, name, heads, length, 1)
    once = timed.result(True)
    flat = max(timed.error(once, head, slice(None, None, 29)) for head in {0, heads // 2, heads - 1})
    facts["error_of_means"] = flat
    facts["tflops"] = 4 * heads * length * length * WIDTH / timed.kernel.seconds(warm=30, rounds=9, launches=20) * 1e-12
    again = timed.result(False)
    facts["same"] = bool(np.array_equal(once.view(np.uint16), again.view(np.uint16)))
    facts["right"] = error <= 2e-3 and flat <= 1e-4 and facts["same"]
    return facts


def in_child(arguments, name):
    command = [sys.executable, __file__, arguments.ptx, "--child", name, "--size", str(arguments.size), "--heads",
               str(arguments.heads)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {arguments.timeout:g} s"}
    lines = (run.stdout.strip() or run.stderr.strip() or f"exit code {run.returncode}").splitlines()
    try:
        return json.loads(lines[-1])
    except ValueError:
        return {"error": lines[-1]}


def line(name, facts):
    if "error" in facts:
        return f"{name:36} {facts['error']}"
    numbers = "".join(f"{facts[key]:>10,}" for key in ("registers", "local", "shared"))
    verdict = "right" if facts["right"] else "WRONG" if facts["same"] else "WRONG, differs between launches"
    return (f"{name:36}{numbers}{facts['tflops']:10.1f}   {facts['error_of_peaks']:.1e}   {facts['error_of_means']:.1e}"
            f"   {verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ptx")
    parser.add_argument("--json")
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--only", default="", help="a pattern that names contain")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    text = variants.read(arguments.ptx)
    if arguments.child:
        try:
            facts = measure(text, arguments.child, arguments.heads, arguments.size)
        except variants.DriverError as error:
            facts = {"error": str(error)}
        print(json.dumps(facts), flush=True)
        os._exit(0)  # whatever state the context is in
    rows = []
    print(f"attention_{'_'.join(FACTS)}")
    print(f"{'':36} registers     local    shared   TFLOP/s     peaks     means", flush=True)
    for name in variants.names(text, "attention"):
        if re.search(arguments.only, name):
            facts = in_child(arguments, name)
            rows.append({"name": name, **facts})
            print(line(name, facts), flush=True)
            if arguments.json:
                variants.write(arguments.json, rows)
    best = max((row for row in rows if row.get("right")), key=lambda row: row["tflops"], default=None)
    print(f"best: {best['name']}, {best['tflops']:.1f} TFLOP/s" if best else "none is right")


if __name__ == "__main__":
    main()
