// Device memory that is taken and put off without waiting for anyone, for front ends that hold a lock meanwhile, such
// as Python's; and what they ask of memory that others made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "warploom/device.hpp"
#include "warploom/export.hpp"

namespace warploom::detail {

struct IdleMemory {
  void* address = nullptr;
  std::uint64_t generation = 0;  // of the device, which Device::reset() ends
};

// `bytes` of the device's default pool; without an address when none lies idle, in a capture and after an error: then
// Memory says why. `file` stands in messages and lives for ever.
WARPLOOM_API IdleMemory take_idle_memory(const Device& device, std::size_t bytes, const char* file, unsigned line);
// Has it released among the device's pending releases of memory; false, and nothing done, when that would go over their
// limits: then release_idle_memory() does it and releases all.
WARPLOOM_API bool put_off_release(const Device& device, const IdleMemory& memory, std::size_t bytes);
// Device::release_later() for such memory; may wait.
WARPLOOM_API void release_idle_memory(const Device& device, const IdleMemory& memory, std::size_t bytes);
// Throws invalid_handle unless kernels of `device` may be passed memory of `owner`: its own or a peer's, and `live`,
// which is false once it has been released or the device was reset.
WARPLOOM_API void check_argument(const Device& device, const Device& owner, bool live);
// Throws invalid_value or invalid_device unless kernels of `device` reach memory that another library made: not that of
// a GPU from the CPU device, nor pageable host memory.
WARPLOOM_API void check_foreign(const Device& device, const void* address, std::size_t bytes);
// Gives it back at once to the pool, for work queued so far.
WARPLOOM_API void give_back(const Device& device, const IdleMemory& memory);

}  // namespace warploom::detail
