"""Signature under the module name that Numba's users import it from."""

from . import Signature, signature  # noqa: F401
