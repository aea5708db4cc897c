// Instructions that a function of the host does: operands of all lanes to memory, one call, results from memory.
#include "codegen/emitter.hpp"
#include "codegen/native.hpp"

namespace warploom::codegen {

using ir::Inst;
using isa::Type;

Result<void> Emitter::emit_native(const Inst& inst) {
  const NativeCall call = native_call(inst.p);
  if (call.function == nullptr) return {};
  using Kind = NativeOperand::Kind;
  llvm::Type* word = b_.getInt64Ty();
  const auto rows = static_cast<std::uint64_t>(std::max<std::size_t>(call.operands.size(), 1));
  llvm::AllocaInst* table = entry_alloca(llvm::ArrayType::get(wide(word), rows), "rows");
  with_guard(inst, [&](const Lanes& lanes) {
    const auto row = [&](std::size_t r) { return b_.CreateConstInBoundsGEP1_64(wide(word), table, r); };
    for (std::size_t r = 0; r < call.operands.size(); ++r) {
      const NativeOperand& o = call.operands[r];
      Value* v = nullptr;
      if (o.kind == Kind::result) continue;
      if (o.kind == Kind::address) {
        v = address_lanes(address(inst, o.index, o.space));
      } else if (o.kind == Kind::constant) {
        v = splat(b_.getInt64(o.value));
      } else {
        const bool whole = o.operand == &inst.p.operands[o.index];
        const std::int32_t variable = whole && o.index < inst.variable.size() ? inst.variable[o.index] : -1;
        v = to_bits(operand(inst, *o.operand, variable, o.type, true), o.type);
        v = b_.CreateZExt(v, wide(word));
      }
      b_.CreateStore(v, row(r));
    }
    Value* place = b_.getInt64(static_cast<std::uint64_t>(block_) << 32 | index_);
    stop_unless(
        call_host(call.function, b_.getInt32Ty(), {ctx_, table, mask_or_all(lanes), b_.getInt64(call.what), place}));
    for (std::size_t r = 0; r < call.operands.size(); ++r) {
      const NativeOperand& o = call.operands[r];
      if (o.kind != Kind::result || o.operand->kind != ptx::Operand::Kind::reg) continue;
      Value* v = b_.CreateLoad(wide(word), row(r));
      v = b_.CreateTrunc(v, wide(o.type == Type::pred ? b_.getInt1Ty() : b_.getIntNTy(isa::bits(o.type))));
      write(inst, o.operand->reg, o.type == Type::pred ? v : from_bits(v, o.type), o.type);
    }
  });
  return {};
}

}  // namespace warploom::codegen
