// Memory by address: copies and fills between any two places, and host memory that kernels may access.
#pragma once

#include <cstddef>
#include <memory>

#include "warploom/device.hpp"
#include "warploom/export.hpp"
#include "warploom/stream.hpp"

namespace warploom {
namespace detail {

struct HostRangeState;

}  // namespace detail

/// Copies `bytes` bytes from one address to another; each may be host or device memory (cuMemcpy), and the ranges may
/// overlap. Runs on the default stream, after the work queued so far on blocking streams, and returns when done. Throws
/// invalid_value for a null address, and for a range of device addresses that is not inside one allocation.
WARPLOOM_API void copy(const Device& device, void* to, const void* from, std::size_t bytes);
/// The same, queued. Pinned memory must stay until the stream has reached the copy; with pageable memory it may wait.
WARPLOOM_API void copy(const Stream& stream, void* to, const void* from, std::size_t bytes);

/// Repeats an element of `element_bytes` bytes `count` times from `to` on (cuMemsetD8 and its siblings). Otherwise as
/// copy(); the element is read during the call.
WARPLOOM_API void fill(const Device& device, void* to, const void* element, std::size_t element_bytes,
                       std::size_t count);
WARPLOOM_API void fill(const Stream& stream, void* to, const void* element, std::size_t element_bytes,
                       std::size_t count);

/// Zeroed host memory, page aligned, that host and kernels access at the same address (cuMemHostAlloc with
/// CU_MEMHOSTALLOC_DEVICEMAP, cuMemAllocManaged). It does not count as device memory. Move only. Destroying it waits
/// for the work queued so far, which may use it. It survives Device::reset().
class WARPLOOM_API HostMemory {
 public:
  /// Throws out_of_memory. 0 bytes are allowed and have no memory.
  HostMemory(const Device& device, std::size_t bytes);
  HostMemory(HostMemory&&) noexcept;
  HostMemory& operator=(HostMemory&&) noexcept;
  ~HostMemory();

  /// Null when there are no bytes, and for a moved-from one.
  [[nodiscard]] void* data() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  std::unique_ptr<detail::HostRangeState> state_;
};

/// Host memory of someone else that kernels may access while this exists (cuMemHostRegister). Move only. Destroying it
/// waits for the work queued so far; the memory must live until then.
class WARPLOOM_API HostRegistration {
 public:
  /// Throws invalid_value for a null address or 0 bytes, host_memory_registered when a part of it already is.
  HostRegistration(const Device& device, void* address, std::size_t bytes);
  HostRegistration(HostRegistration&&) noexcept;
  HostRegistration& operator=(HostRegistration&&) noexcept;
  ~HostRegistration();

  [[nodiscard]] void* data() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  std::unique_ptr<detail::HostRangeState> state_;
};

}  // namespace warploom
