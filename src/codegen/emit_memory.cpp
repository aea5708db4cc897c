// Loads and stores by lane shape: broadcasts, vector accesses, interleaved vectors, else gathers and scatters.
#include <cstddef>

#include "codegen/emitter.hpp"
#include "ir/webs.hpp"

namespace warploom::codegen {

using ir::Inst;
using ir::Shape;
using isa::Space;
using isa::Type;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

bool has_factors(const Shape& s) {
  for (const ir::Term& t : s.terms)
    if (t.mult >= 0) return true;
  return false;
}

std::int64_t constant_offset(const Shape& s, unsigned lane) {
  std::int64_t sum = 0;
  for (const ir::Term& t : s.terms)
    if (t.mult < 0) sum += t.pattern[lane];
  return sum;
}

}  // namespace

Emitter::Address Emitter::address(const Inst& inst, std::size_t k, Space space) {
  return of_group(full_address(inst, k, space));
}

Emitter::Address Emitter::full_address(const Inst& inst, std::size_t k, Space space) {
  const ptx::Operand& o = inst.p.operands[k];
  Address a;
  a.space = space;
  const std::int32_t variable = k < inst.variable.size() ? inst.variable[k] : -1;
  if (variable >= 0) {
    a.shape.kind = Shape::Kind::uniform;
    a.base = symbol_address(variable, o.reg >= 0 ? 0 : o.imm);
    a.space = plan_.f().variables[idx(variable)].space(space);
  } else if (o.reg < 0) {
    a.shape.kind = Shape::Kind::uniform;
    a.base = b_.getInt64(o.imm);
  }
  if (o.reg >= 0) {
    const Shape& s = shape(o.reg);
    const Type from = plan_.storage[idx(o.reg)];
    // Windows are small: a 32-bit offset counts as signed, so that sums that pass through negative values come out
    // right.
    const Type as = isa::bits(from) == 32 ? Type::s32 : Type::b64;
    Value* symbol = a.base;
    if (s.varying()) {
      a.shape.kind = Shape::Kind::varying;
      a.wide = convert(load_wide(o.reg), as == Type::s32 ? Type::s32 : from, Type::b64);
      if (o.imm != 0) a.wide = b_.CreateAdd(a.wide, splat(b_.getInt64(o.imm)));
      if (symbol != nullptr) a.wide = b_.CreateAdd(a.wide, splat(symbol));
    } else {
      a.shape = s;
      if (as == Type::s32)
        for (ir::Term& t : a.shape.terms)
          if (t.mult >= 0 && t.widen == 0) t.widen = 1;
      a.base = convert(to_bits(load_base(o.reg), from), as == Type::s32 ? Type::s32 : Type::b64, Type::b64);
      if (o.imm != 0) a.base = b_.CreateAdd(a.base, b_.getInt64(o.imm));
      if (symbol != nullptr) a.base = b_.CreateAdd(a.base, symbol);
    }
  }
  std::size_t window = 0;
  switch (a.space) {
    case Space::shared: window = offsetof(WarpContext, shared); break;
    case Space::local: window = offsetof(WarpContext, local); break;
    case Space::param: window = offsetof(WarpContext, params); break;
    default: return a;
  }
  auto* load = llvm::cast<llvm::LoadInst>(a.space == Space::local ? field(window, b_.getPtrTy(), true)
                                                                  : block_field(window, b_.getPtrTy()));
  // Shared and local windows begin at a multiple of 64; saying so lets alignment tests fold away.
  if (a.space != Space::param)
    load->setMetadata(llvm::LLVMContext::MD_align,
                      llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt64(64))));
  // So that loads of parameters may leave loops.
  if (a.space == Space::param && plan_.f().entry != nullptr && plan_.f().entry->param_bytes != 0)
    load->setMetadata(
        llvm::LLVMContext::MD_dereferenceable,
        llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt64(plan_.f().entry->param_bytes))));
  Value* start = b_.CreatePtrToInt(load, b_.getInt64Ty());
  if (a.wide != nullptr)
    a.wide = b_.CreateAdd(a.wide, splat(start));
  else
    a.base = b_.CreateAdd(start, a.base);
  if (a.space == Space::local) {
    ir::Term stride{-1, 0, {}};
    for (std::size_t l = 0; l < 32; ++l) stride.pattern[l] = static_cast<std::int64_t>(l) * plan_.f().local_bytes;
    if (a.wide != nullptr) {
      a.wide = b_.CreateAdd(a.wide, pattern(Shape{Shape::Kind::linear, {stride}, 1, 0}, b_.getInt64Ty()));
    } else {
      a.shape.kind = Shape::Kind::linear;
      bool merged = false;
      for (ir::Term& t : a.shape.terms)
        if (t.mult < 0) {
          for (std::size_t l = 0; l < 32; ++l) t.pattern[l] += stride.pattern[l];
          merged = true;
        }
      if (!merged) a.shape.terms.push_back(stride);
    }
  }
  return a;
}

llvm::Value* Emitter::address_lanes(const Address& a) {
  if (a.wide != nullptr) return a.wide;
  if (a.shape.uniform()) return splat(a.base);
  return b_.CreateAdd(splat(a.base), pattern(a.shape, b_.getInt64Ty()));
}

llvm::Value* Emitter::pointer(Value* base, std::int64_t offset) {
  Value* p = b_.CreateIntToPtr(base, b_.getPtrTy());
  return offset == 0 ? p : b_.CreateConstGEP1_64(b_.getInt8Ty(), p, static_cast<std::uint64_t>(offset));
}

Emitter::Address Emitter::offset_by(const Address& a, std::int64_t bytes, Emitter& e) {
  if (bytes == 0) return a;
  Address out = a;
  Value* by = e.b_.getInt64(static_cast<std::uint64_t>(bytes));
  if (out.wide != nullptr)
    out.wide = e.b_.CreateAdd(out.wide, e.splat(by));
  else
    out.base = e.b_.CreateAdd(out.base, by);
  return out;
}

void Emitter::lane_loop(Value* mask, const std::function<void(Value*)>& body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = new_block("lane");
  llvm::BasicBlock* after = new_block("lanes_done");
  b_.CreateCondBr(b_.CreateICmpNE(mask, b_.getInt32(0)), loop, after);
  b_.SetInsertPoint(loop);
  llvm::PHINode* left = b_.CreatePHI(b_.getInt32Ty(), 2);
  left->addIncoming(mask, before);
  Value* lane = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {left, b_.getInt1(true)});
  body(lane);
  Value* rest = b_.CreateAnd(left, b_.CreateSub(left, b_.getInt32(1)));
  left->addIncoming(rest, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(rest, b_.getInt32(0)), loop, after);
  b_.SetInsertPoint(after);
}

llvm::Value* Emitter::spill(Value* wide_value, const char* name) {
  llvm::AllocaInst* a = entry_alloca(wide_value->getType(), name);
  b_.CreateStore(wide_value, a);
  return a;
}

llvm::Value* Emitter::element(Value* spilled, llvm::Type* type, Value* lane) {
  return b_.CreateInBoundsGEP(type, spilled, b_.CreateZExt(lane, b_.getInt64Ty()));
}

llvm::Value* Emitter::gather(Value* addresses, llvm::Type* type, const Lanes& lanes, bool is_volatile) {
  const unsigned bits = type->getScalarSizeInBits();
  if (traits_.gathers && !is_volatile && (bits == 32 || bits == 64)) {
    Value* pointers = b_.CreateIntToPtr(addresses, wide(b_.getPtrTy()));
    return b_.CreateMaskedGather(wide(type), pointers, llvm::Align(bits / 8), bits_or_all(lanes),
                                 llvm::Constant::getNullValue(wide(type)));
  }
  llvm::AllocaInst* out = entry_alloca(wide(type), "gathered");
  Value* from = spill(addresses, "addresses");
  lane_loop(mask_or_all(lanes), [&](Value* lane) {
    Value* at = b_.CreateLoad(b_.getInt64Ty(), element(from, b_.getInt64Ty(), lane));
    Value* x = b_.CreateAlignedLoad(type, pointer(at), llvm::Align(bits / 8), is_volatile);
    b_.CreateStore(x, element(out, type, lane));
  });
  return b_.CreateLoad(wide(type), out);
}

void Emitter::scatter(Value* addresses, Value* value, const Lanes& lanes, bool is_volatile) {
  llvm::Type* type = value->getType()->getScalarType();
  const unsigned bits = type->getScalarSizeInBits();
  if (traits_.gathers && !is_volatile && (bits == 32 || bits == 64)) {
    Value* pointers = b_.CreateIntToPtr(addresses, wide(b_.getPtrTy()));
    b_.CreateMaskedScatter(value, pointers, llvm::Align(bits / 8), bits_or_all(lanes));
    return;
  }
  Value* to = spill(addresses, "addresses");
  Value* from = spill(value, "scattered");
  lane_loop(mask_or_all(lanes), [&](Value* lane) {
    Value* at = b_.CreateLoad(b_.getInt64Ty(), element(to, b_.getInt64Ty(), lane));
    Value* x = b_.CreateLoad(type, element(from, type, lane));
    b_.CreateAlignedStore(x, pointer(at), llvm::Align(bits / 8), is_volatile);
  });
}

llvm::Value* Emitter::load_one_by_one(const Address& a, llvm::Type* type) {
  const bool constant = a.shape.linear() && !has_factors(a.shape);
  Value* addresses = constant ? nullptr : address_lanes(a);
  Value* out = llvm::PoisonValue::get(wide(type));
  for (unsigned l = 0; l < lanes_; ++l) {
    Value* at = constant ? pointer(a.base, constant_offset(a.shape, lane0_ + l))
                         : pointer(b_.CreateExtractElement(addresses, std::uint64_t{l}));
    Value* x = b_.CreateAlignedLoad(type, at, llvm::Align(type->getScalarSizeInBits() / 8));
    out = b_.CreateInsertElement(out, x, std::uint64_t{l});
  }
  return out;
}

llvm::Value* Emitter::load_lanes(const Address& a, llvm::Type* type, const Lanes& lanes, bool is_volatile) {
  const unsigned bytes = type->getScalarSizeInBits() / 8;
  const llvm::Align align(bytes);
  if (a.shape.uniform()) return b_.CreateAlignedLoad(type, pointer(a.base), align, is_volatile);
  // All lanes load, and nothing in the machine does it for them: one after the other without a loop.
  const bool unrolled = lanes.mask == nullptr && !is_volatile && (bytes < 4 || !traits_.gathers);
  if (!a.shape.linear() && unrolled) return load_one_by_one(a, type);
  if (!a.shape.linear() || is_volatile) return gather(address_lanes(a), type, lanes, is_volatile);
  const Runs runs = runs_of(a.shape);
  // Padding around the windows makes whole-vector loads of inactive lanes harmless there.
  const bool padded = a.space == Space::shared;
  const bool contiguous = runs.stride == bytes, broadcast = runs.stride == 0;
  if (runs.length >= 4 && (contiguous || broadcast) && (lanes.mask == nullptr || padded || contiguous)) {
    std::vector<Value*> parts;
    Value* starts = has_factors(a.shape) ? pattern(a.shape, b_.getInt64Ty()) : nullptr;
    for (unsigned r = 0; r < lanes_; r += runs.length) {
      Value* at = run_start(a, starts, r);
      llvm::Type* part = llvm::FixedVectorType::get(type, runs.length);
      if (broadcast) {
        parts.push_back(b_.CreateVectorSplat(runs.length, b_.CreateAlignedLoad(type, at, align)));
      } else if (lanes.mask == nullptr || padded) {
        parts.push_back(b_.CreateAlignedLoad(part, at, align));
      } else {
        std::vector<int> pick;
        for (unsigned l = 0; l < runs.length; ++l) pick.push_back(static_cast<int>(r + l));
        Value* bits = runs.length == lanes_ ? lanes.bits : b_.CreateShuffleVector(lanes.bits, pick);
        parts.push_back(b_.CreateMaskedLoad(part, at, align, bits, llvm::Constant::getNullValue(part)));
      }
    }
    return concatenate(std::move(parts));
  }
  // Single elements some way apart in shared memory: whole vectors, of which the lanes pick theirs.
  if (padded && runs.length >= 8 && runs.stride > bytes && runs.stride <= 8 * bytes && runs.stride % bytes == 0 &&
      bytes >= 4) {
    std::vector<Value*> one;
    if (load_interleaved(a, type, static_cast<unsigned>(runs.stride / bytes), lanes, one)) return one[0];
  }
  if (unrolled) return load_one_by_one(a, type);
  return gather(address_lanes(a), type, lanes, is_volatile);
}

void Emitter::store_lanes(const Address& a, Value* value, const Lanes& lanes, bool is_volatile) {
  llvm::Type* type = value->getType()->getScalarType();
  const unsigned bytes = type->getScalarSizeInBits() / 8;
  const llvm::Align align(bytes);
  const bool wide_value = value->getType()->isVectorTy();
  if (a.shape.uniform()) {
    // Which lane wins is not defined; hardware lets one, here it is the last.
    if (wide_value) {
      Value* lane = b_.getInt32(31);
      if (lanes.mask != nullptr)
        lane = b_.CreateSub(b_.getInt32(31), b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {b_.getInt32Ty()},
                                                                {lanes.mask, b_.getInt1(true)}));
      value = b_.CreateExtractElement(value, lane);
    }
    b_.CreateAlignedStore(value, pointer(a.base), align, is_volatile);
    return;
  }
  if (!wide_value) value = splat(value);
  if (a.shape.linear() && !is_volatile) {
    const Runs runs = runs_of(a.shape);
    const bool blend = lanes.mask != nullptr && a.space == Space::shared && !traits_.masked_stores;
    if (runs.length >= 8 && runs.stride == bytes && (lanes.mask == nullptr || traits_.masked_stores || blend)) {
      Value* starts = has_factors(a.shape) ? pattern(a.shape, b_.getInt64Ty()) : nullptr;
      Value* past = lanes.mask == nullptr ? passes_caches(a, bytes) : nullptr;
      std::vector<std::pair<Value*, Value*>> later;
      for (unsigned r = 0; r < lanes_; r += runs.length) {
        Value* at = run_start(a, starts, r);
        std::vector<int> pick;
        for (unsigned l = 0; l < runs.length; ++l) pick.push_back(static_cast<int>(r + l));
        Value* part = runs.length == lanes_ ? value : b_.CreateShuffleVector(value, pick);
        if (lanes.mask == nullptr) {
          if (past == nullptr) b_.CreateAlignedStore(part, at, align);
          if (past != nullptr) later.emplace_back(part, at);
          continue;
        }
        Value* bits = runs.length == lanes_ ? lanes.bits : b_.CreateShuffleVector(lanes.bits, pick);
        if (blend)
          b_.CreateAlignedStore(b_.CreateSelect(bits, part, b_.CreateAlignedLoad(part->getType(), at, align)), at,
                                align);
        else
          b_.CreateMaskedStore(part, at, align, bits);
      }
      if (past != nullptr) store_either_way(past, later, align);
      return;
    }
  }
  scatter(address_lanes(a), value, lanes, is_volatile);
}

// Lanes that lie side by side, `width` elements each: long vectors, then shuffles.
bool Emitter::load_interleaved(const Address& a, llvm::Type* type, unsigned width, const Lanes& lanes,
                               std::vector<Value*>& out) {
  if (!a.shape.linear() || (lanes.mask != nullptr && a.space != Space::shared)) return false;
  const unsigned bytes = type->getScalarSizeInBits() / 8;
  const Runs runs = runs_of(a.shape);
  if (runs.length < 4 || runs.stride != static_cast<std::int64_t>(bytes) * width) return false;
  Value* starts = has_factors(a.shape) ? pattern(a.shape, b_.getInt64Ty()) : nullptr;
  llvm::Type* all = llvm::FixedVectorType::get(type, runs.length * width);
  std::vector<Value*> loaded;
  for (unsigned r = 0; r < lanes_; r += runs.length) {
    // Runs that repeat (threads of one row) are loaded once.
    unsigned same = r;
    for (unsigned o = 0; o < r && starts == nullptr; o += runs.length)
      if (constant_offset(a.shape, lane0_ + o) == constant_offset(a.shape, lane0_ + r)) same = o;
    loaded.push_back(same != r ? loaded[same / runs.length]
                               : b_.CreateAlignedLoad(all, run_start(a, starts, r), llvm::Align(bytes)));
  }
  for (unsigned e = 0; e < width; ++e) {
    std::vector<int> pick;
    for (unsigned l = 0; l < runs.length; ++l) pick.push_back(static_cast<int>(l * width + e));
    std::vector<Value*> parts;
    for (Value* v : loaded) parts.push_back(b_.CreateShuffleVector(v, pick));
    out.push_back(concatenate(std::move(parts)));
  }
  return true;
}

bool Emitter::store_interleaved(const Address& a, llvm::ArrayRef<Value*> values, const Lanes& lanes) {
  if (!a.shape.linear() || lanes.mask != nullptr) return false;
  llvm::Type* type = values[0]->getType()->getScalarType();
  const unsigned bytes = type->getScalarSizeInBits() / 8;
  const auto width = static_cast<unsigned>(values.size());
  const Runs runs = runs_of(a.shape);
  if (runs.length < 4 || runs.stride != static_cast<std::int64_t>(bytes) * width) return false;
  Value* starts = has_factors(a.shape) ? pattern(a.shape, b_.getInt64Ty()) : nullptr;
  std::vector<Value*> parts(values.begin(), values.end());
  for (Value*& p : parts)
    if (!p->getType()->isVectorTy()) p = splat(p);
  Value* all = concatenate(std::move(parts));
  for (unsigned r = 0; r < lanes_; r += runs.length) {
    std::vector<int> pick;
    for (unsigned l = r; l < r + runs.length; ++l)
      for (unsigned e = 0; e < width; ++e) pick.push_back(static_cast<int>(e * 32 + l));
    b_.CreateAlignedStore(b_.CreateShuffleVector(all, pick), run_start(a, starts, r), llvm::Align(bytes));
  }
  return true;
}

llvm::Value* Emitter::run_start(const Address& a, Value* starts, unsigned lane) {
  if (starts != nullptr) return pointer(b_.CreateAdd(a.base, b_.CreateExtractElement(starts, lane)));
  return pointer(a.base, constant_offset(a.shape, lane0_ + lane));
}

// A power of two of vectors of one length, in a row.
llvm::Value* Emitter::concatenate(std::vector<Value*> parts) {
  while (parts.size() > 1) {
    const unsigned length = llvm::cast<llvm::FixedVectorType>(parts[0]->getType())->getNumElements();
    std::vector<Value*> joined;
    std::vector<int> both;
    for (unsigned l = 0; l < 2 * length; ++l) both.push_back(static_cast<int>(l));
    for (std::size_t i = 0; i < parts.size(); i += 2)
      joined.push_back(b_.CreateShuffleVector(parts[i], parts[i + 1], both));
    parts = std::move(joined);
  }
  return parts[0];
}

void Emitter::emit_load(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  const Type type = p.type();
  llvm::Type* element_type = b_.getIntNTy(isa::bits(type));
  if (isa::is_float(type)) element_type = lane_type(context_, type);
  const unsigned width = ptx::vector_width(p);
  const std::vector<const ptx::Operand*> dst = ptx::elements_of(p.operands[0]);
  with_guard(inst, [&](const Lanes& lanes) {
    Address a = address(inst, 1, ptx::space_of(p));
    probe_access(inst, a, lanes);
    const bool is_volatile = ptx::is_ordered(p);
    if (!is_volatile && lanes.mask == nullptr) fetch_ahead(a, isa::bytes(type) * width);
    std::vector<Value*> values;
    // Parameters never change: their loads may be hoisted.
    if (a.space == Space::param && a.shape.uniform()) {
      for (unsigned e = 0; e < width; ++e) {
        llvm::LoadInst* load =
            b_.CreateAlignedLoad(element_type, pointer(a.base, e * isa::bytes(type)), llvm::Align(1));
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
        values.push_back(load);
      }
    } else if (width == 1 || is_volatile || !load_interleaved(a, element_type, width, lanes, values)) {
      for (unsigned e = 0; e < width; ++e)
        values.push_back(load_lanes(offset_by(a, e * isa::bytes(type), *this), element_type, lanes, is_volatile));
    }
    if (p.has(isa::Mod::acquire)) b_.CreateFence(llvm::AtomicOrdering::Acquire);
    for (unsigned e = 0; e < width; ++e)
      if (dst[e]->kind == ptx::Operand::Kind::reg) write(inst, dst[e]->reg, values[e], type);
  });
}

void Emitter::emit_store(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  const Type type = p.type();
  const std::vector<const ptx::Operand*> src = ptx::elements_of(p.operands[1]);
  with_guard(inst, [&](const Lanes& lanes) {
    Address a = address(inst, 0, ptx::space_of(p));
    probe_access(inst, a, lanes);
    const bool is_volatile = ptx::is_ordered(p);
    if (p.has(isa::Mod::release)) b_.CreateFence(llvm::AtomicOrdering::Release);
    std::vector<Value*> values;
    for (const ptx::Operand* o : src) {
      // Loads and stores take registers wider than the type.
      Value* v = operand(inst, *o, src.size() == 1 && inst.variable.size() > 1 ? inst.variable[1] : -1, type,
                         !operand_is_uniform(*o));
      values.push_back(v);
    }
    if (values.size() > 1 && !is_volatile && store_interleaved(a, values, lanes)) return;
    for (std::size_t e = 0; e < values.size(); ++e)
      store_lanes(offset_by(a, static_cast<std::int64_t>(e) * isa::bytes(type), *this), values[e], lanes, is_volatile);
  });
}

}  // namespace warploom::codegen
