// The table from operation to emitter, and the two-in-a-word forms that go through their element type.
#include <array>
#include <cassert>

#include "codegen/ops_emit.hpp"

namespace warploom::codegen {

using isa::Mod;
using isa::Op;
using isa::Type;

llvm::Type* lane_type(llvm::LLVMContext& context, Type type) {
  switch (type) {
    case Type::none: return llvm::Type::getVoidTy(context);
    case Type::f16: return llvm::Type::getHalfTy(context);
    case Type::f32: return llvm::Type::getFloatTy(context);
    case Type::f64: return llvm::Type::getDoubleTy(context);
    default: return llvm::Type::getIntNTy(context, isa::bits(type));
  }
}

bool is_packed(Type t) { return t == Type::f16x2 || t == Type::bf16x2 || t == Type::u16x2 || t == Type::s16x2; }
Type element(Type t) {
  switch (t) {
    case Type::f16x2: return Type::f16;
    case Type::bf16x2: return Type::bf16;
    case Type::u16x2: return Type::u16;
    case Type::s16x2: return Type::s16;
    default: return t;
  }
}
bool is_half(Type t) { return element(t) == Type::f16 || element(t) == Type::bf16; }

namespace {

constexpr std::array<Emitter, isa::kOpCount> make_table() {
  std::array<Emitter, isa::kOpCount> t{};
  const auto set = [&](Op op, Emitter e) { t[static_cast<std::size_t>(op)] = e; };
  set(Op::add, emit_add);
  set(Op::sub, emit_sub);
  set(Op::mul, emit_mul);
  set(Op::mad, emit_mad);
  set(Op::fma, emit_fma);
  set(Op::min, emit_min_max);
  set(Op::max, emit_min_max);
  set(Op::neg, emit_neg);
  set(Op::abs, emit_abs);
  set(Op::div, emit_div);
  set(Op::rem, emit_rem);
  set(Op::addc, emit_add_carry);
  set(Op::subc, emit_sub_borrow);
  set(Op::madc, emit_mad_carry);
  set(Op::mul24, emit_mul24);
  set(Op::mad24, emit_mad24);
  set(Op::sad, emit_sad);
  set(Op::dp4a, emit_dp4a);
  set(Op::dp2a, emit_dp2a);
  set(Op::and_, emit_logic);
  set(Op::or_, emit_logic);
  set(Op::xor_, emit_logic);
  set(Op::not_, emit_not_);
  set(Op::cnot, emit_cnot);
  set(Op::lop3, emit_lop3);
  set(Op::shl, emit_shl);
  set(Op::shr, emit_shr);
  set(Op::shf, emit_shf);
  set(Op::bfe, emit_bfe);
  set(Op::bfi, emit_bfi);
  set(Op::bfind, emit_bfind);
  set(Op::bmsk, emit_bmsk);
  set(Op::brev, emit_brev);
  set(Op::clz, emit_clz);
  set(Op::popc, emit_popc);
  set(Op::fns, emit_fns);
  set(Op::szext, emit_szext);
  set(Op::prmt, emit_prmt);
  set(Op::setp, emit_setp);
  set(Op::set, emit_set);
  set(Op::selp, emit_selp);
  set(Op::slct, emit_slct);
  set(Op::testp, emit_testp);
  set(Op::copysign, emit_copysign);
  set(Op::mov, emit_mov);
  set(Op::cvt, emit_cvt);
  set(Op::rcp, emit_rcp);
  set(Op::sqrt, emit_sqrt);
  set(Op::rsqrt, emit_rsqrt);
  set(Op::ex2, emit_ex2);
  set(Op::lg2, emit_lg2);
  set(Op::sin, emit_sin);
  set(Op::cos, emit_cos);
  set(Op::tanh, emit_tanh);
  for (const Op op : {Op::vadd2, Op::vsub2, Op::vavrg2, Op::vabsdiff2, Op::vmin2, Op::vmax2, Op::vadd4, Op::vsub4,
                      Op::vavrg4, Op::vabsdiff4, Op::vmin4, Op::vmax4, Op::vset2, Op::vset4}) {
    set(op, emit_video);
  }
  for (const Op op : {Op::vadd, Op::vsub, Op::vabsdiff, Op::vmin, Op::vmax, Op::vshl, Op::vshr, Op::vset})
    set(op, emit_video_scalar);
  set(Op::vmad, emit_video_mad);
  return t;
}
constexpr auto kTable = make_table();

// Reads a <lanes x i32> of pairs as <2*lanes x T>, emits the element form once and puts the pairs together again.
bool emit_pairs(OpEnv& env, const ptx::Instr& instr, std::span<Value* const> in, std::vector<Value*>& out,
                Emitter emitter) {
  OpEnv twice{env.b, env.lanes * 2, env.exact};
  ptx::Instr single = instr;
  // A packed comparison that writes an integer fills each half with its answer.
  if (instr.op == Op::set && !is_packed(instr.types[0])) single.types[0] = Type::u16;
  for (Type& t : single.types) t = element(t);
  std::vector<Value*> parts;
  for (Value* v : in) {
    if (v->getType()->isIntOrIntVectorTy(1)) {  // a predicate applies to both halves
      Value* word = env.b.CreateSExt(v, env.wide(env.b.getInt32Ty()));
      word = env.b.CreateBitCast(word, twice.wide(env.b.getInt16Ty()));
      parts.push_back(env.b.CreateTrunc(word, twice.wide(env.b.getInt1Ty())));
    } else {
      llvm::Type* t = lane_type(env.b.getContext(), single.types[instr.op == Op::set ? 1 : 0]);
      parts.push_back(env.b.CreateBitCast(v, twice.wide(t)));
    }
  }
  std::vector<Value*> results;
  Emit e{twice, single, parts, results};
  if (!emitter(e)) return false;
  for (Value* r : results) {
    if (r->getType()->isIntOrIntVectorTy(1)) {  // setp: the low halves' answers in p, the high ones' in q
      Value* half = env.b.CreateZExt(r, twice.wide(env.b.getInt16Ty()));
      Value* word = env.b.CreateBitCast(half, env.wide(env.b.getInt32Ty()));
      llvm::Type* i1 = env.wide(env.b.getInt1Ty());
      out.push_back(env.b.CreateTrunc(word, i1));
      out.push_back(env.b.CreateTrunc(env.b.CreateLShr(word, 16), i1));
      break;
    }
    out.push_back(env.b.CreateBitCast(r, env.wide(env.b.getInt32Ty())));
  }
  return true;
}

bool takes_pairs(const ptx::Instr& instr) {
  if (instr.op == Op::cvt || instr.op == Op::mov) return false;
  return is_packed(instr.types[instr.op == Op::set ? 1 : 0]);
}

}  // namespace

bool emit_pure(OpEnv& env, const ptx::Instr& instr, std::span<Value* const> in, std::vector<Value*>& out) {
  const Emitter emitter = kTable[static_cast<std::size_t>(instr.op)];
  if (emitter == nullptr) return false;
  if (takes_pairs(instr)) return emit_pairs(env, instr, in, out, emitter);
  Emit e{env, instr, in, out};
  return emitter(e);
}

Value* canonical_nan(OpEnv& env, Value* value) {
  const ptx::Instr none;
  std::vector<Value*> out;
  Emit e{env, none, {}, out};
  return canonical_nan(e, value);
}

}  // namespace warploom::codegen
