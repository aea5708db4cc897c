// Conversions between types, and what a value is worth as a truth value.
#include <fmt/format.h>

#include "frontend/python/evaluator.hpp"

namespace warploom::frontend::python {

bool Evaluator::can_convert(const Type* from, const Type* to) {
  if (from == to) return true;
  if (from->is(TypeKind::enumeration) && to->is_number()) return from->is_int_enum;
  if (from->is(TypeKind::optional)) return can_convert(from->element, to->is(TypeKind::optional) ? to->element : to);
  if (to->is(TypeKind::optional)) return from->is(TypeKind::none) || can_convert(from, to->element);
  if (from->is_number() && to->is_number())
    return !from->is(TypeKind::complex) || to->is(TypeKind::complex) || to->is(TypeKind::boolean);
  const auto is_time = [](const Type* type) { return type->is(TypeKind::datetime) || type->is(TypeKind::timedelta); };
  if (is_time(from) && to->is(TypeKind::integer)) return true;
  if (from->is(TypeKind::integer) && is_time(to)) return true;
  if (from->is(TypeKind::pointer) && to->is(TypeKind::integer)) return to->bits == 64;
  if (from->is(TypeKind::integer) && to->is(TypeKind::pointer)) return true;
  if (from->is(TypeKind::array) && to->is(TypeKind::array))
    return from->element == to->element && from->ndim == to->ndim && (to->layout == 'A' || to->layout == from->layout);
  if (from->is(TypeKind::tuple) && to->is(TypeKind::tuple)) {
    if (from->items.size() != to->items.size()) return false;
    for (std::size_t i = 0; i < from->items.size(); ++i)
      if (!can_convert(from->items[i], to->items[i])) return false;
    return true;
  }
  return false;
}

Value Evaluator::convert(const Value& value, const Type* to, const Node* node) {
  const Type* from = value.type;
  if (from == to) return value;
  if (!can_convert(from, to)) fail(node, fmt::format("cannot convert {} to {}", describe(value), display(to)));
  llvm::Type* target = llvm_type(to);
  // A known number stays known while it converts to another kind of number.
  if (from->is(TypeKind::enumeration))
    return convert({from->element, value.ir, value.literal, value.non_negative}, to, node);
  if (to->is(TypeKind::optional)) {
    llvm::Value* ir = llvm::Constant::getNullValue(target);
    if (from->is(TypeKind::none)) return {to, ir, nullptr, false};
    if (from->is(TypeKind::optional)) {
      const Value inner{from->element, member(value.ir, 1), nullptr, false};
      ir = b.CreateInsertValue(ir, member(value.ir, 0), 0);
      return {to, b.CreateInsertValue(ir, convert(inner, to->element, node).ir, 1), nullptr, false};
    }
    ir = b.CreateInsertValue(ir, b.getInt1(true), 0);
    return {to, b.CreateInsertValue(ir, convert(value, to->element, node).ir, 1), nullptr, false};
  }
  if (from->is(TypeKind::optional)) return convert({from->element, member(value.ir, 1), nullptr, false}, to, node);
  if (from->is(TypeKind::tuple)) {
    std::vector<Value> items;
    for (std::size_t i = 0; i < from->items.size(); ++i)
      items.push_back(convert(tuple_item(value, i), to->items[i], node));
    return make_tuple(to, items);
  }
  if (from->is(TypeKind::array)) return {to, value.ir, nullptr, false};
  if (from->is(TypeKind::pointer)) return {to, b.CreatePtrToInt(value.ir, target), nullptr, false};
  if (to->is(TypeKind::pointer)) {
    // Pointers that come as numbers point to global memory.
    llvm::Value* wide = b.CreateIntCast(value.ir, b.getInt64Ty(), from->is_signed);
    return {to, b.CreateAddrSpaceCast(b.CreateIntToPtr(wide, b.getPtrTy(1)), b.getPtrTy()), nullptr, false};
  }
  if (from->is(TypeKind::datetime) || from->is(TypeKind::timedelta))
    return {to, b.CreateIntCast(value.ir, target, true), nullptr, false};
  if (to->is(TypeKind::datetime) || to->is(TypeKind::timedelta))
    return {to, b.CreateIntCast(value.ir, target, from->is_signed), nullptr, false};
  if (to->is(TypeKind::boolean)) return truth(value, node);
  if (to->is(TypeKind::complex)) {
    const Type* part = float_type(to->bits);
    Value real = value, imag = convert(integer(0), part, node);
    if (from->is(TypeKind::complex)) {
      real = {float_type(from->bits), member(value.ir, 0), nullptr, false};
      imag = convert({real.type, member(value.ir, 1), nullptr, false}, part, node);
    }
    llvm::Value* ir = b.CreateInsertValue(llvm::UndefValue::get(target), convert(real, part, node).ir, 0);
    return {to, b.CreateInsertValue(ir, imag.ir, 1), nullptr, false};
  }
  if (to->is(TypeKind::floating)) {
    if (from->is(TypeKind::floating)) {
      llvm::Value* ir = value.ir;
      if (from->bits == to->bits)
        ir = b.CreateFPTrunc(b.CreateFPExt(ir, b.getFloatTy()), target);  // half and bfloat
      else
        ir = b.CreateFPCast(ir, target);
      return {to, ir, value.literal, false};
    }
    const bool is_signed = from->is(TypeKind::integer) && from->is_signed;
    llvm::Value* ir = is_signed ? b.CreateSIToFP(value.ir, target) : b.CreateUIToFP(value.ir, target);
    return {to, ir, nullptr, false};
  }
  // to an integer
  if (from->is(TypeKind::floating)) {
    // Small targets wrap as a cast through 32 bits does on the device.
    llvm::Type* at_least_32 = to->bits < 32 ? static_cast<llvm::Type*>(b.getInt32Ty()) : target;
    llvm::Value* ir =
        to->is_signed || to->bits < 32 ? b.CreateFPToSI(value.ir, at_least_32) : b.CreateFPToUI(value.ir, at_least_32);
    return {to, b.CreateIntCast(ir, target, true), nullptr, false};
  }
  const bool is_signed = from->is(TypeKind::integer) && from->is_signed;
  const bool keeps = to->bits >= from->bits;
  Value result{to, b.CreateIntCast(value.ir, target, is_signed), nullptr,
               !to->is_signed || (value.non_negative && keeps) || (from->is(TypeKind::boolean)) ||
                   (keeps && to->bits > from->bits && !is_signed)};
  if (keeps && from->is(TypeKind::integer) && (to->is_signed || value.non_negative)) result.literal = value.literal;
  return result;
}

Value Evaluator::plain(const Value& value, const Node* node) {
  if (value.type->is(TypeKind::enumeration) && value.type->is_int_enum)
    return {value.type->element, value.ir, value.literal, value.non_negative};
  if (value.type->is(TypeKind::optional)) return plain(convert(value, value.type->element, node), node);
  return value;
}

Value Evaluator::truth(const Value& value, const Node* node) {
  const auto known = [&](bool is_true) { return constant({Constant::Kind::boolean, is_true ? 1 : 0, 0, 0, {}}); };
  switch (value.type->kind) {
    case TypeKind::boolean: return value;
    case TypeKind::none: return known(false);
    case TypeKind::integer:
      if (const Constant* number = value.constant()) return known(number->integer != 0);
      return boolean(b.CreateICmpNE(value.ir, llvm::ConstantInt::get(value.ir->getType(), 0)));
    case TypeKind::floating:
      if (const Constant* number = value.constant(); number && number->kind == Constant::Kind::floating)
        return known(number->real != 0);
      return boolean(b.CreateFCmpUNE(value.ir, llvm::ConstantFP::get(value.ir->getType(), 0.0)));
    case TypeKind::complex: {
      llvm::Value* zero = llvm::ConstantFP::get(value.ir->getType()->getStructElementType(0), 0.0);
      return boolean(
          b.CreateOr(b.CreateFCmpUNE(member(value.ir, 0), zero), b.CreateFCmpUNE(member(value.ir, 1), zero)));
    }
    case TypeKind::string: return known(value.constant() && !value.constant()->text.empty());
    case TypeKind::tuple: return known(!value.type->items.empty());
    case TypeKind::optional: {
      llvm::Value* has = member(value.ir, 0);
      const Value inner = truth({value.type->element, member(value.ir, 1), nullptr, false}, node);
      return boolean(b.CreateAnd(has, inner.ir));
    }
    case TypeKind::datetime:
    case TypeKind::timedelta: return boolean(b.CreateICmpNE(value.ir, i64(0)));
    case TypeKind::enumeration: return truth({value.type->element, value.ir, value.literal, false}, node);
    case TypeKind::object: return known(true);
    case TypeKind::array:
      if (value.type->ndim == 0) return truth(load(array_data(value), value.type->element), node);
      if (value.type->ndim == 1) fail(node, "the truth value of an array is ambiguous: test one element, or its size");
      [[fallthrough]];
    default: fail(node, fmt::format("{} has no truth value in a kernel", describe(value)));
  }
}

}  // namespace warploom::frontend::python
