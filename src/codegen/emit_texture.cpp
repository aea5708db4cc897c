// Textures and surfaces: operands become words in memory, and a native function does the access for the whole warp.
#include "codegen/emitter.hpp"
#include "codegen/texture_op.hpp"

namespace warploom::codegen {

using ir::Inst;
using isa::Type;
using ptx::Operand;

Result<void> Emitter::emit_texture(const Inst& inst) {
  const TextureCall call = texture_call(inst.p);
  if (call.reason != nullptr) return unsupported(inst, call.reason);
  with_guard(inst, [&](const Lanes& lanes) {
    llvm::Type *i32 = b_.getInt32Ty(), *i64 = b_.getInt64Ty();
    llvm::Type* row = wide(i32);
    const auto place = [&](Value* rows, unsigned k) {
      return b_.CreateConstInBoundsGEP2_64(llvm::ArrayType::get(row, isa::ref::kTextureWords), rows, 0, k);
    };
    llvm::AllocaInst* in = entry_alloca(llvm::ArrayType::get(row, isa::ref::kTextureWords), "operands");
    for (const TextureCall::Word& w : call.words) {
      const bool literal = w.operand->kind == Operand::Kind::imm_f32 || w.operand->kind == Operand::Kind::imm_f64;
      const Type type = literal && w.type == Type::b32 ? Type::f32 : w.type;
      Value* x = to_bits(operand(inst, *w.operand, -1, type, true), type);
      if (isa::bits(type) == 64) {
        b_.CreateStore(b_.CreateTrunc(x, row), place(in, w.place));
        b_.CreateStore(b_.CreateTrunc(b_.CreateLShr(x, splat(b_.getInt64(32))), row), place(in, w.place + 1));
      } else {
        b_.CreateStore(b_.CreateZExt(x, row), place(in, w.place));
      }
    }
    Operand object;
    object.reg = inst.p.operands[call.object].reg;
    Value* handles = spill(operand(inst, object, -1, Type::b64, true), "objects");
    llvm::Type* results = llvm::ArrayType::get(row, isa::ref::kTextureResults);
    llvm::AllocaInst* out = entry_alloca(results, "texels");
    Value* counters = llvm::ConstantPointerNull::get(b_.getPtrTy());
    if (plan_.counting && inst.site >= 0) {
      const CounterLayout layout{plan_.f().blocks.size(), plan_.sites.size()};
      counters = b_.CreateConstInBoundsGEP1_64(i64, block_field(offsetof(WarpContext, counters), b_.getPtrTy()),
                                               layout.site(static_cast<std::size_t>(inst.site)));
    }
    stop_unless(call_host(
        "warploom_texture", i32,
        {ctx_, b_.getInt64(call.op.word()), handles, in, out, mask_or_all(lanes),
         b_.getInt32(static_cast<std::uint32_t>(block_)), b_.getInt32(static_cast<std::uint32_t>(index_)), counters}));
    const unsigned bits = call.results.empty() ? 0 : isa::bits(call.result_type);
    for (std::size_t e = 0; e < call.results.size(); ++e) {
      if (call.results[e]->kind != Operand::Kind::reg) continue;
      const auto load = [&](std::size_t k) {
        return b_.CreateLoad(row, b_.CreateConstInBoundsGEP2_64(results, out, 0, static_cast<unsigned>(k)));
      };
      Value* x = nullptr;
      if (bits == 64) {
        llvm::Type* wide64 = wide(i64);
        x = b_.CreateOr(b_.CreateZExt(load(2 * e), wide64),
                        b_.CreateShl(b_.CreateZExt(load(2 * e + 1), wide64), splat(b_.getInt64(32))));
      } else {
        x = load(e);
        if (bits < 32) x = b_.CreateTrunc(x, wide(b_.getIntNTy(bits)));
      }
      write(inst, call.results[e]->reg, from_bits(x, call.result_type), call.result_type);
    }
  });
  return {};
}

}  // namespace warploom::codegen
