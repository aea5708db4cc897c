"""vectorize and guvectorize under the module name that Numba's users import them from."""

from ..vectorizers import guvectorize, vectorize  # noqa: F401
