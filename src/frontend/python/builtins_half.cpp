// cuda.fp16 and cuda.bf16: arithmetic on 16-bit floats by name.
#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

const Type* half_type(const Call& call) { return call.name.starts_with("bf16.") ? bfloat_type() : float_type(16); }

// The arguments, converted to the module's type.
std::vector<llvm::Value*> arguments(Evaluator& e, Call& call) {
  std::vector<llvm::Value*> ir;
  for (const Value& given : call.args) {
    const Value value = e.plain(given, call.node);
    if (!value.type->is_number() || value.type->is(TypeKind::complex)) e.no_match(call);
    ir.push_back(e.convert(value, half_type(call), call.node).ir);
  }
  return ir;
}

Value result(const Call& call, llvm::Value* ir) { return {half_type(call), ir, nullptr, false}; }

// Name of the device library for a name such as "fp16.hsin".
Value library(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  std::string name = call.name.substr(call.name.find(".h") + 2);
  if (name == "tanh_approx") name = "tanh";
  const Value x = result(call, arguments(e, call)[0]);
  return device_call(e, name, x.type, {x}, call.node);
}

template <llvm::Intrinsic::ID id>
Value intrinsic(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  return result(call, e.b.CreateUnaryIntrinsic(id, arguments(e, call)[0]));
}

Value negate(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  return result(call, e.b.CreateFNeg(arguments(e, call)[0]));
}

enum class Clamp { none, saturate, relu };
// Into [0, 1], or to 0 at least; NaN becomes 0 in the former.
llvm::Value* clamped(Evaluator& e, llvm::Value* value, Clamp clamp) {
  if (clamp == Clamp::none) return value;
  auto& b = e.b;
  llvm::Value* zero = llvm::ConstantFP::get(value->getType(), 0.0);
  llvm::Value* one = llvm::ConstantFP::get(value->getType(), 1.0);
  llvm::Value* low =
      b.CreateSelect(clamp == Clamp::relu ? b.CreateFCmpULE(zero, value) : b.CreateFCmpOLE(zero, value), value, zero);
  return clamp == Clamp::relu ? low : b.CreateSelect(b.CreateFCmpOLT(one, low), one, low);
}

template <Op op, Clamp clamp = Clamp::none>
Value arithmetic(Evaluator& e, Call& call) {
  call.bind(e, {"a", "b"}, 2);
  const auto ir = arguments(e, call);
  const Value value = e.binary(call.node, op, result(call, ir[0]), result(call, ir[1]));
  return result(call, clamped(e, value.ir, clamp));
}

template <Clamp clamp = Clamp::none>
Value fused(Evaluator& e, Call& call) {
  call.bind(e, {"a", "b", "c"}, 3);
  const auto ir = arguments(e, call);
  return result(call, clamped(e, e.b.CreateIntrinsic(llvm::Intrinsic::fma, {ir[0]->getType()}, ir), clamp));
}

template <llvm::CmpInst::Predicate predicate>
Value comparison(Evaluator& e, Call& call) {
  call.bind(e, {"a", "b"}, 2);
  const auto ir = arguments(e, call);
  return e.boolean(e.b.CreateFCmp(predicate, ir[0], ir[1]));
}

template <llvm::Intrinsic::ID id>
Value extreme(Evaluator& e, Call& call) {
  call.bind(e, {"a", "b"}, 2);
  const auto ir = arguments(e, call);
  return result(call, e.b.CreateBinaryIntrinsic(id, ir[0], ir[1]));
}

// 1/a and 1/sqrt(a), computed in single precision.
template <bool root>
Value reciprocal(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  auto& b = e.b;
  llvm::Value* x = b.CreateFPExt(arguments(e, call)[0], b.getFloatTy());
  if (root) x = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  llvm::Value* quotient = b.CreateFDiv(llvm::ConstantFP::get(b.getFloatTy(), 1.0), x);
  return result(call, b.CreateFPTrunc(quotient, e.llvm_type(half_type(call))));
}

Value is_nan(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  llvm::Value* x = arguments(e, call)[0];
  return e.boolean(e.b.CreateFCmpUNO(x, x));
}

Value is_infinite(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  llvm::Value* x = e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, arguments(e, call)[0]);
  return e.boolean(e.b.CreateFCmpOEQ(x, llvm::ConstantFP::getInfinity(x->getType())));
}

// --- bfloat16 to and from other types, with the rounding that the last letters of the name say

enum class Rounding { nearest, zero, down, up };
Rounding rounding_of(const std::string& name) {
  if (name.ends_with("_rz")) return Rounding::zero;
  if (name.ends_with("_rd")) return Rounding::down;
  return name.ends_with("_ru") ? Rounding::up : Rounding::nearest;
}

const Type* number_type(std::string_view name) {
  static const std::map<std::string_view, const Type*> types{
      {"int8", int_type(8)},           {"uint8", int_type(8, false)},   {"int16", int_type(16)},
      {"uint16", int_type(16, false)}, {"int32", int_type(32)},         {"uint32", int_type(32, false)},
      {"int64", int_type(64)},         {"uint64", int_type(64, false)}, {"float32", float_type(32)},
      {"float64", float_type(64)}};
  const auto found = types.find(name);
  return found == types.end() ? nullptr : found->second;
}

// A float cut to bfloat16 in a direction: the bits below are dropped, and one step is taken away from zero where the
// direction asks for it and they were not zero.
llvm::Value* cut(Evaluator& e, llvm::Value* single, llvm::Value* more, Rounding rounding) {
  auto& b = e.b;
  llvm::Value* bits = b.CreateBitCast(single, b.getInt32Ty());
  llvm::Value* inexact = b.CreateOr(b.CreateICmpNE(b.CreateTrunc(bits, b.getInt16Ty()), b.getInt16(0)), more);
  llvm::Value* negative = b.CreateICmpSLT(bits, b.getInt32(0));
  llvm::Value* away = rounding == Rounding::zero   ? b.getInt1(false)
                      : rounding == Rounding::down ? negative
                                                   : b.CreateNot(negative);
  llvm::Value* finite = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, single),
                                        llvm::ConstantFP::getInfinity(single->getType()));
  llvm::Value* step = b.CreateZExt(b.CreateAnd(b.CreateAnd(inexact, away), finite), b.getInt16Ty());
  llvm::Value* high = b.CreateTrunc(b.CreateLShr(bits, 16), b.getInt16Ty());
  llvm::Value* is_nan = b.CreateFCmpUNO(single, single);
  high = b.CreateSelect(is_nan, b.CreateOr(high, b.getInt16(0x40)), b.CreateAdd(high, step));
  return b.CreateBitCast(high, b.getBFloatTy());
}

Value to_bfloat(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  auto& b = e.b;
  const std::string name = call.name.substr(5);
  const Type* from = number_type(name.substr(0, name.find('_')));
  const Value value = e.convert(e.plain(call.args[0], call.node), from, call.node);
  const Rounding rounding = rounding_of(name);
  if (rounding == Rounding::nearest && from->bits <= 32) {
    // A 32-bit integer is exact in double; through float it would be rounded twice.
    const Value wide = from->is(TypeKind::integer) ? e.convert(value, float_type(64), call.node) : value;
    return {bfloat_type(), b.CreateFPTrunc(wide.ir, b.getBFloatTy()), nullptr, false};
  }
  if (from->is(TypeKind::floating)) {
    if (from->bits == 64) return e.convert(value, bfloat_type(), call.node);
    return {bfloat_type(), cut(e, value.ir, b.getInt1(false), rounding), nullptr, false};
  }
  // Integers: the magnitude, cut to its 24 highest bits, is exact in float; what was cut counts as inexact.
  llvm::Value* wide = b.CreateIntCast(value.ir, b.getInt64Ty(), from->is_signed);
  llvm::Value* negative = from->is_signed ? b.CreateICmpSLT(wide, b.getInt64(0)) : b.getInt1(false);
  llvm::Value* size = b.CreateSelect(negative, b.CreateNeg(wide), wide);
  llvm::Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, size, b.getInt1(false));
  llvm::Value* excess =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(b.getInt64(40), zeros), b.getInt64(0));
  llvm::Value* kept = b.CreateShl(b.CreateLShr(size, excess), excess);
  llvm::Value* cut_off = b.CreateICmpNE(kept, size);
  llvm::Value* single = b.CreateUIToFP(kept, b.getFloatTy());
  single = b.CreateSelect(negative, b.CreateFNeg(single), single);
  if (rounding != Rounding::nearest) return {bfloat_type(), cut(e, single, cut_off, rounding), nullptr, false};
  // What was cut off decides only where the rest lies halfway: keep it as the lowest bit.
  llvm::Value* bits = b.CreateOr(b.CreateBitCast(single, b.getInt32Ty()), b.CreateZExt(cut_off, b.getInt32Ty()));
  return {bfloat_type(), b.CreateFPTrunc(b.CreateBitCast(bits, b.getFloatTy()), b.getBFloatTy()), nullptr, false};
}

Value from_bfloat(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  auto& b = e.b;
  std::string name = call.name.substr(std::string_view("bf16.bfloat16_to_").size());
  const Rounding rounding = rounding_of(name);
  const Type* to = number_type(name.substr(0, name.find('_')));
  llvm::Value* single = b.CreateFPExt(arguments(e, call)[0], b.getFloatTy());
  if (to->is(TypeKind::floating)) return e.convert({float_type(32), single, nullptr, false}, to, call.node);
  if (rounding == Rounding::nearest) single = b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, single);
  if (rounding == Rounding::down) single = b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, single);
  if (rounding == Rounding::up) single = b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, single);
  // Out of range goes to the end of the range, NaN to 0.
  const auto id = to->is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return {to, b.CreateIntrinsic(id, {e.llvm_type(to), b.getFloatTy()}, {single}), nullptr, !to->is_signed};
}

template <bool to_integer, bool is_signed>
Value reinterpret(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  if (to_integer)
    return {int_type(16, is_signed), e.b.CreateBitCast(arguments(e, call)[0], e.b.getInt16Ty()), nullptr, !is_signed};
  const Value bits = e.convert(e.plain(call.args[0], call.node), int_type(16, is_signed), call.node);
  return {bfloat_type(), e.b.CreateBitCast(bits.ir, e.b.getBFloatTy()), nullptr, false};
}

using Predicate = llvm::CmpInst;
constexpr std::pair<const char*, Builtin> both_modules[] = {
    {"hadd", arithmetic<Op::add>},
    {"hsub", arithmetic<Op::sub>},
    {"hmul", arithmetic<Op::mul>},
    {"hdiv", arithmetic<Op::div>},
    {"hadd_rn", arithmetic<Op::add>},
    {"hsub_rn", arithmetic<Op::sub>},
    {"hmul_rn", arithmetic<Op::mul>},
    {"hadd_sat", arithmetic<Op::add, Clamp::saturate>},
    {"hsub_sat", arithmetic<Op::sub, Clamp::saturate>},
    {"hmul_sat", arithmetic<Op::mul, Clamp::saturate>},
    {"hfma", fused<>},
    {"hfma_sat", fused<Clamp::saturate>},
    {"hfma_relu", fused<Clamp::relu>},
    {"hneg", negate},
    {"habs", intrinsic<llvm::Intrinsic::fabs>},
    {"hfloor", intrinsic<llvm::Intrinsic::floor>},
    {"hceil", intrinsic<llvm::Intrinsic::ceil>},
    {"hrint", intrinsic<llvm::Intrinsic::rint>},
    {"htrunc", intrinsic<llvm::Intrinsic::trunc>},
    {"hsqrt", intrinsic<llvm::Intrinsic::sqrt>},
    {"hsin", library},
    {"hcos", library},
    {"htanh", library},
    {"htanh_approx", library},
    {"hlog", library},
    {"hlog2", library},
    {"hlog10", library},
    {"hexp", library},
    {"hexp2", library},
    {"hexp10", library},
    {"hrcp", reciprocal<false>},
    {"hrsqrt", reciprocal<true>},
    {"heq", comparison<Predicate::FCMP_OEQ>},
    {"hne", comparison<Predicate::FCMP_UNE>},
    {"hlt", comparison<Predicate::FCMP_OLT>},
    {"hle", comparison<Predicate::FCMP_OLE>},
    {"hgt", comparison<Predicate::FCMP_OGT>},
    {"hge", comparison<Predicate::FCMP_OGE>},
    {"hmax", extreme<llvm::Intrinsic::maxnum>},
    {"hmin", extreme<llvm::Intrinsic::minnum>},
    {"hmax_nan", extreme<llvm::Intrinsic::maximum>},
    {"hmin_nan", extreme<llvm::Intrinsic::minimum>},
    {"hisnan", is_nan},
    {"hisinf", is_infinite},
};

}  // namespace

std::span<const BuiltinRow> half_builtins() {
  static const auto table = [] {
    static std::vector<std::string> names;
    std::vector<Builtin> functions;
    const auto add = [&](const std::string& name, Builtin function) {
      names.push_back(name);
      functions.push_back(function);
    };
    for (const auto& [name, function] : both_modules) {
      add(std::string("fp16.") + name, function);
      add(std::string("bf16.") + name, function);
    }
    for (const char* type : {"int16", "uint16", "int32", "uint32", "int64", "uint64", "float32"})
      for (const char* rounding : {"_rn", "_rz", "_rd", "_ru"}) {
        add(std::string("bf16.") + type + "_to_bfloat16" + rounding, to_bfloat);
        if (std::string_view(type) != "float32") add(std::string("bf16.bfloat16_to_") + type + rounding, from_bfloat);
      }
    add("bf16.float32_to_bfloat16", to_bfloat);
    add("bf16.float64_to_bfloat16", to_bfloat);
    add("bf16.bfloat16_to_float32", from_bfloat);
    add("bf16.bfloat16_to_int8_rz", from_bfloat);
    add("bf16.bfloat16_to_uint8_rz", from_bfloat);
    add("bf16.bfloat16_as_int16", reinterpret<true, true>);
    add("bf16.bfloat16_as_uint16", reinterpret<true, false>);
    add("bf16.int16_as_bfloat16", reinterpret<false, true>);
    add("bf16.uint16_as_bfloat16", reinterpret<false, false>);
    std::vector<BuiltinRow> rows;
    for (std::size_t i = 0; i < names.size(); ++i) rows.push_back({names[i], functions[i]});
    return rows;
  }();
  return table;
}

}  // namespace warploom::frontend::python
