"""Whether cffi functions may be used: none of them can be called from a kernel."""

SUPPORTED = False


def is_cffi_func(obj) -> bool:
    """Always False: kernels cannot call the host."""
    return False


def is_ffi_instance(obj) -> bool:
    """Whether `obj` is a cffi FFI object."""
    return type(obj).__module__.startswith("cffi") and type(obj).__name__ == "FFI"
