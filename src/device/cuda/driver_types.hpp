// Types of the CUDA driver's interface, declared from the CUDA Driver API's documentation.
#pragma once

#include <cstddef>
#include <cstdint>

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
struct ArrayHandle;
struct MipmapHandle;

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
  texture_alignment = 14,
  multiprocessors = 16,
  max_threads_per_multiprocessor = 39,
  texture_pitch_alignment = 51,
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

// CUipcMemHandle, which is passed by value.
struct SharedHandle {
  std::byte reserved[64];
};

// CUlaunchConfig.
struct LaunchSettings {
  std::uint32_t grid[3], block[3];
  std::uint32_t shared_bytes;
  StreamHandle* stream;
  LaunchAttribute* attributes;
  std::uint32_t attribute_count;
};

// CUarray_format.
enum class ArrayFormat : int {
  unsigned8 = 0x01,
  unsigned16 = 0x02,
  unsigned32 = 0x03,
  signed8 = 0x08,
  signed16 = 0x09,
  signed32 = 0x0a,
  half = 0x10,
  single = 0x20,
};

// CUDA_ARRAY3D_DESCRIPTOR.
struct ArrayShape {
  std::size_t width, height, depth;  // 0 for an axis that is not there
  ArrayFormat format;
  unsigned channels, flags;
};

// CUDA_MEMCPY3D: two of these and the size.
struct BoxCopySide {
  std::size_t x_bytes, y, z, level;
  int kind;  // CUmemorytype
  const void* host;
  DevicePointer device;
  ArrayHandle* array;
  void* reserved;
  std::size_t pitch, height;
};
struct BoxCopy {
  BoxCopySide from, to;
  std::size_t width_bytes, height, depth;
};

// CUDA_RESOURCE_DESC.
enum class ResourceKind : int { array, mipmap, linear, rows };
struct ResourceSetup {
  ResourceKind kind;
  union Of {
    ArrayHandle* array;
    MipmapHandle* mipmap;
    struct Linear {
      DevicePointer address;
      ArrayFormat format;
      unsigned channels;
      std::size_t bytes;
    } linear;
    struct Rows {
      DevicePointer address;
      ArrayFormat format;
      unsigned channels;
      std::size_t width, height, pitch;
    } rows;
    int reserved[32];
  } of;
  unsigned flags;
};
static_assert(sizeof(BoxCopySide) == 88 && sizeof(ResourceSetup) == 144);

// CUDA_TEXTURE_DESC.
struct SamplerSetup {
  int address[3];  // CUaddress_mode, as isa::ref::AddressMode counts
  int filter;
  unsigned flags, anisotropy;
  int mip_filter;
  float level_bias, least_level, most_level;
  float border[4];
  int reserved[12];
};

}  // namespace warploom::device::cuda
