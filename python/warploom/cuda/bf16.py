"""bfloat16 arithmetic and conversions in kernels. Source: CUDA Math API, "Bfloat16 Precision Intrinsics"."""

from __future__ import annotations

from .stubs import device_function
from .types import bfloat16

_ROUNDING = {"rn": "to the nearest, ties to even", "rz": "towards 0", "rd": "down", "ru": "up"}
_DOCUMENTED = {
    "habs": "|a|", "hneg": "-a", "hadd": "a + b", "hsub": "a - b", "hmul": "a * b", "hdiv": "a / b",
    "hadd_rn": "a + b, never fused", "hsub_rn": "a - b, never fused", "hmul_rn": "a * b, never fused",
    "hadd_sat": "a + b clamped to [0, 1]", "hsub_sat": "a - b clamped to [0, 1]", "hmul_sat": "a * b clamped to [0, 1]",
    "hfma": "a*b + c rounded once", "hfma_sat": "a*b + c clamped to [0, 1]", "hfma_relu": "max(a*b + c, 0)",
    "heq": "a == b", "hne": "a != b", "hge": "a >= b", "hgt": "a > b", "hle": "a <= b", "hlt": "a < b",
    "hmax": "the larger of a and b", "hmin": "the smaller of a and b",
    "hmax_nan": "the larger of a and b, NaN if one is",
    "hmin_nan": "the smaller of a and b, NaN if one is", "hisnan": "whether a is NaN",
    "hisinf": "whether a is infinite",
    "htrunc": "a rounded towards 0", "hceil": "a rounded up", "hfloor": "a rounded down",
    "hrint": "a rounded to the nearest integer", "hsqrt": "the square root", "hrsqrt": "1 over the square root",
    "hrcp": "1/a", "hlog": "ln(a)", "hlog2": "log2(a)", "hlog10": "log10(a)", "hcos": "cos(a)", "hsin": "sin(a)",
    "htanh": "tanh(a)", "htanh_approx": "tanh(a)", "hexp": "e**a", "hexp2": "2**a", "hexp10": "10**a",
    "bfloat16_to_int8_rz": "to int8, towards 0", "bfloat16_to_uint8_rz": "to uint8, towards 0",
    "bfloat16_as_int16": "the bits as an int16", "int16_as_bfloat16": "the value with these bits",
    "bfloat16_as_uint16": "the bits as a uint16", "uint16_as_bfloat16": "the value with these bits",
    "bfloat16_to_float32": "to float32", "float32_to_bfloat16": "from float32, to the nearest",
    "float64_to_bfloat16": "from float64, to the nearest",
}
for _type in ("int16", "uint16", "int32", "uint32", "int64", "uint64"):
    for _mode, _text in _ROUNDING.items():
        _DOCUMENTED[f"{_type}_to_bfloat16_{_mode}"] = f"from {_type}, rounded {_text}"
        _DOCUMENTED[f"bfloat16_to_{_type}_{_mode}"] = f"to {_type}, rounded {_text}"
for _mode, _text in _ROUNDING.items():
    _DOCUMENTED[f"float32_to_bfloat16_{_mode}"] = f"from float32, rounded {_text}"


def _define(name: str, text: str) -> None:
    def function():
        pass

    function.__name__ = name
    function.__doc__ = f"{name}: {text}; bfloat16."
    globals()[name] = device_function("bf16." + name)(function)


for _name, _text in _DOCUMENTED.items():
    _define(_name, _text)
del _type, _mode, _text, _name

__all__ = ["bfloat16", *_DOCUMENTED]
