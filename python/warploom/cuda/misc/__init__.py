"""Small parts under Numba's module names."""
