"""Compares what explain counts of every lesson's kernels with a GPU's hardware counters: counters.py BUILD [--write].

Prints each figure: of how many kernels it is the same, within a fiftieth, or further apart; --write puts that into
docs/reference/counters.md. Where the GPU's machine code is not the PTX's (ptxas merges loads, moves branches), figures
differ: the page names those kernels. Exit status 1 when a lesson fails or no counters could be read.
"""
import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile

import programs

PAGE = os.path.join(programs.SOURCE, "docs", "reference", "counters.md")
# Figures that machine code decides more than PTX does.
LEFT_OUT = ("warp_instructions", "thread_instructions", "active_warps_percent")
NEAR = 0.02


def lessons(build):
    """Name and command of each."""
    yield from ((name, [program]) for name, program in programs.lessons_in_cpp(build))
    yield from ((name, [sys.executable, lesson]) for name, lesson in programs.lessons_in_python())


def explained(build, command, folder, name):
    """The kernels of a program as explain's JSON has them, or why there are none."""
    out = os.path.join(folder, name.replace("/", "_") + ".json")
    tool = os.path.join(build, "bin", "warploom")
    done = subprocess.run([tool, "explain", "--json", out, *command], capture_output=True, text=True, errors="replace",
                          timeout=300, check=False)
    if done.returncode != 0 or not os.path.exists(out):
        return None, (done.stdout + done.stderr)[-1000:]
    with open(out, encoding="utf-8") as file:
        report = json.load(file)
    missing = {"read": False, "why_not": "nothing of a GPU; " + done.stderr.strip()[-300:]}
    counters = report.get("gpu", {}).get("counters", missing)
    return report["kernels"], "" if counters["read"] else counters["why_not"]


class Figures:
    """By figure: how many kernels agree, and which do not."""

    def __init__(self):
        self.rows = {}

    def add(self, figure, kernel, counted, measured):
        row = self.rows.setdefault(figure, {"same": 0, "near": 0, "apart": []})
        if counted == measured:
            row["same"] += 1
        elif abs(counted - measured) <= NEAR * max(counted, measured):
            row["near"] += 1
        else:
            row["apart"].append((kernel, counted, measured))

    def table(self):
        lines = ["| figure | same | within 2 % | further apart |", "|---|---|---|---|"]
        for figure, row in self.rows.items():
            lines.append("| %s | %d | %d | %d |" % (figure.replace("_", " "), row["same"], row["near"],
                                                   len(row["apart"])))
        return lines

    def apart(self):
        for figure, row in self.rows.items():
            for kernel, counted, measured in row["apart"]:
                yield "`%s`, %s: counted %s, the GPU %s" % (kernel, figure.replace("_", " "), f"{counted:,.0f}",
                                                            f"{measured:,.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--out", help="where to write instead")
    options = parser.parse_args()
    package = os.path.abspath(os.path.join(options.build, "python"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    figures, bad, kernels = Figures(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, command in lessons(options.build):  # one at a time, since a GPU serves one profiler
            found, why = explained(options.build, command, folder, name)
            if found is None:
                bad.append(f"{name} fails: {why}")
                continue
            if why:
                bad.append(f"{name}: {why}")
                continue
            for kernel in found:
                counters = kernel.get("gpu", {}).get("counters") or {}
                both = {k: v for k, v in counters.items() if "counted" in v and k not in LEFT_OUT}
                kernels += 1 if both else 0
                for figure, value in both.items():
                    if value["counted"] or value["measured"]:
                        label = f"{name}: {kernel['name'].split('(')[0]}"
                        figures.add(figure, label, value["counted"], value["measured"])
    print("\n".join(figures.table() + [""] + ["- " + text for text in figures.apart()] + bad))
    if options.write or options.out:
        lines = ["# What is counted, beside a GPU's counters", "",
                 "Written by `python3 tests/gpu/counters.py build --write` on %s (%s): `warploom explain` runs every "
                 "lesson," % (datetime.date.today(), programs.gpu_name("no GPU")),
                 "counts its launches, and has the GPU count the same launches. %d kernels." % kernels, ""]
        lines += figures.table() + ["", "**Further apart.**", ""] + ["- " + text for text in figures.apart()]
        with open(options.out or PAGE, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    sys.exit(1 if bad or not kernels else 0)


if __name__ == "__main__":
    main()
