"""Cooperative groups: the group of all threads of a grid. Source: CUDA C++ Programming Guide, "Cooperative Groups"."""

from __future__ import annotations

from .stubs import device_function


class GridGroup:
    """All threads of the grid; only exists inside a kernel."""

    def sync(self) -> None:
        """Wait until every thread of the grid is here. The kernel is launched cooperatively without being told."""
        raise NotImplementedError("GridGroup.sync() can only be called inside a kernel")


@device_function("cuda.cg.this_grid")
def this_grid() -> GridGroup:
    """The group of all threads of the grid."""
