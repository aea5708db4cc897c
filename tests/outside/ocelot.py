#!/usr/bin/env python3
"""Runs the cases of Ocelot's TestPTXAssembly.cpp, unmodified, on the CPU device and compares them with ocelot.tsv.

Usage: ocelot.py COMPILER INCLUDE LIBRARY [--bless] [--only PART_OF_NAME]. WARPLOOM_OCELOT names a checkout of
github.com/gtcasl/gpuocelot with its submodule hydrazine; without one the run is skipped (exit status 77). Their cases,
references, generators and comparisons are compiled as they are, against our headers in place of CUDA and Boost.
Nothing of the suite is kept here: the ledger holds names, outcomes and reasons.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import ledger

HERE = pathlib.Path(__file__).resolve().parent
CASES = "ocelot/ir/test/TestPTXAssembly.cpp"
HELPERS = ("ocelot/ir/implementation/PTXInstruction.cpp", "ocelot/ir/implementation/PTXOperand.cpp",
           "ocelot/ir/implementation/Instruction.cpp", "hydrazine/hydrazine/implementation/Test.cpp",
           "hydrazine/hydrazine/implementation/math.cpp", "hydrazine/hydrazine/implementation/FloatingPoint.cpp",
           "hydrazine/hydrazine/implementation/string.cpp", "hydrazine/hydrazine/implementation/Exception.cpp",
           "hydrazine/hydrazine/implementation/ArgumentParser.cpp", "hydrazine/hydrazine/implementation/debug.cpp",
           "hydrazine/hydrazine/implementation/LowLevelTimer.cpp", "hydrazine/hydrazine/implementation/Timer.cpp")
# The code is of 2013: its warnings are not ours. References convert numbers out of range, so they are not optimised.
FLAGS = ("-std=c++20", "-w", "-O0", "-fpermissive", "-fno-access-control", "-fno-strict-aliasing")
SEEDS = 40
WAYS = {"optimised": {}, "unoptimised": {"OCELOT_UNOPTIMISED": "1"}, "interpreter": {"WARPLOOM_TIER": "interpreter"}}


def build(root, folder, compiler, include, library):
    """Path of the runner, with all their cases in it."""
    common = [compiler, *FLAGS, "-I", HERE / "ocelot", "-I", root, "-I", root / "hydrazine", "-I", include]

    def compile_one(source):
        target = folder / f"{source.stem}.o"
        extra = ["-Dmain=main_of_the_tests"] if source.name == pathlib.Path(CASES).name else []
        subprocess.run([*common, *extra, "-c", source, "-o", target], check=True)
        return target

    sources = [HERE / "ocelot/runner.cpp"] + [root / name for name in (CASES, *HELPERS)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, sources))
    program = folder / "ocelot_cases"
    subprocess.run([compiler, "-o", program, *objects, library, f"-Wl,-rpath,{library.parent}"], check=True)
    return program


def run(program, only, settings):
    """{name: "pass" or "KIND: DETAIL"} of every case."""
    result = subprocess.run([program, str(SEEDS), *only], env=os.environ | settings, capture_output=True, check=True)
    outcomes = {}
    for line in result.stdout.decode(errors="replace").splitlines():
        name, kind, detail = line.split("\t")
        while name in outcomes:  # a few names stand twice
            name += " again"
        outcomes[name] = kind if kind == "pass" else f"{kind}: {detail[:300]}"
    return outcomes


def main():
    root = pathlib.Path(os.environ.get("WARPLOOM_OCELOT") or "/nowhere") / "ocelot"
    if not all((root / name).exists() for name in (CASES, *HELPERS)):
        print("[SKIP] Ocelot not found: set WARPLOOM_OCELOT to a checkout with its submodules")
        return 77
    compiler, include, library = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    only = [sys.argv[sys.argv.index("--only") + 1]] if "--only" in sys.argv else []
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        program = build(root, pathlib.Path(folder), compiler, include, library)
        for way, settings in WAYS.items():
            for name, outcome in run(program, only, settings).items():
                if outcomes.get(name, "pass") == "pass":
                    outcomes[name] = outcome if outcome == "pass" else f"{outcome} ({way})"
    passed = sum(outcome == "pass" for outcome in outcomes.values())
    print(f"{len(outcomes)} cases, {SEEDS} inputs each, {len(WAYS)} ways of running them: {passed} pass, "
          f"{len(outcomes) - passed} do not")
    if not outcomes:
        return 1
    if only:
        print("\n".join(f"{name}: {outcome}" for name, outcome in outcomes.items()))
        return 0
    return ledger.judge(HERE / "ocelot.tsv", "Cases of Ocelot's TestPTXAssembly.cpp", outcomes, "--bless" in sys.argv)


sys.exit(main())
