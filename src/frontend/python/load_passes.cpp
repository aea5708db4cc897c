// UnrollStrides and GatherLoads.
#define WARPLOOM_LLVM_NVPTX
#include "frontend/python/load_passes.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/python/llvm.hpp"

namespace warploom::frontend::python {
namespace {

constexpr unsigned rounds = 4;       // of a stride loop at a time
constexpr unsigned longest = 40;     // instructions of a round
constexpr unsigned most_loads = 4;   // in a round
constexpr unsigned most_ahead = 16;  // loads that are put together

bool from_array(const llvm::LoadInst& load) {
  const unsigned space = load.getPointerAddressSpace();
  return load.isSimple() && (space == 0 || space == 1);
}

// A loop of one block that ends with `next = index + step; if (next < end) again`.
struct StrideLoop {
  llvm::BasicBlock *block = nullptr, *before = nullptr;
  llvm::PHINode* index = nullptr;
  llvm::Value *step = nullptr, *end = nullptr, *start = nullptr;
  llvm::ICmpInst::Predicate less = llvm::ICmpInst::ICMP_SLT;
};

std::optional<StrideLoop> stride_loop(llvm::Loop& loop) {
  if (loop.getNumBlocks() != 1) return std::nullopt;
  StrideLoop found;
  found.block = loop.getHeader();
  found.before = loop.getLoopPreheader();
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(found.block->getTerminator());
  if (!found.before || !branch || !branch->isConditional()) return std::nullopt;
  auto* test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (!test) return std::nullopt;
  llvm::Value *left = test->getOperand(0), *right = test->getOperand(1);
  auto predicate = branch->getSuccessor(0) == found.block ? test->getPredicate() : test->getInversePredicate();
  if (loop.isLoopInvariant(left)) {
    std::swap(left, right);
    predicate = llvm::ICmpInst::getSwappedPredicate(predicate);
  }
  if (predicate != llvm::ICmpInst::ICMP_SLT && predicate != llvm::ICmpInst::ICMP_ULT) return std::nullopt;
  auto* next = llvm::dyn_cast<llvm::BinaryOperator>(left);
  if (!next || next->getOpcode() != llvm::Instruction::Add || !loop.isLoopInvariant(right)) return std::nullopt;
  for (const unsigned side : {0U, 1U}) {
    auto* phi = llvm::dyn_cast<llvm::PHINode>(next->getOperand(side));
    if (!phi || phi->getParent() != found.block || phi->getIncomingValueForBlock(found.block) != next) continue;
    if (!loop.isLoopInvariant(next->getOperand(1 - side))) continue;
    found.index = phi;
    found.step = next->getOperand(1 - side);
  }
  if (!found.index) return std::nullopt;
  found.end = right;
  found.start = found.index->getIncomingValueForBlock(found.before);
  found.less = predicate;
  return found;
}

bool may_change(llvm::AAResults& aliases, const llvm::Instruction& writer, const llvm::LoadInst& load) {
  return writer.mayWriteToMemory() && !load.hasMetadata(llvm::LLVMContext::MD_invariant_load) &&
         llvm::isModSet(aliases.getModRefInfo(&writer, llvm::MemoryLocation::get(&load)));
}

// Whether rounds behind each other bring loads together: short ones, with a load that the round's stores do not change.
bool worth_it(const llvm::BasicBlock& block, llvm::AAResults& aliases) {
  std::vector<const llvm::LoadInst*> loads;
  for (const llvm::Instruction& one : block) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&one);
    if (call && (call->isConvergent() || call->cannotDuplicate() || !llvm::isa<llvm::IntrinsicInst>(call)))
      return false;
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&one);
    if (load && from_array(*load)) loads.push_back(load);
  }
  const bool free = std::any_of(loads.begin(), loads.end(), [&](const llvm::LoadInst* load) {
    return std::none_of(block.begin(), block.end(),
                        [&](const llvm::Instruction& one) { return may_change(aliases, one, *load); });
  });
  return free && loads.size() <= most_loads && block.size() <= longest;
}

void unroll(const StrideLoop& loop) {
  llvm::BasicBlock& block = *loop.block;
  llvm::IRBuilder<> b(loop.before->getTerminator());
  llvm::Type* type = loop.index->getType();
  // The start is not negative and `several` does not overflow; so if the end is above the start, neither does the
  // limit.
  // How far each round is from the first; as sums, which alias analysis tells apart.
  std::vector<llvm::Value*> ahead{loop.step};
  while (ahead.size() < rounds) ahead.push_back(b.CreateAdd(ahead.back(), loop.step, "", true, true));
  llvm::Value* several = ahead.back();
  llvm::Value* limit = b.CreateSub(loop.end, several);
  llvm::Value* enough = b.CreateAnd(b.CreateICmpSLT(loop.start, loop.end), b.CreateICmpSLT(loop.start, limit));
  auto* main = llvm::BasicBlock::Create(block.getContext(), "rounds", block.getParent(), &block);
  loop.before->getTerminator()->eraseFromParent();
  llvm::BranchInst::Create(main, &block, enough, loop.before);

  llvm::ValueToValueMapTy now;
  std::vector<std::pair<llvm::PHINode*, llvm::PHINode*>> phis;  // in the block, in main
  for (llvm::PHINode& phi : block.phis()) {
    auto* own = llvm::PHINode::Create(phi.getType(), 2, "", main);
    own->addIncoming(phi.getIncomingValueForBlock(loop.before), loop.before);
    now[&phi] = own;
    phis.emplace_back(&phi, own);
  }
  // Behind a move that LLVM does not look into it is no induction variable, of which loop strength reduction would keep
  // one for each address.
  llvm::Value* own_index = now[loop.index];
  auto* move = llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false),
                                    type->isIntegerTy(64) ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;",
                                    type->isIntegerTy(64) ? "=l,l" : "=r,r", false);
  llvm::CallInst* moved = llvm::IRBuilder<>(main).CreateCall(move, {own_index});
  moved->setDoesNotThrow();
  moved->setDoesNotAccessMemory();
  now[loop.index] = moved;
  b.SetInsertPoint(main);
  for (unsigned round = 0; round < rounds; ++round) {
    for (llvm::Instruction& one : block) {
      if (llvm::isa<llvm::PHINode>(one) || one.isTerminator()) continue;
      llvm::Instruction* copy = one.clone();
      copy->insertInto(main, main->end());
      llvm::RemapInstruction(copy, now, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
      now[&one] = copy;
    }
    // All values of the next round at once: one may be another's value of this round.
    std::vector<llvm::Value*> values;
    values.reserve(phis.size());
    for (const auto& [phi, own] : phis) {
      llvm::Value* value = phi->getIncomingValueForBlock(&block);
      const auto mapped = now.find(value);
      values.push_back(mapped == now.end() ? value : static_cast<llvm::Value*>(mapped->second));
    }
    for (std::size_t i = 0; i < phis.size(); ++i) now[phis[i].first] = values[i];
    now[loop.index] = b.CreateAdd(moved, ahead[round], "", false, true);
  }
  b.SetInsertPoint(main);
  now[loop.index] = b.CreateAdd(own_index, several, "", false, true);
  llvm::Value* more = b.CreateICmpSLT(now[loop.index], limit);
  b.CreateCondBr(more, main, &block);
  for (const auto& [phi, own] : phis) {
    own->addIncoming(now[phi], main);
    phi->addIncoming(now[phi], main);
  }
}

}  // namespace

llvm::PreservedAnalyses UnrollStrides::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const llvm::DataLayout& layout = function.getDataLayout();
  llvm::AAResults& aliases = analyses.getResult<llvm::AAManager>(function);
  std::vector<StrideLoop> found;
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    const auto stride = stride_loop(*loop);
    const auto* type = stride ? stride->index->getType() : nullptr;
    if (!type || !(type->isIntegerTy(32) || type->isIntegerTy(64)) || !worth_it(*stride->block, aliases) ||
        llvm::isa<llvm::Constant>(stride->step))
      continue;
    const llvm::KnownBits step = llvm::computeKnownBits(stride->step, layout);
    const llvm::KnownBits start = llvm::computeKnownBits(stride->start, layout);
    const llvm::KnownBits end = llvm::computeKnownBits(stride->end, layout);
    const bool is_signed = stride->less == llvm::ICmpInst::ICMP_SLT;
    if (step.countMinLeadingZeros() >= 4 && start.isNonNegative() && (is_signed || end.isNonNegative()))
      found.push_back(*stride);
  }
  for (const StrideLoop& one : found) unroll(one);
  return found.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

llvm::PreservedAnalyses GatherLoads::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  llvm::AAResults& aliases = analyses.getResult<llvm::AAManager>(function);
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    llvm::Instruction* last = nullptr;  // the load that the next one goes behind
    unsigned ahead = 0;
    for (llvm::Instruction& one : llvm::make_early_inc_range(block)) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&one);
      if (!load || !from_array(*load)) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(&one);
        if (call && (call->isConvergent() || (call->mayHaveSideEffects() && !call->onlyAccessesInaccessibleMemory())))
          last = nullptr;
        continue;
      }
      if (!last || ahead >= most_ahead) {
        last = load;
        ahead = 1;
        continue;
      }
      // What the address needs moves along; it must be plain arithmetic.
      llvm::SmallVector<llvm::Instruction*, 8> chain;
      llvm::SmallPtrSet<llvm::Instruction*, 8> in_chain;
      llvm::SmallVector<llvm::Instruction*, 8> open{load};
      bool movable = true;
      while (!open.empty() && movable) {
        llvm::Instruction* part = open.pop_back_val();
        if (!in_chain.insert(part).second) continue;
        movable = part == load || (!part->mayReadOrWriteMemory() && !part->mayHaveSideEffects() &&
                                   !llvm::isa<llvm::PHINode>(part) && in_chain.size() < 24);
        chain.push_back(part);
        for (llvm::Value* operand : part->operands()) {
          auto* source = llvm::dyn_cast<llvm::Instruction>(operand);
          if (source && source->getParent() == &block && last->comesBefore(source)) open.push_back(source);
        }
      }
      for (auto at = std::next(last->getIterator()); movable && &*at != load; ++at)
        movable = !may_change(aliases, *at, *load);
      if (!movable) {
        last = load;
        ahead = 1;
        continue;
      }
      std::sort(chain.begin(), chain.end(),
                [](llvm::Instruction* x, llvm::Instruction* y) { return x->comesBefore(y); });
      llvm::Instruction* behind = last;
      for (llvm::Instruction* part : chain) {
        part->moveAfter(behind);
        behind = part;
      }
      last = load;
      ++ahead;
      changed = true;
    }
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace warploom::frontend::python
