// cuda.libdevice: each function of the device library under its own name, its pointers to results turned into results.
#include "frontend/python/builtins.hpp"
#include "frontend/python/devicelib/devicelib.hpp"

namespace warploom::frontend::python {
namespace {

const Type* type_of(DeviceType type) {
  switch (type) {
    case DeviceType::int8: return int_type(8);
    case DeviceType::int16: return int_type(16);
    case DeviceType::int32: return int_type(32);
    case DeviceType::int64: return int_type(64);
    case DeviceType::float32: return float_type(32);
    case DeviceType::float64: return float_type(64);
    case DeviceType::none: break;
  }
  return nullptr;
}

Value call_library(Evaluator& e, Call& call) {
  const DeviceFunction& function = *find_devicelib_function(std::string_view(call.name).substr(sizeof "libdevice"));
  std::size_t wanted = 0;
  for (const DeviceArgument& argument : function.arguments)
    wanted += argument.passing == DeviceArgument::Passing::value;
  if (call.args.size() != wanted || !call.keywords.empty()) e.no_match(call);

  std::vector<llvm::Value*> ir;
  std::vector<llvm::Type*> types;
  std::vector<std::pair<llvm::AllocaInst*, const Type*>> outputs;
  auto given = call.args.begin();
  for (const DeviceArgument& argument : function.arguments) {
    const Type* type = type_of(argument.type);
    if (argument.passing == DeviceArgument::Passing::out) {
      outputs.emplace_back(e.entry_alloca(e.llvm_type(type), "out"), type);
      ir.push_back(outputs.back().first);
    } else {
      const Value value = e.plain(*given++, call.node);
      if (!value.type->is_number() || value.type->is(TypeKind::complex)) e.no_match(call);
      ir.push_back(e.convert(value, type, call.node).ir);
    }
    types.push_back(ir.back()->getType());
  }
  const Type* result = type_of(function.result);
  llvm::Type* ir_result = result ? e.llvm_type(result) : e.b.getVoidTy();
  llvm::Value* value =
      e.b.CreateCall(e.c.device_library(function.symbol, llvm::FunctionType::get(ir_result, types, false)), ir);
  std::vector<Value> results;
  if (result) results.push_back({result, value, nullptr, false});
  for (const auto& [place, type] : outputs)
    results.push_back({type, e.b.CreateLoad(e.llvm_type(type), place), nullptr, false});
  return results.size() == 1 ? results.front() : e.make_tuple(results);
}

}  // namespace

std::span<const BuiltinRow> libdevice_builtins() {
  static const auto table = [] {
    std::pair<std::vector<std::string>, std::vector<BuiltinRow>> made;
    for (const DeviceFunction& function : devicelib_functions()) {
      const bool reads_memory = std::ranges::any_of(function.arguments, [](const DeviceArgument& argument) {
        return argument.passing == DeviceArgument::Passing::in;
      });
      if (!reads_memory) made.first.push_back("libdevice." + std::string(function.name));
    }
    for (const std::string& name : made.first) made.second.push_back({name, call_library});
    return made;
  }();
  return table.second;
}

}  // namespace warploom::frontend::python
