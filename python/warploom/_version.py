"""The package's version, one place for Python and the build."""

__version__ = "0.1.0"
