"""Which devices there are by the environment, in processes of their own."""
import os
import subprocess
import sys

import pytest

PROGRAM = """
from warploom import cuda
try:
    total = cuda.to_device([1, 2]).copy_to_host().sum()
    print(cuda.is_available(), len(cuda.gpus), cuda.get_current_device().id, total)
except cuda.cudadrv.error.CudaSupportError as error:
    print(cuda.is_available(), error)
"""

ON_GPUS = bool(os.environ.get("WARPLOOM_CUDA_DRIVER"))


def run(**environment):
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, **environment}, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["banana", "cuda:", "cuda:99", "cpu ", "CUDA"])
def test_devices_that_are_not_there_are_refused(name):
    text = run(WARPLOOM_DEVICE=name)
    assert text.startswith("False Error at driver init"), text
    assert "WARPLOOM_DEVICE" in text and "to do: " in text


def test_the_cpu_device_is_always_there():
    assert run(WARPLOOM_DEVICE="cpu").split() == ["True", "1", "0", "3"]


@pytest.mark.skipif(not ON_GPUS, reason="no GPU")
@pytest.mark.parametrize("name, first", [("", "0"), ("cuda", "0"), ("cuda:0", "0"), ("cuda:1", "1")])
def test_the_gpu_named_is_the_first_current_one(name, first):
    assert run(WARPLOOM_DEVICE=name).split() == ["True", "2", first, "3"]


@pytest.mark.skipif(ON_GPUS, reason="there are GPUs")
def test_gpus_asked_for_where_there_are_none():
    assert "CUDA driver" in run(WARPLOOM_DEVICE="cuda")


@pytest.mark.parametrize("library", ["/no/such/library.so", __file__, "libm.so.6"])
def test_drivers_that_are_none(library):
    assert run(WARPLOOM_CUDA_DRIVER=library, WARPLOOM_DEVICE="").split() == ["True", "1", "0", "3"]
    assert "to do: " in run(WARPLOOM_CUDA_DRIVER=library, WARPLOOM_DEVICE="cuda:0")
