// Comparison, selection and moves.
#include "codegen/ops_emit.hpp"

namespace warploom::codegen {

using isa::Mod;
using isa::Type;
using Predicate = llvm::CmpInst::Predicate;

namespace {

// The comparison that the modifiers name, as i1.
Value* compare(Emit& e, Type t) {
  const int c = e.which({Mod::eq, Mod::ne, Mod::lt, Mod::le, Mod::gt, Mod::ge, Mod::equ, Mod::neu, Mod::ltu, Mod::leu,
                         Mod::gtu, Mod::geu, Mod::num, Mod::nan, Mod::lo, Mod::ls, Mod::hi, Mod::hs});
  if (c < 0) return nullptr;
  if (isa::is_float(t)) {
    constexpr Predicate kFloat[] = {llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::FCMP_ONE, llvm::CmpInst::FCMP_OLT,
                                    llvm::CmpInst::FCMP_OLE, llvm::CmpInst::FCMP_OGT, llvm::CmpInst::FCMP_OGE,
                                    llvm::CmpInst::FCMP_UEQ, llvm::CmpInst::FCMP_UNE, llvm::CmpInst::FCMP_ULT,
                                    llvm::CmpInst::FCMP_ULE, llvm::CmpInst::FCMP_UGT, llvm::CmpInst::FCMP_UGE,
                                    llvm::CmpInst::FCMP_ORD, llvm::CmpInst::FCMP_UNO};
    if (c >= 14) return nullptr;
    Value *a = flush_if(e, e.in[0]), *d = flush_if(e, e.in[1]);
    if (is_half(t)) a = half_to_f32(e, a), d = half_to_f32(e, d);
    return e.b.CreateFCmp(kFloat[c], a, d);
  }
  constexpr Predicate kSigned[] = {llvm::CmpInst::ICMP_EQ,  llvm::CmpInst::ICMP_NE,  llvm::CmpInst::ICMP_SLT,
                                   llvm::CmpInst::ICMP_SLE, llvm::CmpInst::ICMP_SGT, llvm::CmpInst::ICMP_SGE};
  constexpr Predicate kUnsigned[] = {llvm::CmpInst::ICMP_EQ,  llvm::CmpInst::ICMP_NE,  llvm::CmpInst::ICMP_ULT,
                                     llvm::CmpInst::ICMP_ULE, llvm::CmpInst::ICMP_UGT, llvm::CmpInst::ICMP_UGE};
  if (c >= 6 && c < 14) return nullptr;
  const int i = c < 6 ? c : c - 12;  // lo ls hi hs follow eq ne in the unsigned order
  return e.b.CreateICmp(isa::is_signed(t) ? kSigned[i] : kUnsigned[i], e.in[0], e.in[1]);
}

Value* combine(Emit& e, Value* t, Value* c) {
  switch (e.which({Mod::and_, Mod::or_, Mod::xor_})) {
    case 0: return e.b.CreateAnd(t, c);
    case 1: return e.b.CreateOr(t, c);
    case 2: return e.b.CreateXor(t, c);
    default: return t;
  }
}
Value* third(Emit& e) { return e.in.size() > 2 ? e.in[2] : nullptr; }

}  // namespace

bool emit_setp(Emit& e) {
  Value* t = compare(e, e.type());
  if (t == nullptr) return false;
  e.done(combine(e, t, third(e)));
  // "p|q": q takes the opposite comparison; of the two-in-a-word forms it is the high half, which emit_pairs makes.
  const auto& operands = e.instr.operands;
  if (!operands.empty() && operands[0].pair != -1) e.done(combine(e, e.b.CreateNot(t), third(e)));
  return true;
}

bool emit_set(Emit& e) {
  Value* t = compare(e, e.type(1));
  if (t == nullptr) return false;
  t = combine(e, t, third(e));
  llvm::Type* to = e.of(e.type());
  if (!isa::is_float(e.type())) return e.done(e.b.CreateSExt(t, to));
  if (e.type() == Type::bf16) return e.done(e.b.CreateAnd(e.b.CreateSExt(t, to), 0x3f80));
  return e.done(e.b.CreateSelect(t, llvm::ConstantFP::get(to, 1.0), llvm::ConstantFP::get(to, 0.0)));
}

bool emit_selp(Emit& e) { return e.done(e.b.CreateSelect(e.in[2], e.in[0], e.in[1])); }

bool emit_slct(Emit& e) {
  Value* c = e.in[2];
  Value* first = nullptr;
  if (c->getType()->isFPOrFPVectorTy()) {
    first = e.b.CreateFCmpOGE(flush_if(e, c), Emit::real(c, 0));
  } else {
    first = e.b.CreateICmpSGE(c, Emit::num(c, 0));
  }
  return e.done(e.b.CreateSelect(first, e.in[0], e.in[1]));
}

bool emit_testp(Emit& e) {
  const int which = e.which({Mod::finite, Mod::infinite, Mod::number, Mod::notanumber, Mod::normal, Mod::subnormal});
  constexpr llvm::FPClassTest kClass[] = {llvm::fcFinite,
                                          llvm::fcInf,
                                          llvm::FPClassTest(llvm::fcAllFlags & ~llvm::fcNan),
                                          llvm::fcNan,
                                          llvm::FPClassTest(llvm::fcNormal | llvm::fcZero),
                                          llvm::fcSubnormal};
  return which >= 0 && e.done(e.b.createIsFPClass(e.in[0], kClass[which]));
}

bool emit_copysign(Emit& e) { return e.done(e.call(llvm::Intrinsic::copysign, {e.in[1], e.in[0]})); }

// Vector operands are registers of equal parts, the first one lowest.
bool emit_mov(Emit& e) {
  const auto& operands = e.instr.operands;
  const bool pack = e.in.size() > 1;
  const bool unpack = !operands.empty() && operands[0].kind == ptx::Operand::Kind::vector;
  const unsigned total = isa::bits(e.type());
  if (pack) {
    const unsigned part = total / unsigned(e.in.size());
    Value* whole = nullptr;
    for (unsigned i = 0; i < e.in.size(); ++i) {
      Value* v = e.resize(e.to_bits(e.in[i]), part);
      v = e.resize(v, total);
      whole = whole == nullptr ? v : e.b.CreateOr(whole, e.b.CreateShl(v, i * part));
    }
    return e.done(whole);
  }
  if (unpack) {
    const unsigned part = total / unsigned(operands[0].elements.size());
    Value* whole = e.to_bits(e.in[0]);
    for (unsigned i = 0; i < operands[0].elements.size(); ++i) {
      e.done(e.resize(e.b.CreateLShr(whole, i * part), part));
    }
    return true;
  }
  return e.done(e.in[0]);
}

}  // namespace warploom::codegen
