// NumPy's universal functions in kernels: on scalars they give a value; with arrays each thread computes the whole
// result, broadcast as NumPy does, into the array that is given for it.
#include <fmt/format.h>

#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
void for_each_element(Evaluator& e, const Value& array, const std::function<void(const std::vector<Value>&)>& body) {
  auto& b = e.b;
  std::vector<Value> index;
  std::vector<llvm::BasicBlock*> heads, exits;
  std::vector<llvm::AllocaInst*> counters;
  for (unsigned dim = 0; dim < array.type->ndim; ++dim) {
    counters.push_back(e.entry_alloca(b.getInt64Ty(), "index"));
    b.CreateStore(e.i64(0), counters.back());
    heads.push_back(e.new_block("each"));
    exits.push_back(e.new_block("each.end"));
    llvm::BasicBlock* inside = e.new_block("each.body");
    b.CreateBr(heads.back());
    b.SetInsertPoint(heads.back());
    llvm::Value* at = b.CreateLoad(b.getInt64Ty(), counters.back());
    b.CreateCondBr(b.CreateICmpSLT(at, e.array_shape(array, dim)), inside, exits.back());
    b.SetInsertPoint(inside);
    index.push_back({int_type(64), at, nullptr, true});
  }
  body(index);
  for (unsigned dim = array.type->ndim; dim-- > 0;) {
    b.CreateStore(b.CreateAdd(index[dim].ir, e.i64(1)), counters[dim]);
    b.CreateBr(heads[dim]);
    b.SetInsertPoint(exits[dim]);
  }
}

namespace {

using Values = std::vector<Value>;

bool is_complex(const Type* type) { return type->is(TypeKind::complex); }

// The float type in which NumPy computes f(x) for x of this type.
const Type* real_of(const Type* type) {
  if (type->is_integral()) return float_type(type->bits <= 16 ? 32 : 64);
  return type;
}

Value call_builtin(Evaluator& e, const Node* node, const char* name, Values args) {
  Call call{node, name, std::move(args), {}};
  return find_builtin(name)(e, call);
}

// Both arguments in the type that NumPy computes with.
const Type* common(Evaluator& e, Value& x, Value& y, const Node* node, bool real = false) {
  const Type* type = unify(real ? real_of(x.type) : x.type, real ? real_of(y.type) : y.type);
  x = e.convert(x, type, node);
  y = e.convert(y, type, node);
  return type;
}

// --- one argument

// A function of the device library: its name for real numbers, and that for complex ones or null.
struct Library {
  const char *numpy, *real, *complex;
};
constexpr Library unary_library[] = {
    {"sin", "sin", "sin"},         {"cos", "cos", "cos"},         {"tan", "tan", "tan"},
    {"arcsin", "asin", "asin"},    {"arccos", "acos", "acos"},    {"arctan", "atan", "atan"},
    {"sinh", "sinh", "sinh"},      {"cosh", "cosh", "cosh"},      {"tanh", "tanh", "tanh"},
    {"arcsinh", "asinh", "asinh"}, {"arccosh", "acosh", "acosh"}, {"arctanh", "atanh", "atanh"},
    {"exp", "exp", "exp"},         {"exp2", "exp2", nullptr},     {"expm1", "expm1", nullptr},
    {"log", "log", "log"},         {"log1p", "log1p", nullptr},   {"sqrt", "sqrt", "sqrt"},
    {"cbrt", "cbrt", nullptr},     {"rint", "rint", nullptr},     {"log2", "log2", nullptr},
    {"log10", "log10", nullptr},
};

Value library(Evaluator& e, const Library& row, const Value& x, Call& call) {
  if (is_complex(x.type)) {
    if (row.complex) return complex_call(e, row.complex, {x}, call.node);
    const std::string_view name = row.numpy;
    if (name == "log2") return complex_log_in(e, x, 0.693147180559945309, call.node);
    if (name == "log10") return complex_log_in(e, x, 2.302585092994045684, call.node);
    if (name == "exp2") {
      const Value two = e.convert(e.integer(2), x.type, call.node);
      return complex_call(e, "pow", {two, x}, call.node);
    }
    e.no_match(call, "not of complex numbers");
  }
  const Type* type = real_of(x.type);
  return device_call(e, row.real, type, {e.convert(x, type, call.node)}, call.node);
}

Value rounded(Evaluator& e, llvm::Intrinsic::ID id, const Value& x, Call& call) {
  if (x.type->is_integral()) return x;
  if (is_complex(x.type)) e.no_match(call, "complex numbers are not rounded");
  return {x.type, e.b.CreateUnaryIntrinsic(id, x.ir), nullptr, false};
}

Value absolute(Evaluator& e, const Value& x, Call& call) {
  if (is_complex(x.type))
    return device_call(e, "hypot", float_type(x.type->bits), {complex_part(e, x, 0), complex_part(e, x, 1)}, call.node);
  return call_builtin(e, call.node, "builtins.abs", {x});
}

Value sign(Evaluator& e, const Value& x, Call& call) {
  if (is_complex(x.type)) e.no_match(call, "complex numbers have no sign");
  const Value zero = e.convert(e.integer(0), x.type, call.node);
  const Value one = e.convert(e.integer(1), x.type, call.node);
  auto& b = e.b;
  llvm::Value* positive = b.CreateSelect(e.compare(call.node, Op::gt, x, zero).ir, one.ir, x.ir);  // zero and NaN stay
  if (x.type->is(TypeKind::boolean) || (x.type->is(TypeKind::integer) && !x.type->is_signed))
    return {x.type, positive, nullptr, false};
  llvm::Value* minus = x.type->is_integral() ? b.CreateNeg(one.ir) : static_cast<llvm::Value*>(b.CreateFNeg(one.ir));
  return {x.type, b.CreateSelect(e.compare(call.node, Op::lt, x, zero).ir, minus, positive), nullptr, false};
}

Value scaled(Evaluator& e, const Value& x, double factor, Call& call) {
  if (is_complex(x.type)) e.no_match(call, "not of complex numbers");
  const Type* type = real_of(x.type);
  return {type, e.b.CreateFMul(e.convert(x, type, call.node).ir, llvm::ConstantFP::get(e.llvm_type(type), factor)),
          nullptr, false};
}

Value sign_bit(Evaluator& e, const Value& x, Call& call) {
  if (x.type->is_integral()) return e.compare(call.node, Op::lt, x, e.integer(0));
  if (is_complex(x.type)) e.no_match(call, "complex numbers have no sign");
  llvm::Type* bits = e.b.getIntNTy(x.type->bits);
  return e.boolean(e.b.CreateICmpSLT(e.b.CreateBitCast(x.ir, bits), llvm::ConstantInt::get(bits, 0)));
}

// --- two arguments

// maximum and minimum give NaN when one is, fmax and fmin the other one; complex numbers are ordered by parts.
Value extreme(Evaluator& e, bool largest, bool keep_nan, Value x, Value y, Call& call) {
  auto& b = e.b;
  const Type* type = common(e, x, y, call.node);
  const Op order = largest ? Op::ge : Op::le;
  llvm::Value *first = nullptr, *x_nan = nullptr, *y_nan = nullptr;
  if (is_complex(type)) {
    const Value xr = complex_part(e, x, 0), yr = complex_part(e, y, 0);
    const Value xi = complex_part(e, x, 1), yi = complex_part(e, y, 1);
    first = b.CreateSelect(b.CreateFCmpOEQ(xr.ir, yr.ir), e.compare(call.node, order, xi, yi).ir,
                           e.compare(call.node, order, xr, yr).ir);
    x_nan = b.CreateFCmpUNO(xr.ir, xi.ir);
    y_nan = b.CreateFCmpUNO(yr.ir, yi.ir);
  } else {
    first = e.compare(call.node, order, x, y).ir;
    if (type->is(TypeKind::floating)) {
      x_nan = b.CreateFCmpUNO(x.ir, x.ir);
      y_nan = b.CreateFCmpUNO(y.ir, y.ir);
    }
  }
  if (x_nan) first = keep_nan ? b.CreateOr(x_nan, first) : b.CreateOr(y_nan, first);
  if (x_nan && keep_nan) first = b.CreateAnd(first, b.CreateOr(x_nan, b.CreateNot(y_nan)));
  return {type, b.CreateSelect(first, x.ir, y.ir), nullptr, false};
}

Value compared(Evaluator& e, Op op, const Value& x, const Value& y, Call& call) {
  if ((!is_complex(x.type) && !is_complex(y.type)) || op == Op::eq || op == Op::ne)
    return e.compare(call.node, op, x, y);
  // By real parts, then by imaginary parts; nothing is ordered with NaN.
  auto& b = e.b;
  Value p = x, q = y;
  common(e, p, q, call.node);
  const Value pr = complex_part(e, p, 0), qr = complex_part(e, q, 0), pi = complex_part(e, p, 1),
              qi = complex_part(e, q, 1);
  const Op strict = op == Op::ge || op == Op::gt ? Op::gt : Op::lt;
  llvm::Value* no_nan = b.CreateAnd(b.CreateFCmpORD(pi.ir, qi.ir), b.CreateFCmpORD(pr.ir, qr.ir));
  llvm::Value* by_real = e.compare(call.node, strict, pr, qr).ir;
  llvm::Value* by_imag = b.CreateAnd(b.CreateFCmpOEQ(pr.ir, qr.ir), e.compare(call.node, op, pi, qi).ir);
  return e.boolean(b.CreateAnd(no_nan, b.CreateOr(by_real, by_imag)));
}

Value fmod(Evaluator& e, Value x, Value y, Call& call) {
  const Type* type = common(e, x, y, call.node);
  if (is_complex(type)) e.no_match(call, "not of complex numbers");
  if (type->is(TypeKind::floating)) return device_call(e, "fmod", type, {x, y}, call.node);
  // The remainder of a division that rounds towards 0, from one that rounds down.
  auto& b = e.b;
  const Value size_y = call_builtin(e, call.node, "builtins.abs", {y});
  const Value size_x = call_builtin(e, call.node, "builtins.abs", {x});
  const Value rest = e.binary(call.node, Op::mod, size_x, size_y);
  const Value negative = e.compare(call.node, Op::lt, x, e.integer(0));
  return {rest.type, b.CreateSelect(negative.ir, b.CreateNeg(rest.ir), rest.ir), nullptr, false};
}

// log(exp(x) + exp(y)), or to base 2, without overflow.
Value log_sum(Evaluator& e, bool base_two, Value x, Value y, Call& call) {
  auto& b = e.b;
  const Type* type = common(e, x, y, call.node, true);
  if (is_complex(type)) e.no_match(call, "not of complex numbers");
  const Value high = extreme(e, true, true, x, y, call);
  const Value gap{type, b.CreateFNeg(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b.CreateFSub(x.ir, y.ir))), nullptr,
                  false};
  const Value power = device_call(e, base_two ? "exp2" : "exp", type, {gap}, call.node);
  const Value tail = device_call(e, "log1p", type, {power}, call.node);
  llvm::Value* added = tail.ir;
  if (base_two) added = b.CreateFMul(added, llvm::ConstantFP::get(added->getType(), 1.442695040888963407));
  // Equal infinities have no gap.
  llvm::Value* alike = b.CreateFCmpOEQ(x.ir, y.ir);
  llvm::Value* infinite = b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.ir),
                                          llvm::ConstantFP::getInfinity(x.ir->getType()));
  return {type, b.CreateSelect(b.CreateAnd(alike, infinite), x.ir, b.CreateFAdd(high.ir, added)), nullptr, false};
}

Value real_pair(Evaluator& e, const char* name, Value x, Value y, Call& call) {
  const Type* type = common(e, x, y, call.node, true);
  if (is_complex(type)) e.no_match(call, "not of complex numbers");
  return device_call(e, name, type, {x, y}, call.node);
}

Op operator_of(std::string_view name) {
  static const std::map<std::string_view, Op> operators{
      {"add", Op::add},
      {"subtract", Op::sub},
      {"multiply", Op::mul},
      {"divide", Op::div},
      {"true_divide", Op::div},
      {"floor_divide", Op::floor_div},
      {"remainder", Op::mod},
      {"power", Op::pow},
      {"bitwise_and", Op::bit_and},
      {"bitwise_or", Op::bit_or},
      {"bitwise_xor", Op::bit_xor},
      {"left_shift", Op::lshift},
      {"right_shift", Op::rshift},
      {"equal", Op::eq},
      {"not_equal", Op::ne},
      {"less", Op::lt},
      {"less_equal", Op::le},
      {"greater", Op::gt},
      {"greater_equal", Op::ge},
  };
  const auto found = operators.find(name);
  return found == operators.end() ? Op::none : found->second;
}

// One element of the result; a tuple for functions with two results.
Value element(Evaluator& e, std::string_view name, const Values& args, Call& call) {
  const Value& x = args[0];
  const Node* node = call.node;
  if (args.size() == 1) {
    for (const Library& row : unary_library)
      if (name == row.numpy) return library(e, row, x, call);
    if (name == "floor") return rounded(e, llvm::Intrinsic::floor, x, call);
    if (name == "ceil") return rounded(e, llvm::Intrinsic::ceil, x, call);
    if (name == "trunc") return rounded(e, llvm::Intrinsic::trunc, x, call);
    if (name == "absolute" || name == "fabs") return absolute(e, x, call);
    if (name == "negative") return e.unary(node, Op::minus, x);
    if (name == "positive") return x;
    if (name == "invert") return e.unary(node, Op::invert, x);
    if (name == "square") return e.binary(node, Op::mul, x, x);
    if (name == "reciprocal") {
      if (x.type->is_integral()) return e.binary(node, Op::floor_div, e.integer(1), x);
      return e.binary(node, Op::div, e.convert(e.integer(1), x.type, node), x);
    }
    if (name == "sign") return sign(e, x, call);
    if (name == "signbit") return sign_bit(e, x, call);
    if (name == "conjugate") return call_builtin(e, node, "method.conjugate", {x});
    if (name == "deg2rad" || name == "radians") return scaled(e, x, 3.14159265358979323846 / 180.0, call);
    if (name == "rad2deg" || name == "degrees") return scaled(e, x, 180.0 / 3.14159265358979323846, call);
    if (name == "logical_not") return e.boolean(e.b.CreateNot(e.truth(x, node).ir));
    const bool complex = is_complex(x.type);
    if (name == "isnan") return call_builtin(e, node, complex ? "cmath.isnan" : "math.isnan", {x});
    if (name == "isinf") return call_builtin(e, node, complex ? "cmath.isinf" : "math.isinf", {x});
    if (name == "isfinite") return call_builtin(e, node, complex ? "cmath.isfinite" : "math.isfinite", {x});
    const Value real = e.convert(x, real_of(x.type), node);
    if (name == "frexp") return call_builtin(e, node, "math.frexp", {real});
    return call_builtin(e, node, "math.modf", {real});
  }
  const Value& y = args[1];
  switch (const Op op = operator_of(name)) {
    case Op::none: break;
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge: return compared(e, op, x, y, call);
    default: return e.binary(node, op, x, y);
  }
  if (name == "maximum") return extreme(e, true, true, x, y, call);
  if (name == "minimum") return extreme(e, false, true, x, y, call);
  if (name == "fmax") return extreme(e, true, false, x, y, call);
  if (name == "fmin") return extreme(e, false, false, x, y, call);
  if (name == "arctan2") return real_pair(e, "atan2", x, y, call);
  if (name == "hypot") return real_pair(e, "hypot", x, y, call);
  if (name == "copysign") return real_pair(e, "copysign", x, y, call);
  if (name == "nextafter") return real_pair(e, "nextafter", x, y, call);
  if (name == "fmod") return fmod(e, x, y, call);
  if (name == "gcd") return call_builtin(e, node, "math.gcd", {x, y});
  if (name == "lcm") return call_builtin(e, node, "math.lcm", {x, y});
  if (name == "ldexp") return call_builtin(e, node, "math.ldexp", {e.convert(x, real_of(x.type), node), y});
  if (name == "logaddexp") return log_sum(e, false, x, y, call);
  if (name == "logaddexp2") return log_sum(e, true, x, y, call);
  if (name == "float_power") {
    const bool complex = is_complex(x.type) || is_complex(y.type);
    const Type* type = complex ? complex_type(64) : float_type(64);
    return e.binary(node, Op::pow, e.convert(x, type, node), e.convert(y, type, node));
  }
  if (name == "divmod") return e.make_tuple({e.binary(node, Op::floor_div, x, y), e.binary(node, Op::mod, x, y)});
  const Value p = e.truth(x, node), q = e.truth(y, node);
  if (name == "logical_and") return e.boolean(e.b.CreateAnd(p.ir, q.ir));
  if (name == "logical_or") return e.boolean(e.b.CreateOr(p.ir, q.ir));
  return e.boolean(e.b.CreateXor(p.ir, q.ir));
}

// --- arrays

// The element of an input that belongs to an index of the output: its last dimensions count, and those of extent 1
// repeat.
Value broadcast(Evaluator& e, const Value& array, const Values& index, const Node* node) {
  Values own;
  const unsigned ndim = array.type->ndim;
  for (unsigned dim = 0; dim < ndim; ++dim) {
    Value at = index[index.size() - ndim + dim];
    at.ir = e.b.CreateSelect(e.b.CreateICmpEQ(e.array_shape(array, dim), e.i64(1)), e.i64(0), at.ir);
    own.push_back(at);
  }
  return e.load(e.element_address(node, array, own), array.type->element);
}

Value universal(Evaluator& e, Call& call, std::size_t inputs, std::size_t outputs) {
  const std::string name = call.name.substr(call.name.find('.') + 1);
  const auto numbers = [&](const Type* type) {
    return type->is_number() || (type->is(TypeKind::array) && type->element->is_number());
  };
  for (auto& [keyword, value] : call.keywords) {
    if (keyword != "out") e.no_match(call, fmt::format("no argument '{}'", keyword));
    if (value.type->is(TypeKind::tuple))
      for (std::size_t i = 0; i < value.type->items.size(); ++i) call.args.push_back(e.tuple_item(value, i));
    else
      call.args.push_back(value);
  }
  if (call.args.size() != inputs && call.args.size() != inputs + outputs)
    e.no_match(call, fmt::format("it takes {} argument{} and {} for the result{}", inputs, inputs == 1 ? "" : "s",
                                 outputs, outputs == 1 ? "" : "s"));
  Values args, out;
  bool arrays = false;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    const Value value = e.plain(call.args[i], call.node);
    if (!numbers(value.type)) e.no_match(call, fmt::format("not of {}", e.describe(value)));
    if (i < inputs) {
      args.push_back(value);
      arrays |= value.type->is(TypeKind::array) && value.type->ndim > 0;
    } else {
      if (!value.type->is(TypeKind::array)) e.no_match(call, "the result goes into an array");
      if (value.type->read_only) e.no_match(call, "the array for the result is read-only");
      out.push_back(value);
    }
  }
  if (out.empty()) {
    if (arrays)
      e.no_match(call,
                 fmt::format("give an array for the result, numpy.{}(x, out): kernels cannot allocate one", name));
    for (Value& arg : args)
      if (arg.type->is(TypeKind::array)) arg = e.load(e.array_data(arg), arg.type->element);
    return element(e, name, args, call);
  }
  for (const Value& arg : args)
    if (arg.type->is(TypeKind::array) && arg.type->ndim > out[0].type->ndim)
      e.no_match(call, "the array for the result has fewer dimensions than an argument");
  for (const Value& one : out)
    if (one.type->ndim != out[0].type->ndim) e.no_match(call, "the arrays for the results differ in dimensions");
  for_each_element(e, out[0], [&](const Values& index) {
    Values at;
    for (const Value& arg : args)
      at.push_back(arg.type->is(TypeKind::array) ? broadcast(e, arg, index, call.node) : arg);
    const Value result = element(e, name, at, call);
    for (std::size_t i = 0; i < out.size(); ++i) {
      Value one = outputs == 1 ? result : e.tuple_item(result, i);
      const Type* type = out[i].type->element;
      // As an unsafe cast: the real part of a complex number.
      if (is_complex(one.type) && !is_complex(type) && !type->is(TypeKind::boolean)) one = complex_part(e, one, 0);
      e.store(call.node, e.element_address(call.node, out[i], index), e.convert(one, type, call.node), type);
    }
  });
  return out.size() == 1 ? out[0] : e.make_tuple(out);
}

constexpr std::string_view unary_names[] = {
    "numpy.sin",      "numpy.cos",      "numpy.tan",        "numpy.arcsin",      "numpy.arccos",    "numpy.arctan",
    "numpy.sinh",     "numpy.cosh",     "numpy.tanh",       "numpy.arcsinh",     "numpy.arccosh",   "numpy.arctanh",
    "numpy.exp",      "numpy.exp2",     "numpy.expm1",      "numpy.log",         "numpy.log2",      "numpy.log10",
    "numpy.log1p",    "numpy.sqrt",     "numpy.cbrt",       "numpy.rint",        "numpy.floor",     "numpy.ceil",
    "numpy.trunc",    "numpy.absolute", "numpy.fabs",       "numpy.negative",    "numpy.positive",  "numpy.invert",
    "numpy.square",   "numpy.sign",     "numpy.reciprocal", "numpy.signbit",     "numpy.conjugate", "numpy.deg2rad",
    "numpy.radians",  "numpy.rad2deg",  "numpy.degrees",    "numpy.logical_not", "numpy.isnan",     "numpy.isinf",
    "numpy.isfinite",
};
constexpr std::string_view binary_names[] = {
    "numpy.add",          "numpy.subtract",      "numpy.multiply",    "numpy.divide",     "numpy.true_divide",
    "numpy.floor_divide", "numpy.remainder",     "numpy.fmod",        "numpy.power",      "numpy.float_power",
    "numpy.arctan2",      "numpy.hypot",         "numpy.copysign",    "numpy.nextafter",  "numpy.ldexp",
    "numpy.logaddexp",    "numpy.logaddexp2",    "numpy.maximum",     "numpy.minimum",    "numpy.fmax",
    "numpy.fmin",         "numpy.equal",         "numpy.not_equal",   "numpy.less",       "numpy.less_equal",
    "numpy.greater",      "numpy.greater_equal", "numpy.logical_and", "numpy.logical_or", "numpy.logical_xor",
    "numpy.bitwise_and",  "numpy.bitwise_or",    "numpy.bitwise_xor", "numpy.left_shift", "numpy.right_shift",
    "numpy.gcd",          "numpy.lcm",
};

}  // namespace

std::span<const BuiltinRow> numpy_builtins() {
  static const auto table = [] {
    std::vector<BuiltinRow> rows;
    for (const std::string_view name : unary_names)
      rows.push_back({name, [](Evaluator& e, Call& call) { return universal(e, call, 1, 1); }});
    for (const std::string_view name : binary_names)
      rows.push_back({name, [](Evaluator& e, Call& call) { return universal(e, call, 2, 1); }});
    for (const std::string_view name : {"numpy.modf", "numpy.frexp"})
      rows.push_back({name, [](Evaluator& e, Call& call) { return universal(e, call, 1, 2); }});
    rows.push_back({"numpy.divmod", [](Evaluator& e, Call& call) { return universal(e, call, 2, 2); }});
    return rows;
  }();
  return table;
}

}  // namespace warploom::frontend::python
