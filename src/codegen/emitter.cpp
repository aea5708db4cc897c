// Storage of values, operands, results and guards.
#include "codegen/emitter.hpp"

#include <fmt/format.h>

#include "codegen/compile.hpp"
#include "ir/cfg.hpp"
#include "ir/webs.hpp"

namespace warploom::codegen {

using ir::Inst;
using ir::Shape;
using ir::ValueId;
using isa::Type;
using ptx::Operand;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

bool is_wide(const llvm::Value* v) { return v->getType()->isVectorTy(); }

Type bits_type(unsigned bits) {
  switch (bits) {
    case 8: return Type::b8;
    case 16: return Type::b16;
    case 32: return Type::b32;
    case 64: return Type::b64;
    default: return Type::b128;
  }
}

}  // namespace

Emitter::Emitter(const KernelPlan& plan, Mode mode, llvm::Module& module, const TargetTraits& traits,
                 std::string function_name, Findings& findings)
    : plan_(plan),
      mode_(mode),
      shapes_(mode == Mode::conservative ? plan.prepared.conservative : plan.prepared.shapes),
      traits_(traits),
      static_counts_(findings.static_counts),
      debug_lines_(findings.debug_lines),
      context_(module.getContext()),
      module_(module),
      b_(module.getContext()),
      function_name_(std::move(function_name)) {}

llvm::Type* Emitter::storage_type(ValueId v) const { return lane_type(context_, plan_.storage[idx(v)]); }

llvm::AllocaInst* Emitter::entry_alloca(llvm::Type* type, const llvm::Twine& name) {
  llvm::IRBuilder<> at(entry_, entry_->begin());
  return at.CreateAlloca(type, nullptr, name);
}

llvm::Value* Emitter::slot(ValueId v) {
  llvm::AllocaInst*& a = values_[idx(v)];
  if (a == nullptr) {
    llvm::Type* type = variable_type(v);
    a = entry_alloca(type, "v" + llvm::Twine(v));
    // Others are written before they are read, and LLVM takes its time with variables that two blocks write.
    if (stays_saved(v)) {
      const llvm::IRBuilderBase::InsertPointGuard guard(b_);
      b_.SetInsertPoint(body_start_);
      b_.CreateStore(load_saved(saved_area_, v), a);
    } else if (plan_.crosses[idx(v)]) {
      llvm::IRBuilder<> at(entry_, std::next(a->getIterator()));
      at.CreateStore(llvm::Constant::getNullValue(type), a);
    }
  }
  return a;
}

llvm::Value* Emitter::load_base(ValueId v) { return load_value(v); }

llvm::Value* Emitter::pattern(const Shape& s, llvm::Type* type) {
  const unsigned bits = type->getIntegerBitWidth();
  Value* sum = nullptr;
  for (const ir::Term& t : s.terms) {
    std::vector<llvm::Constant*> lanes;
    for (unsigned l = lane0_; l < lane0_ + lanes_; ++l)
      lanes.push_back(llvm::ConstantInt::get(
          type, static_cast<std::uint64_t>(t.pattern[l]) & (bits == 64 ? ~0ULL : (1ULL << bits) - 1)));
    Value* p = llvm::ConstantVector::get(lanes);
    if (t.mult >= 0) {
      Value* factor = load_base(t.mult);
      if (factor->getType()->isFloatingPointTy()) factor = to_bits(factor, plan_.storage[idx(t.mult)]);
      factor = t.widen == 2 ? b_.CreateZExtOrTrunc(factor, type) : b_.CreateSExtOrTrunc(factor, type);
      p = b_.CreateMul(splat(factor), p);
    }
    sum = sum == nullptr ? p : b_.CreateAdd(sum, p);
  }
  return sum;
}

llvm::Value* Emitter::load_wide(ValueId v) {
  const Shape& s = shape(v);
  if (s.varying()) return load_value(v);
  Value* base = load_base(v);
  if (!s.linear()) return splat(base);
  return b_.CreateAdd(splat(base), pattern(s, base->getType()));
}

// Bit boxes: registers are typeless, the instruction says how to read them.
llvm::Value* Emitter::to_bits(Value* v, Type type) {
  if (type == Type::pred) return v;
  llvm::Type* bits = b_.getIntNTy(isa::bits(type));
  if (v->getType()->getScalarType() == bits) return v;
  return b_.CreateBitCast(v, is_wide(v) ? wide(bits) : bits);
}

llvm::Value* Emitter::from_bits(Value* v, Type type) {
  llvm::Type* t = lane_type(context_, type);
  if (v->getType()->getScalarType() == t) return v;
  return b_.CreateBitCast(v, is_wide(v) ? wide(t) : t);
}

llvm::Value* Emitter::convert(Value* v, Type from, Type to) {
  if (from == to) return v;
  if (lane_type(context_, from) == lane_type(context_, to)) return v;
  if (from == Type::pred || to == Type::pred) {
    llvm::Type* bit = is_wide(v) ? wide(b_.getInt1Ty()) : b_.getInt1Ty();
    if (from == Type::pred) {
      llvm::Type* n = b_.getIntNTy(isa::bits(to));
      return from_bits(b_.CreateZExt(v, is_wide(v) ? wide(n) : n), to);
    }
    return b_.CreateTrunc(to_bits(v, from), bit);
  }
  Value* x = to_bits(v, from);
  llvm::Type* n = b_.getIntNTy(isa::bits(to));
  if (is_wide(v)) n = wide(n);
  x = isa::is_signed(from) ? b_.CreateSExtOrTrunc(x, n) : b_.CreateZExtOrTrunc(x, n);
  return from_bits(x, to);
}

llvm::Value* Emitter::immediate(const Operand& o, Type type) {
  if (type == Type::pred) return b_.getInt1(o.imm != 0);
  llvm::Type* t = lane_type(context_, type);
  const unsigned bits = isa::bits(type);
  if (o.kind == Operand::Kind::imm && t->isFloatingPointTy()) {
    // An integer literal where a float is due holds its bits.
    return llvm::ConstantFP::get(t, llvm::APFloat(t->getFltSemantics(), llvm::APInt(bits, o.imm, false, true)));
  }
  if (o.kind == Operand::Kind::imm_f64 && type == Type::f32) {
    double d;
    static_assert(sizeof d == sizeof o.imm);
    __builtin_memcpy(&d, &o.imm, sizeof d);
    return llvm::ConstantFP::get(t, static_cast<float>(d));
  }
  if (t->isFloatingPointTy())
    return llvm::ConstantFP::get(t, llvm::APFloat(t->getFltSemantics(), llvm::APInt(bits, o.imm, false, true)));
  return llvm::ConstantInt::get(t, llvm::APInt(bits, o.imm, false, true));
}

bool Emitter::operand_is_scalar(const Operand& o) const {
  switch (o.kind) {
    case Operand::Kind::reg: return !shape(o.reg).varying();
    case Operand::Kind::sreg: return !passes::sreg_shape(o.symbol, plan_.block, mode_ != Mode::conservative).varying();
    case Operand::Kind::vector:
      for (const Operand& e : o.elements)
        if (e.kind == Operand::Kind::reg && !shape(e.reg).uniform()) return false;
      return true;
    default: return true;
  }
}

bool Emitter::operand_is_uniform(const Operand& o) const {
  switch (o.kind) {
    case Operand::Kind::reg: return shape(o.reg).uniform();
    case Operand::Kind::sreg: return passes::sreg_shape(o.symbol, plan_.block, mode_ != Mode::conservative).uniform();
    default: return operand_is_scalar(o);
  }
}

llvm::Value* Emitter::symbol_address(std::int32_t variable, std::uint64_t offset) {
  const ir::Variable& v = plan_.f().variables[idx(variable)];
  switch (v.place) {
    case ir::Variable::Place::global: {
      llvm::Constant* g = module_.getOrInsertGlobal(kVariablePrefix + v.name, b_.getInt8Ty());
      return b_.CreateAdd(b_.CreatePtrToInt(g, b_.getInt64Ty()), b_.getInt64(offset));
    }
    case ir::Variable::Place::dynamic_shared: return b_.getInt64(plan_.f().dynamic_shared_offset() + offset);
    default: return b_.getInt64(v.offset + offset);
  }
}

llvm::Value* Emitter::operand(const Inst& inst, const Operand& o, std::int32_t variable, Type type, bool want_wide) {
  Value* v = nullptr;
  switch (o.kind) {
    case Operand::Kind::reg: {
      const Type from = plan_.storage[idx(o.reg)];
      v = want_wide ? load_wide(o.reg) : load_base(o.reg);
      if (plan_.needs_nan_bits(inst, o.reg, type)) {
        OpEnv env{b_, want_wide ? lanes_ : 1U};
        v = canonical_nan(env, v);
      }
      v = convert(v, from, type);
      if (o.negated) v = b_.CreateNot(v);
      return v;
    }
    case Operand::Kind::sreg: return special_register(o.symbol, type, want_wide);
    case Operand::Kind::symbol: v = convert(symbol_address(variable, o.imm), Type::b64, type); break;
    case Operand::Kind::vector: {
      // mov.b64 {lo, hi}: the pieces of one value, lowest first.
      const unsigned piece = isa::bits(type) / static_cast<unsigned>(o.elements.size());
      llvm::Type* n = b_.getIntNTy(isa::bits(type));
      for (std::size_t e = 0; e < o.elements.size(); ++e) {
        Value* x = to_bits(operand(inst, o.elements[e], -1, bits_type(piece), want_wide), bits_type(piece));
        x = b_.CreateZExt(x, want_wide ? wide(n) : n);
        if (e > 0) x = b_.CreateShl(x, static_cast<std::uint64_t>(e) * piece);
        v = v == nullptr ? x : b_.CreateOr(v, x);
      }
      return from_bits(v, type);
    }
    default:
      v = immediate(o, type);
      if (o.negated) v = b_.CreateNot(v);
  }
  return want_wide ? splat(v) : v;
}

llvm::Value* Emitter::operand(const Inst& inst, std::size_t k, Type type, bool want_wide) {
  return operand(inst, inst.p.operands[k], k < inst.variable.size() ? inst.variable[k] : -1, type, want_wide);
}

llvm::Value* Emitter::operand(const Inst& inst, std::size_t k, bool want_wide) {
  return operand(inst, k, ptx::operand_type(inst.p, k), want_wide);
}

bool Emitter::guard_is_uniform(const Inst& inst) const { return inst.p.guard < 0 || shape(inst.p.guard).uniform(); }

llvm::Value* Emitter::guard_scalar(const Inst& inst) {
  Value* g = load_base(inst.p.guard);
  return inst.p.guard_negated ? b_.CreateNot(g) : g;
}

llvm::Value* Emitter::guard_bits(const Inst& inst) {
  Value* g = load_wide(inst.p.guard);
  return inst.p.guard_negated ? b_.CreateNot(g) : g;
}

llvm::Value* Emitter::bits_or_all(const Lanes& lanes) {
  return lanes.bits != nullptr ? lanes.bits : llvm::Constant::getAllOnesValue(wide(b_.getInt1Ty()));
}

void Emitter::write(const Inst& inst, ValueId v, Value* value, Type type) {
  const Type to = plan_.storage[idx(v)];
  value = convert(value, type, to);
  if (!shape(v).varying()) {
    WL_INTERNAL("emitter", !is_wide(value), "a vector for a scalar value");
    if (inst.p.guard >= 0) value = b_.CreateSelect(guard_scalar(inst), value, load_base(v));
    store_value(v, value);
    return;
  }
  if (!is_wide(value)) value = splat(value);
  Value* lanes = nullptr;
  if (inst.p.guard >= 0) lanes = guard_bits(inst);
  if (mask_bits_ != nullptr && plan_.crosses[idx(v)])
    lanes = lanes == nullptr ? mask_bits_ : b_.CreateAnd(lanes, mask_bits_);
  if (lanes != nullptr) value = b_.CreateSelect(lanes, value, load_value(v));
  store_value(v, value);
}

void Emitter::write_result(const Inst& inst, std::size_t k, Value* value) {
  const Operand& o = inst.p.operands[k];
  const Type type = ptx::operand_type(inst.p, k);
  if (o.kind == Operand::Kind::sink) return;
  if (o.kind == Operand::Kind::vector) {
    const unsigned piece = isa::bits(type) / static_cast<unsigned>(o.elements.size());
    Value* all = to_bits(value, type);
    for (std::size_t e = 0; e < o.elements.size(); ++e) {
      if (o.elements[e].kind == Operand::Kind::sink) continue;
      Value* x = e == 0 ? all : b_.CreateLShr(all, static_cast<std::uint64_t>(e) * piece);
      llvm::Type* n = b_.getIntNTy(piece);
      x = b_.CreateTrunc(x, is_wide(x) ? wide(n) : n);
      write(inst, o.elements[e].reg, x, bits_type(piece));
    }
    return;
  }
  write(inst, o.reg, value, type);
}

Diag Emitter::unsupported(const Inst& inst, const std::string& reason) const {
  Diag d;
  d.id = ErrorId::unsupported_instruction;
  ptx::Body names;
  for (const ir::Value& v : plan_.f().values) names.registers.push_back({v.name, v.type});
  d.what = fmt::format("'{}' is not supported{}{}", ptx::print(*plan_.f().module, names, inst.p),
                       reason.empty() ? "" : ": ", reason);
  d.loc = plan_.f().module->place(inst.p.line);
  d.where = "kernel " + plan_.f().name;
  if (inst.source >= 0) {
    const SourceLoc& s = plan_.f().sources[idx(inst.source)].loc;
    if (s.known()) d.where += fmt::format(", {}:{}", s.file, s.line);
  }
  d.remedy = fmt::format("see `warploom isa {}` for the forms that run", isa::name(inst.p.op));
  return d;
}

Result<void> Emitter::emit_pure_instruction(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  if (p.op == isa::Op::mov) {
    const bool wide_source = !operand_is_uniform(p.operands[1]) &&
                             (p.operands[0].kind == Operand::Kind::vector || shape(p.operands[0].reg).varying());
    write_result(inst, 0, operand(inst, 1, ptx::operand_type(p, 0), wide_source));
    return {};
  }
  const bool carry_out = p.has(isa::Mod::cc);
  const bool carry_in = p.op == isa::Op::addc || p.op == isa::Op::subc || p.op == isa::Op::madc;
  bool scalar = !carry_out && !carry_in;
  bool uniform_sources = true;
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    if (!ir::is_source(p, k)) continue;
    uniform_sources = uniform_sources && operand_is_uniform(p.operands[k]);
  }
  if (!uniform_sources) ir::for_each_def(inst, [&](ValueId v) { scalar = scalar && !shape(v).varying(); });
  // A linear source of a varying result needs its lanes.
  std::vector<Value*> in, out;
  std::size_t results = 0;
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    if (ir::is_result(p, k)) {
      results = k + 1;
      if (!ir::is_source(p, k)) continue;
    }
    if (p.operands[k].kind != Operand::Kind::vector) {
      in.push_back(operand(inst, k, !scalar));
      continue;
    }
    for (const Operand& element : p.operands[k].elements)
      in.push_back(operand(inst, element, -1, ptx::operand_type(p, k), !scalar));
  }
  if (carry_in) in.push_back(b_.CreateLoad(wide(b_.getInt1Ty()), carry_));
  OpEnv env{b_, scalar ? 1U : lanes_};
  if (!emit_pure(env, p, in, out)) return unsupported(inst, "");
  std::size_t next = 0;
  for (std::size_t k = 0; k < results; ++k) {
    if (!ir::is_result(p, k)) continue;
    write_result(inst, k, out.at(next++));
    if (p.operands[k].pair >= 0) write(inst, p.operands[k].pair, out.at(next), Type::pred);
    if (p.operands[k].pair != -1) ++next;
  }
  if (carry_out) b_.CreateStore(out.back(), carry_);
  return {};
}

}  // namespace warploom::codegen
