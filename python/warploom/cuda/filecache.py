"""Caching with `cache=True` as Numba has it: files beside the function's source, valid while the source is unchanged.

Unlike the content-addressed cache (`cache.py`) globals keep the values they had when the file was written. Source:
Numba, "Notes on Caching".
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import sys
import tempfile
from typing import Any, Dict, Optional

from . import fingerprint
from .compiler import Compiled
from .core import config
from .serialize import code_objects


class FileCache:
    """The cached kernels of one Python function: an index (.nbi) and one file for each kernel (.nbc).

    `cache_path` is their folder: NUMBA_CACHE_DIR, else `__pycache__` beside the source, else the user's cache folder.
    Raises RuntimeError for a function without a source file.
    """

    def __init__(self, pyfunc):
        code = pyfunc.__code__
        if not os.path.isfile(code.co_filename):
            raise RuntimeError(f"cannot cache function {pyfunc.__qualname__!r}: no locator available for file "
                               f"{code.co_filename!r}")
        self._pyfunc = pyfunc
        self.cache_path = self._folder(code.co_filename)
        name = re.sub(r"[^\w.]", "", pyfunc.__qualname__.replace("<locals>", "locals"))
        stem = os.path.splitext(os.path.basename(code.co_filename))[0]
        version = f"py{sys.version_info[0]}{sys.version_info[1]}"
        self._base = f"{stem}.{name}-{code.co_firstlineno}.{version}"
        stat = os.stat(code.co_filename)
        self._stamp = [stat.st_mtime, stat.st_size, fingerprint.build()]

    @staticmethod
    def _folder(filename: str) -> str:
        source = os.path.dirname(os.path.abspath(filename))
        tail = f"{os.path.basename(source)}_{hashlib.sha1(source.encode()).hexdigest()}"
        candidates = [os.path.join(config.CACHE_DIR, tail)] if config.CACHE_DIR else []
        from .cache import directory

        candidates += [os.path.join(source, "__pycache__"), os.path.join(directory(), "sources", tail)]
        for folder in candidates:
            try:
                os.makedirs(folder, exist_ok=True)
                handle, name = tempfile.mkstemp(dir=folder)
                os.close(handle)
                os.unlink(name)
                return folder
            except OSError:
                continue
        raise RuntimeError(f"cannot cache function: none of {', '.join(candidates)} can be written")

    @property
    def _index_path(self) -> str:
        return os.path.join(self.cache_path, self._base + ".nbi")

    def _key(self, argtypes, options: Dict[str, Any]) -> str:
        digest = hashlib.sha256()
        for code in code_objects(self._pyfunc.__code__):
            digest.update(code.co_code)
        for cell in self._pyfunc.__closure__ or ():
            try:
                collected = fingerprint.Fingerprint()
                collected.value(cell.cell_contents)
                digest.update(collected.hexdigest().encode())
            except fingerprint.NotCacheable:
                digest.update(repr(type(cell.cell_contents)).encode())
            except ValueError:
                digest.update(b"empty")
        digest.update(repr([repr(t) for t in argtypes]).encode())
        digest.update(repr(sorted(options.items(), key=lambda item: item[0])).encode())
        return digest.hexdigest()

    def _index(self) -> Dict[str, str]:
        try:
            with open(self._index_path, "rb") as file:
                index = json.load(file)
            return index["entries"] if index["stamp"] == self._stamp else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def load(self, argtypes, options) -> Optional[Compiled]:
        """The kernel for these types and options, or None."""
        name = self._index().get(self._key(argtypes, options))
        if name is None:
            return None
        try:
            with open(os.path.join(self.cache_path, name), "rb") as file:
                return Compiled.from_json(json.load(file))
        except (OSError, ValueError, KeyError):
            return None

    def check(self, dispatcher) -> None:
        """Raises RuntimeError for a kernel that cannot be cached because of what it is linked with."""
        if any(dispatcher.targetoptions.get("link") or ()):
            raise RuntimeError("Cannot pickle CUDACodeLibrary with linking files")

    def store(self, argtypes, options, compiled: Compiled) -> None:
        """Write a kernel. Raises pickle.PicklingError for one that refers to device arrays."""
        if compiled.captured:
            raise pickle.PicklingError("Cannot cache a kernel that references global device arrays: their addresses "
                                       "are only valid in this process")
        value = compiled.to_json()
        if value is None:
            return
        key = self._key(argtypes, options)
        name = f"{self._base}.{key[:16]}.nbc"
        try:
            self._write(name, value)
            entries = self._index()
            entries[key] = name
            self._write(self._base + ".nbi", {"stamp": self._stamp, "entries": entries})
        except OSError:
            return

    def flush(self) -> None:
        """Forget all kernels."""
        try:
            self._write(self._base + ".nbi", {"stamp": self._stamp, "entries": {}})
        except OSError:
            pass

    def _write(self, name: str, value: Any) -> None:
        handle, temporary = tempfile.mkstemp(dir=self.cache_path, prefix=".new-")
        try:
            with os.fdopen(handle, "w") as file:
                json.dump(value, file)
            os.replace(temporary, os.path.join(self.cache_path, name))
        except OSError:
            os.unlink(temporary)
            raise
