"""Small facts about the interpreter under Numba's module name."""

import sys

PYVERSION = sys.version_info[:2]
MACHINE_BITS = 64 if sys.maxsize > 2**32 else 32
