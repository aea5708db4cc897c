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
struct DeviceState;

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

/// Copies between the memories of two devices, in the order of the stream, which is of either of them
/// (cuMemcpyPeerAsync); work of the other device is not waited for: order it by an event. Throws as copy() does, for
/// the memory of each device, and invalid_handle for a stream of a third one. Needs no peer access.
WARPLOOM_API void copy_peer(const Stream& stream, const Device& to_device, void* to, const Device& from_device,
                            const void* from, std::size_t bytes);
/// The same after all work of both devices queued so far; returns when done (cuMemcpyPeer).
WARPLOOM_API void copy_peer(const Device& to_device, void* to, const Device& from_device, const void* from,
                            std::size_t bytes);

/// While one exists, nothing of the device is released: neither what Device::pending() counts, nor arrays, which then
/// count there too. May be nested. The end of the last one releases nothing by itself; the next release may.
class WARPLOOM_API DeferCleanup {
 public:
  explicit DeferCleanup(const Device& device);
  DeferCleanup(const DeferCleanup&) = delete;
  DeferCleanup& operator=(const DeferCleanup&) = delete;
  ~DeferCleanup();

 private:
  std::shared_ptr<detail::DeviceState> device_;
};

/// What kind of page-locked host memory (CU_MEMHOSTALLOC_*).
struct HostMemoryOptions {
  bool mapped = true;           ///< kernels may access it
  bool portable = false;        ///< so may kernels of other devices; always so on the CPU device
  bool write_combined = false;  ///< slow for the host to read, which a processor's memory is not: a hint
};

/// Zeroed host memory, page aligned, that host and kernels access at the same address (cuMemHostAlloc). It does not
/// count as device memory. Move only. When it is destroyed the memory stays until the device releases what is pending
/// (Device::pending()), which waits for the work queued so far. It survives Device::reset().
class WARPLOOM_API HostMemory {
 public:
  /// Throws out_of_memory. 0 bytes are allowed and have no memory.
  explicit HostMemory(const Device& device, std::size_t bytes, const HostMemoryOptions& options = {});
  HostMemory(HostMemory&&) noexcept;
  HostMemory& operator=(HostMemory&&) noexcept;
  ~HostMemory();

  /// Null when there are no bytes, and for a moved-from one.
  [[nodiscard]] void* data() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] const HostMemoryOptions& options() const noexcept { return options_; }

 private:
  HostMemoryOptions options_;
  std::unique_ptr<detail::HostRangeState> state_;
};

/// Flags of page-locked host memory at an address, CU_MEMHOSTALLOC_* (cuMemHostGetFlags): 2, kernels may access it,
/// always; 4 for write-combined memory. As on a GPU with unified addresses, portable is not among them: all of it is.
/// Throws invalid_value for memory that is not page-locked.
[[nodiscard]] WARPLOOM_API unsigned host_memory_flags(const Device& device, const void* address);

/// Host memory of someone else that kernels may access while this exists (cuMemHostRegister). Move only. Destroying it
/// waits for the work queued so far and ends it at once, within DeferCleanup too; the memory must live until then.
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
