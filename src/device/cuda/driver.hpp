// The installed CUDA driver, found when the first device of it opens; declared from the CUDA Driver API's
// documentation.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.hpp"
#include "device/cuda/driver_types.hpp"

namespace warploom::device::cuda {

// WL_ENTRY(member, name of the entry point, parameters).
#define WARPLOOM_CUDA_ENTRIES(WL_ENTRY)                                                                               \
  WL_ENTRY(init, "cuInit", (unsigned))                                                                                \
  WL_ENTRY(driver_version, "cuDriverGetVersion", (int*))                                                              \
  WL_ENTRY(device_count, "cuDeviceGetCount", (int*))                                                                  \
  WL_ENTRY(device_get, "cuDeviceGet", (DeviceNumber*, int))                                                           \
  WL_ENTRY(device_name, "cuDeviceGetName", (char*, int, DeviceNumber))                                                \
  WL_ENTRY(device_attribute, "cuDeviceGetAttribute", (int*, DeviceAttribute, DeviceNumber))                           \
  WL_ENTRY(device_memory, "cuDeviceTotalMem_v2", (std::size_t*, DeviceNumber))                                        \
  WL_ENTRY(retain_context, "cuDevicePrimaryCtxRetain", (ContextHandle**, DeviceNumber))                               \
  WL_ENTRY(release_context, "cuDevicePrimaryCtxRelease_v2", (DeviceNumber))                                           \
  WL_ENTRY(reset_context, "cuDevicePrimaryCtxReset_v2", (DeviceNumber))                                               \
  WL_ENTRY(set_context, "cuCtxSetCurrent", (ContextHandle*))                                                          \
  WL_ENTRY(get_context, "cuCtxGetCurrent", (ContextHandle**))                                                         \
  WL_ENTRY(synchronize, "cuCtxSynchronize", ())                                                                       \
  WL_ENTRY(module_load, "cuModuleLoadDataEx", (ModuleHandle**, const void*, unsigned, int*, void**))                  \
  WL_ENTRY(module_unload, "cuModuleUnload", (ModuleHandle*))                                                          \
  WL_ENTRY(module_function, "cuModuleGetFunction", (FunctionHandle**, ModuleHandle*, const char*))                    \
  WL_ENTRY(module_global, "cuModuleGetGlobal_v2", (DevicePointer*, std::size_t*, ModuleHandle*, const char*))         \
  WL_ENTRY(link_create, "cuLinkCreate_v2", (unsigned, int*, void**, LinkHandle**))                                    \
  WL_ENTRY(link_add, "cuLinkAddData_v2", (LinkHandle*, int, void*, std::size_t, const char*, unsigned, int*, void**)) \
  WL_ENTRY(link_complete, "cuLinkComplete", (LinkHandle*, void**, std::size_t*))                                      \
  WL_ENTRY(link_destroy, "cuLinkDestroy", (LinkHandle*))                                                              \
  WL_ENTRY(function_attribute, "cuFuncGetAttribute", (int*, FunctionAttribute, FunctionHandle*))                      \
  WL_ENTRY(set_function_attribute, "cuFuncSetAttribute", (FunctionHandle*, FunctionAttribute, int))                   \
  WL_ENTRY(launch, "cuLaunchKernel",                                                                                  \
           (FunctionHandle*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle*,     \
            void**, void**))                                                                                          \
  WL_ENTRY(launch_with, "cuLaunchKernelEx", (const LaunchSettings*, FunctionHandle*, void**, void**))                 \
  WL_ENTRY(allocate, "cuMemAlloc_v2", (DevicePointer*, std::size_t))                                                  \
  WL_ENTRY(release, "cuMemFree_v2", (DevicePointer))                                                                  \
  WL_ENTRY(address_range, "cuMemGetAddressRange_v2", (DevicePointer*, std::size_t*, DevicePointer))                   \
  WL_ENTRY(share_memory, "cuIpcGetMemHandle", (SharedHandle*, DevicePointer))                                         \
  WL_ENTRY(open_shared, "cuIpcOpenMemHandle_v2", (DevicePointer*, SharedHandle, unsigned))                            \
  WL_ENTRY(close_shared, "cuIpcCloseMemHandle", (DevicePointer))                                                      \
  WL_ENTRY(memory_info, "cuMemGetInfo_v2", (std::size_t*, std::size_t*))                                              \
  WL_ENTRY(pointer_attribute, "cuPointerGetAttribute", (void*, int, DevicePointer))                                   \
  WL_ENTRY(register_host, "cuMemHostRegister_v2", (void*, std::size_t, unsigned))                                     \
  WL_ENTRY(unregister_host, "cuMemHostUnregister", (void*))                                                           \
  WL_ENTRY(copy, "cuMemcpyAsync", (DevicePointer, DevicePointer, std::size_t, StreamHandle*))                         \
  WL_ENTRY(fill8, "cuMemsetD8Async", (DevicePointer, unsigned char, std::size_t, StreamHandle*))                      \
  WL_ENTRY(fill16, "cuMemsetD16Async", (DevicePointer, unsigned short, std::size_t, StreamHandle*))                   \
  WL_ENTRY(fill32, "cuMemsetD32Async", (DevicePointer, unsigned, std::size_t, StreamHandle*))                         \
  WL_ENTRY(stream_create, "cuStreamCreateWithPriority", (StreamHandle**, unsigned, int))                              \
  WL_ENTRY(stream_context, "cuStreamGetCtx", (StreamHandle*, ContextHandle**))                                        \
  WL_ENTRY(stream_query, "cuStreamQuery", (StreamHandle*))                                                            \
  WL_ENTRY(stream_wait, "cuStreamWaitEvent", (StreamHandle*, EventHandle*, unsigned))                                 \
  WL_ENTRY(host_function, "cuLaunchHostFunc", (StreamHandle*, void (*)(void*), void*))                                \
  WL_ENTRY(event_create, "cuEventCreate", (EventHandle**, unsigned))                                                  \
  WL_ENTRY(event_destroy, "cuEventDestroy_v2", (EventHandle*))                                                        \
  WL_ENTRY(event_record, "cuEventRecord", (EventHandle*, StreamHandle*))                                              \
  WL_ENTRY(event_query, "cuEventQuery", (EventHandle*))                                                               \
  WL_ENTRY(event_synchronize, "cuEventSynchronize", (EventHandle*))                                                   \
  WL_ENTRY(event_elapsed, "cuEventElapsedTime", (float*, EventHandle*, EventHandle*))                                 \
  WL_ENTRY(stream_destroy, "cuStreamDestroy_v2", (StreamHandle*))                                                     \
  WL_ENTRY(stream_synchronize, "cuStreamSynchronize", (StreamHandle*))                                                \
  WL_ENTRY(allocate_managed, "cuMemAllocManaged", (DevicePointer*, std::size_t, unsigned))                            \
  WL_ENTRY(advise, "cuMemAdvise", (DevicePointer, std::size_t, int, DeviceNumber))                                    \
  WL_ENTRY(prefetch, "cuMemPrefetchAsync", (DevicePointer, std::size_t, DeviceNumber, StreamHandle*))                 \
  WL_ENTRY(attach, "cuStreamAttachMemAsync", (StreamHandle*, DevicePointer, std::size_t, unsigned))                   \
  WL_ENTRY(can_access_peer, "cuDeviceCanAccessPeer", (int*, DeviceNumber, DeviceNumber))                              \
  WL_ENTRY(enable_peer, "cuCtxEnablePeerAccess", (ContextHandle*, unsigned))                                          \
  WL_ENTRY(disable_peer, "cuCtxDisablePeerAccess", (ContextHandle*))                                                  \
  WL_ENTRY(copy_peer, "cuMemcpyPeerAsync",                                                                            \
           (DevicePointer, ContextHandle*, DevicePointer, ContextHandle*, std::size_t, StreamHandle*))                \
  WL_ENTRY(array_create, "cuArray3DCreate_v2", (ArrayHandle**, const ArrayShape*))                                    \
  WL_ENTRY(array_destroy, "cuArrayDestroy", (ArrayHandle*))                                                           \
  WL_ENTRY(mipmap_create, "cuMipmappedArrayCreate", (MipmapHandle**, const ArrayShape*, unsigned))                    \
  WL_ENTRY(mipmap_level, "cuMipmappedArrayGetLevel", (ArrayHandle**, MipmapHandle*, unsigned))                        \
  WL_ENTRY(mipmap_destroy, "cuMipmappedArrayDestroy", (MipmapHandle*))                                                \
  WL_ENTRY(copy_box, "cuMemcpy3DAsync_v2", (const BoxCopy*, StreamHandle*))                                           \
  WL_ENTRY(texture_create, "cuTexObjectCreate",                                                                       \
           (std::uint64_t*, const ResourceSetup*, const SamplerSetup*, const void*))                                  \
  WL_ENTRY(texture_destroy, "cuTexObjectDestroy", (std::uint64_t))                                                    \
  WL_ENTRY(surface_create, "cuSurfObjectCreate", (std::uint64_t*, const ResourceSetup*))                              \
  WL_ENTRY(surface_destroy, "cuSurfObjectDestroy", (std::uint64_t))                                                   \
  WL_ENTRY(resident_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int*, FunctionHandle*, int, std::size_t)) \
  WL_ENTRY(resident_clusters, "cuOccupancyMaxActiveClusters", (int*, FunctionHandle*, const LaunchSettings*))         \
  WL_ENTRY(best_block, "cuOccupancyMaxPotentialBlockSize",                                                            \
           (int*, int*, FunctionHandle*, std::size_t (*)(int), std::size_t, int))                                     \
  WL_ENTRY(error_name, "cuGetErrorName", (Status, const char**))                                                      \
  WL_ENTRY(error_string, "cuGetErrorString", (Status, const char**))

// The entry points; all are there once found() has succeeded.
struct Driver {
#define WL_ENTRY(member, name, parameters) Status(*member) parameters = nullptr;
  WARPLOOM_CUDA_ENTRIES(WL_ENTRY)
#undef WL_ENTRY

  int version = 0;  // 13000 for CUDA 13.0
  int devices = 0;
};

// The driver, loaded and initialised once; invalid_device says why there is none. WARPLOOM_CUDA_DRIVER names another
// library than libcuda.so.1.
Result<const Driver*> find_driver();

// The error of a status that is not 0: with a stable id where there is one for its code.
Diag driver_error(const Driver& driver, Status status, std::string_view what);

}  // namespace warploom::device::cuda
