"""Linking of kernels with other code: PTX, CUDA C++, and PTX in fatbins and object files.

Numba documentation: "Calling foreign functions".
"""

from __future__ import annotations

import os
from typing import Any, Iterable, List, Optional, Tuple

from warploom import _core
from warploom.cuda.core import config

from . import _ptx_link
from ._modules import Module
from .error import NvrtcCompilationError
from .linkable_code import Archive, Cubin, CUSource, Fatbin, LinkableCode, Object, PTXSource


class LinkerError(RuntimeError):
    """Code could not be linked."""


_MACHINE_CODE = ("%s: it holds no PTX, and machine code of a GPU cannot be linked here; give PTX, CUDA C++ source, or "
                 "what was compiled with PTX in it")


class Linker:
    """Collects PTX, CUDA C++ source and files with PTX in them, and makes one PTX text of them.

    ``cc``: compute capability to compile for. ``max_registers``, ``lineinfo``, ``lto`` and ``additional_flags`` are
    accepted. Raises LinkerError, and NvrtcCompilationError for source that does not compile.
    """

    def __init__(self, max_registers: int = 0, lineinfo: bool = False, cc: Optional[Tuple[int, int]] = None,
                 lto: bool = False, additional_flags: Optional[Iterable[str]] = None) -> None:
        self.cc = tuple(cc) if cc is not None else (9, 0)
        self.lineinfo = lineinfo
        self.texts: List[Tuple[str, str]] = []

    def add_ptx(self, ptx: Any, name: str = "<cudapy-ptx>") -> None:
        """Adds PTX text."""
        self.texts.append((name, ptx.decode("utf-8") if isinstance(ptx, bytes) else ptx))

    def add_cu(self, cu: Any, name: str = "<cudapy-cu>", folder: Optional[str] = None) -> None:
        """Compiles CUDA C++ source and adds the PTX; quoted includes are looked up in ``folder``."""
        source = cu.decode("utf-8") if isinstance(cu, bytes) else cu
        folders = [folder] if folder else []
        folders += [path for path in config.CUDA_NVRTC_EXTRA_SEARCH_PATHS.split(":") if path]
        try:
            ptx = _core.compile_cuda(source, name=name, arch="sm_%d%d" % tuple(self.cc[:2]), include_dirs=folders)
        except _core.Error as error:
            raise NvrtcCompilationError('NVRTC_ERROR_COMPILATION: errors in the compilation of "%s":\n%s'
                                        % (name, error)) from None
        self.texts.append((name, ptx))

    def add_file(self, path: str) -> None:
        """Adds a file, its kind by its ending."""
        path = os.fspath(path)
        ending = os.path.splitext(path)[1]
        if not ending:
            raise RuntimeError("Don't know how to link file with no extension")
        if ending not in (".ptx", ".cu", ".cubin", ".fatbin", ".a", ".lib", ".o", ".ltoir"):
            raise RuntimeError("Don't know how to link file with extension %s" % ending)
        if not os.path.isfile(path):
            raise LinkerError("%s not found" % path)
        code = LinkableCode.from_path(path)
        if isinstance(code, CUSource):
            self.add_cu(code.data, code.name, os.path.dirname(os.path.abspath(path)))
        else:
            self.add_code(code)

    def add_code(self, code: LinkableCode) -> None:
        """Adds code in memory."""
        if isinstance(code, PTXSource):
            self.add_ptx(code.data, code.name)
        elif isinstance(code, CUSource):
            self.add_cu(code.data, code.name)
        elif isinstance(code, (Fatbin, Cubin, Archive, Object)):
            self.add_image(code.data, code.name)
        else:
            raise LinkerError(_MACHINE_CODE % code.name)

    def add_image(self, data: bytes, name: str = "<cudapy-image>") -> None:
        """Adds the PTX in a fatbin, an object file or an archive; LinkerError when there is none that fits."""
        from .devices import get_context

        try:
            self.texts.append((name, _core.image_ptx(get_context()._core_device, bytes(data), name)))
        except _core.Error as error:
            raise LinkerError("%s (%s)" % (_MACHINE_CODE % name, error)) from None

    def add_file_guess_ext(self, path_or_code: Any, ignore_nonlto: bool = False) -> None:
        """Adds a file by its path, or code in memory; TypeError for anything else."""
        if isinstance(path_or_code, LinkableCode):
            self.add_code(path_or_code)
        elif isinstance(path_or_code, (str, os.PathLike)):
            self.add_file(path_or_code)
        else:
            raise TypeError("Expected path to file or a LinkableCode object, got %s" % type(path_or_code).__name__)

    def get_linked_ptx(self) -> bytes:
        """The PTX of all that was added, with names that are still undefined declared."""
        return self.complete().encode("utf-8")

    def complete(self) -> str:
        """The PTX text of all that was added; LinkerError when it does not fit together."""
        try:
            if len(self.texts) == 1:
                return self.texts[0][1]
            return _ptx_link.link(self.texts)
        except _ptx_link.LinkFailure as error:
            raise LinkerError(str(error)) from None


def link_kernel(ptx: str, name: str, links: Iterable[Any], cc: Tuple[int, int]) -> str:
    """A kernel's PTX together with what it is linked with: paths and :class:`LinkableCode`, each taken once."""
    linker = Linker(cc=cc)
    linker.add_ptx(ptx, name)
    seen: List[Any] = []
    for one in links:
        key = os.fspath(one) if isinstance(one, (str, os.PathLike)) else one
        if any(key is other or (isinstance(key, str) and key == other) for other in seen):
            continue
        seen.append(key)
        linker.add_file_guess_ext(one)
    if not seen:
        missing = _ptx_link.undefined(ptx)
        if missing is not None:
            raise LinkerError("Undefined reference to '%s' in '%s'" % (missing, name))
        return ptx
    return linker.complete()


def with_callbacks(links: Iterable[Any]) -> List[LinkableCode]:
    """The code among ``links`` that wants to know of loading and unloading."""
    return [one for one in links if isinstance(one, LinkableCode) and (one.setup_callback or one.teardown_callback)]


def module_loaded(context, native, links: Iterable[Any]) -> None:
    """Tells linked code that its module has been loaded, and has it told when the context lets the module go."""
    told = with_callbacks(links)
    if not told:
        return
    module = Module(context, native)
    for code in told:
        if code.setup_callback is not None:
            code.setup_callback(module)

    def unload() -> None:
        for code in told:
            if code.teardown_callback is not None:
                code.teardown_callback(module)

    context.modules[id(module)] = unload
