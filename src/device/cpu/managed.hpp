// Managed memory: which of its pages are at the host and which on the device, and what that costs.
//
// There is one memory, so nothing moves; the model says where a page would be. A page (64 KiB, the unit in which
// migration is counted) belongs to nobody until it is touched, then to who touched it; a touch from the other side is a
// fault and migrates it. Advice changes that as cuMemAdvise says: read-mostly pages are copied for readers until
// someone writes; pages with a preferred location, or accessed by the other side, are accessed where they are.
//
// Touches are seen by taking access rights away (mprotect), in allocations that are tracked: from kernels when a launch
// begins, and from the host when the last launch ends. What is not seen: the host's touches of pages that a kernel
// which is running may access, and the reverse; touches after the first one until the sides change; which device it
// was. System calls that get such memory fail with EFAULT instead of faulting.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"

namespace warploom::device {

class ManagedRange;

class ManagedMemory {
 public:
  ManagedMemory();
  ~ManagedMemory();
  ManagedMemory(const ManagedMemory&) = delete;
  ManagedMemory& operator=(const ManagedMemory&) = delete;

  static constexpr std::size_t kPage = std::size_t{64} << 10;

  Result<void*> allocate(std::size_t bytes, bool tracked, Origin origin);
  // Its facts at the end; the memory is gone.
  std::optional<observe::ManagedFacts> release(void* address);
  Result<void> advise(void* address, std::size_t bytes, MemoryAdvice advice, bool host);
  Result<void> prefetch(void* address, std::size_t bytes, bool to_host);
  [[nodiscard]] std::optional<observe::ManagedFacts> facts(void* address) const;
  [[nodiscard]] std::vector<observe::ManagedFacts> all() const;
  [[nodiscard]] bool any_tracked() const { return tracked_.load(std::memory_order_acquire) != 0; }

  // Around every launch of this device while anything is tracked.
  void launch_begins();
  void launch_ends();

  // A fault at an address that is tracked: gives access and counts it. Called by the signal handler. False for others.
  static bool on_fault(std::uint64_t address, bool by_kernel, bool writes);

 private:
  ManagedRange* range_of(std::uint64_t address, std::size_t bytes) const;  // needs the lock
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<ManagedRange>> ranges_;
  std::atomic<unsigned> tracked_{0};
  unsigned launches_ = 0;  // under way
};

}  // namespace warploom::device
