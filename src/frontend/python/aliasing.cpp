// Accesses: finds the array that each access of a kernel goes through, and loads of what nothing writes meanwhile.
#define WARPLOOM_LLVM_NVPTX
#include "frontend/python/aliasing.hpp"

#include <algorithm>

#include "frontend/python/compilation.hpp"
#include "frontend/python/llvm.hpp"

namespace warploom::frontend::python {

// Where an address may point to.
struct Accesses::Places {
  std::vector<int> arrays;
  bool own = false;      // variables of this module: shared and local arrays, the error record
  bool unknown = false;  // anything else
};

Accesses::Accesses(const Compilation& compilation, llvm::Function& kernel)
    : kernel_(kernel), arrays_(compilation.result.arrays), fence_(compilation.result.cooperative) {
  for (ArrayParameter& array : arrays_) array.written = false;
  for (llvm::BasicBlock& block : kernel)
    for (llvm::Instruction& one : block) visit(one);
  order();
}

Accesses::Places Accesses::places(const llvm::Value* pointer) const {
  Places found;
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  llvm::SmallPtrSet<const llvm::Value*, 8> seen;  // an array that a loop swaps with another leads back to itself
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const llvm::Value* object = objects[i];
    if (!seen.insert(object).second) continue;
    if (const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(object))
      if (const llvm::Value* value = llvm::FindInsertedValue(part->getOperand(0), part->getIndices())) {
        llvm::getUnderlyingObjects(value, objects, nullptr, 0);
        continue;
      }
    if (llvm::isa<llvm::AllocaInst, llvm::GlobalVariable>(object)) {
      found.own = true;
      continue;
    }
    const auto* from = llvm::dyn_cast<llvm::IntToPtrInst>(object);
    const auto* argument = from ? llvm::dyn_cast<llvm::Argument>(from->getOperand(0)) : nullptr;
    const auto array = std::find_if(arrays_.begin(), arrays_.end(), [&](const ArrayParameter& one) {
      return argument && one.parameter == argument->getArgNo();
    });
    if (array == arrays_.end())
      found.unknown = true;
    else
      found.arrays.push_back(static_cast<int>(array - arrays_.begin()));
  }
  return found;
}

void Accesses::visit(llvm::Instruction& one) {
  const auto writes = [&](const llvm::Value* pointer) {
    const Places to = places(pointer);
    for (const int array : to.arrays) arrays_[static_cast<std::size_t>(array)].written = true;
    unknown_write_ |= to.unknown;
    if (to.unknown || !to.arrays.empty()) writes_.push_back(&one);
    const bool single = !to.unknown && !to.own && to.arrays.size() == 1;
    if (single) stores_.push_back({&one, to.arrays[0]});
    return to;
  };
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&one)) {
    const Places from = places(load->getPointerOperand());
    if (load->isSimple() && !from.unknown && !from.own && from.arrays.size() == 1)
      loads_.push_back({load, from.arrays[0]});
    return;
  }
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&one)) {
    writes(store->getPointerOperand());
    return;
  }
  if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(&one)) {
    const Places to = writes(one.getOperand(0));
    // Whoever reads an atomic's result may learn from it that another thread has written something.
    if (one.use_empty()) return;
    fence_ |= to.unknown || !to.arrays.empty();
    return;
  }
  if (llvm::isa<llvm::FenceInst>(&one)) {
    fence_ = true;
    return;
  }
  auto* call = llvm::dyn_cast<llvm::CallInst>(&one);
  if (!call) return;
  if (call->isInlineAsm()) {
    // Loads and stores with cache hints; what a hinted load reads may change, too.
    if (call->arg_size() != 0 && call->getArgOperand(0)->getType()->isPointerTy()) {
      writes(call->getArgOperand(0));
    } else if (call->mayWriteToMemory()) {
      unknown_write_ = true;
      writes_.push_back(&one);
    }
    return;
  }
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::not_intrinsic: break;
    case llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all:
    case llvm::Intrinsic::nvvm_barrier_cta_red_popc_aligned_all:
    case llvm::Intrinsic::nvvm_barrier_cta_red_and_aligned_all:
    case llvm::Intrinsic::nvvm_barrier_cta_red_or_aligned_all:
    case llvm::Intrinsic::nvvm_bar_warp_sync: return;  // they order this kernel's threads only
    case llvm::Intrinsic::nvvm_membar_cta:
    case llvm::Intrinsic::nvvm_membar_gl:
    case llvm::Intrinsic::nvvm_membar_sys:
    case llvm::Intrinsic::nvvm_nanosleep: fence_ = true; return;
    case llvm::Intrinsic::nvvm_exit: return;
    default: break;
  }
  if (!call->mayWriteToMemory() || call->onlyAccessesInaccessibleMemory()) return;
  if (auto* fill = llvm::dyn_cast<llvm::AnyMemIntrinsic>(call)) {
    writes(fill->getRawDest());
    return;
  }
  if (const llvm::Function* callee = call->getCalledFunction()) {
    // The device library writes only through pointers to local variables; printing reads.
    if (callee->getName() == "vprintf") return;
    const bool local = std::all_of(call->arg_begin(), call->arg_end(), [&](const llvm::Use& argument) {
      if (!argument->getType()->isPointerTy()) return !argument->getType()->isAggregateType();
      const Places to = places(argument);
      return !to.unknown && to.arrays.empty();
    });
    if (callee->getName().starts_with("__nv_") && local) return;
  }
  unknown_write_ = true;
  writes_.push_back(&one);
}

// Which loads may run after a write of the same thread.
void Accesses::order() {
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> after;
  llvm::SmallVector<const llvm::BasicBlock*, 16> open;
  for (const llvm::Instruction* write : writes_)
    for (const llvm::BasicBlock* next : llvm::successors(write->getParent())) open.push_back(next);
  while (!open.empty()) {
    const llvm::BasicBlock* block = open.pop_back_val();
    if (!after.insert(block).second) continue;
    for (const llvm::BasicBlock* next : llvm::successors(block)) open.push_back(next);
  }
  for (Access& load : loads_)
    load.after_write =
        after.contains(load.instruction->getParent()) ||
        std::any_of(writes_.begin(), writes_.end(), [&](const llvm::Instruction* write) {
          return write->getParent() == load.instruction->getParent() && write->comesBefore(load.instruction);
        });
}

// Whether nothing writes what it reads while the kernel runs, if arrays that are written overlap no others.
bool Accesses::constant(const Access& load) const {
  return !fence_ && !unknown_write_ && !arrays_[static_cast<std::size_t>(load.array)].written;
}

bool Accesses::gain_from_disjoint() const {
  // A load that all stores follow can be moved as far up as its address is known, whatever overlaps.
  return std::any_of(loads_.begin(), loads_.end(),
                     [&](const Access& load) { return load.after_write && constant(load); });
}

void Accesses::mark(bool disjoint) {
  llvm::LLVMContext& context = kernel_.getContext();
  for (const Access& load : loads_)
    if (constant(load) && (disjoint || writes_.empty()))
      load.instruction->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
  if (!disjoint) return;
  llvm::MDBuilder make(context);
  llvm::MDNode* domain = make.createAnonymousAliasScopeDomain("arrays");
  std::vector<llvm::Metadata*> scopes;
  scopes.reserve(arrays_.size());
  for (std::size_t i = 0; i < arrays_.size(); ++i) scopes.push_back(make.createAnonymousAliasScope(domain));
  for (const std::vector<Access>* list : {&loads_, &stores_}) {
    for (const Access& access : *list) {
      const auto own = static_cast<std::size_t>(access.array);
      std::vector<llvm::Metadata*> others = scopes;
      others.erase(others.begin() + access.array);
      access.instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, llvm::MDNode::get(context, {scopes[own]}));
      access.instruction->setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(context, others));
    }
  }
}

}  // namespace warploom::frontend::python
