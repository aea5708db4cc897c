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

struct Distinct {
  std::uint32_t total = 0;
  std::uint32_t rounds = 0;  // the most distinct keys that share a bucket
};

// Counts distinct keys in rounds, without a branch for a lane: each round, every bucket keeps one of its keys, and the
// lanes with another key go to the next round. `bucket_of` gives 0 to 31.
template <class Bucket>
Distinct count_distinct(const std::uint32_t keys[32], std::uint32_t lanes, Bucket&& bucket_of) {
  constexpr std::uint32_t kRounds = 4;
  std::uint32_t bucket[32], kept[32];
  Distinct result;
  for (unsigned i = 0; i < 32; ++i) bucket[i] = bucket_of(keys[i]);
  const auto round = [&](auto&& each) {
    std::uint32_t seen = 0, rest = 0;
    each([&](unsigned i) {
      kept[bucket[i]] = keys[i];
      seen |= 1u << bucket[i];
    });
    each([&](unsigned i) { rest |= static_cast<std::uint32_t>(kept[bucket[i]] != keys[i]) << i; });
    result.total += static_cast<std::uint32_t>(std::popcount(seen));
    ++result.rounds;
    lanes = rest;
  };
  if (lanes == kAllLanes)
    round([](auto&& f) {
      for (unsigned i = 0; i < 32; ++i) f(i);
    });
  while (lanes != 0 && result.rounds < kRounds) round([&](auto&& f) { for_lanes(lanes, f); });
  if (lanes != 0) {
    // Crowded buckets: a table costs a lane once instead of once a round.
    SmallSet set;
    std::uint8_t more[32] = {};
    std::uint8_t most = 0;
    for_lanes(lanes, [&](unsigned i) {
      if (!set.insert(keys[i]).second) return;
      ++result.total;
      most = std::max(most, ++more[bucket[i]]);
    });
    result.rounds += most;
  }
  return result;
}

// Most lanes that need one bank: atomics on one word take turns.
std::uint32_t lanes_per_bank(const std::uint32_t units[32], std::uint32_t lanes, std::uint32_t bank_mask) {
  std::uint8_t degree[32] = {};
  std::uint8_t most = 0;
  for_lanes(lanes, [&](unsigned i) { most = std::max(most, ++degree[units[i] & bank_mask]); });
  return most;
}

// Whether a wide load's two halves of `lanes` may share a pass: neighbours, or lanes two apart, read the same unit.
bool pairs_agree(const std::uint32_t units[32], std::uint32_t lanes) {
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

// Any alignment and distance: a lane that straddles sectors adds its last one as well.
std::uint32_t count_sectors_slowly(const std::uint64_t addresses[32], std::uint32_t mask, std::uint32_t bytes) {
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

}  // namespace

std::uint32_t count_sectors(const std::uint64_t addresses[32], std::uint32_t mask, std::uint32_t bytes) {
  if (mask == 0) return 0;
  // Sectors relative to the first one: 32 bits, unless the lanes are more than 64 GiB apart.
  const std::uint64_t base = addresses[std::countr_zero(mask)] / kSectorBytes;
  std::uint64_t far = 0, offset_bits = 0;
  std::uint32_t sectors[32];
  if (mask == kAllLanes) {
    for (unsigned i = 0; i < 32; ++i) {
      const std::uint64_t sector = addresses[i] / kSectorBytes - base;
      far |= (sector + (std::uint64_t{1} << 31)) >> 32;
      offset_bits |= addresses[i];
      sectors[i] = static_cast<std::uint32_t>(sector);
    }
  } else {
    // A lane that is not active repeats the last one that is, so that it changes neither order nor count.
    std::uint64_t last = addresses[std::countr_zero(mask)];
    for (unsigned i = 0; i < 32; ++i) {
      last = (mask >> i) & 1 ? addresses[i] : last;
      const std::uint64_t sector = last / kSectorBytes - base;
      far |= (sector + (std::uint64_t{1} << 31)) >> 32;
      offset_bits |= last;
      sectors[i] = static_cast<std::uint32_t>(sector);
    }
  }
  // An access aligned to its own size lies inside one sector.
  const bool aligned = std::has_single_bit(bytes) && bytes <= kSectorBytes && (offset_bits & (bytes - 1)) == 0;
  if (far != 0 || !aligned) return count_sectors_slowly(addresses, mask, bytes);

  std::uint32_t runs = 1, falls = 0, rises = 0;
  for (unsigned i = 1; i < 32; ++i) {
    const auto now = static_cast<std::int32_t>(sectors[i]), before = static_cast<std::int32_t>(sectors[i - 1]);
    runs += now != before;
    falls += now < before;
    rises += now > before;
  }
  if (falls == 0 || rises == 0) return runs;
  return count_distinct(sectors, mask,
                        [](std::uint32_t sector) { return (sector ^ (sector >> 5) ^ (sector >> 10)) % 32; })
      .total;
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
  // Shared memory is far smaller than 2^32 units, so the low bits of a unit's number tell units apart.
  const int shift = std::countr_zero(unit_bytes);
  std::uint32_t units[32];
  for (unsigned i = 0; i < 32; ++i) units[i] = static_cast<std::uint32_t>(addresses[i] >> shift);

  Wavefronts result;
  const auto pass = [&](std::uint32_t lanes) {
    if (lanes == 0) return;
    const bool turns = is_atomic(kind) && kind != AccessKind::increment;
    result.count += turns ? lanes_per_bank(units, lanes, banks - 1)
                          : count_distinct(units, lanes, [&](std::uint32_t unit) { return unit & (banks - 1); }).rounds;
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
  ++counts.requests;
  counts.sectors +=
      is_atomic(kind) ? count_atomic_sectors(addresses, mask, bytes) : count_sectors(addresses, mask, bytes);
  std::uint64_t different = 0;
  const std::uint64_t first = addresses[std::countr_zero(mask)];
  for_lanes(mask, [&](unsigned i) { different |= addresses[i] ^ first; });
  counts.ideal_sectors += ((different == 0 ? 1 : lanes) * bytes + kSectorBytes - 1) / kSectorBytes;
}

}  // namespace warploom::observe
