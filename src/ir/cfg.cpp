// Block building and ordering.
#include "ir/cfg.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ir/synthetic.hpp"

namespace warploom::ir {
namespace {

// Tarjan's strongly connected components of a subgraph, in topological order (sources first).
class Components {
 public:
  Components(const std::vector<Block>& blocks, const std::vector<BlockId>& members, BlockId without)
      : blocks_(blocks),
        index_(blocks.size(), -1),
        low_(blocks.size(), 0),
        on_stack_(blocks.size(), false),
        inside_(blocks.size(), false) {
    for (BlockId b : members) inside_[idx(b)] = b != without;
    for (BlockId b : members)
      if (inside_[idx(b)] && index_[idx(b)] < 0) visit(b);
    std::reverse(found.begin(), found.end());
  }
  std::vector<std::vector<BlockId>> found;

 private:
  static std::size_t idx(BlockId b) { return static_cast<std::size_t>(b); }

  // Iterative: real kernels have thousands of blocks in a row.
  void visit(BlockId root) {
    struct Frame {
      BlockId block;
      std::size_t next;
    };
    std::vector<Frame> frames{{root, 0}};
    start(root);
    while (!frames.empty()) {
      Frame& frame = frames.back();
      const BlockId b = frame.block;
      const auto& succs = blocks_[idx(b)].succs;
      if (frame.next < succs.size()) {
        // Last successor first, so that the reversed result keeps the fall-through order of the text.
        const BlockId s = succs[succs.size() - 1 - frame.next++];
        if (!inside_[idx(s)]) continue;
        if (index_[idx(s)] < 0) {
          start(s);
          frames.push_back({s, 0});
        } else if (on_stack_[idx(s)]) {
          low_[idx(b)] = std::min(low_[idx(b)], index_[idx(s)]);
        }
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) low_[idx(frames.back().block)] = std::min(low_[idx(frames.back().block)], low_[idx(b)]);
      if (low_[idx(b)] != index_[idx(b)]) continue;
      found.emplace_back();
      BlockId top = -1;
      do {
        top = stack_.back();
        stack_.pop_back();
        on_stack_[idx(top)] = false;
        found.back().push_back(top);
      } while (top != b);
    }
  }
  void start(BlockId b) {
    index_[idx(b)] = low_[idx(b)] = counter_++;
    stack_.push_back(b);
    on_stack_[idx(b)] = true;
  }

  const std::vector<Block>& blocks_;
  std::vector<std::int32_t> index_, low_;
  std::vector<char> on_stack_, inside_;
  std::vector<BlockId> stack_;
  std::int32_t counter_ = 0;
};

class Orderer {
 public:
  explicit Orderer(std::vector<Block>& blocks) : blocks_(blocks) {}

  void run(const std::vector<BlockId>& members, BlockId without, std::int32_t depth) {
    const Components components(blocks_, members, without);
    for (const std::vector<BlockId>& component : components.found) {
      const BlockId head = header(component);
      const bool loop = component.size() > 1 || has_edge(head, head);
      order.push_back(head);
      blocks_[static_cast<std::size_t>(head)].loop_depth = depth + (loop ? 1 : 0);
      if (!loop) continue;
      if (component.size() > 1) run(component, head, depth + 1);
      last_of[head] = order.back();
    }
  }
  std::vector<BlockId> order;
  std::map<BlockId, BlockId> last_of;

 private:
  bool has_edge(BlockId a, BlockId b) const {
    const auto& s = blocks_[static_cast<std::size_t>(a)].succs;
    return std::find(s.begin(), s.end(), b) != s.end();
  }
  // The block of a loop that is entered from outside; the lowest-numbered of several.
  BlockId header(const std::vector<BlockId>& component) const {
    if (component.size() == 1) return component[0];
    const std::set<BlockId> inside(component.begin(), component.end());
    BlockId best = -1;
    for (BlockId b : component) {
      const Block& block = blocks_[static_cast<std::size_t>(b)];
      bool entered = b == 0;
      for (BlockId p : block.preds) entered = entered || inside.count(p) == 0;
      if (entered && (best < 0 || b < best)) best = b;
    }
    return best >= 0 ? best : *std::min_element(component.begin(), component.end());
  }
  std::vector<Block>& blocks_;
};

void renumber(Function& f, const std::vector<BlockId>& order, const std::map<BlockId, BlockId>& last_of) {
  std::vector<BlockId> to(f.blocks.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) to[static_cast<std::size_t>(order[i])] = static_cast<BlockId>(i);
  std::vector<Block> blocks;
  blocks.reserve(order.size());
  for (BlockId b : order) {
    Block& block = f.blocks[static_cast<std::size_t>(b)];
    for (BlockId& s : block.succs) s = to[static_cast<std::size_t>(s)];
    auto it = last_of.find(b);
    block.loop_last = it == last_of.end() ? -1 : to[static_cast<std::size_t>(it->second)];
    blocks.push_back(std::move(block));
  }
  f.blocks = std::move(blocks);
  link_preds(f);
}

// The result of bar.red exists once all have arrived: it is read where execution goes on.
void move_result(const Function& f, Inst& barrier, Block& next) {
  Inst read;
  read.source = barrier.source;
  read.p.op = isa::Op::mov;
  read.p.line = barrier.p.line;
  read.p.types[0] = f.values[static_cast<std::size_t>(barrier.p.operands[0].reg)].type;
  read.p.type_count = 1;
  ptx::Operand result;
  result.kind = ptx::Operand::Kind::sreg;
  result.symbol = barrier.p.has(isa::Mod::popc)   ? kBarrierPopc
                  : barrier.p.has(isa::Mod::and_) ? kBarrierAnd
                                                  : kBarrierOr;
  read.p.operands = {barrier.p.operands[0], result};
  read.variable = {-1, -1};
  set_form(read.p);
  next.insts.insert(next.insts.begin(), std::move(read));
  barrier.p.operands.erase(barrier.p.operands.begin());
  barrier.variable.erase(barrier.variable.begin());
}

std::vector<BlockId> reachable(const Function& f) {
  std::vector<char> seen(f.blocks.size(), false);
  std::vector<BlockId> todo{0}, out;
  seen[0] = true;
  while (!todo.empty()) {
    const BlockId b = todo.back();
    todo.pop_back();
    out.push_back(b);
    for (BlockId s : f.blocks[static_cast<std::size_t>(b)].succs)
      if (!seen[static_cast<std::size_t>(s)]) {
        seen[static_cast<std::size_t>(s)] = true;
        todo.push_back(s);
      }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

bool waits_for_warp(const ptx::Instr& p) {
  using isa::Mod;
  using isa::Op;
  switch (p.op) {
    case Op::shfl:
    case Op::vote:
    case Op::match:
    case Op::redux: return p.has(Mod::sync);
    case Op::elect: return true;
    case Op::bar: return p.has(Mod::warp);
    default: return false;
  }
}

bool is_block_barrier(const ptx::Instr& p) {
  return (p.op == isa::Op::bar || p.op == isa::Op::barrier) && !p.has(isa::Mod::warp) && !p.has(isa::Mod::cluster) &&
         !p.has(isa::Mod::arrive);
}

bool waits_aligned(const ptx::Instr& p) { return p.op == isa::Op::bar || p.has(isa::Mod::aligned); }

void link_preds(Function& f) {
  for (Block& b : f.blocks) b.preds.clear();
  for (std::size_t i = 0; i < f.blocks.size(); ++i)
    for (BlockId s : f.blocks[i].succs) {
      auto& preds = f.blocks[static_cast<std::size_t>(s)].preds;
      if (std::find(preds.begin(), preds.end(), static_cast<BlockId>(i)) == preds.end())
        preds.push_back(static_cast<BlockId>(i));
    }
}

void make_blocks(Function& f, FlatCode code) {
  using isa::Op;
  const std::size_t n = code.insts.size();
  std::vector<char> leader(n + 1, false);
  leader[0] = true;
  const auto ends_block = [](const ptx::Instr& p) {
    return p.op == Op::bra || p.op == Op::brx || p.op == Op::exit || p.op == Op::ret || is_block_barrier(p);
  };
  for (std::size_t i = 0; i < n; ++i) {
    const FlatInst& flat = code.insts[i];
    for (std::int32_t t : flat.targets) leader[code.labels[static_cast<std::size_t>(t)]] = true;
    if (ends_block(flat.inst.p)) leader[i + 1] = true;
    if (waits_for_warp(flat.inst.p)) leader[i] = true;
  }
  std::vector<BlockId> block_at(n + 1, -1);
  BlockId count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (leader[i]) ++count;
    block_at[i] = count - 1;
  }
  f.blocks.assign(static_cast<std::size_t>(count), {});
  // One block for every guarded exit, reached by a branch.
  BlockId exit_block = -1;
  const auto guarded_exit = [&]() {
    if (exit_block < 0) {
      exit_block = static_cast<BlockId>(f.blocks.size());
      Block b;
      b.ends = true;
      Inst exit;
      exit.p.op = Op::exit;
      b.insts.push_back(std::move(exit));
      f.blocks.push_back(std::move(b));
    }
    return exit_block;
  };

  for (std::size_t i = 0; i < n; ++i) {
    const auto id = static_cast<std::size_t>(block_at[i]);
    FlatInst& flat = code.insts[i];
    const Op op = flat.inst.p.op;
    const bool guarded = flat.inst.p.guard >= 0;
    const BlockId next = i + 1 < n ? block_at[i + 1] : -1;
    if (f.blocks[id].insts.empty()) f.blocks[id].starts_with_sync = waits_for_warp(flat.inst.p);
    std::vector<BlockId> succs;
    if (op == Op::bra || op == Op::brx) {
      for (std::int32_t t : flat.targets) succs.push_back(block_at[code.labels[static_cast<std::size_t>(t)]]);
      if (guarded) succs.push_back(next);
      f.blocks[id].succs = std::move(succs);
    } else if (op == Op::exit || op == Op::ret) {
      if (guarded) {
        flat.inst.p.op = Op::bra;
        flat.inst.p.mods.reset();
        const BlockId target = guarded_exit();
        f.blocks[id].succs = {target, next};
      } else {
        f.blocks[id].ends = true;
      }
    } else if (is_block_barrier(flat.inst.p)) {
      f.blocks[id].ends_with_barrier = true;
      ++f.barriers;
      f.blocks[id].succs = {next};
      if (flat.inst.p.has(isa::Mod::red)) move_result(f, flat.inst, f.blocks[static_cast<std::size_t>(next)]);
    } else if (next >= 0 && leader[i + 1]) {
      f.blocks[id].succs = {next};
    }
    f.blocks[id].insts.push_back(std::move(flat.inst));
  }
  // A conditional branch to the next block is none.
  for (Block& b : f.blocks)
    if (b.succs.size() == 2 && b.succs[0] == b.succs[1]) {
      b.succs.pop_back();
      if (!b.insts.empty() && b.insts.back().p.op == Op::bra) b.insts.back().p.guard = -1;
    }

  link_preds(f);
  Orderer orderer(f.blocks);
  orderer.run(reachable(f), -1, 0);
  // The entry must come first and have no predecessors: resume points and masks rely on it.
  renumber(f, orderer.order, orderer.last_of);
  if (!f.blocks[0].preds.empty()) {
    Block entry;
    entry.succs = {1};
    for (Block& b : f.blocks) {
      for (BlockId& s : b.succs) ++s;
      if (b.loop_last >= 0) ++b.loop_last;
    }
    f.blocks.insert(f.blocks.begin(), std::move(entry));
    link_preds(f);
  }
}

BlockId split_block(Function& f, BlockId b, std::size_t index) {
  Block second;
  {
    Block& first = f.blocks[static_cast<std::size_t>(b)];
    second.insts.assign(std::make_move_iterator(first.insts.begin() + static_cast<std::ptrdiff_t>(index)),
                        std::make_move_iterator(first.insts.end()));
    first.insts.resize(index);
    second.succs = std::move(first.succs);
    second.ends_with_barrier = first.ends_with_barrier;
    second.ends = first.ends;
    second.loop_depth = first.loop_depth;
    first.ends_with_barrier = first.ends = false;
    first.succs = {b};  // shifted to b + 1 below
  }
  for (Block& block : f.blocks) {
    for (BlockId& s : block.succs)
      if (s > b) ++s;
    if (block.loop_last >= b) ++block.loop_last;
  }
  for (BlockId& s : second.succs)
    if (s > b) ++s;
  f.blocks[static_cast<std::size_t>(b)].succs = {b + 1};
  f.blocks.insert(f.blocks.begin() + b + 1, std::move(second));
  link_preds(f);
  return b + 1;
}

std::vector<char> reachable(const Function& f, BlockId start, std::initializer_list<BlockId> stops) {
  std::vector<char> in(f.blocks.size(), false);
  std::vector<BlockId> todo;
  const auto push = [&](BlockId b) {
    if (std::find(stops.begin(), stops.end(), b) != stops.end() || in[static_cast<std::size_t>(b)]) return;
    in[static_cast<std::size_t>(b)] = true;
    todo.push_back(b);
  };
  push(start);
  while (!todo.empty()) {
    const BlockId b = todo.back();
    todo.pop_back();
    for (BlockId s : f.blocks[static_cast<std::size_t>(b)].succs) push(s);
  }
  return in;
}

std::vector<BlockId> post_dominators(const Function& f) {
  const auto n = static_cast<BlockId>(f.blocks.size());
  // Order of the reversed graph: post-order from every end; loops without an exit hang off the end too.
  std::vector<std::vector<BlockId>> preds(static_cast<std::size_t>(n) + 1);
  std::vector<char> ends(static_cast<std::size_t>(n), false);
  for (BlockId b = 0; b < n; ++b) {
    ends[static_cast<std::size_t>(b)] = f.blocks[static_cast<std::size_t>(b)].succs.empty();
  }
  std::vector<std::int32_t> number(static_cast<std::size_t>(n) + 1, -1);
  std::vector<BlockId> order;
  const auto walk = [&](BlockId from) {
    struct Frame {
      BlockId b;
      std::size_t next;
    };
    std::vector<Frame> stack{{from, 0}};
    number[static_cast<std::size_t>(from)] = 0;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto& p = f.blocks[static_cast<std::size_t>(frame.b)].preds;
      if (frame.next < p.size()) {
        const BlockId x = p[frame.next++];
        if (number[static_cast<std::size_t>(x)] < 0) {
          number[static_cast<std::size_t>(x)] = 0;
          stack.push_back({x, 0});
        }
      } else {
        order.push_back(frame.b);
        stack.pop_back();
      }
    }
  };
  for (BlockId b = 0; b < n; ++b)
    if (ends[static_cast<std::size_t>(b)] && number[static_cast<std::size_t>(b)] < 0) walk(b);
  for (BlockId b = n - 1; b >= 0; --b)
    if (number[static_cast<std::size_t>(b)] < 0) {
      ends[static_cast<std::size_t>(b)] = true;
      walk(b);
    }
  order.push_back(n);
  std::reverse(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i)
    number[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);

  std::vector<BlockId> idom(static_cast<std::size_t>(n) + 1, -1);
  idom[static_cast<std::size_t>(n)] = n;
  const auto meet = [&](BlockId a, BlockId b) {
    while (a != b) {
      while (number[static_cast<std::size_t>(a)] > number[static_cast<std::size_t>(b)])
        a = idom[static_cast<std::size_t>(a)];
      while (number[static_cast<std::size_t>(b)] > number[static_cast<std::size_t>(a)])
        b = idom[static_cast<std::size_t>(b)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockId b : order) {
      if (b == n) continue;
      BlockId d = ends[static_cast<std::size_t>(b)] ? n : -1;
      for (BlockId s : f.blocks[static_cast<std::size_t>(b)].succs) {
        if (idom[static_cast<std::size_t>(s)] < 0) continue;
        d = d < 0 ? s : meet(d, s);
      }
      if (d != idom[static_cast<std::size_t>(b)]) {
        idom[static_cast<std::size_t>(b)] = d;
        changed = true;
      }
    }
  }
  return idom;
}

}  // namespace warploom::ir
