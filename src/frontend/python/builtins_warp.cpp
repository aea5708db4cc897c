// Warp operations: shuffles, votes, matches, and bit counts.
#include <fmt/format.h>

#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

namespace I = llvm::Intrinsic;

Value as_int32(Evaluator& e, Call& call, const Value& value) {
  const Value number = e.plain(value, call.node);
  if (!number.type->is_integral()) e.no_match(call, fmt::format("{} is not an integer", e.describe(value)));
  return e.convert(number, int_type(32), call.node);
}

template <I::ID id, int clamp>
Value shuffle(Evaluator& e, Call& call) {
  call.bind(e, {"mask", "value", "lane"}, 3);
  auto& b = e.b;
  llvm::Value* mask = as_int32(e, call, call.args[0]).ir;
  const Value value = e.plain(call.args[1], call.node);
  llvm::Value* lane = as_int32(e, call, call.args[2]).ir;
  const bool fits = (value.type->is(TypeKind::integer) || value.type->is(TypeKind::floating)) && value.type->bits >= 32;
  if (!fits) e.no_match(call, "shuffles exchange int32, int64, float32 and float64");
  const auto one = [&](llvm::Value* part) -> llvm::Value* {
    return b.CreateIntrinsic(id, {mask, part, lane, b.getInt32(clamp)});
  };
  llvm::Value* bits = b.CreateBitCast(value.ir, b.getIntNTy(value.type->bits));
  if (value.type->bits == 32)
    return {value.type, b.CreateBitCast(one(bits), e.llvm_type(value.type)), nullptr, value.non_negative};
  llvm::Value* low = b.CreateZExt(one(b.CreateTrunc(bits, b.getInt32Ty())), b.getInt64Ty());
  llvm::Value* high = b.CreateZExt(one(b.CreateTrunc(b.CreateLShr(bits, 32), b.getInt32Ty())), b.getInt64Ty());
  return {value.type, b.CreateBitCast(b.CreateOr(b.CreateShl(high, 32), low), e.llvm_type(value.type)), nullptr,
          value.non_negative};
}

template <I::ID id>
Value vote(Evaluator& e, Call& call) {
  call.bind(e, {"mask", "predicate"}, 2);
  if (!e.plain(call.args[0], call.node).type->is(TypeKind::integer)) e.no_match(call, "Mask type must be an integer");
  if (!e.plain(call.args[1], call.node).type->is_integral())
    e.no_match(call, "Predicate must be an integer or boolean");
  llvm::Value* mask = as_int32(e, call, call.args[0]).ir;
  llvm::Value* result = e.b.CreateIntrinsic(id, {mask, e.truth(call.args[1], call.node).ir});
  if (result->getType()->isIntegerTy(1)) return e.boolean(result);
  return {int_type(32), result, nullptr, false};
}

Value match(Evaluator& e, Call& call, bool all) {
  call.bind(e, {"mask", "value"}, 2);
  auto& b = e.b;
  llvm::Value* mask = as_int32(e, call, call.args[0]).ir;
  const Value value = e.plain(call.args[1], call.node);
  if (!(value.type->is(TypeKind::integer) || value.type->is(TypeKind::floating)) || value.type->bits < 32)
    e.no_match(call, "values of 32 or 64 bits are matched");
  llvm::Value* bits = b.CreateBitCast(value.ir, b.getIntNTy(value.type->bits));
  const bool wide = value.type->bits == 64;
  if (!all)
    return {int_type(32),
            b.CreateIntrinsic(wide ? I::nvvm_match_any_sync_i64 : I::nvvm_match_any_sync_i32, {mask, bits}), nullptr,
            false};
  llvm::Value* pair = b.CreateIntrinsic(wide ? I::nvvm_match_all_sync_i64p : I::nvvm_match_all_sync_i32p, {mask, bits});
  return e.make_tuple(
      {{int_type(32), b.CreateExtractValue(pair, 0), nullptr, false}, e.boolean(b.CreateExtractValue(pair, 1))});
}

Value sync_warp(Evaluator& e, Call& call) {
  call.bind(e, {"mask"}, 0);
  llvm::Value* mask = call.has(0) ? as_int32(e, call, call.args[0]).ir : e.b.getInt32(0xffffffffU);
  e.b.CreateIntrinsic(I::nvvm_bar_warp_sync, {mask});
  return e.none();
}

Value active_mask(Evaluator& e, Call& call) {
  call.bind(e, {}, 0);
  return {int_type(32), e.b.CreateIntrinsic(I::nvvm_activemask, {}), nullptr, false};
}

Value lanes_below(Evaluator& e, Call& call) {
  call.bind(e, {}, 0);
  return {int_type(32, false), e.b.CreateIntrinsic(I::nvvm_read_ptx_sreg_lanemask_lt, {}), nullptr, true};
}

Value bit_value(Evaluator& e, Call& call, const char* kind) {
  call.bind(e, {"x"}, 1);
  const Value value = e.plain(call.args[0], call.node);
  if (!value.type->is(TypeKind::integer)) e.no_match(call, "it counts the bits of an integer");
  auto& b = e.b;
  const std::string name = kind;
  if (name == "popc") return {value.type, b.CreateUnaryIntrinsic(I::ctpop, value.ir), nullptr, true};
  if (name == "clz")
    return {value.type, b.CreateIntrinsic(I::ctlz, {value.ir->getType()}, {value.ir, b.getInt1(false)}), nullptr, true};
  if (name == "brev") {
    if (value.type->bits < 32) e.no_match(call, "it takes integers of 32 or 64 bits");
    return {int_type(value.type->bits, false), b.CreateUnaryIntrinsic(I::bitreverse, value.ir), nullptr, true};
  }
  // ffs: 1 + the number of the lowest set bit, 0 without one.
  llvm::Value* trailing = b.CreateIntrinsic(I::cttz, {value.ir->getType()}, {value.ir, b.getInt1(false)});
  llvm::Value* number = b.CreateAdd(b.CreateZExtOrTrunc(trailing, b.getInt32Ty()), b.getInt32(1));
  llvm::Value* none = b.CreateICmpEQ(value.ir, llvm::ConstantInt::get(value.ir->getType(), 0));
  return {int_type(32, false), b.CreateSelect(none, b.getInt32(0), number), nullptr, true};
}

Value select(Evaluator& e, Call& call) {
  call.bind(e, {"test", "a", "b"}, 3);
  const Value test = e.truth(call.args[0], call.node);
  const Value x = e.plain(call.args[1], call.node), y = e.plain(call.args[2], call.node);
  if (x.type != y.type) e.no_match(call, "both values have the same type");
  if (!(x.type->is(TypeKind::integer) || x.type->is(TypeKind::floating)) || x.type->bits < 16)
    e.no_match(call, "values have 16, 32 or 64 bits");
  return {x.type, e.b.CreateSelect(test.ir, x.ir, y.ir), nullptr, x.non_negative && y.non_negative};
}

Value fused(Evaluator& e, Call& call) {
  call.bind(e, {"a", "b", "c"}, 3);
  const Type* type = float_type(32);
  for (Value& arg : call.args) {
    arg = e.plain(arg, call.node);
    if (!arg.type->is_number() || arg.type->is(TypeKind::complex)) e.no_match(call);
    type = unify(type, arg.type->is_integral() ? float_type(64) : arg.type);
  }
  std::vector<llvm::Value*> ir;
  for (const Value& arg : call.args) ir.push_back(e.convert(arg, type, call.node).ir);
  return {type, e.b.CreateIntrinsic(I::fma, {e.llvm_type(type)}, ir), nullptr, false};
}

constexpr BuiltinRow rows[] = {
    {"cuda.shfl_sync", shuffle<I::nvvm_shfl_sync_idx_i32, 0x1f>},
    {"cuda.shfl_up_sync", shuffle<I::nvvm_shfl_sync_up_i32, 0>},
    {"cuda.shfl_down_sync", shuffle<I::nvvm_shfl_sync_down_i32, 0x1f>},
    {"cuda.shfl_xor_sync", shuffle<I::nvvm_shfl_sync_bfly_i32, 0x1f>},
    {"cuda.all_sync", vote<I::nvvm_vote_all_sync>},
    {"cuda.any_sync", vote<I::nvvm_vote_any_sync>},
    {"cuda.eq_sync", vote<I::nvvm_vote_uni_sync>},
    {"cuda.ballot_sync", vote<I::nvvm_vote_ballot_sync>},
    {"cuda.match_any_sync", [](Evaluator& e, Call& call) { return match(e, call, false); }},
    {"cuda.match_all_sync", [](Evaluator& e, Call& call) { return match(e, call, true); }},
    {"cuda.syncwarp", sync_warp},
    {"cuda.activemask", active_mask},
    {"cuda.lanemask_lt", lanes_below},
    {"cuda.popc", [](Evaluator& e, Call& call) { return bit_value(e, call, "popc"); }},
    {"cuda.clz", [](Evaluator& e, Call& call) { return bit_value(e, call, "clz"); }},
    {"cuda.brev", [](Evaluator& e, Call& call) { return bit_value(e, call, "brev"); }},
    {"cuda.ffs", [](Evaluator& e, Call& call) { return bit_value(e, call, "ffs"); }},
    {"cuda.selp", select},
    {"cuda.fma", fused},
};

}  // namespace

std::span<const BuiltinRow> warp_builtins() { return rows; }

}  // namespace warploom::frontend::python
