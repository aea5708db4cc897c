// Probes: counting of memory traffic and divergence, in closed form wherever lane shapes allow it (design section 7).
#include <algorithm>
#include <cstddef>
#include <iterator>

#include "codegen/emitter.hpp"
#include "codegen/lane_runs.hpp"
#include "ir/webs.hpp"

namespace warploom::codegen {

using ir::BlockId;
using ir::Inst;
using isa::Space;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

void Emitter::add_counter(std::size_t index, Value* amount) {
  Value* base = block_field(offsetof(WarpContext, counters), b_.getPtrTy());
  Value* at = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), base, index);
  llvm::LoadInst* old = b_.CreateLoad(b_.getInt64Ty(), at);
  llvm::StoreInst* store = b_.CreateStore(b_.CreateAdd(old, amount), at);
  if (counter_scope_ == nullptr) counter_scope_ = new_scope("counters");
  old->setMetadata(llvm::LLVMContext::MD_alias_scope, counter_scope_);
  store->setMetadata(llvm::LLVMContext::MD_alias_scope, counter_scope_);
}

llvm::MDNode* Emitter::new_scope(const char* name) {
  llvm::MDBuilder md(context_);
  return llvm::MDNode::get(context_, {md.createAnonymousAliasScope(md.createAnonymousAliasScopeDomain(name), name)});
}

// Nothing else points at the counters and the values in the save area, so they may be kept in registers meanwhile.
void Emitter::separate_scopes() {
  if (counter_scope_ == nullptr && saved_scope_ == nullptr) return;
  llvm::MDNode* both = llvm::MDNode::concatenate(counter_scope_, saved_scope_);
  for (llvm::BasicBlock& block : *fn_)
    for (llvm::Instruction& i : block) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
      const bool intrinsic = call != nullptr && call->getIntrinsicID() != llvm::Intrinsic::not_intrinsic;
      if (!intrinsic && !llvm::isa<llvm::LoadInst, llvm::StoreInst>(i)) continue;
      llvm::MDNode* own = i.getMetadata(llvm::LLVMContext::MD_alias_scope);
      llvm::MDNode* others = own == nullptr ? both : own == saved_scope_ ? counter_scope_ : saved_scope_;
      if (others != nullptr && i.mayReadOrWriteMemory()) i.setMetadata(llvm::LLVMContext::MD_noalias, others);
    }
}

void Emitter::probe_block(BlockId b) {
  if (!plan_.counting) return;
  const CounterLayout layout{plan_.f().blocks.size(), plan_.sites.size()};
  if (mask_ == nullptr) {
    add_counter(layout.block(idx(b)), b_.getInt64(1));
    return;
  }
  add_counter(layout.block(idx(b)) + 1, b_.getInt64(1));
  Value* lanes = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask_);
  add_counter(layout.block(idx(b)) + 2, b_.CreateZExt(lanes, b_.getInt64Ty()));
}

void Emitter::probe_divergence(const Inst& inst) {
  if (!plan_.counting || inst.site < 0) return;
  const CounterLayout layout{plan_.f().blocks.size(), plan_.sites.size()};
  add_counter(layout.site(idx(inst.site)), b_.getInt64(1));
}

// Of a branch under a mask: its lanes go both ways only if there are some of each.
void Emitter::count_divergence(const Inst& inst, Value* taken, Value* rest) {
  const CounterLayout layout{plan_.f().blocks.size(), plan_.sites.size()};
  Value* both = b_.CreateAnd(b_.CreateICmpNE(taken, b_.getInt32(0)), b_.CreateICmpNE(rest, b_.getInt32(0)));
  add_counter(layout.site(idx(inst.site)), b_.CreateZExt(both, b_.getInt64Ty()));
}

// Sectors of an access by a full warp whose lanes lie at fixed distances: they depend on the base modulo 32 alone.
llvm::Value* Emitter::count_runs(const Address& a, std::uint32_t bytes, observe::AccessKind kind) {
  if (!a.shape.constant_pattern()) return nullptr;
  std::vector<std::uint32_t> table;
  for (std::uint64_t phase = 0; phase < 32; ++phase) {
    std::uint64_t lanes[32];
    for (std::size_t l = 0; l < 32; ++l)
      lanes[l] = (1ULL << 40) + phase + static_cast<std::uint64_t>(a.shape.terms[0].pattern[l]);
    table.push_back(observe::is_atomic(kind) ? observe::count_atomic_sectors(lanes, 0xFFFFFFFF, bytes)
                                             : observe::count_sectors(lanes, 0xFFFFFFFF, bytes));
  }
  llvm::Constant* data = llvm::ConstantDataArray::get(context_, table);
  auto* global =
      new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "sectors");
  Value* phase = b_.CreateAnd(a.base, b_.getInt64(31));
  return b_.CreateZExt(b_.CreateLoad(b_.getInt32Ty(), b_.CreateInBoundsGEP(b_.getInt32Ty(), global, phase)),
                       b_.getInt64Ty());
}

// Sectors of an access by a full warp in a few dense runs that lie a run-time distance apart: the rows of a tile. The
// runs are of one length, so that in ascending order each adds what lies past the one before. nullptr where that is
// not so; `ascends` says at run time whether it is.
llvm::Value* Emitter::count_rows(const Address& a, std::uint32_t bytes, Value*& ascends) {
  if (!a.shape.linear()) return nullptr;
  const ir::Term* factor = nullptr;
  for (const ir::Term& t : a.shape.terms) {
    if (t.mult < 0) continue;
    if (factor != nullptr) return nullptr;
    factor = &t;
  }
  const Runs runs = find_runs(a.shape);
  if (factor == nullptr || runs.length < 4 || runs.stride < 0 || runs.stride > 32) return nullptr;
  for (unsigned r = runs.length; r < 32; r += runs.length) {
    if (factor->pattern[r] < factor->pattern[r - runs.length]) return nullptr;
    for (const ir::Term& t : a.shape.terms)
      if (t.mult < 0 && t.pattern[r] < t.pattern[r - runs.length]) return nullptr;
  }
  Value* mult = to_bits(load_base(factor->mult), plan_.storage[idx(factor->mult)]);
  ascends = b_.CreateICmpSGE(mult, llvm::ConstantInt::get(mult->getType(), 0));
  Value* lanes = pattern(a.shape, b_.getInt64Ty());
  const std::uint64_t span = static_cast<std::uint64_t>(runs.stride) * (runs.length - 1) + bytes - 1;
  Value *count = nullptr, *covered = nullptr;
  for (unsigned r = 0; r < 32; r += runs.length) {
    Value* start = b_.CreateAdd(a.base, b_.CreateExtractElement(lanes, r));
    Value* first = b_.CreateLShr(start, 5);
    Value* end = b_.CreateAdd(b_.CreateLShr(b_.CreateAdd(start, b_.getInt64(span)), 5), b_.getInt64(1));
    if (covered != nullptr) first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, first, covered);
    Value* more = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(end, first), b_.getInt64(0));
    count = count == nullptr ? more : b_.CreateAdd(count, more);
    covered = end;
  }
  return count;
}

// Sectors of an access by a full warp at one distance from lane to lane that is known at run time: a column of a
// matrix.
llvm::Value* Emitter::count_progression(const Address& a, std::uint32_t bytes) {
  if (!a.shape.linear()) return nullptr;
  for (const ir::Term& t : a.shape.terms)
    for (std::size_t l = 2; l < 32; ++l)
      if (t.pattern[l] - t.pattern[l - 1] != t.pattern[1] - t.pattern[0]) return nullptr;
  Value* lanes = pattern(a.shape, b_.getInt64Ty());
  Value* first = b_.CreateAdd(a.base, b_.CreateExtractElement(lanes, std::uint64_t{0}));
  Value* last = b_.CreateAdd(a.base, b_.CreateExtractElement(lanes, std::uint64_t{31}));
  Value* low = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, first, last);
  Value* high = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, first, last);
  // Up to 32 bytes apart every sector between is touched; further apart each lane has sectors of its own.
  Value* end = b_.CreateLShr(b_.CreateAdd(high, b_.getInt64(bytes - 1)), 5);
  Value* range = b_.CreateAdd(b_.CreateSub(end, b_.CreateLShr(low, 5)), b_.getInt64(1));
  Value* dense = b_.CreateICmpULE(b_.CreateSub(high, low), b_.getInt64(31 * 32));
  return b_.CreateSelect(dense, range, b_.getInt64(std::uint64_t{32} * std::max(1U, bytes / 32)));
}

void Emitter::stop_unless(Value* good) {
  llvm::BasicBlock* bad = new_block("failed");
  llvm::BasicBlock* on = new_block("good");
  b_.CreateCondBr(b_.CreateICmpNE(good, b_.getInt32(0)), on, bad);
  b_.SetInsertPoint(bad);
  leave(Exit::error);
  b_.SetInsertPoint(on);
}

void Emitter::check_access(const Inst& inst, const Address& a, const Lanes& lanes, std::uint32_t bytes) {
  Value* at = spill(address_lanes(a), "checked");
  stop_unless(call_host(
      "warploom_check", b_.getInt32Ty(),
      {ctx_, at, mask_or_all(lanes), b_.getInt32(bytes), b_.getInt32(static_cast<std::uint32_t>(inst.site))}));
}

void Emitter::stop_if_misaligned(Value* bad, Value* mask, unsigned known, std::uint32_t bytes,
                                 const std::function<Value*()>& at) {
  llvm::BasicBlock* out = new_block("misaligned");
  llvm::BasicBlock* on = new_block("aligned");
  llvm::MDBuilder md(context_);
  b_.CreateCondBr(bad, out, on, md.createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(out);
  call_host("warploom_misaligned", b_.getVoidTy(),
            {ctx_, at(), mask, b_.getInt32(known), b_.getInt32(bytes), b_.getInt32(static_cast<std::uint32_t>(block_)),
             b_.getInt32(static_cast<std::uint32_t>(index_))});
  leave(Exit::error);
  b_.SetInsertPoint(on);
}

// PTX wants every access at a multiple of its size (PTX ISA section 6.4.1). What the pattern and the windows decide is
// decided here; what is left is one test that leaves loops with the base.
void Emitter::check_alignment(const Inst& inst, const Address& a, const Lanes& lanes) {
  const std::uint32_t bytes = isa::bytes(inst.p.type()) * ptx::vector_width(inst.p);
  if (bytes < 2 || a.space == Space::param) return;
  const std::uint64_t low = bytes - 1;
  Value* bad = nullptr;
  bool by_base = a.wide == nullptr;
  if (a.shape.linear())
    for (const ir::Term& t : a.shape.terms)
      for (std::int64_t x : t.pattern) by_base = by_base && (static_cast<std::uint64_t>(x) & low) == 0;
  if (by_base) {
    bad = b_.CreateICmpNE(b_.CreateAnd(a.base, b_.getInt64(low)), b_.getInt64(0));
  } else {
    Value* odd = b_.CreateICmpNE(b_.CreateAnd(address_lanes(a), splat(b_.getInt64(low))), splat(b_.getInt64(0)));
    if (lanes.bits != nullptr) odd = b_.CreateAnd(odd, lanes.bits);
    bad = b_.CreateICmpNE(to_mask(odd), b_.getInt32(0));
  }
  // Where the base decides, all lanes are off alike, and the first one speaks for them.
  stop_if_misaligned(bad, mask_or_all(lanes), by_base ? 1 : 32, bytes,
                     [&] { return spill(by_base ? a.base : address_lanes(a), "misplaced"); });
}

void Emitter::probe_access(const Inst& inst, const Address& a, const Lanes& lanes) {
  if (inst.site < 0) return;
  check_alignment(inst, a, lanes);
  if (plan_.checking) check_access(inst, a, lanes, isa::bytes(inst.p.type()) * ptx::vector_width(inst.p));
  if (!plan_.counting || a.space == Space::param || a.space == Space::constant) return;
  const CounterLayout layout{plan_.f().blocks.size(), plan_.sites.size()};
  const std::size_t site = layout.site(idx(inst.site));
  const std::uint32_t bytes = isa::bytes(inst.p.type()) * ptx::vector_width(inst.p);

  const observe::AccessKind kind = plan_.sites[idx(inst.site)].access;
  const bool full = lanes.mask == nullptr && inst.p.guard < 0;
  if (full && a.space != Space::generic && a.space != Space::local) {
    StaticCount& fixed = static_counts_[idx(inst.site)];
    const bool uniform = a.shape.uniform();
    if (uniform || a.shape.constant_pattern()) {
      std::uint64_t at[32];
      for (std::size_t l = 0; l < 32; ++l)
        at[l] = (1ULL << 40) + (uniform ? 0 : static_cast<std::uint64_t>(a.shape.terms[0].pattern[l]));
      fixed.requests = 1;
      fixed.lanes = 32;
      if (a.space == Space::shared) {
        const observe::Wavefronts wavefronts = observe::count_shared(at, 0xFFFFFFFF, bytes, kind);
        fixed.wavefronts = wavefronts.count;
        fixed.ideal_wavefronts = wavefronts.ideal;
        return;
      }
      fixed.ideal_sectors = uniform ? (bytes + 31) / 32 : bytes;
      if (uniform) {
        fixed.sectors = observe::is_atomic(kind) ? 32 : (bytes + 31) / 32;
        return;
      }
      add_counter(site + 1, count_runs(a, bytes, kind));
      return;
    }
    if (a.space != Space::shared && !observe::is_atomic(kind) && a.shape.linear()) {
      Value* ascends = nullptr;
      Value* sectors = count_progression(a, bytes);
      if (sectors == nullptr) sectors = count_rows(a, bytes, ascends);
      if (sectors != nullptr) {
        fixed.requests = 1;
        fixed.lanes = 32;
        fixed.ideal_sectors = bytes;
        if (ascends != nullptr) {
          llvm::BasicBlock* rows = b_.GetInsertBlock();
          llvm::BasicBlock* other = new_block("descends");
          llvm::BasicBlock* after = new_block("counted");
          b_.CreateCondBr(ascends, after, other);
          b_.SetInsertPoint(other);
          Value* counted = sectors_by_address(a, bytes);
          llvm::BasicBlock* from = b_.GetInsertBlock();
          b_.CreateBr(after);
          b_.SetInsertPoint(after);
          llvm::PHINode* phi = b_.CreatePHI(b_.getInt64Ty(), 2);
          phi->addIncoming(sectors, rows);
          phi->addIncoming(counted, from);
          sectors = phi;
        }
        add_counter(site + 1, sectors);
        return;
      }
    }
  }
  if (lanes.mask != nullptr && count_uniform(a, lanes.mask, bytes, kind, site)) return;
  if ((full || lanes.mask != nullptr) && probe_remembered(idx(inst.site), a, lanes, bytes, kind)) return;
  count_by_address(inst, a, lanes, bytes, site);
}

// Some lanes at one address cost what one lane costs; false where that is not so.
bool Emitter::count_uniform(const Address& a, Value* mask, std::uint32_t bytes, observe::AccessKind kind,
                            std::size_t site) {
  if (!a.shape.uniform() || a.wide != nullptr || observe::is_atomic(kind)) return false;
  const bool shared = a.space == Space::shared;
  if (shared ? bytes > 4 : a.space != Space::global) return false;
  std::uint64_t at[32];
  std::fill(std::begin(at), std::end(at), 1ULL << 40);
  observe::AccessCounts one;
  observe::count_access(a.space, kind, at, 1, bytes, one);
  Value* any = b_.CreateZExt(b_.CreateICmpNE(mask, b_.getInt32(0)), b_.getInt64Ty());
  const auto add = [&](std::size_t counter, std::uint64_t amount) {
    if (amount != 0) add_counter(site + counter, b_.CreateMul(any, b_.getInt64(amount)));
  };
  add(0, one.requests);
  add(1, one.sectors);
  add(2, one.ideal_sectors);
  add(3, one.wavefronts);
  add(4, one.ideal_wavefronts);
  Value* active = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask);
  add_counter(site + 5, b_.CreateZExt(active, b_.getInt64Ty()));
  return true;
}

llvm::Value* Emitter::sectors_by_address(const Address& a, std::uint32_t bytes) {
  Value* at = spill(address_lanes(a), "counted");
  return b_.CreateZExt(call_host("warploom_sectors", b_.getInt32Ty(), {at, b_.getInt32(bytes)}), b_.getInt64Ty());
}

// The general case: the runtime looks at all addresses.
void Emitter::count_by_address(const Inst& inst, const Address& a, const Lanes& lanes, std::uint32_t bytes,
                               std::size_t site) {
  const observe::AccessKind kind = plan_.sites[idx(inst.site)].access;
  Value* at = spill(address_lanes(a), "counted");
  const std::uint32_t what = static_cast<std::uint32_t>(a.space) | static_cast<std::uint32_t>(kind) << 8;
  call_host("warploom_count", b_.getVoidTy(),
            {ctx_, at, mask_or_all(lanes), b_.getInt32(bytes), b_.getInt32(what),
             b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), block_field(offsetof(WarpContext, counters), b_.getPtrTy()),
                                           site)});
}

}  // namespace warploom::codegen
