// Functions, save areas and the control flow of the versions for full warps: branches are scalar branches; where lanes
// would part, the lane masks go into the context and the warp goes on in the masked version.
#include <cstddef>

#include "codegen/emitter.hpp"
#include "codegen/texture_op.hpp"
#include "ir/cfg.hpp"
#include "ir/webs.hpp"

namespace warploom::codegen {

using ir::BlockId;
using ir::Inst;
using ir::ValueId;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

// Above this the masks of blocks stay in memory: as variables they would cost a phi in every block.
constexpr std::size_t kMaxPendingVariables = 40;

}  // namespace

llvm::Value* Emitter::field_address(std::size_t offset) {
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), ctx_, offset);
}

llvm::Value* Emitter::field(std::size_t offset, llvm::Type* type, bool invariant) {
  llvm::LoadInst* load = b_.CreateLoad(type, field_address(offset));
  if (invariant) load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

llvm::Value* Emitter::block_field_address(std::size_t offset) {
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), first_, offset);
}

llvm::Value* Emitter::block_field(std::size_t offset, llvm::Type* type) {
  llvm::LoadInst* load = b_.CreateLoad(type, block_field_address(offset));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

void Emitter::set_field(std::size_t offset, Value* value) { b_.CreateStore(value, field_address(offset)); }

llvm::Value* Emitter::call_host(const char* name, llvm::Type* result, llvm::ArrayRef<Value*> args) {
  std::vector<llvm::Type*> types;
  for (Value* a : args) types.push_back(a->getType());
  llvm::FunctionCallee callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  llvm::CallInst* call = b_.CreateCall(callee, args);
  call->setDoesNotThrow();
  return call;
}

// Leaves the warp's code; in the block version a warp that changes versions does so on its own.
void Emitter::leave(Exit code) {
  if (mode_ == Mode::block && (code == Exit::to_masked || code == Exit::to_conservative))
    part_warp(code);
  else
    b_.CreateRet(b_.getInt32(static_cast<std::uint32_t>(code)));
}

void Emitter::set_debug_line(BlockId b, std::size_t i) {
  if (debug_scope_ == nullptr) return;
  debug_lines_.emplace_back(b, i);
  b_.SetCurrentDebugLocation(
      llvm::DILocation::get(context_, static_cast<unsigned>(debug_lines_.size()), 0, debug_scope_));
}

// --- lane masks of the masked version

llvm::Value* Emitter::lane_array(std::size_t field_offset, BlockId b) {
  Value* base = field(field_offset, b_.getPtrTy(), true);
  return b_.CreateConstInBoundsGEP1_64(b_.getInt32Ty(), base, static_cast<std::uint64_t>(b));
}

llvm::Value* Emitter::pending(BlockId b) {
  if (!pending_.empty()) return b_.CreateLoad(b_.getInt32Ty(), pending_[idx(b)]);
  return b_.CreateLoad(b_.getInt32Ty(), lane_array(offsetof(WarpContext, pending), b));
}

void Emitter::set_pending(BlockId b, Value* mask) {
  b_.CreateStore(mask, pending_.empty() ? lane_array(offsetof(WarpContext, pending), b) : pending_[idx(b)]);
}

void Emitter::add_pending(BlockId b, Value* mask) { set_pending(b, b_.CreateOr(pending(b), mask)); }

void Emitter::flush_pending() {
  for (std::size_t b = 0; b < pending_.size(); ++b)
    b_.CreateStore(b_.CreateLoad(b_.getInt32Ty(), pending_[b]),
                   lane_array(offsetof(WarpContext, pending), static_cast<BlockId>(b)));
}

void Emitter::fetch_pending() {
  for (std::size_t b = 0; b < pending_.size(); ++b)
    b_.CreateStore(b_.CreateLoad(b_.getInt32Ty(), lane_array(offsetof(WarpContext, pending), static_cast<BlockId>(b))),
                   pending_[b]);
}

// --- the function

void Emitter::create_function() {
  fn_ = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy()}, false),
                               llvm::Function::ExternalLinkage, function_name_, module_);
  fn_->addFnAttr(llvm::Attribute::NoUnwind);
  const std::string width = std::to_string(traits_.vector_bytes * 8);
  fn_->addFnAttr("prefer-vector-width", width);
  fn_->addFnAttr("min-legal-vector-width", width);
  fn_->addFnAttr("denormal-fp-math", "ieee,ieee");
  fn_->addParamAttr(0, llvm::Attribute::NoAlias);
  fn_->addParamAttr(0, llvm::Attribute::NoUndef);
  // Loads of what does not change may leave loops.
  fn_->addParamAttr(0, llvm::Attribute::getWithDereferenceableBytes(context_, sizeof(WarpContext)));
  ctx_ = first_ = fn_->getArg(0);
  entry_ = new_block("entry");
  values_.assign(plan_.f().values.size(), nullptr);
  if (mode_ == Mode::block) return;
  for (std::size_t b = 0; b < plan_.f().blocks.size(); ++b) blocks_.push_back(new_block("b" + llvm::Twine(b)));
}

Result<void> Emitter::run() {
  const ir::Function& f = plan_.f();
  create_function();
  // Debug lines number instructions, so that a faulting address leads back to one.
  {
    llvm::DIBuilder dib(module_);
    llvm::DIFile* file = dib.createFile(f.name, "");
    dib.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), file, "warploom", true, "", 0);
    debug_scope_ = dib.createFunction(file, f.name, function_name_, file, 0, dib.createSubroutineType({}), 0,
                                      llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
    fn_->setSubprogram(debug_scope_);
    dib.finalize();
  }
  b_.SetInsertPoint(entry_);
  carry_ = entry_alloca(wide(b_.getInt1Ty()), "carry");
  if (mode_ == Mode::block) {
    WL_TRY(run_block_version());
    separate_scopes();
    return {};
  }
  if (masked()) {
    dispatch_ = new_block("dispatch");
    if (mode_ == Mode::masked && has_many_merges()) {
      saved_area_ = save_area();
      saved_scope_ = new_scope("saved");
    }
    if (f.blocks.size() <= kMaxPendingVariables)
      for (std::size_t b = 0; b < f.blocks.size(); ++b)
        pending_.push_back(entry_alloca(b_.getInt32Ty(), "pending" + llvm::Twine(b)));
  }
  for (std::size_t b = 0; b < f.blocks.size(); ++b) WL_TRY(emit_block(static_cast<BlockId>(b)));
  if (masked()) emit_dispatch();
  b_.SetCurrentDebugLocation(llvm::DILocation::get(context_, 0, 0, debug_scope_));
  emit_entry();
  separate_scopes();
  return {};
}

void Emitter::emit_entry() {
  const ir::Function& f = plan_.f();
  b_.SetInsertPoint(entry_);
  Value* entry = field(offsetof(WarpContext, entry), b_.getInt32Ty());
  fetch_pending();
  llvm::BasicBlock* bad = new_block("bad_entry");
  llvm::SwitchInst* table = b_.CreateSwitch(entry, bad);
  b_.SetInsertPoint(bad);
  b_.CreateUnreachable();

  const auto add = [&](std::int32_t id, const LiveSet& live, BlockId target) {
    llvm::BasicBlock* at = new_block("enter" + llvm::Twine(id));
    table->addCase(llvm::cast<llvm::ConstantInt>(b_.getInt32(static_cast<std::uint32_t>(id))), at);
    b_.SetInsertPoint(at);
    restore(live);
    if (id == 0) clear_saved();
    b_.CreateBr(blocks_[idx(target)]);
  };
  add(0, LiveSet(f.live_in[0].size(), 0), 0);
  if (!masked()) {
    for (std::size_t b = 1; b < f.blocks.size(); ++b) {
      bool enters =
          plan_.returns_to_uniform[b] || f.blocks[b].spin_loop || (plan_.enters_loops && f.blocks[b].loop_last >= 0);
      if (enters) add(static_cast<std::int32_t>(b), live_at(static_cast<BlockId>(b)), static_cast<BlockId>(b));
    }
    return;
  }
  if (mode_ == Mode::masked)
    for (std::size_t b = 0; b < f.blocks.size(); ++b) {
      const ptx::Instr* t = terminator(static_cast<BlockId>(b));
      if (t == nullptr || f.blocks[b].succs.size() < 2) continue;
      const bool diverges = (t->guard >= 0 && !shape(t->guard).uniform()) ||
                            (t->op == isa::Op::brx && !operand_is_uniform(t->operands[0]));
      if (!diverges) continue;
      LiveSet live = live_at(f.blocks[b].succs[0]);
      BlockId first = f.blocks[b].succs[0];
      for (BlockId s : f.blocks[b].succs) {
        const LiveSet more = live_at(s);
        for (std::size_t w = 0; w < live.size(); ++w) live[w] |= more[w];
        first = std::min(first, s);
      }
      // Named by the branch's block, shifted past the entries that are block starts.
      add(static_cast<std::int32_t>(f.blocks.size() + b), live, first);
    }
  add(kEntryResume, everything(), 0);
}

const ptx::Instr* Emitter::terminator(BlockId b) const {
  const ir::Block& block = plan_.f().blocks[idx(b)];
  if (block.insts.empty()) return nullptr;
  const ptx::Instr& p = block.insts.back().p;
  return p.op == isa::Op::bra || p.op == isa::Op::brx ? &p : nullptr;
}

Result<void> Emitter::emit_block(BlockId b) {
  if (lanes_ == 32) {
    if (grouped_ >= 0 && b > grouped_ && b <= plan_.f().blocks[idx(grouped_)].loop_last) return {};
    if (group_lanes(b) < 32) return emit_group_loop(b);
  }
  block_ = b;
  if (!masked()) {
    b_.SetInsertPoint(blocks_[idx(b)]);
  } else if (continues(b)) {
    // Same lanes as the block before, whose end falls through to here.
    b_.SetInsertPoint(blocks_[idx(b)]);
  } else {
    enter_masked_block(b);
  }
  open_body();
  WL_TRY(emit_body(b));
  close_body();
  if (masked())
    end_masked_block(b);
  else
    WL_TRY(end_uniform_block(b));
  return {};
}

Result<void> Emitter::emit_body(BlockId b) {
  const ir::Block& block = plan_.f().blocks[idx(b)];
  probe_block(b);
  for (std::size_t i = 0; i < block.insts.size(); ++i) {
    const Inst& inst = block.insts[i];
    const isa::Op op = inst.p.op;
    if (op == isa::Op::bra || op == isa::Op::brx || op == isa::Op::exit || op == isa::Op::ret ||
        ir::is_block_barrier(inst.p))
      continue;
    index_ = i;
    set_debug_line(b, i);
    bool is_signed = false;
    if (i == 0 && mode_ != Mode::conservative && passes::is_widening(inst.p, is_signed) &&
        shape(inst.p.operands[0].reg).linear())
      check_widening(b, inst);
    WL_TRY(emit_instruction(inst));
  }
  return {};
}

Result<void> Emitter::emit_instruction(const Inst& inst) {
  if (ptx::flow_of(inst.p) == isa::Flow::native) return emit_native(inst);
  const isa::Row& row = isa::row(inst.p.op);
  if (is_texture(inst.p)) return emit_texture(inst);
  switch (row.flow) {
    case isa::Flow::pure:
      if (inst.p.op == isa::Op::cvta && inst.p.has(isa::Mod::local)) break;
      if (inst.p.op == isa::Op::cvta || inst.p.op == isa::Op::createpolicy) break;
      return emit_pure_instruction(inst);
    case isa::Flow::load: emit_load(inst); return {};
    case isa::Flow::store: emit_store(inst); return {};
    case isa::Flow::atomic: return emit_atomic(inst);
    case isa::Flow::fence:
      b_.CreateFence(inst.p.has(isa::Mod::cta) ? llvm::AtomicOrdering::AcquireRelease
                                               : llvm::AtomicOrdering::SequentiallyConsistent);
      return {};
    case isa::Flow::call:
    case isa::Flow::trap:
    case isa::Flow::hint:
    case isa::Flow::clock: return emit_call(inst);
    case isa::Flow::warp_sync: return emit_warp(inst);
    case isa::Flow::barrier:
      if (inst.p.has(isa::Mod::warp)) return emit_warp(inst);
      if (inst.p.has(isa::Mod::arrive)) return emit_call(inst);
      break;
    default: break;
  }
  if (inst.p.op == isa::Op::createpolicy) {
    // Policies steer caches that this device does not have.
    const ValueId d = inst.p.operands[0].reg;
    Value* none = b_.getInt64(0);
    write(inst, d, shape(d).varying() ? splat(none) : none, isa::Type::b64);
    return {};
  }
  if (inst.p.op == isa::Op::cvta) {
    // Window offset <-> generic address; only local and shared windows do not start at 0.
    const bool to = inst.p.has(isa::Mod::to);
    const bool is_shared = ptx::space_of(inst.p) == isa::Space::shared;
    const bool is_local = inst.p.has(isa::Mod::local), is_param = inst.p.has(isa::Mod::param);
    const isa::Type type = inst.p.type();
    const ValueId d = inst.p.operands[0].reg;
    const bool want_wide = shape(d).varying() && !(operand_is_uniform(inst.p.operands[1]) && !is_local);
    Value* a = convert(operand(inst, 1, type, want_wide), type, isa::Type::b64);
    if (is_shared || is_local || is_param) {
      const std::size_t at = is_shared  ? offsetof(WarpContext, shared)
                             : is_local ? offsetof(WarpContext, local)
                                        : offsetof(WarpContext, params);
      Value* start = is_local ? field(at, b_.getPtrTy(), true) : block_field(at, b_.getPtrTy());
      Value* window = b_.CreatePtrToInt(start, b_.getInt64Ty());
      if (want_wide) window = splat(window);
      if (is_local && want_wide) {
        std::vector<std::uint64_t> stride(32);
        for (std::size_t l = 0; l < 32; ++l) stride[l] = l * plan_.f().local_bytes;
        window = b_.CreateAdd(window, llvm::ConstantDataVector::get(context_, stride));
      }
      a = to ? b_.CreateSub(a, window) : b_.CreateAdd(a, window);
    }
    write(inst, d, a, isa::Type::b64);
    return {};
  }
  return unsupported(inst, std::string(row.reason));
}

void Emitter::with_guard(const Inst& inst, const std::function<void(const Lanes&)>& body) {
  if (inst.p.guard < 0) {
    body(current());
    return;
  }
  llvm::BasicBlock* then = new_block("guarded");
  llvm::BasicBlock* after = new_block("after");
  Lanes lanes = current();
  if (guard_is_uniform(inst)) {
    b_.CreateCondBr(guard_scalar(inst), then, after);
    b_.SetInsertPoint(then);
    body(lanes);
  } else {
    lanes.bits = guard_bits(inst);
    if (mask_bits_ != nullptr) lanes.bits = b_.CreateAnd(lanes.bits, mask_bits_);
    lanes.mask = to_mask(lanes.bits);
    b_.CreateCondBr(b_.CreateICmpNE(lanes.mask, b_.getInt32(0)), then, after);
    b_.SetInsertPoint(then);
    body(lanes);
  }
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// --- uniform version

void Emitter::go_to(BlockId from, BlockId to) {
  if (lanes_ != 32) {
    b_.CreateBr(blocks_[idx(to)]);
  } else if (mode_ == Mode::block && plan_.ends_region(from, to)) {
    const std::uint32_t turn = plan_.f().blocks[idx(from)].ends_with_barrier ? 1 : plan_.lockstep[idx(to)];
    if (turn > 1) {
      Value* count = b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), turn_), b_.getInt32(1));
      b_.CreateStore(count, turn_);
      llvm::BasicBlock* over = new_block("turn_over");
      b_.CreateCondBr(b_.CreateICmpEQ(count, b_.getInt32(turn)), over, blocks_[idx(to)]);
      b_.SetInsertPoint(over);
    }
    end_warp(to);
  } else if (plan_.f().blocks[idx(to)].spin_loop && to <= from) {
    // The back edge of a spin loop lets others run now and then.
    spin_yield(to);
  } else {
    b_.CreateBr(blocks_[idx(to)]);
  }
}

Result<void> Emitter::end_uniform_block(BlockId b) {
  const ir::Block& block = plan_.f().blocks[idx(b)];
  const auto jump = [&](BlockId s) { go_to(b, s); };
  if (block.ends && mode_ == Mode::block) {
    end_warp(kPartDone);
    return {};
  }
  if (block.ends) {
    leave(Exit::done);
    return {};
  }
  if (block.ends_with_barrier) {
    emit_barrier(b, block.insts.back());
    return {};
  }
  const ptx::Instr* t = terminator(b);
  if (block.succs.size() == 1 || t == nullptr) {
    jump(block.succs[0]);
    return {};
  }
  const Inst& inst = block.insts.back();
  const auto part = [&](llvm::ArrayRef<std::pair<BlockId, Value*>> ways) {
    probe_divergence(inst);
    for (const auto& [s, mask] : ways) add_pending(s, mask);
    LiveSet live = live_at(block.succs[0]);
    for (BlockId s : block.succs) {
      const LiveSet more = live_at(s);
      for (std::size_t w = 0; w < live.size(); ++w) live[w] |= more[w];
    }
    save(live);
    set_field(offsetof(WarpContext, entry), b_.getInt32(static_cast<std::uint32_t>(plan_.f().blocks.size() + idx(b))));
    leave(Exit::to_masked);
  };
  if (t->op == isa::Op::bra) {
    llvm::BasicBlock* taken = new_block("taken");
    llvm::BasicBlock* fall = new_block("fall");
    if (guard_is_uniform(inst)) {
      b_.CreateCondBr(guard_scalar(inst), taken, fall);
    } else {
      Value* m = to_mask(guard_bits(inst));
      llvm::BasicBlock* not_all = new_block("not_all");
      llvm::BasicBlock* diverge = new_block("diverge");
      b_.CreateCondBr(b_.CreateICmpEQ(m, b_.getInt32(0xFFFFFFFF)), taken, not_all);
      b_.SetInsertPoint(not_all);
      b_.CreateCondBr(b_.CreateICmpEQ(m, b_.getInt32(0)), fall, diverge);
      b_.SetInsertPoint(diverge);
      if (!plan_.arms[idx(b)].blocks.empty()) {
        probe_divergence(inst);
        WL_TRY(emit_arms(b, m));
      } else {
        part({{block.succs[0], m}, {block.succs[1], b_.CreateNot(m)}});
      }
    }
    b_.SetInsertPoint(taken);
    jump(block.succs[0]);
    b_.SetInsertPoint(fall);
    jump(block.succs[1]);
    return {};
  }
  // brx.idx
  const std::size_t targets = block.succs.size() - (t->guard >= 0 ? 1 : 0);
  if (operand_is_uniform(t->operands[0]) && t->guard < 0) {
    Value* index = operand(inst, 0, isa::Type::u32, false);
    // PTX does not say what an index without a target does: it takes the last one.
    llvm::BasicBlock* last = new_block("last_case");
    llvm::SwitchInst* table = b_.CreateSwitch(index, last);
    for (std::size_t k = 0; k < targets; ++k) {
      llvm::BasicBlock* at = k + 1 == targets ? last : new_block("case");
      if (at != last) table->addCase(b_.getInt32(static_cast<std::uint32_t>(k)), at);
      b_.SetInsertPoint(at);
      jump(block.succs[k]);
    }
    return {};
  }
  Value* index = operand(inst, 0, isa::Type::u32, true);
  Value* rest = b_.getInt32(0xFFFFFFFF);
  std::vector<std::pair<BlockId, Value*>> ways;
  if (t->guard >= 0) {
    Value* g = to_mask(guard_is_uniform(inst) ? splat(guard_scalar(inst)) : guard_bits(inst));
    ways.emplace_back(block.succs.back(), b_.CreateNot(g));
    rest = g;
  }
  for (std::size_t k = 0; k < targets; ++k) {
    if (k + 1 == targets) {
      ways.emplace_back(block.succs[k], rest);
      break;
    }
    Value* here = to_mask(b_.CreateICmpEQ(index, splat(b_.getInt32(static_cast<std::uint32_t>(k)))));
    here = b_.CreateAnd(here, rest);
    ways.emplace_back(block.succs[k], here);
    rest = b_.CreateAnd(rest, b_.CreateNot(here));
  }
  part(ways);
  return {};
}

void Emitter::spin_yield(BlockId header) {
  Value* spins = b_.CreateAdd(field(offsetof(WarpContext, spins), b_.getInt32Ty()), b_.getInt32(1));
  set_field(offsetof(WarpContext, spins), spins);
  llvm::BasicBlock* out = new_block("spin_yield");
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(spins, b_.getInt32(15)), b_.getInt32(0)), out, blocks_[idx(header)]);
  b_.SetInsertPoint(out);
  save(live_at(header));
  set_field(offsetof(WarpContext, entry), b_.getInt32(static_cast<std::uint32_t>(header)));
  leave(Exit::yield);
}

// --- barriers

void Emitter::emit_barrier(BlockId b, const Inst& inst) {
  const BlockId next = plan_.f().blocks[idx(b)].succs[0];
  if (mode_ == Mode::block) {
    end_warp(next);
    return;
  }
  const ptx::Instr& p = inst.p;
  const auto scalar = [&](std::size_t k) {
    if (operand_is_uniform(p.operands[k])) return operand(inst, k, isa::Type::u32, false);
    Value* lane =
        b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {mask_or_all(current()), b_.getInt1(true)});
    return b_.CreateExtractElement(operand(inst, k, isa::Type::u32, true), lane);
  };
  const auto arrive = [&] {
    set_field(offsetof(WarpContext, barrier_id), p.operands.empty() ? b_.getInt32(0) : scalar(0));
    const bool reduces = p.has(isa::Mod::red);
    const bool counted = p.operands.size() == (reduces ? 3U : 2U);
    set_field(offsetof(WarpContext, barrier_threads), counted ? scalar(1) : b_.getInt32(0));
    if (reduces) {
      Value* yes = to_mask(operand(inst, p.operands.size() - 1, isa::Type::pred, true));
      yes = b_.CreateAnd(yes, mask_or_all(current()));
      set_field(offsetof(WarpContext, barrier_true),
                b_.CreateOr(field(offsetof(WarpContext, barrier_true), b_.getInt32Ty()), yes));
    }
  };
  if (!masked()) {
    arrive();
    save(live_at(next));
    set_field(offsetof(WarpContext, entry), b_.getInt32(static_cast<std::uint32_t>(next)));
    leave(Exit::barrier);
    return;
  }
  arrive();
  set_field(offsetof(WarpContext, at_barrier),
            b_.CreateOr(field(offsetof(WarpContext, at_barrier), b_.getInt32Ty()), mask_));
  Value* at = lane_array(offsetof(WarpContext, barrier_pending), next);
  b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), at), mask_), at);
  if (mode_ == Mode::conservative || ir::waits_aligned(p)) return;
  // The others may go on meanwhile: see enter_masked_block.
  llvm::BasicBlock* apart = new_block("apart");
  llvm::BasicBlock* together = new_block("together");
  b_.CreateCondBr(b_.CreateICmpEQ(mask_, field(offsetof(WarpContext, live), b_.getInt32Ty())), together, apart);
  b_.SetInsertPoint(apart);
  flush_pending();
  save(everything());
  leave(Exit::to_conservative);
  b_.SetInsertPoint(together);
}

// A 32-bit lane pattern carries over to 64 bits only if no lane wraps. If one does, the warp goes on in the
// conservative version, from the start of this block.
void Emitter::check_widening(BlockId b, const Inst& inst) {
  const ptx::Instr& p = inst.p;
  bool is_signed = false;
  passes::is_widening(p, is_signed);
  const isa::Type from = p.op == isa::Op::cvt ? p.type(1) : p.type();
  const unsigned bits = isa::bits(from);
  Value* failed = nullptr;
  for (std::size_t k = 1; k < p.operands.size() && k < 3; ++k) {
    const ptx::Operand& o = p.operands[k];
    if (p.op == isa::Op::cvt && k > 1) break;
    if (o.kind != ptx::Operand::Kind::reg || !shape(o.reg).linear() || passes::widens_safely(shape(o.reg), from))
      continue;
    const ir::Shape& s = shape(o.reg);
    Value* base = convert(load_base(o.reg), plan_.storage[idx(o.reg)], bits == 16 ? isa::Type::b16 : isa::Type::b32);
    Value* base64 = is_signed ? b_.CreateSExt(base, b_.getInt64Ty()) : b_.CreateZExt(base, b_.getInt64Ty());
    Value *low = base64, *high = base64;
    for (const ir::Term& t : s.terms) {
      const auto [min, max] = std::minmax_element(t.pattern.begin(), t.pattern.end());
      if (t.mult < 0) {
        low = b_.CreateAdd(low, b_.getInt64(static_cast<std::uint64_t>(*min)));
        high = b_.CreateAdd(high, b_.getInt64(static_cast<std::uint64_t>(*max)));
      } else {
        Value* factor = to_bits(load_base(t.mult), plan_.storage[idx(t.mult)]);
        factor = t.widen == 2 ? b_.CreateZExtOrTrunc(factor, b_.getInt64Ty())
                              : b_.CreateSExtOrTrunc(factor, b_.getInt64Ty());
        Value* x = b_.CreateMul(factor, b_.getInt64(static_cast<std::uint64_t>(*min)));
        Value* y = b_.CreateMul(factor, b_.getInt64(static_cast<std::uint64_t>(*max)));
        Value* swap = b_.CreateICmpSLT(x, y);
        low = b_.CreateAdd(low, b_.CreateSelect(swap, x, y));
        high = b_.CreateAdd(high, b_.CreateSelect(swap, y, x));
      }
    }
    const std::int64_t half = std::int64_t{1} << (bits - 1);
    const std::int64_t least = is_signed ? -half : 0, most = is_signed ? half - 1 : 2 * half - 1;
    Value* bad = b_.CreateOr(b_.CreateICmpSLT(low, b_.getInt64(static_cast<std::uint64_t>(least))),
                             b_.CreateICmpSGT(high, b_.getInt64(static_cast<std::uint64_t>(most))));
    failed = failed == nullptr ? bad : b_.CreateOr(failed, bad);
  }
  if (failed == nullptr) return;
  llvm::BasicBlock* out = new_block("wraps");
  llvm::BasicBlock* on = new_block("fits");
  llvm::MDBuilder md(context_);
  b_.CreateCondBr(failed, out, on, md.createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(out);
  add_pending(b, mask_or_all(current()));
  if (masked() || arms_ != nullptr) {
    // Others may be pending anywhere, so all values go.
    if (arms_ != nullptr)
      leave_arms(b);
    else
      flush_pending();
    save(everything());
  } else {
    save(live_at(b));
  }
  set_field(offsetof(WarpContext, entry), b_.getInt32(static_cast<std::uint32_t>(b)));
  leave(Exit::to_conservative);
  b_.SetInsertPoint(on);
}

}  // namespace warploom::codegen
