"""Runs the tests of the CPU device on a GPU: run_tests.py FOLDER [--device cuda:0] [--jobs N] [--json FILE].

FOLDER holds the device_*_test programs. Each test has a process of its own, because CUDA lets no process use a GPU
after an illegal access. ledger.tsv beside this file names those that may fail, with reasons; a test that passes
although it is listed is reported too. Where there is no compiler, WARPLOOM_TEST_PTX names a folder with the kernels'
PTX, left there by an earlier run of the same programs with that variable set.
"""
import argparse
import concurrent.futures
import fnmatch
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# What they test is the CPU device's own, or they have a comparison with GPUs of their own.
LEFT_OUT = {"device_random_kernels_test", "device_waits_test", "device_half_atomics_test", "device_surprises_test"}


def ledger():
    rows = []
    with open(os.path.join(HERE, "ledger.tsv"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                pattern, _, reason = line.rstrip("\n").partition("\t")
                rows.append((pattern, reason))
    return rows


def tests_of(program, environment):
    done = subprocess.run([program, "--gtest_list_tests"], env=environment, text=True, capture_output=True, check=True)
    suite, out = "", []
    for line in done.stdout.splitlines():
        if line.startswith(" "):
            out.append(suite + line.split()[0])
        elif line.endswith("."):
            suite = line
    return out


def run_one(program, test, environment):
    command = [program, "--gtest_filter=" + test]
    try:
        done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=120, errors="replace")
    except subprocess.TimeoutExpired:
        return test, "fail", "took longer than 120 s"
    if done.returncode != 0:
        return test, "fail", (done.stdout + done.stderr)[-4000:]
    return test, "skip" if "[  SKIPPED ]" in done.stdout else "pass", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json")
    options = parser.parse_args()
    environment = {**os.environ, "WARPLOOM_TEST_DEVICE": options.device, "WARPLOOM_TEST_GPU": "1"}
    work = []
    for program in sorted(glob.glob(os.path.join(options.folder, "device_*_test"))):
        if os.path.basename(program) not in LEFT_OUT:
            work += [(program, test) for test in tests_of(program, environment)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda item: run_one(*item, environment), work))
    rows = ledger()
    unexpected, known, count = [], 0, {"pass": 0, "fail": 0, "skip": 0}
    for test, outcome, text in results:
        count[outcome] += 1
        listed = [reason for pattern, reason in rows if fnmatch.fnmatchcase(test, pattern)]
        if outcome == "fail" and not listed:
            unexpected.append(test)
            print(f"--- {test}\n{text}")
        elif outcome == "pass" and listed:
            unexpected.append(test)
            print(f"--- {test} passes, although the ledger says: {listed[0]}")
        elif outcome == "fail":
            known += 1
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([dict(zip(("test", "outcome", "output"), r)) for r in results], file, indent=1)
    print(f"{count['pass']} passed, {count['fail']} failed ({known} in the ledger), {count['skip']} skipped; "
          f"{len(unexpected)} not as expected")
    sys.exit(1 if unexpected else 0)


if __name__ == "__main__":
    main()
