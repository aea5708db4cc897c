// Layout of the probe counters of one worker, an array of 64-bit numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom::codegen {

// Per block: executions with all lanes, masked executions, active lanes of the masked ones.
inline constexpr std::size_t kBlockCounters = 3;
// Per site, what is not a fixed amount for each execution of its block with all lanes:
// accesses: requests, sectors, ideal sectors, wavefronts, ideal wavefronts, active lanes; branches: divergent
// executions.
inline constexpr std::size_t kSiteCounters = 6;
// Then, per site, what the last access with known lane patterns cost: its run-time factors and its active lanes, and
// for each base modulo 32 the sectors or wavefronts and, in the second byte, their ideal (0: not known). Meaningless
// once summed over workers, as is what follows.
inline constexpr std::size_t kMemoFactors = 2;
inline constexpr std::size_t kMemoKeys = kMemoFactors + 1;
inline constexpr std::size_t kMemoWords = kMemoKeys + 32 * 2 / 8;
// Then, per site, the accesses without a closed form in a row whose lane distances were new.
inline constexpr std::size_t kMissWords = 1;

struct CounterLayout {
  std::size_t blocks = 0, sites = 0;
  [[nodiscard]] std::size_t block(std::size_t b) const { return b * kBlockCounters; }
  [[nodiscard]] std::size_t site(std::size_t s) const { return blocks * kBlockCounters + s * kStep; }
  // From a site's counters to the next one's.
  static constexpr std::size_t kStep = kSiteCounters + kMemoWords + kMissWords;
  [[nodiscard]] std::size_t memo(std::size_t s) const { return site(s) + kSiteCounters; }
  [[nodiscard]] std::size_t size() const { return site(sites); }
};

// What one execution of an access by a full warp adds, where that is known when the code is made.
struct StaticCount {
  std::uint32_t requests = 0, sectors = 0, ideal_sectors = 0, wavefronts = 0, ideal_wavefronts = 0, lanes = 0;
};

}  // namespace warploom::codegen
