"""Devices, contexts, memory, streams and events, under the module names of Numba's driver layer."""
