// The mbarrier object in a block's shared memory (PTX ISA section 9.7.13.15).
#pragma once

#include <cstdint>

namespace warploom::device {

// Its 64 bits, opaque to programs: expected arrivals, pending arrivals, bytes that are still to come, a mark that tells
// an object from other data, and the parity of the phase.
struct Mbarrier {
  static constexpr std::uint32_t kMostArrivals = (1U << 20) - 1;
  static constexpr std::int64_t kMostBytes = (1 << 20) - 1;

  std::uint32_t expected = 0, pending = 0;
  std::int64_t bytes = 0;
  bool odd = false;

  [[nodiscard]] static bool is_one(std::uint64_t word) { return (word >> 61 & 3) == 2; }
  explicit Mbarrier(std::uint64_t word)
      : expected(static_cast<std::uint32_t>(word) & kMostArrivals),
        pending(static_cast<std::uint32_t>(word >> 20) & kMostArrivals),
        bytes(static_cast<std::int64_t>(word << 3) >> 43),
        odd(word >> 63 != 0) {}
  explicit Mbarrier(std::uint32_t count) : expected(count), pending(count) {}
  [[nodiscard]] std::uint64_t word() const {
    return std::uint64_t{odd} << 63 | std::uint64_t{2} << 61 | (static_cast<std::uint64_t>(bytes) & 0x1FFFFF) << 40 |
           std::uint64_t{pending} << 20 | expected;
  }
  // Ends the phase if nothing is pending any more.
  bool turn() {
    if (pending != 0 || bytes != 0) return false;
    odd = !odd;
    pending = expected;
    return true;
  }
};

}  // namespace warploom::device
