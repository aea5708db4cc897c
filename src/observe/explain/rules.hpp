// Rules: each looks at one kernel's data and may add findings. One file each; rules.cpp lists them.
#pragma once

#include <vector>

#include "observe/explain/data.hpp"

namespace warploom::observe::explain {

struct RuleInput {
  const KernelData& kernel;
  const isa::GpuProfile& profile;
};

using Rule = void (*)(const RuleInput& in, std::vector<Finding>& out);

void rule_coalescing(const RuleInput& in, std::vector<Finding>& out);
void rule_misaligned(const RuleInput& in, std::vector<Finding>& out);
void rule_array_of_structures(const RuleInput& in, std::vector<Finding>& out);
void rule_reuse(const RuleInput& in, std::vector<Finding>& out);
void rule_bank_conflicts(const RuleInput& in, std::vector<Finding>& out);
void rule_divergence(const RuleInput& in, std::vector<Finding>& out);
void rule_partial_warps(const RuleInput& in, std::vector<Finding>& out);
void rule_occupancy(const RuleInput& in, std::vector<Finding>& out);
void rule_small_grid(const RuleInput& in, std::vector<Finding>& out);
void rule_local_memory(const RuleInput& in, std::vector<Finding>& out);
void rule_atomic_contention(const RuleInput& in, std::vector<Finding>& out);
void rule_shared_atomic_contention(const RuleInput& in, std::vector<Finding>& out);
void rule_double_precision(const RuleInput& in, std::vector<Finding>& out);

// All findings of a kernel, dearest first.
std::vector<Finding> find_all(const RuleInput& in);

// Modelled cost in multiprocessor cycles, the common currency that findings are sorted by.
constexpr double kCyclesPerSector = 0.5;  // the L2 hands a multiprocessor 64 bytes a cycle
constexpr double kCyclesPerWavefront = 1;
constexpr double kCyclesPerInstruction = 0.25;  // four schedulers issue one warp instruction each

}  // namespace warploom::observe::explain
