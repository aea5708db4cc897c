// Texture and surface objects of a device, found by their handles without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/device.hpp"

namespace warploom::device {

class TextureTable {
 public:
  TextureTable() = default;
  ~TextureTable();
  TextureTable(const TextureTable&) = delete;
  TextureTable& operator=(const TextureTable&) = delete;

  Result<std::uint64_t> create(const TextureSetup& setup);
  void destroy(std::uint64_t handle);
  void clear();
  // nullptr for what is no handle, or no more. The setup stays in place until the table goes, so a handle that is
  // destroyed while a kernel uses it reads wrong texels at worst.
  [[nodiscard]] const TextureSetup* find(std::uint64_t handle) const {
    const std::uint64_t place = handle & kPlaceMask;
    const Entry* chunk = chunks_[place / kChunk].load(std::memory_order_acquire);
    if (chunk == nullptr) return nullptr;
    const Entry& entry = chunk[place % kChunk];
    return entry.handle.load(std::memory_order_acquire) == handle && handle != 0 ? &entry.setup : nullptr;
  }

 private:
  // A handle is a mark, a count of uses of the place, and the place.
  static constexpr unsigned kPlaceBits = 20;
  static constexpr std::uint64_t kPlaceMask = (1ULL << kPlaceBits) - 1;
  static constexpr std::uint64_t kMark = 0x7EULL << 56;
  static constexpr std::size_t kChunk = 256;
  struct Entry {
    std::atomic<std::uint64_t> handle{0};
    std::uint32_t uses = 0;
    TextureSetup setup;
  };

  std::mutex mutex_;
  std::array<std::atomic<Entry*>, (1U << kPlaceBits) / kChunk> chunks_{};
  std::vector<std::uint32_t> free_;
  std::uint32_t places_ = 1;
};

}  // namespace warploom::device
