// Functions of the cmath module, and the complex functions that operators and NumPy's functions need.
#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {

Value make_complex(Evaluator& e, const Type* type, llvm::Value* real, llvm::Value* imag) {
  llvm::Value* ir = e.b.CreateInsertValue(llvm::UndefValue::get(e.llvm_type(type)), real, 0);
  return {type, e.b.CreateInsertValue(ir, imag, 1), nullptr, false};
}

Value complex_part(Evaluator& e, const Value& value, unsigned part) {
  return {float_type(value.type->bits), e.b.CreateExtractValue(value.ir, part), nullptr, false};
}

Value complex_call(Evaluator& e, const std::string& name, const std::vector<Value>& args, const Node* node) {
  // The library computes in double: a single result is then right to its last bit.
  auto& b = e.b;
  const Type* type = args[0].type;
  std::vector<llvm::Value*> ir;
  for (const Value& arg : args)
    for (unsigned part = 0; part < 2; ++part)
      ir.push_back(e.convert(complex_part(e, arg, part), float_type(64), node).ir);
  std::vector<llvm::Type*> types(ir.size(), b.getDoubleTy());
  llvm::AllocaInst *real = e.entry_alloca(b.getDoubleTy(), "real"), *imag = e.entry_alloca(b.getDoubleTy(), "imag");
  for (llvm::AllocaInst* out : {real, imag}) {
    ir.push_back(out);
    types.push_back(b.getPtrTy());
  }
  b.CreateCall(e.c.device_library("__nv_c" + name, llvm::FunctionType::get(b.getVoidTy(), types, false)), ir);
  const auto part = [&](llvm::AllocaInst* place) {
    const Value wide{float_type(64), b.CreateLoad(b.getDoubleTy(), place), nullptr, false};
    return e.convert(wide, float_type(type->bits), node).ir;
  };
  llvm::Value* first = part(real);
  return make_complex(e, type, first, part(imag));
}

namespace {

std::string leaf(const Call& call) { return call.name.substr(call.name.find('.') + 1); }

// The argument as a complex number; real ones keep their precision.
Value complex_argument(Evaluator& e, Call& call, std::size_t index) {
  const Value value = e.plain(call.args[index], call.node);
  if (!value.type->is_number()) e.no_match(call);
  if (value.type->is(TypeKind::complex)) return value;
  const bool single = value.type->is(TypeKind::floating) && value.type->bits <= 32;
  return e.convert(value, complex_type(single ? 32 : 64), call.node);
}

Value unary(Evaluator& e, Call& call) {
  call.bind(e, {"z"}, 1);
  return complex_call(e, leaf(call), {complex_argument(e, call, 0)}, call.node);
}

Value divide_by(Evaluator& e, const Value& z, double divisor) {
  llvm::Value* by = llvm::ConstantFP::get(e.llvm_type(float_type(z.type->bits)), divisor);
  return make_complex(e, z.type, e.b.CreateFDiv(complex_part(e, z, 0).ir, by),
                      e.b.CreateFDiv(complex_part(e, z, 1).ir, by));
}

Value log(Evaluator& e, Call& call) {
  call.bind(e, {"z", "base"}, 1);
  const Value z = complex_argument(e, call, 0);
  const Value result = complex_call(e, "log", {z}, call.node);
  if (!call.has(1)) return result;
  const Value base = complex_argument(e, call, 1);
  return e.binary(call.node, Op::div, result, complex_call(e, "log", {base}, call.node));
}

Value log10(Evaluator& e, Call& call) {
  call.bind(e, {"z"}, 1);
  return complex_log_in(e, complex_argument(e, call, 0), 2.302585092994045684, call.node);
}

Value size_of(Evaluator& e, const Value& z, const Node* node) {
  return device_call(e, "hypot", float_type(z.type->bits), {complex_part(e, z, 0), complex_part(e, z, 1)}, node);
}

Value angle_of(Evaluator& e, const Value& z, const Node* node) {
  return device_call(e, "atan2", float_type(z.type->bits), {complex_part(e, z, 1), complex_part(e, z, 0)}, node);
}

Value rect(Evaluator& e, Call& call) {
  call.bind(e, {"r", "phi"}, 2);
  const Value r = e.plain(call.args[0], call.node), phi = e.plain(call.args[1], call.node);
  const auto is_real = [](const Type* type) { return type->is_number() && !type->is(TypeKind::complex); };
  if (!is_real(r.type) || !is_real(phi.type)) e.no_match(call);
  const Type* both = unify(r.type, phi.type);
  const bool single = both->is(TypeKind::floating) && both->bits <= 32;
  const Type* part = float_type(single ? 32 : 64);
  const Value packed =
      make_complex(e, complex_type(part->bits), e.convert(r, part, call.node).ir, e.convert(phi, part, call.node).ir);
  return complex_call(e, "rect", {packed}, call.node);
}

enum class Test { nan, infinite, finite };
template <Test kind>
Value test(Evaluator& e, Call& call) {
  call.bind(e, {"z"}, 1);
  const Value z = complex_argument(e, call, 0);
  const char* name = kind == Test::nan ? "math.isnan" : kind == Test::infinite ? "math.isinf" : "math.isfinite";
  llvm::Value* parts[2];
  for (unsigned i = 0; i < 2; ++i) {
    Call part{call.node, name, {complex_part(e, z, i)}, {}};
    parts[i] = find_builtin(name)(e, part).ir;
  }
  return e.boolean(kind == Test::finite ? e.b.CreateAnd(parts[0], parts[1]) : e.b.CreateOr(parts[0], parts[1]));
}

constexpr BuiltinRow rows[] = {
    {"cmath.exp", unary},
    {"cmath.sqrt", unary},
    {"cmath.sin", unary},
    {"cmath.cos", unary},
    {"cmath.tan", unary},
    {"cmath.asin", unary},
    {"cmath.acos", unary},
    {"cmath.atan", unary},
    {"cmath.sinh", unary},
    {"cmath.cosh", unary},
    {"cmath.tanh", unary},
    {"cmath.asinh", unary},
    {"cmath.acosh", unary},
    {"cmath.atanh", unary},
    {"cmath.log", log},
    {"cmath.log10", log10},
    {"cmath.rect", rect},
    {"cmath.phase",
     [](Evaluator& e, Call& call) {
       call.bind(e, {"z"}, 1);
       return angle_of(e, complex_argument(e, call, 0), call.node);
     }},
    {"cmath.polar",
     [](Evaluator& e, Call& call) {
       call.bind(e, {"z"}, 1);
       const Value z = complex_argument(e, call, 0);
       return e.make_tuple({size_of(e, z, call.node), angle_of(e, z, call.node)});
     }},
    {"cmath.pow",
     [](Evaluator& e, Call& call) {
       call.bind(e, {"x", "y"}, 2);
       const Value x = complex_argument(e, call, 0), y = complex_argument(e, call, 1);
       const Type* type = unify(x.type, y.type);
       return complex_call(e, "pow", {e.convert(x, type, call.node), e.convert(y, type, call.node)}, call.node);
     }},
    {"cmath.isnan", test<Test::nan>},
    {"cmath.isinf", test<Test::infinite>},
    {"cmath.isfinite", test<Test::finite>},
};

}  // namespace

Value complex_log_in(Evaluator& e, const Value& z, double log_of_base, const Node* node) {
  return divide_by(e, complex_call(e, "log", {z}, node), log_of_base);
}

std::span<const BuiltinRow> complex_builtins() { return rows; }

}  // namespace warploom::frontend::python
