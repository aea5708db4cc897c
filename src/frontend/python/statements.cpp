// Statements: assignment, branches, merges of paths, assert and raise.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/python/evaluator.hpp"
#include "frontend/python/raise.hpp"

namespace warploom::frontend::python {
namespace {

// What two paths both know of a value.
LiteralPtr common(const LiteralPtr& a, const LiteralPtr& b) {
  if (!a || !b || a->is_tuple != b->is_tuple || a->only_sign != b->only_sign) return nullptr;
  if (a == b) return a;
  if (!a->is_tuple) return a->value == b->value ? a : nullptr;
  if (a->items.size() != b->items.size()) return nullptr;
  auto joined = std::make_shared<Literal>();
  joined->is_tuple = true;
  for (std::size_t i = 0; i < a->items.size(); ++i) joined->items.push_back(common(a->items[i], b->items[i]));
  return joined;
}

}  // namespace

Value Evaluator::read(const Variable& variable) {
  llvm::Value* ir =
      variable.slot ? static_cast<llvm::Value*>(b.CreateLoad(llvm_type(variable.type), variable.slot)) : empty();
  return {variable.type, ir, variable.literal, variable.non_negative};
}

void Evaluator::carry(const Env& env, const std::string& variable, const Variable& to, const Node* node) {
  const auto from = env.find(variable);
  if (!to.slot || from == env.end() || from->second.slot == to.slot || !from->second.type) return;
  b.CreateStore(convert(read(from->second), to.type, node).ir, to.slot);
}

void Evaluator::merge(std::vector<Path> paths, const char* label) {
  std::erase_if(paths, [](const Path& path) { return path.block == nullptr; });
  if (paths.empty()) return die();
  if (paths.size() == 1) {
    b.SetInsertPoint(paths[0].block);
    frame->env = std::move(paths[0].env);
    return;
  }
  Env joined;
  std::set<std::string> names;
  for (const Path& path : paths)
    for (const auto& [variable, ignored] : path.env) names.insert(variable);
  for (const std::string& variable : names) {
    Variable result;
    bool first = true;
    for (const Path& path : paths) {
      const auto found = path.env.find(variable);
      if (found == path.env.end()) {
        result.maybe_undefined = true;
        result.literal = nullptr;
        continue;
      }
      const Variable& one = found->second;
      if (first) {
        const bool undefined = result.maybe_undefined;
        result = one;
        result.maybe_undefined |= undefined;
        if (undefined) result.literal = nullptr;
        first = false;
        continue;
      }
      result.maybe_undefined |= one.maybe_undefined;
      result.non_negative &= one.non_negative;
      result.literal = result.maybe_undefined ? nullptr : common(result.literal, one.literal);
      if (!result.type) continue;
      if (!one.type) {
        result.type = nullptr;
        result.conflict = one.conflict;
        continue;
      }
      const Type* type = unify(result.type, one.type);
      if (!type) {
        result.conflict =
            fmt::format("Cannot unify {} and {} for '{}'", display(result.type), display(one.type), variable);
      } else if (type != result.type) {
        result.non_negative &= type->is(TypeKind::integer);
      }
      result.type = type;
    }
    if (result.type) result.slot = slot(variable, result.type);
    joined.emplace(variable, std::move(result));
  }
  llvm::BasicBlock* target = new_block(label);
  for (Path& path : paths) {
    b.SetInsertPoint(path.block);
    for (const auto& [variable, result] : joined) {
      carry(path.env, variable, result, nullptr);
    }
    b.CreateBr(target);
  }
  b.SetInsertPoint(target);
  frame->env = std::move(joined);
}

void Evaluator::branch(const Value& test, const std::function<void()>& then, const std::function<void()>& otherwise) {
  if (const Constant* known = test.constant()) {
    if (known->integer != 0) {
      then();
    } else {
      otherwise();
    }
    return;
  }
  llvm::BasicBlock* then_block = new_block("then");
  llvm::BasicBlock* else_block = new_block("else");
  b.CreateCondBr(test.ir, then_block, else_block);
  const Env before = frame->env;
  std::vector<Path> paths;
  const auto arm = [](const std::function<void()>& emit) {
    try {
      emit();
    } catch (const DeadPath&) {
      // It raises: nothing follows.
    }
  };
  b.SetInsertPoint(then_block);
  arm(then);
  paths.push_back({b.GetInsertBlock(), std::move(frame->env)});
  frame->env = before;
  b.SetInsertPoint(else_block);
  arm(otherwise);
  paths.push_back({b.GetInsertBlock(), std::move(frame->env)});
  merge(std::move(paths), "endif");
}

void Evaluator::block(const std::vector<Node*>& statements) {
  for (const Node* node : statements) {
    if (!alive()) return;
    try {
      statement(node);
    } catch (const DeadPath&) {
      die();
    } catch (const UnknownPath& unknown) {
      // All of this is thrown away; what follows may still tell the type that is missing.
      incomplete = true;
      if (alive()) b.CreateUnreachable();
      die();
      if (unknown.is_variable) b.SetInsertPoint(new_block("unknown"));
    }
  }
}

void Evaluator::statement(const Node* node) {
  set_location(node);
  switch (node->kind) {
    case NodeKind::assign: {
      const Value value = expression(node->a[0]);
      for (const Node* target : node->body) assign(target, value);
      return;
    }
    case NodeKind::augmented: {
      const Node* target = node->a[0];
      if (target->kind == NodeKind::name) {
        const Value old = name(target);
        assign(target, binary(node, node->op, old, expression(node->a[1]), true));
        return;
      }
      const Value base = expression(target->a[0]);
      if (target->kind == NodeKind::attribute) {
        const Value old = attribute(target, base, target->text);
        store_attribute(target, base, target->text, binary(node, node->op, old, expression(node->a[1]), true));
        return;
      }
      const Value index = expression(target->a[1]);
      const Value old = subscript(target, base, index);
      store_subscript(target, base, index, binary(node, node->op, old, expression(node->a[1]), true));
      return;
    }
    case NodeKind::expression: {
      // A docstring is no expression statement worth typing.
      if (node->a[0]->kind == NodeKind::constant) return;
      (void)expression(node->a[0]);
      return;
    }
    case NodeKind::if_:
      branch(truth(expression(node->a[0]), node->a[0]), [&] { block(node->body); }, [&] { block(node->orelse); });
      return;
    case NodeKind::while_: while_statement(node); return;
    case NodeKind::for_: for_statement(node); return;
    case NodeKind::break_:
    case NodeKind::continue_: {
      LoopContext& loop = *frame->loops.back();
      auto& paths = node->kind == NodeKind::break_ ? loop.breaks : loop.continues;
      paths.push_back({b.GetInsertBlock(), frame->env});
      die();
      return;
    }
    case NodeKind::pass: return;
    case NodeKind::return_: {
      const Value value = node->a.empty() ? none() : expression(node->a[0]);
      frame->returns->push_back({{b.GetInsertBlock(), frame->env}, value});
      die();
      return;
    }
    case NodeKind::function_def: {
      Type type;
      type.kind = TypeKind::closure;
      type.closure = static_cast<std::uint32_t>(c.closures.size());
      Closure closure{node, frame, {}};
      for (const Parameter& parameter : node->function->parameters)
        if (parameter.default_value)
          closure.defaults.push_back(std::make_shared<Value>(expression(parameter.default_value)));
      c.closures.push_back(std::move(closure));
      assign_name(node->text, {intern(std::move(type)), empty(), nullptr, false});
      return;
    }
    case NodeKind::assert_: {
      const Value test = truth(expression(node->a[0]), node->a[0]);
      branch(
          test, [] {},
          [&] {
            std::vector<Constant> arguments;
            if (node->a.size() > 1) {
              const Value message = expression(node->a[1]);
              if (!message.constant()) fail(node->a[1], "The message of assert must be a constant");
              arguments.push_back(*message.constant());
            }
            raise(node, "AssertionError", 0, std::move(arguments));
          });
      return;
    }
    case NodeKind::raise_: {
      if (node->a.empty())
        fail(node, "raise needs an exception here: there is nothing to raise again", "UnsupportedError");
      const Node* exception = node->a[0];
      const Node* callee = exception->kind == NodeKind::call ? exception->a[0] : exception;
      const Value value = expression(callee);
      if (!value.type->is(TypeKind::object)) fail(node, "exceptions must derive from BaseException");
      const ObjectInfo& info = c.world.describe(value.type->object);
      if (info.kind != ObjectInfo::Kind::exception) fail(node, "exceptions must derive from BaseException");
      std::vector<Constant> arguments;
      if (exception->kind == NodeKind::call) {
        if (!exception->names.empty())
          fail(node, "raise with keyword arguments is not supported: pass constants by position", "UnsupportedError");
        for (std::size_t i = 1; i < exception->a.size(); ++i) {
          const Value argument = expression(exception->a[i]);
          if (!argument.constant())
            fail(exception->a[i],
                 "The arguments of an exception must be constants: they are kept by the host, not by the kernel",
                 "UnsupportedError");
          arguments.push_back(*argument.constant());
        }
      }
      raise(node, info.name, value.type->object, std::move(arguments));
      return;
    }
    case NodeKind::delete_:
      for (const Node* target : node->body) {
        if (target->kind != NodeKind::name)
          fail(target, "del of an element is not supported: there is nothing to free", "UnsupportedError");
        frame->assigned.erase(target->text);
        if (!frame->env.erase(target->text)) (void)name(target);
      }
      return;
    case NodeKind::match: {
      const Value subject = expression(node->a[0]);
      // Cases are tried one after the other, as nested ifs.
      std::function<void(std::size_t)> attempt = [&](std::size_t index) {
        if (index == node->body.size()) return;
        const Node* one = node->body[index];
        std::vector<std::pair<std::string, Value>> captures;
        std::function<Value(const Node*, const Value&)> matches = [&](const Node* pattern,
                                                                      const Value& value) -> Value {
          switch (pattern->kind) {
            case NodeKind::match_value:
              return truth(compare(pattern, Op::eq, value, expression(pattern->a[0])), pattern);
            case NodeKind::match_singleton: return compare(pattern, Op::is_, value, constant(pattern->constant));
            case NodeKind::match_or: {
              Value any = matches(pattern->a[0], value);
              for (std::size_t i = 1; i < pattern->a.size(); ++i) {
                const Value next = matches(pattern->a[i], value);
                any = boolean(b.CreateOr(any.ir, next.ir));
              }
              return any;
            }
            case NodeKind::match_as: {
              Value result = constant({Constant::Kind::boolean, 1, 0, 0, {}});
              if (pattern->a[0]) result = matches(pattern->a[0], value);
              if (!pattern->text.empty()) captures.emplace_back(pattern->text, value);
              return result;
            }
            case NodeKind::match_sequence: {
              if (!value.type->is(TypeKind::tuple))
                fail(pattern, "a sequence pattern matches tuples only", "UnsupportedError");
              if (value.type->items.size() != pattern->a.size())
                return constant({Constant::Kind::boolean, 0, 0, 0, {}});
              Value all = constant({Constant::Kind::boolean, 1, 0, 0, {}});
              for (std::size_t i = 0; i < pattern->a.size(); ++i) {
                const Value next = matches(pattern->a[i], tuple_item(value, i));
                all = next.constant() && next.constant()->integer ? all : boolean(b.CreateAnd(all.ir, next.ir));
              }
              return all;
            }
            default: fail(pattern, fmt::format("match pattern {} is not supported", pattern->text), "UnsupportedError");
          }
        };
        const Value test = matches(one->a[0], subject);
        branch(
            test,
            [&] {
              for (auto& [variable, value] : captures) assign_name(variable, value);
              if (!one->a[1]) return block(one->body);
              branch(truth(expression(one->a[1]), one->a[1]), [&] { block(one->body); }, [&] { attempt(index + 1); });
            },
            [&] { attempt(index + 1); });
      };
      attempt(0);
      return;
    }
    case NodeKind::unsupported: {
      static const std::map<std::string, std::string> advice{
          {"Try", "try/except cannot run on a device: test the condition with if, or let the host check a result flag"},
          {"TryStar",
           "try/except cannot run on a device: test the condition with if, or let the host check a result flag"},
          {"With", "with blocks (context managers) cannot run on a device"},
          {"Import", "Use of unsupported opcode (IMPORT_NAME): import at module level, outside the kernel"},
          {"ImportFrom", "Use of unsupported opcode (IMPORT_NAME): import at module level, outside the kernel"},
          {"ClassDef", "Use of unsupported opcode (LOAD_BUILD_CLASS): define classes outside the kernel"},
          {"Global",
           "Use of unsupported opcode (STORE_GLOBAL): globals are frozen in a kernel; return results through arrays"},
          {"Nonlocal", "variables of an outer function cannot be written: return the value instead"},
          {"AsyncFunctionDef", "async functions cannot run on a device"},
      };
      const auto found = advice.find(node->text);
      const bool opcode =
          node->text == "Import" || node->text == "ImportFrom" || node->text == "ClassDef" || node->text == "Global";
      fail(node,
           found != advice.end() ? found->second
                                 : fmt::format("{} statements are not supported in a kernel", node->text),
           opcode ? "UnsupportedBytecodeError" : "UnsupportedError");
    }
    default: fail(node, "this is not a statement that a kernel can have", "UnsupportedError");
  }
}

void Evaluator::assign_name(const std::string& variable, Value value) {
  llvm::AllocaInst* place = slot(variable, value.type);
  if (place) b.CreateStore(value.ir, place);
  frame->assigned.insert(variable);
  frame->env[variable] = {value.type, place, value.literal, value.non_negative, false, {}};
}

void Evaluator::assign(const Node* target, const Value& value) {
  switch (target->kind) {
    case NodeKind::name: {
      if (!frame->function->is_local(target->text))
        fail(target, "Use of unsupported opcode (STORE_GLOBAL): globals are frozen in a kernel",
             "UnsupportedBytecodeError");
      assign_name(target->text, value);
      return;
    }
    case NodeKind::attribute: store_attribute(target, expression(target->a[0]), target->text, value); return;
    case NodeKind::subscript: {
      const Value base = expression(target->a[0]);
      store_subscript(target, base, expression(target->a[1]), value);
      return;
    }
    case NodeKind::tuple:
    case NodeKind::list: {
      for (const Node* item : target->a)
        if (item->kind == NodeKind::starred)
          fail(target, "Use of unsupported opcode (UNPACK_EX): unpack every element by name instead of with *",
               "UnsupportedBytecodeError");
      if (value.type->is(TypeKind::tuple)) {
        if (value.type->items.size() != target->a.size())
          fail(target,
               fmt::format("cannot unpack {} values into {} names", value.type->items.size(), target->a.size()));
        std::vector<Value> items;
        for (std::size_t i = 0; i < target->a.size(); ++i) items.push_back(tuple_item(value, i));
        for (std::size_t i = 0; i < target->a.size(); ++i) assign(target->a[i], items[i]);
        return;
      }
      if (value.type->is(TypeKind::array)) {
        for (std::size_t i = 0; i < target->a.size(); ++i)
          assign(target->a[i], subscript(target, value, integer(static_cast<std::int64_t>(i))));
        return;
      }
      if (value.type->is(TypeKind::object)) {
        const ObjectInfo& info = c.world.describe(value.type->object);
        if (info.kind == ObjectInfo::Kind::builtin &&
            (info.name == "cuda.threadIdx" || info.name == "cuda.blockIdx" || info.name == "cuda.blockDim" ||
             info.name == "cuda.gridDim") &&
            target->a.size() == 3) {
          for (std::size_t i = 0; i < 3; ++i) assign(target->a[i], attribute(target, value, std::string(1, "xyz"[i])));
          return;
        }
      }
      fail(target, fmt::format("failed to unpack {}", describe(value)));
    }
    case NodeKind::starred:
      fail(target, "Use of unsupported opcode (UNPACK_EX): unpack every element by name", "UnsupportedBytecodeError");
    default: fail(target, "cannot assign to this expression");
  }
}

void Evaluator::raise(const Node* node, const std::string& class_name, ObjectId class_object,
                      std::vector<Constant> arguments) {
  const std::uint32_t code = c.exception_code(
      {class_name, class_object, std::move(arguments), frame->function->file, frame->function->name, node->loc.line});
  emit_raise(b, c, code, node->loc.line);
  die();
}

}  // namespace warploom::frontend::python
