// Python's built-in functions: range, len, min, max, abs, round, enumerate, zip, divmod, …
#include <fmt/format.h>

#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

Value range(Evaluator& e, Call& call) {
  if (call.args.empty() || call.args.size() > 3 || !call.keywords.empty()) e.no_match(call);
  bool all_unsigned = true, fits32 = true;
  for (Value& arg : call.args) {
    arg = e.plain(arg, call.node);
    if (!arg.type->is_integral()) e.no_match(call, fmt::format("range needs integers, not {}", e.describe(arg)));
    all_unsigned &= arg.type->is(TypeKind::integer) && !arg.type->is_signed && arg.type->bits == 64;
    // Literals are 64-bit integers for Numba; narrow typing lets them follow the others.
    const bool small = e.c.options.narrow && arg.constant() && arg.constant()->integer >= INT32_MIN &&
                       arg.constant()->integer <= INT32_MAX;
    fits32 &= small || arg.type->bits < 32 ||
              (arg.type->bits == 32 && (arg.type->is_signed || arg.type->is(TypeKind::boolean)));
  }
  const Type* element = all_unsigned ? int_type(64, false) : int_type(fits32 ? 32 : 64);
  Type type;
  type.kind = TypeKind::range;
  type.element = element;
  const Type* interned = intern(std::move(type));
  Value start = e.integer(0), step = e.integer(1), stop = call.args[0];
  if (call.args.size() > 1) {
    start = call.args[0];
    stop = call.args[1];
  }
  if (call.args.size() > 2) step = call.args[2];
  const bool non_negative = start.non_negative && (step.non_negative || !step.type->is_integral());
  llvm::Value* ir = llvm::UndefValue::get(e.llvm_type(interned));
  ir = e.b.CreateInsertValue(ir, e.convert(start, element, call.node).ir, 0);
  ir = e.b.CreateInsertValue(ir, e.convert(stop, element, call.node).ir, 1);
  ir = e.b.CreateInsertValue(ir, e.convert(step, element, call.node).ir, 2);
  return {interned, ir, nullptr, non_negative};
}

Value len(Evaluator& e, Call& call) {
  call.bind(e, {"obj"}, 1);
  const Value& value = call.args[0];
  switch (value.type->kind) {
    case TypeKind::tuple: return e.integer(static_cast<std::int64_t>(value.type->items.size()));
    case TypeKind::array:
      if (value.type->ndim > 0) {
        llvm::Value* extent = e.array_shape(value, 0);
        if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(extent)) return e.integer(known->getSExtValue());
        return {int_type(64), extent, nullptr, true};
      }
      break;
    case TypeKind::string:
      if (value.constant()) return e.integer(static_cast<std::int64_t>(value.constant()->text.size()));
      break;
    case TypeKind::record: return e.integer(static_cast<std::int64_t>(value.type->names.size()));
    case TypeKind::charseq: {
      // Up to the last character that is not zero.
      llvm::Value* length = e.i64(0);
      for (std::uint32_t i = 0; i < value.type->size; ++i) {
        llvm::Type* unit = value.type->wide ? static_cast<llvm::Type*>(e.b.getInt32Ty()) : e.b.getInt8Ty();
        llvm::Value* place = e.b.CreateConstInBoundsGEP1_64(unit, value.ir, i);
        llvm::Value* set =
            e.b.CreateICmpNE(e.b.CreateAlignedLoad(unit, place, llvm::MaybeAlign(value.type->wide ? 4 : 1)),
                             llvm::ConstantInt::get(unit, 0));
        length = e.b.CreateSelect(set, e.i64(i + 1), length);
      }
      return {int_type(64), length, nullptr, true};
    }
    default: break;
  }
  e.no_match(call);
}

Value min_max(Evaluator& e, Call& call, bool is_min) {
  std::vector<Value> items = call.args;
  if (items.size() == 1 && items[0].type->is(TypeKind::tuple)) {
    const Value tuple = items[0];
    items.clear();
    for (std::size_t i = 0; i < tuple.type->items.size(); ++i) items.push_back(e.tuple_item(tuple, i));
  }
  if (items.empty() || !call.keywords.empty()) e.no_match(call);
  for (Value& item : items) {
    item = e.plain(item, call.node);
    if (!item.type->is_number() || item.type->is(TypeKind::complex)) e.no_match(call);
  }
  Value best = items[0];
  for (std::size_t i = 1; i < items.size(); ++i) {
    const Value& next = items[i];
    const Type* type = unify(best.type, next.type);
    if (e.c.options.narrow) {
      // A literal that fits takes the other side's type.
      const auto follows = [](const Value& literal, const Value& other) {
        if (!literal.constant() || other.constant() || literal.type->kind != other.type->kind) return false;
        if (!literal.type->is(TypeKind::integer) || other.type->bits == 64) return true;
        const std::int64_t value = literal.constant()->integer;
        const unsigned magnitude = other.type->bits - (other.type->is_signed ? 1U : 0U);
        const std::int64_t top = (std::int64_t{1} << magnitude) - 1;
        return literal.constant()->kind == Constant::Kind::integer && value <= top &&
               value >= (other.type->is_signed ? -top - 1 : 0);
      };
      if (follows(next, best)) type = best.type;
      if (follows(best, next)) type = next.type;
    }
    const Value x = e.convert(best, type, call.node), y = e.convert(next, type, call.node);
    const bool non_negative = is_min ? x.non_negative && y.non_negative : x.non_negative || y.non_negative;
    if (best.constant() && next.constant() && type == int_type(64) &&
        best.constant()->kind == Constant::Kind::integer && next.constant()->kind == Constant::Kind::integer) {
      const std::int64_t p = best.constant()->integer, q = next.constant()->integer;
      best = e.integer(is_min ? std::min(p, q) : std::max(p, q));
      continue;
    }
    if (type->is(TypeKind::floating)) {
      // As Numba on the device: the hardware's minimum, which prefers a number to a NaN.
      best = {type, e.b.CreateBinaryIntrinsic(is_min ? llvm::Intrinsic::minnum : llvm::Intrinsic::maxnum, x.ir, y.ir),
              nullptr, false};
    } else if (type->is(TypeKind::boolean)) {
      best = e.boolean(is_min ? e.b.CreateAnd(x.ir, y.ir) : e.b.CreateOr(x.ir, y.ir));
    } else {
      const auto id = type->is_signed ? (is_min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                                      : (is_min ? llvm::Intrinsic::umin : llvm::Intrinsic::umax);
      best = {type, e.b.CreateBinaryIntrinsic(id, x.ir, y.ir), nullptr, non_negative};
    }
  }
  return best;
}

Value absolute(Evaluator& e, Call& call) {
  call.bind(e, {"x"}, 1);
  const Value value = e.plain(call.args[0], call.node);
  switch (value.type->kind) {
    case TypeKind::boolean: return e.convert(value, int_type(64), call.node);
    case TypeKind::integer:
      if (!value.type->is_signed) return value;
      return {value.type,
              e.b.CreateIntrinsic(llvm::Intrinsic::abs, {value.ir->getType()}, {value.ir, e.b.getInt1(false)}), nullptr,
              true};
    case TypeKind::floating:
      return {value.type, e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value.ir), nullptr, false};
    case TypeKind::complex: {
      const Type* part = float_type(value.type->bits);
      return device_call(e, "hypot", part,
                         {{part, e.b.CreateExtractValue(value.ir, 0), nullptr, false},
                          {part, e.b.CreateExtractValue(value.ir, 1), nullptr, false}},
                         call.node);
    }
    case TypeKind::timedelta:
      return {value.type,
              e.b.CreateIntrinsic(llvm::Intrinsic::abs, {value.ir->getType()}, {value.ir, e.b.getInt1(false)}), nullptr,
              true};
    default: e.no_match(call);
  }
}

Value round_value(Evaluator& e, Call& call) {
  call.bind(e, {"number", "ndigits"}, 1);
  const Value value = e.plain(call.args[0], call.node);
  if (value.type->is_integral() && !call.has(1)) return value;
  if (!value.type->is(TypeKind::floating)) e.no_match(call);
  const auto rint = [&](llvm::Value* x) { return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, x); };
  if (!call.has(1) || call.args[1].type->is(TypeKind::none))
    return e.convert({value.type, rint(value.ir), nullptr, false}, int_type(64), call.node);
  // Half to even at the digit; numbers without that many digits stay as they are.
  const Value digits = e.convert(e.plain(call.args[1], call.node), int_type(32), call.node);
  const Type* wide = float_type(64);
  const Value x = e.convert(value, wide, call.node);
  const Value magnitude{int_type(32),
                        e.b.CreateIntrinsic(llvm::Intrinsic::abs, {e.b.getInt32Ty()}, {digits.ir, e.b.getInt1(false)}),
                        nullptr, true};
  llvm::Value* power = e.b.CreateCall(
      e.c.device_library("__nv_powi",
                         llvm::FunctionType::get(e.b.getDoubleTy(), {e.b.getDoubleTy(), e.b.getInt32Ty()}, false)),
      {llvm::ConstantFP::get(e.b.getDoubleTy(), 10.0), magnitude.ir});
  llvm::Value* negative = e.b.CreateICmpSLT(digits.ir, e.b.getInt32(0));
  llvm::Value* scaled = e.b.CreateSelect(negative, e.b.CreateFDiv(x.ir, power), e.b.CreateFMul(x.ir, power));
  llvm::Value* whole = rint(scaled);
  llvm::Value* back = e.b.CreateSelect(negative, e.b.CreateFMul(whole, power), e.b.CreateFDiv(whole, power));
  llvm::Value* finite = e.b.CreateFCmpOLT(e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, scaled),
                                          llvm::ConstantFP::getInfinity(e.b.getDoubleTy()));
  return e.convert({wide, e.b.CreateSelect(finite, back, x.ir), nullptr, false}, value.type, call.node);
}

Value divmod(Evaluator& e, Call& call) {
  call.bind(e, {"a", "b"}, 2);
  const Value x = call.args[0], y = call.args[1];
  return e.make_tuple({e.binary(call.node, Op::floor_div, x, y), e.binary(call.node, Op::mod, x, y)});
}

Value power(Evaluator& e, Call& call) {
  call.bind(e, {"base", "exp"}, 2);
  const Value x = call.args[0], y = call.args[1];
  return e.binary(call.node, Op::pow, x, y);
}

Value iterator(Evaluator& e, const char* name, std::vector<Value> items) {
  Type type;
  type.kind = TypeKind::iterator;
  type.name = name;
  for (const Value& item : items) type.items.push_back(item.type);
  const Value tuple = e.make_tuple(items);
  return {intern(std::move(type)), tuple.ir, tuple.literal, false};
}

Value enumerate(Evaluator& e, Call& call) {
  call.bind(e, {"iterable", "start"}, 1);
  const Value start = call.has(1) ? e.convert(e.plain(call.args[1], call.node), int_type(64), call.node) : e.integer(0);
  Value result = iterator(e, "enumerate", {call.args[0], start});
  if (!result.literal) {
    auto literal = std::make_shared<Literal>();
    literal->is_tuple = true;
    literal->items = {call.args[0].literal, nullptr};
    result.literal = literal;
  }
  return result;
}

Value zip(Evaluator& e, Call& call) {
  if (!call.keywords.empty()) e.no_match(call);
  return iterator(e, "zip", call.args);
}

Value tuple(Evaluator& e, Call& call) {
  if (call.args.empty()) return e.make_tuple(std::vector<Value>{});
  call.bind(e, {"iterable"}, 1);
  if (!call.args[0].type->is(TypeKind::tuple))
    e.no_match(call, "only a tuple becomes a tuple: its length must be known");
  std::vector<Value> items;
  for (std::size_t i = 0; i < call.args[0].type->items.size(); ++i) items.push_back(e.tuple_item(call.args[0], i));
  return e.make_tuple(items);
}

Value sum(Evaluator& e, Call& call) {
  call.bind(e, {"iterable", "start"}, 1);
  if (!call.args[0].type->is(TypeKind::tuple))
    e.no_match(call, "sum adds up a tuple; add the elements of an array in a loop");
  Value total = call.has(1) ? call.args[1] : e.integer(0);
  for (std::size_t i = 0; i < call.args[0].type->items.size(); ++i)
    total = e.binary(call.node, Op::add, total, e.tuple_item(call.args[0], i));
  return total;
}

Value any_all(Evaluator& e, Call& call, bool any) {
  call.bind(e, {"iterable"}, 1);
  if (!call.args[0].type->is(TypeKind::tuple))
    e.no_match(call, "it tests a tuple here; test the elements of an array in a loop");
  Value result = e.constant({Constant::Kind::boolean, any ? 0 : 1, 0, 0, {}});
  for (std::size_t i = 0; i < call.args[0].type->items.size(); ++i) {
    const Value one = e.truth(e.tuple_item(call.args[0], i), call.node);
    result = e.boolean(any ? e.b.CreateOr(result.ir, one.ir) : e.b.CreateAnd(result.ir, one.ir));
  }
  return result;
}

// int(x) keeps the width of an integer, float(x) that of a float.
Value to_int(Evaluator& e, Call& call) {
  call.bind(e, {"x"}, 0);
  if (!call.has(0)) return e.integer(0);
  const Value value = e.plain(call.args[0], call.node);
  if (value.type->is(TypeKind::integer)) return value;
  if (!Evaluator::can_convert(value.type, int_type(64)) || value.type->is(TypeKind::array)) e.no_match(call);
  return e.convert(value, int_type(64), call.node);
}

Value to_float(Evaluator& e, Call& call) {
  call.bind(e, {"x"}, 0);
  if (!call.has(0)) return e.constant({Constant::Kind::floating, 0, 0, 0, {}});
  const Value value = e.plain(call.args[0], call.node);
  if (value.type->is(TypeKind::floating)) return value;
  if (const Constant* known = value.constant(); known && known->kind == Constant::Kind::string) {
    static const std::map<std::string, double> names{
        {"nan", __builtin_nan("")}, {"inf", __builtin_inf()}, {"-inf", -__builtin_inf()}};
    if (const auto found = names.find(known->text); found != names.end())
      return e.constant({Constant::Kind::floating, 0, found->second, 0, {}});
  }
  if (!value.type->is_integral()) e.no_match(call);
  return e.convert(value, float_type(64), call.node);
}

Value to_bool(Evaluator& e, Call& call) {
  call.bind(e, {"x"}, 0);
  if (!call.has(0)) return e.constant({Constant::Kind::boolean, 0, 0, 0, {}});
  return e.truth(call.args[0], call.node);
}

Value to_complex(Evaluator& e, Call& call) {
  call.bind(e, {"real", "imag"}, 0);
  if (!call.has(0) && !call.has(1)) return e.constant({Constant::Kind::complex, 0, 0, 0, {}});
  const Value x = call.has(0) ? e.plain(call.args[0], call.node) : e.integer(0);
  if (!call.has(1)) {
    if (x.type->is(TypeKind::complex)) return x;
    if (!x.type->is_number()) e.no_match(call);
    return e.convert(x, unify(x.type, complex_type(32)), call.node);
  }
  const Value y = e.plain(call.args[1], call.node);
  if (!x.type->is_number() || !y.type->is_number() || x.type->is(TypeKind::complex) || y.type->is(TypeKind::complex))
    e.no_match(call);
  const Type* type = unify(unify(x.type, y.type), complex_type(32));
  const Type* part = float_type(type->bits);
  llvm::Value* ir =
      e.b.CreateInsertValue(llvm::UndefValue::get(e.llvm_type(type)), e.convert(x, part, call.node).ir, 0);
  return {type, e.b.CreateInsertValue(ir, e.convert(y, part, call.node).ir, 1), nullptr, false};
}

Value slice(Evaluator& e, Call& call) {
  if (call.args.empty() || call.args.size() > 3) e.no_match(call);
  std::vector<Value> parts = call.args;
  if (parts.size() == 1) parts.insert(parts.begin(), e.none());
  while (parts.size() < 3) parts.push_back(e.none());
  Type type;
  type.kind = TypeKind::slice;
  for (const Value& part : parts) type.items.push_back(part.type);
  const Value tuple = e.make_tuple(parts);
  auto literal = std::make_shared<Literal>();
  literal->is_tuple = true;
  for (const Value& part : parts) literal->items.push_back(part.literal);
  return {intern(std::move(type)), tuple.ir, literal, false};
}

Value type_of(Evaluator& e, Call& call) {
  call.bind(e, {"obj"}, 1);
  return e.type_value(call.args[0].type);
}

Value conjugate(Evaluator& e, Call& call) {
  const Value& value = call.args[0];
  if (!value.type->is(TypeKind::complex)) return value;
  return {value.type, e.b.CreateInsertValue(value.ir, e.b.CreateFNeg(e.b.CreateExtractValue(value.ir, 1)), 1), nullptr,
          false};
}

Value bit_count(Evaluator& e, Call& call) {
  const Value value = e.plain(call.args[0], call.node);
  if (!value.type->is_integral()) e.no_match(call);
  // Of the magnitude, as Python counts.
  llvm::Value* ir = value.ir;
  if (value.type->is(TypeKind::integer) && value.type->is_signed)
    ir = e.b.CreateIntrinsic(llvm::Intrinsic::abs, {ir->getType()}, {ir, e.b.getInt1(false)});
  ir = e.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, ir);
  return {int_type(64), e.b.CreateZExtOrTrunc(ir, e.b.getInt64Ty()), nullptr, true};
}

// Whether the type of a value is (one of) the class given.
bool is_of_class(Evaluator& e, const Call& call, const Type* type, const Value& wanted) {
  if (wanted.type->is(TypeKind::tuple)) {
    bool any = false;
    for (std::size_t i = 0; i < wanted.type->items.size(); ++i)
      any |= is_of_class(e, call, type, e.tuple_item(wanted, i));
    return any;
  }
  if (wanted.type->is(TypeKind::object)) {
    const ObjectInfo& info = e.c.world.describe(wanted.type->object);
    if (info.name == "builtins.tuple") return type->is(TypeKind::tuple) && type->name != "list";
    if (info.name == "builtins.list") return type->is(TypeKind::tuple) && type->name == "list";
    if (info.name == "builtins.str") return type->is(TypeKind::string) || type->is(TypeKind::charseq);
    if (info.kind == ObjectInfo::Kind::named_tuple) return type->is(TypeKind::tuple) && type->name == info.name;
    if (info.kind == ObjectInfo::Kind::enum_class)
      return type->is(TypeKind::enumeration) && type->object == wanted.type->object;
  }
  const Type* one = type_argument(e, wanted);
  if (!one) e.no_match(call, "isinstance tests against number types, tuple, str, named tuples and enums here");
  const bool python_type = one == int_type(64) || one == float_type(64);
  return type == one || (python_type && type->kind == one->kind);
}

Value is_instance(Evaluator& e, Call& call) {
  call.bind(e, {"obj", "classinfo"}, 2);
  const bool is_one = is_of_class(e, call, call.args[0].type, call.args[1]);
  return e.constant({Constant::Kind::boolean, is_one ? 1 : 0, 0, 0, {}});
}

constexpr BuiltinRow rows[] = {
    {"builtins.range", range},
    {"builtins.len", len},
    {"builtins.min", [](Evaluator& e, Call& call) { return min_max(e, call, true); }},
    {"builtins.max", [](Evaluator& e, Call& call) { return min_max(e, call, false); }},
    {"builtins.abs", absolute},
    {"builtins.round", round_value},
    {"builtins.divmod", divmod},
    {"builtins.pow", power},
    {"builtins.enumerate", enumerate},
    {"builtins.zip", zip},
    {"builtins.tuple", tuple},
    {"builtins.sum", sum},
    {"builtins.any", [](Evaluator& e, Call& call) { return any_all(e, call, true); }},
    {"builtins.all", [](Evaluator& e, Call& call) { return any_all(e, call, false); }},
    {"builtins.int", to_int},
    {"builtins.float", to_float},
    {"builtins.bool", to_bool},
    {"builtins.complex", to_complex},
    {"builtins.slice", slice},
    {"builtins.type", type_of},
    {"builtins.isinstance", is_instance},
    {"cuda.literal_unroll",
     [](Evaluator& e, Call& call) {
       call.bind(e, {"container"}, 1);
       return call.args[0];
     }},
    {"method.conjugate", conjugate},
    {"method.bit_count", bit_count},
};

}  // namespace

std::span<const BuiltinRow> core_builtins() { return rows; }

}  // namespace warploom::frontend::python
