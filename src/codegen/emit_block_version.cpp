// The block version: all warps of a block in one function, a loop over them for each region between two barriers.
//
// What is the same in all warps stays in registers. The rest of what lives across a barrier goes to the warp's save
// area. A warp that has to leave (its lanes part, a pattern wraps, or it is not full) runs to the next barrier through
// warploom_run_part; where that ends other than whole at a barrier, all warps go on one by one.
#include <cstddef>

#include "codegen/emitter.hpp"

namespace warploom::codegen {

using ir::BlockId;
using ir::ValueId;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }
bool has(const std::vector<std::uint64_t>& set, std::size_t v) { return ((set[v / 64] >> (v % 64)) & 1U) != 0; }

}  // namespace

llvm::Value* Emitter::block_slot(ValueId v, std::size_t area) {
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), block_field(area, b_.getPtrTy()),
                                       plan_.block_slots[idx(v)].offset);
}

void Emitter::store_block_value(ValueId v, std::size_t area) {
  Value* value = load_base(v);
  if (plan_.storage[idx(v)] == isa::Type::pred) value = b_.CreateZExt(value, b_.getInt32Ty());
  b_.CreateAlignedStore(value, block_slot(v, area), llvm::Align(8));
}

void Emitter::fetch_block_value(ValueId v, std::size_t area) {
  const bool is_pred = plan_.storage[idx(v)] == isa::Type::pred;
  Value* value = b_.CreateAlignedLoad(is_pred ? b_.getInt32Ty() : storage_type(v), block_slot(v, area), llvm::Align(8));
  b_.CreateStore(is_pred ? b_.CreateTrunc(value, b_.getInt1Ty()) : value, slot(v));
}

// Values common to the block that region `r` may change and that live on at `next`.
std::vector<ValueId> Emitter::changed_block_values(const Region& r, BlockId next) const {
  std::vector<ValueId> out;
  const LiveSet live = live_at(next);
  for (std::size_t v = 0; v < plan_.f().values.size(); ++v)
    if (plan_.block_uniform[v] && has(live, v) && has(r.defs, v)) out.push_back(static_cast<ValueId>(v));
  return out;
}

Emitter::LiveSet Emitter::warp_values(BlockId at, const LiveSet* among) const {
  LiveSet live = live_at(at);
  for (std::size_t v = 0; v < plan_.f().values.size(); ++v)
    if (plan_.block_uniform[v] || (among != nullptr && !has(*among, v)))
      live[v / 64] &= ~(std::uint64_t{1} << (v % 64));
  return live;
}

void Emitter::end_warp(BlockId next) {
  if (next != kPartDone) save(warp_values(next, &plan_.regions[region_].defs));
  set_field(offsetof(WarpContext, entry),
            b_.getInt32(static_cast<std::uint32_t>(next == kPartDone ? kEntryDone : next)));
  b_.CreateBr(region_exit_.at(next));
}

void Emitter::part_warp(Exit reason) {
  part_->addIncoming(b_.getInt32(static_cast<std::uint32_t>(reason)), b_.GetInsertBlock());
  b_.CreateBr(part_->getParent());
}

Result<void> Emitter::run_block_version() {
  b_.SetInsertPoint(entry_);
  warps_ = llvm::cast<llvm::Instruction>(field(offsetof(WarpContext, warps), b_.getInt32Ty(), true));
  std::vector<llvm::BasicBlock*> starts;
  for (const Region& r : plan_.regions) starts.push_back(new_block("region" + llvm::Twine(r.entry)));
  for (std::size_t r = 0; r < plan_.regions.size(); ++r) WL_TRY(emit_region(r, starts));
  b_.SetInsertPoint(entry_);
  b_.SetCurrentDebugLocation(llvm::DILocation::get(context_, 0, 0, debug_scope_));
  warps_->moveBefore(*entry_, entry_->end());
  b_.CreateBr(starts[0]);
  return {};
}

Result<void> Emitter::emit_region(std::size_t number, const std::vector<llvm::BasicBlock*>& starts) {
  const ir::Function& f = plan_.f();
  const Region& r = plan_.regions[number];
  region_ = number;
  const auto no_place = [&] { b_.SetCurrentDebugLocation(llvm::DILocation::get(context_, 0, 0, debug_scope_)); };
  const LiveSet live = live_at(r.entry);
  blocks_.assign(f.blocks.size(), nullptr);
  for (std::size_t b = 0; b < f.blocks.size(); ++b)
    if (r.blocks[b]) blocks_[b] = new_block("b" + llvm::Twine(b));
  llvm::BasicBlock* loop = new_block("warp");
  llvm::BasicBlock* whole = new_block("whole");
  llvm::BasicBlock* part = new_block("part");
  llvm::BasicBlock* latch = new_block("next_warp");
  region_exit_.clear();
  bool ends = false;
  for (std::size_t b = 0; b < f.blocks.size(); ++b) ends = ends || (r.blocks[b] && f.blocks[b].ends);
  for (BlockId e : r.exits) region_exit_[e] = new_block("exit" + llvm::Twine(e));
  if (ends) region_exit_[kPartDone] = new_block("exit_done");

  // Each warp begins with the values that the block had at the start of the region.
  b_.SetInsertPoint(starts[number]);
  no_place();
  b_.CreateStore(b_.getInt32(static_cast<std::uint32_t>(r.entry)),
                 block_field_address(offsetof(WarpContext, region_entry)));
  std::vector<std::pair<ValueId, llvm::AllocaInst*>> at_start;
  for (std::size_t v = 0; v < f.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (!plan_.block_uniform[v] || !has(live, v) || !has(r.defs, v)) continue;
    llvm::AllocaInst* copy = entry_alloca(storage_type(id), "start");
    b_.CreateStore(number == 0 ? llvm::Constant::getNullValue(storage_type(id)) : load_base(id), copy);
    at_start.emplace_back(id, copy);
  }
  b_.CreateBr(loop);

  b_.SetInsertPoint(loop);
  llvm::PHINode* w = b_.CreatePHI(b_.getInt32Ty(), 2, "w");
  llvm::PHINode* agreed = b_.CreatePHI(b_.getInt32Ty(), 2, "agreed");
  warp_ = w;
  w->addIncoming(b_.getInt32(0), starts[number]);
  agreed->addIncoming(b_.getInt32(0), starts[number]);
  ctx_ = b_.CreateInBoundsGEP(llvm::ArrayType::get(b_.getInt8Ty(), sizeof(WarpContext)), first_,
                              b_.CreateZExt(w, b_.getInt64Ty()));
  b_.CreateStore(w, block_field_address(offsetof(WarpContext, running)), true);
  Value* parted = b_.CreateICmpNE(field(offsetof(WarpContext, parted), b_.getInt32Ty()), b_.getInt32(0));
  llvm::MDBuilder md(context_);
  b_.CreateCondBr(parted, part, whole, md.createBranchWeights(1, 1 << 10));
  b_.SetInsertPoint(part);
  part_ = b_.CreatePHI(b_.getInt32Ty(), 4, "reason");
  part_->addIncoming(b_.getInt32(0), loop);

  b_.SetInsertPoint(whole);
  if (plan_.takes_turns()) {
    turn_ = entry_alloca(b_.getInt32Ty(), "turn");
    b_.CreateStore(b_.getInt32(0), turn_);
  }
  for (const auto& [v, copy] : at_start) b_.CreateStore(b_.CreateLoad(storage_type(v), copy), slot(v));
  if (number == 0) {
    // A register that is read before it is written holds zero.
    for (std::size_t v = 0; v < f.values.size(); ++v)
      if (has(live, v) && !plan_.block_uniform[v]) {
        const auto id = static_cast<ValueId>(v);
        llvm::Type* type = shape(id).varying() ? wide(storage_type(id)) : storage_type(id);
        b_.CreateStore(llvm::Constant::getNullValue(type), slot(id));
      }
  } else {
    restore(warp_values(r.entry, nullptr));
  }
  b_.CreateBr(blocks_[idx(r.entry)]);
  for (std::size_t b = 0; b < f.blocks.size(); ++b)
    if (r.blocks[b]) WL_TRY(emit_block(static_cast<BlockId>(b)));
  no_place();

  // Exits: what the warp leaves behind for the next region.
  std::vector<std::pair<BlockId, llvm::BasicBlock*>> ways;
  for (auto& [next, at] : region_exit_) {
    b_.SetInsertPoint(at);
    if (next != kPartDone)
      for (ValueId v : changed_block_values(r, next)) store_block_value(v, offsetof(WarpContext, block_out));
    b_.CreateBr(latch);
    ways.emplace_back(next, at);
  }

  // Warps that go on by themselves.
  b_.SetInsertPoint(part);
  Value* code = call_host("warploom_run_part", b_.getInt32Ty(), {ctx_, part_});
  llvm::BasicBlock* out = new_block("split");
  llvm::SwitchInst* table = b_.CreateSwitch(code, out);
  for (const auto& [next, exit] : region_exit_) {
    llvm::BasicBlock* at = new_block("parted" + llvm::Twine(next));
    table->addCase(llvm::cast<llvm::ConstantInt>(b_.getInt32(static_cast<std::uint32_t>(next))), at);
    b_.SetInsertPoint(at);
    if (next != kPartDone)
      for (ValueId v : changed_block_values(r, next)) fetch_block_value(v, offsetof(WarpContext, block_out));
    b_.CreateBr(latch);
    ways.emplace_back(next, at);
  }
  b_.SetInsertPoint(out);
  b_.CreateRet(b_.CreateSelect(b_.CreateICmpEQ(code, b_.getInt32(static_cast<std::uint32_t>(kPartError))),
                               b_.getInt32(static_cast<std::uint32_t>(Exit::error)),
                               b_.getInt32(static_cast<std::uint32_t>(Exit::split))));

  // All warps must come to the same place.
  b_.SetInsertPoint(latch);
  llvm::PHINode* where = b_.CreatePHI(b_.getInt32Ty(), static_cast<unsigned>(ways.size()), "where");
  for (const auto& [next, at] : ways) where->addIncoming(b_.getInt32(static_cast<std::uint32_t>(next)), at);
  Value* same = where;
  if (region_exit_.size() > 1) {
    same = b_.CreateSelect(b_.CreateOr(b_.CreateICmpEQ(w, b_.getInt32(0)), b_.CreateICmpEQ(agreed, where)), where,
                           b_.getInt32(static_cast<std::uint32_t>(kPartSplit)));
  }
  Value* next_w = b_.CreateAdd(w, b_.getInt32(1));
  w->addIncoming(next_w, latch);
  agreed->addIncoming(same, latch);
  llvm::BasicBlock* after = new_block("after" + llvm::Twine(r.entry));
  b_.CreateCondBr(b_.CreateICmpULT(next_w, warps_), loop, after);

  b_.SetInsertPoint(after);
  if (region_exit_.size() > 1) {
    llvm::BasicBlock* apart = new_block("apart");
    llvm::SwitchInst* decide = b_.CreateSwitch(same, apart);
    b_.SetInsertPoint(apart);
    b_.CreateStore(warps_, block_field_address(offsetof(WarpContext, running)), true);
    b_.CreateRet(b_.getInt32(static_cast<std::uint32_t>(Exit::split)));
    for (auto& [next, exit] : region_exit_) {
      llvm::BasicBlock* at = new_block("to" + llvm::Twine(next));
      decide->addCase(llvm::cast<llvm::ConstantInt>(b_.getInt32(static_cast<std::uint32_t>(next))), at);
      b_.SetInsertPoint(at);
      go_to_region(r, next, starts);
    }
  } else {
    go_to_region(r, region_exit_.begin()->first, starts);
  }
  return {};
}

void Emitter::go_to_region(const Region& from, BlockId next, const std::vector<llvm::BasicBlock*>& starts) {
  if (next == kPartDone) {
    b_.CreateRet(b_.getInt32(static_cast<std::uint32_t>(Exit::done)));
    return;
  }
  for (ValueId v : changed_block_values(from, next)) store_block_value(v, offsetof(WarpContext, block_in));
  for (std::size_t k = 0; k < plan_.regions.size(); ++k)
    if (plan_.regions[k].entry == next) b_.CreateBr(starts[k]);
}

}  // namespace warploom::codegen
