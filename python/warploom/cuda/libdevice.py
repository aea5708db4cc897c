"""libdevice's functions under their names without `__nv_`; pointers to results become returned values.

Source: NVIDIA, "libdevice User's Guide" (names and meaning); Numba, "Libdevice functions". The code is Warploom's own
device math library.
"""

from __future__ import annotations

from .libdevicefuncs import create_signature, functions
from .stubs import device_function

__all__ = []


def _define(symbol: str, retty, args) -> None:
    def function():
        pass

    name = symbol[len("__nv_"):]
    sig = create_signature(retty, args)
    function.__name__ = name
    parameters = ", ".join(f"{a.name}: {a.ty}" for a in args if not a.is_ptr)
    function.__doc__ = (f"{name}({parameters}) -> {sig.return_type}\n\n"
                        f"See libdevice's {symbol}.")
    globals()[name] = device_function("libdevice." + name)(function)
    __all__.append(name)


for _symbol, (_retty, _args) in functions.items():
    _define(_symbol, _retty, _args)
del _symbol, _retty, _args
