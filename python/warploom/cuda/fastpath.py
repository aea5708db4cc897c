"""The short way of a launch: once a kernel has run with some argument types, C++ recognises them and launches again."""

from __future__ import annotations

from typing import Optional

from . import types


def learn(dispatcher, kernel, args: tuple, launch) -> None:
    """After a launch the long way: let the next one with the same argument types go the short way if it can.

    Not for kernels that must be looked after on the host (debug mode, cooperative ones), dispatchers with extensions,
    and arguments other than numbers and arrays.
    """
    from warploom import _core

    from .cudadrv import devices

    if launch.pre_launch_callbacks or dispatcher.extensions or kernel.debug or kernel.cooperative:
        return
    plain = (types.Array, types.Integer, types.Float, types.Complex, types.Boolean)
    if not all(isinstance(t, plain) for t in kernel.argtypes):
        return
    given = [dispatcher.typeof_pyval(a) for a in args]
    if not all(isinstance(t, plain) for t in given):
        return
    context = devices.get_context()
    fast: Optional[FastPath] = dispatcher._fast
    if fast is None or not fast.of(context):
        fast = dispatcher._fast = FastPath(_core.FastDispatcher(), context)
    fast.add(kernel, given)
    fast.arm(launch)


class FastPath:
    """A dispatcher's fast launches on one device."""

    def __init__(self, core, context):
        self.core = core
        self.context = context
        self._handle = context.handle
        self._generation = context._generation
        self._added = set()

    def of(self, context) -> bool:
        """Whether it serves this context as it is now."""
        return self.context is context and self._generation == context._generation

    def add(self, kernel, given) -> None:
        """Let C++ recognise these argument types, and launch the kernel for them."""
        names = tuple(t.canonical for t in given)
        if names not in self._added:
            self._added.add(names)
            self.core.add(list(names), kernel.bind().launcher)

    def arm(self, launch) -> None:
        """Let this launch configuration try the short way first."""
        from warploom import _core

        from .cudadrv import _streams

        stream = launch.stream
        if (isinstance(stream, int) and stream != 0) or self.context._generation != self._generation:
            return
        if launch._core_config is None or launch._fast is not self:
            core_stream = None if isinstance(stream, int) else _streams.core_stream(stream, self.context)
            launch._core_config = _core.LaunchConfig(launch.griddim, launch.blockdim, core_stream, launch.sharedmem,
                                                     False)
        launch._fast = self
        # It serves until the thread's context is another one, or contexts change.
        _core.arm_launch(launch, self.core, launch._core_config, self._handle)


def launch_error(error: RuntimeError) -> Exception:
    """What a launch raises for an error of the native layer: CudaAPIError, as launches of the other path do."""
    from warploom import _core

    from .cudadrv._calls import api_error

    return api_error("cuLaunchKernel", error) if isinstance(error, _core.Error) else error
