// What the emitters of pure instructions share: the instruction at hand, types, constants and float helpers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "codegen/ops.hpp"

namespace warploom::codegen {

using llvm::Value;

// One instruction being emitted; cheap to make, so a packed form re-emits through a wider one.
class Emit {
 public:
  Emit(OpEnv& where, const ptx::Instr& what, std::span<Value* const> sources, std::vector<Value*>& out)
      : env{where}, b{where.b}, instr{what}, in{sources}, out_{out} {}

  OpEnv& env;
  llvm::IRBuilder<>& b;
  const ptx::Instr& instr;
  std::span<Value* const> in;

  [[nodiscard]] bool has(isa::Mod m) const { return instr.has(m); }
  // The first of `mods` that the instruction has, as its index; -1 for none.
  [[nodiscard]] int which(std::initializer_list<isa::Mod> mods) const {
    int i = 0;
    for (const isa::Mod m : mods) {
      if (has(m)) return i;
      ++i;
    }
    return -1;
  }
  [[nodiscard]] isa::Type type(std::size_t i = 0) const { return instr.types[i]; }
  [[nodiscard]] bool ftz() const { return has(isa::Mod::ftz); }

  bool done(Value* v) {
    out_.push_back(v);
    return true;
  }

  // Types, as wide as the environment.
  [[nodiscard]] llvm::Type* ints(unsigned width) const { return env.wide(b.getIntNTy(width)); }
  [[nodiscard]] llvm::Type* f32() const { return env.wide(b.getFloatTy()); }
  [[nodiscard]] llvm::Type* f64() const { return env.wide(b.getDoubleTy()); }
  [[nodiscard]] llvm::Type* of(isa::Type t) const { return env.wide(lane_type(b.getContext(), t)); }

  // Constants of the type of `like`.
  static Value* num(Value* like, std::uint64_t v) { return llvm::ConstantInt::get(like->getType(), v, false); }
  static Value* ones(Value* like) { return llvm::Constant::getAllOnesValue(like->getType()); }
  static Value* real(Value* like, double v) { return llvm::ConstantFP::get(like->getType(), v); }
  static unsigned width(Value* v) { return v->getType()->getScalarSizeInBits(); }

  Value* call(llvm::Intrinsic::ID id, std::initializer_list<Value*> args) {
    return b.CreateIntrinsic((*args.begin())->getType(), id, llvm::ArrayRef<Value*>(args.begin(), args.size()));
  }
  Value* umin(Value* a, Value* c) { return call(llvm::Intrinsic::umin, {a, c}); }
  Value* to_bits(Value* v) { return b.CreateBitCast(v, ints(width(v))); }
  Value* from_bits(Value* v, llvm::Type* t) { return b.CreateBitCast(v, t); }
  // Integer of another width: truncated or zero-extended.
  Value* resize(Value* v, unsigned bits) { return b.CreateZExtOrTrunc(v, ints(bits)); }

 private:
  std::vector<Value*>& out_;
};

using Emitter = bool (*)(Emit&);

// Emitters, one for each operation (ops.cpp has the table).
// clang-format off
#define WARPLOOM_EMITTERS(X) \
  X(add) X(sub) X(mul) X(mad) X(fma) X(min_max) X(neg) X(abs) X(div) X(rem) X(add_carry) X(sub_borrow) \
  X(mad_carry) X(mul24) X(mad24) X(sad) X(dp4a) X(dp2a) X(logic) X(not_) X(cnot) X(lop3) X(shl) X(shr) X(shf) \
  X(bfe) X(bfi) X(bfind) X(bmsk) X(brev) X(clz) X(popc) X(fns) X(szext) X(prmt) X(setp) X(set) X(selp) X(slct) \
  X(testp) X(copysign) X(mov) X(cvt) X(rcp) X(sqrt) X(rsqrt) X(ex2) X(lg2) X(sin) X(cos) X(tanh) X(video) \
  X(video_scalar) X(video_mad)
// clang-format on
#define WARPLOOM_DECLARE(name) bool emit_##name(Emit& e);
WARPLOOM_EMITTERS(WARPLOOM_DECLARE)
#undef WARPLOOM_DECLARE

// Float parts of operations that integers share (ops_float.cpp, ops_half.cpp).
bool emit_float_arith(Emit& e);
bool emit_float_min_max(Emit& e);
bool emit_float_div(Emit& e);
bool emit_half(Emit& e);
[[nodiscard]] bool is_half(isa::Type t);    // f16, bf16 and their pairs
[[nodiscard]] bool is_packed(isa::Type t);  // two 16-bit values in 32 bits
// Element type of a packed type, the type itself otherwise.
[[nodiscard]] isa::Type element(isa::Type t);

enum class RoundMode : std::uint8_t { rn, rz, rm, rp, rna };
[[nodiscard]] RoundMode round_mode(const Emit& e);

// Subnormals to zeros of the same sign.
Value* flush(Emit& e, Value* v);
Value* flush_if(Emit& e, Value* v);  // when the instruction has .ftz and v is f32 (or f16)
// [+0, 1], NaN to +0.
Value* saturate(Emit& e, Value* v);
// Any NaN to the one that PTX arithmetic returns; f64 stays as it is.
Value* canonical_nan(Emit& e, Value* v);
Value* is_nan(Emit& e, Value* v);
// .ftz and .sat on a result, and the NaN pattern where `exact` asks for it.
Value* finish(Emit& e, Value* v, bool exact);
// One step in the last place of r (f32) so that it becomes the exact x rounded by `mode`, when r is one of x's two
// neighbours; below and above say how x lies to r.
Value* step(Emit& e, RoundMode mode, Value* r, Value* x_below_r, Value* x_above_r);
// f64 to f32 where an inexact result has its last bit set, so that a second rounding to 22 bits or fewer is exact.
Value* to_f32_odd(Emit& e, Value* v);
// Exact sum of two values: s = fl(a + b) and its error.
struct Sum {
  Value *value, *error;
};
Sum two_sum(Emit& e, Value* a, Value* b);

// f32 <-> 16-bit formats without library calls. Narrowing rounds by `mode` and gives NaN 0x7fff, or with keep_nan the
// upper bits of a quiet NaN.
Value* half_to_f32(Emit& e, Value* v);
Value* f32_to_half(Emit& e, Value* v, isa::Type to, RoundMode mode, bool keep_nan = false);
// Whether the GPU's .ftz flushes the exact value, in f64, when it is rounded to f32; `error` may be null for none.
Value* is_tiny(Emit& e, RoundMode mode, Sum x);
Value* zero_where(Emit& e, Value* which, Value* v);  // a zero of v's sign

// Calls the native function `name` (ops_host.cpp) for all lanes; arguments and result are integer bit patterns.
Value* call_host(Emit& e, std::string_view name, std::initializer_list<Value*> args, unsigned result_bits);

}  // namespace warploom::codegen
