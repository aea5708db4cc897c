"""cuda.libdevice: functions run in kernels, and their results reach Python as Numba gives them."""
import math
import warnings

import numpy as np
import pytest

from warploom import cuda
from warploom.cuda import libdevice, types
from warploom.cuda.libdevicefuncs import functions

warnings.simplefilter("ignore")

DTYPES = {"int16": np.int16, "int32": np.int32, "int64": np.int64, "float32": np.float32, "float64": np.float64}


def dtype_of(ty):
    return DTYPES[str(ty)]


def make_kernel(name, results, arguments):
    """A kernel of `results` output arrays and `arguments` input arrays that calls libdevice.<name> on each element."""
    outs = [f"r{i}" for i in range(results)]
    ins = [f"a{i}" for i in range(arguments)]
    values = ", ".join(f"{o}[i]" for o in outs)
    source = (f"def kernel({', '.join(outs + ins)}):\n"
              f"    i = cuda.grid(1)\n"
              f"    if i < r0.size:\n"
              f"        {values} = libdevice.{name}({', '.join(f'{a}[i]' for a in ins)})\n")
    namespace = {"cuda": cuda, "libdevice": libdevice}
    exec(source, namespace)
    return cuda.jit(namespace["kernel"])


def call(name, *arguments):
    retty, args = functions["__nv_" + name]
    outs = ([] if retty == types.void else [retty]) + [a.ty for a in args if a.is_ptr]
    count = len(arguments[0])
    inputs = [np.asarray(x, dtype_of(a.ty)) for x, a in zip(arguments, [a for a in args if not a.is_ptr])]
    results = [np.zeros(count, dtype_of(ty)) for ty in outs]
    make_kernel(name, len(results), len(inputs))[1, 32](*results, *inputs)
    return results if len(results) > 1 else results[0]


def test_results_through_pointers_become_a_tuple():
    x = np.linspace(-9, 9, 30)
    sine, cosine = call("sincos", x)
    np.testing.assert_allclose(sine, np.sin(x), rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(cosine, np.cos(x), rtol=1e-15, atol=1e-16)
    fraction, exponent = call("frexp", x)
    np.testing.assert_array_equal(np.ldexp(fraction, exponent), x)
    assert exponent.dtype == np.int32
    rest, quotient = call("remquo", x, np.full(30, 2.0))
    np.testing.assert_array_equal(rest, [math.remainder(v, 2.0) for v in x])
    assert set(np.abs(quotient)) <= set(range(8))


def test_values():
    np.testing.assert_array_equal(call("popc", [0, 1, 255, -1]), [0, 1, 8, 32])
    np.testing.assert_array_equal(call("clzll", [0, 1, -1]), [64, 63, 0])
    np.testing.assert_array_equal(call("double2int_ru", [1.2, -1.2, 7]), [2, -1, 7])
    np.testing.assert_allclose(call("tgamma", [0.5, 5.0, -1.5]), [math.gamma(v) for v in (0.5, 5.0, -1.5)], rtol=1e-14)
    np.testing.assert_allclose(call("erfinv", [0.5, -0.25]), [0.4769362762044699, -0.22531205501217808], rtol=1e-14)
    np.testing.assert_array_equal(call("powi", [3.0, -2.0, 10.0], [4, 3, -2]), [81, -8, 0.01])


def test_wrong_number_of_arguments_is_refused():
    with pytest.raises(Exception, match="(?i)sin"):
        make_kernel("sin", 1, 2)[1, 32](np.zeros(2), np.zeros(2), np.zeros(2))


def test_functions_of_every_shape_run():
    # tests/devicelib runs all of them; here each combination of types once.
    shapes = {}
    for symbol, (retty, args) in functions.items():
        shapes.setdefault((str(retty), tuple((str(a.ty), a.is_ptr) for a in args)), symbol)
    assert len(shapes) > 30
    for symbol in shapes.values():
        retty, args = functions[symbol]
        results = call(symbol[len("__nv_"):], *[np.ones(4) for a in args if not a.is_ptr])
        for result in results if isinstance(results, list) else [results]:
            assert len(set(result.tolist())) == 1, symbol
