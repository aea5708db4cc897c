"""What managed arrays say of their pages (CUDA Programming Guide, "Unified Memory Programming")."""

from __future__ import annotations

from typing import Any

from . import devices
from . import driver as _driver
from ._streams import core_stream

_ADVICE = ("set_read_mostly", "unset_read_mostly", "set_preferred_location", "unset_preferred_location",
           "set_accessed_by", "unset_accessed_by")


class ManagedPages:
    """``location`` is "host" or "device"; a slice of an array means the pages that it touches."""

    gpu_data: Any
    _default_stream: Any

    def _part(self, location: str) -> tuple:
        if location not in ("host", "device"):
            raise ValueError("a location is 'host' or 'device', not %r" % (location,))
        start, end = _driver.host_memory_extents(self)
        return location == "host", start - self.gpu_data.host_pointer, end - start

    def advise(self, advice: str, location: str = "device") -> None:
        """Says how the array is used (cuMemAdvise): "set_read_mostly", "set_preferred_location", "set_accessed_by", and
        each with "unset". ValueError for another text."""
        if advice not in _ADVICE:
            raise ValueError("advice is one of %s, not %r" % (", ".join(_ADVICE), advice))
        host, offset, size = self._part(location)
        self.gpu_data.advise(_ADVICE.index(advice) + 1, host, offset, size)

    def prefetch(self, location: str = "device", stream=0) -> None:
        """Moves the array's pages, in the order of the stream (cuMemPrefetchAsync)."""
        host, offset, size = self._part(location)
        context = devices.get_context()
        self.gpu_data.prefetch(host, core_stream(self._default_stream(stream), context), offset, size)

    def attach(self, how: str = "global", stream=0) -> None:
        """Says whose work uses the array from here on (cuStreamAttachMemAsync): "global", "host", or "single" for that
        of the stream. A hint; ValueError for another text, CudaAPIError 1 for "single" on a default stream."""
        known = {"global": 1, "host": 2, "single": 4}
        if how not in known:
            raise ValueError("memory is attached as one of %s, not %r" % (", ".join(known), how))
        context = devices.get_context()
        self.gpu_data.attach(known[how], core_stream(self._default_stream(stream), context))

    def pages(self) -> dict:
        """Pages of the whole allocation by where they are and how they got there: docs/guide/memory.md."""
        return self.gpu_data.pages()
