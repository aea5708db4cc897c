// ManagedMemory: memory that host and kernels share, with advice, prefetching and the pages' whereabouts (CUDA
// Programming Guide, "Unified Memory Programming").
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

struct ManagedState;

}  // namespace detail

/// What a program says of how it uses managed memory (CU_MEM_ADVISE_*).
enum class MemoryAdvice {
  set_read_mostly = 1,  ///< pages are copied for readers, until someone writes
  unset_read_mostly,
  set_preferred_location,  ///< pages stay there, and are accessed from the other side
  unset_preferred_location,
  set_accessed_by,  ///< that side accesses pages where they are
  unset_accessed_by,
};

/// A side of managed memory: CU_DEVICE_CPU, or the device that it was made on.
enum class MemoryLocation { host, device };

/// Whose work uses managed memory (CU_MEM_ATTACH_*).
enum class MemoryAttachment {
  global = 1,  ///< any stream of any device
  host = 2,    ///< the host only
  single = 4,  ///< the stream that it was attached with
};

struct ManagedOptions {
  /// cuMemAllocManaged's flag: any stream of any device may use it, or the host's until it is attached. Both can here.
  bool attach_global = true;
  /// Sees which side touches which page, as it is also done while the explain observer is attached. Each first touch by
  /// a side costs microseconds, and system calls fail (EFAULT) on memory that is not the host's at that time.
  bool track = false;
};

/// Where the pages of an allocation are, and how they got there; all counts are of pages. What a GPU would do is
/// modelled (docs/guide/memory.md says how); what is counted did happen.
struct ManagedStatistics {
  std::uint64_t page_bytes = 0, pages = 0;
  std::uint64_t on_host = 0, on_device = 0, on_both = 0;           ///< now; the rest was never touched
  std::uint64_t device_faults = 0, host_faults = 0;                ///< touches of pages that were elsewhere, or new
  std::uint64_t to_device = 0, to_host = 0;                        ///< migrated by faults
  std::uint64_t prefetched_to_device = 0, prefetched_to_host = 0;  ///< migrated by prefetch()
  std::uint64_t duplicated = 0;                                    ///< read-mostly pages copied for a reader
  std::uint64_t remote = 0;                                        ///< accessed where they were, as advised
  std::uint64_t ping_pong = 0;                                     ///< pages that faults moved back and forth twice
  std::uint64_t most_moves = 0;                                    ///< of one page, by faults
  bool tracked = false;                                            ///< whether touches were seen
};

/// Zeroed memory at one address for the host and for kernels (cuMemAllocManaged). It does not count as device memory.
/// The host may use it whenever no kernel does. Move only. When it is destroyed it stays until the device releases what
/// is pending (Device::pending()). It survives Device::reset().
class WARPLOOM_API ManagedMemory {
 public:
  /// Throws out_of_memory, invalid_value for 0 bytes. `where` stands in reports.
  explicit ManagedMemory(const Device& device, std::size_t bytes, const ManagedOptions& options = {},
                         const std::source_location& where = std::source_location::current());
  ManagedMemory(ManagedMemory&&) noexcept;
  ManagedMemory& operator=(ManagedMemory&&) noexcept;
  ~ManagedMemory();

  /// Null for a moved-from one, which throws invalid_handle otherwise.
  [[nodiscard]] void* data() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// Advice on the pages that `bytes` bytes from `offset` on touch (cuMemAdvise). Throws invalid_value for a range that
  /// is empty or not inside.
  void advise(MemoryAdvice advice, MemoryLocation location, std::size_t offset, std::size_t bytes) const;
  /// The same for all of it.
  void advise(MemoryAdvice advice, MemoryLocation location = MemoryLocation::device) const;
  /// Moves pages in the order of the stream (cuMemPrefetchAsync). Throws as advise() does.
  void prefetch(const Stream& stream, MemoryLocation to, std::size_t offset, std::size_t bytes) const;
  void prefetch(const Stream& stream, MemoryLocation to) const;

  /// Says whose work uses the memory from here on in the order of the stream (cuStreamAttachMemAsync): a hint with
  /// which older GPUs move less. Nothing is refused because of it. Throws invalid_value for `single` on a default
  /// stream, and for another number.
  void attach(const Stream& stream, MemoryAttachment how) const;

  [[nodiscard]] ManagedStatistics statistics() const;

 private:
  friend struct detail::ManagedState;
  ManagedMemory() noexcept;
  std::unique_ptr<detail::ManagedState> state_;
};

namespace detail {

// For a place in a program of another language; `file` lives for ever.
WARPLOOM_API ManagedMemory managed_at(const Device& device, std::size_t bytes, const ManagedOptions& options,
                                      const char* file, unsigned line);

}  // namespace detail

}  // namespace warploom
