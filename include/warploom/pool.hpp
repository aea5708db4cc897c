// MemoryPool: memory that is allocated and freed in the order of streams (CUDA Programming Guide, "Stream Ordered
// Memory Allocator").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>

#include "warploom/device.hpp"
#include "warploom/export.hpp"
#include "warploom/stream.hpp"

namespace warploom {
namespace detail {

struct PoolState;

}  // namespace detail

/// How a pool is made and what it may do (cuMemPoolCreate, cuMemPoolSetAttribute). Bytes.
struct MemoryPoolOptions {
  std::uint64_t release_threshold = 0;  ///< what a call that waits for the device leaves in the pool, at most
  std::uint64_t max_bytes = 0;          ///< what the pool may take from the device; 0: no limit of its own
  /// Memory freed in another stream is reused once this stream has waited for an event recorded after the free.
  bool reuse_follow_event_dependencies = true;
  /// Memory freed in another stream is reused once that stream has reached the free.
  bool reuse_allow_opportunistic = true;
  /// When the device has no more, the stream is made to wait for another stream's free.
  bool reuse_allow_internal_dependencies = true;
};

/// What a pool holds, in bytes; the high marks count from the last reset_statistics() (CU_MEMPOOL_ATTR_*).
struct MemoryPoolStatistics {
  std::uint64_t used_current = 0, used_high = 0;          ///< allocations, each rounded up to 512
  std::uint64_t reserved_current = 0, reserved_high = 0;  ///< taken from the device
};

/// A pool of device memory. Copies are handles to the same pool. When the last handle to an explicit pool is gone, its
/// allocations stay valid and the pool goes with the last of them (cuMemPoolDestroy).
///
/// Memory may be used by work queued on its stream after allocate(), and by work of other streams that is ordered after
/// that; it is given out again to the same stream at once, and to others only when their work is ordered after the
/// free. Memory that no pool uses goes back to the device before an allocation fails for want of it.
class WARPLOOM_API MemoryPool {
 public:
  /// An explicit pool. Throws the device's sticky error.
  explicit MemoryPool(const Device& device, const MemoryPoolOptions& options = {});
  /// The pool that DeviceArray uses, and stream-ordered allocations unless another one is current
  /// (cuDeviceGetDefaultMemPool).
  [[nodiscard]] static MemoryPool of(const Device& device);
  /// The pool of stream-ordered allocations that name none (cuDeviceGetMemPool, cuDeviceSetMemPool). Throws
  /// invalid_handle for a pool of another device.
  [[nodiscard]] static MemoryPool current(const Device& device);
  static void set_current(const Device& device, const MemoryPool& pool);

  /// `bytes` bytes, 512-byte aligned, for later work of the stream (cuMemAllocFromPoolAsync); null for 0 bytes. Throws
  /// out_of_memory, and invalid_handle for a stream of another device. `where` stands in messages. On a stream that is
  /// being captured it becomes a node of the graph; see Graph::allocate().
  [[nodiscard]] void* allocate(std::size_t bytes, const Stream& stream,
                               const std::source_location& where = std::source_location::current()) const;
  /// Frees in the order of the stream, which must come after all work that uses the memory (cuMemFreeAsync). Nothing
  /// for null. Throws invalid_value when the address is no allocation of the device's pools, a second time for example.
  /// On a stream that is being captured it becomes a node, and the address must be that of a graph's allocation.
  void deallocate(void* address, const Stream& stream) const;

  [[nodiscard]] MemoryPoolOptions options() const;
  /// Changes what a pool may do from now on; max_bytes does not take back what it holds already.
  void set_options(const MemoryPoolOptions& options) const;
  [[nodiscard]] MemoryPoolStatistics statistics() const;
  /// The high marks become the current values.
  void reset_statistics() const;
  /// Gives memory that is not in use back to the device until `keep` bytes are left (cuMemPoolTrimTo). Memory whose
  /// free a stream has not reached stays.
  void trim(std::uint64_t keep = 0) const;

  /// False for a moved-from handle, which throws invalid_handle when used.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::Access;
  explicit MemoryPool(std::shared_ptr<detail::PoolState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<detail::PoolState> state_;
};

/// `bytes` bytes for work on any stream, from the default pool (cuMemAlloc); null for 0 bytes. Throws out_of_memory.
[[nodiscard]] WARPLOOM_API void* allocate(const Device& device, std::size_t bytes,
                                          const std::source_location& where = std::source_location::current());
/// Frees memory of any pool once all work queued so far has ended, which it waits for (cuMemFree). Nothing for null.
/// Throws invalid_value as MemoryPool::deallocate(), stream_capture_unsupported as the capture mode says.
WARPLOOM_API void deallocate(const Device& device, void* address);

/// Allocates from the device's current pool (cuMemAllocAsync); otherwise as MemoryPool::allocate().
[[nodiscard]] WARPLOOM_API void* allocate(const Stream& stream, std::size_t bytes,
                                          const std::source_location& where = std::source_location::current());
/// As MemoryPool::deallocate(), for memory of any pool (cuMemFreeAsync).
WARPLOOM_API void deallocate(const Stream& stream, void* address);

}  // namespace warploom
