"""Errors of kernels name the line of the program that launched them."""
from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from warploom import cuda
@cuda.jit
def store(a, i):
    a[i] = 1
a = cuda.to_device(np.zeros(4, np.float32))
for i in {places}:
    store[1, 1](a, i)
try:
    cuda.synchronize()
except cuda.cudadrv.driver.CudaAPIError as error:
    print(error)
"""


@pytest.mark.parametrize("places", ["[1 << 40]", "[0, 1, 1 << 40]"], ids=["first", "later"])
def test_a_wild_store_names_its_launch(tmp_path, places):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(places=places).lstrip("\n"), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], env=dict(os.environ), text=True, capture_output=True,
                          check=False)
    assert "launched at %s:8" % program in done.stdout, done.stdout + done.stderr
    assert "store" in done.stdout
