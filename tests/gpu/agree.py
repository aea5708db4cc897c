"""Runs the same programs on the GPU and on the CPU device and compares what they compute: agree.py BUILD [options].

  examples   the lessons in C++ and Python: all must pass on both, and Python's arrays have the same bits
  tests      the tests of the CPU device, on the GPU (run_tests.py and its ledger)
  random     random kernels: both devices have the digests that their interpreter says
  judge      numba-cuda's own tests that pass on both devices: what they read back has the same bits

--parts names some; --write puts the outcome into docs/reference/devices.md. Exit status 1 when something differs that
agree.tsv does not allow. On a machine without a GPU, WARPLOOM_CUDA_DRIVER may name the stand-in of tests/cuda.
"""
import argparse
import concurrent.futures
import datetime
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import programs

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = programs.SOURCE
REFERENCE = os.path.join(SOURCE, "docs", "reference", "devices.md")
# Figures that every run has its own.
CHANGING = re.compile(r"\d+(\.\d+)? ?(ms|us|µs|ns|s|GB/s|TFLOP/s|GFLOP/s|x)\b|0x[0-9a-f]+")


def allowed():
    rows = []
    with open(os.path.join(HERE, "agree.tsv"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                part, name, bound, reason = line.rstrip("\n").split("\t")
                rows.append((part, name, bound, reason))
    return rows


class Comparison:
    """Outcomes of one part: names that agree bit for bit, within a bound, or not."""

    def __init__(self, part, rows):
        self.part, self.rows = part, [r for r in rows if r[0] == part]
        self.same, self.bounded, self.wrong, self.left_out = [], [], [], []

    def _row(self, name):
        return next((r for r in self.rows if fnmatch.fnmatchcase(name, r[1])), None)

    def skip(self, name, why):
        self.left_out.append((name, why))

    def add(self, name, ulps, text):
        """`ulps`: 0 for the same bits; None when a bound means nothing."""
        row = self._row(name)
        if ulps == 0:
            self.same.append(name)
        elif row is not None and row[2] == "skip":
            self.skip(name, row[3])
        elif row is not None and ulps is not None and ulps <= float(row[2]):
            self.bounded.append((name, ulps, row[3]))
        else:
            self.wrong.append((name, text))

    def summary(self):
        return {"part": self.part, "same": len(self.same), "bounded": len(self.bounded), "differ": len(self.wrong),
                "not compared": len(self.left_out)}


def environment(device, **more):
    env = {k: v for k, v in os.environ.items() if k not in ("WARPLOOM_DEVICES", "WARPLOOM_TIER")}
    return {**env, "WARPLOOM_DEVICE": device, "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(command, env, timeout=300, **more):
    try:
        return subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", timeout=timeout,
                              check=False, **more)
    except FileNotFoundError as missing:
        return subprocess.CompletedProcess(command, 127, "", str(missing))
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, str(late.stdout or ""), "took longer than %d s" % timeout)


def distance(a, b):
    """Units in the last place between two arrays: 0 for equal bits (any two NaNs are equal), None beyond compare."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return None
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    if a.dtype.kind == "c":
        a, b = a.view(a.real.dtype), b.view(b.real.dtype)
    if a.dtype.kind != "f" or a.dtype.itemsize not in (2, 4, 8):
        return 0 if a.tobytes() == b.tobytes() else None
    integer = {2: np.int16, 4: np.int32, 8: np.int64}[a.dtype.itemsize]
    nan = np.isnan(a) & np.isnan(b)
    if np.any(np.isnan(a) != np.isnan(b)):
        return None

    def ordered(x):
        bits = x.view(integer).astype(object if integer is np.int64 else np.int64)
        lowest = -(1 << (8 * a.dtype.itemsize - 1))
        return np.where(bits < 0, lowest - bits, bits)

    if a.size == 0 or a.tobytes() == b.tobytes():
        return 0
    apart = np.abs(ordered(a) - ordered(b))
    # The two zeros are neighbours that differ.
    differ = (a.view(integer) != b.view(integer)) & ~nan
    return float(np.max(np.where(differ, np.maximum(apart, 1), 0)))


def compare_arrays(comparison, name, gpu_file, cpu_file):
    with np.load(gpu_file) as gpu, np.load(cpu_file) as cpu:
        if len(gpu.files) != len(cpu.files):
            comparison.add(name, None, "%d arrays on the GPU, %d on the CPU" % (len(gpu.files) - 1, len(cpu.files) - 1))
            return
        worst, text = 0, ""
        for key in gpu.files:
            if key == "name":
                continue
            apart = distance(gpu[key], cpu[key])
            if apart is None or (worst is not None and apart > worst):
                worst = apart
                text = "array %s: %s" % (key[1:], "different" if apart is None else "%g ulp apart" % apart)
            if apart is None:
                break
        comparison.add(name, worst, text)


def compare_folders(comparison, gpu, cpu, why=lambda name, on_gpu: "nothing was read back"):
    """Compares the recordings of two runs by their names; `why` says why there is none of the GPU or the CPU device."""
    def recordings(folder):
        found = {}
        for file in glob.glob(os.path.join(folder, "*.npz")):
            with np.load(file) as content:
                found[str(content["name"])] = file
        return found

    on_gpu, on_cpu = recordings(gpu), recordings(cpu)
    for name in sorted(set(on_gpu) | set(on_cpu)):
        if name in on_gpu and name in on_cpu:
            try:
                compare_arrays(comparison, name, on_gpu[name], on_cpu[name])
            except (ValueError, TypeError, OSError) as error:
                comparison.add(name, None, "cannot be compared: %s" % error)
        else:
            on = ("GPU", "CPU device") if name in on_gpu else ("CPU device", "GPU")
            comparison.skip(name, "passes on the %s only; on the %s: %s" % (*on, why(name, name in on_cpu)))


def both(command, folder, name, pool, options, plugin=False, cwd=None):
    """One program on both devices at once; (gpu, cpu) results."""
    def one(device):
        env = environment(device, WARPLOOM_AGREE=os.path.join(folder, device.split(":")[0]), WARPLOOM_AGREE_NAME=name)
        if plugin:
            env["PYTEST_PLUGINS"] = "agree_record"
        env["PYTHONPATH"] = os.pathsep.join([HERE, *filter(None, [env.get("PYTHONPATH")])])
        return run(command, env, options.limit, cwd=cwd)

    return pool.submit(one, options.device), pool.submit(one, "cpu")


def examples(options, rows, pool):
    comparison = Comparison("examples", rows)
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for name, program in programs.lessons_in_cpp(options.build):
            jobs.append((name, False, both([program], folder, name, pool, options)))
        for name, lesson in programs.lessons_in_python():
            command = [sys.executable, os.path.join(HERE, "agree_record.py"), lesson]
            jobs.append((name, True, both(command, folder, name, pool, options)))
        for name, python, (gpu, cpu) in jobs:
            gpu, cpu = gpu.result(), cpu.result()
            if gpu.returncode or cpu.returncode:
                where = "GPU" if gpu.returncode else "CPU device"
                bad = gpu if gpu.returncode else cpu
                if "compiler_missing" in bad.stdout + bad.stderr:
                    comparison.skip(name, "needs clang, which is not there")
                    continue
                comparison.add(name, None, "fails on the %s: %s" % (where, (bad.stdout + bad.stderr)[-1500:]))
            elif not python:
                gpu_text, cpu_text = (CHANGING.sub("#", one.stdout) for one in (gpu, cpu))
                comparison.add(name, 0, "")  # each compares with what the host computes
                if options.verbose and gpu_text != cpu_text:
                    print("--- %s prints other words on the GPU:\n%s" % (name, gpu.stdout))
        compare_folders(comparison, os.path.join(folder, options.device.split(":")[0]), os.path.join(folder, "cpu"))
    return comparison


def tests(options, rows, _pool):
    comparison = Comparison("tests", rows)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "outcomes.json")
        env = {k: v for k, v in os.environ.items() if k not in ("WARPLOOM_DEVICES", "WARPLOOM_DEVICE")}
        done = run([sys.executable, os.path.join(HERE, "run_tests.py"), os.path.join(options.build, "bin", "tests"),
                    "--device", options.device, "--jobs", str(options.jobs), "--json", file], env, 1800)
        if not os.path.exists(file):
            comparison.add("run_tests.py", None, done.stdout + done.stderr)
            return comparison
        with open(file, encoding="utf-8") as text:
            outcomes = json.load(text)
    known = {line.split("\t")[0]: line.split("\t")[1].strip()
             for line in open(os.path.join(HERE, "ledger.tsv"), encoding="utf-8") if "\t" in line}
    for one in outcomes:
        reason = next((why for pattern, why in known.items() if fnmatch.fnmatchcase(one["test"], pattern)), None)
        if one["outcome"] == "pass":
            comparison.add(one["test"], 0, "")
        elif one["outcome"] == "skip" or reason is not None:
            comparison.skip(one["test"], reason or "skipped")
        else:
            comparison.add(one["test"], None, one["output"][-1500:])
    return comparison


def random_kernels(options, rows, _pool):
    comparison = Comparison("random", rows)
    program = os.path.join(options.build, "bin", "tests", "device_random_kernels_test")
    with tempfile.TemporaryDirectory() as folder:
        env = environment("cpu", WARPLOOM_RANDOM_KERNELS=str(options.random), WARPLOOM_RANDOM_SEED=str(options.seed))
        done = run([program, "--gtest_filter=*Many*"], env, 1800)
        comparison.add("%d kernels on the CPU device" % options.random, 0 if done.returncode == 0 else None,
                       (done.stdout + done.stderr)[-1500:])
        written = run([program, "--gtest_filter=*Many*"], {**env, "WARPLOOM_RANDOM_WRITE": folder}, 1800)
        if written.returncode:
            comparison.add("writing them", None, (written.stdout + written.stderr)[-1500:])
            return comparison
        runner = os.path.join(SOURCE, "tests", "device", "random_kernels", "run_on_gpu.py")
        done = run([sys.executable, runner, folder, folder], os.environ, 1800)
        good = done.returncode == 0 and ", 0 differ" in done.stdout
        comparison.add("%d kernels on the GPU" % options.random, 0 if good else None,
                       (done.stdout + done.stderr)[-1500:])
    return comparison


def judge(options, rows, pool):
    sys.path.insert(0, os.path.join(SOURCE, "tests", "judge"))
    import judge as judged
    import suite

    comparison = Comparison("judge", rows)
    package = suite.locate()
    if package is None:
        comparison.skip("numba-cuda's tests", "its package cannot be fetched")
        return comparison
    with tempfile.TemporaryDirectory() as folder:
        def one(device):
            settings = argparse.Namespace(path=[HERE], limit=options.limit, test_limit=120, memory=8192)
            runner = judged.Runner(package, settings)
            path = runner.environment["PYTHONPATH"]
            runner.environment.update(environment(device), PYTHONPATH=path, PYTEST_PLUGINS="agree_record",
                                      WARPLOOM_AGREE=os.path.join(folder, device.split(":")[0]))
            runner.environment.pop("WARPLOOM_DEVICES", None)
            names = [name for name in runner.files(options.files) if options.files or name.startswith("cudapy")]
            list(pool.map(runner.run_file, names))
            return runner.outcomes

        gpu, cpu = one(options.device), one("cpu")

        def why(name, on_gpu):
            outcome, reason, text = (gpu if on_gpu else cpu).get(name, ("not run", "", ""))
            if options.verbose and text:
                print("--- %s on the %s:\n%s" % (name, "GPU" if on_gpu else "CPU device", text[-3000:]))
            if outcome == "pass":
                return "it passes and reads nothing back"
            return " ".join((reason or outcome).split())[:200]

        compare_folders(comparison, os.path.join(folder, options.device.split(":")[0]), os.path.join(folder, "cpu"),
                        why)
    return comparison


TITLES = {"examples": "lessons in C++ and Python", "tests": "tests of the CPU device, on the GPU",
          "random": "random kernels, on each device", "judge": "numba-cuda's own tests: what they read back"}
PARTS = {"examples": examples, "tests": tests, "random": random_kernels, "judge": judge}


def write(comparisons, options):
    """docs/reference/devices.md."""
    name = programs.gpu_name(options.device)
    lines = ["# Both devices agree", "",
             "`python3 tests/gpu/agree.py build --write` runs the same programs on a GPU and on the CPU device,",
             "compares what they compute bit for bit, and writes this page. `tests/gpu/agree.tsv` names what may "
             "differ,",
             "with bounds and reasons.", "", "On %s (%s):" % (datetime.date.today(), name), "",
             "| part | same bits, or passes on both | within a bound | differ | not compared |",
             "|---|---|---|---|---|"]
    for one in comparisons:
        s = one.summary()
        lines.append("| %s | %d | %d | %d | %d |" % (TITLES[one.part], *list(s.values())[1:]))
    for title, pick in (("Within a bound", lambda c: [(n, "%s (%s ulp)" % (why, u)) for n, u, why in c.bounded]),
                        ("Differ", lambda c: [(n, t.strip().splitlines()[-1] if t.strip() else "")
                                              for n, t in c.wrong]),
                        ("Not compared", lambda c: sorted(set(c.left_out)))):
        items = [(c.part, *item) for c in comparisons for item in pick(c)]
        if items:
            lines += ["", "**%s.**" % title, ""] + ["- %s: `%s`: %s" % item for item in items]
    with open(options.out or REFERENCE, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--random", type=int, default=1000, help="how many random kernels")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", nargs="*", default=[], help="of the judge's files, those with such names")
    parser.add_argument("--limit", type=int, default=300, help="seconds of one program")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--out", help="where to write instead")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    # Programs run in other folders.
    package = os.path.join(options.build, "python")
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep) + ([package] if os.path.isdir(package) else [])
    os.environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(entry) for entry in path if entry)
    rows, comparisons = allowed(), []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name in options.parts.split(","):
            comparison = PARTS[name](options, rows, pool)
            comparisons.append(comparison)
            for test, text in comparison.wrong:
                print("--- %s: %s differs: %s" % (name, test, text))
            counts = [(v, k) for k, v in comparison.summary().items() if k != "part"]
            print("%s: %s" % (name, ", ".join("%d %s" % one for one in counts)))
    if options.write or options.out:
        write(comparisons, options)
    sys.exit(1 if any(c.wrong for c in comparisons) else 0)


if __name__ == "__main__":
    main()
