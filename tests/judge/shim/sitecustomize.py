"""Makes `numba.cuda` mean warploom.cuda in a Python process of the judge and in the child processes that tests start."""
import os

if os.environ.get("WARPLOOM_JUDGE_SUITE"):
    import judge_shim

    judge_shim.install()
