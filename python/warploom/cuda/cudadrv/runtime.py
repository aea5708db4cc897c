"""The CUDA run-time version that is provided."""

from __future__ import annotations

from typing import List, Tuple

from .driver import driver


def get_version() -> Tuple[int, int]:
    """(major, minor) of the CUDA toolkit whose features are provided."""
    return driver.get_version()


class Runtime:
    """As an object, for callers that expect one."""

    get_version = staticmethod(get_version)

    def is_supported_version(self) -> bool:
        """True."""
        return True

    @property
    def supported_versions(self) -> List[Tuple[int, int]]:
        """The versions that are supported."""
        return [get_version()]


runtime = Runtime()
