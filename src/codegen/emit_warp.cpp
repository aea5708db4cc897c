// Instructions across the lanes of a warp: shuffles, votes, match, reductions (PTX ISA section 9.7.13).
#include "codegen/emitter.hpp"
#include "ir/webs.hpp"

namespace warploom::codegen {

using ir::Inst;
using isa::Mod;
using isa::Op;
using isa::Type;

namespace {

std::vector<int> identity_lanes() {
  std::vector<int> out;
  for (int l = 0; l < 32; ++l) out.push_back(l);
  return out;
}

}  // namespace

void Emitter::emit_shuffle(const Inst& inst, const Lanes&) {
  const ptx::Instr& p = inst.p;
  const ptx::Operand& d = p.operands[0];
  const ptx::Operand &by = p.operands[2], &clamp = p.operands[3];
  Value* a = operand(inst, 1, Type::b32, true);
  llvm::Type* v32 = wide(b_.getInt32Ty());

  if (by.kind == ptx::Operand::Kind::imm && clamp.kind == ptx::Operand::Kind::imm) {
    // Known lanes: one shuffle.
    const auto b = static_cast<unsigned>(by.imm & 31), c = static_cast<unsigned>(clamp.imm & 31);
    const auto segment = static_cast<unsigned>((clamp.imm >> 8) & 31);
    std::vector<int> from = identity_lanes();
    std::vector<llvm::Constant*> inside;
    for (unsigned l = 0; l < 32; ++l) {
      const unsigned max = (l & segment) | (c & ~segment & 31), min = l & segment;
      int j = 0;
      bool ok = false;
      if (p.has(Mod::up)) {
        j = static_cast<int>(l) - static_cast<int>(b);
        ok = j >= static_cast<int>(max);
      } else if (p.has(Mod::down)) {
        j = static_cast<int>(l + b);
        ok = j <= static_cast<int>(max);
      } else if (p.has(Mod::bfly)) {
        j = static_cast<int>(l ^ b);
        ok = j <= static_cast<int>(max);
      } else {
        j = static_cast<int>(min | (b & ~segment & 31));
        ok = j <= static_cast<int>(max);
      }
      from[l] = ok ? j : static_cast<int>(l);
      inside.push_back(b_.getInt1(ok));
    }
    if (d.kind == ptx::Operand::Kind::reg) {
      if (!shape(d.reg).varying())
        write(inst, d.reg, operand(inst, 1, Type::b32, false), Type::b32);
      else
        write(inst, d.reg, b_.CreateShuffleVector(a, from), Type::b32);
    }
    if (d.pair >= 0) write(inst, d.pair, llvm::ConstantVector::get(inside), Type::pred);
    return;
  }

  std::vector<std::uint32_t> ids(32);
  for (std::uint32_t l = 0; l < 32; ++l) ids[l] = l;
  Value* lane = llvm::ConstantDataVector::get(context_, ids);
  const auto splat_int = [&](std::uint32_t x) { return splat(b_.getInt32(x)); };
  Value* b = b_.CreateAnd(operand(inst, 2, Type::b32, true), splat_int(31));
  Value* c = operand(inst, 3, Type::b32, true);
  Value* segment = b_.CreateAnd(b_.CreateLShr(c, splat_int(8)), splat_int(31));
  Value* free = b_.CreateXor(segment, splat_int(31));
  Value* max = b_.CreateOr(b_.CreateAnd(lane, segment), b_.CreateAnd(b_.CreateAnd(c, splat_int(31)), free));
  Value* min = b_.CreateAnd(lane, segment);
  Value *j = nullptr, *ok = nullptr;
  if (p.has(Mod::up)) {
    j = b_.CreateSub(lane, b);
    ok = b_.CreateICmpSGE(j, max);
  } else {
    j = p.has(Mod::down)   ? b_.CreateAdd(lane, b)
        : p.has(Mod::bfly) ? b_.CreateXor(lane, b)
                           : b_.CreateOr(min, b_.CreateAnd(b, free));
    ok = b_.CreateICmpSLE(j, max);
  }
  j = b_.CreateAnd(b_.CreateSelect(ok, j, lane), splat_int(31));
  if (d.kind == ptx::Operand::Kind::reg) {
    if (!shape(d.reg).varying()) {
      write(inst, d.reg, operand(inst, 1, Type::b32, false), Type::b32);
    } else if (operand_is_uniform(by) && operand_is_uniform(clamp) && p.has(Mod::idx) &&
               clamp.kind == ptx::Operand::Kind::imm && (clamp.imm & 0x1f1f) == 31) {
      // A broadcast from one lane.
      Value* from = b_.CreateAnd(operand(inst, 2, Type::b32, false), b_.getInt32(31));
      write(inst, d.reg, b_.CreateExtractElement(a, from), Type::b32);
    } else {
      Value* table = spill(a, "shuffled");
      Value* picks = spill(j, "picks");
      llvm::AllocaInst* out = entry_alloca(v32, "shuffle");
      for (std::uint64_t l = 0; l < 32; ++l) {
        Value* pick = b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt32Ty(), picks, l));
        Value* x = b_.CreateLoad(b_.getInt32Ty(), element(table, b_.getInt32Ty(), pick));
        b_.CreateStore(x, b_.CreateConstInBoundsGEP1_64(b_.getInt32Ty(), out, l));
      }
      write(inst, d.reg, b_.CreateLoad(v32, out), Type::b32);
    }
  }
  if (d.pair >= 0) write(inst, d.pair, ok, Type::pred);
}

void Emitter::emit_vote(const Inst& inst, const Lanes& lanes) {
  const ptx::Instr& p = inst.p;
  const ptx::Operand& d = p.operands[0];
  const bool synced = p.has(Mod::sync);
  Value* active = mask_or_all(lanes);
  Value* yes = to_mask(operand(inst, 1, Type::pred, true));
  const std::size_t last = p.operands.size() - 1;
  const bool one_group = !synced || operand_is_uniform(p.operands[last]);
  // Votes of the lanes that take part: one number for the warp, or one for each lane's own group.
  const auto decide = [&](Value* members, Value* votes) -> Value* {
    Value* count = b_.CreateAnd(votes, members);
    if (p.has(Mod::ballot)) return count;
    Value* zero = llvm::Constant::getNullValue(count->getType());
    if (p.has(Mod::any)) return b_.CreateICmpNE(count, zero);
    Value* all = b_.CreateICmpEQ(count, members);
    if (p.has(Mod::all)) return all;
    return b_.CreateOr(all, b_.CreateICmpEQ(count, zero));
  };
  Value* result = nullptr;
  if (one_group) {
    Value* members = synced ? b_.CreateAnd(active, operand(inst, last, Type::b32, false)) : active;
    result = decide(members, yes);
  } else {
    result = decide(b_.CreateAnd(splat(active), operand(inst, last, Type::b32, true)), splat(yes));
  }
  write(inst, d.reg, result, p.has(Mod::ballot) ? Type::b32 : Type::pred);
}

Result<void> Emitter::emit_warp(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  if (isa::row(p.op).emit == "matrix") return emit_matrix(inst);
  if (p.op == Op::bar) return {};  // lanes have met at the start of the block, memory is in order
  std::optional<Diag> failed;
  with_guard(inst, [&](const Lanes& lanes) {
    switch (p.op) {
      case Op::shfl: emit_shuffle(inst, lanes); return;
      case Op::vote: emit_vote(inst, lanes); return;
      case Op::activemask: write(inst, p.operands[0].reg, mask_or_all(lanes), Type::b32); return;
      case Op::elect: {
        Value* members = b_.CreateAnd(mask_or_all(lanes), operand(inst, 1, Type::b32, false));
        Value* leader = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {members, b_.getInt1(false)});
        Value* bit = b_.CreateAnd(members, b_.CreateNeg(members));
        if (p.operands[0].kind == ptx::Operand::Kind::reg) write(inst, p.operands[0].reg, leader, Type::b32);
        if (p.operands[0].pair >= 0) write(inst, p.operands[0].pair, to_lane_bits(bit), Type::pred);
        return;
      }
      case Op::match:
      case Op::redux: {
        // Rare and irregular: a native function over 32 values.
        const Type type = p.type();
        Value* a = operand(inst, 1, type, true);
        if (a->getType()->getScalarType()->isFloatingPointTy()) a = to_bits(a, type);
        Value* in = spill(b_.CreateZExt(a, wide(b_.getInt64Ty())), "values");
        const std::size_t last = p.operands.size() - 1;
        Value* members = spill(operand(inst, last, Type::b32, true), "members");
        llvm::AllocaInst* out = entry_alloca(wide(b_.getInt32Ty()), "results");
        if (p.op == Op::match) {
          llvm::AllocaInst* all = entry_alloca(b_.getInt32Ty(), "agree");
          call_host("warploom_match", b_.getVoidTy(),
                    {in, members, mask_or_all(lanes), b_.getInt32(p.has(Mod::all) ? 1 : 0), out, all});
          if (p.operands[0].kind == ptx::Operand::Kind::reg)
            write(inst, p.operands[0].reg, b_.CreateLoad(wide(b_.getInt32Ty()), out), Type::b32);
          if (p.operands[0].pair >= 0)
            write(inst, p.operands[0].pair, to_lane_bits(b_.CreateLoad(b_.getInt32Ty(), all)), Type::pred);
          return;
        }
        const std::uint32_t kind = ptx::redux_kind(p);
        call_host("warploom_redux", b_.getVoidTy(),
                  {in, members, mask_or_all(lanes), b_.getInt32(kind & 0xff), b_.getInt32(kind >> 8), out});
        Value* r = b_.CreateLoad(wide(b_.getInt32Ty()), out);
        const ir::ValueId d = p.operands[0].reg;
        if (!shape(d).varying()) {
          Value* lane =
              b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {mask_or_all(lanes), b_.getInt1(true)});
          r = b_.CreateExtractElement(r, lane);
        }
        write(inst, d, r, Type::b32);
        return;
      }
      default: failed = unsupported(inst, "");
    }
  });
  if (failed) return std::move(*failed);
  return {};
}

}  // namespace warploom::codegen
