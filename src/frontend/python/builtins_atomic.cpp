// Atomic operations on elements of arrays (Numba: "Supported Atomic Operations").
#include <fmt/format.h>

#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

using Rmw = llvm::AtomicRMWInst::BinOp;

struct Target {
  llvm::Value* address = nullptr;
  const Type* element = nullptr;
};

// The element that array and index name.
Target target(Evaluator& e, Call& call, const Value& array, const Value& index) {
  if (!array.type->is(TypeKind::array)) e.no_match(call, "the first argument is an array");
  if (array.type->read_only)
    e.fail(call.node, fmt::format("Cannot modify readonly array of type: {}", display(array.type)), "NumbaTypeError");
  std::vector<Value> parts;
  if (index.type->is(TypeKind::tuple))
    for (std::size_t i = 0; i < index.type->items.size(); ++i)
      parts.push_back(e.plain(e.tuple_item(index, i), call.node));
  else
    parts.push_back(e.plain(index, call.node));
  for (const Value& part : parts)
    if (!part.type->is_integral()) e.no_match(call, fmt::format("an index is an integer, not {}", e.describe(part)));
  if (parts.size() != array.type->ndim)
    e.fail(call.node, fmt::format("indexing {}-D array with {}-D index", array.type->ndim, parts.size()),
           "TypingError");
  return {e.element_address(call.node, array, parts), array.type->element};
}

bool is_number32_64(const Type* type, bool floats) {
  if (type->is(TypeKind::integer)) return type->bits >= 32;
  return floats && type->is(TypeKind::floating) && type->bits >= 32;
}

[[noreturn]] void refuse(Evaluator& e, const Call& call, const Type* element, const char* allowed) {
  e.no_match(call, fmt::format("there is no atomic operation of this kind for elements of {}: use an array of {}",
                               display(element), allowed));
}

Value rmw(Evaluator& e, const Type* type, Rmw op, llvm::Value* address, llvm::Value* value) {
  return {type,
          e.b.CreateAtomicRMW(op, address, value, llvm::MaybeAlign(type->bits / 8), llvm::AtomicOrdering::Monotonic,
                              e.c.device_scope),
          nullptr, false};
}

Value add_or_sub(Evaluator& e, Call& call, bool subtract) {
  call.bind(e, {"ary", "idx", "val"}, 3);
  const Target at = target(e, call, call.args[0], call.args[1]);
  if (!is_number32_64(at.element, true))
    refuse(e, call, at.element, "int32, uint32, int64, uint64, float32 or float64");
  const Value value = e.convert(e.plain(call.args[2], call.node), at.element, call.node);
  if (at.element->is(TypeKind::floating))
    return rmw(e, at.element, Rmw::FAdd, at.address, subtract ? e.b.CreateFNeg(value.ir) : value.ir);
  return rmw(e, at.element, Rmw::Add, at.address, subtract ? e.b.CreateNeg(value.ir) : value.ir);
}

// A loop around compare-and-swap: `next` gives the new value for the old one, or null to leave it.
Value swap_loop(Evaluator& e, const Type* type, llvm::Value* address,
                const std::function<llvm::Value*(llvm::Value*)>& next,
                const std::function<llvm::Value*(llvm::Value*)>& wanted) {
  auto& b = e.b;
  llvm::Type* bits = b.getIntNTy(type->bits);
  const llvm::MaybeAlign align(type->bits / 8);
  llvm::Value* first = b.CreateAlignedLoad(bits, address, align, true);
  llvm::BasicBlock *start = b.GetInsertBlock(), *head = e.new_block("atomic"), *attempt = e.new_block("swap"),
                   *done = e.new_block("swapped");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* old = b.CreatePHI(bits, 2);
  old->addIncoming(first, start);
  llvm::Value* now = b.CreateBitCast(old, e.llvm_type(type));
  b.CreateCondBr(wanted(now), attempt, done);
  b.SetInsertPoint(attempt);
  llvm::Value* changed = b.CreateBitCast(next(now), bits);
  llvm::Value* pair = b.CreateAtomicCmpXchg(address, old, changed, align, llvm::AtomicOrdering::Monotonic,
                                            llvm::AtomicOrdering::Monotonic, e.c.device_scope);
  old->addIncoming(b.CreateExtractValue(pair, 0), b.GetInsertBlock());
  b.CreateCondBr(b.CreateExtractValue(pair, 1), done, head);
  b.SetInsertPoint(done);
  return {type, now, nullptr, false};
}

Value min_or_max(Evaluator& e, Call& call, bool is_min, bool prefer_number) {
  call.bind(e, {"ary", "idx", "val"}, 3);
  const Target at = target(e, call, call.args[0], call.args[1]);
  if (!is_number32_64(at.element, true))
    refuse(e, call, at.element, "int32, uint32, int64, uint64, float32 or float64");
  const Value value = e.convert(e.plain(call.args[2], call.node), at.element, call.node);
  if (at.element->is(TypeKind::integer)) {
    const Rmw op = at.element->is_signed ? (is_min ? Rmw::Min : Rmw::Max) : (is_min ? Rmw::UMin : Rmw::UMax);
    return rmw(e, at.element, op, at.address, value.ir);
  }
  auto& b = e.b;
  // A NaN in memory stays for min and max, and gives way for nanmin and nanmax; a NaN operand never wins.
  return swap_loop(
      e, at.element, at.address, [&](llvm::Value*) { return value.ir; },
      [&](llvm::Value* old) -> llvm::Value* {
        llvm::Value* better = is_min ? b.CreateFCmpOLT(value.ir, old) : b.CreateFCmpOGT(value.ir, old);
        if (!prefer_number) return better;
        llvm::Value* was_nan = b.CreateFCmpUNO(old, old);
        return b.CreateOr(better, b.CreateAnd(was_nan, b.CreateFCmpORD(value.ir, value.ir)));
      });
}

template <Rmw op>
Value bitwise(Evaluator& e, Call& call) {
  call.bind(e, {"ary", "idx", "val"}, 3);
  const Target at = target(e, call, call.args[0], call.args[1]);
  if (!is_number32_64(at.element, op == Rmw::Xchg)) refuse(e, call, at.element, "int32, uint32, int64 or uint64");
  const Value value = e.convert(e.plain(call.args[2], call.node), at.element, call.node);
  return rmw(e, at.element, op, at.address, value.ir);
}

Value increment(Evaluator& e, Call& call, bool up) {
  call.bind(e, {"ary", "idx", "val"}, 3);
  const Target at = target(e, call, call.args[0], call.args[1]);
  if (!at.element->is(TypeKind::integer) || at.element->is_signed || at.element->bits < 32)
    refuse(e, call, at.element, "uint32 or uint64");
  const Value limit = e.convert(e.plain(call.args[2], call.node), at.element, call.node);
  if (at.element->bits == 32) return rmw(e, at.element, up ? Rmw::UIncWrap : Rmw::UDecWrap, at.address, limit.ir);
  auto& b = e.b;
  llvm::Value* zero = llvm::ConstantInt::get(limit.ir->getType(), 0);
  llvm::Value* one = llvm::ConstantInt::get(limit.ir->getType(), 1);
  return swap_loop(
      e, at.element, at.address,
      [&](llvm::Value* old) -> llvm::Value* {
        if (up) return b.CreateSelect(b.CreateICmpUGE(old, limit.ir), zero, b.CreateAdd(old, one));
        llvm::Value* wraps = b.CreateOr(b.CreateICmpEQ(old, zero), b.CreateICmpUGT(old, limit.ir));
        return b.CreateSelect(wraps, limit.ir, b.CreateSub(old, one));
      },
      [&](llvm::Value*) -> llvm::Value* { return b.getInt1(true); });
}

Value compare_swap(Evaluator& e, Call& call, const Target& at, const Value& old_value, const Value& new_value) {
  auto& b = e.b;
  const bool fits = at.element->is(TypeKind::integer) && at.element->bits >= 32;
  const bool real = at.element->is(TypeKind::floating) && at.element->bits >= 32;
  if (!fits && !real) refuse(e, call, at.element, "int32, uint32, int64, uint64, float32 or float64");
  llvm::Type* bits = b.getIntNTy(at.element->bits);
  llvm::Value* expected = b.CreateBitCast(e.convert(e.plain(old_value, call.node), at.element, call.node).ir, bits);
  llvm::Value* desired = b.CreateBitCast(e.convert(e.plain(new_value, call.node), at.element, call.node).ir, bits);
  llvm::Value* pair =
      b.CreateAtomicCmpXchg(at.address, expected, desired, llvm::MaybeAlign(at.element->bits / 8),
                            llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic, e.c.device_scope);
  return {at.element, b.CreateBitCast(b.CreateExtractValue(pair, 0), e.llvm_type(at.element)), nullptr, false};
}

Value cas(Evaluator& e, Call& call) {
  call.bind(e, {"ary", "idx", "old", "val"}, 4);
  const Target at = target(e, call, call.args[0], call.args[1]);
  return compare_swap(e, call, at, call.args[2], call.args[3]);
}

Value compare_and_swap(Evaluator& e, Call& call) {
  call.bind(e, {"ary", "old", "val"}, 3);
  const Target at = target(e, call, call.args[0], e.integer(0));
  return compare_swap(e, call, at, call.args[1], call.args[2]);
}

constexpr BuiltinRow rows[] = {
    {"cuda.atomic.add", [](Evaluator& e, Call& call) { return add_or_sub(e, call, false); }},
    {"cuda.atomic.sub", [](Evaluator& e, Call& call) { return add_or_sub(e, call, true); }},
    {"cuda.atomic.min", [](Evaluator& e, Call& call) { return min_or_max(e, call, true, false); }},
    {"cuda.atomic.max", [](Evaluator& e, Call& call) { return min_or_max(e, call, false, false); }},
    {"cuda.atomic.nanmin", [](Evaluator& e, Call& call) { return min_or_max(e, call, true, true); }},
    {"cuda.atomic.nanmax", [](Evaluator& e, Call& call) { return min_or_max(e, call, false, true); }},
    {"cuda.atomic.and_", bitwise<Rmw::And>},
    {"cuda.atomic.or_", bitwise<Rmw::Or>},
    {"cuda.atomic.xor", bitwise<Rmw::Xor>},
    {"cuda.atomic.exch", bitwise<Rmw::Xchg>},
    {"cuda.atomic.inc", [](Evaluator& e, Call& call) { return increment(e, call, true); }},
    {"cuda.atomic.dec", [](Evaluator& e, Call& call) { return increment(e, call, false); }},
    {"cuda.atomic.cas", cas},
    {"cuda.atomic.compare_and_swap", compare_and_swap},
};

}  // namespace

std::span<const BuiltinRow> atomic_builtins() { return rows; }

}  // namespace warploom::frontend::python
