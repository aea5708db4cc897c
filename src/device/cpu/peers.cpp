// The CPU devices of the process.
#include "device/cpu/peers.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "device/cpu/memory.hpp"

namespace warploom::device {
namespace {

std::mutex mutex;
std::atomic<std::size_t> count{0};

std::vector<Peers*>& all() {
  static auto* list = new std::vector<Peers*>;  // devices may end after static objects
  return *list;
}

}  // namespace

Peers::Peers(const Device& device, const DeviceMemory& memory) : device_(device), memory_(memory) {
  const std::lock_guard lock(mutex);
  all().push_back(this);
  count.store(all().size(), std::memory_order_release);
}

Peers::~Peers() {
  const std::lock_guard lock(mutex);
  std::erase(all(), this);
  for (Peers* other : all()) std::erase(other->allowed_, this);
  count.store(all().size(), std::memory_order_release);
}

void Peers::allow(const Device& other, bool on) {
  const std::lock_guard lock(mutex);
  const auto found = std::ranges::find(all(), &other, [](const Peers* peers) { return &peers->device_; });
  if (found == all().end()) return;
  std::erase(allowed_, *found);
  if (on) allowed_.push_back(*found);
}

AddressRanges Peers::forbidden(const std::vector<std::byte>& params) const {
  if (count.load(std::memory_order_acquire) < 2) return {};
  const std::lock_guard lock(mutex);
  AddressRanges ranges;
  for (const Peers* other : all())
    if (other != this && std::ranges::find(allowed_, other) == allowed_.end()) ranges.push_back(other->memory_.range());
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= params.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, params.data() + at, sizeof word);
    for (const auto& [first, last] : ranges)
      if (word >= first && word < last) return ranges;
  }
  return {};
}

}  // namespace warploom::device
