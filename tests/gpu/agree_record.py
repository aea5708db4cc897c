"""Records what a Python program reads back from its device, so that two devices can be compared.

As a pytest plugin (PYTEST_PLUGINS=agree_record) or around a script (agree_record.py SCRIPT ARGUMENTS...): each test, or
the script, leaves FOLDER/NAME.npz with its arrays in the order in which they were read; WARPLOOM_AGREE names FOLDER.
"""
import hashlib
import os
import random
import runpy
import sys

import numpy as np

FOLDER = os.environ.get("WARPLOOM_AGREE", "")
MOST = 64 << 20  # bytes of a test
_read = []


def install():
    """Has every copy from device memory kept; launches with host arrays go the long way, which copies here too."""
    from warploom.cuda import fastpath
    from warploom.cuda.cudadrv import devicearray, devices, driver

    original = driver.device_to_host

    def recorded(dst, src, size, stream=0, offset=0):
        original(dst, src, size, stream=stream, offset=offset)
        if stream:
            devices.get_context().synchronize()
        dtype = getattr(src, "dtype", None)
        data = np.array(np.asarray(dst), copy=True)
        if data.dtype == np.uint8 and dtype is not None and data.nbytes % dtype.itemsize == 0:
            data = np.frombuffer(data.tobytes(), dtype)
        _read.append(data)

    driver.device_to_host = recorded
    devicearray.read_plain = lambda *_: False  # the short way of a copy
    fastpath.learn = lambda *_: None


def save(name):
    """Writes what was read since the last call; nothing for nothing, and for more than can be kept."""
    arrays, _read[:] = list(_read), []
    if not arrays or sum(a.nbytes for a in arrays) > MOST or any(a.dtype.hasobject for a in arrays):
        return
    os.makedirs(FOLDER, exist_ok=True)
    file = os.path.join(FOLDER, hashlib.sha256(name.encode()).hexdigest()[:24] + ".npz")
    # Records and other types that a file would not keep are bytes.
    kept = [a if a.dtype.kind in "biufc" else np.frombuffer(a.tobytes(), np.uint8) for a in arrays]
    np.savez(file, name=np.array(name), **{"a%04d" % i: a for i, a in enumerate(kept)})


def same_numbers():
    """Seeds what programs draw without a seed of their own."""
    random.seed(1)
    np.random.seed(1)
    made = np.random.default_rng
    if not getattr(made, "seeded", False):
        def seeded(seed=None):
            return made(1 if seed is None else seed)

        seeded.seeded = True
        np.random.default_rng = seeded


def pytest_runtest_setup():
    """Called by pytest before each test."""
    same_numbers()


def pytest_configure():
    """Called by pytest before the tests."""
    install()


def pytest_runtest_logreport(report):
    """Called by pytest after each part of a test; failed ones leave nothing."""
    if report.when == "call" and report.passed:
        save(report.nodeid)
    elif report.when != "setup":
        _read.clear()


def main():
    script = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    install()
    same_numbers()
    runpy.run_path(script, run_name="__main__")
    save(os.environ.get("WARPLOOM_AGREE_NAME", script))


if __name__ == "__main__":
    main()
