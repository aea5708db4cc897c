"""Whether PTX can be generated, by the names of Numba's NVVM layer."""

from __future__ import annotations

from .error import NvvmError, NvvmSupportError, NvvmWarning

__all__ = ["NvvmError", "NvvmSupportError", "NvvmWarning", "is_available"]


def is_available() -> bool:
    """Whether PTX can be generated: True, the generator is part of this package."""
    return True
