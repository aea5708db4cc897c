// Writes the error record and ends the thread.
#include "frontend/python/raise.hpp"

#include "frontend/python/compilation.hpp"

namespace warploom::frontend::python {

void emit_raise(llvm::IRBuilder<>& b, Compilation& c, std::uint32_t code, std::int32_t line) {
  llvm::GlobalVariable* record = c.error_record();
  // The first thread to raise owns the record.
  llvm::Value* old = b.CreateExtractValue(
      b.CreateAtomicCmpXchg(record, b.getInt32(0), b.getInt32(code), llvm::MaybeAlign(4),
                            llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic, c.device_scope),
      0);
  llvm::BasicBlock* mine = llvm::BasicBlock::Create(c.context, "raise", b.GetInsertBlock()->getParent());
  llvm::BasicBlock* done = llvm::BasicBlock::Create(c.context, "raised", b.GetInsertBlock()->getParent());
  b.CreateCondBr(b.CreateICmpEQ(old, b.getInt32(0)), mine, done);
  b.SetInsertPoint(mine);
  static constexpr llvm::Intrinsic::ID where[] = {
      llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x,   llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y,
      llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z,   llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
      llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  for (unsigned i = 0; i < 6; ++i)
    b.CreateAlignedStore(b.CreateIntrinsic(where[i], {}),
                         b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), record, 4 + 4 * i), llvm::MaybeAlign(4));
  b.CreateAlignedStore(b.getInt32(static_cast<std::uint32_t>(line)),
                       b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), record, 28), llvm::MaybeAlign(4));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateIntrinsic(llvm::Intrinsic::nvvm_exit, {});
  b.CreateUnreachable();
}

}  // namespace warploom::frontend::python
