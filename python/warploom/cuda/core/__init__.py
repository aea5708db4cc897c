"""Configuration and error classes under the module names that Numba uses."""

_ELSEWHERE = {"types": "warploom.cuda.types", "typing": "warploom.cuda.typing"}


def __getattr__(name: str):
    # `from numba.core import types`: the import system looks here, by this module's own name.
    if name in _ELSEWHERE:
        import importlib

        return importlib.import_module(_ELSEWHERE[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
