"""`vectorize` and `guvectorize`: functions of scalars or small arrays, applied over whole arrays by kernels.

Source: Numba, "CUDA Ufuncs and Generalized Ufuncs"; NumPy, "Generalized universal function API".
"""

from __future__ import annotations

import itertools
import linecache
import re
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import stubs, types
from .decorators import jit
from .dispatcher import CUDADispatcher
from .serialize import PackedFunction
from .typing import normalize_signature

NO_MATCH = ("No matching version.  GPU ufunc requires array arguments to have the exact types.  This behaves like "
            "regular ufunc with casting='no'.")

_counter = itertools.count()


def _from_text(text: str, name: str, space: Dict[str, Any]) -> Callable:
    """The function that a source text defines; the text stays available for compilation and diagnostics."""
    filename = f"<warploom {name} {next(_counter)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), space)
    return space[name]


def _index_text(ndim: int) -> Tuple[str, str]:
    """Statements that split the thread's number `i` into `ndim` indices of `shape`, and the index expression."""
    if ndim == 1:
        return "", "i"
    lines, rest = [], "i"
    for d in range(ndim - 1, 0, -1):
        lines.append(f"        i{d} = {rest} % shape[{d}]\n        r{d} = {rest} // shape[{d}]\n")
        rest = f"r{d}"
    lines.append(f"        i0 = {rest}\n")
    return "".join(lines), ", ".join(f"i{d}" for d in range(ndim))


class _Base:
    """What both kinds of functions share: name, documentation, placing of arguments on the device."""

    def __init__(self, py_func: Callable):
        self.py_func = py_func
        self.__name__ = py_func.__name__
        self.__doc__ = py_func.__doc__
        self.__module__ = py_func.__module__
        self.__wrapped__ = py_func
        self._core = jit(device=True)(py_func)
        self._kernels: Dict[Any, CUDADispatcher] = {}
        self._max_blocksize = 1024

    @property
    def max_blocksize(self) -> int:
        """The largest block that kernels are launched with."""
        return self._max_blocksize

    @max_blocksize.setter
    def max_blocksize(self, value: int) -> None:
        self._max_blocksize = int(value)

    def _block(self, n: int) -> int:
        return max(1, min(256, self._max_blocksize, n))

    def _launch(self, kernel: CUDADispatcher, n: int, arguments, stream) -> None:
        if n:
            block = self._block(n)
            kernel[(n + block - 1) // block, block, stream](*arguments)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__name__}>"


def _is_device(value) -> bool:
    from . import api
    from .cudadrv import devicearray

    return devicearray.is_cuda_ndarray(value) or (not isinstance(value, (np.ndarray, np.generic))
                                                  and api.is_cuda_array(value))


def _as_device(value):
    from . import api
    from .cudadrv import devicearray

    return value if devicearray.is_cuda_ndarray(value) else api.as_cuda_array(value)


def _view(array, shape: Tuple[int, ...], strides: Tuple[int, ...]):
    """A device array over the same memory."""
    from .cudadrv import devicearray

    return devicearray.DeviceNDArray._view_of(array, 0, shape, strides, array.dtype)


def _broadcast(array, loop: Tuple[int, ...], core_ndim: int = 0):
    """A view of a device array whose leading dimensions are `loop`; repeated ones get stride 0."""
    own = array.ndim - core_ndim
    shape = loop + tuple(array.shape[own:])
    outer = len(loop) - own
    strides = [0] * outer + [0 if array.shape[d] == 1 and loop[outer + d] != 1 else array.strides[d]
                             for d in range(own)] + list(array.strides[own:])
    if tuple(array.shape) == shape:
        return array
    return _view(array, shape, tuple(strides))


def _flattened(array, ndim: int):
    """The array with its first `ndim` dimensions as one if they follow each other in memory, else None."""
    lead = [(n, s) for n, s in zip(array.shape[:ndim], array.strides[:ndim]) if n != 1]
    size = int(np.prod([n for n, _ in lead])) if lead else 1
    for (_, outer), (n, inner) in zip(lead, lead[1:]):
        if outer != n * inner:
            return None
    step = lead[-1][1] if lead else array.dtype.itemsize
    if ndim == 1 and len(lead) == 1:
        return array
    return _view(array, (size,) + tuple(array.shape[ndim:]), (step,) + tuple(array.strides[ndim:]))


def _over_loop(arrays: Sequence[Any], loop: Tuple[int, ...], core_ndims: Sequence[int]):
    """(loop shape, arrays): with one loop dimension where all arrays allow it; no loop is a loop of one."""
    if not loop:
        return (1,), [_view(a, (1,) + tuple(a.shape), (a.dtype.itemsize,) + tuple(a.strides)) for a in arrays]
    flat = [_flattened(a, len(loop)) for a in arrays]
    if all(f is not None for f in flat):
        return (int(np.prod(loop)),), flat
    return loop, list(arrays)


# ---- vectorize ----


class CUDAUFunc(_Base):
    """A function of scalars applied element by element; made by `vectorize`.

    Arrays are NumPy or device arrays; shapes broadcast. The result is on the device if an argument is.
    """

    def __init__(self, py_func: Callable, signatures: Sequence[Any]):
        super().__init__(py_func)
        self.functions: Dict[Tuple[np.dtype, ...], np.dtype] = {}
        self._signatures = list(signatures)
        for sig in signatures:
            args, return_type = normalize_signature(sig)
            if return_type is None:
                return_type = self._core.compile_device(args).return_type
            self.functions[tuple(types.as_dtype(a) for a in args)] = types.as_dtype(return_type)
        if not self.functions:
            raise TypeError("vectorize for the cuda target needs at least one signature")
        self._nin = len(next(iter(self.functions)))

    @property
    def nin(self) -> int:
        """The number of arguments."""
        return self._nin

    nout = 1

    @property
    def types(self) -> List[str]:
        """The signatures in NumPy's letters, such as "dd->d"."""
        return ["".join(d.char for d in args) + "->" + out.char for args, out in self.functions.items()]

    def __reduce__(self):
        return _rebuild_ufunc, (PackedFunction(self.py_func), self._signatures)

    def _resolve(self, arguments) -> Tuple[np.dtype, ...]:
        """The signature for the arguments: exact for arrays; Python numbers fit any of their kind or a wider one."""
        given = [None if type(a) in (bool, int, float, complex) else np.dtype(a.dtype) for a in arguments]
        exact = tuple(np.asarray(a).dtype if g is None else g for a, g in zip(arguments, given))
        if exact in self.functions:
            return exact
        for candidate in self.functions:
            if all(c == g if g is not None else np.can_cast(np.min_scalar_type(a), c, "same_kind")
                   for c, g, a in zip(candidate, given, arguments)):
                return candidate
        raise TypeError(NO_MATCH)

    def __call__(self, *args, out=None, stream=0):
        """Apply to arrays or scalars; `out` takes the result; `stream` is where the work is queued.

        Raises TypeError where no signature has the exact types, ValueError for shapes that do not broadcast.
        """
        from . import api

        if len(args) == self._nin + 1 and out is None:
            args, out = args[:-1], args[-1]
        if len(args) != self._nin:
            raise TypeError(f"{self.__name__}() takes {self._nin} arguments, {len(args)} were given")
        on_device = [_is_device(a) for a in args]
        values = [_as_device(a) if d else (a if type(a) in (bool, int, float, complex) else np.asarray(a))
                  for a, d in zip(args, on_device)]
        dtypes = self._resolve(values)
        out_dtype = self.functions[dtypes]
        loop = np.broadcast_shapes(*(getattr(v, "shape", ()) for v in values))
        inputs = []
        for value, dtype, device in zip(values, dtypes, on_device):
            if not device:
                host = np.asarray(value, dtype)
                value = api.to_device(host if host.flags.c_contiguous or host.flags.f_contiguous
                                      else np.ascontiguousarray(host), stream=stream)
            inputs.append(_broadcast(value, loop))
        device_out = out is not None and _is_device(out)
        if device_out:
            target = _as_device(out)
        else:
            target = api.device_array(loop, dtype=out_dtype, stream=stream)
        if tuple(target.shape) != loop:
            raise ValueError(f"operands could not be broadcast together with the output's shape {tuple(target.shape)}")
        if np.dtype(target.dtype) != out_dtype:
            raise TypeError(f"the output has dtype {target.dtype}, the result is {out_dtype}")
        flat_loop, arrays = _over_loop([*inputs, target], loop, [0] * (self._nin + 1))
        self._launch(self._kernel(len(flat_loop)), int(np.prod(flat_loop)), [flat_loop, *arrays], stream)
        if device_out:
            return target
        if out is not None:
            out[...] = _awaited(target, stream)
            return out
        if any(on_device):
            return target
        result = _awaited(target, stream)
        return result[()] if loop == () else result

    def _kernel(self, ndim: int) -> CUDADispatcher:
        kernel = self._kernels.get(ndim)
        if kernel is None:
            split, index = _index_text(ndim)
            names = [f"a{k}" for k in range(self._nin)]
            size = " * ".join(f"shape[{d}]" for d in range(ndim))
            text = (f"def kernel(shape, {', '.join(names)}, out):\n    i = grid(1)\n    if i < {size}:\n{split}"
                    f"        out[{index}] = core({', '.join(f'{n}[{index}]' for n in names)})\n")
            kernel = self._kernels[ndim] = jit(_from_text(text, "kernel", {"grid": stubs.grid, "core": self._core}))
        return kernel

    def reduce(self, arg, stream=0):
        """Combine all elements of a one-dimensional array with the function of two arguments; a scalar of its dtype."""
        from .kernels.reduction import Reduce

        if self._nin != 2:
            raise TypeError("reduce only available for binary functions")
        array = _as_device(arg) if _is_device(arg) else np.asarray(arg)
        if array.ndim != 1:
            raise TypeError("only support 1D array")
        if array.shape[0] == 0:
            raise TypeError("Reduction on an empty array.")
        self._resolve([array, array])
        reducer = self.__dict__.setdefault("_reducer", Reduce(self.py_func))
        return _awaited(reducer.on_device(array, array.shape[0], stream), stream)[0]


def _awaited(array, stream) -> np.ndarray:
    host = array.copy_to_host(stream=stream)
    if stream:
        stream.synchronize()
    return host


def _rebuild_ufunc(packed: PackedFunction, signatures) -> CUDAUFunc:
    return CUDAUFunc(packed.function(), signatures)


def _signature_list(signatures) -> list:
    return list(signatures) if isinstance(signatures, list) else [signatures]


def _check_target(target: Optional[str]) -> None:
    if target not in (None, "cuda"):
        raise ValueError(f"Unsupported target: {target}. Only target=\"cuda\" is provided")


def vectorize(ftylist_or_function=(), target: Optional[str] = None, identity=None, **kws):
    """Decorator: a function of scalars that is applied to arrays element by element on the device.

    ftylist_or_function: one or a list of signatures such as "float32(float32, float32)"; arguments must have exactly
    these dtypes. A function alone, without signatures and target, becomes a NumPy function that calls it on the host,
    as Numba's default target does. Raises KeyError for an unknown option.
    """
    if target is None and hasattr(ftylist_or_function, "__code__"):
        return np.vectorize(ftylist_or_function)
    _check_target(target)
    if kws.pop("nopython", None) is not None:
        warnings.warn("nopython kwarg for cuda target is redundant", RuntimeWarning, stacklevel=2)
    kws.pop("cache", None)
    if kws:
        raise KeyError(f"Unrecognized options. Got: {', '.join(map(repr, kws))}")

    def make(function) -> CUDAUFunc:
        return CUDAUFunc(getattr(function, "py_func", function), _signature_list(ftylist_or_function))

    if callable(ftylist_or_function) and hasattr(ftylist_or_function, "__code__"):
        raise TypeError("vectorize for the cuda target needs signatures: @vectorize(['float32(float32)'])")
    return make


# ---- guvectorize ----

_CORE = re.compile(r"\(([^()]*)\)")


def parse_layout(layout: str) -> Tuple[List[Tuple[str, ...]], List[Tuple[str, ...]]]:
    """The named dimensions of inputs and outputs in a text such as "(m,n),(n,p)->(m,p)". Raises ValueError."""
    text = re.sub(r"\s", "", layout)
    if not re.fullmatch(r"(\([^()]*\),?)*->(\([^()]*\),?)+", text):
        raise ValueError(f"invalid token in signature {layout!r}")
    left, _, right = text.partition("->")
    parts = [[tuple(n for n in group.split(",") if n) for group in _CORE.findall(side)] for side in (left, right)]
    return parts[0], parts[1]


class CUDAGUFunc(_Base):
    """A function of small arrays applied along the leading dimensions of larger ones; made by `guvectorize`."""

    def __init__(self, py_func: Callable, signatures: Sequence[Any], layout: str):
        super().__init__(py_func)
        self._layout = layout
        self._signatures = list(signatures)
        self._inputs, self._outputs = parse_layout(layout)
        self._types: Dict[Tuple[np.dtype, ...], Tuple[types.Type, ...]] = {}
        for sig in signatures:
            args, return_type = normalize_signature(sig)
            if return_type is not None and not isinstance(return_type, types.NoneType):
                raise TypeError(f"guvectorized functions cannot return values: signature {sig} specifies "
                                f"{return_type} return type")
            if len(args) != self.nin + self.nout:
                raise TypeError(
                    f"the signature has {len(args)} arguments, the layout {layout!r} {self.nin + self.nout}")
            dtypes = tuple(types.as_dtype(a.dtype if isinstance(a, types.Array) else a) for a in args)
            self._types[dtypes] = args

    @property
    def nin(self) -> int:
        """The number of inputs."""
        return len(self._inputs)

    @property
    def nout(self) -> int:
        """The number of outputs."""
        return len(self._outputs)

    @property
    def signature(self) -> str:
        """The layout."""
        return self._layout

    def __reduce__(self):
        return _rebuild_gufunc, (PackedFunction(self.py_func), self._signatures, self._layout)

    def _resolve(self, inputs, on_device) -> Tuple[np.dtype, ...]:
        given = tuple(np.dtype(v.dtype) for v in inputs)
        for dtypes in self._types:
            if dtypes[: self.nin] == given:
                return dtypes
        for dtypes in self._types:
            if all(np.can_cast(g, d, "same_kind") for g, d in zip(given, dtypes)):
                for g, d, device in zip(given, dtypes, on_device):
                    if device and g != d:
                        raise TypeError(f"compatible signature is possible by casting {g} to {d}, but DeviceNDArray "
                                        "does not support .astype()")
                return dtypes
        raise TypeError("no matching signature for the argument types "
                        f"({', '.join(map(str, given))}); there are: "
                        + "; ".join(", ".join(map(str, d[: self.nin])) for d in self._types))

    def _check_count(self, count: int) -> None:
        nin, total = self.nin, self.nin + self.nout
        if count not in (nin, total):
            def many(n):
                return f"{n} positional argument{'' if n == 1 else 's'}"

            raise TypeError(f"gufunc accepts {many(nin)} (when providing input only) or {many(total)} (when providing "
                            f"input and output). Got {many(count)}.")

    def __call__(self, *args, out=None, stream=0):
        """Apply to arrays; outputs may follow the inputs or be given as `out` (one, or a tuple).

        Returns the output, or a tuple of several; on the device if an input is. Raises TypeError for types without a
        signature and for a wrong number of arguments, ValueError for shapes that do not fit.
        """
        from . import api

        self._check_count(len(args))
        outs: List[Any] = list(args[self.nin:])
        if out is not None:
            if outs:
                raise ValueError("cannot specify argument 'out' as both positional and keyword")
            outs = list(out) if isinstance(out, tuple) else [out]
        on_device = [_is_device(a) for a in args[: self.nin]]
        values = [_as_device(a) if d else np.asarray(a) for a, d in zip(args, on_device)]
        dtypes = self._resolve(values, on_device)
        sizes, loops = self._dimensions(values)
        loop = np.broadcast_shapes(*loops)
        arrays = []
        for value, dtype, core, device in zip(values, dtypes, self._inputs, on_device):
            if not device:
                host = np.asarray(value, dtype)
                value = api.to_device(host if host.flags.c_contiguous else np.ascontiguousarray(host), stream=stream)
            arrays.append(_broadcast(value, loop, len(core)))
        results, targets = self._allocate(outs, loop, sizes, dtypes[self.nin:], stream)
        cores = [len(c) for c in self._inputs + self._outputs]
        flat_loop, all_arrays = _over_loop(arrays + targets, loop, cores)
        kernel = self._kernel(len(flat_loop), self._types[dtypes])
        self._launch(kernel, int(np.prod(flat_loop)), [flat_loop, *all_arrays], stream)
        final = []
        for k, (given, target) in enumerate(zip(results, targets)):
            if given is not None and _is_device(given):
                final.append(target)
            elif given is not None:
                given[...] = _awaited(target, stream).reshape(given.shape)
                final.append(given)
            elif any(on_device):
                final.append(target)
            else:
                host = _awaited(target, stream)
                final.append(host[()] if host.shape == () else host)
        return final[0] if len(final) == 1 else tuple(final)

    def _dimensions(self, values):
        sizes: Dict[str, int] = {}
        loops = []
        for k, (value, core) in enumerate(zip(values, self._inputs)):
            own = value.ndim - len(core)
            if own < 0:
                raise ValueError(f"input operand {k} does not have enough dimensions (has {value.ndim}, gufunc core "
                                 f"with signature {self._layout} requires {len(core)})")
            for name, n in zip(core, value.shape[own:]):
                if sizes.setdefault(name, n) != n:
                    raise ValueError(f"input operand {k} has a mismatch in its core dimension {name}: {n} is different "
                                     f"from {sizes[name]}")
            loops.append(tuple(value.shape[:own]))
        return sizes, loops

    def _allocate(self, outs, loop, sizes, dtypes, stream):
        """(what the caller gave for each output or None, the device arrays to write)."""
        from . import api

        results, targets = [], []
        for k, (core, dtype) in enumerate(zip(self._outputs, dtypes)):
            given = outs[k] if k < len(outs) else None
            try:
                shape = loop + tuple(sizes[n] for n in core)
            except KeyError as error:
                if given is None:
                    raise ValueError(f"the size of output dimension {error} is not known from the inputs") from None
                shape = tuple(given.shape)
            if given is not None and _is_device(given):
                target = _as_device(given)
            else:
                target = api.device_array(shape, dtype=dtype, stream=stream)
            if tuple(target.shape) != shape:
                raise ValueError(f"output {k} has shape {tuple(target.shape)}, the result is {shape}")
            results.append(given)
            targets.append(target)
        return results, targets

    def _kernel(self, ndim: int, argtypes) -> CUDADispatcher:
        # A core dimension "()" whose argument is declared as an array is given as an array of one element.
        as_array = tuple(isinstance(t, types.Array) and not core
                         for t, core in zip(argtypes, self._inputs + self._outputs))
        kernel = self._kernels.get((ndim, as_array))
        if kernel is None:
            split, index = _index_text(ndim)
            names = [f"a{k}" for k in range(len(argtypes))]
            lead, _, last = index.rpartition(", ")
            one = f"{lead}, {last}:{last} + 1" if lead else f"{last}:{last} + 1"
            parts = [f"{n}[{one}]" if array else f"{n}[{index}]" for n, array in zip(names, as_array)]
            size = " * ".join(f"shape[{d}]" for d in range(ndim))
            text = (f"def kernel(shape, {', '.join(names)}):\n    i = grid(1)\n    if i < {size}:\n{split}"
                    f"        core({', '.join(parts)})\n")
            made = jit(_from_text(text, "kernel", {"grid": stubs.grid, "core": self._core}))
            kernel = self._kernels[(ndim, as_array)] = made
        return kernel


def _rebuild_gufunc(packed: PackedFunction, signatures, layout: str) -> CUDAGUFunc:
    return CUDAGUFunc(packed.function(), signatures, layout)


def guvectorize(ftylist, signature: str, target: Optional[str] = None, identity=None, **kws):
    """Decorator: a function of small arrays that is applied along leading dimensions on the device.

    ftylist: one or a list of signatures without return type; signature: the layout, such as "(m,n),(n,p)->(m,p)".
    Raises TypeError for options that are not supported or a return type.
    """
    _check_target(target)
    if not kws.pop("nopython", True):
        raise TypeError("nopython flag must be True")
    kws.pop("cache", None)
    kws.pop("writable_args", None)
    if kws:
        raise TypeError(f"The following target options are not supported: {', '.join(map(repr, kws))}")

    def make(function) -> CUDAGUFunc:
        return CUDAGUFunc(getattr(function, "py_func", function), _signature_list(ftylist), signature)

    return make


__all__ = ["CUDAGUFunc", "CUDAUFunc", "guvectorize", "vectorize"]
