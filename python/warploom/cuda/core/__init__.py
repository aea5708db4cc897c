"""Configuration and error classes under the module names that Numba uses."""
