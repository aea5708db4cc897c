#!/usr/bin/env python3
"""Runs clang-tidy on some folders, skipping files that passed unchanged: tidy.py SOURCE BUILD JOBS FOLDER..."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys


def fingerprint(entry, config):
    """A hash of the preprocessed text and of the configuration, so that a header's change counts."""
    words = [word for word in shlex.split(entry["command"]) if not word.endswith("ccache")]
    output = words.index("-o")
    words[output + 1] = "-"
    text = subprocess.run(words + ["-E", "-P"], cwd=entry["directory"], capture_output=True, check=True).stdout
    return hashlib.sha256(config + text).hexdigest()


def main():
    source, build, jobs, names = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    tidy = shutil.which("clang-tidy-22")
    if not tidy:
        print("[SKIP] clang-tidy-22 is not installed")
        return 0
    config = pathlib.Path(source, ".clang-tidy").read_bytes()
    passed = pathlib.Path(build, "tidy-passed")
    passed.mkdir(exist_ok=True)
    folders = tuple(os.path.join(os.path.abspath(source), name) + os.sep for name in names)
    entries = [e for e in json.loads(pathlib.Path(build, "compile_commands.json").read_text())
               if os.path.abspath(os.path.join(e["directory"], e["file"])).startswith(folders)]

    def check(entry):
        stamp = passed / fingerprint(entry, config)
        if stamp.exists():
            return 0, ""
        # Compiler warnings are GCC's business; clang knows other ones, also in the standard library's headers.
        command = [tidy, "-p", build, "--quiet", "--extra-arg=-w", entry["file"]]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 0:
            stamp.touch()
        return result.returncode, result.stdout

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(check, entries))
    failures = [text for code, text in results if code]
    print("\n".join(failures) if failures else f"clang-tidy has nothing to say about {len(entries)} files")
    return 1 if failures or not entries else 0


sys.exit(main())
