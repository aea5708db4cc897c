// A modelled GPU: the limits a launch is checked against and the sizes explain computes with (profiles/*.toml).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace warploom::isa {

// Figures from the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and vendor data
// sheets.
struct GpuProfile {
  std::string name;       // "h200"
  std::string title;      // "NVIDIA H200"
  std::uint32_t sm = 90;  // compute capability, times ten
  std::uint32_t sm_count = 132;
  std::uint32_t max_threads_per_block = 1024;
  std::array<std::uint32_t, 3> max_block{1024, 1024, 64};
  std::array<std::uint64_t, 3> max_grid{2147483647, 65535, 65535};
  std::uint32_t static_shared_limit = 48 * 1024;  // bytes a kernel gets without opting in
  std::uint32_t shared_per_block = 227 * 1024;    // opt-in maximum, static and dynamic together
  std::uint32_t shared_per_sm = 228 * 1024;
  std::uint32_t reserved_shared_per_block = 1024;
  std::uint32_t shared_granularity = 128;
  std::vector<std::uint32_t> shared_carveouts;  // bytes of the L1 that can serve as shared memory, ascending
  std::uint32_t registers_per_sm = 65536;
  std::uint32_t register_granularity = 256;  // allocated per warp in this unit
  std::uint32_t register_partitions = 4;     // a warp's registers lie in one of these equal parts of the file
  std::uint32_t threads_per_sm = 2048;
  std::uint32_t blocks_per_sm = 32;
  std::uint32_t max_registers_per_thread = 255;
  std::uint64_t memory_bytes = 0;
};

// Looks the name up among the profiles built into the library; the error lists the names there are.
Result<GpuProfile> find_profile(const std::string& name);
std::vector<std::string> profile_names();
// Reads a profile in the format of profiles/*.toml; `origin` names it in errors.
Result<GpuProfile> parse_profile(std::string_view toml, const std::string& origin);

}  // namespace warploom::isa
