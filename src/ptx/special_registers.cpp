// The special registers of PTX (PTX ISA section 10).
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/decode.hpp"

namespace warploom::ptx {
namespace {

constexpr std::array<std::string_view, 24> kComponents = {"%tid.x",
                                                          "%tid.y",
                                                          "%tid.z",
                                                          "%ntid.x",
                                                          "%ntid.y",
                                                          "%ntid.z",
                                                          "%ctaid.x",
                                                          "%ctaid.y",
                                                          "%ctaid.z",
                                                          "%nctaid.x",
                                                          "%nctaid.y",
                                                          "%nctaid.z",
                                                          "%clusterid.x",
                                                          "%clusterid.y",
                                                          "%clusterid.z",
                                                          "%nclusterid.x",
                                                          "%nclusterid.y",
                                                          "%nclusterid.z",
                                                          "%cluster_ctaid.x",
                                                          "%cluster_ctaid.y",
                                                          "%cluster_ctaid.z",
                                                          "%cluster_nctaid.x",
                                                          "%cluster_nctaid.y",
                                                          "%cluster_nctaid.z"};
constexpr std::array<std::string_view, 25> kWords = {"%laneid",
                                                     "%warpid",
                                                     "%nwarpid",
                                                     "%smid",
                                                     "%nsmid",
                                                     "%lanemask_eq",
                                                     "%lanemask_le",
                                                     "%lanemask_lt",
                                                     "%lanemask_ge",
                                                     "%lanemask_gt",
                                                     "%clock",
                                                     "%clock_hi",
                                                     "%globaltimer_lo",
                                                     "%globaltimer_hi",
                                                     "%cluster_ctarank",
                                                     "%cluster_nctarank",
                                                     "%total_smem_size",
                                                     "%aggr_smem_size",
                                                     "%dynamic_smem_size",
                                                     "%reserved_smem_offset_begin",
                                                     "%reserved_smem_offset_end",
                                                     "%reserved_smem_offset_cap",
                                                     "%reserved_smem_offset_0",
                                                     "%reserved_smem_offset_1",
                                                     "%is_explicit_cluster"};
constexpr std::array<std::string_view, 4> kLong = {"%clock64", "%globaltimer", "%gridid", "%current_graph_exec"};

struct Names {
  std::vector<std::string> numbered;
  std::vector<std::string_view> all;
  std::unordered_map<std::string_view, isa::Type> types;

  Names() {
    numbered.reserve(48);
    for (int i = 0; i < 32; ++i) numbered.push_back("%envreg" + std::to_string(i));
    for (int i = 0; i < 8; ++i) numbered.push_back("%pm" + std::to_string(i));
    const std::size_t words = numbered.size();
    for (int i = 0; i < 8; ++i) numbered.push_back("%pm" + std::to_string(i) + "_64");
    for (const auto name : kComponents) types[name] = isa::Type::u32;
    for (const auto name : kWords) types[name] = isa::Type::u32;
    for (const auto name : kLong) types[name] = isa::Type::u64;
    types["%is_explicit_cluster"] = isa::Type::pred;
    for (std::size_t i = 0; i < numbered.size(); ++i) types[numbered[i]] = i < words ? isa::Type::b32 : isa::Type::u64;
    for (const auto& [name, type] : types) all.push_back(name);
  }
};

const Names& names() {
  static const Names table;
  return table;
}

}  // namespace

isa::Type special_register(std::string_view name) {
  const auto it = names().types.find(name);
  return it == names().types.end() ? isa::Type::none : it->second;
}

std::span<const std::string_view> special_register_names() { return names().all; }

}  // namespace warploom::ptx
