"""NumPy support under Numba's module names."""
