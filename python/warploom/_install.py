"""Makes `numba.cuda` (and `numba_cuda_mlir.cuda`) names of `warploom.cuda`, so that existing files run unchanged."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types as _pytypes
from typing import Optional

_ROOTS = ("numba", "numba_cuda_mlir")

# Names outside `<root>.cuda` that Numba programs import, and the module that stands for them.
_OUTSIDE = {
    "core": "warploom.cuda.core",
    "core.config": "warploom.cuda.core.config",
    "core.errors": "warploom.cuda.core.errors",
    "core.types": "warploom.cuda.types",
    "core.typing": "warploom.cuda.typing",
    "core.typing.typeof": "warploom.cuda.typing.typeof",
    "core.typing.templates": "warploom.cuda.typing.templates",
    "core.extending": "warploom.cuda.extending",
    "errors": "warploom.cuda.core.errors",
    "extending": "warploom.cuda.extending",
    "misc": "warploom.cuda.misc",
    "misc.special": "warploom.cuda.misc.special",
    "np": "warploom.cuda.np",
    "np.numpy_support": "warploom.cuda.np.numpy_support",
    "np.ufunc": "warploom.cuda.np.ufunc",
    "types": "warploom.cuda.types",
    "typing": "warploom.cuda.typing",
}


def _target_of(fullname: str) -> Optional[str]:
    """The Warploom module that stands for `fullname`, or None when there is none."""
    root, _, rest = fullname.partition(".")
    if root not in _ROOTS:
        return None
    if not rest:
        return "warploom._numba"
    if rest == "cuda" or rest.startswith("cuda."):
        return "warploom." + rest
    return _OUTSIDE.get(rest)


def _exists(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class _AliasLoader:
    """Hands out the module that already exists: one object under two names, never a second copy."""

    def __init__(self, target: str):
        self._target = target

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> _pytypes.ModuleType:
        module = importlib.import_module(self._target)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: _pytypes.ModuleType) -> None:
        # The import system has put the alias's spec into the module; its own one must stay.
        module.__spec__ = self._own_spec


class AliasFinder:
    """Finds `numba`, `numba.cuda[.x]`, `numba.core.{errors,types,…}` and the same under `numba_cuda_mlir`."""

    def find_spec(self, fullname: str, path=None, target=None) -> Optional[importlib.machinery.ModuleSpec]:
        root, _, rest = fullname.partition(".")
        if root not in _ROOTS:
            return None
        name = _target_of(fullname)
        if name is None or not _exists(name):
            if not rest:
                return None
            # Other finders would look in the real package, or stumble over the one that is not there.
            raise ModuleNotFoundError("No module named %r" % fullname, name=fullname)
        return importlib.machinery.ModuleSpec(fullname, _AliasLoader(name), is_package=True)


_finder = AliasFinder()


def installed() -> bool:
    """Whether the aliases are in force."""
    return _finder in sys.meta_path


def install() -> None:
    """Make `import numba.cuda` give `warploom.cuda` in this process.

    The modules are the same objects under both names. Child processes are not affected: set WARPLOOM_INSTALL=1 in
    the environment for those (the installed package reads it when Python starts). Calling it again does nothing.

    Raises RuntimeError when a real `numba` has been imported before: two packages cannot share one name.
    """
    if installed():
        return
    for root in _ROOTS:
        module = sys.modules.get(root)
        if module is not None and not getattr(module, "__warploom_alias__", False):
            raise RuntimeError(
                f"warploom.install() must come before the first `import {root}`: the real {root} is loaded already "
                f"from {getattr(module, '__file__', 'an unknown place')}"
            )
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Withdraw the aliases, and forget the modules imported under them. Modules that hold them keep them."""
    if not installed():
        return
    sys.meta_path.remove(_finder)
    targets = {name: _target_of(name) for name in list(sys.modules)}
    for name in [n for n, target in targets.items() if target and sys.modules.get(target) is sys.modules[n]]:
        del sys.modules[name]


def install_from_environment() -> None:
    """What the package's .pth file calls at start-up: install() if WARPLOOM_INSTALL is set to anything but 0."""
    if os.environ.get("WARPLOOM_INSTALL", "0") not in ("", "0"):
        install()
