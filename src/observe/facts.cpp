// The counting rules of the memory hierarchy: 32-byte sectors, shared memory wavefronts, atomics, local memory.
//
// Every rule is held against counters recorded on an H200 (tests/explain/counters and tests/explain/truth).
// They run inside kernels for irregular accesses, so each tries the common patterns first.
#include "observe/facts.hpp"

#include <algorithm>
#include <bit>

namespace warploom::observe {
namespace {

constexpr std::uint32_t kSectorBytes = 32;
constexpr std::uint32_t kBankBytes = 4;
constexpr std::uint32_t kBanksBytes = 32 * kBankBytes;
constexpr std::uint32_t kAllLanes = 0xffffffffu;

// Calls f(lane) for every active lane, in order.
template <class F>
void for_lanes(std::uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

// A set of up to 64 keys; a new one is empty without clearing its table.
class SmallSet {
 public:
  // Slot of the key, and whether it is new.
  std::pair<unsigned, bool> insert(std::uint64_t key) {
    unsigned slot = static_cast<unsigned>((key * 0x9e3779b97f4a7c15ull) >> 57);
    while ((used_[slot / 64] >> (slot % 64)) & 1) {
      if (keys_[slot] == key) return {slot, false};
      slot = (slot + 1) % kSlots;
    }
    used_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    keys_[slot] = key;
    return {slot, true};
  }

 private:
  static constexpr unsigned kSlots = 128;
  std::uint64_t used_[kSlots / 64] = {};
  std::uint64_t keys_[kSlots];
};

// Most distinct units in one bank; a bank here is as wide as a unit, so a group never holds more units than banks.
std::uint32_t conflict_degree(const std::uint64_t units[32], std::uint32_t lanes, std::uint32_t banks) {
  const std::uint64_t first = units[std::countr_zero(lanes)];
  std::uint32_t seen = 0;
  bool same = true;
  for_lanes(lanes, [&](unsigned i) {
    seen |= 1u << (units[i] & (banks - 1));
    same &= units[i] == first;
  });
  if (same || std::popcount(seen) == std::popcount(lanes)) return 1;
  SmallSet set;
  std::uint8_t degree[32] = {};
  std::uint8_t most = 0;
  for_lanes(lanes, [&](unsigned i) {
    if (!set.insert(units[i]).second) return;
    most = std::max(most, ++degree[units[i] & (banks - 1)]);
  });
  return most;
}

// Most lanes that need one bank: atomics on one word take turns.
std::uint32_t lanes_per_bank(const std::uint64_t units[32], std::uint32_t lanes, std::uint32_t banks) {
  std::uint8_t degree[32] = {};
  std::uint8_t most = 0;
  for_lanes(lanes, [&](unsigned i) { most = std::max(most, ++degree[units[i] & (banks - 1)]); });
  return most;
}

// Whether a wide load's two halves of `lanes` may share a pass: neighbours, or lanes two apart, read the same unit.
bool pairs_agree(const std::uint64_t units[32], std::uint32_t lanes) {
  const auto agree = [&](unsigned distance, std::uint32_t low) {
    bool all = true;
    for_lanes(low & lanes & (lanes >> distance), [&](unsigned i) { all &= units[i] == units[i + distance]; });
    return all;
  };
  constexpr std::uint32_t kEven = 0x55555555u;
  constexpr std::uint32_t kLowPairs = 0x33333333u;
  if (agree(1, kEven)) return true;
  return (kLowPairs & lanes & (lanes >> 2)) != 0 && agree(2, kLowPairs);
}

}  // namespace

std::uint32_t count_sectors(const std::uint64_t addresses[32], std::uint32_t mask, std::uint32_t bytes) {
  if (mask == 0) return 0;
  std::uint64_t previous = addresses[std::countr_zero(mask)] / kSectorBytes;
  std::uint32_t runs = 1;
  bool up = true, down = true, inside = true;
  for_lanes(mask, [&](unsigned i) {
    const std::uint64_t sector = addresses[i] / kSectorBytes;
    inside &= addresses[i] % kSectorBytes + bytes <= kSectorBytes;
    runs += sector != previous;
    up &= sector >= previous;
    down &= sector <= previous;
    previous = sector;
  });
  if (inside && (up || down)) return runs;
  // At most 64 bytes for a lane, so a lane that straddles sectors adds its last one as well.
  SmallSet set;
  std::uint32_t count = 0;
  for_lanes(mask, [&](unsigned i) {
    const std::uint64_t first = addresses[i] / kSectorBytes;
    const std::uint64_t last = (addresses[i] + bytes - 1) / kSectorBytes;
    count += set.insert(first).second;
    if (last != first) count += set.insert(last).second;
  });
  return count;
}

std::uint32_t count_atomic_sectors(const std::uint64_t addresses[32], std::uint32_t mask, std::uint32_t bytes) {
  static_cast<void>(bytes);
  SmallSet words, accesses;
  std::uint8_t turn[128];
  std::uint32_t count = 0;
  for_lanes(mask, [&](unsigned i) {
    const auto [slot, fresh] = words.insert(addresses[i]);
    turn[slot] = fresh ? 0 : static_cast<std::uint8_t>(turn[slot] + 1);
    count += accesses.insert(addresses[i] / kSectorBytes * 32 + turn[slot]).second;
  });
  return count;
}

std::uint32_t count_local_sectors(const std::uint64_t offsets[32], std::uint32_t mask, std::uint32_t bytes) {
  std::uint32_t count = 0;
  for (std::uint32_t octet = 0; octet < 32; octet += 8) {
    const std::uint32_t lanes = mask & (0xffu << octet);
    if (lanes == 0) continue;
    SmallSet words;
    for_lanes(lanes, [&](unsigned i) {
      const std::uint64_t last = (offsets[i] + bytes - 1) / kBankBytes;
      for (std::uint64_t word = offsets[i] / kBankBytes; word <= last; ++word) count += words.insert(word).second;
    });
  }
  return count;
}

Wavefronts count_shared(const std::uint64_t addresses[32], std::uint32_t mask, std::uint32_t bytes, AccessKind kind) {
  // A pass moves at most 128 bytes: accesses of 8 and 16 bytes are split into half and quarter warps.
  const std::uint32_t unit_bytes = std::clamp(std::bit_ceil(bytes), kBankBytes, kSectorBytes);
  const std::uint32_t banks = kBanksBytes / unit_bytes;
  std::uint64_t units[32];
  for_lanes(mask, [&](unsigned i) { units[i] = addresses[i] / unit_bytes; });

  Wavefronts result;
  const auto pass = [&](std::uint32_t lanes) {
    if (lanes == 0) return;
    const bool atomic = kind == AccessKind::atomic || kind == AccessKind::reduction;
    result.count += atomic ? lanes_per_bank(units, lanes, banks) : conflict_degree(units, lanes, banks);
    ++result.ideal;
  };
  const std::uint32_t group = banks == 32 ? kAllLanes : (1u << banks) - 1;
  for (std::uint32_t base = 0; base < 32; base += banks) {
    // Loads may merge two neighbouring groups, as the recorded counters show.
    if (kind == AccessKind::load && banks < 32 && base % (2 * banks) == 0) {
      const std::uint32_t both = mask & ((group << base) | (group << (base + banks)));
      if (both != 0 && pairs_agree(units, both)) {
        pass(both);
        base += banks;
        continue;
      }
    }
    pass(mask & (group << base));
  }
  return result;
}

std::uint32_t count_wavefronts(const std::uint64_t addresses[32], std::uint32_t mask, std::uint32_t bytes) {
  return count_shared(addresses, mask, bytes, AccessKind::load).count;
}

void count_access(isa::Space space, AccessKind kind, const std::uint64_t addresses[32], std::uint32_t mask,
                  std::uint32_t bytes, AccessCounts& counts) {
  if (mask == 0) return;
  const auto lanes = static_cast<std::uint32_t>(std::popcount(mask));
  counts.active_lanes += lanes;
  if (space == isa::Space::shared) {
    const Wavefronts wavefronts = count_shared(addresses, mask, bytes, kind);
    ++counts.requests;
    counts.wavefronts += wavefronts.count;
    counts.ideal_wavefronts += wavefronts.ideal;
    return;
  }
  if (space == isa::Space::local) {
    // A request moves one word for each lane.
    const std::uint32_t words = std::max(1u, bytes / kBankBytes);
    counts.requests += words;
    counts.sectors += count_local_sectors(addresses, mask, bytes);
    counts.ideal_sectors += words * ((lanes + 7) / 8);
    return;
  }
  const bool atomic = kind == AccessKind::atomic || kind == AccessKind::reduction;
  ++counts.requests;
  counts.sectors += atomic ? count_atomic_sectors(addresses, mask, bytes) : count_sectors(addresses, mask, bytes);
  counts.ideal_sectors += (lanes * bytes + kSectorBytes - 1) / kSectorBytes;
}

}  // namespace warploom::observe
