// Atomic operations: one lane after the other, in lane order; shared memory needs no lock, a block has one host thread.
#include "codegen/emitter.hpp"
#include "ir/webs.hpp"

namespace warploom::codegen {

using ir::Inst;
using isa::Mod;
using isa::Op;
using isa::Space;
using isa::Type;
using Bin = llvm::AtomicRMWInst::BinOp;

namespace {

std::optional<Bin> integer_operation(const ptx::Instr& p) {
  const bool is_signed = isa::is_signed(p.type());
  if (p.has(Mod::add)) return Bin::Add;
  if (p.has(Mod::min)) return is_signed ? Bin::Min : Bin::UMin;
  if (p.has(Mod::max)) return is_signed ? Bin::Max : Bin::UMax;
  if (p.has(Mod::and_)) return Bin::And;
  if (p.has(Mod::or_)) return Bin::Or;
  if (p.has(Mod::xor_)) return Bin::Xor;
  if (p.has(Mod::exch)) return Bin::Xchg;
  if (p.has(Mod::inc)) return Bin::UIncWrap;
  if (p.has(Mod::dec)) return Bin::UDecWrap;
  return std::nullopt;
}

// The combination of all lanes first, for results that do not depend on the order.
std::optional<llvm::Intrinsic::ID> reduction(Bin op) {
  switch (op) {
    case Bin::Add: return llvm::Intrinsic::vector_reduce_add;
    case Bin::Min: return llvm::Intrinsic::vector_reduce_smin;
    case Bin::Max: return llvm::Intrinsic::vector_reduce_smax;
    case Bin::UMin: return llvm::Intrinsic::vector_reduce_umin;
    case Bin::UMax: return llvm::Intrinsic::vector_reduce_umax;
    case Bin::And: return llvm::Intrinsic::vector_reduce_and;
    case Bin::Or: return llvm::Intrinsic::vector_reduce_or;
    case Bin::Xor: return llvm::Intrinsic::vector_reduce_xor;
    default: return std::nullopt;
  }
}

std::uint64_t identity(Bin op, unsigned bits) {
  const std::uint64_t ones = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
  switch (op) {
    case Bin::Min: return ones >> 1;
    case Bin::Max: return 1ULL << (bits - 1);
    case Bin::UMin:
    case Bin::And: return ones;
    default: return 0;
  }
}

}  // namespace

Result<void> Emitter::emit_atomic(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  const bool returns = p.op == Op::atom;
  const std::size_t at = returns ? 1 : 0;
  const Type type = p.type();
  const unsigned bits = isa::bits(type);
  if (ptx::vector_width(p) > 1) return unsupported(inst, "vector atomics are not supported yet");
  if (bits > 64) return unsupported(inst, "128-bit atomics are not supported yet");
  const bool is_cas = p.has(Mod::cas);
  const bool packed = type == Type::f16x2 || type == Type::bf16x2;
  const bool is_floating = isa::is_float(type) || packed;
  const ptx::Operand* d = returns ? &p.operands[0] : nullptr;
  const bool used = d != nullptr && d->kind == ptx::Operand::Kind::reg && plan_.f().is_read(d->reg);
  std::optional<Bin> op = integer_operation(p);
  if (!is_cas && !op) return unsupported(inst, "");
  if (is_floating && op) {
    if (*op == Bin::Add)
      op = Bin::FAdd;
    else if (*op != Bin::Xchg)
      return unsupported(inst, "this floating-point operation is not supported yet");
  }
  llvm::Type* integer = b_.getIntNTy(bits);
  llvm::Type* element_type = is_floating && !packed && op != Bin::Xchg ? lane_type(context_, type) : integer;

  with_guard(inst, [&](const Lanes& lanes) {
    const Space space = ptx::space_of(p);
    Address a = address(inst, at, space);
    probe_access(inst, a, lanes);
    const bool is_shared = a.space == Space::shared;
    // One operation on the memory cell.
    const auto operate = [&](Value* where, Value* x, Value* swap) -> Value* {
      const llvm::Align align(bits / 8);
      if (is_cas) {
        if (is_shared) {
          Value* old = b_.CreateAlignedLoad(integer, where, align);
          b_.CreateAlignedStore(b_.CreateSelect(b_.CreateICmpEQ(old, x), swap, old), where, align);
          return old;
        }
        Value* pair = b_.CreateAtomicCmpXchg(where, x, swap, align, llvm::AtomicOrdering::SequentiallyConsistent,
                                             llvm::AtomicOrdering::SequentiallyConsistent);
        return b_.CreateExtractValue(pair, 0);
      }
      if (packed) {
        // Two halves added side by side, each rounded by itself.
        llvm::Type* half = type == Type::f16x2 ? b_.getHalfTy() : b_.getBFloatTy();
        llvm::Type* two = llvm::FixedVectorType::get(half, 2);
        llvm::BasicBlock* before = b_.GetInsertBlock();
        llvm::BasicBlock* retry = new_block("retry");
        llvm::BasicBlock* out = new_block("added");
        Value* first = b_.CreateAlignedLoad(integer, where, align);
        before = b_.GetInsertBlock();
        b_.CreateBr(retry);
        b_.SetInsertPoint(retry);
        llvm::PHINode* old = b_.CreatePHI(integer, 2);
        old->addIncoming(first, before);
        Value* sum = b_.CreateBitCast(b_.CreateFAdd(b_.CreateBitCast(old, two), b_.CreateBitCast(x, two)), integer);
        Value* pair = b_.CreateAtomicCmpXchg(where, old, sum, align, llvm::AtomicOrdering::SequentiallyConsistent,
                                             llvm::AtomicOrdering::SequentiallyConsistent);
        old->addIncoming(b_.CreateExtractValue(pair, 0), b_.GetInsertBlock());
        b_.CreateCondBr(b_.CreateExtractValue(pair, 1), out, retry);
        b_.SetInsertPoint(out);
        return old;
      }
      if (is_shared) {
        Value* old = b_.CreateAlignedLoad(element_type, where, align);
        Value* result = nullptr;
        switch (*op) {
          case Bin::Add: result = b_.CreateAdd(old, x); break;
          case Bin::FAdd: result = b_.CreateFAdd(old, x); break;
          case Bin::Min: result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, old, x); break;
          case Bin::Max: result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, old, x); break;
          case Bin::UMin: result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, old, x); break;
          case Bin::UMax: result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, old, x); break;
          case Bin::And: result = b_.CreateAnd(old, x); break;
          case Bin::Or: result = b_.CreateOr(old, x); break;
          case Bin::Xor: result = b_.CreateXor(old, x); break;
          case Bin::Xchg: result = x; break;
          case Bin::UIncWrap:
            result = b_.CreateSelect(b_.CreateICmpUGE(old, x), llvm::ConstantInt::get(integer, 0),
                                     b_.CreateAdd(old, llvm::ConstantInt::get(integer, 1)));
            break;
          default:
            result = b_.CreateSelect(
                b_.CreateOr(b_.CreateICmpEQ(old, llvm::ConstantInt::get(integer, 0)), b_.CreateICmpUGT(old, x)), x,
                b_.CreateSub(old, llvm::ConstantInt::get(integer, 1)));
        }
        b_.CreateAlignedStore(result, where, align);
        return old;
      }
      return b_.CreateAtomicRMW(*op, where, x, align, llvm::AtomicOrdering::SequentiallyConsistent);
    };

    const Type read_as = element_type == integer ? (bits == 16 ? Type::b16 : bits == 32 ? Type::b32 : Type::b64) : type;
    Value* x = operand(inst, at + 1, read_as, true);
    Value* swap = is_cas ? operand(inst, at + 2, read_as, true) : nullptr;

    if (!used && a.shape.uniform() && op && reduction(*op)) {
      Value* neutral = splat(llvm::ConstantInt::get(integer, identity(*op, bits)));
      if (lanes.mask != nullptr) x = b_.CreateSelect(lanes.bits, x, neutral);
      Value* all = b_.CreateIntrinsic(*reduction(*op), {x->getType()}, {x});
      operate(pointer(a.base), all, nullptr);
      return;
    }
    Value* where = a.shape.uniform() ? nullptr : spill(address_lanes(a), "addresses");
    Value* xs = spill(x, "operand");
    Value* swaps = swap == nullptr ? nullptr : spill(swap, "swap");
    llvm::AllocaInst* olds = used ? entry_alloca(wide(element_type), "old") : nullptr;
    lane_loop(mask_or_all(lanes), [&](Value* lane) {
      Value* at_lane =
          where == nullptr ? a.base : b_.CreateLoad(b_.getInt64Ty(), element(where, b_.getInt64Ty(), lane));
      Value* value = b_.CreateLoad(element_type, element(xs, element_type, lane));
      Value* other = swaps == nullptr ? nullptr : b_.CreateLoad(element_type, element(swaps, element_type, lane));
      Value* old = operate(pointer(at_lane), value, other);
      if (olds != nullptr) b_.CreateStore(old, element(olds, element_type, lane));
    });
    if (used) write(inst, d->reg, b_.CreateLoad(wide(element_type), olds), read_as);
  });
  return {};
}

}  // namespace warploom::codegen
