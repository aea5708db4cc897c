"""Where NVIDIA's libraries are looked for."""

from __future__ import annotations

import functools
import os
import sys

from warploom import _core


@functools.lru_cache(maxsize=None)
def find_libraries() -> None:
    """Has the libraries of NVIDIA's wheels (nvidia-cublas, nvidia-cufft and their like) found before the system's."""
    for path in sys.path:
        root = os.path.join(path, "nvidia")
        if not os.path.isdir(root):
            continue
        for name in sorted(os.listdir(root), reverse=True):  # cu13 before cublas, which is of CUDA 12
            folder = os.path.join(root, name, "lib")
            if os.path.isdir(folder):
                _core.add_library_folder(folder)
