#!/usr/bin/env python3
"""Runs numba-cuda's own test suite, unmodified, against warploom.cuda and compares the outcomes with ledger.jsonl.

Each test file runs in a process group of its own, with limits on time and memory; a crash or a hang costs the test that
was running, and the rest of its file is run again without it. Exit status: 0 as expected, 1 a regression, 77 skipped.
"""
from __future__ import annotations

import argparse
import ast
import collections
import concurrent.futures
import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import suite  # noqa: E402

LEDGER = os.path.join(HERE, "ledger.jsonl")
REFERENCE = os.path.join(SOURCE, "docs", "reference", "judge.md")
CLASSES = {
    "A": "public API, and executed by Numba's own simulator", "B": "public API that the simulator lacks",
    "D": "driver objects", "P": "PTX text", "L": "links CUDA C++", "R": "registers and memory sizes",
    "K": "cache on disk", "M": "type annotations", "N": "NumPy reductions in kernels", "X": "internals of Numba",
    "T": "LLVM IR, SASS or DWARF text", "E": "extension API", "O": "CuPy, PyTorch or benchmarks",
}
JUDGED = "ABDPLRKMN"
KILLED = ("crash", "timeout", "memory")


def read_ledger(path: str = LEDGER) -> dict[str, dict]:
    """{test id: entry}; empty when there is no ledger."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {entry["id"]: entry for entry in map(json.loads, file)}


def write_ledger(entries: dict[str, dict]) -> None:
    with open(LEDGER, "w", encoding="utf-8") as file:
        for key in sorted(entries):
            file.write(json.dumps(entries[key], ensure_ascii=False) + "\n")


def list_imports(package: str) -> dict[str, list[str]]:
    """{module: names} for every `from module import names` of the suite, for the import hook."""
    found = collections.defaultdict(set)
    files = [os.path.join(package, "testing.py")]
    for folder, _, names in os.walk(os.path.join(package, "tests")):
        files += [os.path.join(folder, name) for name in names if name.endswith(".py")]
    for path in files:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found[node.module].update(alias.name for alias in node.names)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.name]
    return {module: sorted(names - {"*"}) for module, names in sorted(found.items())
            if module.split(".")[0] in ("numba", "cuda", "llvmlite", "filecheck") and ".tests" not in module}


class Runner:
    """Runs files of the suite; `outcomes` maps a test id to (outcome, reason, text)."""

    def __init__(self, package: str, options: argparse.Namespace):
        self.tests = os.path.join(package, "tests")
        self.options = options
        self.outcomes: dict[str, tuple[str, str, str]] = {}
        self.broken: dict[str, tuple[str, str]] = {}  # {file: (reason, text)} where it cannot be imported
        self.seconds: dict[str, float] = {}
        self.placed: set[str] = set()  # names that the suite imports and modules of ours lack
        imports = os.path.join(suite.cache_folder(), "imports.json")
        # Replaced in one step: another run may be reading it.
        with tempfile.NamedTemporaryFile("w", dir=suite.cache_folder(), delete=False, encoding="utf-8") as file:
            json.dump(list_imports(package), file)
        os.replace(file.name, imports)
        path = [os.path.join(HERE, "shim"), suite.helpers(), *options.path,
                *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        self.environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path), WARPLOOM_JUDGE_SUITE=package,
                                WARPLOOM_JUDGE_IMPORTS=imports,
                                WARPLOOM_DEVICES=os.environ.get("WARPLOOM_DEVICES", "2"),
                                PYTHONDONTWRITEBYTECODE="1", PYTHONFAULTHANDLER="1")

    def files(self, patterns: list[str]) -> list[str]:
        found = []
        for folder, _, names in os.walk(self.tests):
            relative = os.path.relpath(folder, self.tests)
            found += [os.path.join(relative, name) for name in names if re.fullmatch(r"test_.*\.py", name)]
        if patterns:
            found = [name for name in found if any(fnmatch.fnmatch(name, f"*{pattern}*") for pattern in patterns)]
        return sorted(found)

    def run_file(self, name: str) -> None:
        """Runs one file, again without the culprit after each crash."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="warploom-judge-") as scratch:
            report, done = os.path.join(scratch, "report.jsonl"), os.path.join(scratch, "done")
            collected: list[str] = []
            finished: set[str] = set()
            while True:
                left = self.options.limit - (time.monotonic() - began)
                if os.path.exists(report):
                    os.remove(report)
                with open(done, "w", encoding="utf-8") as file:
                    file.write("\n".join(finished))
                verdict = self._run_once(name, report, done, scratch, left) if left > 1 else "timeout"
                running, ids, some = self._read(name, report, finished)
                collected = collected or ids
                if running and verdict is None:
                    verdict = "crash"  # something called exit()
                if verdict is None or name in self.broken:
                    break
                if running:
                    self.outcomes[running] = (verdict, f"{verdict} while it ran", self._tail(scratch))
                    finished.add(running)
                elif not some or verdict == "timeout":  # nothing ran: a second try would end the same way
                    rest = [test for test in collected if test not in finished]
                    for test in rest:
                        self.outcomes[test] = (verdict, f"{verdict} of the whole file", self._tail(scratch))
                    if not rest and not finished:
                        self.broken[name] = (f"{verdict} on import", self._tail(scratch))
                    break
        self.seconds[name] = time.monotonic() - began

    @staticmethod
    def _tail(scratch: str) -> str:
        path = os.path.join(scratch, "output")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]

    def _run_once(self, name: str, report: str, done: str, scratch: str, left: float) -> str | None:
        """None when pytest ended by itself, else what ended it."""
        command = [sys.executable, "-m", "pytest", "-p", "judge_plugin", "-p", "no:cacheprovider", "-q",
                   "-c", os.path.join(HERE, "pytest.ini"), "--rootdir", self.tests, os.path.join(self.tests, name)]
        environment = dict(self.environment, WARPLOOM_JUDGE_REPORT=report, WARPLOOM_JUDGE_DONE=done)
        with open(os.path.join(scratch, "output"), "wb") as output:
            process = subprocess.Popen(command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            end, quiet, size = time.monotonic() + left, time.monotonic(), -1
            verdict = None
            while True:
                try:
                    process.wait(0.2)
                    break
                except subprocess.TimeoutExpired:
                    pass
                now = time.monotonic()
                grown = os.path.getsize(report) if os.path.exists(report) else -1
                if grown != size:
                    size, quiet = grown, now
                if now > end or now - quiet > self.options.test_limit:
                    verdict = "timeout"
                elif self._resident(process.pid) > self.options.memory << 20:
                    verdict = "memory"
                if verdict:
                    break
            try:
                os.killpg(process.pid, signal.SIGKILL)  # also what its tests have started
            except ProcessLookupError:
                pass
            process.wait()
        return verdict or ("crash" if process.returncode not in (0, 1, 2, 5) else None)

    @staticmethod
    def _resident(pid: int) -> int:
        try:
            with open(f"/proc/{pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError, ValueError):
            return 0

    def _read(self, name: str, report: str, finished: set[str]) -> tuple[str | None, list[str], bool]:
        """Takes in a report: the test that was running at its end, the ids collected, whether any test ended."""
        running, ids, some = None, [], False
        if not os.path.exists(report):
            self.broken[name] = ("no report", "")
            return None, [], False
        with open(report, encoding="utf-8") as file:
            for line in file:
                try:
                    record = json.loads(line)
                except ValueError:
                    continue  # cut off by the crash
                if "collected" in record:
                    ids = record["collected"]
                    self.placed.update(record["placed"])
                elif "broken" in record:
                    self.broken[name] = (record["message"], record["text"])
                elif "module_skip" in record:
                    self.outcomes[name] = ("skip", record["message"], "")
                elif "start" in record:
                    running = record["start"]
                elif "id" in record:
                    self.outcomes[record["id"]] = (record["outcome"], record["reason"], record["text"])
                    finished.add(record["id"])
                    running, some = None, True
        return running, ids, some

    def run(self, names: list[str], each: Callable[[], None]) -> None:
        """Runs the files and calls `each` after some of them."""
        last = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for count, (name, _) in enumerate(zip(names, pool.map(self.run_file, names)), 1):
                if self.options.verbose:
                    mine = [outcome for key, (outcome, _, _) in self.outcomes.items() if key.startswith(name + "::")]
                    counts = collections.Counter(mine)
                    note = f" BROKEN {self.broken[name][0]}" if name in self.broken else ""
                    progress = f"[{count}/{len(names)}] {name} {self.seconds[name]:.0f} s"
                    print(progress, dict(counts), note, flush=True)
                if time.monotonic() - last > 60:
                    last = time.monotonic()
                    each()


def shape_of(reason: str) -> str:
    """The reason with what varies from test to test taken out, so that equal causes meet."""
    text = re.sub(r"0x[0-9a-f]+", "0x…", reason.split(' File "')[0])
    text = re.sub(r"\b(numpy|math|cuda|operator|libdevice|fp16|bf16|builtins)\.[\w.]+", r"\1.…", text)
    text = re.sub(r"(/[\w.+-]+)+/([\w.-]+)", r"\2", text)
    text = re.sub(r"\b\d+(\.\d+)?(e[+-]?\d+)?\b", "N", text)
    return text[:200].strip() or "(no message)"


def outcome_table(runner: Runner, ledger: dict[str, dict], names: list[str]) -> dict[str, tuple[str, str, str]]:
    """Every test's outcome: those of a file that cannot be imported fail with its error."""
    table = dict(runner.outcomes)
    for key in ledger:
        name = key.split("::")[0]
        if key not in table and name in names:
            table[key] = ("fail", *runner.broken.get(name, ("not collected", "")))
    for name, (reason, text) in runner.broken.items():
        if not any(key.startswith(name + "::") for key in table):
            table[name] = ("fail", reason, text)
    return table


def totals(table: dict, ledger: dict[str, dict]) -> dict[str, collections.Counter]:
    """{class: counter of outcomes}."""
    result: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for key, (outcome, _, _) in table.items():
        result[ledger.get(key, {}).get("class", "X")][outcome] += 1
    return result


def size_of(classes: str, ledger: dict[str, dict]) -> int:
    return sum(entry["class"] in classes for entry in ledger.values())


def headline(result: dict, ledger: dict[str, dict]) -> str:
    def count(classes: str) -> str:
        return f"{sum(result[c]['pass'] for c in classes if c in result)}/{size_of(classes, ledger)}"
    return (f"A+B {count('AB')} · A+B+D {count('ABD')} · A+B+D+P {count('ABDP')} · judgeable {count(JUDGED)} "
            f"(A {count('A')}, B {count('B')}, D {count('D')}, P {count('P')}, L {count('L')}, R {count('R')}, "
            f"K {count('K')}, M {count('M')}, N {count('N')})")


def print_causes(table: dict, ledger: dict[str, dict], classes: str, limit: int, out=None) -> None:
    """Clusters of failures by message, biggest first, with examples."""
    clusters = collections.defaultdict(list)
    for key, (outcome, reason, _) in table.items():
        if outcome not in ("pass", "skip") and ledger.get(key, {}).get("class", "X") in classes:
            clusters[shape_of(reason)].append((key, reason))
    for shape, members in sorted(clusters.items(), key=lambda item: -len(item[1]))[:limit]:
        kinds = collections.Counter(ledger.get(key, {}).get("class", "X") for key, _ in members)
        label = " ".join(f"{c}{n}" for c, n in sorted(kinds.items()))
        print(f"{len(members):4d} [{label}] {members[0][1][:300]}", file=out)
        for key, _ in members[:3]:
            print(f"       {key}", file=out)


def print_files(table: dict, ledger: dict[str, dict], out=None) -> None:
    rows = collections.defaultdict(collections.Counter)
    for key, (outcome, _, _) in table.items():
        if ledger.get(key, {}).get("class", "X") in JUDGED:
            rows[key.split("::")[0]]["pass" if outcome == "pass" else "skip" if outcome == "skip" else "fail"] += 1
    for name, counts in sorted(rows.items(), key=lambda row: -row[1]["fail"]):
        print(f"{counts['pass']:4d} pass {counts['fail']:4d} fail {counts['skip']:4d} skip  {name}", file=out)


def publish(runner: Runner, ledger: dict[str, dict], names: list[str], path: str) -> None:
    """Writes totals, causes and pass counts of each file that has run."""
    table = outcome_table(runner, ledger, set(names) & set(runner.seconds))
    with open(path + ".new", "w", encoding="utf-8") as out:
        print(time.strftime("%H:%M UTC", time.gmtime()), f"{len(runner.seconds)} of {len(names)} files",
              headline(totals(table, ledger), ledger), file=out)
        print("\nCAUSES of A+B+D+P failures (class counts, first message, tests)", file=out)
        print_causes(table, ledger, "ABDP", 100, out)
        print("\nOTHER CAUSES (L R K M N)", file=out)
        print_causes(table, ledger, "LRKMN", 25, out)
        print("\nNAMES that the suite imports and modules of ours lack:", *sorted(runner.placed), file=out)
        print("\nFILES", file=out)
        print_files(table, ledger, out)
    os.replace(path + ".new", path)


def write_reference(ledger: dict[str, dict], path: str) -> None:
    """The ledger's totals as a table of the documentation, between its markers."""
    result: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for entry in ledger.values():
        result[entry["class"]][entry["expected"]] += 1
    lines = ["| class | what its tests touch | tests | pass | fail | skip |", "|---|---|---|---|---|---|"]
    for name, what in CLASSES.items():
        counts = result[name]
        lines.append(f"| {name} | {what} | {size_of(name, ledger)} | {counts['pass']} | {counts['fail']} "
                     f"| {counts['skip']} |")
    for classes in ("AB", "ABD", "ABDP", JUDGED):
        passed = sum(result[c]["pass"] for c in classes)
        total = size_of(classes, ledger)
        label = "all judged" if classes == JUDGED else "+".join(classes)
        lines.append(f"| **{label}** | | **{total}** | **{passed}** ({100 * passed / max(total, 1):.0f} %) | | |")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = "<!-- totals -->\n", "<!-- /totals -->"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + begin + "\n".join(lines) + "\n" + end + tail)


def compare(table: dict, ledger: dict[str, dict]) -> tuple[list[str], list[str]]:
    """(regressions, gains) of what ran, against the ledger."""
    worse, better = [], []
    for key, (outcome, reason, _) in sorted(table.items()):
        entry = ledger.get(key, {})
        expected = entry.get("expected") if entry.get("class", "?") in JUDGED else None
        if outcome == "skip" and any(name in reason for name in suite.HELPERS + ("ml_dtypes",)):
            continue  # a package is not installed
        if expected == "pass" and outcome != "pass" or expected == "skip" and outcome not in ("skip", "pass"):
            worse.append(f"{key}: expected {expected}, got {outcome}: {reason[:200]}")
        elif expected in ("fail", "skip") and outcome == "pass":
            better.append(key)
    return worse, better


def bless(table: dict, ledger: dict[str, dict], force: bool) -> int:
    """Takes the outcomes into the ledger; a test that passed must not become a failure unless forced."""
    refused = 0
    for key, (outcome, reason, _) in table.items():
        # Files that skip themselves as a whole where Numba is absent are not in the ledger's skeleton: internals.
        entry = ledger.setdefault(key, {"id": key, "class": "X", "expected": "fail", "reason": ""})
        got = "fail" if outcome in KILLED else outcome
        if entry["expected"] == "pass" and got != "pass" and not force:
            refused += 1
            continue
        entry["expected"] = got
        text = f"{outcome}: {reason}" if outcome in KILLED else reason
        entry["reason"] = "" if got == "pass" else shape_of(text)[:160]
    write_ledger(ledger)
    return refused


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("-j", "--jobs", type=int, default=2)
    arguments.add_argument("--file", action="append", default=[], metavar="PATTERN", help="only files that match")
    arguments.add_argument("--judged", action="store_true", help="only files with tests of judged classes")
    arguments.add_argument("--classes", default=JUDGED, help="classes for --causes and --list-failures")
    arguments.add_argument("--causes", action="store_true", help="cluster the failures by their message")
    arguments.add_argument("--list-failures", action="store_true")
    arguments.add_argument("--show", metavar="ID", help="with --file: print the whole error of tests that contain ID")
    arguments.add_argument("--publish", metavar="FILE", help="write totals, causes and pass counts of each file there")
    arguments.add_argument("--reference", action="store_true",
                           help="write the ledger's totals into docs/reference/judge.md, and run nothing")
    arguments.add_argument("--bless", action="store_true", help="rewrite the ledger; failures may only become fewer")
    arguments.add_argument("--force", action="store_true", help="with --bless: take new failures as well")
    arguments.add_argument("--limit", type=float, default=600, help="seconds for a file")
    arguments.add_argument("--test-limit", type=float, default=200, help="seconds for a test")
    arguments.add_argument("--memory", type=int, default=6144, help="MiB for a file's process")
    arguments.add_argument("--path", action="append", default=[], help="folder in front of PYTHONPATH")
    arguments.add_argument("-v", "--verbose", action="store_true")
    options = arguments.parse_args()
    if options.reference:
        write_reference(read_ledger(), REFERENCE)
        return 0

    package = suite.locate()
    if package is None:
        print(f"[SKIP] numba-cuda suite not available (pip download --no-deps numba-cuda=={suite.VERSION})")
        return 77
    try:
        import pytest

        old = int(pytest.__version__.split(".")[0]) < 8
    except ImportError:
        old = True
    if old:
        print("[SKIP] pytest 8 or later is not installed")
        return 77
    runner = Runner(package, options)
    ledger = read_ledger()
    names = runner.files(options.file)
    if options.judged:
        judged = {key.split("::")[0] for key, entry in ledger.items() if entry["class"] in JUDGED}
        names = [name for name in names if name in judged]
    began = time.monotonic()
    runner.run(names, lambda: publish(runner, ledger, names, options.publish) if options.publish else None)
    table = outcome_table(runner, ledger, set(names))
    worse, better = compare(table, ledger)
    if worse and not options.bless:  # one more try each: a loaded machine must not fail the build
        again = sorted({line.split("::")[0] for line in worse})
        if len(again) <= 5:
            print("once more:", *again)
            for name in again:
                before = {key: value for key, value in runner.outcomes.items() if key.startswith(name + "::")}
                runner.broken.pop(name, None)
                runner.run_file(name)
                for key, value in before.items():
                    if value[0] == "pass":
                        runner.outcomes[key] = value
            table = outcome_table(runner, ledger, set(names))
            worse, better = compare(table, ledger)
    result = totals(table, ledger)
    print(headline(result, ledger), f"in {time.monotonic() - began:.0f} s")
    if options.list_failures:
        for key, (outcome, reason, _) in sorted(table.items()):
            if outcome not in ("pass", "skip") and ledger.get(key, {}).get("class", "X") in options.classes:
                print(f"{outcome} {key}: {reason[:200]}")
    if options.show:
        for key, (outcome, reason, text) in sorted(table.items()):
            if options.show in key:
                print(f"==== {outcome} {key}: {reason}\n{text}")
    if options.causes:
        print_causes(table, ledger, options.classes, 40)
    if options.publish:
        publish(runner, ledger, names, options.publish)
    for key in better:
        if options.verbose:
            print("now passes:", key)
    if better:
        print(f"{len(better)} tests pass that the ledger expects to fail; --bless takes them in")
    for line in worse:
        print("REGRESSION", line)
    if options.bless:
        refused = bless(table, ledger, options.force)
        if refused:
            print(f"{refused} tests that passed fail now and stay in the ledger; --force takes them")
    return 1 if worse and not options.force else 0


if __name__ == "__main__":
    sys.exit(main())
