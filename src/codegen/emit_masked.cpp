// The masked version: blocks run in order, each for the lanes that are pending there. Loops are contiguous, so the end
// of a loop is the one place that goes backwards, and lanes that part meet again at the first block that both reach.
#include <cstddef>

#include "codegen/emitter.hpp"
#include "ir/cfg.hpp"
#include "ir/webs.hpp"

namespace warploom::codegen {

using ir::BlockId;
using ir::Inst;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

// After so many changes of version inside loops a warp stays masked until it leaves the loop.
constexpr std::uint32_t kMaxTransitions = 64;

}  // namespace

void Emitter::enter_masked_block(BlockId b) {
  const ir::Block& block = plan_.f().blocks[idx(b)];
  llvm::BasicBlock* body = new_block("m" + llvm::Twine(b));
  llvm::BasicBlock* skip = new_block("skip" + llvm::Twine(b));
  b_.SetInsertPoint(blocks_[idx(b)]);
  Value* mask = pending(b);
  if (block.starts_with_sync) {
    // Lanes that came earlier wait here for the rest of their member mask.
    Value* parked_at = lane_array(offsetof(WarpContext, sync_pending), b);
    Value* parked = b_.CreateLoad(b_.getInt32Ty(), parked_at);
    llvm::BasicBlock* come = new_block("arrive" + llvm::Twine(b));
    b_.CreateCondBr(b_.CreateICmpNE(mask, b_.getInt32(0)), come, skip);
    b_.SetInsertPoint(come);
    Value* all = b_.CreateOr(mask, parked);
    set_pending(b, b_.getInt32(0));
    const Inst& inst = block.insts.front();
    const std::size_t k = inst.p.operands.size() - 1;
    Value* need = nullptr;
    if (operand_is_uniform(inst.p.operands[k])) {
      need = operand(inst, k, isa::Type::b32, false);
    } else {
      // Each lane names its own group: wait for the union of those that stand here.
      Value* named = operand(inst, k, isa::Type::b32, true);
      named = b_.CreateSelect(to_lane_bits(all), named, llvm::Constant::getNullValue(named->getType()));
      need = b_.CreateIntrinsic(llvm::Intrinsic::vector_reduce_or, {named->getType()}, {named});
    }
    need = b_.CreateAnd(need, field(offsetof(WarpContext, live), b_.getInt32Ty()));
    Value* met = b_.CreateICmpEQ(b_.CreateAnd(need, b_.CreateNot(all)), b_.getInt32(0));
    met = b_.CreateOr(met, b_.CreateICmpNE(field(offsetof(WarpContext, force_sync), b_.getInt32Ty()), b_.getInt32(0)));
    llvm::BasicBlock* park = new_block("park" + llvm::Twine(b));
    llvm::BasicBlock* go = new_block("go" + llvm::Twine(b));
    b_.CreateCondBr(met, go, park);
    b_.SetInsertPoint(park);
    if (mode_ == Mode::conservative) {
      b_.CreateStore(all, parked_at);
      b_.CreateBr(skip);
    } else {
      // What is common to all lanes that run is not common to them and those that wait.
      set_pending(b, mask);
      flush_pending();
      save(everything());
      leave(Exit::to_conservative);
    }
    b_.SetInsertPoint(go);
    b_.CreateStore(b_.getInt32(0), parked_at);
    set_field(offsetof(WarpContext, force_sync), b_.getInt32(0));
    mask = all;
    b_.CreateBr(body);
  } else {
    b_.CreateCondBr(b_.CreateICmpNE(mask, b_.getInt32(0)), body, skip);
  }
  b_.SetInsertPoint(skip);
  after_masked_block(b);
  // A run of blocks ends at its last one; skipping the first skips all.
  b_.SetInsertPoint(body);
  if (!block.starts_with_sync) set_pending(b, b_.getInt32(0));
  if (mode_ == Mode::masked && plan_.returns_to_uniform[idx(b)]) {
    Value* full = b_.CreateICmpEQ(mask, b_.getInt32(0xFFFFFFFF));
    if (block.loop_depth > 0) {
      Value* few =
          b_.CreateICmpULT(field(offsetof(WarpContext, transitions), b_.getInt32Ty()), b_.getInt32(kMaxTransitions));
      full = b_.CreateAnd(full, few);
    }
    llvm::BasicBlock* together = new_block("together" + llvm::Twine(b));
    llvm::BasicBlock* stay = new_block("stay" + llvm::Twine(b));
    b_.CreateCondBr(full, together, stay);
    b_.SetInsertPoint(together);
    flush_pending();
    save(live_at(b));
    set_field(offsetof(WarpContext, entry), b_.getInt32(static_cast<std::uint32_t>(b)));
    leave(Exit::to_uniform);
    b_.SetInsertPoint(stay);
  }
  mask_ = mask;
  mask_bits_ = to_lane_bits(mask);
}

// Where control goes when block b has run or was skipped: back to a loop that still has lanes, or on.
void Emitter::after_masked_block(BlockId b) {
  const ir::Function& f = plan_.f();
  // A skipped block skips the blocks that go on from it.
  BlockId last = b;
  while (continues(last + 1)) ++last;
  for (BlockId h = last; h >= 0; --h) {
    if (f.blocks[idx(h)].loop_last != last || f.blocks[idx(h)].spin_loop) continue;
    llvm::BasicBlock* on = new_block("loop_end");
    b_.CreateCondBr(b_.CreateICmpNE(pending(h), b_.getInt32(0)), blocks_[idx(h)], on);
    b_.SetInsertPoint(on);
  }
  b_.CreateBr(idx(last) + 1 < f.blocks.size() ? blocks_[idx(last) + 1] : dispatch_);
}

// Active lanes that a branch takes, and those that fall through.
std::pair<llvm::Value*, llvm::Value*> Emitter::split_lanes(const Inst& inst) {
  const bool uniform = guard_is_uniform(inst);
  Value* taken = uniform ? b_.CreateSelect(guard_scalar(inst), mask_, b_.getInt32(0))
                         : b_.CreateAnd(to_mask(guard_bits(inst)), mask_);
  Value* fall = b_.CreateAnd(mask_, b_.CreateNot(taken));
  if (plan_.counting && !uniform) count_divergence(inst, taken, fall);
  return {taken, fall};
}

void Emitter::end_masked_block(BlockId b) {
  const ir::Block& block = plan_.f().blocks[idx(b)];
  if (continues(b + 1)) {
    b_.CreateBr(blocks_[idx(b) + 1]);
    return;
  }
  if (block.ends) {
    set_field(offsetof(WarpContext, live),
              b_.CreateAnd(field(offsetof(WarpContext, live), b_.getInt32Ty()), b_.CreateNot(mask_)));
  } else if (block.ends_with_barrier) {
    emit_barrier(b, block.insts.back());
  } else {
    const ptx::Instr* t = terminator(b);
    if (block.succs.size() == 1 || t == nullptr) {
      add_pending(block.succs[0], mask_);
    } else if (t->op == isa::Op::bra) {
      const auto [taken, fall] = split_lanes(block.insts.back());
      add_pending(block.succs[0], taken);
      add_pending(block.succs[1], fall);
    } else {
      const Inst& inst = block.insts.back();
      Value* index = operand(inst, 0, isa::Type::u32, true);
      Value* rest = mask_;
      const std::size_t targets = block.succs.size() - (t->guard >= 0 ? 1 : 0);
      if (t->guard >= 0) {
        Value* g = to_mask(guard_is_uniform(inst) ? splat(guard_scalar(inst)) : guard_bits(inst));
        add_pending(block.succs.back(), b_.CreateAnd(rest, b_.CreateNot(g)));
        rest = b_.CreateAnd(rest, g);
      }
      for (std::size_t k = 0; k < targets; ++k) {
        if (k + 1 == targets) {
          add_pending(block.succs[k], rest);
          break;
        }
        Value* here = to_mask(b_.CreateICmpEQ(index, splat(b_.getInt32(static_cast<std::uint32_t>(k)))));
        here = b_.CreateAnd(here, rest);
        add_pending(block.succs[k], here);
        rest = b_.CreateAnd(rest, b_.CreateNot(here));
      }
    }
  }
  after_masked_block(b);
  mask_ = mask_bits_ = nullptr;
}

// All blocks have had their turn: the runtime decides whether to go round again or to return.
void Emitter::emit_dispatch() {
  b_.SetInsertPoint(dispatch_);
  b_.SetCurrentDebugLocation(llvm::DILocation::get(context_, 0, 0, debug_scope_));
  if (!pending_.empty()) {
    // The common end: nobody is left, here or anywhere.
    Value* left = field(offsetof(WarpContext, live), b_.getInt32Ty());
    for (llvm::AllocaInst* p : pending_) left = b_.CreateOr(left, b_.CreateLoad(b_.getInt32Ty(), p));
    llvm::BasicBlock* finished = new_block("finished");
    llvm::BasicBlock* decide = new_block("decide");
    b_.CreateCondBr(b_.CreateICmpEQ(left, b_.getInt32(0)), finished, decide);
    b_.SetInsertPoint(finished);
    flush_pending();
    leave(Exit::done);
    b_.SetInsertPoint(decide);
  }
  flush_pending();
  const bool spins = plan_.spins;
  Value* code =
      call_host("warploom_dispatch", b_.getInt32Ty(),
                {ctx_, b_.getInt32(static_cast<std::uint32_t>(plan_.f().blocks.size())), b_.getInt32(spins ? 1 : 0)});
  llvm::BasicBlock* again = new_block("again");
  llvm::BasicBlock* out = new_block("return");
  b_.CreateCondBr(b_.CreateICmpSLT(code, b_.getInt32(0)), again, out);
  b_.SetInsertPoint(again);
  fetch_pending();
  b_.CreateBr(blocks_[0]);
  b_.SetInsertPoint(out);
  LiveSet live;
  if (spins) {
    live = everything();
  } else {
    live.assign(plan_.f().live_in[0].size(), 0);
    for (const ir::Block& block : plan_.f().blocks) {
      if (!block.ends_with_barrier) continue;
      const LiveSet more = live_at(block.succs[0]);
      for (std::size_t w = 0; w < live.size(); ++w) live[w] |= more[w];
    }
  }
  save(live);
  set_field(offsetof(WarpContext, entry), b_.getInt32(static_cast<std::uint32_t>(kEntryResume)));
  b_.CreateRet(code);
}

}  // namespace warploom::codegen
