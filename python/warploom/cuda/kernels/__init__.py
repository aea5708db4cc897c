"""Kernels that the package itself provides."""
