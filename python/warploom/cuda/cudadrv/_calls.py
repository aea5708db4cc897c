"""Errors of the native layer as Numba's :class:`CudaAPIError`, and what runs after a synchronising call."""

from __future__ import annotations

from typing import Any, Callable, List

from warploom import _core

from .error import CudaDriverError

# CUresult values (CUDA Driver API, "Data types used by CUDA driver").
ERROR_NAMES = {
    0: "CUDA_SUCCESS",
    1: "CUDA_ERROR_INVALID_VALUE",
    2: "CUDA_ERROR_OUT_OF_MEMORY",
    3: "CUDA_ERROR_NOT_INITIALIZED",
    4: "CUDA_ERROR_DEINITIALIZED",
    100: "CUDA_ERROR_NO_DEVICE",
    101: "CUDA_ERROR_INVALID_DEVICE",
    200: "CUDA_ERROR_INVALID_IMAGE",
    201: "CUDA_ERROR_INVALID_CONTEXT",
    218: "CUDA_ERROR_INVALID_PTX",
    222: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    300: "CUDA_ERROR_INVALID_SOURCE",
    301: "CUDA_ERROR_FILE_NOT_FOUND",
    400: "CUDA_ERROR_INVALID_HANDLE",
    401: "CUDA_ERROR_ILLEGAL_STATE",
    500: "CUDA_ERROR_NOT_FOUND",
    600: "CUDA_ERROR_NOT_READY",
    700: "CUDA_ERROR_ILLEGAL_ADDRESS",
    701: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    702: "CUDA_ERROR_LAUNCH_TIMEOUT",
    704: "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
    705: "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
    709: "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    710: "CUDA_ERROR_ASSERT",
    712: "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
    713: "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
    715: "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    716: "CUDA_ERROR_MISALIGNED_ADDRESS",
    717: "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    718: "CUDA_ERROR_INVALID_PC",
    719: "CUDA_ERROR_LAUNCH_FAILED",
    720: "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
    800: "CUDA_ERROR_NOT_PERMITTED",
    801: "CUDA_ERROR_NOT_SUPPORTED",
    900: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
    901: "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
    902: "CUDA_ERROR_STREAM_CAPTURE_MERGE",
    903: "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
    904: "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
    905: "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
    906: "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
    907: "CUDA_ERROR_CAPTURED_EVENT",
    908: "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
    910: "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
    999: "CUDA_ERROR_UNKNOWN",
}


class CudaAPIError(CudaDriverError):
    """A driver call failed: ``code`` is the CUresult, ``msg`` the text; prints as ``[code] msg``."""

    def __init__(self, code: int, msg: str) -> None:
        self.code = code
        self.msg = msg
        super().__init__(code, msg)

    def __str__(self) -> str:
        return "[%s] %s" % (self.code, self.msg)


def api_error(api: str, error: "_core.Error") -> CudaAPIError:
    """The :class:`CudaAPIError` for what ``api`` (a driver function's name) met."""
    code = error.cuda_code
    name = ERROR_NAMES.get(code, "CUDA_ERROR_UNKNOWN")
    return CudaAPIError(code, "Call to %s results in %s: %s" % (api, name, error))


def call(api: str, function: Callable, *arguments) -> Any:
    """``function(*arguments)``; raises :class:`CudaAPIError` naming ``api`` when the native layer raises."""
    try:
        return function(*arguments)
    except _core.Error as error:
        raise api_error(api, error) from error


# Called with the context after each call that waited for the device.
_after_synchronize: List[Callable] = []


def at_synchronize(function: Callable) -> None:
    """Has ``function(context)`` called after every call that waits for a device; what it raises, that call raises."""
    _after_synchronize.append(function)


def synchronized(context) -> None:
    """To be called by whatever has waited for the device."""
    for function in _after_synchronize:
        function(context)
