// Fetching ahead of loads with long strides, and stores that pass caches by.
#include <cstddef>

#include "codegen/emitter.hpp"

namespace warploom::codegen {

using ir::Inst;
using isa::Space;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

// Iterations. Strides are powers of two as a rule: more lines would share a set of the cache.
constexpr std::uint64_t kAhead = 8;
constexpr std::uint64_t kAheadInLockstep = 2;  // iterations of a whole block
constexpr std::int64_t kNextBlocks = 4096;     // bytes
constexpr std::int64_t kLine = 64;

}  // namespace

void Emitter::fetch_lines(Value* start, std::int64_t bytes) {
  constexpr std::uint32_t read = 0, keep = 3, data = 1;
  for (std::int64_t line = 0; line < bytes; line += kLine)
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                       {pointer(start, line), b_.getInt32(read), b_.getInt32(keep), b_.getInt32(data)});
}

// In loops, the distance to the next iteration's address is the one from the last iteration's: a wrong guess costs a
// fetch.
void Emitter::fetch_ahead(const Address& a, std::uint32_t bytes) {
  if (mask_ != nullptr || masked() || lanes_ != 32 || a.wide != nullptr ||
      (a.space != Space::global && a.space != Space::generic))
    return;
  const Runs runs = a.shape.uniform() ? Runs{32, 0} : find_runs(a.shape);
  if (plan_.f().blocks[idx(block_)].loop_depth == 0) {
    // What a kernel with barriers begins with: in a line of blocks the next ones read what follows, and the barriers
    // keep their loads from beginning early.
    if (plan_.f().barriers == 0 || plan_.block.x != 0 || runs.length != 32 || runs.stride != bytes) return;
    fetch_lines(b_.CreateAdd(a.base, b_.getInt64(kNextBlocks)), 32 * std::int64_t{bytes});
    return;
  }
  if (!plan_.streams.far_load[idx(block_)][index_]) return;
  if (runs.length < 8 || runs.stride < 0 || runs.stride > kLine) return;
  const auto variable = [&](const char* name) {
    llvm::AllocaInst* v = entry_alloca(b_.getInt64Ty(), name);
    llvm::IRBuilder<> at(entry_, std::next(v->getIterator()));
    at.CreateStore(at.getInt64(0), v);
    return v;
  };
  llvm::AllocaInst* last = variable("fetched");
  Value* before = b_.CreateLoad(b_.getInt64Ty(), last);
  Value* distance = b_.CreateSub(a.base, before);
  const bool lockstep = mode_ == Mode::block && plan_.lockstep_around(block_);
  if (lockstep) {
    // The other warps come in between: the first one measures for all.
    llvm::AllocaInst* measured = variable("distance");
    Value* first = b_.CreateICmpEQ(warp_, b_.getInt32(0));
    distance = b_.CreateSelect(first, distance, b_.CreateLoad(b_.getInt64Ty(), measured));
    b_.CreateStore(distance, measured);
    b_.CreateStore(b_.CreateSelect(first, a.base, before), last);
  } else {
    b_.CreateStore(a.base, last);
  }
  Value* ahead = b_.CreateAdd(a.base, b_.CreateShl(distance, llvm::Log2_64(lockstep ? kAheadInLockstep : kAhead)));
  Value* starts = a.shape.linear() ? pattern(a.shape, b_.getInt64Ty()) : nullptr;
  std::vector<Value*> fetched;
  for (unsigned r = 0; r < 32; r += runs.length) {
    Value* from = starts == nullptr ? b_.getInt64(0) : b_.CreateExtractElement(starts, r);
    if (std::find(fetched.begin(), fetched.end(), from) != fetched.end()) continue;
    fetched.push_back(from);
    fetch_lines(b_.CreateAdd(ahead, from), runs.stride * (runs.length - 1) + bytes);
  }
}

// Whether a store by all lanes may pass the caches by: its array is only written and, with this grid, too large for
// them. nullptr: no.
llvm::Value* Emitter::passes_caches(const Address& a, std::uint32_t bytes) {
  if (mask_ != nullptr || masked() || !a.shape.linear() || (a.space != Space::global && a.space != Space::generic) ||
      !plan_.streams.write_only[idx(block_)][index_])
    return nullptr;
  const Runs runs = find_runs(a.shape);
  if (runs.stride != bytes || runs.length * bytes < kLine) return nullptr;
  Value* misaligned = nullptr;
  Value* starts = pattern(a.shape, b_.getInt64Ty());
  for (unsigned r = 0; r < 32; r += runs.length) {
    Value* from = b_.CreateAdd(a.base, b_.CreateExtractElement(starts, r));
    misaligned = misaligned == nullptr ? from : b_.CreateOr(misaligned, from);
  }
  Value* aligned = b_.CreateICmpEQ(b_.CreateAnd(misaligned, b_.getInt64(kLine - 1)), b_.getInt64(0));
  Value* large = b_.CreateICmpULE(block_field(offsetof(WarpContext, stream_from), b_.getInt32Ty()), b_.getInt32(bytes));
  return b_.CreateAnd(large, aligned);
}

void Emitter::store_either_way(Value* past_caches, llvm::ArrayRef<std::pair<Value*, Value*>> parts, llvm::Align align) {
  llvm::BasicBlock* past = new_block("past_caches");
  llvm::BasicBlock* plain = new_block("cached");
  llvm::BasicBlock* after = new_block("stored");
  b_.CreateCondBr(past_caches, past, plain);
  b_.SetInsertPoint(past);
  for (const auto& [value, at] : parts) {
    llvm::StoreInst* store = b_.CreateAlignedStore(value, at, llvm::Align(kLine));
    store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                       llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
  }
  b_.CreateBr(after);
  b_.SetInsertPoint(plain);
  for (const auto& [value, at] : parts) b_.CreateAlignedStore(value, at, align);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

}  // namespace warploom::codegen
