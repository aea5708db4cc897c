// Lookup of built-ins by the names that the registry gives to Python objects.
#include "frontend/python/builtins.hpp"

#include <unordered_map>

namespace warploom::frontend::python {

Builtin find_builtin(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Builtin> rows;
    for (const auto family :
         {core_builtins(), operator_builtins(), thread_builtins(), memory_builtins(), atomic_builtins(),
          warp_builtins(), math_builtins(), print_builtins(), libdevice_builtins(), complex_builtins(), half_builtins(),
          numpy_builtins(), scalar_builtins(), reduction_builtins()})
      for (const BuiltinRow& row : family) {
        const bool added = rows.emplace(row.name, row.function).second;
        WL_INTERNAL("python frontend", added, "two rows for one built-in");
      }
    return rows;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

const Type* type_argument(Evaluator& e, const Value& value) {
  if (value.type->is(TypeKind::method) && value.type->name == "type") return value.type->element;
  if (value.type->is(TypeKind::object)) {
    const ObjectInfo& info = e.c.world.describe(value.type->object);
    if (info.kind == ObjectInfo::Kind::type) {
      const std::string text = info.type;
      return parse_type(text, e.c.world);
    }
    return nullptr;
  }
  if (const Constant* known = value.constant(); known && known->kind == Constant::Kind::string)
    if (const auto text = e.c.world.type_of_name(known->text)) return parse_type(*text, e.c.world);
  return nullptr;
}

}  // namespace warploom::frontend::python
