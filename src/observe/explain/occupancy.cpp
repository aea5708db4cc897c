// Allocation rules of registers and shared memory, held against launch__occupancy_limit_* of 57 launches on an H200.
#include "observe/explain/occupancy.hpp"

#include <algorithm>

namespace warploom::observe::explain {
namespace {

constexpr std::uint32_t kWarp = 32;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// A warp's registers come from one partition of the file, in units of the granularity.
std::uint32_t register_limit(const isa::GpuProfile& p, std::uint32_t warps_per_block, std::uint32_t registers) {
  const std::uint64_t per_warp = round_up(std::uint64_t{std::max(registers, 1u)} * kWarp, p.register_granularity);
  const std::uint64_t warps = p.registers_per_sm / p.register_partitions / per_warp * p.register_partitions;
  return static_cast<std::uint32_t>(warps / warps_per_block);
}

// The driver splits the L1 at launch. It was seen to leave room for almost twice the blocks that the other limits
// allow, so that a following launch need not wait for a new split, and to take the smallest split with that room.
std::uint32_t shared_limit(const isa::GpuProfile& p, std::uint64_t shared_bytes, std::uint32_t other_limit) {
  const std::uint64_t per_block = round_up(shared_bytes + p.reserved_shared_per_block, p.shared_granularity);
  if (per_block == 0) return p.blocks_per_sm;
  const std::uint64_t wanted =
      std::min<std::uint64_t>(2 * std::uint64_t{std::max(other_limit, 1u)} - 1, p.blocks_per_sm);
  const auto split = std::find_if(p.shared_carveouts.begin(), p.shared_carveouts.end(),
                                  [&](std::uint64_t bytes) { return bytes >= wanted * per_block; });
  const std::uint64_t bytes = split == p.shared_carveouts.end() ? p.shared_per_sm : *split;
  return static_cast<std::uint32_t>(bytes / per_block);
}

}  // namespace

std::string_view name(Limiter limiter) {
  switch (limiter) {
    case Limiter::warps: return "warps";
    case Limiter::blocks: return "blocks";
    case Limiter::registers: return "registers";
    case Limiter::shared_memory: return "shared memory";
  }
  return "";
}

Occupancy compute_occupancy(const isa::GpuProfile& profile, std::uint32_t threads_per_block, std::uint32_t registers,
                            std::uint64_t shared_bytes) {
  Occupancy result;
  const std::uint32_t warps_per_block = std::max(1u, (threads_per_block + kWarp - 1) / kWarp);
  result.max_warps = profile.threads_per_sm / kWarp;
  result.limit_warps = result.max_warps / warps_per_block;
  result.limit_blocks = profile.blocks_per_sm;
  result.limit_registers = register_limit(profile, warps_per_block, registers);
  const std::uint32_t other = std::min({result.limit_warps, result.limit_blocks, result.limit_registers});
  result.limit_shared = shared_limit(profile, shared_bytes, other);

  result.blocks = std::min(other, result.limit_shared);
  result.warps = result.blocks * warps_per_block;
  // Where limits tie, the one named is the one that cannot be tuned away.
  if (result.blocks == result.limit_warps)
    result.limiter = Limiter::warps;
  else if (result.blocks == result.limit_blocks)
    result.limiter = Limiter::blocks;
  else if (result.blocks == result.limit_registers)
    result.limiter = Limiter::registers;
  else
    result.limiter = Limiter::shared_memory;
  return result;
}

}  // namespace warploom::observe::explain
