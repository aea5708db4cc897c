// Expressions: names, attributes, calls, conditions, literals.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/python/declared.hpp"
#include "frontend/python/evaluator.hpp"

namespace warploom::frontend::python {

bool FunctionAst::is_local(const std::string& variable) const {
  return std::binary_search(locals.begin(), locals.end(), variable);
}

std::string Evaluator::describe(const Value& value) {
  if (const Constant* known = value.constant()) {
    switch (known->kind) {
      case Constant::Kind::integer: return fmt::format("Literal[int]({})", known->integer);
      case Constant::Kind::string: return fmt::format("Literal[str]({})", known->text);
      case Constant::Kind::boolean: return fmt::format("Literal[bool]({})", known->integer ? "True" : "False");
      default: break;
    }
  }
  if (value.type->is(TypeKind::object)) {
    const ObjectInfo& info = c.world.describe(value.type->object);
    switch (info.kind) {
      case ObjectInfo::Kind::type: {
        const Type* type = parse_type(info.type, c.world);
        return fmt::format("class({})", type ? display(type) : info.type);
      }
      case ObjectInfo::Kind::builtin: return fmt::format("Function({})", info.name);
      case ObjectInfo::Kind::function: return fmt::format("type(CUDADispatcher({}))", info.name);
      case ObjectInfo::Kind::module: return fmt::format("Module({})", info.name);
      default: return info.type_name.empty() ? info.name : info.type_name;
    }
  }
  if (value.type->is(TypeKind::tuple) && value.type->names.empty()) {
    bool same = !value.type->items.empty();
    for (const Type* item : value.type->items) same &= item == value.type->items.front();
    if (!same) {
      std::string text = "Tuple(";
      for (std::size_t i = 0; i < value.type->items.size(); ++i)
        text += (i ? ", " : "") +
                describe({value.type->items[i], nullptr, value.literal ? value.literal->items[i] : nullptr, false});
      return text + ")";
    }
  }
  if (value.type->is(TypeKind::tuple) && value.type->name == "list" && value.literal) {
    std::string items;
    for (const LiteralPtr& item : value.literal->items) {
      if (!item || item->is_tuple || item->value.kind != Constant::Kind::integer) return display(value.type);
      items += fmt::format("{}{}", items.empty() ? "" : ", ", item->value.integer);
    }
    return fmt::format("{}<iv=[{}]>", display(value.type), items);
  }
  return display(value.type);
}

void Evaluator::fail(const Node* node, const std::string& message, const std::string& category) {
  Failure failure{category, message, {}, 0, 0};
  // The innermost node with a place: the function's own line otherwise.
  const FunctionAst* in = frame ? frame->function : nullptr;
  Loc loc = node && node->loc.line > 0 ? node->loc : (in ? in->loc : Loc{});
  if (in) {
    failure.file = in->file;
    failure.line = loc.line;
    failure.column = loc.column + 1;
    failure.message += fmt::format("\n\nFile \"{}\", line {}, in {}", in->file, loc.line, in->name);
    const std::int64_t at = loc.line - in->first_source_line;
    if (at >= 0 && at < static_cast<std::int64_t>(in->source.size())) {
      const std::string& line = in->source[static_cast<std::size_t>(at)];
      // Columns are bytes of UTF-8, carets stand under letters.
      const auto letters = [&](std::size_t from, std::size_t to) {
        std::size_t count = 0;
        for (std::size_t i = from; i < std::min(to, line.size()); ++i) count += (line[i] & 0xC0) != 0x80 ? 1U : 0U;
        return count;
      };
      const auto start = static_cast<std::size_t>(std::max(0, loc.column));
      std::size_t width = 1;
      if (loc.end_line == loc.line && loc.end_column > loc.column)
        width = letters(start, static_cast<std::size_t>(loc.end_column));
      else if (loc.end_line > loc.line)
        width = letters(start, line.size());
      failure.message += fmt::format("\n{}\n{}{}", line, std::string(letters(0, start), ' '),
                                     std::string(std::max<std::size_t>(1, width), '^'));
    }
    for (Frame* up = frame; up && up->caller && up->call_site; up = up->caller)
      failure.message += fmt::format(
          "\n\nDuring: resolving callee type: type(CUDADispatcher({}))\nDuring: typing of call at {} ({}), in {}",
          up->function->name, up->caller->function->file, up->call_site->loc.line, up->caller->function->name);
  }
  throw CompileError{std::move(failure)};
}

void Evaluator::no_match(const Call& call, const std::string& why) {
  std::string arguments;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (!call.args[i].type) continue;
    arguments += arguments.empty() ? "" : ", ";
    if (i < call.by_keyword.size() && call.by_keyword[i]) arguments += fmt::format("{}=", call.by_keyword[i]);
    arguments += describe(call.args[i]);
  }
  for (const auto& [key, value] : call.keywords)
    arguments += (arguments.empty() ? "" : ", ") + key + "=" + describe(value);
  const std::string leaf = call.name.substr(call.name.rfind('.') + 1);
  std::string shown = call.name;
  if (shown.starts_with("cuda.shared.") || shown.starts_with("cuda.local.") || shown.starts_with("cuda.const."))
    shown = "<function " + shown.substr(5) + ">";
  else if (shown.starts_with("operator.") || shown.starts_with("builtins.") || shown.starts_with("math."))
    shown = "<built-in function " + leaf + ">";
  else
    shown = "<function " + leaf + ">";
  fail(call.node, fmt::format("No implementation of function Function({}) found for signature:\n \n >>> {}({})\n{}",
                              shown, leaf, arguments, why.empty() ? "" : "\n" + why));
}

void Call::bind(Evaluator& e, std::initializer_list<const char*> names, std::size_t required) {
  if (args.size() > names.size())
    e.no_match(*this, fmt::format("it takes at most {} arguments, {} were given", names.size(), args.size()));
  const std::size_t given = args.size();
  args.resize(names.size());
  by_keyword.assign(names.size(), nullptr);
  std::size_t index = 0;
  for (const char* wanted : names) {
    const auto found = std::find_if(keywords.begin(), keywords.end(), [&](const auto& k) { return k.first == wanted; });
    if (found != keywords.end()) {
      if (index < given) e.no_match(*this, fmt::format("argument '{}' is given twice", wanted));
      args[index] = found->second;
      by_keyword[index] = wanted;
      keywords.erase(found);
    }
    if (index < required && !args[index].type) {
      args.resize(given);
      e.no_match(*this, fmt::format("missing a required argument: '{}'", wanted));
    }
    ++index;
  }
  if (!keywords.empty()) {
    args.resize(given);
    e.no_match(*this, fmt::format("it has no argument '{}'", keywords.front().first));
  }
}

Value Evaluator::integer(std::int64_t value, const Type* type) {
  auto literal = std::make_shared<Literal>();
  literal->value = {Constant::Kind::integer, value, 0, 0, {}};
  return {type, llvm::ConstantInt::get(llvm_type(type), static_cast<std::uint64_t>(value), type->is_signed, true),
          literal, value >= 0};
}

Value Evaluator::constant(const Constant& value) {
  auto literal = std::make_shared<Literal>();
  literal->value = value;
  switch (value.kind) {
    case Constant::Kind::none: return {none_type(), empty(), literal, false};
    case Constant::Kind::boolean: return {bool_type(), b.getInt1(value.integer != 0), literal, false};
    case Constant::Kind::integer: return {int_type(64), i64(value.integer), literal, value.integer >= 0};
    case Constant::Kind::unsigned_integer: return {int_type(64, false), i64(value.integer), literal, true};
    case Constant::Kind::floating:
      return {float_type(64), llvm::ConstantFP::get(b.getDoubleTy(), value.real), literal, false};
    case Constant::Kind::complex: {
      const Type* type = complex_type(64);
      return {type,
              llvm::ConstantStruct::get(llvm::cast<llvm::StructType>(llvm_type(type)),
                                        {llvm::ConstantFP::get(b.getDoubleTy(), value.real),
                                         llvm::ConstantFP::get(b.getDoubleTy(), value.imag)}),
              literal, false};
    }
    case Constant::Kind::string: return {string_type(), empty(), literal, false};
    case Constant::Kind::ellipsis: {
      Type type;
      type.kind = TypeKind::ellipsis;
      return {intern(std::move(type)), empty(), literal, false};
    }
    case Constant::Kind::too_large: fail(nullptr, "Int value is too large: integers have 64 bits in a kernel");
  }
  return none();
}

Value Evaluator::method(const std::string& name, const Value& self) {
  Type type;
  type.kind = TypeKind::method;
  type.name = name;
  type.element = self.type;
  llvm::Value* ir = llvm::UndefValue::get(llvm_type(intern(type)));
  auto literal = std::make_shared<Literal>();
  literal->is_tuple = true;
  literal->items.push_back(self.literal);
  return {intern(std::move(type)), b.CreateInsertValue(ir, self.ir, 0), literal, false};
}

Value Evaluator::object_value(const Node* node, ObjectId object) {
  // The reference may move when describe() learns of further objects.
  const ObjectInfo info = c.world.describe(object);
  switch (info.kind) {
    case ObjectInfo::Kind::constant: {
      if (info.constant.kind == Constant::Kind::too_large)
        fail(node, "Int value is too large: integers have 64 bits in a kernel");
      Value value = constant(info.constant);
      if (!info.type.empty()) {
        const Type* type = parse_type(info.type, c.world);
        if (!type) fail(node, fmt::format("a constant of type {} cannot be used in a kernel", info.type));
        if (type->is(TypeKind::enumeration)) {
          value = {type, convert(value, type->element, node).ir, value.literal, false};
        } else if (type->is(TypeKind::datetime) || type->is(TypeKind::timedelta)) {
          value = {type, value.ir, nullptr, false};
        } else {
          const LiteralPtr literal = value.literal;
          const bool non_negative = value.non_negative;
          value = convert(value, type, node);
          value.literal = type->is(TypeKind::integer) ? literal : nullptr;
          value.non_negative = non_negative && type->is(TypeKind::integer);
        }
      }
      return value;
    }
    case ObjectInfo::Kind::tuple: {
      std::vector<Value> items;
      for (const ObjectId item : info.items) items.push_back(object_value(node, item));
      if (info.fields.empty()) return make_tuple(items);
      std::vector<const Type*> types;
      for (const Value& item : items) types.push_back(item.type);
      return make_tuple(named_tuple_type(info.type_name, info.fields, std::move(types)), items);
    }
    case ObjectInfo::Kind::array:
    case ObjectInfo::Kind::record: {
      const Type* type = parse_type(info.type, c.world);
      if (!type) fail(node, fmt::format("an array of type {} cannot be used in a kernel", info.type));
      // Frozen: one constant for each object.
      llvm::GlobalVariable*& global = c.constants[fmt::format("object{}", object)];
      if (!global) {
        llvm::Constant* data =
            llvm::ConstantDataArray::getRaw(llvm::StringRef(info.bytes), info.bytes.size(), b.getInt8Ty());
        global =
            new llvm::GlobalVariable(*c.module, data->getType(), true, llvm::GlobalValue::InternalLinkage, data,
                                     fmt::format("frozen{}", object), nullptr, llvm::GlobalValue::NotThreadLocal, 1);
        global->setAlignment(llvm::Align(16));
      }
      llvm::Value* address = b.CreateAddrSpaceCast(global, b.getPtrTy());
      if (info.kind == ObjectInfo::Kind::record) return {type, address, nullptr, false};
      Value array = fixed_array(type->element, info.shape, address, true);
      array.object = object;
      return array;
    }
    case ObjectInfo::Kind::device_array: {
      const Type* type = parse_type(info.type, c.world);
      if (!type) fail(node, fmt::format("an array of type {} cannot be used in a kernel", info.type));
      auto& captured = c.result.captured;
      if (std::find(captured.begin(), captured.end(), object) == captured.end()) captured.push_back(object);
      std::vector<llvm::Value*> shape, strides;
      for (const std::int64_t extent : info.shape) shape.push_back(i64(extent));
      for (const std::int64_t stride : info.strides) strides.push_back(i64(stride));
      llvm::Value* address = b.CreateAddrSpaceCast(
          b.CreateIntToPtr(i64(static_cast<std::int64_t>(info.address)), b.getPtrTy(1)), b.getPtrTy());
      return make_array(type, address, shape, strides);
    }
    case ObjectInfo::Kind::builtin:
      // laneid and warpsize are numbers, not functions.
      if (const Builtin number = find_builtin("value." + info.name)) {
        Call site{node, info.name, {}, {}};
        return number(*this, site);
      }
      [[fallthrough]];
    default: return {object_type(object), empty(), nullptr, false};
  }
}

Value Evaluator::name(const Node* node) {
  for (Frame* scope = frame; scope; scope = scope->parent) {
    if (!scope->function->is_local(node->text)) continue;
    const auto found = scope->env.find(node->text);
    if (found == scope->env.end()) {
      for (const auto* assigned : loop_variables)
        if (assigned->contains(node->text)) {
          if (!incomplete_node) {
            incomplete_node = node;
            incomplete_name = node->text;
          }
          throw UnknownPath{true};
        }
      if (scope == frame && frame->assigned.contains(node->text)) {
        // Assigned on paths that do not come here: as in Python, only who gets here is in error.
        c.warn("NumbaWarning", "Detected uninitialized variable " + node->text);
        const std::string text =
            fmt::format("cannot access local variable '{}' where it is not associated with a value", node->text);
        raise(node, "UnboundLocalError", 0, {{Constant::Kind::string, 0, 0, 0, text}});
        throw DeadPath{};
      }
      fail(node, fmt::format("local variable '{}' is read before anything is assigned to it", node->text));
    }
    const Variable& variable = found->second;
    if (!variable.type)
      fail(node, fmt::format("{}, defined at {} ({})", variable.conflict, scope->function->file, node->loc.line));
    Value value = read(variable);
    // A known number needs no load.
    if (variable.literal && !variable.literal->is_tuple && !variable.literal->only_sign && variable.type->is_number()) {
      const Constant& known = variable.literal->value;
      if (known.kind == Constant::Kind::boolean && variable.type->is(TypeKind::boolean))
        value.ir = b.getInt1(known.integer != 0);
      if (known.kind == Constant::Kind::integer && variable.type->is(TypeKind::integer))
        value.ir =
            llvm::ConstantInt::get(llvm_type(variable.type), static_cast<std::uint64_t>(known.integer), true, true);
    }
    return value;
  }
  const FunctionAst* outermost = frame->function;
  for (Frame* scope = frame; scope; scope = scope->parent) outermost = scope->function;
  const ObjectId object = c.world.global(*outermost, node->text);
  if (!object) fail(node, fmt::format("NameError: name '{}' is not defined", node->text));
  return object_value(node, object);
}

Value Evaluator::attribute(const Node* node, const Value& base, const std::string& name) {
  switch (base.type->kind) {
    case TypeKind::object: {
      const ObjectId owner = base.type->object;
      const ObjectInfo& info = c.world.describe(owner);
      if (info.kind == ObjectInfo::Kind::builtin) {
        // threadIdx.x and the like are built-ins of their own.
        if (const Builtin built_in = find_builtin(info.name + "." + name); built_in && name.size() == 1) {
          Call site{node, info.name + "." + name, {}, {}};
          return built_in(*this, site);
        }
      }
      const bool is_module = info.kind == ObjectInfo::Kind::module;
      const std::string shown = info.name;
      const ObjectId found = c.world.attribute(owner, name);
      if (!found)
        fail(node, fmt::format("Unknown attribute '{}' of type {}", name,
                               is_module ? "Module(" + shown + ")" : describe(base)));
      return object_value(node, found);
    }
    case TypeKind::array: return array_attribute(node, base, name);
    case TypeKind::record: return record_attribute(node, base, name);
    case TypeKind::nested: return record_attribute(node, base, name);
    case TypeKind::complex:
      if (name == "real" || name == "imag")
        return {float_type(base.type->bits), b.CreateExtractValue(base.ir, name == "real" ? 0 : 1), nullptr, false};
      if (name == "conjugate") return method(name, base);
      break;
    case TypeKind::boolean:
    case TypeKind::integer:
    case TypeKind::floating:
      if (name == "real") return base;
      if (name == "imag") return convert(integer(0), base.type, node);
      if (name == "conjugate" || name == "bit_count" || name == "is_integer") return method(name, base);
      break;
    case TypeKind::tuple: {
      const auto found = std::find(base.type->names.begin(), base.type->names.end(), name);
      if (found != base.type->names.end())
        return tuple_item(base, static_cast<std::size_t>(found - base.type->names.begin()));
      if (name == "index" || name == "count") return method(name, base);
      break;
    }
    case TypeKind::vector: {
      static const std::string axes = "xyzw";
      const std::size_t lane = name.size() == 1 ? axes.find(name) : std::string::npos;
      if (lane != std::string::npos && lane < base.type->ndim)
        return {base.type->element, b.CreateExtractElement(base.ir, lane), nullptr, false};
      break;
    }
    case TypeKind::enumeration:
      if (name == "value") return {base.type->element, base.ir, base.literal, base.non_negative};
      break;
    case TypeKind::optional: return attribute(node, convert(base, base.type->element, node), name);
    default: break;
  }
  if (find_builtin(fmt::format("method.{}.{}", canonical(base.type), name))) return method(name, base);
  if (find_builtin("method." + name)) return method(name, base);
  fail(node, fmt::format("Unknown attribute '{}' of type {}", name, describe(base)));
}

Value Evaluator::call(const Node* node) {
  const Value callee = expression(node->a[0]);
  std::vector<Value> args;
  for (std::size_t i = 1; i < node->a.size(); ++i) {
    if (node->a[i]->kind == NodeKind::starred) {
      const Value many = expression(node->a[i]->a[0]);
      if (!many.type->is(TypeKind::tuple)) fail(node->a[i], "* in a call needs a tuple: its length must be known");
      for (std::size_t k = 0; k < many.type->items.size(); ++k) args.push_back(tuple_item(many, k));
      continue;
    }
    args.push_back(expression(node->a[i]));
  }
  std::vector<std::pair<std::string, Value>> keywords;
  for (std::size_t i = 0; i < node->body.size(); ++i) {
    if (node->names[i].empty()) fail(node, "** in a call is not supported: name the arguments", "UnsupportedError");
    keywords.emplace_back(node->names[i], expression(node->body[i]));
  }
  set_location(node);
  return call_value(node, callee, std::move(args), std::move(keywords));
}

Value Evaluator::call_type(const Node* node, const Type* type, std::vector<Value> args,
                           std::vector<std::pair<std::string, Value>> keywords) {
  Call site{node, "type." + canonical(type), std::move(args), std::move(keywords)};
  if (type->is(TypeKind::complex) && (site.args.size() == 2 || !site.keywords.empty())) {
    site.bind(*this, {"real", "imag"}, 0);
    const Type* part = float_type(type->bits);
    llvm::Value* ir = llvm::UndefValue::get(llvm_type(type));
    for (unsigned i = 0; i < 2; ++i)
      ir = b.CreateInsertValue(
          ir, site.has(i) ? convert(site.args[i], part, node).ir : llvm::Constant::getNullValue(llvm_type(part)), i);
    return {type, ir, nullptr, false};
  }
  if (site.args.empty() && site.keywords.empty() && type->is_number()) return convert(integer(0), type, node);
  if (site.args.size() != 1 || !site.keywords.empty()) no_match(site, "a type is called with one value to convert");
  const Value value = plain(site.args[0], node);
  if (type->is(TypeKind::boolean)) return truth(value, node);
  if (!can_convert(value.type, type))
    no_match(site, fmt::format("cannot convert {} to {}", describe(value), display(type)));
  Value result = convert(value, type, node);
  if (value.type->is(TypeKind::integer) && type->is(TypeKind::integer)) {
    // The number is still known when it fits.
    if (const Constant* known = value.constant(); known && known->kind == Constant::Kind::integer) {
      const std::int64_t top =
          type->bits == 64 ? INT64_MAX : (std::int64_t{1} << (type->bits - (type->is_signed ? 1 : 0))) - 1;
      if (known->integer <= top && known->integer >= (type->is_signed ? -top - 1 : 0)) result.literal = value.literal;
    }
    result.non_negative = value.non_negative && (type->bits >= value.type->bits || !type->is_signed);
  }
  return result;
}

Value Evaluator::call_value(const Node* node, const Value& callee, std::vector<Value> args,
                            std::vector<std::pair<std::string, Value>> keywords) {
  if (callee.type->is(TypeKind::closure))
    return call_closure(node, callee.type->closure, std::move(args), std::move(keywords));
  if (callee.type->is(TypeKind::method)) {
    if (callee.type->name == "type") return call_type(node, callee.type->element, std::move(args), std::move(keywords));
    const Value self{callee.type->element, b.CreateExtractValue(callee.ir, 0),
                     callee.literal ? callee.literal->items[0] : nullptr, false};
    args.insert(args.begin(), self);
    Call site{node, "method." + callee.type->name, std::move(args), std::move(keywords)};
    const Builtin built_in = find_builtin(site.name);
    if (!built_in) fail(node, fmt::format("Unknown attribute '{}' of type {}", callee.type->name, describe(self)));
    return built_in(*this, site);
  }
  if (callee.type->is(TypeKind::object)) {
    const ObjectId object = callee.type->object;
    const ObjectInfo info = c.world.describe(object);
    switch (info.kind) {
      case ObjectInfo::Kind::function:
        if (!info.signatures.empty()) return call_declared(*this, node, info, std::move(args), std::move(keywords));
        return call_function(node, info, std::move(args), std::move(keywords));
      case ObjectInfo::Kind::foreign:
        if (!keywords.empty()) fail(node, fmt::format("{}() takes no keyword arguments", info.name));
        return call_foreign(node, object, args);
      case ObjectInfo::Kind::builtin: {
        Call site{node, info.name, std::move(args), std::move(keywords)};
        if (const Builtin built_in = find_builtin(info.name)) return built_in(*this, site);
        fail(node, fmt::format("{} is not supported in a kernel yet", info.name), "UnsupportedError");
      }
      case ObjectInfo::Kind::type: {
        const Type* type = parse_type(info.type, c.world);
        if (!type) fail(node, fmt::format("{} is not a type that a kernel can have", info.type));
        // Python's own int, float, bool and complex follow their argument.
        Call site{node, info.name.empty() ? "type." + canonical(type) : "builtins." + info.name, std::move(args),
                  std::move(keywords)};
        if (const Builtin built_in = find_builtin(site.name)) return built_in(*this, site);
        return call_type(node, type, std::move(site.args), std::move(site.keywords));
      }
      case ObjectInfo::Kind::named_tuple: {
        std::vector<Value> items;
        for (const std::string& field : info.fields) {
          const auto keyword =
              std::find_if(keywords.begin(), keywords.end(), [&](const auto& k) { return k.first == field; });
          if (items.size() < args.size())
            items.push_back(args[items.size()]);
          else if (keyword != keywords.end())
            items.push_back(keyword->second);
          else
            fail(node, fmt::format("{}() is missing '{}'", info.name, field));
        }
        std::vector<const Type*> types;
        for (const Value& item : items) types.push_back(item.type);
        return make_tuple(named_tuple_type(info.name, info.fields, std::move(types)), items);
      }
      case ObjectInfo::Kind::exception: fail(node, "an exception can only be raised", "UnsupportedError");
      default:
        if (info.kind == ObjectInfo::Kind::other && node->kind == NodeKind::call && node->a[0]->kind == NodeKind::name)
          fail(node, fmt::format("Untyped global name '{}': Cannot determine Numba type of <class '{}'>",
                                 node->a[0]->text, info.type_name));
        fail(node, fmt::format("Cannot call non-function type: {}", describe(callee)));
    }
  }
  fail(node, fmt::format("Cannot call non-function type: {}", describe(callee)));
}

Value Evaluator::select_value(const Node* node, const Value& test, const std::function<Value()>& then,
                              const std::function<Value()>& otherwise) {
  if (const Constant* known = test.constant()) return known->integer != 0 ? then() : otherwise();
  std::vector<std::pair<Path, Value>> ends;
  const auto arm = [&](const std::function<Value()>& evaluate) {
    try {
      return evaluate();
    } catch (const DeadPath&) {
      return none();
    }
  };
  const Env before = frame->env;
  llvm::BasicBlock* then_block = new_block("then");
  llvm::BasicBlock* else_block = new_block("else");
  b.CreateCondBr(test.ir, then_block, else_block);
  b.SetInsertPoint(then_block);
  Value value = arm(then);
  if (alive()) ends.push_back({{b.GetInsertBlock(), std::move(frame->env)}, value});
  frame->env = before;
  b.SetInsertPoint(else_block);
  value = arm(otherwise);
  if (alive()) ends.push_back({{b.GetInsertBlock(), std::move(frame->env)}, value});
  // := may assign in one arm: those variables keep the state before.
  frame->env = before;
  (void)node;
  return join_returns(ends);
}

Value Evaluator::expression(const Node* node) {
  set_location(node);
  switch (node->kind) {
    case NodeKind::name: return name(node);
    case NodeKind::constant:
      if (node->constant.kind == Constant::Kind::too_large)
        fail(node, "Int value is too large: integers have 64 bits in a kernel");
      return constant(node->constant);
    case NodeKind::attribute: return attribute(node, expression(node->a[0]), node->text);
    case NodeKind::subscript: {
      const Value base = expression(node->a[0]);
      const Value index = expression(node->a[1]);
      set_location(node);
      return subscript(node, base, index);
    }
    case NodeKind::slice: {
      Type type;
      type.kind = TypeKind::slice;
      std::vector<Value> parts;
      auto literal = std::make_shared<Literal>();
      literal->is_tuple = true;
      for (const Node* part : node->a) {
        parts.push_back(part ? expression(part) : none());
        if (!parts.back().type->is(TypeKind::none)) parts.back() = plain(parts.back(), part);
        if (!parts.back().type->is(TypeKind::none) && !parts.back().type->is_integral())
          fail(part, fmt::format("slice indices must be integers, not {}", describe(parts.back())));
        type.items.push_back(parts.back().type);
        literal->items.push_back(parts.back().literal);
      }
      const Type* interned = intern(std::move(type));
      llvm::Value* ir = llvm::UndefValue::get(llvm_type(interned));
      for (unsigned i = 0; i < 3; ++i) ir = b.CreateInsertValue(ir, parts[i].ir, i);
      return {interned, ir, literal, false};
    }
    case NodeKind::tuple:
    case NodeKind::list: {
      std::vector<Value> items;
      for (const Node* item : node->a) {
        if (item->kind == NodeKind::starred) {
          const Value many = expression(item->a[0]);
          if (!many.type->is(TypeKind::tuple)) fail(item, "* needs a tuple here");
          for (std::size_t k = 0; k < many.type->items.size(); ++k) items.push_back(tuple_item(many, k));
        } else {
          items.push_back(expression(item));
        }
      }
      Value value = make_tuple(items);
      if (node->kind == NodeKind::list) {
        // Kernels have no lists: one that only carries values is a tuple under another name.
        Type type = *value.type;
        type.name = "list";
        value.type = intern(std::move(type));
      }
      return value;
    }
    case NodeKind::call: return call(node);
    case NodeKind::binary: {
      const Value left = expression(node->a[0]);
      const Value right = expression(node->a[1]);
      set_location(node);
      return binary(node, node->op, left, right);
    }
    case NodeKind::unary:
      if (node->op == Op::not_) {
        const Value value = truth(expression(node->a[0]), node->a[0]);
        if (const Constant* known = value.constant())
          return constant({Constant::Kind::boolean, known->integer == 0, 0, 0, {}});
        return boolean(b.CreateNot(value.ir));
      }
      return unary(node, node->op, expression(node->a[0]));
    case NodeKind::bool_op: {
      std::function<Value(std::size_t)> from = [&](std::size_t index) -> Value {
        const Value value = expression(node->a[index]);
        if (index + 1 == node->a.size()) return value;
        const Value test = truth(value, node->a[index]);
        const auto rest = [&] { return from(index + 1); };
        const auto stop = [&]() -> Value { return value; };
        return node->op == Op::and_ ? select_value(node, test, rest, stop) : select_value(node, test, stop, rest);
      };
      return from(0);
    }
    case NodeKind::compare: {
      Value left = expression(node->a[0]);
      std::function<Value(std::size_t, const Value&)> from = [&](std::size_t index, const Value& first) -> Value {
        const Value second = expression(node->a[index + 1]);
        set_location(node);
        const Value result = compare(node, node->ops[index], first, second);
        if (index + 1 == node->ops.size()) return result;
        return select_value(node, truth(result, node), [&] { return from(index + 1, second); }, [&] { return result; });
      };
      return from(0, left);
    }
    case NodeKind::conditional:
      return select_value(
          node, truth(expression(node->a[0]), node->a[0]), [&] { return expression(node->a[1]); },
          [&] { return expression(node->a[2]); });
    case NodeKind::lambda: {
      Type type;
      type.kind = TypeKind::closure;
      type.closure = static_cast<std::uint32_t>(c.closures.size());
      Closure closure{node, frame, {}};
      for (const Parameter& parameter : node->function->parameters)
        if (parameter.default_value)
          closure.defaults.push_back(std::make_shared<Value>(expression(parameter.default_value)));
      c.closures.push_back(std::move(closure));
      return {intern(std::move(type)), empty(), nullptr, false};
    }
    case NodeKind::named_expr: {
      const Value value = expression(node->a[1]);
      assign(node->a[0], value);
      return value;
    }
    case NodeKind::joined_string: {
      // Only print() takes one: its parts, one after the other.
      std::vector<Value> parts;
      for (const Node* part : node->a)
        parts.push_back(expression(part->kind == NodeKind::formatted ? part->a[0] : part));
      const Value tuple = make_tuple(parts);
      Type type;
      type.kind = TypeKind::iterator;
      type.name = "f-string";
      type.items = tuple.type->items;
      return {intern(std::move(type)), tuple.ir, tuple.literal, false};
    }
    case NodeKind::starred: fail(node, "* is not supported here", "UnsupportedError");
    case NodeKind::unsupported: {
      static const std::map<std::string, std::string> advice{
          {"ListComp",
           "a list comprehension builds a list, which a kernel cannot: write a loop that fills cuda.local.array"},
          {"SetComp", "sets cannot be made in a kernel"},
          {"DictComp", "dicts cannot be made in a kernel"},
          {"GeneratorExp", "generator expressions cannot be made in a kernel: write a loop"},
          {"Set", "sets cannot be made in a kernel: compare with == and or"},
          {"Dict", "dicts cannot be made in a kernel: use arrays, or an if chain"},
          {"Yield", "yield cannot run on a device"},
          {"YieldFrom", "yield cannot run on a device"},
          {"Await", "await cannot run on a device"},
      };
      const auto found = advice.find(node->text);
      fail(node, found != advice.end() ? found->second : fmt::format("{} is not supported in a kernel", node->text),
           "UnsupportedError");
    }
    default: fail(node, "this expression is not supported in a kernel", "UnsupportedError");
  }
}

}  // namespace warploom::frontend::python
