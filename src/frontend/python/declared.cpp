// Calls of jitted functions that were given signatures.
#include "frontend/python/declared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace warploom::frontend::python {
namespace {

// What a conversion costs when signatures compete, as in Numba: unsafe ones first.
enum class Conversion : std::uint8_t { exact, promote, safe, unsafe };

// Bits of the integers that a float holds exactly.
unsigned holds(const Type* real) { return real->bits == 16 ? 11 : real->bits == 32 ? 24 : 53; }

std::optional<Conversion> conversion(const Type* given, const Type* wanted) {
  if (given == wanted) return Conversion::exact;
  const auto ranked = [](bool wider) { return wider ? Conversion::promote : Conversion::unsafe; };
  if (given->is(TypeKind::integer) && wanted->is(TypeKind::integer)) {
    const bool wider = wanted->bits > given->bits;
    if (given->is_signed == wanted->is_signed) return ranked(wider);
    return wider && wanted->is_signed ? Conversion::safe : Conversion::unsafe;
  }
  if (given->is(TypeKind::integer) && wanted->is(TypeKind::floating))
    return given->bits <= holds(wanted) ? Conversion::safe : Conversion::unsafe;
  if (given->is(TypeKind::floating) && wanted->is(TypeKind::floating)) return ranked(wanted->bits > given->bits);
  if (given->is(TypeKind::complex) && wanted->is(TypeKind::complex)) return ranked(wanted->bits > given->bits);
  if (given->is(TypeKind::complex)) return std::nullopt;
  if (given->is(TypeKind::floating) && wanted->is(TypeKind::complex))
    return wanted->bits >= given->bits ? Conversion::safe : Conversion::unsafe;
  if (given->is_number() && wanted->is_number()) return Conversion::unsafe;
  return Evaluator::can_convert(given, wanted) ? std::optional(Conversion::safe) : std::nullopt;
}

struct Declared {
  std::vector<const Type*> arguments;
  const Type* result = nullptr;  // null: what the function returns
};

Declared parse(Evaluator& e, const Node* node, const ObjectInfo::Signature& signature) {
  Declared parsed;
  const auto type = [&](const std::string& text) {
    const Type* found = parse_type(text, e.c.world);
    if (!found) e.fail(node, fmt::format("{} is not a type that a kernel can have", text));
    return found;
  };
  for (const std::string& argument : signature.arguments) parsed.arguments.push_back(type(argument));
  if (!signature.result.empty()) parsed.result = type(signature.result);
  return parsed;
}

std::string display_all(const std::vector<const Type*>& types) {
  std::string text = "(";
  for (std::size_t i = 0; i < types.size(); ++i) text += (i ? ", " : "") + display(types[i]);
  return text + ")";
}

[[noreturn]] void no_signature(Evaluator& e, const Node* node, const std::string& callee,
                               const std::vector<Value>& arguments, const std::vector<Declared>& known) {
  std::vector<const Type*> given;
  for (const Value& argument : arguments) given.push_back(argument.type);
  std::string text = fmt::format("Invalid use of {} with parameters {}\nKnown signatures:", callee, display_all(given));
  for (const Declared& one : known) text += "\n * " + display_all(one.arguments);
  e.fail(node, text);
}

// The first of the signatures that need the least conversion; null when none accepts the arguments.
const Declared* best(const std::vector<Declared>& known, const std::vector<Value>& arguments) {
  const Declared* found = nullptr;
  std::array<unsigned, 3> least{};
  for (const Declared& candidate : known) {
    if (candidate.arguments.size() != arguments.size()) continue;
    std::array<unsigned, 3> cost{};  // unsafe, safe, promote
    bool fits = true;
    for (std::size_t i = 0; fits && i < arguments.size(); ++i) {
      const auto step = conversion(arguments[i].type, candidate.arguments[i]);
      fits = step.has_value();
      if (fits && *step != Conversion::exact) ++cost[3 - static_cast<std::size_t>(*step)];
    }
    if (!fits || (found && cost >= least)) continue;
    found = &candidate;
    least = cost;
  }
  return found;
}

std::vector<Value> converted(Evaluator& e, const Node* node, const Declared& to, const std::vector<Value>& arguments) {
  std::vector<Value> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    // A value known when compiling stays known where its type is the declared one.
    out.push_back(arguments[i].type == to.arguments[i] ? arguments[i] : e.convert(arguments[i], to.arguments[i], node));
  }
  return out;
}

// Keyword arguments in their places; false when defaults would be needed.
bool place(const FunctionAst& function, std::vector<Value>& args,
           std::vector<std::pair<std::string, Value>>& keywords) {
  for (std::size_t i = args.size(); i < function.parameters.size(); ++i) {
    const auto found = std::find_if(keywords.begin(), keywords.end(),
                                    [&](const auto& keyword) { return keyword.first == function.parameters[i].name; });
    if (found == keywords.end()) return false;
    args.push_back(found->second);
    keywords.erase(found);
  }
  return keywords.empty();
}

}  // namespace

Value call_declared(Evaluator& e, const Node* node, const ObjectInfo& info, std::vector<Value> args,
                    std::vector<std::pair<std::string, Value>> keywords) {
  std::vector<Declared> known;
  for (const ObjectInfo::Signature& signature : info.signatures) known.push_back(parse(e, node, signature));
  if (!place(*info.function, args, keywords)) return e.call_function(node, info, std::move(args), std::move(keywords));
  const Declared* chosen = best(known, args);
  if (!chosen) no_signature(e, node, fmt::format("type(CUDADispatcher({}))", info.name), args, known);
  const Type* declared = chosen->result;
  const Value result = e.call_function(node, info, converted(e, node, *chosen, args), {});
  if (!declared || !e.alive() || result.type == declared || declared->is(TypeKind::none)) return result;
  return e.convert(result, declared, node);
}

}  // namespace warploom::frontend::python
