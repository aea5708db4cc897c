"""The few classes of NVIDIA's `cuda.core` that the suite uses beside Numba, over warploom's driver layer.

They stand for another library in the process: its streams reach warploom only through `__cuda_stream__`.
"""
from warploom import _core
from warploom.cuda.cudadrv import devices
from warploom.cuda.cudadrv.driver import core_stream, driver


class Stream:
    """A stream of the other library: a handle, and nothing that warploom knows."""

    def __init__(self, handle):
        self.handle = handle

    @classmethod
    def from_handle(cls, handle):
        return cls(handle)

    def __cuda_stream__(self):
        return (0, self.handle)

    def sync(self):
        devices.get_context().create_external_stream(self.handle).synchronize()


class Device:
    """A device of the other library."""

    def __init__(self, number=0):
        self.device_id = number

    def set_current(self):
        devices.get_context(self.device_id)

    def create_stream(self):
        return Stream(driver.cuStreamCreate(0))

    def create_graph_builder(self):
        return devices.get_context(self.device_id).create_graph_builder()


class LaunchConfig:
    """How a kernel is launched."""

    def __init__(self, grid, block, shmem_size=0, **options):
        self.grid, self.block, self.shmem_size = grid, block, shmem_size
        self.cooperative = bool(options.get("is_cooperative") or options.get("cooperative_launch"))


def launch(stream, config, kernel, *arguments):
    """Launches a kernel with pointers as arguments."""
    launcher = _core.Launcher(kernel, ["uint64"] * len(arguments))
    launcher.launch(config.grid, config.block, core_stream(stream, devices.get_context()), config.shmem_size,
                    config.cooperative, tuple(argument.value for argument in arguments))


def cuLibraryGetGlobal(library, name):
    """(result, address, size) of a variable of a loaded module, as `cuda.bindings.driver` gives them."""
    address, size = library.global_(name.decode())
    return 0, address, size


def cuMemcpyHtoD(target, source, size):
    driver.cuMemcpyHtoD(target, source, size)
    return (0,)
