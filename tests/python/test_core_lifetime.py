"""Threads, callbacks and the end of the interpreter, around warploom._core."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import threading

import pytest

from warploom import _core

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry add_one(.param .u64 out)
{
  .reg .b64 %d<2>; .reg .b32 %r<3>;
  ld.param.u64 %d1, [out];
  ld.global.u32 %r1, [%d1];
  add.u32 %r2, %r1, 1;
  st.global.u32 [%d1], %r2;
  ret;
}
"""

PRELUDE = f"""
import threading, time, sys
from warploom import _core
device = _core.Device.open("cpu", threads=1)
module = device.load_ptx('''{PTX}''', "lifetime.ptx")
add_one = _core.Launcher(module.kernel("add_one"), ["ptr(int32)"])
cell = device.allocate(4)
device.fill(cell.address, 0, 4, 1)
stream = _core.Stream(device)
def launch(address=None, on=None):
    add_one.launch(1, 1, on, 0, False, (cell.address if address is None else address,))
"""


def run(body, **environment):
    """Runs a program in an interpreter of its own, which must end by itself."""
    root = str(pathlib.Path(_core.__file__).parents[1])
    return subprocess.run([sys.executable, "-c", PRELUDE + body], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, PYTHONPATH=root, **environment))


def test_ends_with_work_queued():
    done = run("for _ in range(2000): launch(on=stream)\n"
               "stream.host_function(lambda: print('called', flush=True))\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "called\n", "")


def test_ends_with_a_reference_cycle():
    done = run("class Holder: pass\nholder = Holder()\nholder.all = (holder, device, stream, cell, module, add_one)\n"
               "stream.host_function(lambda: holder)\nlaunch(on=stream)\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_ends_while_a_daemon_thread_launches():
    done = run("def work():\n  while True:\n    launch(); device.synchronize()\n"
               "    stream.host_function(lambda: None)\n"
               "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
               "time.sleep(0.2)\n")
    assert done.returncode == 0, done.stderr


def test_end_reports_an_error_that_nobody_waited_for():
    done = run("launch(64, stream)\n")
    assert done.returncode == 0 and "illegal_address" in done.stderr and "lifetime.ptx" in done.stderr


def test_end_reports_a_failed_host_function():
    done = run("stream.host_function(lambda: 1 / 0)\n")
    assert done.returncode == 0 and "ZeroDivisionError" in done.stderr


def test_exit_in_the_middle():
    done = run("launch(on=stream)\nstream.host_function(lambda: time.sleep(0.05))\nsys.exit(3)\n")
    assert (done.returncode, done.stderr) == (3, "")


def test_explain_is_printed_at_the_end():
    done = run("launch(on=stream)\n", WARPLOOM_OBSERVE="explain")
    assert done.returncode == 0 and "add_one" in done.stdout, done.stdout + done.stderr


@pytest.fixture(scope="module")
def device():
    return _core.Device.open("cpu", threads=2)


def test_many_threads_launch_and_call_back(device):
    launcher = _core.Launcher(device.load_ptx(PTX, "threads.ptx").kernel("add_one"), ["ptr(int32)"])
    memory = device.allocate(4096)
    device.fill(memory.address, 0, 4, 1024)
    called, errors = [], []

    def work(index):
        try:
            stream = _core.Stream(device)
            fast = _core.FastDispatcher()
            fast.add(["int64"], launcher)
            config = _core.LaunchConfig(1, 1, stream)
            for turn in range(100):
                assert fast.call(config, (memory.address + 64 * index,)) == 1
                if turn % 10 == 0:
                    stream.host_function(lambda: called.append(index))
                if turn % 25 == 0:
                    stream.synchronize()
                    scratch = device.allocate_host(64)
                    device.copy(scratch.address, memory.address, 64)
            stream.synchronize()
        except BaseException as error:  # reported by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    out = device.allocate_host(4096)
    device.copy(out.address, memory.address, 4096)
    import ctypes
    counts = (ctypes.c_int * 1024).from_address(out.address)
    assert [counts[16 * index] for index in range(6)] == [100] * 6
    assert sorted(called) == sorted(list(range(6)) * 10)


def test_a_host_function_may_hold_the_last_reference(device):
    class Owner:
        def __init__(self):
            self.stream = _core.Stream(device)
            self.memory = device.allocate(1 << 16)

    owner, gone = Owner(), threading.Event()
    import weakref
    weakref.finalize(owner, gone.set)
    stream = owner.stream
    stream.host_function(lambda owner=owner: None)
    del owner
    stream.synchronize()
    assert gone.wait(10)


def test_a_host_function_may_not_wait(device):
    stream, seen = _core.Stream(device), []

    def wait():
        try:
            device.synchronize()
        except _core.Error as error:
            seen.append(error.name)

    stream.host_function(wait)
    stream.synchronize()
    assert seen == ["not_permitted"]
