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

bool is_floating(Type t) { return isa::is_float(t) || t == Type::f16x2 || t == Type::bf16x2; }

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

// What a floating-point atomic leaves in memory, from the bits that were there and the operand's bits. Sums of f32 in
// global memory see subnormal numbers as zeros; those in shared memory do not (PTX ISA section 9.7.13.5).
llvm::Value* Emitter::combine_floats(const ptx::Instr& p, Value* where, Value* old, Value* x, bool is_shared) {
  const Type type = p.type();
  const auto apply = [&](Value* a, Value* b) -> Value* {
    if (p.has(Mod::add)) return b_.CreateFAdd(a, b);
    const auto id = p.has(Mod::min) ? llvm::Intrinsic::minimumnum : llvm::Intrinsic::maximumnum;
    return b_.CreateIntrinsic(id, {a->getType()}, {a, b});
  };
  if (type == Type::f64) return to_bits(apply(from_bits(old, type), from_bits(x, type)), type);
  if (type == Type::f32) {
    Value* flush = is_shared ? nullptr : b_.getTrue();
    if (!is_shared && ptx::space_of(p) != Space::global) {
      Value* start = b_.CreatePtrToInt(block_field(offsetof(WarpContext, shared), b_.getPtrTy()), b_.getInt64Ty());
      Value* size = b_.CreateZExt(block_field(offsetof(WarpContext, shared_bytes), b_.getInt32Ty()), b_.getInt64Ty());
      flush = b_.CreateICmpUGE(b_.CreateSub(b_.CreatePtrToInt(where, b_.getInt64Ty()), start), size);
    }
    const auto flushed = [&](Value* bits) -> Value* {
      if (flush == nullptr) return bits;
      Value* tiny = b_.CreateICmpEQ(b_.CreateAnd(bits, 0x7f800000), b_.getInt32(0));
      return b_.CreateSelect(b_.CreateAnd(flush, tiny), b_.CreateAnd(bits, 0x80000000), bits);
    };
    Value* r = apply(from_bits(flushed(old), type), from_bits(flushed(x), type));
    return b_.CreateSelect(b_.CreateFCmpUNO(r, r), b_.getInt32(0x7fffffff), flushed(to_bits(r, type)));
  }
  const bool is_half = type == Type::f16 || type == Type::f16x2;
  const auto widened = [&](Value* piece) -> Value* {
    if (is_half) return b_.CreateFPExt(b_.CreateBitCast(piece, b_.getHalfTy()), b_.getFloatTy());
    return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(piece, b_.getInt32Ty()), 16), b_.getFloatTy());
  };
  // Sums of two halves are exact enough in f32 that rounding once more is rounding once.
  const auto rounded = [&](Value* f) -> Value* {
    Value* no_number = b_.CreateFCmpUNO(f, f);
    if (is_half) {
      Value* half = b_.CreateBitCast(b_.CreateFPTrunc(f, b_.getHalfTy()), b_.getInt16Ty());
      return b_.CreateSelect(no_number, b_.getInt16(0x7FFF), half);
    }
    Value* bits = b_.CreateBitCast(f, b_.getInt32Ty());
    Value* tie = b_.CreateAnd(b_.CreateLShr(bits, 16), b_.getInt32(1));
    Value* r =
        b_.CreateTrunc(b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(bits, b_.getInt32(0x7FFF)), tie), 16), b_.getInt16Ty());
    return b_.CreateSelect(no_number, b_.getInt16(0x7FFF), r);
  };
  if (isa::bits(type) == 16) return rounded(apply(widened(old), widened(x)));
  const auto half_of = [&](Value* v, unsigned h) { return b_.CreateTrunc(b_.CreateLShr(v, 16 * h), b_.getInt16Ty()); };
  Value* low = b_.CreateZExt(rounded(apply(widened(half_of(old, 0)), widened(half_of(x, 0)))), b_.getInt32Ty());
  Value* high = b_.CreateZExt(rounded(apply(widened(half_of(old, 1)), widened(half_of(x, 1)))), b_.getInt32Ty());
  return b_.CreateOr(low, b_.CreateShl(high, 16));
}

// One atomic on one cell. Gives the bits that were there.
llvm::Value* Emitter::operate_on_cell(const ptx::Instr& p, Value* where, Value* x, Value* swap, bool is_shared) {
  const unsigned bits = isa::bits(p.type());
  llvm::Type* integer = b_.getIntNTy(bits);
  const llvm::Align align(bits / 8);
  constexpr auto kOrder = llvm::AtomicOrdering::SequentiallyConsistent;
  if (p.has(Mod::cas)) {
    if (!is_shared) return b_.CreateExtractValue(b_.CreateAtomicCmpXchg(where, x, swap, align, kOrder, kOrder), 0);
    Value* old = b_.CreateAlignedLoad(integer, where, align);
    b_.CreateAlignedStore(b_.CreateSelect(b_.CreateICmpEQ(old, x), swap, old), where, align);
    return old;
  }
  const Bin op = *integer_operation(p);
  const bool floats = is_floating(p.type()) && op != Bin::Xchg;
  if (is_shared) {
    Value* old = b_.CreateAlignedLoad(integer, where, align);
    Value* result = x;
    llvm::Constant *zero = llvm::ConstantInt::get(integer, 0), *one = llvm::ConstantInt::get(integer, 1);
    if (floats) {
      result = combine_floats(p, where, old, x, true);
    } else {
      switch (op) {
        case Bin::Add: result = b_.CreateAdd(old, x); break;
        case Bin::Min: result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, old, x); break;
        case Bin::Max: result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, old, x); break;
        case Bin::UMin: result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, old, x); break;
        case Bin::UMax: result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, old, x); break;
        case Bin::And: result = b_.CreateAnd(old, x); break;
        case Bin::Or: result = b_.CreateOr(old, x); break;
        case Bin::Xor: result = b_.CreateXor(old, x); break;
        case Bin::Xchg: break;
        case Bin::UIncWrap: result = b_.CreateSelect(b_.CreateICmpUGE(old, x), zero, b_.CreateAdd(old, one)); break;
        default:
          result = b_.CreateSelect(b_.CreateOr(b_.CreateICmpEQ(old, zero), b_.CreateICmpUGT(old, x)), x,
                                   b_.CreateSub(old, one));
      }
    }
    b_.CreateAlignedStore(result, where, align);
    return old;
  }
  if (!floats) return b_.CreateAtomicRMW(op, where, x, align, kOrder);
  llvm::BasicBlock* retry = new_block("retry");
  llvm::BasicBlock* out = new_block("stored");
  Value* first = b_.CreateAlignedLoad(integer, where, align);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.CreateBr(retry);
  b_.SetInsertPoint(retry);
  llvm::PHINode* old = b_.CreatePHI(integer, 2);
  old->addIncoming(first, before);
  Value* pair = b_.CreateAtomicCmpXchg(where, old, combine_floats(p, where, old, x, false), align, kOrder, kOrder);
  old->addIncoming(b_.CreateExtractValue(pair, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(pair, 1), out, retry);
  b_.SetInsertPoint(out);
  return old;
}

// The lanes' floats into one cell, one after the other as always, but with one exchange for all: nobody sees the sums
// in between, as if nobody had looked.
void Emitter::add_floats_in_order(const ptx::Instr& p, Value* where, Value* xs, Value* mask, bool is_shared) {
  const unsigned bits = isa::bits(p.type());
  llvm::Type* integer = b_.getIntNTy(bits);
  const llvm::Align align(bits / 8);
  llvm::AllocaInst* sum = entry_alloca(integer, "sum");
  const auto add_all = [&](Value* start) {
    b_.CreateStore(start, sum);
    lane_loop(mask, [&](Value* lane) {
      Value* x = b_.CreateLoad(integer, element(xs, integer, lane));
      b_.CreateStore(combine_floats(p, where, b_.CreateLoad(integer, sum), x, is_shared), sum);
    });
    return b_.CreateLoad(integer, sum);
  };
  Value* first = b_.CreateAlignedLoad(integer, where, align);
  if (is_shared) {
    b_.CreateAlignedStore(add_all(first), where, align);
    return;
  }
  llvm::BasicBlock* retry = new_block("retry");
  llvm::BasicBlock* out = new_block("stored");
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.CreateBr(retry);
  b_.SetInsertPoint(retry);
  llvm::PHINode* old = b_.CreatePHI(integer, 2);
  old->addIncoming(first, before);
  constexpr auto kOrder = llvm::AtomicOrdering::SequentiallyConsistent;
  Value* pair = b_.CreateAtomicCmpXchg(where, old, add_all(old), align, kOrder, kOrder);
  old->addIncoming(b_.CreateExtractValue(pair, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(pair, 1), out, retry);
  b_.SetInsertPoint(out);
}

Result<void> Emitter::emit_atomic(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  const bool returns = p.op == Op::atom;
  const std::size_t at = returns ? 1 : 0;
  const unsigned bits = isa::bits(p.type());
  const bool is_cas = p.has(Mod::cas);
  const std::optional<Bin> op = integer_operation(p);
  if (!is_cas && !op) return unsupported(inst, "");
  const Type as_bits = bits == 16 ? Type::b16 : bits == 32 ? Type::b32 : bits == 64 ? Type::b64 : Type::b128;
  llvm::Type* integer = b_.getIntNTy(bits);

  // Of a vector each element is an atomic of its own (PTX ISA section 9.7.13.5).
  with_guard(inst, [&](const Lanes& lanes) {
    const Address all = address(inst, at, ptx::space_of(p));
    probe_access(inst, all, lanes);
    const bool is_shared = all.space == Space::shared;
    const auto sources = ptx::elements_of(p.operands[at + 1]);
    for (std::size_t e = 0; e < sources.size(); ++e) {
      const ptx::Operand* d = returns ? ptx::elements_of(p.operands[0])[e] : nullptr;
      const bool used = d != nullptr && d->kind == ptx::Operand::Kind::reg && plan_.f().is_read(d->reg);
      const Address a = offset_by(all, static_cast<std::int64_t>(e) * (bits / 8), *this);
      Value* x = operand(inst, *sources[e], -1, as_bits, true);
      Value* swap = is_cas ? operand(inst, at + 2, as_bits, true) : nullptr;
      if (!used && a.shape.uniform() && op && !is_floating(p.type()) && reduction(*op)) {
        Value* neutral = splat(llvm::ConstantInt::get(integer, identity(*op, bits)));
        if (lanes.mask != nullptr) x = b_.CreateSelect(lanes.bits, x, neutral);
        Value* together = b_.CreateIntrinsic(*reduction(*op), {x->getType()}, {x});
        operate_on_cell(p, pointer(a.base), together, nullptr, is_shared);
        continue;
      }
      if (!used && a.shape.uniform() && !is_cas && is_floating(p.type()) && *op != Bin::Xchg) {
        add_floats_in_order(p, pointer(a.base), spill(x, "operand"), mask_or_all(lanes), is_shared);
        continue;
      }
      if (is_shared && lanes.mask == nullptr && bits <= 64) {
        // No lock and no mask: one lane after the other without a loop. Addresses come from memory: taken out of a
        // vector they are known so late that loads pass stores to the same cell, and the pipeline starts anew.
        const auto spilled = [&](Value* v, const ptx::Operand& o) {
          return operand_is_uniform(o) ? nullptr : spill(v, "lanes");
        };
        Value* cells = a.shape.uniform() ? nullptr : spill(address_lanes(a), "cells");
        Value* xs = spilled(x, *sources[e]);
        Value* swaps = swap == nullptr ? nullptr : spilled(swap, p.operands[at + 2]);
        Value* old_lanes = used ? llvm::PoisonValue::get(wide(integer)) : nullptr;
        for (std::uint64_t l = 0; l < 32; ++l) {
          const auto lane_of = [&](Value* memory, Value* vector, llvm::Type* type) -> Value* {
            if (memory == nullptr) return b_.CreateExtractElement(vector, l);
            return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(type, memory, l), true);
          };
          Value* cell = cells == nullptr ? a.base : lane_of(cells, nullptr, b_.getInt64Ty());
          Value* old = operate_on_cell(p, pointer(cell), lane_of(xs, x, integer),
                                       swap == nullptr ? nullptr : lane_of(swaps, swap, integer), true);
          if (used) old_lanes = b_.CreateInsertElement(old_lanes, old, l);
        }
        if (used) write(inst, d->reg, old_lanes, as_bits);
        continue;
      }
      Value* where = a.shape.uniform() ? nullptr : spill(address_lanes(a), "addresses");
      Value* xs = spill(x, "operand");
      Value* swaps = swap == nullptr ? nullptr : spill(swap, "swap");
      llvm::AllocaInst* olds = used ? entry_alloca(wide(integer), "old") : nullptr;
      lane_loop(mask_or_all(lanes), [&](Value* lane) {
        Value* cell = where == nullptr ? a.base : b_.CreateLoad(b_.getInt64Ty(), element(where, b_.getInt64Ty(), lane));
        Value* value = b_.CreateLoad(integer, element(xs, integer, lane));
        Value* other = swaps == nullptr ? nullptr : b_.CreateLoad(integer, element(swaps, integer, lane));
        Value* old = operate_on_cell(p, pointer(cell), value, other, is_shared);
        if (olds != nullptr) b_.CreateStore(old, element(olds, integer, lane));
      });
      if (used) write(inst, d->reg, b_.CreateLoad(wide(integer), olds), as_bits);
    }
  });
  return {};
}

}  // namespace warploom::codegen
