"""literal_unroll under the module name that Numba's users import it from."""

from ..stubs import literal_unroll  # noqa: F401
