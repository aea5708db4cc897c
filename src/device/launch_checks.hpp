// Is a launch within a GPU's limits, and what its kernel was made for? Asked before the launch, by every device.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.hpp"
#include "device/device.hpp"
#include "isa/profile.hpp"
#include "ptx/module.hpp"

namespace warploom::device {

// Blocks of a cluster; all ones when the launch has none.
std::array<std::uint32_t, 3> cluster_of(const Launch& launch, const ptx::Function& kernel);

// Grid, block, cluster, launch bounds and the size of the arguments.
Result<void> check_shape(const isa::GpuProfile& profile, const ptx::Function& kernel, const Launch& launch);

struct SharedBytes {
  std::uint32_t fixed;  // what the kernel declares
  std::uint64_t all;    // with the launch's dynamic shared memory
};
// Shared memory, and the size of a cooperative grid; after check_shape().
Result<void> check_resources(const isa::GpuProfile& profile, const ptx::Function& kernel, const Launch& launch,
                             const SharedBytes& shared);

}  // namespace warploom::device
