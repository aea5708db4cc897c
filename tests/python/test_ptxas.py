"""NVIDIA's assembler, where it is installed, accepts the PTX of every kernel of the examples."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import zlib

import pytest

# Kernels that are linked with other code are not kept in the cache.
EXAMPLES = [path for path in sorted((pathlib.Path(__file__).parents[2] / "examples" / "python").glob("*/main.py"))
            if path.parent.name != "14_cuda_cpp"]
PTXAS = shutil.which("ptxas")


def texts(folder):
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                value = json.loads(zlib.decompress((pathlib.Path(root) / name).read_bytes()))
            except (ValueError, zlib.error):
                continue
            if "ptx" in value.get("value", {}):
                yield value["value"]["ptx"]


@pytest.mark.skipif(PTXAS is None, reason="[SKIP] ptxas is not installed")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_ptxas_accepts_the_kernels_of(example, tmp_path):
    environment = dict(os.environ, WARPLOOM_CACHE_DIR=str(tmp_path), WARPLOOM_CACHE="1", PYTHONWARNINGS="ignore")
    subprocess.run([sys.executable, str(example)], env=environment, cwd=tmp_path, check=True, capture_output=True)
    found = list(texts(tmp_path))
    assert found, "the example left nothing in the cache"
    for ptx in found:
        done = subprocess.run([PTXAS, "-arch=sm_90", "-c", "-o", os.devnull, "-"], input=ptx, capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr + ptx
