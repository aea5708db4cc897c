// LLVM lowering of pure PTX instructions, for one value or for all lanes at once.
#pragma once

#include <span>
#include <vector>

#include "backend/llvm.hpp"
#include "codegen/host_functions.hpp"
#include "ptx/module.hpp"

namespace warploom::codegen {

// Where and how wide to emit. Every lowering must work for lanes == 1 (scalars, T) and lanes > 1 (<lanes x T>):
// IRBuilder's operations are polymorphic in that, so one text serves both.
struct OpEnv {
  llvm::IRBuilder<>& b;
  unsigned lanes;  // 1: scalar; else the vector length
  // Gives a NaN that an f32 add, sub, mul, fma, neg or abs makes the GPU's bits instead of the host's. Otherwise the
  // caller owes canonical_nan() where such a value becomes visible as bits.
  bool exact = false;

  [[nodiscard]] llvm::Type* wide(llvm::Type* scalar) const {
    return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
  }
};

// LLVM type of one lane of a PTX type: pred i1, integers and untyped iN, f16 half, f32 float, f64 double;
// bf16 and packed and narrow formats (bf16x2, f16x2, e4m3x2, u16x2 ...) the integer of their width: LLVM takes vectors
// of bfloat apart on most machines.
llvm::Type* lane_type(llvm::LLVMContext& context, isa::Type type);

// Emits one instruction whose row has Flow::pure. `in` holds the source operands in order, each already of the type
// that ptx::operand_type gives (widened or truncated from its register, immediates materialised). Appends the results,
// typed the same way, in operand order: setp's "p|q" gives two, the carry flag CC.CF is passed as an extra trailing
// source (i1) to instructions that read it (addc, subc, madc) and returned as an extra trailing result by those with
// .cc; after a subtraction it is set when nothing was borrowed. A negated predicate operand ("!p") comes already
// negated. mov's {a, b} operands are passed and returned one value for each element. Returns false when the row has no
// lowering.
bool emit_pure(OpEnv& env, const ptx::Instr& instr, std::span<llvm::Value* const> in, std::vector<llvm::Value*>& out);

// Replaces a NaN of an f32, f16 or bf16 value by the one that PTX arithmetic returns.
llvm::Value* canonical_nan(OpEnv& env, llvm::Value* value);

}  // namespace warploom::codegen
