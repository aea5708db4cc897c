// What explain knows about a kernel after a run: counts by launch shape and source line, occupancy, findings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/explain/occupancy.hpp"
#include "observe/facts.hpp"

namespace warploom::observe::explain {

// Where a number comes from.
enum class Basis : std::uint8_t { exact, modelled, estimated };
[[nodiscard]] std::string_view name(Basis basis);

// Accesses of one kind: all of a kernel, or those of one source line.
enum class AccessGroup : std::uint8_t {
  global_load,
  global_store,
  global_atomic,
  shared_load,
  shared_store,
  shared_atomic,
  local_load,
  local_store,
};
constexpr std::size_t kAccessGroups = 8;
[[nodiscard]] std::string_view name(AccessGroup group);
[[nodiscard]] std::string key(AccessGroup group);  // the name as an identifier, for files
[[nodiscard]] bool is_shared(AccessGroup group);

// Counts of one group at one place.
struct GroupCounts {
  AccessCounts counts;
  std::uint32_t sites = 0;  // instructions in the PTX
  std::uint32_t bytes = 0;  // of one thread's access, the widest
  [[nodiscard]] double per_request(std::uint64_t value) const {
    return counts.requests == 0 ? 0 : static_cast<double>(value) / static_cast<double>(counts.requests);
  }
  [[nodiscard]] std::uint64_t conflicts() const { return counts.wavefronts - counts.ideal_wavefronts; }
};

struct LineData {
  SourceLoc source;  // the PTX line when the kernel has no line information
  bool from_ptx = false;
  GroupCounts groups[kAccessGroups];
  BranchCounts branch;
  std::uint32_t branch_sites = 0;
  [[nodiscard]] const GroupCounts& group(AccessGroup g) const { return groups[static_cast<std::size_t>(g)]; }
};

struct Finding {
  std::string rule;     // stable id, for instance "bank_conflicts"
  std::string message;  // one sentence: what it costs and what to change
  SourceLoc source;     // unknown when it is about the whole launch
  double cost = 0;      // modelled multiprocessor cycles, to sort by
  Basis basis = Basis::exact;
};

// One kernel with one launch shape, all its launches together.
struct KernelData {
  KernelFacts facts;
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint64_t launches = 0;
  std::uint64_t failed = 0;
  double seconds = 0;  // all launches, on this CPU
  double fastest_seconds = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
  GroupCounts groups[kAccessGroups];
  // Of these, what a GPU counts elsewhere: stores of asynchronous copies, accesses through textures and surfaces.
  GroupCounts elsewhere[kAccessGroups];
  BranchCounts branch;
  Occupancy occupancy;
  std::vector<LineData> lines;  // by file and line; only those that access memory or branch
  std::vector<Finding> findings;

  [[nodiscard]] std::uint32_t threads_per_block() const { return block[0] * block[1] * block[2]; }
  [[nodiscard]] std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  [[nodiscard]] std::uint64_t shared_bytes() const {
    return std::uint64_t{facts.static_shared_bytes} + dynamic_shared_bytes;
  }
  [[nodiscard]] const GroupCounts& group(AccessGroup g) const { return groups[static_cast<std::size_t>(g)]; }
  // Lanes that executed, averaged over the instructions that warps issued.
  [[nodiscard]] double average_active_lanes() const {
    return warp_instructions == 0 ? 0
                                  : static_cast<double>(thread_instructions) / static_cast<double>(warp_instructions);
  }
};

}  // namespace warploom::observe::explain
