"""Names of numba that stand for warploom.cuda, in processes of their own."""

import os
import subprocess
import sys
import textwrap

import pytest


def run(program, **environment):
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env={**os.environ, **environment}, text=True,
                         capture_output=True)
    assert out.returncode == 0, out.stderr
    return out.stdout


@pytest.mark.parametrize("root", ["numba", "numba_cuda_mlir"])
def test_modules_are_the_same_objects(root):
    run(f"""
        import warploom
        warploom.install()
        warploom.install()
        from {root} import cuda
        import warploom.cuda, warploom.cuda.core.errors, warploom.cuda.np.numpy_support
        assert cuda is warploom.cuda
        assert cuda.__name__ == "warploom.cuda" == cuda.__spec__.name
        import {root}.cuda.types as types
        assert types is warploom.cuda.types
        from {root} import types as again, float32, typeof, literal_unroll
        assert again is types and float32 is types.float32 and typeof(1) is types.int64
        import {root}.core.errors
        assert {root}.core.errors is warploom.cuda.core.errors
        from {root}.core import errors, config, types as third
        assert third is types and config is warploom.cuda.config
        from {root}.np.numpy_support import from_dtype
        from {root}.cuda.random import create_xoroshiro128p_states
        from {root} import vectorize, guvectorize, jit
        assert guvectorize is warploom.cuda.guvectorize
        assert vectorize(lambda x: x + 1)([1, 2]).tolist() == [2, 3]  # without a target: on the CPU, as Numba
        f = lambda: None
        assert jit(f) is f and jit(nopython=True)(f) is f
    """)


def test_what_is_not_there_is_not_found():
    run("""
        import warploom
        warploom.install()
        for name in ("numba.cuda.nothing", "numba.parfors"):
            try:
                __import__(name)
            except ModuleNotFoundError:
                continue
            raise SystemExit(name)
        import numba
        assert not hasattr(numba, "prange")
    """)


def test_uninstall():
    run("""
        import sys, warploom
        warploom.install()
        import numba.cuda
        warploom.uninstall()
        assert "numba" not in sys.modules and "warploom.cuda" in sys.modules
    """)


def test_environment():
    program = """
        import warploom._install as i
        i.install_from_environment()
        print(i.installed())
    """
    assert run(program, WARPLOOM_INSTALL="1").strip() == "True"
    assert run(program, WARPLOOM_INSTALL="0").strip() == "False"


def test_real_numba_is_not_replaced(tmp_path):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("")
    program = """
        import sys
        sys.path.insert(0, {path!r})
        import numba, warploom
        try:
            warploom.install()
        except RuntimeError as error:
            print("refused", "import numba" in str(error))
    """.format(path=str(tmp_path))
    assert run(program).strip() == "refused True"
