// Comparison of character sequences (NumPy's S and U) and literal strings.
#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

struct Text {
  llvm::Value* address = nullptr;
  llvm::Type* unit = nullptr;
  std::uint32_t size = 0;  // in units
};

// Code points of UTF-8 text.
std::vector<std::uint32_t> code_points(const std::string& text) {
  std::vector<std::uint32_t> result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      result.push_back(byte);
    } else if (byte >= 0xC0) {
      result.push_back(byte & (byte < 0xE0 ? 0x1FU : byte < 0xF0 ? 0x0FU : 0x07U));
    } else if (!result.empty()) {
      result.back() = result.back() << 6U | (byte & 0x3FU);
    }
  }
  return result;
}

Text text_of(Evaluator& e, const Value& value) {
  if (value.type->is(TypeKind::charseq))
    return {value.ir, value.type->wide ? static_cast<llvm::Type*>(e.b.getInt32Ty()) : e.b.getInt8Ty(),
            value.type->size};
  const std::string& text = value.constant()->text;
  const std::vector<std::uint32_t> points = code_points(text);
  if (points.empty()) return {};
  llvm::GlobalVariable*& global = e.c.constants["points:" + text];
  if (!global) {
    llvm::Constant* data = llvm::ConstantDataArray::get(e.c.context, points);
    global = new llvm::GlobalVariable(*e.c.module, data->getType(), true, llvm::GlobalValue::InternalLinkage, data,
                                      "points", nullptr, llvm::GlobalValue::NotThreadLocal, 4);
  }
  return {e.b.CreateAddrSpaceCast(global, e.b.getPtrTy()), e.b.getInt32Ty(), static_cast<std::uint32_t>(points.size())};
}

// The unit at an index, zero beyond the end.
llvm::Value* unit_at(Evaluator& e, const Text& text, llvm::Value* index) {
  auto& b = e.b;
  if (text.size == 0) return b.getInt32(0);
  llvm::Value* inside = b.CreateICmpULT(index, e.i64(text.size));
  llvm::Value* at = b.CreateSelect(inside, index, e.i64(0));
  // Sequences in packed records lie at any address.
  llvm::Value* unit =
      b.CreateAlignedLoad(text.unit, b.CreateInBoundsGEP(text.unit, text.address, at), llvm::MaybeAlign(1));
  return b.CreateSelect(inside, b.CreateZExt(unit, b.getInt32Ty()), b.getInt32(0));
}

}  // namespace

Value compare_text(Evaluator& e, const Value& left, const Value& right, bool equal) {
  auto& b = e.b;
  const Text x = text_of(e, left), y = text_of(e, right);
  llvm::AllocaInst* counter = e.entry_alloca(b.getInt64Ty(), "character");
  b.CreateStore(e.i64(0), counter);
  llvm::BasicBlock *head = e.new_block("compare"), *body = e.new_block("character"), *next = e.new_block("same"),
                   *done = e.new_block("compared");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::Value* index = b.CreateLoad(b.getInt64Ty(), counter);
  b.CreateCondBr(b.CreateICmpULT(index, e.i64(std::max(x.size, y.size))), body, done);
  b.SetInsertPoint(body);
  llvm::Value* same = b.CreateICmpEQ(unit_at(e, x, index), unit_at(e, y, index));
  llvm::BasicBlock* differs = b.GetInsertBlock();
  b.CreateCondBr(same, next, done);
  b.SetInsertPoint(next);
  b.CreateStore(b.CreateAdd(index, e.i64(1)), counter);
  b.CreateBr(head);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(b.getInt1Ty(), 2);
  result->addIncoming(b.getInt1(equal), head);
  result->addIncoming(b.getInt1(!equal), differs);
  return e.boolean(result);
}

}  // namespace warploom::frontend::python
