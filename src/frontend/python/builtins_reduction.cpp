// NumPy's reductions of a whole array in kernels: each thread runs over the array, element by element in C order.
#include <fmt/format.h>

#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

// A number that a loop over the elements changes.
class Accumulator {
 public:
  Accumulator(Evaluator& e, const Value& start)
      : e_(e), type_(start.type), place_(e.entry_alloca(start.ir->getType(), "total")) {
    set(start);
  }
  [[nodiscard]] Value get() const {
    return {type_, e_.b.CreateLoad(place_->getAllocatedType(), place_), nullptr, false};
  }
  void set(const Value& value) { e_.b.CreateStore(value.ir, place_); }

 private:
  Evaluator& e_;
  const Type* type_;
  llvm::AllocaInst* place_;
};

// An array, and what its name asks of NaN.
struct Reduction {
  Value array;
  std::string name;  // without "nan"
  bool skip_nan = false;
  const Node* node = nullptr;
  [[nodiscard]] const Type* element() const { return array.type->element; }
};

Reduction reduction(Evaluator& e, Call& call) {
  const std::string name = call.name.substr(call.name.rfind('.') + 1);
  if (call.args.size() != 1 || !call.keywords.empty())
    e.no_match(call, "a kernel reduces whole arrays: it takes the array alone");
  const Value array = call.args[0];
  if (!array.type->is(TypeKind::array) || !array.type->element->is_number())
    e.no_match(call, fmt::format("it takes an array of numbers, not {}", e.describe(array)));
  const bool skips = name.starts_with("nan") && (array.type->element->is(TypeKind::floating));
  return {array, name.starts_with("nan") ? name.substr(3) : name, skips, call.node};
}

llvm::Value* is_nan(Evaluator& e, const Value& x) {
  if (x.type->is(TypeKind::floating)) return e.b.CreateFCmpUNO(x.ir, x.ir);
  return e.b.getInt1(false);
}

void over(Evaluator& e, const Reduction& r, const std::function<void(const Value&)>& body) {
  for_each_element(e, r.array, [&](const std::vector<Value>& index) {
    body(e.load(e.element_address(r.node, r.array, index), r.element()));
  });
}

// The type that sums are held in: 64 bits for integers.
const Type* sum_type(const Type* element) {
  if (!element->is_integral()) return element;
  return int_type(64, element->is(TypeKind::boolean) || element->is_signed);
}

// The sum or product of f(element); NaN counts as the start.
Value total(Evaluator& e, const Reduction& r, Op op, const Type* type, const std::function<Value(const Value&)>& f) {
  const Value start = e.convert(e.integer(op == Op::add ? 0 : 1), type, r.node);
  Accumulator sum(e, start);
  over(e, r, [&](const Value& x) {
    Value one = e.convert(f(x), type, r.node);
    if (r.skip_nan) one.ir = e.b.CreateSelect(is_nan(e, x), start.ir, one.ir);
    sum.set(e.convert(e.binary(r.node, op, sum.get(), one), type, r.node));
  });
  return sum.get();
}

Value count(Evaluator& e, const Reduction& r, const std::function<llvm::Value*(const Value&)>& counts) {
  Accumulator found(e, e.integer(0));
  over(e, r, [&](const Value& x) {
    llvm::Value* more = e.b.CreateAdd(found.get().ir, e.b.CreateZExt(counts(x), e.b.getInt64Ty()));
    found.set({int_type(64), more, nullptr, true});
  });
  return found.get();
}

Value size(Evaluator& e, const Reduction& r) {
  if (r.skip_nan) return count(e, r, [&](const Value& x) { return e.b.CreateNot(is_nan(e, x)); });
  llvm::Value* product = e.i64(1);
  for (unsigned dim = 0; dim < r.array.type->ndim; ++dim) product = e.b.CreateMul(product, e.array_shape(r.array, dim));
  return {int_type(64), product, nullptr, true};
}

Value same(const Value& x) { return x; }

Value mean(Evaluator& e, const Reduction& r) {
  const Type* type = r.element()->is_integral() ? float_type(64) : r.element();
  const Value sum = total(e, r, Op::add, type, same);
  return e.convert(e.binary(r.node, Op::div, sum, e.convert(size(e, r), type, r.node)), type, r.node);
}

Value variance(Evaluator& e, const Reduction& r) {
  const Value middle = mean(e, r);
  const Type* type = float_type(middle.type->bits);
  const Value sum = total(e, r, Op::add, type, [&](const Value& x) {
    const Value off = e.binary(r.node, Op::sub, e.convert(x, middle.type, r.node), middle);
    if (!off.type->is(TypeKind::complex)) return e.binary(r.node, Op::mul, off, off);
    const Value real = complex_part(e, off, 0), imag = complex_part(e, off, 1);
    return e.binary(r.node, Op::add, e.binary(r.node, Op::mul, real, real), e.binary(r.node, Op::mul, imag, imag));
  });
  return e.convert(e.binary(r.node, Op::div, sum, e.convert(size(e, r), type, r.node)), type, r.node);
}

// The value that every other one beats: infinity, or the end of the integers' range. It is what an empty array gives.
Value worst(Evaluator& e, const Type* type, bool largest) {
  llvm::Type* ir = e.llvm_type(type);
  if (type->is(TypeKind::floating)) return {type, llvm::ConstantFP::getInfinity(ir, largest), nullptr, false};
  if (type->is(TypeKind::boolean)) return e.boolean(e.b.getInt1(!largest));
  const llvm::APInt low = type->is_signed ? llvm::APInt::getSignedMinValue(type->bits) : llvm::APInt(type->bits, 0);
  const llvm::APInt high =
      type->is_signed ? llvm::APInt::getSignedMaxValue(type->bits) : llvm::APInt::getMaxValue(type->bits);
  return {type, llvm::ConstantInt::get(ir, largest ? low : high), nullptr, false};
}

// The smallest or largest element, or its first place in C order; the first NaN is taken before all, or skipped.
Value extreme(Evaluator& e, Call& call, const Reduction& r, bool largest, bool place) {
  if (r.element()->is(TypeKind::complex)) e.no_match(call, "complex numbers have no order in a kernel");
  auto& b = e.b;
  Accumulator best(e, worst(e, r.element(), largest)), at(e, e.integer(0)), next(e, e.integer(0));
  Accumulator none(e, e.boolean(b.getInt1(true)));  // no element was taken yet
  over(e, r, [&](const Value& x) {
    const Value so_far = best.get();
    llvm::Value* better = e.compare(r.node, largest ? Op::gt : Op::lt, x, so_far).ir;
    llvm::Value *x_nan = is_nan(e, x), *old_nan = is_nan(e, so_far);
    if (!r.skip_nan) better = b.CreateOr(better, b.CreateAnd(x_nan, b.CreateNot(old_nan)));
    better = b.CreateOr(better, none.get().ir);
    if (r.skip_nan) better = b.CreateAnd(better, b.CreateNot(x_nan));
    best.set({x.type, b.CreateSelect(better, x.ir, so_far.ir), nullptr, false});
    none.set(e.boolean(b.CreateAnd(none.get().ir, b.CreateNot(better))));
    if (!place) return;
    const Value index = next.get();
    at.set({index.type, b.CreateSelect(better, index.ir, at.get().ir), nullptr, true});
    next.set({index.type, b.CreateAdd(index.ir, e.i64(1)), nullptr, true});
  });
  if (place) return {int_type(64), at.get().ir, nullptr, true};
  Value result = best.get();
  // All NaN: NaN.
  if (r.skip_nan) result.ir = b.CreateSelect(none.get().ir, llvm::ConstantFP::getNaN(result.ir->getType()), result.ir);
  return result;
}

Value all_or_any(Evaluator& e, const Reduction& r, bool all) {
  Accumulator found(e, e.boolean(e.b.getInt1(all)));
  over(e, r, [&](const Value& x) {
    llvm::Value *so_far = found.get().ir, *one = e.truth(x, r.node).ir;
    found.set(e.boolean(all ? e.b.CreateAnd(so_far, one) : e.b.CreateOr(so_far, one)));
  });
  return found.get();
}

Value reduce(Evaluator& e, Call& call) {
  const Reduction r = reduction(e, call);
  // As NumPy: a product and a sum are rounded each.
  const llvm::IRBuilderBase::FastMathFlagGuard guard(e.b);
  if (!e.c.options.fast_math) e.b.clearFastMathFlags();
  if (r.name == "sum") return total(e, r, Op::add, sum_type(r.element()), same);
  if (r.name == "prod") return total(e, r, Op::mul, sum_type(r.element()), same);
  if (r.name == "mean") return mean(e, r);
  if (r.name == "var") return variance(e, r);
  if (r.name == "std") {
    const Value square = variance(e, r);
    return {square.type, e.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, square.ir), nullptr, false};
  }
  if (r.name == "all") return all_or_any(e, r, true);
  if (r.name == "any") return all_or_any(e, r, false);
  if (r.name == "count_nonzero") return count(e, r, [&](const Value& x) { return e.truth(x, r.node).ir; });
  const bool place = r.name.starts_with("arg");
  return extreme(e, call, r, r.name.ends_with("max"), place);
}

}  // namespace

std::span<const BuiltinRow> reduction_builtins() {
  static constexpr std::string_view names[] = {
      "numpy.sum",        "numpy.prod",       "numpy.mean",        "numpy.var",           "numpy.std",
      "numpy.min",        "numpy.max",        "numpy.amin",        "numpy.amax",          "numpy.argmin",
      "numpy.argmax",     "numpy.all",        "numpy.any",         "numpy.count_nonzero", "numpy.nansum",
      "numpy.nanprod",    "numpy.nanmean",    "numpy.nanvar",      "numpy.nanstd",        "numpy.nanmin",
      "numpy.nanmax",     "method.array.sum", "method.array.prod", "method.array.mean",   "method.array.var",
      "method.array.std", "method.array.min", "method.array.max",  "method.array.argmin", "method.array.argmax",
      "method.array.all", "method.array.any",
  };
  static const auto rows = [] {
    std::vector<BuiltinRow> table;
    for (const std::string_view name : names) table.push_back({name, reduce});
    return table;
  }();
  return rows;
}

}  // namespace warploom::frontend::python
