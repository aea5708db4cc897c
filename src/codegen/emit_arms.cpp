// Short arms of a divergent branch, in the versions for full warps: run under masks in place, one block after the
// other, so that the warp need not leave for the masked version.
#include "codegen/emitter.hpp"

namespace warploom::codegen {

using ir::BlockId;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

// Lanes of `taken` go to the branch's first successor, the others to the second.
Result<void> Emitter::emit_arms(BlockId b, Value* taken) {
  const ir::Function& f = plan_.f();
  const std::vector<BlockId>& arms = plan_.arms[idx(b)].blocks;
  const BlockId join = plan_.arms[idx(b)].join;
  const BlockId outer_block = block_;
  const std::size_t outer_index = index_;
  for (BlockId x : arms) {
    llvm::AllocaInst* lanes = entry_alloca(b_.getInt32Ty(), "arm");
    b_.CreateStore(b_.getInt32(0), lanes);
    arm_lanes_[x] = lanes;
  }
  const auto send = [&](BlockId to, Value* mask) {
    if (to == join) return;
    llvm::AllocaInst* lanes = arm_lanes_.at(to);
    b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), lanes), mask), lanes);
  };
  send(f.blocks[idx(b)].succs[0], taken);
  send(f.blocks[idx(b)].succs[1], b_.CreateNot(taken));
  for (std::size_t k = 0; k < arms.size(); ++k) {
    const BlockId x = arms[k];
    const ir::Block& block = f.blocks[idx(x)];
    Value* mask = b_.CreateLoad(b_.getInt32Ty(), arm_lanes_.at(x));
    llvm::BasicBlock* run = new_block("arm" + llvm::Twine(x));
    llvm::BasicBlock* next = new_block("past" + llvm::Twine(x));
    // The first arm has lanes; the others may not.
    if (k == 0)
      b_.CreateBr(run);
    else
      b_.CreateCondBr(b_.CreateICmpNE(mask, b_.getInt32(0)), run, next);
    b_.SetInsertPoint(run);
    b_.CreateStore(b_.getInt32(0), arm_lanes_.at(x));
    block_ = x;
    mask_ = mask;
    mask_bits_ = to_lane_bits(mask);
    arms_ = &plan_.arms[idx(b)];
    WL_TRY(emit_body(x));
    if (block.succs.size() == 1) {
      send(block.succs[0], mask);
    } else {
      const auto [here, rest] = split_lanes(block.insts.back());
      send(block.succs[0], here);
      send(block.succs[1], rest);
    }
    mask_ = mask_bits_ = nullptr;
    arms_ = nullptr;
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  }
  block_ = outer_block;
  index_ = outer_index;
  b_.CreateBr(blocks_[idx(join)]);
  return {};
}

// The warp leaves in the middle of an arm: notes where its other lanes stand.
void Emitter::leave_arms(BlockId b) {
  Value* elsewhere = mask_;
  for (BlockId x : arms_->blocks) {
    if (x <= b) continue;
    Value* lanes = b_.CreateLoad(b_.getInt32Ty(), arm_lanes_.at(x));
    elsewhere = b_.CreateOr(elsewhere, lanes);
    add_pending(x, lanes);
  }
  add_pending(arms_->join, b_.CreateNot(elsewhere));
}

}  // namespace warploom::codegen
