// Data flow from parameters and constants, cut where warps may take different ways.
#include "passes/block_uniform.hpp"

#include "ir/cfg.hpp"
#include "ir/webs.hpp"
#include "passes/shape_ops.hpp"

namespace warploom::passes {

using ir::BlockId;
using ir::Inst;
using ir::ValueId;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

bool names_warp(const Inst& inst) {
  for (const ptx::Operand& o : inst.p.operands)
    if (o.kind == ptx::Operand::Kind::sreg && o.symbol == "%warpid") return true;
  return false;
}

}  // namespace

std::vector<char> find_block_uniform(const ir::Function& f, const Shapes& shapes) {
  std::vector<char> same(f.values.size());
  for (std::size_t v = 0; v < same.size(); ++v) same[v] = shapes.of[v].uniform();
  const std::vector<BlockId> ipdom = ir::post_dominators(f);
  const auto all_sources = [&](const Inst& i) {
    bool all = true;
    ir::for_each_use(i, [&](ValueId v) { all = all && same[idx(v)]; });
    return all;
  };
  // By block that warps may or may not pass: values that live where those that did and those that did not meet again.
  using Values = std::vector<std::uint64_t>;
  std::vector<Values> apart(f.blocks.size(), Values(f.live_in[0].size(), 0));
  const auto add = [](Values& to, const Values& from) {
    bool more = false;
    for (std::size_t w = 0; w < to.size(); ++w) {
      more = more || (from[w] & ~to[w]) != 0;
      to[w] |= from[w];
    }
    return more;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = 0; b < f.blocks.size(); ++b) {
      const ir::Block& block = f.blocks[b];
      for (const Inst& i : block.insts) {
        const bool keeps = keeps_invariance(f, i) && !names_warp(i) && all_sources(i);
        ir::for_each_def(i, [&](ValueId v) {
          if (!same[idx(v)]) return;
          const bool one_way = f.values[idx(v)].defs == 1 && !f.is_live_in(0, v);
          const bool meets_others = ((apart[b][idx(v) / 64] >> (idx(v) % 64)) & 1U) != 0;
          if (keeps && (one_way || !meets_others)) return;
          same[idx(v)] = false;
          changed = true;
        });
      }
      if (block.succs.size() < 2 || all_sources(block.insts.back())) continue;
      std::vector<int> ways(f.blocks.size(), 0);
      for (BlockId s : block.succs) {
        const std::vector<char> way = ir::reachable(f, s, {ipdom[b]});
        for (std::size_t x = 0; x < ways.size(); ++x) ways[x] += way[x] != 0 ? 1 : 0;
      }
      Values where_they_meet(f.live_in[0].size(), 0);
      if (idx(ipdom[b]) < f.blocks.size()) add(where_they_meet, f.live_in[idx(ipdom[b])]);
      for (std::size_t x = 0; x < ways.size(); ++x)
        if (ways[x] > 1) add(where_they_meet, f.live_in[x]);
      for (std::size_t x = 0; x < ways.size(); ++x)
        if (ways[x] > 0 && add(apart[x], where_they_meet)) changed = true;
    }
  }
  return same;
}

}  // namespace warploom::passes
