"""Code that kernels are linked with (Numba documentation: "Calling foreign functions from Python kernels")."""

from __future__ import annotations

import io
import os
from typing import Any, Callable, Dict, Optional, Union


class LinkableCode:
    """Code in memory, given as str, bytes or a file object.

    ``name`` stands in messages; ``setup_callback(module)`` is called when a module that contains the code has been
    loaded, ``teardown_callback(module)`` before it is unloaded.
    """

    kind: str = ""
    default_name: str = "<unnamed>"

    def __init__(self, data: Union[str, bytes, io.IOBase], name: Optional[str] = None,
                 setup_callback: Optional[Callable[[Any], None]] = None,
                 teardown_callback: Optional[Callable[[Any], None]] = None) -> None:
        for callback, what in ((setup_callback, "setup_callback"), (teardown_callback, "teardown_callback")):
            if callback is not None and not callable(callback):
                raise TypeError("%s must be callable" % what)
        if isinstance(data, io.IOBase):
            if name is None:
                name = getattr(data, "name", None)
            data = data.read()
        self.data = data
        self.name = name or self.default_name
        self.setup_callback = setup_callback
        self.teardown_callback = teardown_callback

    @classmethod
    def from_path(cls, path: str) -> "LinkableCode":
        """The file's code, its kind by the name's ending; RuntimeError for an ending that is not known."""
        path = os.fspath(path)
        ending = os.path.splitext(path)[1][1:].lower()
        if ending not in _KINDS:
            raise RuntimeError("Don't know how to link file with extension .%s" % ending)
        kind = _KINDS[ending]
        with open(path, "r" if kind in (CUSource, PTXSource) else "rb") as file:
            return kind(file.read(), name=os.path.basename(path))

    @classmethod
    def from_path_or_obj(cls, path_or_obj: Any) -> "LinkableCode":
        """The object itself, or the code of the file."""
        return path_or_obj if isinstance(path_or_obj, LinkableCode) else cls.from_path(path_or_obj)


class PTXSource(LinkableCode):
    """PTX text."""

    kind = "ptx"
    default_name = "<unnamed-ptx>"


class CUSource(LinkableCode):
    """CUDA C++ source."""

    kind = "cu"
    default_name = "<unnamed-cu>"


class Fatbin(LinkableCode):
    """A fat binary."""

    kind = "fatbin"
    default_name = "<unnamed-fatbin>"


class Cubin(LinkableCode):
    """A binary for one architecture."""

    kind = "cubin"
    default_name = "<unnamed-cubin>"


class Archive(LinkableCode):
    """An archive of objects."""

    kind = "a"
    default_name = "<unnamed-archive>"


class Object(LinkableCode):
    """An object file."""

    kind = "o"
    default_name = "<unnamed-object>"


class LTOIR(LinkableCode):
    """Code for optimisation at link time."""

    kind = "ltoir"
    default_name = "<unnamed-ltoir>"


_KINDS: Dict[str, type] = {kind.kind: kind for kind in (PTXSource, CUSource, Fatbin, Cubin, Archive, Object, LTOIR)}
_KINDS["lib"] = Archive
_KINDS["obj"] = Object
