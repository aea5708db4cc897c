// Counting of full-warp accesses whose lane distances depend on a factor known only at run time, as a row pitch: what
// such an access costs depends on the factors and the base modulo 32, so each worker remembers the last factors and a
// count for each remainder.
#include "codegen/emitter.hpp"
#include "ir/webs.hpp"

namespace warploom::codegen {

using isa::Space;

bool Emitter::probe_remembered(std::size_t site, const Address& a, const Lanes& lanes, std::uint32_t bytes,
                               observe::AccessKind kind) {
  const bool shared = a.space == Space::shared;
  // Wide shared accesses have an ideal of their own, and narrow ones a place inside a bank.
  if (!a.shape.linear() || (shared ? bytes != 4 : a.space != Space::global)) return false;
  std::vector<Value*> factors;
  for (const ir::Term& t : a.shape.terms) {
    if (t.mult < 0) continue;
    Value* factor = load_base(t.mult);
    if (factor->getType()->isFloatingPointTy())
      factor = to_bits(factor, plan_.storage[static_cast<std::size_t>(t.mult)]);
    factors.push_back(t.widen == 2 ? b_.CreateZExtOrTrunc(factor, b_.getInt64Ty())
                                   : b_.CreateSExtOrTrunc(factor, b_.getInt64Ty()));
  }
  if (factors.size() > kMemoFactors) return false;
  factors.resize(kMemoFactors, b_.getInt64(0));
  Value* mask = mask_or_all(lanes);
  factors.push_back(b_.CreateZExt(mask, b_.getInt64Ty()));

  const CounterLayout layout{plan_.f().blocks.size(), plan_.sites.size()};
  Value* counters = block_field(offsetof(WarpContext, counters), b_.getPtrTy());
  Value* memo = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), counters, layout.memo(site));
  Value* same = b_.getTrue();
  for (std::size_t i = 0; i < kMemoKeys; ++i) {
    Value* key = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), memo, i));
    same = b_.CreateAnd(same, b_.CreateICmpEQ(key, factors[i]));
  }
  Value* phase = shared ? b_.getInt64(0) : b_.CreateAnd(a.base, b_.getInt64(31));
  Value* table = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), memo, kMemoKeys);
  Value* entry = b_.CreateLoad(b_.getInt16Ty(), b_.CreateInBoundsGEP(b_.getInt16Ty(), table, phase));
  Value* known = b_.CreateAnd(same, b_.CreateICmpNE(entry, b_.getInt16(0)));
  Value* remembered = b_.CreateZExt(entry, b_.getInt64Ty());
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* miss = new_block("count");
  llvm::BasicBlock* done = new_block("counted");
  b_.CreateCondBr(known, done, miss);
  b_.SetInsertPoint(miss);
  Value* at = spill(address_lanes(a), "counted");
  const std::uint32_t what = static_cast<std::uint32_t>(a.space) | static_cast<std::uint32_t>(kind) << 8;
  Value* fresh = call_host("warploom_count_memo", b_.getInt64Ty(),
                           {at, b_.getInt32(bytes), b_.getInt32(what), memo, factors[0], factors[1], mask, phase});
  llvm::BasicBlock* counted = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  llvm::PHINode* cost = b_.CreatePHI(b_.getInt64Ty(), 2);
  cost->addIncoming(remembered, before);
  cost->addIncoming(fresh, counted);
  const std::size_t amount = layout.site(site) + (shared ? 3 : 1);
  add_counter(amount, b_.CreateAnd(cost, b_.getInt64(0xFF)));
  add_counter(amount + 1, b_.CreateLShr(cost, 8));
  if (lanes.mask == nullptr) {
    StaticCount& fixed = static_counts_[site];
    fixed.requests = 1;
    fixed.lanes = 32;
    return true;
  }
  add_counter(layout.site(site), b_.CreateZExt(b_.CreateICmpNE(mask, b_.getInt32(0)), b_.getInt64Ty()));
  Value* active = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask);
  add_counter(layout.site(site) + 5, b_.CreateZExt(active, b_.getInt64Ty()));
  return true;
}

}  // namespace warploom::codegen
