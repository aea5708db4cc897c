// What a device tells observers of memory: managed allocations with their pages, and releases that were put off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace warploom::observe {

// A managed allocation; all counts are of pages.
struct ManagedFacts {
  std::uint64_t id = 0;  // the same in all facts of one allocation
  std::string place;     // where the program made it: file and line; may be empty
  std::uint64_t bytes = 0, page_bytes = 0, pages = 0;
  bool tracked = false;  // accesses were seen; without that only what the program asked for is counted
  std::uint64_t on_host = 0, on_device = 0, on_both = 0;           // now; the rest was never touched
  std::uint64_t device_faults = 0, host_faults = 0;                // first touches where the page was not
  std::uint64_t to_device = 0, to_host = 0;                        // migrated by faults
  std::uint64_t prefetched_to_device = 0, prefetched_to_host = 0;  // migrated because the program said so
  std::uint64_t duplicated = 0;                                    // read-mostly pages that were copied
  std::uint64_t remote = 0;                                        // accessed without migration, each launch anew
  std::uint64_t ping_pong = 0;   // pages that faults moved to the device and back at least twice
  std::uint64_t most_moves = 0;  // of one page, by faults
};

// The queues of releases of one device.
struct ReleaseFacts {
  std::uint64_t device = 0;  // tells devices apart
  std::uint64_t put_off = 0, most = 0, flushes = 0, pending = 0;
};

// An observer may be one of these too.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  // Replaces what was said of the same allocation before.
  virtual void managed_memory(const ManagedFacts& facts) = 0;
  virtual void releases(const ReleaseFacts& facts) = 0;
};

}  // namespace warploom::observe
