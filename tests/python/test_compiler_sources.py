"""Kernels whose source is only a string given to exec()."""
import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import frontend


def _make(text, name="kernel"):
    names = {"cuda": cuda}
    exec(text, names)
    return names[name]


@pytest.mark.filterwarnings("ignore")
def test_exec_without_a_file_compiles():
    kernel = cuda.jit(_make("def kernel(r, x):\n    r[0] = x * 2\n"))
    r = np.zeros(1)
    kernel[1, 1](r, 4.0)
    assert r[0] == 8


@pytest.mark.filterwarnings("ignore")
def test_texts_that_differ_in_a_constant_are_told_apart():
    first = _make("def kernel(r):\n    r[0] = 1\n")
    second = _make("def kernel(r):\n    r[0] = 1.5\n")
    for function, wanted in ((second, 1.5), (first, 1), (second, 1.5)):
        r = np.zeros(1)
        cuda.jit(function)[1, 1](r)
        assert r[0] == wanted


def test_recent_sources_are_newest_first_and_bounded():
    from warploom import _core

    for i in range(5000):
        compile(f"def f{i}(): pass", "<numbered>", "exec")
    found = _core.recent_sources("<numbered>")
    assert found[0] == "def f4999(): pass" and found[1] == "def f4998(): pass"
    assert len(found) <= 4096
    assert len(set(found)) == len(found)


def test_lambda_in_eval():
    node, name, lines, first = frontend.source_of(eval("lambda x: x + 41"))
    assert name == "<string>" and lines == ["lambda x: x + 41"] and first == 1
