// Logic, shifts, bit fields and byte permutation.
#include "codegen/ops_emit.hpp"

namespace warploom::codegen {

using isa::Mod;
using isa::Op;
namespace intrinsic = llvm::Intrinsic;

namespace {

// value << n or value >> n for an unsigned 32-bit n that may reach the width, in which case the result is 0.
Value* shift_or_zero(Emit& e, Value* value, Value* n, bool left) {
  const unsigned w = Emit::width(value);
  Value* fits = e.b.CreateICmpULT(n, Emit::num(n, w));
  Value* by = e.resize(n, w);
  // The shift of an amount that does not fit is poison, and not selected.
  Value* r = left ? e.b.CreateShl(value, by) : e.b.CreateLShr(value, by);
  return e.b.CreateSelect(fits, r, Emit::num(r, 0));
}
Value* shift_arithmetic(Emit& e, Value* value, Value* n) {
  const unsigned w = Emit::width(value);
  return e.b.CreateAShr(value, e.resize(e.umin(n, Emit::num(n, w - 1)), w));
}
// The low n bits set, n clamped to the width.
Value* low_mask(Emit& e, Value* like, Value* n) {
  Value* all = Emit::ones(like);
  return e.b.CreateNot(shift_or_zero(e, all, n, true));
}
// Position or length of a field: 32-bit forms take the low byte of the operand, 64-bit ones all of it.
Value* amount(Emit& e, Value* v) { return isa::bits(e.type()) == 64 ? v : e.b.CreateAnd(v, 0xff); }

// Truth table of three inputs as a tree: c selects in pairs, then b, then a.
Value* truth_table(Emit& e, unsigned table) {
  Value* c = e.in[2];
  const auto pick2 = [&](unsigned bits, Value* s) -> Value* {
    switch (bits & 3) {
      case 0: return Emit::num(s, 0);
      case 1: return e.b.CreateNot(s);
      case 2: return s;
      default: return Emit::ones(s);
    }
  };
  const auto mux = [&](Value* s, Value* zero, Value* one) {
    if (zero == one) return zero;
    return e.b.CreateXor(zero, e.b.CreateAnd(s, e.b.CreateXor(zero, one)));
  };
  Value* low = mux(e.in[1], pick2(table, c), pick2(table >> 2, c));
  Value* high = mux(e.in[1], pick2(table >> 4, c), pick2(table >> 6, c));
  return mux(e.in[0], low, high);
}

}  // namespace

bool emit_logic(Emit& e) {
  switch (e.instr.op) {
    case Op::and_: return e.done(e.b.CreateAnd(e.in[0], e.in[1]));
    case Op::or_: return e.done(e.b.CreateOr(e.in[0], e.in[1]));
    default: return e.done(e.b.CreateXor(e.in[0], e.in[1]));
  }
}
bool emit_not_(Emit& e) { return e.done(e.b.CreateNot(e.in[0])); }
bool emit_cnot(Emit& e) {
  Value* a = e.in[0];
  return e.done(e.b.CreateZExt(e.b.CreateICmpEQ(a, Emit::num(a, 0)), a->getType()));
}

bool emit_lop3(Emit& e) {
  Value* lut = e.in[3];
  if (auto* vector = llvm::dyn_cast<llvm::Constant>(lut); vector != nullptr && lut->getType()->isVectorTy()) {
    lut = vector->getSplatValue();
  }
  auto* constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(lut);
  if (constant == nullptr) return false;
  Value* r = truth_table(e, unsigned(constant->getZExtValue() & 0xff));
  e.done(r);
  if (const int op = e.which({Mod::and_, Mod::or_}); op >= 0) {
    Value* p = e.b.CreateICmpNE(r, Emit::num(r, 0));
    e.done(op == 0 ? e.b.CreateAnd(p, e.in[4]) : e.b.CreateOr(p, e.in[4]));
  }
  return true;
}

bool emit_shl(Emit& e) { return e.done(shift_or_zero(e, e.in[0], e.in[1], true)); }
bool emit_shr(Emit& e) {
  if (isa::is_signed(e.type())) return e.done(shift_arithmetic(e, e.in[0], e.in[1]));
  return e.done(shift_or_zero(e, e.in[0], e.in[1], false));
}
bool emit_shf(Emit& e) {
  Value *a = e.in[0], *c = e.in[1], *n = e.in[2];
  const bool left = e.has(Mod::l);
  Value* r = e.call(left ? intrinsic::fshl : intrinsic::fshr, {c, a, n});
  if (e.has(Mod::clamp)) {
    r = e.b.CreateSelect(e.b.CreateICmpULT(n, Emit::num(n, 32)), r, left ? a : c);
  }
  return e.done(r);
}

bool emit_bfe(Emit& e) {
  Value *a = e.in[0], *pos = amount(e, e.in[1]), *len = amount(e, e.in[2]);
  const unsigned w = Emit::width(a);
  if (!isa::is_signed(e.type())) {
    return e.done(e.b.CreateAnd(shift_or_zero(e, a, pos, false), low_mask(e, a, len)));
  }
  Value* field = shift_arithmetic(e, a, pos);
  Value* rest = e.b.CreateSub(Emit::num(len, w), e.umin(len, Emit::num(len, w)));
  Value* up = shift_or_zero(e, field, rest, true);  // a length of 0 leaves 0
  return e.done(shift_arithmetic(e, up, rest));
}
bool emit_bfi(Emit& e) {
  Value *a = e.in[0], *into = e.in[1], *pos = amount(e, e.in[2]), *len = amount(e, e.in[3]);
  Value* mask = shift_or_zero(e, low_mask(e, a, len), pos, true);
  Value* field = shift_or_zero(e, a, pos, true);
  return e.done(e.b.CreateOr(e.b.CreateAnd(field, mask), e.b.CreateAnd(into, e.b.CreateNot(mask))));
}
bool emit_bfind(Emit& e) {
  Value* a = e.in[0];
  const unsigned w = Emit::width(a);
  if (isa::is_signed(e.type())) a = e.b.CreateXor(a, e.b.CreateAShr(a, w - 1));
  Value* zeros = e.resize(e.call(intrinsic::ctlz, {a, e.b.getFalse()}), 32);
  Value* r = e.has(Mod::shiftamt) ? zeros : e.b.CreateSub(Emit::num(zeros, w - 1), zeros);
  return e.done(e.b.CreateSelect(e.b.CreateICmpEQ(a, Emit::num(a, 0)), Emit::ones(r), r));
}
bool emit_bmsk(Emit& e) {
  Value *start = e.in[0], *len = e.in[1];
  if (e.has(Mod::wrap)) start = e.b.CreateAnd(start, 31), len = e.b.CreateAnd(len, 31);
  return e.done(shift_or_zero(e, low_mask(e, start, len), start, true));
}
bool emit_brev(Emit& e) { return e.done(e.call(intrinsic::bitreverse, {e.in[0]})); }
bool emit_clz(Emit& e) { return e.done(e.resize(e.call(intrinsic::ctlz, {e.in[0], e.b.getFalse()}), 32)); }
bool emit_popc(Emit& e) { return e.done(e.resize(e.call(intrinsic::ctpop, {e.in[0]}), 32)); }
bool emit_fns(Emit& e) { return e.done(call_host(e, "warploom.ref.fns", {e.in[0], e.in[1], e.in[2]}, 32)); }

bool emit_szext(Emit& e) {
  Value *a = e.in[0], *n = e.in[1];
  if (e.has(Mod::wrap)) n = e.b.CreateAnd(n, 31);
  if (!isa::is_signed(e.type())) return e.done(e.b.CreateAnd(a, low_mask(e, a, n)));
  Value* rest = e.b.CreateSub(Emit::num(n, 32), e.umin(n, Emit::num(n, 32)));
  return e.done(shift_arithmetic(e, shift_or_zero(e, a, rest, true), rest));
}

bool emit_prmt(Emit& e) {
  Value *a = e.in[0], *c = e.in[1], *control = e.in[2];
  llvm::Type* i64 = e.ints(64);
  Value* bytes = e.b.CreateOr(e.b.CreateShl(e.b.CreateZExt(c, i64), 32), e.b.CreateZExt(a, i64));
  Value* n = e.b.CreateAnd(control, 3);
  const int mode = e.which({Mod::f4e, Mod::b4e, Mod::rc8, Mod::ecl, Mod::ecr, Mod::rc16});
  Value* d = Emit::num(a, 0);
  for (unsigned i = 0; i < 4; ++i) {
    Value* index = Emit::num(control, i);
    Value* sign = nullptr;
    switch (mode) {
      case 0: index = e.b.CreateAdd(n, index); break;
      case 1: index = e.b.CreateAnd(e.b.CreateSub(n, index), 7); break;
      case 2: index = n; break;
      case 3: index = e.call(intrinsic::umax, {n, index}); break;
      case 4: index = e.umin(n, index); break;
      case 5: index = e.b.CreateOr(e.b.CreateShl(e.b.CreateAnd(control, 1), 1), i & 1); break;
      default: {
        Value* pick = e.b.CreateLShr(control, 4 * i);
        index = e.b.CreateAnd(pick, 7);
        sign = e.b.CreateICmpNE(e.b.CreateAnd(pick, 8), Emit::num(pick, 0));
      }
    }
    Value* by = e.b.CreateZExt(e.b.CreateShl(index, 3), i64);
    Value* byte = e.b.CreateTrunc(e.b.CreateLShr(bytes, by), e.ints(8));
    if (sign != nullptr) byte = e.b.CreateSelect(sign, e.b.CreateAShr(byte, 7), byte);
    d = e.b.CreateOr(d, e.b.CreateShl(e.b.CreateZExt(byte, a->getType()), 8 * i));
  }
  return e.done(d);
}

}  // namespace warploom::codegen
