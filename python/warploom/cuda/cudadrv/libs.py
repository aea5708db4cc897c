"""Where CUDA's files are found, by the names of Numba's library lookup; kernels here need none of them."""

from __future__ import annotations

import os
from typing import Optional

# What kernels of this package have without a library: cooperative groups and the device math functions.
_BUILT_IN = ("cudadevrt", "nvvm", "nvrtc", "cudart", "libdevice")


def _roots():
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield os.environ[variable]
    yield "/usr/local/cuda"


def get_cuda_include_dir() -> str:
    """The directory with CUDA's headers; FileNotFoundError when there is none."""
    for root in _roots():
        path = os.path.join(root, "include")
        if os.path.isfile(os.path.join(path, "cuda.h")):
            return path
    raise FileNotFoundError("Unable to find CUDA include directory")


def get_cudalib(lib: str, static: bool = False) -> str:
    """The file name of a library; a name alone when what it offers is built in."""
    name = "lib%s.%s" % (lib, "a" if static else "so")
    if lib in _BUILT_IN:
        return name
    for root in _roots():
        for folder in ("lib64", "lib", "nvvm/lib64"):
            path = os.path.join(root, folder, name)
            if os.path.exists(path):
                return path
    return name


def check_static_lib(path: Optional[str]) -> None:
    """FileNotFoundError unless the static library exists or what it offers is built in."""
    name = os.path.basename(path or "")
    if name in ["lib%s.a" % lib for lib in _BUILT_IN]:
        return
    if not path or not os.path.isfile(path):
        raise FileNotFoundError("%s not found" % path)
