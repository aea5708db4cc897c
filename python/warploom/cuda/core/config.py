"""Settings, read from the environment under Numba's names when imported and by `reload_config()`; may be set live.

Source: Numba, "Environment variables". What a real GPU's tool chain would need (paths of NVVM, logging of its driver)
is accepted and has no effect.
"""

from __future__ import annotations

import os
import sys
import warnings

MACHINE_BITS = 64 if sys.maxsize > 2**32 else 32
IS_32BITS = MACHINE_BITS == 32
IS_WIN32 = sys.platform.startswith("win32")
IS_OSX = sys.platform.startswith("darwin")


class _OptLevel(int):
    """The optimisation level of NUMBA_OPT: 0 to 3, or "max" (3)."""

    def __new__(cls, value=3):
        self = super().__new__(cls, 3 if value == "max" else int(value))
        self._raw_value = value
        return self

    @property
    def is_opt_max(self) -> bool:
        """Whether the level was given as "max"."""
        return self._raw_value == "max"

    def __repr__(self) -> str:
        return str(self._raw_value)


def _opt_level(text) -> _OptLevel:
    text = str(text).strip()
    if text not in ("0", "1", "2", "3", "max"):
        warnings.warn(f"NUMBA_OPT is set to an unsupported value '{text}'; the supported ones are 0, 1, 2, 3 and max")
        return _OptLevel(3)
    return _OptLevel(text)


def _compute_capability(text):
    """'9.0' or '8.6' as (9, 0)."""
    major, _, minor = str(text).strip().partition(".")
    return int(major), int(minor or 0)


# Name in this module, environment variable, how its text is read, value when it is not set.
_SETTINGS = (
    ("DEVELOPER_MODE", "NUMBA_DEVELOPER_MODE", int, 0),
    ("FULL_TRACEBACKS", "NUMBA_FULL_TRACEBACKS", int, 0),
    ("DISABLE_PERFORMANCE_WARNINGS", "NUMBA_DISABLE_PERFORMANCE_WARNINGS", int, 0),
    ("SHOW_HELP", "NUMBA_SHOW_HELP", int, 0),
    ("COLOR_SCHEME", "NUMBA_COLOR_SCHEME", str, "no_color"),
    ("BOUNDSCHECK", "NUMBA_BOUNDSCHECK", int, None),
    ("ALWAYS_WARN_UNINIT_VAR", "NUMBA_ALWAYS_WARN_UNINIT_VAR", int, 0),
    ("DEBUG", "NUMBA_DEBUG", int, 0),
    ("DEBUG_JIT", "NUMBA_DEBUG_JIT", int, 0),
    ("DEBUG_CACHE", "NUMBA_DEBUG_CACHE", int, 0),
    ("DEBUG_NRT", "NUMBA_DEBUG_NRT", int, 0),
    ("NRT_STATS", "NUMBA_NRT_STATS", int, 0),
    ("CACHE_DIR", "NUMBA_CACHE_DIR", str, ""),
    ("OPT", "NUMBA_OPT", _opt_level, _OptLevel(3)),
    ("DUMP_ASSEMBLY", "NUMBA_DUMP_ASSEMBLY", int, 0),
    ("DUMP_LLVM", "NUMBA_DUMP_LLVM", int, 0),
    ("DUMP_BYTECODE", "NUMBA_DUMP_BYTECODE", int, 0),
    ("DUMP_CFG", "NUMBA_DUMP_CFG", int, 0),
    ("DUMP_IR", "NUMBA_DUMP_IR", int, 0),
    ("DISABLE_JIT", "NUMBA_DISABLE_JIT", int, 0),
    ("CAPTURED_ERRORS", "NUMBA_CAPTURED_ERRORS", str, "new_style"),
    ("CUDA_LOW_OCCUPANCY_WARNINGS", "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", int, 1),
    ("CUDA_WARN_ON_IMPLICIT_COPY", "NUMBA_CUDA_WARN_ON_IMPLICIT_COPY", int, 1),
    ("CUDA_USE_NVIDIA_BINDING", "NUMBA_CUDA_USE_NVIDIA_BINDING", int, 1),
    ("CUDA_PER_THREAD_DEFAULT_STREAM", "NUMBA_CUDA_PER_THREAD_DEFAULT_STREAM", int, 0),
    ("FORCE_CUDA_CC", "NUMBA_FORCE_CUDA_CC", _compute_capability, None),
    ("CUDA_DEFAULT_PTX_CC", "NUMBA_CUDA_DEFAULT_PTX_CC", _compute_capability, (9, 0)),
    ("DISABLE_CUDA", "NUMBA_DISABLE_CUDA", int, 0),
    ("CUDA_LOG_LEVEL", "NUMBA_CUDA_LOG_LEVEL", str, ""),
    ("CUDA_LOG_API_ARGS", "NUMBA_CUDA_LOG_API_ARGS", int, 0),
    ("CUDA_DEALLOCS_COUNT", "NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT", int, 10),
    ("CUDA_DEALLOCS_RATIO", "NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO", float, 0.2),
    ("CUDA_ARRAY_INTERFACE_SYNC", "NUMBA_CUDA_ARRAY_INTERFACE_SYNC", int, 1),
    ("CUDA_DRIVER", "NUMBA_CUDA_DRIVER", str, ""),
    ("CUDA_LOG_SIZE", "NUMBA_CUDA_LOG_SIZE", int, 1024),
    ("CUDA_VERBOSE_JIT_LOG", "NUMBA_CUDA_VERBOSE_JIT_LOG", int, 1),
    ("CUDA_DEBUGINFO_DEFAULT", "NUMBA_CUDA_DEBUGINFO", int, 0),
    ("CUDA_DEBUG_POLY", "NUMBA_CUDA_DEBUG_POLY", int, 0),
    ("CUDA_DEBUG_POLY_USE_TYPED_CONST", "NUMBA_CUDA_DEBUG_POLY_USE_TYPED_CONST", int, 1),
    ("CUDA_INCLUDE_PATH", "NUMBA_CUDA_INCLUDE_PATH", str, ""),
    ("CUDA_MEMORY_MANAGER", "NUMBA_CUDA_MEMORY_MANAGER", str, "default"),
    ("CUDA_ENABLE_NRT", "NUMBA_CUDA_ENABLE_NRT", int, 0),
    ("CUDA_NVRTC_EXTRA_SEARCH_PATHS", "NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS", str, ""),
    ("CUDA_FORTRAN_COMPATIBLE", "NUMBA_CUDA_FORTRAN_COMPATIBLE", int, 0),
    # Warploom's own.
    ("WARPLOOM_CACHE", "WARPLOOM_CACHE", int, 1),
    ("WARPLOOM_CACHE_DIR", "WARPLOOM_CACHE_DIR", str, ""),
    ("WARPLOOM_CACHE_MEGABYTES", "WARPLOOM_CACHE_MEGABYTES", int, -1),
    ("CUDA_WARN_ON_PAGEABLE_COPY", "WARPLOOM_WARN_ON_PAGEABLE_COPY", int, 1),
    ("WARPLOOM_TYPING", "WARPLOOM_TYPING", str, "numba"),
)


def reload_config() -> None:
    """Read all settings from the environment again. A text that cannot be read is warned about and ignored."""
    here = globals()
    for name, variable, read, default in _SETTINGS:
        text = os.environ.get(variable)
        value = default
        if text is not None and (text.strip() or read is str):
            try:
                value = read(text)
            except ValueError as error:
                warnings.warn(f"Environment variable '{variable}' is defined but its value '{text}' could not be "
                              f"parsed: {error}", RuntimeWarning, stacklevel=2)
        here[name] = value


reload_config()

# The simulator is not here, and is not needed: kernels run compiled on the CPU device. The variable is read and left.
ENABLE_CUDASIM = 0
