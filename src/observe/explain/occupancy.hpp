// Theoretical occupancy: how many blocks of a launch a multiprocessor of the profile can hold, and what limits them.
#pragma once

#include <cstdint>
#include <string_view>

#include "isa/profile.hpp"

namespace warploom::observe::explain {

enum class Limiter : std::uint8_t { warps, blocks, registers, shared_memory };
[[nodiscard]] std::string_view name(Limiter limiter);

struct Occupancy {
  // Blocks that each resource allows, as the profiler's launch__occupancy_limit_* counters.
  std::uint32_t limit_warps = 0;
  std::uint32_t limit_blocks = 0;
  std::uint32_t limit_registers = 0;
  std::uint32_t limit_shared = 0;

  std::uint32_t blocks = 0;  // the least of the limits
  std::uint32_t warps = 0;
  std::uint32_t max_warps = 0;
  Limiter limiter = Limiter::warps;

  [[nodiscard]] double fraction() const { return max_warps == 0 ? 0 : static_cast<double>(warps) / max_warps; }
};

// `registers` of a thread, 0 when not known; `shared_bytes` of a block, static and dynamic.
Occupancy compute_occupancy(const isa::GpuProfile& profile, std::uint32_t threads_per_block, std::uint32_t registers,
                            std::uint64_t shared_bytes);

}  // namespace warploom::observe::explain
