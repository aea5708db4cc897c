// Checks of launches against a profile's limits and what the kernel declares.
#include "device/launch_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warploom::device {
namespace {

Diag launch_error(ErrorId id, const ptx::Function& kernel, std::string what, std::string remedy) {
  Diag d;
  d.id = id;
  d.what = std::move(what);
  d.where = "launch of kernel " + kernel.name;
  d.remedy = std::move(remedy);
  return d;
}

}  // namespace

std::array<std::uint32_t, 3> cluster_of(const Launch& launch, const ptx::Function& kernel) {
  if (launch.cluster[0] != 0) return launch.cluster;
  const ptx::Dim3& d = kernel.reqnctapercluster;
  if (d.x == 0) return {1, 1, 1};
  return {d.x, std::max(1U, d.y), std::max(1U, d.z)};
}

Result<void> check_shape(const isa::GpuProfile& profile, const ptx::Function& kernel, const Launch& launch) {
  static constexpr const char* kAxis[] = {"x", "y", "z"};
  std::uint64_t threads = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.grid[i] > profile.max_grid[i])
      return launch_error(
          ErrorId::launch_dimensions, kernel,
          fmt::format("grid.{} is {}, the device takes 1 to {}", kAxis[i], launch.grid[i], profile.max_grid[i]),
          "choose a grid within the limits");
    if (launch.block[i] == 0 || launch.block[i] > profile.max_block[i])
      return launch_error(
          ErrorId::launch_dimensions, kernel,
          fmt::format("block.{} is {}, the device takes 1 to {}", kAxis[i], launch.block[i], profile.max_block[i]),
          "choose a block within the limits");
    threads *= launch.block[i];
  }
  if (threads > profile.max_threads_per_block)
    return launch_error(ErrorId::launch_dimensions, kernel,
                        fmt::format("a block of {} threads is larger than {}", threads, profile.max_threads_per_block),
                        "use smaller blocks and a larger grid");
  if (kernel.reqntid.x != 0 &&
      (launch.block[0] != kernel.reqntid.x || launch.block[1] != std::max(1U, kernel.reqntid.y) ||
       launch.block[2] != std::max(1U, kernel.reqntid.z)))
    return launch_error(ErrorId::launch_dimensions, kernel,
                        fmt::format("the kernel is made for blocks of ({},{},{}) threads", kernel.reqntid.x,
                                    std::max(1U, kernel.reqntid.y), std::max(1U, kernel.reqntid.z)),
                        "launch it with that block");
  if (kernel.maxntid.x != 0 &&
      threads > std::uint64_t{kernel.maxntid.x} * std::max(1U, kernel.maxntid.y) * std::max(1U, kernel.maxntid.z))
    return launch_error(
        ErrorId::launch_resources, kernel,
        fmt::format("a block of {} threads is larger than the kernel's launch bounds of {}", threads,
                    std::uint64_t{kernel.maxntid.x} * std::max(1U, kernel.maxntid.y) * std::max(1U, kernel.maxntid.z)),
        "launch smaller blocks or raise __launch_bounds__");
  const std::array<std::uint32_t, 3> cluster = cluster_of(launch, kernel);
  constexpr std::uint64_t most_blocks = 16;
  std::uint64_t cluster_blocks = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    if (cluster[i] == 0 || launch.grid[i] % cluster[i] != 0)
      return launch_error(ErrorId::launch_dimensions, kernel,
                          fmt::format("cluster.{} is {}, grid.{} is {}, which is no multiple of it", kAxis[i],
                                      cluster[i], kAxis[i], launch.grid[i]),
                          "make the grid of whole clusters");
    cluster_blocks *= cluster[i];
  }
  const bool required = kernel.reqnctapercluster.x != 0;
  if (required && launch.cluster[0] != 0 && launch.cluster != cluster_of({}, kernel))
    return launch_error(ErrorId::launch_dimensions, kernel,
                        fmt::format("the kernel is made for clusters of ({},{},{}) blocks", kernel.reqnctapercluster.x,
                                    std::max(1U, kernel.reqnctapercluster.y), std::max(1U, kernel.reqnctapercluster.z)),
                        "launch it with that cluster, or with none");
  if (kernel.explicit_cluster && !required && launch.cluster[0] == 0)
    return launch_error(ErrorId::launch_dimensions, kernel, "the kernel needs a launch with clusters",
                        "say how many blocks a cluster has");
  if (cluster_blocks > most_blocks || (kernel.maxclusterrank != 0 && cluster_blocks > kernel.maxclusterrank))
    return launch_error(
        ErrorId::launch_dimensions, kernel,
        fmt::format(
            "a cluster of {} blocks, at most {} are possible", cluster_blocks,
            kernel.maxclusterrank != 0 ? std::min<std::uint64_t>(kernel.maxclusterrank, most_blocks) : most_blocks),
        "use smaller clusters");
  if (launch.params.size() != kernel.param_bytes)
    return launch_error(
        ErrorId::launch_arguments, kernel,
        fmt::format("{} bytes of arguments, the kernel takes {}", launch.params.size(), kernel.param_bytes),
        "pass every parameter with its own type");
  return {};
}

Result<void> check_resources(const isa::GpuProfile& profile, const ptx::Function& kernel, const Launch& launch,
                             const SharedBytes& shared) {
  if (shared.fixed > profile.static_shared_limit)
    return launch_error(
        ErrorId::launch_resources, kernel,
        fmt::format("{} bytes of static shared memory, the limit is {}", shared.fixed, profile.static_shared_limit),
        "use dynamic shared memory for more");
  if (shared.all > profile.shared_per_block)
    return launch_error(
        ErrorId::launch_resources, kernel,
        fmt::format("{} bytes of shared memory ({} static, {} dynamic), {} has {} for a block", shared.all,
                    shared.fixed, launch.shared_bytes, profile.title, profile.shared_per_block),
        "use smaller tiles");
  if (launch.cooperative) {
    const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    const std::uint64_t warps = (threads + 31) / 32;
    std::uint64_t per_sm = std::min<std::uint64_t>(profile.blocks_per_sm, profile.threads_per_sm / (warps * 32));
    if (shared.all != 0)
      per_sm =
          std::min<std::uint64_t>(per_sm, profile.shared_per_sm / (shared.all + profile.reserved_shared_per_block));
    if (blocks > per_sm * profile.sm_count)
      return launch_error(ErrorId::cooperative_too_large, kernel,
                          fmt::format("{} blocks must be resident together, {} holds {}", blocks, profile.title,
                                      per_sm * profile.sm_count),
                          "launch fewer blocks and loop over the data");
  }
  return {};
}

}  // namespace warploom::device
