"""Finds numba-cuda's own test suite, which its PyPI package carries, and unpacks it outside the repository."""
from __future__ import annotations

import glob
import os
import subprocess
import sys
import zipfile

VERSION = "0.30.4"
HELPERS = ("filecheck",)  # what some of its tests use beside NumPy and pytest


def cache_folder() -> str:
    """The folder for what is downloaded: WARPLOOM_JUDGE_CACHE, or one in the user's cache."""
    return os.environ.get("WARPLOOM_JUDGE_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "warploom-judge")


def _pip(*arguments: str) -> bool:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]
    try:
        return subprocess.run(command, capture_output=True, timeout=180, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def locate(download: bool = True) -> str | None:
    """The unpacked folder numba_cuda/numba/cuda, fetched when it is not there yet; None when it cannot be had."""
    cache = cache_folder()
    unpacked = os.path.join(cache, f"numba-cuda-{VERSION}")
    package = os.path.join(unpacked, "numba_cuda", "numba", "cuda")
    if os.path.isdir(os.path.join(package, "tests")):
        return package
    pattern = os.path.join(cache, f"numba_cuda-{VERSION}-*.whl")
    if not glob.glob(pattern) and download:
        os.makedirs(cache, exist_ok=True)
        # Any wheel does: the tests are the same files in each, and nothing compiled is loaded.
        _pip("download", "--no-deps", "--dest", cache, f"numba-cuda=={VERSION}") or _pip(
            "download", "--no-deps", "--dest", cache, "--only-binary=:all:", "--python-version", "3.12",
            "--platform", "manylinux_2_28_x86_64", f"numba-cuda=={VERSION}")
    wheels = glob.glob(pattern)
    if not wheels:
        return None
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(unpacked, [name for name in wheel.namelist() if name.startswith("numba_cuda/")])
    return package if os.path.isdir(os.path.join(package, "tests")) else None


def helpers() -> str:
    """A folder for PYTHONPATH with the suite's helpers for this Python, as far as they could be fetched."""
    folder = os.path.join(cache_folder(), f"helpers-{sys.implementation.cache_tag}")
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)
        for name in HELPERS:
            _pip("install", "--no-deps", "--target", folder, name)
    return folder
