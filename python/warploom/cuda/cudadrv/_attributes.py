"""Device attributes by the names of ``CUdevice_attribute``, for the GPU that the device models."""

from __future__ import annotations

from typing import Dict

# Facts of the H200 that no limit of the device depends on (CUDA C++ Programming Guide, "Compute Capabilities";
# NVIDIA H200 data sheet). Clock rates in kHz, sizes in bytes unless the attribute says otherwise.
_MODELLED = {
    "MAX_PITCH": 2147483647,
    "TEXTURE_ALIGNMENT": 512,
    "SURFACE_ALIGNMENT": 512,
    "TEXTURE_PITCH_ALIGNMENT": 32,
    "TOTAL_CONSTANT_MEMORY": 65536,
    "CLOCK_RATE": 1980000,
    "MEMORY_CLOCK_RATE": 3201000,
    "GLOBAL_MEMORY_BUS_WIDTH": 6144,
    "L2_CACHE_SIZE": 62914560,
    "GPU_OVERLAP": 1,
    "ASYNC_ENGINE_COUNT": 3,
    "CONCURRENT_KERNELS": 1,
    "KERNEL_EXEC_TIMEOUT": 0,
    "INTEGRATED": 0,
    "CAN_MAP_HOST_MEMORY": 1,
    "COMPUTE_MODE": 0,
    "ECC_ENABLED": 1,
    "TCC_DRIVER": 0,
    "PCI_BUS_ID": 0,
    "PCI_DOMAIN_ID": 0,
    "UNIFIED_ADDRESSING": 1,
    "STREAM_PRIORITIES_SUPPORTED": 1,
    "GLOBAL_L1_CACHE_SUPPORTED": 1,
    "LOCAL_L1_CACHE_SUPPORTED": 1,
    "MANAGED_MEMORY": 1,
    "MULTI_GPU_BOARD": 0,
    "HOST_NATIVE_ATOMIC_SUPPORTED": 1,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
    "PAGEABLE_MEMORY_ACCESS": 0,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "COMPUTE_PREEMPTION_SUPPORTED": 1,
    "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM": 1,
    "COOPERATIVE_LAUNCH": 1,
    "COOPERATIVE_MULTI_DEVICE_LAUNCH": 0,
    "HOST_REGISTER_SUPPORTED": 1,
    "DIRECT_MANAGED_MEM_ACCESS_FROM_HOST": 1,
    "RESERVED_SHARED_MEMORY_PER_BLOCK": 1024,
    "MEMORY_POOLS_SUPPORTED": 0,
}


def device_attributes(properties: dict, device_id: int) -> Dict[str, int]:
    """All attributes that are known, by name without ``CU_DEVICE_ATTRIBUTE_``; ``properties`` as the device has it."""
    block, grid = properties["max_block"], properties["max_grid"]
    known = dict(_MODELLED)
    known.update({
        "COMPUTE_CAPABILITY_MAJOR": properties["compute_capability_major"],
        "COMPUTE_CAPABILITY_MINOR": properties["compute_capability_minor"],
        "WARP_SIZE": properties["warp_size"],
        "MULTIPROCESSOR_COUNT": properties["multiprocessors"],
        "MAX_THREADS_PER_BLOCK": properties["max_threads_per_block"],
        "MAX_THREADS_PER_MULTIPROCESSOR": properties["max_threads_per_multiprocessor"],
        "MAX_BLOCKS_PER_MULTIPROCESSOR": properties["max_blocks_per_multiprocessor"],
        "MAX_BLOCK_DIM_X": block[0],
        "MAX_BLOCK_DIM_Y": block[1],
        "MAX_BLOCK_DIM_Z": block[2],
        "MAX_GRID_DIM_X": grid[0],
        "MAX_GRID_DIM_Y": grid[1],
        "MAX_GRID_DIM_Z": grid[2],
        "MAX_SHARED_MEMORY_PER_BLOCK": properties["shared_memory_per_block"],
        "SHARED_MEMORY_PER_BLOCK": properties["shared_memory_per_block"],
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": properties["max_shared_memory_per_block"],
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": properties["shared_memory_per_multiprocessor"],
        "MAX_REGISTERS_PER_MULTIPROCESSOR": properties["registers_per_multiprocessor"],
        "MAX_REGISTERS_PER_BLOCK": properties["registers_per_multiprocessor"],
        "REGISTERS_PER_BLOCK": properties["registers_per_multiprocessor"],
        "PCI_DEVICE_ID": device_id,
    })
    return known
