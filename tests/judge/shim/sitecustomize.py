"""Makes `numba.cuda` mean warploom.cuda in the judge's Python processes and in the ones that tests start."""
import os

if os.environ.get("WARPLOOM_JUDGE_SUITE"):
    import judge_shim

    judge_shim.install()
