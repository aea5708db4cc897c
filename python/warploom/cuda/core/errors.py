"""Exception and warning classes of the compiler, with Numba's names so that `except TypingError` keeps working.

Source: Numba's documented hierarchy (`numba.core.errors`). The same class objects are found under `numba.core.errors`,
`numba.cuda.core.errors` and `warploom.cuda.errors`.
"""

from __future__ import annotations

from typing import Optional


class NumbaWarning(Warning):
    """Base of the warnings below. `msg` is the text, `loc` the place in the source or None."""

    def __init__(self, msg, loc=None, highlighting=True):
        self.msg = msg
        self.loc = loc
        text = str(msg) if loc is None else f"{msg}\n{loc}"
        super().__init__(text)


class NumbaPerformanceWarning(NumbaWarning):
    """The program runs, but slower than it should: low occupancy, an implicit copy."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """A deprecated feature is used."""


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """A feature that is going to be deprecated is used."""


class NumbaParallelSafetyWarning(NumbaWarning):
    """An operation may not be safe in parallel code."""


class NumbaTypeSafetyWarning(NumbaWarning):
    """An unsafe cast."""


class NumbaExperimentalFeatureWarning(NumbaWarning):
    """An experimental feature is used."""


class NumbaInvalidConfigWarning(NumbaWarning):
    """Options that contradict one another."""


class NumbaPedanticWarning(NumbaWarning):
    """A remark for the strict reader."""


class NumbaIRAssumptionWarning(NumbaPedanticWarning):
    """An internal assumption did not hold."""


class NumbaDebugInfoWarning(NumbaWarning):
    """Debug information could not be produced for something."""


class NumbaSystemWarning(NumbaWarning):
    """Something about the system is not as expected."""


class NumbaError(Exception):
    """Base of the compiler's exceptions.

    `msg` is the text without the place; `loc` the place in the user's source (any object with a str) or None.
    """

    def __init__(self, msg="", loc=None, highlighting=True):
        self.msg = msg
        self.loc = loc
        self.contexts = []
        super().__init__(str(msg) if loc is None else f"{msg}\n{loc}")

    def add_context(self, msg: str) -> "NumbaError":
        """Append a line that says where the error was met; returns self."""
        self.contexts.append(msg)
        self.args = (f"{self.args[0]}\n{msg}",) + self.args[1:]
        return self


class UnsupportedError(NumbaError):
    """A construct of Python that kernels cannot use."""


class UnsupportedBytecodeError(UnsupportedError):
    """A construct that Numba refuses by its bytecode."""


class UnsupportedRewriteError(UnsupportedError):
    """Kept for its name."""


class IRError(NumbaError):
    """The function's structure is not valid."""


class RedefinedError(IRError):
    """A name is defined twice where it must not be."""


class NotDefinedError(IRError):
    """A name is used before it is defined."""

    def __init__(self, name, loc=None):
        self.name = name
        super().__init__(f"The compiler failed to analyze the bytecode. Variable '{name}' is not defined.", loc)


class VerificationError(IRError):
    """Kept for its name."""


class DeprecationError(NumbaError):
    """A removed feature is used."""


class LoweringError(NumbaError):
    """Code could not be generated for an operation that has types."""


class UnsupportedParforsError(NumbaError):
    """Kept for its name."""


class ForbiddenConstruct(LoweringError):
    """A construct that is never allowed in a kernel."""


class TypingError(NumbaError):
    """Types could not be found, or an operation has no meaning for its types."""


class UntypedAttributeError(TypingError):
    """A value has no such attribute."""

    def __init__(self, value, attr, loc=None):
        super().__init__(f"Unknown attribute '{attr}' of type {value}", loc)


class ByteCodeSupportError(NumbaError):
    """Kept for its name."""


class CompilerError(NumbaError):
    """The compiler met something it cannot treat."""


class ConstantInferenceError(NumbaError):
    """A value that must be known when compiling is not."""


class InternalError(NumbaError):
    """A fault of the compiler, not of the program."""


class InternalTargetMismatchError(InternalError):
    """Kept for its name."""


class NonexistentTargetError(InternalError):
    """An unknown target was named."""


class RequireLiteralValue(TypingError):
    """An argument must be a literal, or a name whose value is known when compiling."""


class ForceLiteralArg(NumbaError):
    """Kept for its name."""


class LiteralTypingError(TypingError):
    """A literal has no type."""


class NumbaValueError(TypingError):
    """A value that the operation does not allow."""


class NumbaTypeError(TypingError):
    """A type that the operation does not allow."""


class NumbaAttributeError(TypingError):
    """An attribute that does not exist."""


class NumbaAssertionError(TypingError):
    """An assertion that failed while compiling."""


class NumbaNotImplementedError(TypingError):
    """An operation that has not been implemented."""


class NumbaKeyError(TypingError):
    """A key that does not exist."""


class NumbaIndexError(TypingError):
    """An index outside its range, seen while compiling."""


class NumbaRuntimeError(NumbaError):
    """An error of the run-time system."""


class UntypedArgumentError(TypingError, ValueError):
    """An argument of a launch whose type kernels do not know; Numba raises ValueError or TypingError for it."""


def deprecate_moved_module(old_module: str, new_module: str, stacklevel: int = 2) -> None:
    """Warn that a module has moved."""
    import warnings

    warnings.warn(f"{old_module} has moved to {new_module}", NumbaDeprecationWarning, stacklevel=stacklevel)


def warn_user(warning: Warning) -> None:
    """Give a warning at the line of the user's program that led to it, not at one of this package."""
    import sys
    import warnings

    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_globals.get("__name__", "").startswith("warploom."):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


def class_named(name: str) -> Optional[type]:
    """The class of this module, or the builtin exception, that a compiler's diagnostic names; None if unknown."""
    import builtins

    found = globals().get(name) or getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None
