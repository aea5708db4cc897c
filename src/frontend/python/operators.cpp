// Operators with Numba's rules for the type of the result.
#include <fmt/format.h>

#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

const char* operator_name(Op op, bool in_place) {
  switch (op) {
    case Op::add: return in_place ? "operator.iadd" : "operator.add";
    case Op::sub: return in_place ? "operator.isub" : "operator.sub";
    case Op::mul: return in_place ? "operator.imul" : "operator.mul";
    case Op::div: return in_place ? "operator.itruediv" : "operator.truediv";
    case Op::floor_div: return in_place ? "operator.ifloordiv" : "operator.floordiv";
    case Op::mod: return in_place ? "operator.imod" : "operator.mod";
    case Op::pow: return in_place ? "operator.ipow" : "operator.pow";
    case Op::matmul: return in_place ? "operator.imatmul" : "operator.matmul";
    case Op::lshift: return in_place ? "operator.ilshift" : "operator.lshift";
    case Op::rshift: return in_place ? "operator.irshift" : "operator.rshift";
    case Op::bit_or: return in_place ? "operator.ior" : "operator.or_";
    case Op::bit_xor: return in_place ? "operator.ixor" : "operator.xor";
    case Op::bit_and: return in_place ? "operator.iand" : "operator.and_";
    case Op::invert: return "operator.invert";
    case Op::plus: return "operator.pos";
    case Op::minus: return "operator.neg";
    case Op::eq: return "operator.eq";
    case Op::ne: return "operator.ne";
    case Op::lt: return "operator.lt";
    case Op::le: return "operator.le";
    case Op::gt: return "operator.gt";
    case Op::ge: return "operator.ge";
    case Op::in: return "operator.contains";
    default: return "operator";
  }
}

bool is_literal_int(const Value& value) {
  return value.constant() && value.constant()->kind == Constant::Kind::integer && value.type == int_type(64);
}

// Python's integer result: Numba computes in at least 64 bits, narrow typing in at least 32.
const Type* integer_result(const Evaluator& e, const Value& left, const Value& right) {
  const Type *a = left.type, *b = right.type;
  if (e.c.options.narrow) {
    // A literal takes the other side's type when it fits.
    const auto fits32 = [](const Value& v) {
      return v.constant()->integer >= INT32_MIN && v.constant()->integer <= INT32_MAX;
    };
    if (is_literal_int(left) && !is_literal_int(right) && fits32(left)) a = int_type(32);
    if (is_literal_int(right) && !is_literal_int(left) && fits32(right)) b = int_type(32);
    const auto bits = [](const Type* t) { return t->is(TypeKind::boolean) ? 32U : std::max<unsigned>(32, t->bits); };
    const bool both_unsigned = a->is(TypeKind::integer) && b->is(TypeKind::integer) && !a->is_signed && !b->is_signed;
    if (a->is(TypeKind::integer) && b->is(TypeKind::integer) && a->is_signed != b->is_signed) {
      // As C: a literal does not make an unsigned value signed.
      if (is_literal_int(left) && left.non_negative && !b->is_signed) return int_type(bits(b), false);
      if (is_literal_int(right) && right.non_negative && !a->is_signed) return int_type(bits(a), false);
    }
    return int_type(std::max(bits(a), bits(b)), !both_unsigned);
  }
  const bool both_unsigned = a->is(TypeKind::integer) && b->is(TypeKind::integer) && !a->is_signed && !b->is_signed;
  return int_type(64, !both_unsigned);
}

const Type* arithmetic_result(const Evaluator& e, const Value& left, const Value& right) {
  if (left.type->is_integral() && right.type->is_integral()) return integer_result(e, left, right);
  if (e.c.options.narrow) {
    const auto is_literal = [](const Value& v) { return v.constant() != nullptr && v.type->bits == 64; };
    const auto is_real = [](const Type* t) { return t->is(TypeKind::floating); };
    // A literal, or a 32-bit integer, does not widen a float.
    if (is_real(left.type) && left.type->bits <= 32 &&
        (is_literal(right) || (right.type->is_integral() && right.type->bits <= 32)) &&
        !right.type->is(TypeKind::complex))
      return left.type->bits < 32 && !is_literal(right) && right.type->bits > 8 ? float_type(32) : left.type;
    if (is_real(right.type) && right.type->bits <= 32 &&
        (is_literal(left) || (left.type->is_integral() && left.type->bits <= 32)) && !left.type->is(TypeKind::complex))
      return right.type->bits < 32 && !is_literal(left) && left.type->bits > 8 ? float_type(32) : right.type;
  }
  return unify(left.type, right.type);
}

const Type* division_result(const Evaluator& e, const Value& left, const Value& right) {
  if (left.type->is_integral() && right.type->is_integral()) {
    if (e.c.options.narrow && std::max(left.type->bits, right.type->bits) <= 32) return float_type(32);
    return float_type(64);
  }
  return arithmetic_result(e, left, right);
}

}  // namespace

// Raises ZeroDivisionError when debug asks for Python's error model.
static void check_zero(Evaluator& e, const Node* node, llvm::Value* divisor) {
  if (!e.c.options.debug || e.c.options.fast_math || !e.frame) return;
  llvm::Value* zero = divisor->getType()->isFloatingPointTy()
                          ? e.b.CreateFCmpOEQ(divisor, llvm::ConstantFP::get(divisor->getType(), 0.0))
                          : e.b.CreateICmpEQ(divisor, llvm::ConstantInt::get(divisor->getType(), 0));
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(zero); known && known->isZero()) return;
  llvm::BasicBlock* bad = e.new_block("zero");
  llvm::BasicBlock* good = e.new_block("nonzero");
  e.b.CreateCondBr(zero, bad, good, llvm::MDBuilder(e.c.context).createBranchWeights(1, 1 << 20));
  e.b.SetInsertPoint(bad);
  e.raise(node, "ZeroDivisionError", 0, {{Constant::Kind::string, 0, 0, 0, "division by zero"}});
  e.b.SetInsertPoint(good);
}

static Value real_call(Evaluator& e, const std::string& base, const Type* type, std::vector<llvm::Value*> args) {
  const bool single = type->bits <= 32;
  llvm::Type* at = single ? e.b.getFloatTy() : e.b.getDoubleTy();
  std::vector<llvm::Type*> types;
  for (llvm::Value*& arg : args) {
    if (arg->getType()->isFloatingPointTy()) arg = e.b.CreateFPCast(arg, at);
    types.push_back(arg->getType());
  }
  llvm::Value* result = e.b.CreateCall(
      e.c.device_library("__nv_" + base + (single ? "f" : ""), llvm::FunctionType::get(at, types, false)), args);
  return {type, e.b.CreateFPCast(result, e.llvm_type(type)), nullptr, false};
}

// x // y, x % y of floats as Python computes them.
static std::pair<Value, Value> float_divmod(Evaluator& e, const Node* node, const Value& x, const Value& y) {
  auto& b = e.b;
  const Type* type = x.type;
  check_zero(e, node, y.ir);
  llvm::Value* zero = llvm::ConstantFP::get(x.ir->getType(), 0.0);
  llvm::Value* one = llvm::ConstantFP::get(x.ir->getType(), 1.0);
  llvm::Value* mod = real_call(e, "fmod", type, {x.ir, y.ir}).ir;
  llvm::Value* quotient = b.CreateFDiv(b.CreateFSub(x.ir, mod), y.ir);
  llvm::Value* inexact = b.CreateFCmpUNE(mod, zero);
  llvm::Value* signs_differ = b.CreateXor(b.CreateFCmpOLT(y.ir, zero), b.CreateFCmpOLT(mod, zero));
  llvm::Value* adjust = b.CreateAnd(inexact, signs_differ);
  llvm::Value* adjusted = b.CreateSelect(adjust, b.CreateFAdd(mod, y.ir), mod);
  llvm::Value* result_mod =
      b.CreateSelect(inexact, adjusted, b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, y.ir));
  quotient = b.CreateSelect(adjust, b.CreateFSub(quotient, one), quotient);
  llvm::Value* floor = b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, quotient);
  llvm::Value* half = llvm::ConstantFP::get(x.ir->getType(), 0.5);
  floor = b.CreateSelect(b.CreateFCmpOGT(b.CreateFSub(quotient, floor), half), b.CreateFAdd(floor, one), floor);
  llvm::Value* plain_quotient = b.CreateFDiv(x.ir, y.ir);
  floor = b.CreateSelect(b.CreateFCmpUNE(quotient, zero), floor,
                         b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, plain_quotient));
  // Division by zero follows IEEE: infinity or NaN.
  floor = b.CreateSelect(b.CreateFCmpOEQ(y.ir, zero), plain_quotient, floor);
  return {{type, floor, nullptr, false}, {type, result_mod, nullptr, false}};
}

static std::pair<llvm::Value*, llvm::Value*> int_divmod(Evaluator& e, const Node* node, const Value& x,
                                                        const Value& y) {
  auto& b = e.b;
  check_zero(e, node, y.ir);
  llvm::Value* zero = llvm::ConstantInt::get(x.ir->getType(), 0);
  llvm::Value* one = llvm::ConstantInt::get(x.ir->getType(), 1);
  // Without an error model division by zero gives 0, and never a trap.
  llvm::Value* is_zero = b.CreateICmpEQ(y.ir, zero);
  llvm::Value* divisor = b.CreateSelect(is_zero, one, y.ir);
  if (!x.type->is_signed || (x.non_negative && y.non_negative)) {
    llvm::Value* q = b.CreateUDiv(x.ir, divisor);
    llvm::Value* r = b.CreateURem(x.ir, divisor);
    return {b.CreateSelect(is_zero, zero, q), b.CreateSelect(is_zero, zero, r)};
  }
  // The smallest integer by -1 overflows: it is its own negative.
  llvm::Value* minus = llvm::ConstantInt::getSigned(x.ir->getType(), -1);
  llvm::Value* by_minus = b.CreateICmpEQ(divisor, minus);
  llvm::Value* safe = b.CreateSelect(by_minus, one, divisor);
  llvm::Value* q = b.CreateSDiv(x.ir, safe);
  llvm::Value* r = b.CreateSRem(x.ir, safe);
  q = b.CreateSelect(by_minus, b.CreateNeg(x.ir), q);
  llvm::Value* down = b.CreateAnd(b.CreateICmpNE(r, zero), b.CreateICmpSLT(b.CreateXor(r, safe), zero));
  q = b.CreateSelect(down, b.CreateSub(q, one), q);
  r = b.CreateSelect(down, b.CreateAdd(r, safe), r);
  return {b.CreateSelect(is_zero, zero, q), b.CreateSelect(is_zero, zero, r)};
}

static Value int_power(Evaluator& e, const Value& base, const Value& exponent) {
  auto& b = e.b;
  const Type* type = base.type;
  llvm::Type* ir = e.llvm_type(type);
  // By squaring; a negative exponent gives the inverse, which is an integer for 1 and -1 only and 0 otherwise.
  llvm::AllocaInst* result = e.entry_alloca(ir, "power");
  llvm::AllocaInst* square = e.entry_alloca(ir, "square");
  llvm::AllocaInst* left = e.entry_alloca(exponent.ir->getType(), "left");
  llvm::Value* none = llvm::ConstantInt::get(exponent.ir->getType(), 0);
  llvm::Value* negative = exponent.type->is_signed ? b.CreateICmpSLT(exponent.ir, none) : b.getInt1(false);
  b.CreateStore(llvm::ConstantInt::get(ir, 1), result);
  b.CreateStore(base.ir, square);
  b.CreateStore(b.CreateSelect(negative, b.CreateNeg(exponent.ir), exponent.ir), left);
  llvm::BasicBlock *head = e.new_block("power"), *body = e.new_block("square"), *done = e.new_block("powered");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::Value* bits = b.CreateLoad(exponent.ir->getType(), left);
  b.CreateCondBr(b.CreateICmpNE(bits, none), body, done);
  b.SetInsertPoint(body);
  llvm::Value* x = b.CreateLoad(ir, square);
  llvm::Value* so_far = b.CreateLoad(ir, result);
  llvm::Value* odd = b.CreateTrunc(bits, b.getInt1Ty());
  b.CreateStore(b.CreateSelect(odd, b.CreateMul(so_far, x), so_far), result);
  b.CreateStore(b.CreateMul(x, x), square);
  b.CreateStore(b.CreateLShr(bits, llvm::ConstantInt::get(bits->getType(), 1)), left);
  b.CreateBr(head);
  b.SetInsertPoint(done);
  llvm::Value* unit = b.CreateICmpEQ(base.ir, llvm::ConstantInt::get(ir, 1));
  if (type->is_signed) unit = b.CreateOr(unit, b.CreateICmpEQ(base.ir, llvm::ConstantInt::getSigned(ir, -1)));
  llvm::Value* power = b.CreateLoad(ir, result);
  llvm::Value* inverse = b.CreateSelect(unit, power, llvm::ConstantInt::get(ir, 0));
  return {type, b.CreateSelect(negative, inverse, power), nullptr, base.non_negative};
}

static Value complex_binary(Evaluator& e, const Node* node, Op op, const Value& x, const Value& y) {
  auto& b = e.b;
  const Type* type = x.type;
  llvm::Value *a = b.CreateExtractValue(x.ir, 0), *bi = b.CreateExtractValue(x.ir, 1);
  llvm::Value *c = b.CreateExtractValue(y.ir, 0), *d = b.CreateExtractValue(y.ir, 1);
  const auto make = [&](llvm::Value* real, llvm::Value* imag) {
    llvm::Value* ir = b.CreateInsertValue(llvm::UndefValue::get(e.llvm_type(type)), real, 0);
    return Value{type, b.CreateInsertValue(ir, imag, 1), nullptr, false};
  };
  switch (op) {
    case Op::add: return make(b.CreateFAdd(a, c), b.CreateFAdd(bi, d));
    case Op::sub: return make(b.CreateFSub(a, c), b.CreateFSub(bi, d));
    case Op::mul:
      return make(b.CreateFSub(b.CreateFMul(a, c), b.CreateFMul(bi, d)),
                  b.CreateFAdd(b.CreateFMul(a, d), b.CreateFMul(bi, c)));
    case Op::div: {
      // Smith's method: scales by the larger part, so that squares do not overflow.
      llvm::Value* wide = b.CreateFCmpOGE(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, c),
                                          b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, d));
      llvm::Value* big = b.CreateSelect(wide, c, d);
      llvm::Value* small = b.CreateSelect(wide, d, c);
      llvm::Value* ratio = b.CreateFDiv(small, big);
      llvm::Value* denominator = b.CreateFAdd(big, b.CreateFMul(small, ratio));
      llvm::Value* real =
          b.CreateSelect(wide, b.CreateFAdd(a, b.CreateFMul(bi, ratio)), b.CreateFAdd(b.CreateFMul(a, ratio), bi));
      llvm::Value* imag =
          b.CreateSelect(wide, b.CreateFSub(bi, b.CreateFMul(a, ratio)), b.CreateFSub(b.CreateFMul(bi, ratio), a));
      return make(b.CreateFDiv(real, denominator), b.CreateFDiv(imag, denominator));
    }
    case Op::pow: {
      Call call{node, "cmath.pow", {x, y}, {}};
      if (const Builtin power = find_builtin("cmath.pow")) return power(e, call);
      break;
    }
    default: break;
  }
  e.fail(node, fmt::format("complex numbers do not have this operator ({})", operator_name(op, false)));
}

static Value float_power(Evaluator& e, const Node* node, const Value& left, const Value& right) {
  // A float to an integer power multiplies; its type is the float's.
  if (right.type->is_integral()) {
    const Type* type = left.type->bits < 32 ? float_type(32) : left.type;
    const Value base = e.convert(left, type, node);
    if (const Constant* known = right.constant();
        known && known->kind == Constant::Kind::integer && known->integer >= 0 && known->integer <= 8) {
      std::int64_t n = known->integer;
      llvm::Value* square = base.ir;
      llvm::Value* result = nullptr;
      for (; n != 0; n >>= 1) {
        if (n & 1) result = result ? e.b.CreateFMul(result, square) : square;
        if (n > 1) square = e.b.CreateFMul(square, square);
      }
      return e.convert({type, result ? result : llvm::ConstantFP::get(base.ir->getType(), 1.0), nullptr, false},
                       left.type, node);
    }
    const bool single = type->bits == 32;
    llvm::Type* ir = e.llvm_type(type);
    llvm::Value* exponent = e.convert(right, int_type(32), node).ir;
    return e.convert({type,
                      e.b.CreateCall(e.c.device_library(single ? "__nv_powif" : "__nv_powi",
                                                        llvm::FunctionType::get(ir, {ir, e.b.getInt32Ty()}, false)),
                                     {base.ir, exponent}),
                      nullptr, false},
                     left.type, node);
  }
  const Type* type = unify(left.type, right.type);
  if (const auto quick = fast_call(e, "pow", type, {left, right}, node)) return *quick;
  return real_call(e, "pow", type, {e.convert(left, type, node).ir, e.convert(right, type, node).ir});
}

Value Evaluator::binary(const Node* node, Op op, const Value& left_value, const Value& right_value, bool in_place) {
  const Value left = plain(left_value, node), right = plain(right_value, node);
  const auto refuse = [&]() -> Value {
    Call site{node, operator_name(op, in_place), {left_value, right_value}, {}};
    no_match(site, "");
  };
  // Operators of other kinds of values: times, vectors, tuples, arrays.
  if (!left.type->is_number() || !right.type->is_number()) {
    const auto is_time = [](const Type* type) { return type->is(TypeKind::datetime) || type->is(TypeKind::timedelta); };
    if (is_time(left.type) || is_time(right.type)) {
      const bool dates = left.type->is(TypeKind::datetime) && right.type->is(TypeKind::datetime);
      const auto unit = [](const Value& v) { return v.type->name; };
      Type delta;
      delta.kind = TypeKind::timedelta;
      delta.name = is_time(left.type) ? unit(left) : unit(right);
      if (op == Op::sub && dates) return {intern(delta), b.CreateSub(left.ir, right.ir), nullptr, false};
      if ((op == Op::add || op == Op::sub) && is_time(left.type) && is_time(right.type) && !dates) {
        const Type* type = left.type->is(TypeKind::datetime) ? left.type : right.type;
        return {type, op == Op::add ? b.CreateAdd(left.ir, right.ir) : b.CreateSub(left.ir, right.ir), nullptr, false};
      }
      if (left.type->is(TypeKind::timedelta) && right.type->is(TypeKind::timedelta) && op == Op::div)
        return {float_type(64),
                b.CreateFDiv(b.CreateSIToFP(left.ir, b.getDoubleTy()), b.CreateSIToFP(right.ir, b.getDoubleTy())),
                nullptr, false};
      if (op == Op::mul && left.type->is(TypeKind::timedelta) && right.type->is_integral())
        return {left.type, b.CreateMul(left.ir, convert(right, int_type(64), node).ir), nullptr, false};
      if (op == Op::mul && right.type->is(TypeKind::timedelta) && left.type->is_integral())
        return {right.type, b.CreateMul(right.ir, convert(left, int_type(64), node).ir), nullptr, false};
      if (op == Op::floor_div && left.type->is(TypeKind::timedelta) && right.type->is_integral())
        return {left.type, b.CreateSDiv(left.ir, convert(right, int_type(64), node).ir), nullptr, false};
      return refuse();
    }
    if (left.type->is(TypeKind::tuple) && right.type->is(TypeKind::tuple) && op == Op::add) {
      std::vector<Value> items;
      for (std::size_t i = 0; i < left.type->items.size(); ++i) items.push_back(tuple_item(left, i));
      for (std::size_t i = 0; i < right.type->items.size(); ++i) items.push_back(tuple_item(right, i));
      return make_tuple(items);
    }
    if (left.type->is(TypeKind::tuple) && is_literal_int(right) && op == Op::mul) {
      std::vector<Value> items;
      for (std::int64_t k = 0; k < right.constant()->integer && items.size() < 4096; ++k)
        for (std::size_t i = 0; i < left.type->items.size(); ++i) items.push_back(tuple_item(left, i));
      return make_tuple(items);
    }
    if (left.constant() && right.constant() && left.type->is(TypeKind::string) && right.type->is(TypeKind::string) &&
        op == Op::add)
      return constant({Constant::Kind::string, 0, 0, 0, left.constant()->text + right.constant()->text});
    if (left.type->is(TypeKind::vector) || right.type->is(TypeKind::vector)) {
      const Type* type = left.type->is(TypeKind::vector) ? left.type : right.type;
      const auto lanes = [&](const Value& v) -> llvm::Value* {
        if (v.type == type) return v.ir;
        if (!v.type->is_number()) return nullptr;
        return b.CreateVectorSplat(type->ndim, convert(v, type->element, node).ir);
      };
      llvm::Value *x = lanes(left), *y = lanes(right);
      if (!x || !y) return refuse();
      const bool real = type->element->is(TypeKind::floating);
      switch (op) {
        case Op::add: return {type, real ? b.CreateFAdd(x, y) : b.CreateAdd(x, y), nullptr, false};
        case Op::sub: return {type, real ? b.CreateFSub(x, y) : b.CreateSub(x, y), nullptr, false};
        case Op::mul: return {type, real ? b.CreateFMul(x, y) : b.CreateMul(x, y), nullptr, false};
        case Op::div:
          if (real) return {type, b.CreateFDiv(x, y), nullptr, false};
          return refuse();
        default: return refuse();
      }
    }
    return refuse();
  }
  const bool integers = left.type->is_integral() && right.type->is_integral();
  // Both known: Python's own integers.
  if (integers && is_literal_int(left) && is_literal_int(right)) {
    const std::int64_t x = left.constant()->integer, y = right.constant()->integer;
    std::int64_t result = 0;
    const auto floor_quotient = [&] { return x / y - ((x % y != 0 && ((x < 0) != (y < 0))) ? 1 : 0); };
    switch (op) {
      case Op::add:
        if (!__builtin_add_overflow(x, y, &result)) return integer(result);
        break;
      case Op::sub:
        if (!__builtin_sub_overflow(x, y, &result)) return integer(result);
        break;
      case Op::mul:
        if (!__builtin_mul_overflow(x, y, &result)) return integer(result);
        break;
      case Op::floor_div:
        if (y != 0 && y != -1) return integer(floor_quotient());
        break;
      case Op::mod:
        if (y != 0 && y != -1) return integer(x - floor_quotient() * y);
        break;
      case Op::lshift:
        if (y >= 0 && y < 63 && x >= 0 && x < (std::int64_t{1} << (62 - y))) return integer(x << y);
        break;
      case Op::rshift:
        if (y >= 0 && y < 64) return integer(x >> y);
        break;
      case Op::bit_and: return integer(x & y);
      case Op::bit_or: return integer(x | y);
      case Op::bit_xor: return integer(x ^ y);
      case Op::pow: {
        if (y < 0 || y > 63) break;
        std::int64_t power = 1;
        bool fits = true;
        for (std::int64_t i = 0; i < y; ++i) fits &= !__builtin_mul_overflow(power, x, &power);
        if (fits) return integer(power);
        break;
      }
      default: break;
    }
  }
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul: {
      const Type* type = arithmetic_result(*this, left, right);
      const Value x = convert(left, type, node), y = convert(right, type, node);
      if (type->is(TypeKind::complex)) return complex_binary(*this, node, op, x, y);
      if (type->is(TypeKind::floating)) {
        llvm::Value* ir = op == Op::add   ? b.CreateFAdd(x.ir, y.ir)
                          : op == Op::sub ? b.CreateFSub(x.ir, y.ir)
                                          : b.CreateFMul(x.ir, y.ir);
        return {type, ir, nullptr, false};
      }
      llvm::Value* ir = op == Op::add   ? b.CreateAdd(x.ir, y.ir)
                        : op == Op::sub ? b.CreateSub(x.ir, y.ir)
                                        : b.CreateMul(x.ir, y.ir);
      return {type, ir, nullptr,
              op != Op::sub && (left.non_negative || left.type->is(TypeKind::boolean)) &&
                  (right.non_negative || right.type->is(TypeKind::boolean))};
    }
    case Op::div: {
      const Type* type = division_result(*this, left, right);
      const Value x = convert(left, type, node), y = convert(right, type, node);
      if (type->is(TypeKind::complex)) return complex_binary(*this, node, op, x, y);
      check_zero(*this, node, y.ir);
      return {type, b.CreateFDiv(x.ir, y.ir), nullptr, false};
    }
    case Op::floor_div:
    case Op::mod: {
      const Type* type = arithmetic_result(*this, left, right);
      if (type->is(TypeKind::complex)) return refuse();
      if (type->is(TypeKind::floating) && type->bits < 32) type = float_type(32);
      const Value x = convert(left, type, node), y = convert(right, type, node);
      if (type->is(TypeKind::floating)) {
        const auto both = float_divmod(*this, node, x, y);
        return op == Op::mod ? both.second : both.first;
      }
      const bool non_negative = (!type->is_signed || x.non_negative) && (!type->is_signed || y.non_negative);
      const auto both = int_divmod(*this, node, x, y);
      // x % y has the sign of y.
      return {type, op == Op::mod ? both.second : both.first, nullptr,
              op == Op::mod ? (y.non_negative || !type->is_signed) : non_negative};
    }
    case Op::pow: {
      if (integers) {
        const Type* type = integer_result(*this, left, right);
        const Value base = convert(left, type, node);
        if (const Constant* known = right.constant(); known && known->integer >= 0 && known->integer <= 16) {
          llvm::Value* result = llvm::ConstantInt::get(llvm_type(type), 1);
          for (std::int64_t i = 0; i < known->integer; ++i) result = i == 0 ? base.ir : b.CreateMul(result, base.ir);
          return {type, result, nullptr, base.non_negative || known->integer % 2 == 0};
        }
        return int_power(*this, base, right.type->is(TypeKind::boolean) ? convert(right, type, node) : right);
      }
      const Type* type = unify(left.type, right.type);
      if (type->is(TypeKind::complex))
        return complex_binary(*this, node, op, convert(left, type, node), convert(right, type, node));
      if (left.type->is(TypeKind::floating)) return float_power(*this, node, left, right);
      return float_power(*this, node, convert(left, type, node), convert(right, type, node));
    }
    case Op::lshift:
    case Op::rshift: {
      if (!integers) return refuse();
      const bool is_signed = left.type->is(TypeKind::boolean) || left.type->is_signed;
      unsigned bits = 64;
      if (c.options.narrow && !is_literal_int(left)) bits = std::max<unsigned>(32, left.type->bits);
      const Type* type = int_type(bits, is_signed);
      const Value x = convert(left, type, node), y = convert(right, type, node);
      // Shifting by the width or more is defined in Python: everything is shifted out.
      llvm::Value* limit = llvm::ConstantInt::get(x.ir->getType(), bits);
      llvm::Value* in_range = b.CreateICmpULT(y.ir, limit);
      llvm::Value* amount = b.CreateSelect(in_range, y.ir, llvm::ConstantInt::get(x.ir->getType(), bits - 1));
      if (op == Op::rshift) {
        llvm::Value* ir = is_signed ? b.CreateAShr(x.ir, amount)
                                    : b.CreateSelect(in_range, b.CreateLShr(x.ir, amount),
                                                     llvm::ConstantInt::get(x.ir->getType(), 0));
        return {type, ir, nullptr, x.non_negative};
      }
      return {type, b.CreateSelect(in_range, b.CreateShl(x.ir, amount), llvm::ConstantInt::get(x.ir->getType(), 0)),
              nullptr, x.non_negative && !!y.constant()};
    }
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor: {
      if (!integers) return refuse();
      const bool bools = left.type->is(TypeKind::boolean) && right.type->is(TypeKind::boolean);
      const bool is_signed = left.type->is(TypeKind::boolean) || left.type->is_signed;
      const Type* type = bools              ? bool_type()
                         : c.options.narrow ? integer_result(*this, left, right)
                                            : int_type(64, is_signed);
      const Value x = convert(left, type, node), y = convert(right, type, node);
      llvm::Value* ir = op == Op::bit_and  ? b.CreateAnd(x.ir, y.ir)
                        : op == Op::bit_or ? b.CreateOr(x.ir, y.ir)
                                           : b.CreateXor(x.ir, y.ir);
      const bool non_negative = op == Op::bit_and ? x.non_negative || y.non_negative : x.non_negative && y.non_negative;
      return {type, ir, nullptr, non_negative};
    }
    default: return refuse();
  }
}

Value Evaluator::unary(const Node* node, Op op, const Value& value) {
  const Value operand = plain(value, node);
  if (operand.type->is(TypeKind::integer) || operand.type->is(TypeKind::boolean)) {
    if (const Constant* known = operand.constant(); known && known->kind == Constant::Kind::integer &&
                                                    operand.type == int_type(64) && known->integer != INT64_MIN) {
      if (op == Op::minus) return integer(-known->integer);
      if (op == Op::plus) return operand;
      if (op == Op::invert) return integer(~known->integer);
    }
    if (op == Op::invert && operand.type->is(TypeKind::boolean)) return boolean(b.CreateNot(operand.ir));
    const bool is_signed = operand.type->is(TypeKind::boolean) || operand.type->is_signed;
    const Type* type = int_type(c.options.narrow ? std::max<unsigned>(32, operand.type->bits) : 64, is_signed);
    const Value wide = convert(operand, type, node);
    if (op == Op::plus) return wide;
    return {type, op == Op::minus ? b.CreateNeg(wide.ir) : b.CreateNot(wide.ir), nullptr, false};
  }
  if (operand.type->is(TypeKind::floating) && op != Op::invert) {
    if (op == Op::plus) return operand;
    if (const Constant* known = operand.constant();
        known && known->kind == Constant::Kind::floating && operand.type == float_type(64))
      return constant({Constant::Kind::floating, 0, -known->real, 0, {}});
    return {operand.type, b.CreateFNeg(operand.ir), nullptr, false};
  }
  if (operand.type->is(TypeKind::complex) && op != Op::invert) {
    if (op == Op::plus) return operand;
    llvm::Value* ir = b.CreateInsertValue(operand.ir, b.CreateFNeg(b.CreateExtractValue(operand.ir, 0)), 0);
    return {operand.type, b.CreateInsertValue(ir, b.CreateFNeg(b.CreateExtractValue(operand.ir, 1)), 1), nullptr,
            false};
  }
  if (operand.type->is(TypeKind::timedelta) && op != Op::invert)
    return {operand.type, op == Op::minus ? b.CreateNeg(operand.ir) : operand.ir, nullptr, false};
  Call site{node, operator_name(op, false), {value}, {}};
  no_match(site, "");
}

Value Evaluator::compare(const Node* node, Op op, const Value& left_value, const Value& right_value) {
  const auto known = [&](bool is_true) { return constant({Constant::Kind::boolean, is_true ? 1 : 0, 0, 0, {}}); };
  if (op == Op::is_ || op == Op::is_not) {
    const bool negate = op == Op::is_not;
    const Value& l = left_value;
    const Value& r = right_value;
    if (l.type->is(TypeKind::none) || r.type->is(TypeKind::none)) {
      const Value& other = l.type->is(TypeKind::none) ? r : l;
      if (other.type->is(TypeKind::optional)) {
        llvm::Value* has = b.CreateExtractValue(other.ir, 0);
        return boolean(negate ? has : b.CreateNot(has));
      }
      return known(other.type->is(TypeKind::none) != negate);
    }
    if (l.type->is(TypeKind::object) || r.type->is(TypeKind::object)) return known((l.type == r.type) != negate);
    if (l.type != r.type) return known(negate);
    return compare(node, negate ? Op::ne : Op::eq, l, r);
  }
  if (op == Op::in || op == Op::not_in) {
    if (!right_value.type->is(TypeKind::tuple) && !right_value.type->is(TypeKind::range))
      fail(node, fmt::format("'in' needs a tuple or a range in a kernel, not {}", describe(right_value)));
    Value any = known(false);
    if (right_value.type->is(TypeKind::tuple))
      for (std::size_t i = 0; i < right_value.type->items.size(); ++i) {
        const Value one = compare(node, Op::eq, left_value, tuple_item(right_value, i));
        any = any.constant() && !any.constant()->integer ? one : boolean(b.CreateOr(any.ir, one.ir));
      }
    else
      fail(node, "'in range' is not supported in a kernel: compare with the bounds", "UnsupportedError");
    return op == Op::in ? any : boolean(b.CreateNot(any.ir));
  }
  if (left_value.type->is(TypeKind::enumeration) && left_value.type == right_value.type) {
    const Type* base = left_value.type->element;
    return compare(node, op, {base, left_value.ir, nullptr, false}, {base, right_value.ir, nullptr, false});
  }
  if (left_value.type->is(TypeKind::none) && right_value.type->is(TypeKind::none)) return known(op == Op::eq);
  // An optional compares as its value; none equals nothing but none.
  if (left_value.type->is(TypeKind::optional) || right_value.type->is(TypeKind::optional)) {
    if (left_value.type->is(TypeKind::none) || right_value.type->is(TypeKind::none))
      return compare(node, op == Op::ne ? Op::is_not : Op::is_, left_value, right_value);
  }
  const Value left = plain(left_value, node), right = plain(right_value, node);
  const auto predicate = [op](bool is_signed) {
    switch (op) {
      case Op::eq: return llvm::CmpInst::ICMP_EQ;
      case Op::ne: return llvm::CmpInst::ICMP_NE;
      case Op::lt: return is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
      case Op::le: return is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE;
      case Op::gt: return is_signed ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT;
      default: return is_signed ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE;
    }
  };
  if (left.type->is_integral() && right.type->is_integral()) {
    if (const Constant *x = left.constant(), *y = right.constant();
        x && y && x->kind != Constant::Kind::unsigned_integer && y->kind != Constant::Kind::unsigned_integer) {
      const std::int64_t p = x->integer, q = y->integer;
      switch (op) {
        case Op::eq: return known(p == q);
        case Op::ne: return known(p != q);
        case Op::lt: return known(p < q);
        case Op::le: return known(p <= q);
        case Op::gt: return known(p > q);
        default: return known(p >= q);
      }
    }
    const bool left_signed = left.type->is(TypeKind::integer) && left.type->is_signed;
    const bool right_signed = right.type->is(TypeKind::integer) && right.type->is_signed;
    if (left_signed == right_signed || (left_signed && left.non_negative) || (right_signed && right.non_negative)) {
      // Same signedness, or the signed side is not negative: the wider type decides.
      const bool is_signed = left_signed && right_signed;
      const unsigned bits = std::max({left.type->bits, right.type->bits, std::uint16_t{8}});
      llvm::Type* wide = b.getIntNTy(left_signed == right_signed ? bits : 64);
      return boolean(b.CreateICmp(predicate(is_signed), b.CreateIntCast(left.ir, wide, left_signed),
                                  b.CreateIntCast(right.ir, wide, right_signed)));
    }
    // Mixed: a negative number is below every unsigned one.
    llvm::Value* x = b.CreateIntCast(left.ir, b.getInt64Ty(), left_signed);
    llvm::Value* y = b.CreateIntCast(right.ir, b.getInt64Ty(), right_signed);
    if (left.type->bits < 64 && right.type->bits < 64) return boolean(b.CreateICmp(predicate(true), x, y));
    llvm::Value* negative = b.CreateICmpSLT(left_signed ? x : y, i64(0));
    llvm::Value* below =
        b.getInt1(op == Op::ne || (left_signed ? op == Op::lt || op == Op::le : op == Op::gt || op == Op::ge));
    return boolean(b.CreateSelect(negative, below, b.CreateICmp(predicate(false), x, y)));
  }
  if (left.type->is_number() && right.type->is_number()) {
    const Type* type = arithmetic_result(*this, left, right);
    const Value x = convert(left, type, node), y = convert(right, type, node);
    if (type->is(TypeKind::complex)) {
      if (op != Op::eq && op != Op::ne) {
        Call site{node, operator_name(op, false), {left_value, right_value}, {}};
        no_match(site, "complex numbers have no order");
      }
      llvm::Value* same = b.CreateAnd(b.CreateFCmpOEQ(b.CreateExtractValue(x.ir, 0), b.CreateExtractValue(y.ir, 0)),
                                      b.CreateFCmpOEQ(b.CreateExtractValue(x.ir, 1), b.CreateExtractValue(y.ir, 1)));
      return boolean(op == Op::eq ? same : b.CreateNot(same));
    }
    switch (op) {
      case Op::eq: return boolean(b.CreateFCmpOEQ(x.ir, y.ir));
      case Op::ne: return boolean(b.CreateFCmpUNE(x.ir, y.ir));
      case Op::lt: return boolean(b.CreateFCmpOLT(x.ir, y.ir));
      case Op::le: return boolean(b.CreateFCmpOLE(x.ir, y.ir));
      case Op::gt: return boolean(b.CreateFCmpOGT(x.ir, y.ir));
      default: return boolean(b.CreateFCmpOGE(x.ir, y.ir));
    }
  }
  const auto is_time = [](const Type* type) { return type->is(TypeKind::datetime) || type->is(TypeKind::timedelta); };
  if (is_time(left.type) && left.type->kind == right.type->kind)
    return boolean(b.CreateICmp(predicate(true), left.ir, right.ir));
  const auto is_text = [](const Value& v) {
    return v.type->is(TypeKind::charseq) || (v.type->is(TypeKind::string) && v.constant());
  };
  if ((op == Op::eq || op == Op::ne) && is_text(left) && is_text(right) &&
      (left.type->is(TypeKind::charseq) || right.type->is(TypeKind::charseq)))
    return compare_text(*this, left, right, op == Op::eq);
  if (left.type->is(TypeKind::string) && right.type->is(TypeKind::string)) {
    const int order = left.constant()->text.compare(right.constant()->text);
    switch (op) {
      case Op::eq: return known(order == 0);
      case Op::ne: return known(order != 0);
      case Op::lt: return known(order < 0);
      case Op::le: return known(order <= 0);
      case Op::gt: return known(order > 0);
      default: return known(order >= 0);
    }
  }
  if (left.type->is(TypeKind::tuple) && right.type->is(TypeKind::tuple)) {
    const std::size_t count = std::min(left.type->items.size(), right.type->items.size());
    if (op == Op::eq || op == Op::ne) {
      if (left.type->items.size() != right.type->items.size()) return known(op == Op::ne);
      llvm::Value* same = b.getInt1(true);
      for (std::size_t i = 0; i < count; ++i)
        same = b.CreateAnd(same, compare(node, Op::eq, tuple_item(left, i), tuple_item(right, i)).ir);
      return boolean(op == Op::eq ? same : b.CreateNot(same));
    }
    // Lexicographic: the first pair that differs decides.
    Value result = known(left.type->items.size() == right.type->items.size()
                             ? op == Op::le || op == Op::ge
                             : (left.type->items.size() < right.type->items.size()) == (op == Op::lt || op == Op::le));
    for (std::size_t i = count; i-- > 0;) {
      const Value x = tuple_item(left, i), y = tuple_item(right, i);
      llvm::Value* differ = compare(node, Op::ne, x, y).ir;
      result = boolean(b.CreateSelect(differ, compare(node, op, x, y).ir, result.ir));
    }
    return result;
  }
  if (left.type->is(TypeKind::charseq) || right.type->is(TypeKind::charseq)) {
    Call site{node, "charseq.compare", {left, right}, {}};
    if (const Builtin equal = find_builtin("charseq.compare")) {
      const Value same = equal(*this, site);
      if (op == Op::eq) return same;
      if (op == Op::ne) return boolean(b.CreateNot(same.ir));
    }
  }
  if (left.type->is(TypeKind::object) && right.type->is(TypeKind::object) && (op == Op::eq || op == Op::ne))
    return known((left.type == right.type) == (op == Op::eq));
  if (op == Op::eq || op == Op::ne) {
    // Different kinds of things are not equal.
    if (left.type->is(TypeKind::none) || right.type->is(TypeKind::none)) return known(op == Op::ne);
  }
  Call site{node, operator_name(op, false), {left_value, right_value}, {}};
  no_match(site, "");
}

}  // namespace warploom::frontend::python
