// Device memory of the CPU device: one reserved address range, committed in large chunks, like a GPU's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"

namespace warploom::device {

class DeviceMemory {
 public:
  explicit DeviceMemory(std::uint64_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // 512-byte aligned, zero bytes give an address of their own. Addresses that were never given out fault.
  Result<void*> allocate(std::size_t bytes, std::string label = {});
  Result<void> release(void* address);
  // What a pool divides: accessible as a whole, of no allocation but those that are marked in it.
  Result<void*> reserve(std::size_t bytes);
  void unreserve(void* address);
  void mark(void* address, std::size_t bytes, Origin origin);
  void unmark(void* address);
  // Of what may be allocated; at most the capacity of the beginning.
  Result<void> set_limit(std::uint64_t bytes);

  // Host memory that kernels may access; it is outside the reserved range.
  Result<void> register_host(void* address, std::size_t bytes);
  void unregister_host(void* address);
  // Is the range outside the reserved addresses, or in one live allocation?
  [[nodiscard]] bool addressable(std::uint64_t address, std::size_t bytes) const;

  // Is a part of the range outside the reserved addresses and not registered?
  [[nodiscard]] bool pageable(std::uint64_t address, std::size_t bytes) const;

  // Does [address, address + bytes) lie in one live allocation or in one registered range of the host?
  [[nodiscard]] bool contains(std::uint64_t address, std::size_t bytes) const;
  [[nodiscard]] std::string describe(const void* address) const;
  [[nodiscard]] std::size_t free_bytes() const;
  // The reserved addresses: first, and one past the last.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> range() const { return {base_, base_ + range_}; }

 private:
  struct Block {
    std::size_t bytes = 0;  // as asked for
    Origin origin{};
    std::string label{};
  };
  // These need the lock.
  Result<void*> take(std::size_t bytes);
  void put_back(std::uint64_t start);
  void forget_block(std::map<std::uint64_t, Block>::iterator block);
  [[nodiscard]] static std::string name(std::uint64_t start, const Block& block);
  [[nodiscard]] Diag out_of_memory(std::size_t bytes) const;
  enum class Chunk : std::uint8_t { reserved, used, kept };  // kept: of no allocation, with its pages
  // Makes the range accessible; false when the host refuses.
  bool commit(std::uint64_t from, std::uint64_t to);
  void give_back(std::uint64_t from, std::uint64_t to);
  [[nodiscard]] std::uint64_t to_own_place(std::uint64_t start) const;
  // The last of `blocks` that starts at or before the address, when the range lies in it; needs the lock.
  [[nodiscard]] static bool inside(const std::map<std::uint64_t, Block>& blocks, std::uint64_t address,
                                   std::size_t bytes);

  mutable std::mutex mutex_;
  std::uint64_t capacity_, most_;  // the limit now, and at the beginning
  std::uint64_t base_ = 0, range_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t large_ = 0;  // large allocations so far
  std::map<std::uint64_t, Block> live_;
  std::unordered_map<std::uint64_t, std::uint64_t> taken_;  // start -> length, rounded up
  std::map<std::uint64_t, Block> hosts_;                    // registered host memory
  std::map<std::uint64_t, std::uint64_t> free_;             // start -> length
  std::vector<std::pair<std::uint64_t, Block>> freed_;      // a ring of what was released lately, for messages
  std::size_t next_freed_ = 0;
  std::vector<Chunk> chunks_;  // by number, from base_ on
  std::uint64_t kept_bytes_ = 0, keep_at_most_ = 0;
};

}  // namespace warploom::device
