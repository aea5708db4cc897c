"""typeof under its short name."""

from .typing.typeof import Purpose, typeof  # noqa: F401
