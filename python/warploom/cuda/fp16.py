"""Half-precision arithmetic in kernels. Source: CUDA Math API, "Half Precision Intrinsics"; Numba, `cuda.fp16`."""

from __future__ import annotations

from .stubs import device_function

_ONE = {
    "hneg": "-a", "habs": "|a|", "hsin": "sin(a)", "hcos": "cos(a)", "htanh": "tanh(a)", "htanh_approx": "tanh(a)",
    "hlog": "ln(a)", "hlog10": "log10(a)", "hlog2": "log2(a)", "hexp": "e**a", "hexp2": "2**a", "hexp10": "10**a",
    "hsqrt": "the square root of a", "hrsqrt": "1 over the square root of a", "hfloor": "a rounded down",
    "hceil": "a rounded up", "hrcp": "1/a", "hrint": "a rounded to the nearest integer, halves to even",
    "htrunc": "a rounded towards 0",
}
_TWO = {
    "hadd": "a + b", "hsub": "a - b", "hmul": "a * b", "hdiv": "a / b", "heq": "a == b", "hne": "a != b",
    "hge": "a >= b", "hgt": "a > b", "hle": "a <= b", "hlt": "a < b", "hmax": "the larger of a and b",
    "hmin": "the smaller of a and b",
}


def _define(name, parameters, text):
    def function():
        pass

    function.__name__ = name
    function.__doc__ = f"{name}({parameters}): {text}, for float16."
    globals()[name] = device_function("fp16." + name)(function)


for _name, _text in _ONE.items():
    _define(_name, "a", _text)
for _name, _text in _TWO.items():
    _define(_name, "a, b", _text)
_define("hfma", "a, b, c", "a*b + c rounded once")
del _name, _text

__all__ = [*_ONE, *_TWO, "hfma"]
