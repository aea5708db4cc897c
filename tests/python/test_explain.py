"""What the report says about Python kernels: source lines, what a literal makes double precision, a GPU's counters."""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = '''
import numpy as np
from warploom import cuda


@cuda.jit({options})
def scale(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * 2.5 + 1


x = cuda.to_device(np.arange(1000, dtype=np.float32))
y = cuda.device_array_like(x)
scale[8, 128](x, y)
cuda.synchronize()
'''


def explain(tmp_path, options):
    script = tmp_path / "scale.py"
    script.write_text(SCRIPT.format(options=options))
    environment = dict(os.environ, WARPLOOM_OBSERVE="explain", PYTHONWARNINGS="ignore")
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def test_a_literal_that_widens_float32_is_named_with_its_line(tmp_path):
    report = explain(tmp_path, "")
    assert "kernel scale(Array<float, 1, C>, Array<float, 1, C>)" in report
    assert "scale.py:10: Double-precision arithmetic from the literal 2.5 on float32 data" in " ".join(report.split())
    assert "10 | y[i] = x[i] * 2.5 + 1" in report


def test_narrow_typing_computes_in_single_precision(tmp_path):
    report = explain(tmp_path, 'typing="narrow"')
    assert "kernel scale(" in report
    assert "Double-precision" not in report


@pytest.mark.skipif("WARPLOOM_TEST_CUPTI" not in os.environ, reason="the stand-ins for driver and CUPTI are not built")
def test_cupti_of_a_wheel_is_found(tmp_path):
    script = tmp_path / "scale.py"
    script.write_text(SCRIPT.format(options=""))
    folder = tmp_path / "site" / "nvidia" / "cuda_cupti" / "lib"
    folder.mkdir(parents=True)
    (folder / "libcupti.so.12").symlink_to(os.environ["WARPLOOM_TEST_CUPTI"])
    times = tmp_path / "times.json"
    environment = dict(os.environ, WARPLOOM_OBSERVE="gpu_time", WARPLOOM_GPU_TIMES=str(times), PYTHONWARNINGS="ignore",
                       WARPLOOM_CUDA_DRIVER=os.environ["WARPLOOM_TEST_CUDA_DRIVER"],
                       PYTHONPATH=os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]))
    subprocess.run([sys.executable, str(script)], env=environment, check=True)
    (kernel,) = json.loads(times.read_text())["kernels"]
    assert kernel["warm"] and kernel["counters"]["smsp__inst_executed.sum"] == len("smsp__inst_executed.sum")
