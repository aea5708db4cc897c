"""The launch for which a kernel is being compiled, for code that runs during that compilation.

Set only while a launch compiles, for each thread on its own. Source: numba-cuda, `numba.cuda.launchconfig`.
"""

from __future__ import annotations

import contextlib
import threading
from functools import wraps
from types import MethodType
from typing import Iterator

__all__ = ["capture_compile_config", "current_launch_config", "ensure_current_launch_config"]

_state = threading.local()


class CompileConfig:
    """`dispatcher`, `griddim`, `blockdim`, `stream`, `sharedmem` and `args` of the launch that compiles."""

    __slots__ = ("dispatcher", "griddim", "blockdim", "stream", "sharedmem", "args")

    def __init__(self, launch, args):
        self.dispatcher = launch.dispatcher
        self.griddim = launch.griddim
        self.blockdim = launch.blockdim
        self.stream = launch.stream
        self.sharedmem = launch.sharedmem
        self.args = args


def current_launch_config():
    """The configuration of the launch that is compiling in this thread, or None."""
    return getattr(_state, "config", None)


def ensure_current_launch_config():
    """The same, but RuntimeError where there is none."""
    config = current_launch_config()
    if config is None:
        raise RuntimeError("No launch config set for this thread")
    return config


@contextlib.contextmanager
def compiling_for(launch, args) -> Iterator[None]:
    """While it lasts, `launch` with `args` is this thread's configuration."""
    previous = current_launch_config()
    _state.config = CompileConfig(launch, args)
    try:
        yield
    finally:
        _state.config = previous


@contextlib.contextmanager
def capture_compile_config(dispatcher):
    """Gives a dict whose "config" becomes the configuration with which `dispatcher` is next compiled, or None."""
    if dispatcher is None:
        raise TypeError("dispatcher is required")
    record = {"config": None}
    missing = object()
    before = dispatcher.__dict__.get("_compile_for_args", missing)
    original = dispatcher._compile_for_args

    @wraps(original)
    def recording(self, *args, **kws):
        record["config"] = current_launch_config()
        return original(*args, **kws)

    dispatcher._compile_for_args = MethodType(recording, dispatcher)
    try:
        yield record
    finally:
        if before is missing:
            del dispatcher._compile_for_args
        else:
            dispatcher._compile_for_args = before
