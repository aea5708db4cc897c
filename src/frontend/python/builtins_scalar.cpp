// Functions of the math and NumPy modules on single values: divisors, whole roots, closeness, choices.
#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

Value number(Evaluator& e, Call& call, std::size_t index) {
  const Value value = e.plain(call.args[index], call.node);
  if (!value.type->is_number()) e.no_match(call);
  return value;
}

// The magnitude of an integer, in 64 bits without sign.
llvm::Value* magnitude(Evaluator& e, Call& call, std::size_t index) {
  const Value value = number(e, call, index);
  if (!value.type->is_integral()) e.no_match(call, "of integers");
  const bool is_signed = value.type->is(TypeKind::integer) && value.type->is_signed;
  llvm::Value* wide = e.b.CreateIntCast(value.ir, e.b.getInt64Ty(), is_signed);
  if (!is_signed) return wide;
  return e.b.CreateIntrinsic(llvm::Intrinsic::abs, {wide->getType()}, {wide, e.b.getInt1(false)});
}

// Euclid's algorithm.
llvm::Value* greatest_divisor(Evaluator& e, llvm::Value* x, llvm::Value* y) {
  auto& b = e.b;
  llvm::AllocaInst *high = e.entry_alloca(b.getInt64Ty(), "high"), *low = e.entry_alloca(b.getInt64Ty(), "low");
  b.CreateStore(x, high);
  b.CreateStore(y, low);
  llvm::BasicBlock *head = e.new_block("gcd"), *body = e.new_block("gcd.step"), *done = e.new_block("gcd.end");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::Value* divisor = b.CreateLoad(b.getInt64Ty(), low);
  b.CreateCondBr(b.CreateICmpNE(divisor, e.i64(0)), body, done);
  b.SetInsertPoint(body);
  b.CreateStore(b.CreateURem(b.CreateLoad(b.getInt64Ty(), high), divisor), low);
  b.CreateStore(divisor, high);
  b.CreateBr(head);
  b.SetInsertPoint(done);
  return b.CreateLoad(b.getInt64Ty(), high);
}

Value gcd(Evaluator& e, Call& call) {
  call.bind(e, {"a", "b"}, 2);
  llvm::Value* x = magnitude(e, call, 0);
  return {int_type(64), greatest_divisor(e, x, magnitude(e, call, 1)), nullptr, true};
}

Value lcm(Evaluator& e, Call& call) {
  call.bind(e, {"a", "b"}, 2);
  auto& b = e.b;
  llvm::Value *x = magnitude(e, call, 0), *y = magnitude(e, call, 1);
  llvm::Value* divisor = greatest_divisor(e, x, y);
  llvm::Value* zero = b.CreateICmpEQ(divisor, e.i64(0));
  llvm::Value* product = b.CreateMul(b.CreateUDiv(x, b.CreateSelect(zero, e.i64(1), divisor)), y);
  return {int_type(64), product, nullptr, true};
}

// The whole part of the root; ValueError below zero.
Value isqrt(Evaluator& e, Call& call) {
  call.bind(e, {"n"}, 1);
  auto& b = e.b;
  const Value value = number(e, call, 0);
  if (!value.type->is_integral()) e.no_match(call, "of an integer");
  llvm::Value* n = e.convert(value, int_type(64), call.node).ir;
  if (value.type->is(TypeKind::integer) && value.type->is_signed && !value.non_negative) {
    llvm::BasicBlock *bad = e.new_block("negative"), *good = e.new_block("root");
    b.CreateCondBr(b.CreateICmpSLT(n, e.i64(0)), bad, good);
    b.SetInsertPoint(bad);
    e.raise(call.node, "ValueError", 0, {{Constant::Kind::string, 0, 0, 0, "isqrt() argument must be nonnegative"}});
    b.SetInsertPoint(good);
  }
  // Double precision is at most one off.
  llvm::Value* real = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, b.CreateUIToFP(n, b.getDoubleTy()));
  llvm::Value* root = b.CreateFPToUI(real, b.getInt64Ty());
  const auto minus = [&](llvm::Value* test) { root = b.CreateSub(root, b.CreateZExt(test, b.getInt64Ty())); };
  minus(b.CreateICmpUGT(b.CreateMul(root, root), n));
  llvm::Value* above = b.CreateAdd(root, e.i64(1));
  root = b.CreateSelect(b.CreateICmpULE(b.CreateMul(above, above), n), above, root);
  return {int_type(64), root, nullptr, true};
}

// |a - b| within the tolerances; equal infinities are close, NaN is close to nothing.
Value close(Evaluator& e, Call& call, bool numpy) {
  if (numpy)
    call.bind(e, {"a", "b", "rtol", "atol"}, 2);
  else
    call.bind(e, {"a", "b", "rel_tol", "abs_tol"}, 2);
  auto& b = e.b;
  const Type* type = float_type(64);
  const auto real = [&](std::size_t index, double otherwise) -> llvm::Value* {
    if (!call.has(index)) return llvm::ConstantFP::get(b.getDoubleTy(), otherwise);
    const Value value = number(e, call, index);
    if (value.type->is(TypeKind::complex)) e.no_match(call, "not of complex numbers");
    return e.convert(value, type, call.node).ir;
  };
  llvm::Value *x = real(0, 0), *y = real(1, 0), *relative = real(2, numpy ? 1e-5 : 1e-9);
  llvm::Value* absolute = real(3, numpy ? 1e-8 : 0);
  const auto size = [&](llvm::Value* value) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value); };
  llvm::Value* apart = size(b.CreateFSub(x, y));
  llvm::Value* scale = size(y);
  if (!numpy) scale = b.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, size(x), scale);
  llvm::Value* allowed = b.CreateFMul(relative, scale);
  allowed =
      numpy ? b.CreateFAdd(absolute, allowed) : b.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, allowed, absolute);
  llvm::Value* finite = b.CreateFCmpOLT(scale, llvm::ConstantFP::getInfinity(b.getDoubleTy()));
  llvm::Value* near = b.CreateAnd(b.CreateFCmpOLE(apart, allowed), finite);
  return e.boolean(b.CreateOr(near, b.CreateFCmpOEQ(x, y)));
}

Value where(Evaluator& e, Call& call) {
  call.bind(e, {"condition", "x", "y"}, 3);
  const Value test = e.truth(e.plain(call.args[0], call.node), call.node);
  const Value x = number(e, call, 1), y = number(e, call, 2);
  const Type* type = unify(x.type, y.type);
  return {type, e.b.CreateSelect(test.ir, e.convert(x, type, call.node).ir, e.convert(y, type, call.node).ir), nullptr,
          x.non_negative && y.non_negative};
}

// numpy.minimum(numpy.maximum(a, low), high)
Value clip(Evaluator& e, Call& call) {
  call.bind(e, {"a", "a_min", "a_max"}, 3);
  Value value = number(e, call, 0);
  const char* names[] = {"numpy.maximum", "numpy.minimum"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (call.args[i + 1].type->is(TypeKind::none)) continue;
    Call bound{call.node, names[i], {value, number(e, call, i + 1)}, {}};
    value = find_builtin(names[i])(e, bound);
  }
  return value;
}

Value part(Evaluator& e, Call& call, unsigned index) {
  call.bind(e, {"val"}, 1);
  if (call.args[0].type->is(TypeKind::array))
    return e.array_attribute(call.node, call.args[0], index ? "imag" : "real");
  const Value value = number(e, call, 0);
  if (value.type->is(TypeKind::complex)) return complex_part(e, value, index);
  return index == 0 ? value : e.convert(e.integer(0), value.type, call.node);
}

Value angle(Evaluator& e, Call& call) {
  call.bind(e, {"z"}, 1);
  Call phase{call.node, "cmath.phase", {number(e, call, 0)}, {}};
  return find_builtin("cmath.phase")(e, phase);
}

// Unlike Python's round() it keeps the type.
Value rounded(Evaluator& e, Call& call) {
  call.bind(e, {"a", "decimals"}, 1);
  const Value value = number(e, call, 0);
  if (value.type->is_integral() && !call.has(1)) return value;
  Call digits{call.node, "builtins.round", {value, call.has(1) ? call.args[1] : e.integer(0)}, {}};
  return find_builtin(digits.name)(e, digits);
}

constexpr BuiltinRow rows[] = {
    {"math.gcd", gcd},
    {"math.lcm", lcm},
    {"math.isqrt", isqrt},
    {"math.isclose", [](Evaluator& e, Call& call) { return close(e, call, false); }},
    {"numpy.isclose", [](Evaluator& e, Call& call) { return close(e, call, true); }},
    {"numpy.round", rounded},
    {"numpy.around", rounded},
    {"numpy.where", where},
    {"numpy.clip", clip},
    {"numpy.real", [](Evaluator& e, Call& call) { return part(e, call, 0); }},
    {"numpy.imag", [](Evaluator& e, Call& call) { return part(e, call, 1); }},
    {"numpy.angle", angle},
};

}  // namespace

std::span<const BuiltinRow> scalar_builtins() { return rows; }

}  // namespace warploom::frontend::python
