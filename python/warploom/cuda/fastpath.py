"""The short way of a launch: once a kernel has run with some argument types, C++ recognises them and launches again."""

from __future__ import annotations

from . import types


def learn(dispatcher, kernel, args: tuple, launch) -> None:
    """After a launch the long way: let the next one with the same argument types go the short way if it can.

    Not for kernels that must be looked after on the host: those that may raise in debug mode, cooperative ones,
    dispatchers with extensions, and arguments that are not plain numbers or device arrays.
    """
    from warploom import _core
    from .cudadrv import devices

    if launch.pre_launch_callbacks or dispatcher.extensions or kernel.debug or kernel.cooperative:
        return
    if not all(isinstance(t, (types.Array, types.Integer, types.Float, types.Complex, types.Boolean))
               for t in kernel.argtypes):
        return
    context = devices.get_context()
    if dispatcher._fast is None:
        dispatcher._fast = FastPath(_core.FastDispatcher(), context)
    fast = dispatcher._fast
    if fast.context is not context:
        return
    fast.add(kernel)
    fast.arm(launch)


class FastPath:
    """A dispatcher's fast launches on one device."""

    def __init__(self, core, context):
        self.core = core
        self.context = context
        self._added = set()

    def add(self, kernel) -> None:
        """Let C++ recognise the kernel's argument types."""
        if kernel not in self._added:
            self._added.add(kernel)
            self.core.add([t.canonical for t in kernel.argtypes], kernel.bind().launcher)

    def arm(self, launch) -> None:
        """Let this launch configuration try the short way first."""
        from warploom import _core
        from .cudadrv import _streams

        stream = launch.stream
        if isinstance(stream, int):
            if stream != 0:
                return
            core_stream = None
        else:
            core_stream = _streams.core_stream(stream, self.context)
        if launch._core_config is None:
            launch._core_config = _core.LaunchConfig(launch.griddim, launch.blockdim, core_stream, launch.sharedmem, False)
        launch._fast = self.core.call
