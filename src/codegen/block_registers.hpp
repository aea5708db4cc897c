// Special registers that are words of a warp's context, the same for all warps of a block.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "codegen/context.hpp"

namespace warploom::codegen {

// Where in the context the register is.
inline std::optional<std::size_t> block_register(std::string_view name) {
  const std::size_t axis = name.ends_with(".y") ? 4 : name.ends_with(".z") ? 8 : 0;
  if (name.starts_with("%clusterid")) return offsetof(WarpContext, clusterid) + axis;
  if (name.starts_with("%nclusterid")) return offsetof(WarpContext, nclusterid) + axis;
  if (name.starts_with("%cluster_ctaid")) return offsetof(WarpContext, cluster_ctaid) + axis;
  if (name.starts_with("%cluster_nctaid")) return offsetof(WarpContext, cluster_nctaid) + axis;
  if (name == "%cluster_ctarank") return offsetof(WarpContext, cluster_rank);
  if (name == "%cluster_nctarank") return offsetof(WarpContext, cluster_blocks);
  if (name == "%is_explicit_cluster") return offsetof(WarpContext, explicit_cluster);
  if (name == "%total_smem_size") return offsetof(WarpContext, total_shared);
  if (name == "%aggr_smem_size") return offsetof(WarpContext, all_shared);
  if (name == "%nsmid") return offsetof(WarpContext, sm_count);
  if (name == "%nwarpid") return offsetof(WarpContext, warps_per_sm);
  // Little-endian halves of the workspace's address.
  if (name == "%envreg2") return offsetof(WarpContext, workspace);
  if (name == "%envreg1") return offsetof(WarpContext, workspace) + 4;
  return std::nullopt;
}

}  // namespace warploom::codegen
