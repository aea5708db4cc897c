#!/usr/bin/env python3
"""Measures Warploom on a GPU beside the raw driver, Numba, CuPy, PyTorch and Triton: prints a table and writes JSON.

compare.py [--json FILE] [--bench GPU_BENCH] [--ptx FILE] [--ours PYTHON] [--peers PYTHON] [--rounds N] [--quick]

Every package runs in a process of its own and is asked in turns, section by section, so that all see the same machine;
a figure is the median of the rounds. `--ours` is a Python with the warploom package, `--peers` one with the others
(both: this one unless said otherwise). `--bench` is the C++ benchmark (build/bin/benchmarks/gpu_bench), whose kernels
Python launches too; `--ptx` has them where there is no clang. What is not installed is skipped, and said. `--quick`:
small sizes, to see that all of it runs.
"""
import argparse
import datetime
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECTIONS = ("launch", "allocate", "compile", "matmul", "copies", "streaming", "fourier", "attention")
# Name, how to start it, whose Python.
PEERS = (
    ("warploom", ["warploom_worker.py"], "ours"),
    ("driver", ["driver_worker.py"], "peers"),
    ("numba", ["numba_worker.py"], "peers"),
    ("cupy", ["cupy_worker.py"], "peers"),
    ("triton", ["torch_worker.py", "triton"], "peers"),
    ("torch", ["torch_worker.py", "torch"], "peers"),
)
LIMIT = ("copies", "copy on the device, GB/s")
# Section, figure, package, "<=" or ">=", what it is compared with: a number, (package, factor), or (section, figure,
# package, factor).
EXPECTATIONS = (
    ("launch", "launch with three arrays, us", "warploom", "<=", 3.0),
    ("launch", "launch with three arrays, us", "warploom", "<=", ("cupy", 1.0)),
    ("launch", "launch with three arrays", "C++", "<=", ("C++ raw", 1.1)),
    ("compile", "first call of the tiled product, s", "warploom", "<=", 0.06),
    ("allocate", "array of 4 KiB, us", "warploom", "<=", 1.5),
    ("matmul", "product tiled16 1024, TFLOP/s", "warploom", ">=", 2 * 1024**3 / 0.295e-3 * 1e-12),
    ("matmul", "product tiled16 1024, TFLOP/s", "warploom", ">=", ("numba", 1.0)),
    ("matmul", "product tiled16 4096, TFLOP/s", "warploom", ">=", ("cupy", 1.0)),
    ("matmul", "product best 4096, TFLOP/s", "C++", ">=", 46.0),
    ("matmul", "product best 4096, TFLOP/s", "C++", ">=", ("triton", 1.0)),
    ("matmul", "product by library 4096, TFLOP/s", "warploom", ">=", ("torch", 0.97)),
    ("matmul", "product by library, float16 4096, TFLOP/s", "warploom", ">=", ("torch", 0.97)),
    ("copies", "copy pinned to device, GB/s", "warploom", ">=", ("driver", 0.98)),
    ("copies", "copy device to pinned, GB/s", "warploom", ">=", ("driver", 0.98)),
    ("copies", "copy pageable to device, GB/s", "warploom", ">=", ("driver", 0.98)),
    ("copies", "copy on the device, GB/s", "warploom", ">=", ("driver", 0.98)),
    ("streaming", "vector add, GB/s", "warploom", ">=", LIMIT + ("driver", 0.9)),
    ("streaming", "copy, GB/s", "warploom", ">=", LIMIT + ("driver", 0.9)),
    ("streaming", "transpose, GB/s", "warploom", ">=", LIMIT + ("driver", 0.9)),
    ("streaming", "softmax, GB/s", "warploom", ">=", LIMIT + ("driver", 0.9)),
    ("streaming", "sum, GB/s", "warploom", ">=", LIMIT + ("driver", 0.9)),
    ("streaming", "blur 5 x 5, GB/s", "warploom", ">=", LIMIT + ("driver", 0.9)),
    ("fourier", "transform 16384 x 1024, GB/s", "warploom", ">=", ("torch", 0.97)),
    ("attention", "attention float32, TFLOP/s", "warploom", ">=", ("torch", 0.9)),
    ("attention", "attention float16, TFLOP/s", "warploom", ">=", ("torch", 0.6)),
    ("attention", "attention float16 by warpgroups, TFLOP/s", "C++", ">=",
     ("attention", "attention float16, TFLOP/s", "torch", 0.95)),
)
# Figures of gpu_bench by the names used here.
FROM_CPP = {
    "launch with three arrays": ("launch", "launch with three arrays", "C++"),
    "launch with three arrays, raw cuLaunchKernel": ("launch", "launch with three arrays", "C++ raw"),
    "vector_add": ("streaming", "vector add, GB/s", "C++"),
    "copy": ("streaming", "copy, GB/s", "C++"),
    "transpose": ("streaming", "transpose, GB/s", "C++"),
    "softmax over rows of 4096": ("streaming", "softmax, GB/s", "C++"),
    "sum": ("streaming", "sum, GB/s", "C++"),
    "blur": ("streaming", "blur 5 x 5, GB/s", "C++"),
    "pinned, host to device": ("copies", "copy pinned to device, GB/s", "C++"),
    "pinned, device to host": ("copies", "copy device to pinned, GB/s", "C++"),
    "pageable, host to device": ("copies", "copy pageable to device, GB/s", "C++"),
    "device to device, read and written": ("copies", "copy on the device, GB/s", "C++"),
    "attention_f32": ("attention", "attention float32, TFLOP/s", "C++"),
    "attention_f16": ("attention", "attention float16, TFLOP/s", "C++"),
    "attention_f16 by warpgroups": ("attention", "attention float16 by warpgroups, TFLOP/s", "C++"),
}
for size in (1024, 2048, 4096):
    FROM_CPP[f"matmul_tiled16 {size}"] = ("matmul", f"product tiled16 {size}, TFLOP/s", "C++")
    FROM_CPP[f"blas::gemm {size}"] = ("matmul", f"product by library {size}, TFLOP/s", "C++")
    FROM_CPP[f"matmul_best {size}"] = ("matmul", f"product best {size}, TFLOP/s", "C++")
    FROM_CPP[f"matmul_best_small {size}"] = ("matmul", f"product best, small tiles {size}, TFLOP/s", "C++")


class Worker:
    """A package's process, asked line by line."""

    def __init__(self, name, command, environment, log):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                        env=environment, bufsize=1)

    def read(self, limit):
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.stop()
            return {"skip": "no answer in time" if not ready else "the process ended"}
        return json.loads(line)

    def ask(self, section, limit=60):
        if self.process.poll() is not None:
            return {"skip": "the process has ended"}
        try:
            self.process.stdin.write(json.dumps({"section": section}) + "\n")
            self.process.stdin.flush()
        except OSError:
            return {"skip": "the process has ended"}
        return self.read(limit)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def start(arguments, log, ptx):
    """The workers that start, and what each says it is."""
    folder = os.path.join(HERE, "peers")
    workers, versions = [], {}
    for name, command, whose in PEERS:
        environment = dict(os.environ, PYTHONPATH=folder + os.pathsep + os.environ.get("PYTHONPATH", ""),
                           TRITON_CACHE_DIR=tempfile.mkdtemp(), NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0",
                           PYTHONDONTWRITEBYTECODE="1", WARPLOOM_CACHE="0", WARPLOOM_BENCH_PTX=ptx)
        python = arguments.ours if whose == "ours" else arguments.peers
        command = [python, os.path.join(folder, command[0])] + command[1:] + (["--quick"] if arguments.quick else [])
        workers.append(Worker(name, command, environment, log))
    for worker in list(workers):
        reply = worker.read(60)
        if "skip" in reply:
            print(f"[SKIP] {worker.name}: {reply['skip']}")
            workers.remove(worker)
            worker.stop()
        versions[worker.name] = reply.get("version") or f"not there: {reply['skip']}"
    return workers, versions


def cpp_figures(arguments, results, ptx):
    """Adds what the C++ benchmark measures. `ptx` has its kernels, or will have them."""
    if not arguments.bench:
        print("[SKIP] C++: no --bench")
        return
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "bench.json")
        command = [arguments.bench, "--json", out, "--ptx" if arguments.ptx else "--write-ptx", ptx]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            with open(out, encoding="utf-8") as file:
                figures = json.load(file)["figures"]
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            text = (done.stdout + done.stderr).strip().splitlines() if "done" in locals() else [str(error)]
            print(f"[SKIP] C++: {text[-1] if text else error}")
            return
    for name, value in figures.items():
        section, figure, package = FROM_CPP.get(name, ("C++ alone", name, "C++"))
        results.setdefault(section, {}).setdefault(figure, {}).setdefault(package, []).append(value)


def value_of(results, section, figure, package):
    values = results.get(section, {}).get(figure, {}).get(package)
    return statistics.median(values) if values else None


def judge(results):
    """Expectations whose figures are there, as rows; those whose are not, as skipped ones."""
    rows = []
    for section, figure, package, sense, against in EXPECTATIONS:
        measured = value_of(results, section, figure, package)
        if isinstance(against, float):
            wanted, text = against, ""
        elif len(against) == 2:
            other = value_of(results, section, figure, against[0])
            wanted = None if other is None else other * against[1]
            text = f"{against[1]:g} x {against[0]}"
        else:
            other = value_of(results, *against[:3])
            wanted = None if other is None else other * against[3]
            text = f"{against[3]:g} x {against[1].split(',')[0]}"
        row = {"section": section, "figure": figure, "package": package, "sense": sense, "wanted": wanted,
               "against": text, "measured": measured}
        if measured is not None and wanted is not None:
            row["met"] = measured <= wanted if sense == "<=" else measured >= wanted
        rows.append(row)
    return rows


def show(results, rows):
    packages = ["C++", "C++ raw"] + [name for name, _, _ in PEERS]
    print(f"\n{'figure':48}" + "".join(f"{name:>10}" for name in packages))
    for section in SECTIONS + ("C++ alone",):
        for figure, by_package in results.get(section, {}).items():
            cells = (value_of(results, section, figure, name) for name in packages)
            print(f"{figure:48}" + "".join(f"{'' if v is None else f'{v:.3f}':>10}" for v in cells))
    print(f"\n{'expectation':62}{'wanted':>12}{'measured':>12}")
    for row in rows:
        name = f"{row['package']}: {row['figure']}" + (f" against {row['against']}" if row["against"] else "")
        if "met" not in row:
            print(f"{name:62}{'':>12}{'':>12}  [SKIP] not measured")
            continue
        print(f"{name:62}{row['sense']:>3}{row['wanted']:>9.3f}{row['measured']:>12.3f}  "
              + ("met" if row["met"] else "MISSED"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--bench")
    parser.add_argument("--ptx")
    parser.add_argument("--ours", default=sys.executable)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--log", default=os.devnull)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    begun, results, skipped = time.time(), {}, {}
    with open(arguments.log, "w", encoding="utf-8") as log, tempfile.TemporaryDirectory() as folder:
        ptx = arguments.ptx or os.path.join(folder, "kernels.ptx")
        cpp_figures(arguments, results, ptx)
        workers, versions = start(arguments, log, ptx if os.path.exists(ptx) else "")
        for turn in range(arguments.rounds):
            for section in arguments.sections.split(","):
                # The order turns, so that nobody always comes first.
                for worker in workers[turn % max(1, len(workers)):] + workers[:turn % max(1, len(workers))]:
                    if (worker.name, section) in skipped:
                        continue
                    reply = worker.ask(section)
                    if "skip" in reply:
                        skipped[worker.name, section] = reply["skip"]
                        print(f"[SKIP] {worker.name}, {section}: {reply['skip']}")
                    for figure, value in reply.get("figures", {}).items():
                        by_package = results.setdefault(section, {}).setdefault(figure, {})
                        by_package.setdefault(worker.name, []).append(value)
        for worker in workers:
            worker.stop()
    rows = judge(results)
    show(results, rows)
    print(f"\n{time.time() - begun:.0f} seconds")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"date": datetime.date.today().isoformat(), "versions": versions, "results": results,
                       "expectations": rows, "skipped": [list(k) + [v] for k, v in skipped.items()]}, file, indent=1)


if __name__ == "__main__":
    main()
