// The installed CUDA driver, found when the first device of it opens; declared from the CUDA Driver API's
// documentation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace warploom::device::cuda {

// Types of the API (CUDA Driver API, "Data types used by CUDA driver"); handles are opaque pointers.
using Status = int;  // CUresult
using DeviceNumber = int;
using DevicePointer = std::uint64_t;
struct ContextHandle;
struct ModuleHandle;
struct FunctionHandle;
struct StreamHandle;
struct LinkHandle;
struct EventHandle;

// CU_DEVICE_ATTRIBUTE_*.
enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  max_block_x = 2,
  max_block_y = 3,
  max_block_z = 4,
  max_grid_x = 5,
  max_grid_y = 6,
  max_grid_z = 7,
  max_shared_per_block = 8,
  multiprocessors = 16,
  max_threads_per_multiprocessor = 39,
  compute_major = 75,
  compute_minor = 76,
  max_shared_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  max_shared_per_block_optin = 97,
  max_blocks_per_multiprocessor = 106,
  reserved_shared_per_block = 111,
};

// CU_FUNC_ATTRIBUTE_*.
enum class FunctionAttribute : int {
  shared_bytes = 1,
  const_bytes = 2,
  local_bytes = 3,
  registers = 4,
  max_dynamic_shared_bytes = 8,
};

// CUlaunchAttribute, 64 bytes of value.
struct LaunchAttribute {
  int id;
  int padding;
  union Value {
    std::byte bytes[64];
    std::uint32_t cluster[3];
    int cooperative;
  } value;
};
inline constexpr int kAttributeCooperative = 2, kAttributeCluster = 4;

// CU_STREAM_NON_BLOCKING.
inline constexpr unsigned kNonBlocking = 1;

// What the driver's compiler and linker say when they fail, and the options that ask for it.
struct JitLog {
  JitLog() = default;
  JitLog(const JitLog&) = delete;
  JitLog& operator=(const JitLog&) = delete;

  static constexpr unsigned kOptions = 2;
  char text[8192] = {};
  int keys[kOptions] = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER and its size
  void* values[kOptions] = {text, reinterpret_cast<void*>(sizeof text)};
};

// CUlaunchConfig.
struct LaunchSettings {
  std::uint32_t grid[3], block[3];
  std::uint32_t shared_bytes;
  StreamHandle* stream;
  LaunchAttribute* attributes;
  std::uint32_t attribute_count;
};

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
  WL_ENTRY(memory_info, "cuMemGetInfo_v2", (std::size_t*, std::size_t*))                                              \
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
