// Functions of the math module over the device library.
#include <fmt/format.h>

#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {

Value device_call(Evaluator& e, const std::string& base, const Type* type, std::vector<Value> args, const Node* node) {
  // Half precision is computed in single.
  const Type* computed = type->bits < 32 ? float_type(32) : type;
  std::vector<llvm::Value*> ir;
  std::vector<llvm::Type*> types;
  for (const Value& arg : args) {
    ir.push_back(arg.type->is_integral() && arg.type->bits == 32 ? arg.ir : e.convert(arg, computed, node).ir);
    types.push_back(ir.back()->getType());
  }
  const std::string suffix = computed->bits == 32 ? "f" : "";
  llvm::Value* result = e.b.CreateCall(
      e.c.device_library("__nv_" + base + suffix, llvm::FunctionType::get(e.llvm_type(computed), types, false)), ir);
  return e.convert({computed, result, nullptr, false}, type, node);
}

std::optional<Value> fast_call(Evaluator& e, const std::string& name, const Type* type, const std::vector<Value>& args,
                               const Node* node) {
  if (!e.c.options.fast_math || type != float_type(32)) return std::nullopt;
  using llvm::Intrinsic::ID;
  auto& b = e.b;
  llvm::Value* x = e.convert(args[0], type, node).ir;
  const auto scale = [&](llvm::Value* value, double factor) {
    return b.CreateFMul(value, llvm::ConstantFP::get(value->getType(), factor));
  };
  const auto apply = [&](ID id, llvm::Value* value) { return b.CreateUnaryIntrinsic(id, value); };
  const auto log2 = [&](llvm::Value* value) {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_lg2_approx_ftz_f, {}, {value});
  };
  constexpr double log2_e = 1.44269504088896340736, log2_10 = 3.32192809488736234787;
  llvm::Value* ir = nullptr;
  if (name == "sin")
    ir = apply(llvm::Intrinsic::sin, x);
  else if (name == "cos")
    ir = apply(llvm::Intrinsic::cos, x);
  else if (name == "tan")
    ir = b.CreateFDiv(apply(llvm::Intrinsic::sin, x), apply(llvm::Intrinsic::cos, x));
  else if (name == "tanh")
    ir = apply(llvm::Intrinsic::tanh, x);
  else if (name == "exp")
    ir = apply(llvm::Intrinsic::exp2, scale(x, log2_e));
  else if (name == "exp2")
    ir = apply(llvm::Intrinsic::exp2, x);
  else if (name == "exp10")
    ir = apply(llvm::Intrinsic::exp2, scale(x, log2_10));
  else if (name == "log")
    ir = scale(log2(x), 1 / log2_e);
  else if (name == "log2")
    ir = log2(x);
  else if (name == "log10")
    ir = scale(log2(x), 1 / log2_10);
  else if (name == "pow")
    ir = apply(llvm::Intrinsic::exp2, b.CreateFMul(e.convert(args[1], type, node).ir, log2(x)));
  if (!ir) return std::nullopt;
  return Value{type, ir, nullptr, false};
}

namespace {

// Integers compute in double, floats in their own precision.
const Type* real_type(Evaluator& e, Call& call) {
  const Type* type = nullptr;
  for (Value& arg : call.args) {
    arg = e.plain(arg, call.node);
    if (!arg.type->is_number() || arg.type->is(TypeKind::complex)) e.no_match(call);
    const Type* real = arg.type->is_integral() ? float_type(64) : arg.type;
    type = type ? unify(type, real) : real;
  }
  return type;
}

std::string leaf(const Call& call) { return call.name.substr(call.name.find('.') + 1); }

// Names in the device library where they are not the module's own.
std::string library_name(const std::string& name) {
  if (name == "gamma") return "tgamma";
  return name;
}

Value unary(Evaluator& e, Call& call) {
  call.bind(e, {"x"}, 1);
  const Type* type = real_type(e, call);
  const std::string name = library_name(leaf(call));
  if (const auto quick = fast_call(e, name, type, call.args, call.node)) return *quick;
  return device_call(e, name, type, call.args, call.node);
}

Value binary(Evaluator& e, Call& call) {
  call.bind(e, {"x", "y"}, 2);
  const Type* type = real_type(e, call);
  const std::string name = leaf(call);
  if (const auto quick = fast_call(e, name, type, call.args, call.node)) return *quick;
  return device_call(e, name, type, call.args, call.node);
}

// math.log(x), or to a base.
Value log(Evaluator& e, Call& call) {
  call.bind(e, {"x", "base"}, 1);
  const auto natural = [&](const Value& x) {
    Call one{call.node, call.name, {x}, {}};
    return unary(e, one);
  };
  const Value result = natural(call.args[0]);
  return call.has(1) ? e.binary(call.node, Op::div, result, natural(call.args[1])) : result;
}

template <llvm::Intrinsic::ID id>
Value rounded(Evaluator& e, Call& call) {
  call.bind(e, {"x"}, 1);
  const Type* type = real_type(e, call);
  return {type, e.b.CreateUnaryIntrinsic(id, e.convert(call.args[0], type, call.node).ir), nullptr, false};
}

Value copy_sign(Evaluator& e, Call& call) {
  call.bind(e, {"x", "y"}, 2);
  const Type* type = real_type(e, call);
  return {type,
          e.b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, e.convert(call.args[0], type, call.node).ir,
                                    e.convert(call.args[1], type, call.node).ir),
          nullptr, false};
}

Value power(Evaluator& e, Call& call) {
  call.bind(e, {"x", "y"}, 2);
  Value x = e.plain(call.args[0], call.node);
  const Value y = e.plain(call.args[1], call.node);
  if (!x.type->is_number() || !y.type->is_number()) e.no_match(call);
  // math.pow of integers is a float.
  if (x.type->is_integral()) x = e.convert(x, float_type(64), call.node);
  return e.binary(call.node, Op::pow, x, y);
}

enum class Test { nan, infinite, finite };
template <Test kind>
Value test(Evaluator& e, Call& call) {
  call.bind(e, {"x"}, 1);
  const Value value = e.plain(call.args[0], call.node);
  if (value.type->is_integral()) return e.constant({Constant::Kind::boolean, kind == Test::finite ? 1 : 0, 0, 0, {}});
  if (!value.type->is(TypeKind::floating)) e.no_match(call);
  auto& b = e.b;
  if (kind == Test::nan) return e.boolean(b.CreateFCmpUNO(value.ir, value.ir));
  llvm::Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value.ir);
  llvm::Value* infinity = llvm::ConstantFP::getInfinity(value.ir->getType());
  return e.boolean(kind == Test::infinite ? b.CreateFCmpOEQ(size, infinity) : b.CreateFCmpONE(size, infinity));
}

// Calls f(x, *out) and gives (result, out).
Value with_output(Evaluator& e, Call& call, const char* base, bool integer_out) {
  call.bind(e, {"x"}, 1);
  const Type* type = real_type(e, call);
  const Type* computed = type->bits < 32 ? float_type(32) : type;
  auto& b = e.b;
  llvm::Type* real = e.llvm_type(computed);
  llvm::Type* out = integer_out ? static_cast<llvm::Type*>(b.getInt32Ty()) : real;
  llvm::AllocaInst* place = e.entry_alloca(out, "out");
  llvm::Value* result = b.CreateCall(e.c.device_library(std::string("__nv_") + base + (computed->bits == 32 ? "f" : ""),
                                                        llvm::FunctionType::get(real, {real, b.getPtrTy()}, false)),
                                     {e.convert(call.args[0], computed, call.node).ir, place});
  const Value first = e.convert({computed, result, nullptr, false}, type, call.node);
  Value second{integer_out ? int_type(32) : computed, b.CreateLoad(out, place), nullptr, false};
  if (!integer_out) second = e.convert(second, type, call.node);
  return e.make_tuple({first, second});
}

Value ldexp(Evaluator& e, Call& call) {
  call.bind(e, {"x", "i"}, 2);
  const Value exponent = e.convert(e.plain(call.args[1], call.node), int_type(32), call.node);
  Call single{call.node, call.name, {call.args[0]}, {}};
  const Type* type = real_type(e, single);
  return device_call(e, "ldexp", type, {single.args[0], exponent}, call.node);
}

template <bool to_degrees>
Value angle(Evaluator& e, Call& call) {
  call.bind(e, {"x"}, 1);
  const Type* type = real_type(e, call);
  constexpr double pi = 3.14159265358979323846;
  llvm::Value* factor = llvm::ConstantFP::get(e.llvm_type(type), to_degrees ? 180.0 / pi : pi / 180.0);
  return {type, e.b.CreateFMul(e.convert(call.args[0], type, call.node).ir, factor), nullptr, false};
}

constexpr BuiltinRow rows[] = {
    {"math.sin", unary},
    {"math.cos", unary},
    {"math.tan", unary},
    {"math.asin", unary},
    {"math.acos", unary},
    {"math.atan", unary},
    {"math.sinh", unary},
    {"math.cosh", unary},
    {"math.tanh", unary},
    {"math.asinh", unary},
    {"math.acosh", unary},
    {"math.atanh", unary},
    {"math.exp", unary},
    {"math.exp2", unary},
    {"math.expm1", unary},
    {"math.log", log},
    {"math.log2", unary},
    {"math.log10", unary},
    {"math.log1p", unary},
    {"math.erf", unary},
    {"math.erfc", unary},
    {"math.gamma", unary},
    {"math.lgamma", unary},
    {"math.cbrt", unary},
    {"cuda.cbrt", unary},
    {"math.atan2", binary},
    {"math.fmod", binary},
    {"math.hypot", binary},
    {"math.remainder", binary},
    {"math.nextafter", binary},
    {"math.copysign", copy_sign},
    {"math.sqrt", rounded<llvm::Intrinsic::sqrt>},
    {"math.fabs", rounded<llvm::Intrinsic::fabs>},
    {"math.floor", rounded<llvm::Intrinsic::floor>},
    {"math.ceil", rounded<llvm::Intrinsic::ceil>},
    {"math.trunc", rounded<llvm::Intrinsic::trunc>},
    {"math.pow", power},
    {"math.isnan", test<Test::nan>},
    {"math.isinf", test<Test::infinite>},
    {"math.isfinite", test<Test::finite>},
    {"math.frexp", [](Evaluator& e, Call& call) { return with_output(e, call, "frexp", true); }},
    {"math.modf", [](Evaluator& e, Call& call) { return with_output(e, call, "modf", false); }},
    {"math.ldexp", ldexp},
    {"math.degrees", angle<true>},
    {"math.radians", angle<false>},
};

}  // namespace

std::span<const BuiltinRow> math_builtins() { return rows; }

}  // namespace warploom::frontend::python
