// Device memory of a GPU that several processes use (CUDA Driver API, cuIpcGetMemHandle and cuIpcOpenMemHandle).
#pragma once

#include <array>
#include <cstddef>

#include "warploom/device.hpp"
#include "warploom/export.hpp"

namespace warploom {

/// Names an allocation of a process for others: a CUipcMemHandle, which other CUDA libraries take too, and how many
/// bytes after the allocation's start the memory lies.
struct SharedMemoryHandle {
  std::array<std::byte, 64> handle{};
  std::size_t offset = 0;
};

/// The handle of device memory at an address, of DeviceArray or of a pool; other processes of the same user may open it
/// as long as the memory lives. They see the whole allocation of the driver's that it lies in. Throws not_supported on
/// the CPU device, and what the driver says of memory that it does not share, such as managed memory.
[[nodiscard]] WARPLOOM_API SharedMemoryHandle share_memory(const Device& device, const void* address);

/// Memory of another process, until its end. Work on it must have ended before, in both processes; events or messages
/// of the processes' own order their work. Move only.
class WARPLOOM_API SharedMemory {
 public:
  /// Throws invalid_context in the process that made the handle, and not_supported on the CPU device.
  SharedMemory(const Device& device, const SharedMemoryHandle& handle);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();
  /// The address here of what share_memory() was given.
  [[nodiscard]] void* data() const noexcept;

 private:
  Device device_;
  void* start_ = nullptr;
  std::size_t offset_ = 0;
};

}  // namespace warploom
