"""Error classes of the driver layer (names as in Numba)."""


class CudaDriverError(Exception):
    """The driver layer was used wrongly, or a driver call failed (then a :class:`CudaAPIError` of ``driver``)."""


class CudaSupportError(ImportError):
    """CUDA cannot be used in this process; ``msg`` says why."""


class CudaRuntimeError(Exception):
    """A runtime call failed."""


class NvvmError(Exception):
    """PTX could not be generated."""


class NvvmSupportError(ImportError):
    """No code generator for PTX."""


class NvvmWarning(Warning):
    """A note of the code generator."""


class NvrtcError(Exception):
    """CUDA C++ source could not be handed to the compiler."""


class NvrtcCompilationError(NvrtcError):
    """CUDA C++ source has errors; the text is the compiler's."""


class NvrtcBuiltinOperationFailure(NvrtcError):
    """The compiler failed on its built-in operations."""


class NvrtcSupportError(ImportError):
    """No compiler for CUDA C++."""


class CCSupportError(ValueError):
    """The compute capability is not one that can be compiled for."""
