"""Which argument types a compiled kernel accepts, and which of several kernels fits best. Source: Numba, dispatch."""

from __future__ import annotations

from typing import Iterable, List, Optional, Sequence, Tuple

from . import types

EXACT, PROMOTE, SAFE, UNSAFE = range(4)

_FLOAT_HOLDS = {16: 11, 32: 24, 64: 53}


def conversion(given: types.Type, wanted: types.Type) -> Optional[int]:
    """How `given` becomes `wanted`: EXACT, PROMOTE, SAFE or UNSAFE; None when it cannot."""
    if given == wanted:
        return EXACT
    if isinstance(wanted, types.Array) and isinstance(given, types.Array):
        fits = (given.dtype == wanted.dtype and given.ndim == wanted.ndim and (given.mutable or not wanted.mutable)
                and (wanted.layout in ("A", given.layout) or (given.ndim == 1 and given.layout in "CF"
                                                               and wanted.layout in "CF")))
        return SAFE if fits else None
    if isinstance(wanted, types.CPointer) or isinstance(wanted, types.RawPointer):
        return SAFE if isinstance(given, (types.Integer, types.NoneType)) else None
    if isinstance(wanted, types.Optional):
        if isinstance(given, types.NoneType):
            return PROMOTE
        return conversion(given, wanted.type)
    if isinstance(given, types.Boolean):
        return UNSAFE if isinstance(wanted, (types.Integer, types.Float, types.Complex)) else None
    if isinstance(given, types.Integer):
        if isinstance(wanted, types.Integer):
            if given.signed == wanted.signed:
                return PROMOTE if wanted.bitwidth > given.bitwidth else UNSAFE
            return SAFE if wanted.signed and wanted.bitwidth > given.bitwidth else UNSAFE
        if isinstance(wanted, types.Float):
            return SAFE if given.bitwidth <= _FLOAT_HOLDS[wanted.bitwidth] else UNSAFE
        if isinstance(wanted, types.Complex):
            return SAFE if given.bitwidth <= _FLOAT_HOLDS[wanted.underlying_float.bitwidth] else UNSAFE
        return None
    if isinstance(given, types.Float):
        if isinstance(wanted, types.Float):
            return PROMOTE if wanted.bitwidth > given.bitwidth else UNSAFE
        if isinstance(wanted, types.Integer):
            return UNSAFE
        if isinstance(wanted, types.Complex):
            return SAFE if wanted.underlying_float.bitwidth >= given.bitwidth else UNSAFE
        return None
    if isinstance(given, types.Complex) and isinstance(wanted, types.Complex):
        return PROMOTE if wanted.bitwidth > given.bitwidth else UNSAFE
    if isinstance(given, types.IntEnumMember):
        return conversion(given.dtype, wanted)
    if isinstance(given, types.BaseTuple) and isinstance(wanted, types.BaseTuple) and len(given) == len(wanted):
        worst = EXACT
        for a, b in zip(given, wanted):
            step = conversion(a, b)
            if step is None:
                return None
            worst = max(worst, step)
        return worst
    return None


def best_matches(given: Sequence[types.Type], candidates: Iterable[Tuple[types.Type, ...]]) -> List[tuple]:
    """The candidates that accept the given types and need the least conversion; more than one if none is better."""
    best, found = None, []
    for candidate in candidates:
        if len(candidate) != len(given):
            continue
        steps = [conversion(a, b) for a, b in zip(given, candidate)]
        if None in steps:
            continue
        rating = (steps.count(UNSAFE), steps.count(SAFE), steps.count(PROMOTE))
        if best is None or rating < best:
            best, found = rating, [candidate]
        elif rating == best:
            found.append(candidate)
    return found
