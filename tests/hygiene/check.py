#!/usr/bin/env python3
"""Checks each source file's length, opening sentence and cleanliness: check.py SOURCE_FOLDER."""
import os
import pathlib
import re
import sys

MAX_LINES = 800
MAX_COLUMNS = 120
CODE = (".cpp", ".hpp", ".h", ".def", ".cu", ".cuh", ".cl", ".py", ".pyi", ".cmake")
SCRIPTS = ("Makefile", "tools/setup", "tools/test", "tools/configure", "tools/python", "tools/bench",
           "tools/docs_check", "tools/python_reference", "tools/devicelib_signatures", "tools/devicelib_fits",
           "tools/math_report", ".ci/run")
OUTSIDE = (".git", ".cache", ".pytest_cache", "node_modules", "__pycache__")
MACHINE_PATH = re.compile(r"(?<![\w.-])/(work|home|root|Users)/\w")
PROSE = (".md", ".txt", ".toml")


def files_of(source):
    for folder, folders, names in os.walk(source):
        top = folder == source
        folders[:] = sorted(f for f in folders if f not in OUTSIDE and not (top and f.startswith("build")))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), source)


def opens_with_a_sentence(path, text):
    lines = text.split("\n")
    if lines[0].startswith("#!"):
        lines = lines[1:]
    if not lines or not lines[0]:
        return False
    if path.endswith((".py", ".pyi")) or lines[0].startswith('"""'):
        return lines[0].startswith(('"""', "# "))
    return lines[0].startswith(("// ", "/* ", "# "))


def check_file(path, text):
    code = path.endswith(CODE) or path in SCRIPTS
    lines = text.split("\n")
    if MACHINE_PATH.search(text) and path != "tests/hygiene/check.py":
        yield "names a path of one machine"
    if not code:
        return
    if len(lines) > MAX_LINES + 1:
        yield f"{len(lines) - 1} lines; split it, the limit is {MAX_LINES}"
    if not opens_with_a_sentence(path, text):
        yield "does not open with a comment that says what the file is for"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() and path != "Makefile":
            yield f"line {number} ends in white space"
        if len(line) > MAX_COLUMNS and path.endswith((".py", ".pyi", ".cmake")):  # clang-format sees to C++
            yield f"line {number} has {len(line)} columns; the limit is {MAX_COLUMNS}"
    if text and not text.endswith("\n"):
        yield "does not end in a newline"


def main():
    source = os.path.abspath(sys.argv[1])
    errors, checked = [], 0
    for path in files_of(source):
        if not path.endswith(CODE + PROSE) and path not in SCRIPTS and not path.endswith("CMakeLists.txt"):
            continue
        text = pathlib.Path(source, path).read_text(encoding="utf-8")
        errors += [f"{path}: {error}" for error in check_file(path, text)]
        checked += 1
    print("\n".join(errors) if errors else f"{checked} files are clean")
    return 1 if errors or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
