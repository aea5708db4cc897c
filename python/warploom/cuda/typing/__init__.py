"""Signatures: a return type and argument types. Source: Numba, "Types and signatures"."""

from __future__ import annotations

import ast
from typing import Optional, Tuple

from .. import types

__all__ = ["Signature", "normalize_signature", "parse_signature", "signature"]


class Signature:
    """`return_type`, `args` (a tuple of types) and `recvr` (the object's type for methods, or None)."""

    __slots__ = ("return_type", "args", "recvr", "pysig")

    def __init__(self, return_type, args, recvr=None, pysig=None):
        self.return_type = return_type
        self.args = tuple(args)
        self.recvr = recvr
        self.pysig = pysig

    def __eq__(self, other) -> bool:
        return (isinstance(other, Signature) and self.args == other.args and self.return_type == other.return_type
                and self.recvr == other.recvr)

    def __ne__(self, other) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.args, self.return_type))

    def __reduce__(self):
        return Signature, (self.return_type, self.args, self.recvr, None)

    def __repr__(self) -> str:
        return f"{self.args} -> {self.return_type}"

    @property
    def is_method(self) -> bool:
        """Whether it is bound to an object."""
        return self.recvr is not None

    def replace(self, **kw) -> "Signature":
        """A copy with some members replaced."""
        state = dict(return_type=self.return_type, args=self.args, recvr=self.recvr, pysig=self.pysig)
        state.update(kw)
        return Signature(**state)


def signature(return_type, *args, recvr=None) -> Signature:
    """The signature of that return type and those argument types."""
    return Signature(return_type, args, recvr=recvr)


_ALLOWED = (ast.Expression, ast.Name, ast.Load, ast.Call, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Attribute,
            ast.Constant, ast.UnaryOp, ast.USub, ast.keyword)
if hasattr(ast, "Index"):
    _ALLOWED += (ast.Index, ast.ExtSlice)


def parse_signature(text: str):
    """What a text such as "void(float32[:], int32)" or "(int64, float64)" denotes, over the names of `types`.

    Raises TypeError for a text that is not a type, a tuple of types or a signature.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise TypeError(f"invalid signature: {text!r}: {error.msg}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED) or (isinstance(node, ast.Attribute) and node.attr.startswith("_")):
            raise TypeError(f"invalid signature: {text!r}: only names of types, calls and slices may stand in it")
    names = {n: v for n, v in vars(types).items() if not n.startswith("_")}
    names.update(types=types, __builtins__={})
    try:
        return eval(compile(tree, "<signature>", "eval"), names)
    except NameError as error:
        raise NameError(f"{error} in the signature {text!r}") from None


def normalize_signature(sig) -> Tuple[tuple, Optional[types.Type]]:
    """(argument types, return type or None) of a signature given as text, tuple of types, type or Signature.

    Raises TypeError for anything else.
    """
    parsed = parse_signature(sig) if isinstance(sig, str) else sig
    if isinstance(parsed, Signature):
        args, return_type = parsed.args, parsed.return_type
    elif isinstance(parsed, (tuple, list)):
        args, return_type = tuple(parsed), None
    elif isinstance(parsed, types.Type):
        # "float32": Numba reads a lone type as a signature of one argument only where it was meant as a tuple.
        args, return_type = (parsed,), None
    else:
        raise TypeError(f"invalid signature: {sig!r} evaluates to {parsed.__class__.__name__!r} instead of tuple "
                        "or Signature")
    for ty in tuple(args) + ((return_type,) if return_type is not None else ()):
        if not isinstance(ty, types.Type):
            raise TypeError(f"invalid type in signature: expected a type instance, got {ty!r}")
    return tuple(args), return_type
