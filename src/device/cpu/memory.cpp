// First fit over a reserved range.
#include "device/cpu/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "device/largest.hpp"

namespace warploom::device {
namespace {

constexpr std::uint64_t kGranule = 512;
constexpr std::uint64_t kChunk = 2ULL << 20;
constexpr std::uint64_t kKeep = 1ULL << 30;
constexpr std::size_t kRemembered = 64;

// Arrays that lie at one place of their pages compete for the same sets of caches and banks of memory when a kernel
// walks through them side by side: large ones begin at places of their own.
constexpr std::uint64_t kStep = 69ULL << 10;
constexpr std::uint64_t kSteps = 16;

std::uint64_t round_up(std::uint64_t x, std::uint64_t to) { return (x + to - 1) / to * to; }

}  // namespace

DeviceMemory::DeviceMemory(std::uint64_t capacity) : capacity_(capacity), most_(capacity) {
  // Twice the capacity, so that fragmentation does not end what the limit allows; guard chunks at both ends.
  range_ = round_up(std::max<std::uint64_t>(capacity * 2, 64ULL << 20), kChunk) + 2 * kChunk;
  void* at = mmap(nullptr, range_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return;  // allocate() then reports it
  base_ = reinterpret_cast<std::uint64_t>(at);
  chunks_.assign(range_ / kChunk + 1, Chunk::reserved);
  keep_at_most_ = std::min(capacity / 16, kKeep) / kChunk * kChunk;
  const std::uint64_t first = round_up(base_, kChunk) + kChunk;
  free_[first] = base_ + range_ - kChunk - first;
}

DeviceMemory::~DeviceMemory() {
  if (base_ != 0) munmap(reinterpret_cast<void*>(base_), range_);
}

bool DeviceMemory::commit(std::uint64_t from, std::uint64_t to) {
  const std::uint64_t last = (to - 1) / kChunk;
  for (std::uint64_t c = from / kChunk; c <= last; ++c) {
    Chunk& chunk = chunks_[c - base_ / kChunk];
    if (chunk == Chunk::kept) {
      chunk = Chunk::used;
      kept_bytes_ -= kChunk;
    }
    if (chunk != Chunk::reserved) continue;
    std::uint64_t end = c + 1;
    while (end <= last && chunks_[end - base_ / kChunk] == Chunk::reserved) ++end;
    void* at = reinterpret_cast<void*>(c * kChunk);
    if (mprotect(at, (end - c) * kChunk, PROT_READ | PROT_WRITE) != 0) return false;
    // Without huge pages the first touch of an array takes five times as long.
    madvise(at, (end - c) * kChunk, MADV_HUGEPAGE);
    std::fill(chunks_.begin() + static_cast<std::ptrdiff_t>(c - base_ / kChunk),
              chunks_.begin() + static_cast<std::ptrdiff_t>(end - base_ / kChunk), Chunk::used);
    c = end - 1;
  }
  return true;
}

// Whole chunks go back to the system, unless there is room among those that are kept for the next allocation, which
// then need not be zeroed again. Ones that an allocation shares with others stay.
void DeviceMemory::give_back(std::uint64_t from, std::uint64_t to) {
  from = round_up(from, kChunk);
  to = to / kChunk * kChunk;
  if (to <= from) return;
  const bool keep = kept_bytes_ + (to - from) <= keep_at_most_;
  if (!keep) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  if (keep) kept_bytes_ += to - from;
  for (std::uint64_t c = from / kChunk; keep && c < to / kChunk; ++c) chunks_[c - base_ / kChunk] = Chunk::kept;
}

// From `start` to where the next large allocation should begin.
std::uint64_t DeviceMemory::to_own_place(std::uint64_t start) const {
  return (large_ % kSteps * kStep + kChunk - start % kChunk) % kChunk;
}

Diag DeviceMemory::out_of_memory(std::size_t bytes) const {
  std::uint64_t largest = 0;
  for (const auto& [start, length] : free_) largest = std::max(largest, length);
  const std::uint64_t left = capacity_ - std::min(used_, capacity_);
  Diag d;
  d.id = ErrorId::out_of_memory;
  d.what = fmt::format("out of device memory: {} bytes asked for, {} of {} free, largest block {}", bytes, left,
                       capacity_, std::min(largest, left));
  d.where = largest_allocations(live_, name);
  d.remedy = "free arrays that are no longer needed, or give the device a larger limit";
  return d;
}

Result<void*> DeviceMemory::take(std::size_t bytes) {
  const bool absurd = bytes > capacity_;
  const std::uint64_t need = absurd ? 0 : round_up(std::max<std::uint64_t>(bytes, 1), kGranule);
  const bool large = need >= kChunk;
  const auto find = [&](bool apart) {
    return std::find_if(free_.begin(), free_.end(),
                        [&](const auto& f) { return f.second >= need + (apart ? to_own_place(f.first) : 0); });
  };
  auto it = free_.end();
  std::uint64_t gap = 0;
  if (!absurd && used_ + need <= capacity_) {
    if (large) it = find(true);
    if (it != free_.end()) gap = to_own_place(it->first);
    if (it == free_.end()) it = find(false);
  }
  // The host may have less than the limit says.
  if (it != free_.end() && !commit(it->first + gap, it->first + gap + need)) it = free_.end();
  if (it == free_.end()) return out_of_memory(bytes);
  const std::uint64_t start = it->first + gap, after = it->second - gap - need;
  if (gap == 0) free_.erase(it);
  if (gap != 0) it->second = gap;
  if (after != 0) free_[start + need] = after;
  if (large) ++large_;
  used_ += need;
  taken_[start] = need;
  return reinterpret_cast<void*>(start);
}

Result<void*> DeviceMemory::allocate(std::size_t bytes, std::string label) {
  const std::lock_guard lock(mutex_);
  auto address = take(bytes);
  if (address) live_[reinterpret_cast<std::uint64_t>(*address)] = {bytes, {}, std::move(label)};
  return address;
}

Result<void*> DeviceMemory::reserve(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  return take(bytes);
}

void DeviceMemory::put_back(std::uint64_t start) {
  const auto taken = taken_.find(start);
  if (taken == taken_.end()) return;
  const std::uint64_t length = taken->second;
  taken_.erase(taken);
  used_ -= length;
  give_back(start, start + length);
  auto next = free_.lower_bound(start);
  std::uint64_t at = start, size = length;
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == start) {
      at = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (next != free_.end() && next->first == start + length) {
    size += next->second;
    free_.erase(next);
  }
  free_[at] = size;
}

void DeviceMemory::forget_block(std::map<std::uint64_t, Block>::iterator block) {
  if (freed_.size() < kRemembered) freed_.emplace_back();
  freed_[next_freed_] = {block->first, std::move(block->second)};
  next_freed_ = (next_freed_ + 1) % kRemembered;
  live_.erase(block);
}

Result<void> DeviceMemory::release(void* address) {
  const std::lock_guard lock(mutex_);
  const auto start = reinterpret_cast<std::uint64_t>(address);
  const auto it = live_.find(start);
  if (it == live_.end() || taken_.find(start) == taken_.end()) {
    Diag d;
    d.id = ErrorId::invalid_value;
    d.what = fmt::format("{} is not the start of a device allocation", address);
    d.remedy = "release each allocation once, with the address that allocate gave";
    return d;
  }
  forget_block(it);
  put_back(start);
  return {};
}

void DeviceMemory::unreserve(void* address) {
  const std::lock_guard lock(mutex_);
  const auto start = reinterpret_cast<std::uint64_t>(address);
  const auto taken = taken_.find(start);
  if (taken == taken_.end()) return;
  live_.erase(live_.lower_bound(start), live_.lower_bound(start + taken->second));
  put_back(start);
}

void DeviceMemory::mark(void* address, std::size_t bytes, Origin origin) {
  const std::lock_guard lock(mutex_);
  live_[reinterpret_cast<std::uint64_t>(address)] = {bytes, origin};
}

void DeviceMemory::unmark(void* address) {
  const std::lock_guard lock(mutex_);
  const auto it = live_.find(reinterpret_cast<std::uint64_t>(address));
  if (it != live_.end()) forget_block(it);
}

Result<void> DeviceMemory::set_limit(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > most_) {
    Diag d;
    d.id = ErrorId::invalid_value;
    d.what = fmt::format("a memory limit of {} bytes; the device was opened with {}", bytes, most_);
    d.remedy = "pass 1 byte at least and at most what the device was opened with";
    return d;
  }
  capacity_ = bytes;
  return {};
}

Result<void> DeviceMemory::register_host(void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto start = reinterpret_cast<std::uint64_t>(address);
  const auto after = hosts_.lower_bound(start + bytes);
  if (after != hosts_.begin()) {
    const auto& [other, block] = *std::prev(after);
    if (other + block.bytes > start) {
      Diag d;
      d.id = ErrorId::host_memory_registered;
      d.what = fmt::format("{} bytes of host memory at {:#x} overlap {} registered bytes at {:#x}", bytes, start,
                           block.bytes, other);
      d.remedy = "register host memory once";
      return d;
    }
  }
  hosts_[start] = {bytes, {}, "registered host memory"};
  return {};
}

void DeviceMemory::unregister_host(void* address) {
  const std::lock_guard lock(mutex_);
  hosts_.erase(reinterpret_cast<std::uint64_t>(address));
}

bool DeviceMemory::inside(const std::map<std::uint64_t, Block>& blocks, std::uint64_t address, std::size_t bytes) {
  const auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return false;
  const auto& [start, block] = *std::prev(after);
  const std::uint64_t offset = address - start;
  return offset <= block.bytes && bytes <= block.bytes - offset;
}

bool DeviceMemory::contains(std::uint64_t address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return inside(live_, address, bytes) || inside(hosts_, address, bytes);
}

bool DeviceMemory::addressable(std::uint64_t address, std::size_t bytes) const {
  if (address + bytes <= base_ || address >= base_ + range_) return true;
  const std::lock_guard lock(mutex_);
  return inside(live_, address, bytes);
}

bool DeviceMemory::pageable(std::uint64_t address, std::size_t bytes) const {
  if (address >= base_ && address < base_ + range_) return false;
  const std::lock_guard lock(mutex_);
  return !inside(hosts_, address, bytes);
}

std::string DeviceMemory::name(std::uint64_t start, const Block& block) {
  std::string out = fmt::format("{} bytes at {:#x}", block.bytes, start);
  if (!block.label.empty()) out += " (" + block.label + ")";
  if (block.origin.file != nullptr) out += fmt::format(" made at {}:{}", block.origin.file, block.origin.line);
  return out;
}

std::string DeviceMemory::describe(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<std::uint64_t>(address);
  auto after = live_.upper_bound(at);
  const auto before = after == live_.begin() ? live_.end() : std::prev(after);
  if (before != live_.end() && at < before->first + before->second.bytes)
    return fmt::format("{} bytes into {}", at - before->first, name(before->first, before->second));
  for (std::size_t i = 0; i < freed_.size(); ++i) {
    const auto& [start, block] = freed_[(next_freed_ + freed_.size() - 1 - i) % freed_.size()];
    if (at >= start && at < start + std::max<std::uint64_t>(block.bytes, 1))
      return fmt::format("inside a released allocation of {}", name(start, block));
  }
  if (live_.empty()) return "there are no device allocations";
  if (before != live_.end()) {
    const std::uint64_t distance = at - (before->first + before->second.bytes);
    if (after == live_.end() || distance <= after->first - at)
      return fmt::format("{} bytes past the end of {}", distance, name(before->first, before->second));
  }
  return fmt::format("{} bytes before {}", after->first - at, name(after->first, after->second));
}

std::size_t DeviceMemory::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return capacity_ - std::min(used_, capacity_);
}

}  // namespace warploom::device
