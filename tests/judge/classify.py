#!/usr/bin/env python3
"""Derives the class of every test of numba-cuda's suite and writes the ledger's skeleton.

Method. classes.txt holds, for each file, how many tests are of each class (a reading of the files by hand). Which tests
those are follows from the outcomes under Numba's own simulator (--sim: JSON lines {"id", "o"}; what it ran may be A),
and from flags that the closure of a test over the helpers of its file raises: the names that its syntax tree mentions,
compared with the table FLAGS. Each class of a file takes the tests that fit it best. Where a file is of one class,
nothing is guessed; the number of tests of mixed files is printed.
"""
from __future__ import annotations

import argparse
import ast
import collections
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import judge  # noqa: E402
import suite  # noqa: E402

FLAGS = {
    "T": ("inspect_llvm", "inspect_sass", "assertFileCheckLLVM", "assertFileCheckMatches", "assertFileCheckAsm",
          "inspect_sass_cfg", "inspect_lto_ptx", "dwarf", "nvdisasm", "getDILocation", "_getDebugOnlyOverloads"),
    "L": ("declare_device", "CUSource", "link", "LTOIR", "Archive", "Cubin", "Fatbin", "ObjectCode", "add_cu",
          "nvjitlink", "setup_callback", "LinkableCode", "cffi"),
    "P": ("compile_ptx", "inspect_asm", "compile", "compile_for_current_device", "compile_ptx_for_current_device",
          "compile_all", "ptx"),
    "R": ("get_regs_per_thread", "get_shared_mem_per_block", "get_const_mem_size", "get_local_mem_per_thread",
          "get_max_threads_per_block", "max_registers"),
    "K": ("cache", "cache_hits", "NUMBA_CACHE_DIR", "check_cache", "cache_usecases", "CUDACachingTest"),
    "M": ("_type_annotation", "typemap"),
    "N": ("rtsys", "EnableNRTStatsMixin", "memsys", "NRT"),
    "E": ("overload", "overload_method", "register_model", "intrinsic", "typeof_impl", "lower_builtin", "type_callable",
          "make_attribute_wrapper", "overload_attribute", "lower"),
    "O": ("cupy", "cp", "torch", "benchmark", "pytest_benchmark"),
    "D": ("current_context", "deallocations", "MemoryPointer", "memory_manager", "gpu_data", "devicearray", "driver",
          "device_memory_size", "Context", "memhostalloc", "memalloc", "mempin", "allocations",
          "DeviceRecord", "get_context", "devices", "bind", "device_to_host", "host_to_device", "device_memset",
          "handle", "device_ctypes_pointer", "from_record_like", "auto_device", "is_device_memory", "driver_owned",
          "host_pointer"),
    "X": ("cuda_target", "typingctx", "targetctx", "run_frontend", "ir", "interpreter", "Flags", "llvmlite", "binding",
          "nvvm", "nvrtc", "simulator", "mock", "patch", "_reduce", "_launch", "njit", "mangler", "cloudpickle",
          "_Kernel", "overloads", "templates", "_compiled", "cuLibraryGetGlobal", "vector_types"),
}
# Where a test could be of several classes, the first of these that the file still has room for.
ORDER = "TLRKMNOEPXDAB"


def wanted(path: str) -> dict[str, dict[str, int]]:
    """{file: {class: count}}."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {name: {part[0]: int(part[1:]) for part in parts} for name, *parts in lines}


def words_of(node: ast.AST) -> set[str]:
    words = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            words.add(child.id)
        elif isinstance(child, ast.Attribute):
            words.add(child.attr)
        elif isinstance(child, ast.keyword) and child.arg:
            words.add(child.arg)
        elif isinstance(child, (ast.Import, ast.ImportFrom)):
            for alias in child.names:
                words.update(alias.name.split("."))
        elif isinstance(child, ast.Constant) and isinstance(child.value, str) and len(child.value) < 60:
            words.add(child.value)
    return words


def closures(path: str) -> dict[str, set[str]]:
    """{Class::test or test: words} with the words of every helper that the test reaches inside its file."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    helpers, classes = {}, {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.Assign)):
            names = [node.name] if isinstance(node, ast.FunctionDef) else [
                target.id for target in node.targets if isinstance(target, ast.Name)]
            for name in names:
                helpers[name] = words_of(node)
        elif isinstance(node, ast.ClassDef):
            classes[node.name] = node
            helpers.setdefault(node.name, set())
    result = {}
    for name, words in list(helpers.items()):
        if name.startswith("test"):
            result[name] = set(words)
    for name, node in classes.items():
        methods, todo, bases = {}, [node], set()
        while todo:
            current = todo.pop()
            for member in current.body:
                if isinstance(member, ast.FunctionDef):
                    methods.setdefault(member.name, member)
            for base in current.bases:
                if isinstance(base, ast.Name):
                    bases.add(base.id)
                    if base.id in classes:
                        todo.append(classes[base.id])
        common = set(bases)
        for decorator in node.decorator_list:
            common |= words_of(decorator)
        local = {key: words_of(value) for key, value in methods.items()}
        for key in methods:
            if key.startswith("test"):
                words, seen, queue = set(common), set(), [key, "setUp"]
                while queue:
                    item = queue.pop()
                    if item in seen:
                        continue
                    seen.add(item)
                    more = local.get(item) or helpers.get(item) or set()
                    words |= more
                    queue += [word for word in more if word in local or word in helpers]
                result[f"{name}::{key}"] = words
    for key in list(result):
        words, queue, seen = result[key], list(result[key]), set()
        while queue:
            item = queue.pop()
            if item in seen or item not in helpers:
                continue
            seen.add(item)
            words |= helpers[item]
            queue += list(helpers[item])
    return result


def assign(tests: list[str], counts: dict[str, int], words: dict[str, set[str]], sim: dict[str, str]) -> dict[str, str]:
    """{test: class} that meets the counts."""
    if len(counts) == 1:
        return dict.fromkeys(tests, next(iter(counts)))

    def score(test: str, name: str) -> float:
        key = re.sub(r"\[.*\]$", "", test.split("::", 1)[1])
        mine = words.get(key, set())
        ran = sim.get(test, "skipped") != "skipped"
        if name == "A":
            return (10 if ran else -10) - 0.1 * sum(bool(mine & set(FLAGS[c])) for c in "XT")
        if name == "B":
            return (-5 if ran else 1) - 0.5 * sum(bool(mine & set(FLAGS[c])) for c in "TLRKMNOEPXD")
        hits = len(mine & set(FLAGS[name]))
        return (3 + hits if hits else -4) - (5 if ran and name not in "X" else 0)

    left, result, free = dict(counts), {}, list(tests)
    pairs = sorted(((-score(test, name), ORDER.index(name), test, name) for test in tests for name in counts))
    for _, _, test, name in pairs:
        if test in result or not left.get(name):
            continue
        result[test] = name
        left[name] -= 1
        free.remove(test)
    for test in free:  # more tests than the table knows
        result[test] = max(counts, key=counts.get)
    return result


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--sim", required=True, help="outcomes under the simulator, JSON lines with id and o")
    options = arguments.parse_args()
    package = suite.locate()
    sim: dict[str, str] = {}
    with open(options.sim, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if record["o"] != "passed" or record["id"] not in sim:
                sim[record["id"]] = record["o"]
    table = wanted(os.path.join(HERE, "classes.txt"))
    by_file = collections.defaultdict(list)
    for test in sim:
        by_file[test.split("::")[0]].append(test)
    ledger = judge.read_ledger()
    fresh, guesses = {}, 0
    for name, tests in sorted(by_file.items()):
        counts = table.get(name[:-len(".py")], {"X": len(tests)})
        if sum(counts.values()) != len(tests):
            print(f"{name}: {len(tests)} tests, the table has {sum(counts.values())}")
        classes = assign(tests, counts, closures(os.path.join(package, "tests", name)), sim)
        guesses += len(tests) if len(counts) > 1 else 0
        for test in tests:
            old = ledger.get(test, {"expected": "fail", "reason": "not run yet"})
            fresh[test] = {"id": test, "class": classes[test], "expected": old["expected"], "reason": old["reason"]}
    judge.write_ledger(fresh)
    print(dict(collections.Counter(entry["class"] for entry in fresh.values())), f"{guesses} tests of mixed files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
