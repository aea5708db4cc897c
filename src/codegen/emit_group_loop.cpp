// Loops without effects, in the versions for full warps: run for one group of lanes after the other where the values
// of all 32 do not fit into registers.
#include <cstddef>

#include "codegen/emitter.hpp"

namespace warploom::codegen {

using ir::BlockId;
using ir::Shape;
using ir::ValueId;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

// Lanes of a group in the loop at `header`, 32 where it runs for all together.
unsigned Emitter::group_lanes(BlockId header) const {
  const passes::GroupLoop& loop = plan_.group_loops[idx(header)];
  if (masked() || loop.exit < 0) return 32;
  const unsigned one_vector = std::max(traits_.vector_bytes / loop.widest, 4U);
  const unsigned registers = traits_.vector_bytes >= 64 ? 32 : 16;
  unsigned lanes = 32;
  while (lanes > one_vector && loop.live_bytes * lanes > registers * traits_.vector_bytes) lanes /= 2;
  return lanes;
}

// Keeps what waits in the save area from being carried in registers.
void Emitter::forget(Value* area) {
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
  b_.CreateCall(type, llvm::InlineAsm::get(type, "", "r,~{memory}", true), {area});
}

Result<void> Emitter::emit_group_loop(BlockId header) {
  const ir::Function& f = plan_.f();
  const passes::GroupLoop& loop = plan_.group_loops[idx(header)];
  const BlockId last = f.blocks[idx(header)].loop_last;
  const unsigned lanes = group_lanes(header);
  grouped_ = header;
  b_.SetInsertPoint(blocks_[idx(header)]);

  // Scalars begin anew for each group. The lanes' own values wait in the save area.
  std::vector<std::pair<ValueId, Value*>> scalars;
  std::vector<ValueId> starts, results;
  LiveSet before(f.live_in[0].size(), 0), after = before;
  for (std::size_t v = 0; v < f.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (!loop.touched[v]) continue;
    const std::uint64_t bit = std::uint64_t{1} << (v % 64);
    const bool own = shapes_.of[v].varying(), at_start = f.is_live_in(header, id);
    if (!own && at_start && loop.defs[v]) scalars.emplace_back(id, load_base(id));
    if (own && at_start) {
      starts.push_back(id);
      before[v / 64] |= bit;
    }
    if (own && loop.defs[v] && f.is_live_in(loop.exit, id)) {
      results.push_back(id);
      after[v / 64] |= bit;
    }
  }
  save(before);
  const std::vector<llvm::AllocaInst*> whole_values = values_;
  const std::vector<llvm::BasicBlock*> whole_blocks = blocks_;
  Value* area = field(offsetof(WarpContext, slots), b_.getPtrTy(), true);
  const auto part_of = [&](ValueId v) {
    return b_.CreateConstInBoundsGEP1_64(
        b_.getInt8Ty(), area, plan_.slots[idx(v)].offset + std::uint64_t{lane0_} * isa::bytes(plan_.storage[idx(v)]));
  };
  lanes_ = lanes;
  for (lane0_ = 0; lane0_ < 32; lane0_ += lanes) {
    for (std::size_t v = 0; v < f.values.size(); ++v)
      if (loop.touched[v] && shapes_.of[v].varying()) values_[v] = nullptr;
    for (BlockId x = header; x <= last; ++x) blocks_[idx(x)] = new_block("g" + llvm::Twine(x));
    llvm::BasicBlock* done = new_block("group_done");
    for (BlockId to : loop.leaves_to) blocks_[idx(to)] = done;
    forget(area);
    for (const auto& [v, start] : scalars) b_.CreateStore(start, slot(v));
    for (ValueId v : starts)
      b_.CreateStore(b_.CreateAlignedLoad(wide(storage_type(v)), part_of(v), llvm::Align(4)), slot(v));
    b_.CreateBr(blocks_[idx(header)]);
    for (BlockId x = header; x <= last; ++x) WL_TRY(emit_block(x));
    b_.SetInsertPoint(done);
    for (ValueId v : results) b_.CreateAlignedStore(load_wide(v), part_of(v), llvm::Align(4));
  }
  forget(area);
  lanes_ = 32;
  lane0_ = 0;
  for (std::size_t v = 0; v < f.values.size(); ++v)
    if (loop.touched[v] && shapes_.of[v].varying()) values_[v] = whole_values[v];
  blocks_ = whole_blocks;
  for (BlockId x = header + 1; x <= last; ++x) {
    blocks_[idx(x)]->eraseFromParent();
    blocks_[idx(x)] = nullptr;
  }
  restore(after);
  go_to(last, loop.exit);
  return {};
}

// What is the same in all lanes of a group is one address.
Emitter::Address Emitter::of_group(Address a) {
  if (lanes_ == 32 || !a.shape.linear() || a.wide != nullptr) return a;
  for (const ir::Term& t : a.shape.terms)
    for (unsigned l = lane0_ + 1; l < lane0_ + lanes_; ++l)
      if (t.pattern[l] != t.pattern[lane0_]) return a;
  a.base = b_.CreateAdd(a.base, b_.CreateExtractElement(pattern(a.shape, b_.getInt64Ty()), std::uint64_t{0}));
  a.shape = Shape{Shape::Kind::uniform, {}, 1, 0};
  return a;
}

}  // namespace warploom::codegen
