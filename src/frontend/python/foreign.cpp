// Calls of functions that other code provides, for instance CUDA C++ (declare_device).
#include <fmt/format.h>

#include <algorithm>

#include "frontend/python/evaluator.hpp"

namespace warploom::frontend::python {
namespace {

// Types whose values look the same in C.
bool is_passed_by_value(const Type* type) {
  switch (type->kind) {
    case TypeKind::boolean:
    case TypeKind::integer:
    case TypeKind::floating:
    case TypeKind::complex:
    case TypeKind::datetime:
    case TypeKind::timedelta:
    case TypeKind::enumeration:
    case TypeKind::pointer: return true;
    default: return false;
  }
}

}  // namespace

// Numba's way: int f(result*, arguments...), the result's place first also when there is none. C's way: as it stands.
Value Evaluator::call_foreign(const Node* node, ObjectId object, const std::vector<Value>& args) {
  const ObjectInfo info = c.world.describe(object);
  auto& captured = c.result.captured;
  if (std::find(captured.begin(), captured.end(), object) == captured.end()) captured.push_back(object);
  if (info.cooperative) c.result.cooperative = true;
  if (args.size() != info.fields.size())
    fail(node, fmt::format("{}() takes {} arguments, {} were given", info.name, info.fields.size(), args.size()));

  const auto known_type = [&](const std::string& text) {
    const Type* type = parse_type(text, c.world);
    if (!type || (!is_passed_by_value(type) && !type->is(TypeKind::none)))
      fail(node,
           fmt::format("{}(): values of type {} cannot be passed to or from other code; use a pointer", info.name,
                       type ? display(type) : text),
           "UnsupportedError");
    return type;
  };
  // A bool is a byte in C.
  const auto c_type = [&](const Type* type) -> llvm::Type* {
    return type->is(TypeKind::boolean) ? b.getInt8Ty() : llvm_type(type);
  };

  const bool direct = info.type_name == "c";
  const Type* result = known_type(info.type);
  const bool is_void = result->is(TypeKind::none);
  std::vector<llvm::Value*> values;
  std::vector<llvm::Type*> types;
  llvm::AllocaInst* place = nullptr;
  if (!direct) {
    place = entry_alloca(is_void ? b.getInt64Ty() : c.memory_type(result), "result");
    values.push_back(place);
    types.push_back(b.getPtrTy());
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Type* type = known_type(info.fields[i]);
    if (!can_convert(args[i].type, type))
      fail(node, fmt::format("{}(): argument {} is {}, which does not convert to {}", info.name, i + 1,
                             describe(args[i]), display(type)));
    llvm::Value* ir = convert(args[i], type, node).ir;
    if (type->is(TypeKind::boolean)) ir = b.CreateZExt(ir, b.getInt8Ty());
    values.push_back(ir);
    types.push_back(ir->getType());
  }
  llvm::Type* returned = !direct ? b.getInt32Ty() : is_void ? b.getVoidTy() : c_type(result);
  llvm::FunctionCallee callee =
      c.module->getOrInsertFunction(info.name, llvm::FunctionType::get(returned, types, false));
  // It may contain barriers.
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) function->setConvergent();
  llvm::CallInst* call = b.CreateCall(callee, values);
  call->setConvergent();
  if (is_void) return none();
  if (!direct) return load(place, result);
  if (result->is(TypeKind::boolean)) return boolean(b.CreateICmpNE(call, b.getInt8(0)));
  return {result, call, nullptr, false};
}

}  // namespace warploom::frontend::python
