// Recursion as a loop: each call pushes a frame and jumps to the start, each return pops one and jumps behind its call.
#define WARPLOOM_LLVM_NVPTX
#include "frontend/python/recursion.hpp"

#include <algorithm>

#include "base/diag.hpp"
#include "frontend/python/compilation.hpp"
#include "frontend/python/raise.hpp"

namespace warploom::frontend::python {
namespace {

constexpr std::uint64_t stack_bytes = 16384;  // local memory of one thread for the frames of one function
constexpr std::uint64_t least_depth = 16, most_depth = 512;

std::vector<llvm::CallInst*> calls_of_itself(llvm::Function& function) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& one : block)
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&one); call && call->getCalledFunction() == &function)
        calls.push_back(call);
  return calls;
}

// After this no value but a stack slot's address is used outside of its block.
void demote_values(llvm::Function& function) {
  std::vector<llvm::Instruction*> crossing;
  std::vector<llvm::PHINode*> phis;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& one : block) {
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&one)) {
        phis.push_back(phi);
        continue;
      }
      if (llvm::isa<llvm::AllocaInst>(one)) continue;
      for (const llvm::User* user : one.users()) {
        const auto* at = llvm::cast<llvm::Instruction>(user);
        if (at->getParent() == &block && !llvm::isa<llvm::PHINode>(at)) continue;
        crossing.push_back(&one);
        break;
      }
    }
  const auto slots = function.getEntryBlock().begin();
  for (llvm::Instruction* one : crossing) llvm::DemoteRegToStack(*one, false, slots);
  for (llvm::PHINode* phi : phis) llvm::DemotePHIToStack(phi, function.getEntryBlock().begin());
}

}  // namespace

void lower_recursion(Compilation& c, llvm::Function& function) {
  const auto calls = calls_of_itself(function);
  if (calls.empty()) return;
  llvm::LLVMContext& context = c.context;
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);

  // The old entry becomes the start that calls jump to; slots stay in the new entry.
  llvm::BasicBlock* start = &function.getEntryBlock();
  start->setName("start");
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(context, "entry", &function, start);
  std::vector<llvm::AllocaInst*> slots;
  for (llvm::Instruction& one : llvm::make_early_inc_range(*start))
    if (auto* slot = llvm::dyn_cast<llvm::AllocaInst>(&one)) slot->moveBefore(*entry, entry->end());
  llvm::IRBuilder<> b(entry);
  b.CreateBr(start);
  std::vector<llvm::BasicBlock*> behind;
  for (llvm::CallInst* call : calls) behind.push_back(llvm::SplitBlock(call->getParent(), call->getNextNode()));
  demote_values(function);
  for (llvm::Instruction& one : *entry)
    if (auto* slot = llvm::dyn_cast<llvm::AllocaInst>(&one)) slots.push_back(slot);

  // One frame: where to return to, arguments, slots.
  std::vector<llvm::Type*> members{i32};
  for (llvm::Argument& argument : function.args()) members.push_back(argument.getType());
  const std::size_t first_slot = members.size();
  for (llvm::AllocaInst* slot : slots) members.push_back(slot->getAllocatedType());
  llvm::StructType* frame = llvm::StructType::get(context, members);
  const std::uint64_t size = c.module->getDataLayout().getTypeAllocSize(frame).getFixedValue();
  const std::uint64_t depth = std::clamp(stack_bytes / std::max<std::uint64_t>(1, size), least_depth, most_depth);
  llvm::Type* stack_type = llvm::ArrayType::get(frame, depth);
  b.SetInsertPoint(entry, entry->begin());
  llvm::AllocaInst* stack = b.CreateAlloca(stack_type, nullptr, "frames");
  stack->setAlignment(llvm::Align(16));
  llvm::AllocaInst* level = b.CreateAlloca(i32, nullptr, "level");
  llvm::Type* result_type = function.getReturnType();
  llvm::AllocaInst* result = result_type->isVoidTy() ? nullptr : b.CreateAlloca(result_type, nullptr, "result");

  const auto member = [&](llvm::Value* at, std::size_t index) {
    return b.CreateInBoundsGEP(stack_type, stack,
                               {b.getInt64(0), b.CreateZExt(at, i64), b.getInt32(static_cast<unsigned>(index))});
  };
  const auto now = [&]() -> llvm::Value* { return b.CreateLoad(i32, level); };

  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::vector<llvm::User*> users(slots[i]->user_begin(), slots[i]->user_end());
    for (llvm::User* user : users) {
      b.SetInsertPoint(llvm::cast<llvm::Instruction>(user));
      user->replaceUsesOfWith(slots[i], member(now(), first_slot + i));
    }
  }
  for (llvm::Argument& argument : function.args()) {
    const std::vector<llvm::User*> users(argument.user_begin(), argument.user_end());
    for (llvm::User* user : users) {
      b.SetInsertPoint(llvm::cast<llvm::Instruction>(user));
      user->replaceUsesOfWith(&argument, b.CreateLoad(argument.getType(), member(now(), 1 + argument.getArgNo())));
    }
  }
  for (llvm::AllocaInst* slot : slots) slot->eraseFromParent();

  const auto last = static_cast<std::uint32_t>(calls.size());  // the return id of the first frame
  b.SetInsertPoint(entry->getTerminator());
  b.CreateStore(b.getInt32(0), level);
  b.CreateStore(b.getInt32(last), member(b.getInt32(0), 0));
  for (llvm::Argument& argument : function.args())
    b.CreateStore(&argument, member(b.getInt32(0), 1 + argument.getArgNo()));

  std::vector<llvm::ReturnInst*> returns;
  for (llvm::BasicBlock& block : function)
    if (auto* one = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) returns.push_back(one);
  llvm::BasicBlock* leave = llvm::BasicBlock::Create(context, "leave", &function);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context, "done", &function);
  for (llvm::ReturnInst* one : returns) {
    b.SetInsertPoint(one);
    if (result) b.CreateStore(one->getReturnValue(), result);
    b.CreateBr(leave);
    one->eraseFromParent();
  }
  b.SetInsertPoint(leave);
  llvm::Value* top = now();
  llvm::Value* to = b.CreateLoad(i32, member(top, 0));
  b.CreateStore(b.CreateSub(top, b.getInt32(1)), level);
  llvm::SwitchInst* where = b.CreateSwitch(to, done, static_cast<unsigned>(calls.size()));
  b.SetInsertPoint(done);
  if (result) {
    b.CreateRet(b.CreateLoad(result_type, result));
  } else {
    b.CreateRetVoid();
  }

  const std::uint32_t code = c.exception_code({"RecursionError",
                                               0,
                                               {{Constant::Kind::string, 0, 0, 0, "maximum recursion depth exceeded"}},
                                               {},
                                               function.getName().str(),
                                               0});
  for (std::size_t i = 0; i < calls.size(); ++i) {
    llvm::CallInst* call = calls[i];
    where->addCase(b.getInt32(static_cast<unsigned>(i)), behind[i]);
    // What the call gave is read after it has come back; its one use is a store to its slot, or in its own block.
    if (!call->use_empty()) {
      for (llvm::User* user : std::vector<llvm::User*>(call->user_begin(), call->user_end())) {
        auto* at = llvm::cast<llvm::Instruction>(user);
        if (at->getParent() == call->getParent()) at->moveBefore(*behind[i], behind[i]->getFirstInsertionPt());
      }
      b.SetInsertPoint(behind[i], behind[i]->getFirstInsertionPt());
      llvm::Value* value = b.CreateLoad(result_type, result);
      call->replaceAllUsesWith(value);
      // Addresses that moved uses take are computed before them.
      for (llvm::User* user : std::vector<llvm::User*>(value->user_begin(), value->user_end())) {
        auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
        auto* address = store ? llvm::dyn_cast<llvm::GetElementPtrInst>(store->getPointerOperand()) : nullptr;
        if (!address || address->getParent() == behind[i]) continue;
        b.SetInsertPoint(store);
        std::vector<llvm::Value*> indices(address->idx_begin(), address->idx_end());
        indices[1] = b.CreateZExt(now(), i64);
        store->setOperand(1, b.CreateInBoundsGEP(stack_type, stack, indices));
      }
    }
    b.SetInsertPoint(call);
    llvm::Value* next = b.CreateAdd(now(), b.getInt32(1));
    llvm::BasicBlock* before = call->getParent();
    llvm::BasicBlock* push = before->splitBasicBlock(call, "push");
    before->getTerminator()->eraseFromParent();
    llvm::BasicBlock* deep = llvm::BasicBlock::Create(context, "too_deep", &function);
    b.SetInsertPoint(before);
    b.CreateCondBr(b.CreateICmpUGE(next, b.getInt32(static_cast<unsigned>(depth))), deep, push);
    b.SetInsertPoint(deep);
    emit_raise(b, c, code, 0);
    b.SetInsertPoint(call);
    for (unsigned k = 0; k < call->arg_size(); ++k) b.CreateStore(call->getArgOperand(k), member(next, 1 + k));
    b.CreateStore(b.getInt32(static_cast<unsigned>(i)), member(next, 0));
    b.CreateStore(next, level);
    llvm::Instruction* again = b.CreateBr(start);
    while (&push->back() != again) push->back().eraseFromParent();
  }
}

}  // namespace warploom::frontend::python
