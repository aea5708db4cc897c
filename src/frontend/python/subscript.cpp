// Subscripts: elements, views by slices, tuples, records; loads and stores.
#include <fmt/format.h>

#include "frontend/python/evaluator.hpp"

namespace warploom::frontend::python {
namespace {

struct Slice {
  llvm::Value *start = nullptr, *count = nullptr, *step = nullptr;
  bool whole = false;  // ":"
  bool dense = false;  // step 1
};

// Python's slice.indices(), as instructions.
Slice resolve_slice(Evaluator& e, const Node* node, const Value& slice, llvm::Value* extent) {
  auto& b = e.b;
  Slice result;
  const auto part = [&](unsigned i) -> Value {
    return {slice.type->items[i], e.member(slice.ir, i), slice.literal ? slice.literal->items[i] : nullptr, false};
  };
  const Value start = part(0), stop = part(1), step = part(2);
  const auto given = [](const Value& v) { return !v.type->is(TypeKind::none); };
  llvm::Value* zero = e.i64(0);
  llvm::Value* by = given(step) ? e.convert(step, int_type(64), node).ir : e.i64(1);
  if (const Constant* known = step.constant(); known && given(step)) by = e.i64(known->integer);
  const auto* fixed = llvm::dyn_cast<llvm::ConstantInt>(by);
  if (fixed && fixed->isZero()) e.fail(node, "slice step cannot be zero", "NumbaValueError");
  result.step = by;
  result.dense = fixed && fixed->isOne();
  result.whole = result.dense && !given(start) && !given(stop);
  if (result.whole) {
    result.start = zero;
    result.count = extent;
    return result;
  }
  llvm::Value* up = b.CreateICmpSGT(by, zero);
  llvm::Value* low = b.CreateSelect(up, zero, e.i64(-1));
  llvm::Value* high = b.CreateSelect(up, extent, b.CreateSub(extent, e.i64(1)));
  const auto place = [&](const Value& v, llvm::Value* otherwise) -> llvm::Value* {
    if (!given(v)) return otherwise;
    llvm::Value* ir = e.convert(v, int_type(64), node).ir;
    if (const Constant* known = v.constant()) ir = e.i64(known->integer);
    llvm::Value* wrapped = b.CreateSelect(b.CreateICmpSLT(ir, zero), b.CreateAdd(ir, extent), ir);
    wrapped = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wrapped, low);
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, wrapped, high);
  };
  result.start = place(start, b.CreateSelect(up, zero, high));
  llvm::Value* end = place(stop, b.CreateSelect(up, extent, e.i64(-1)));
  llvm::Value* distance = b.CreateSelect(up, b.CreateSub(end, result.start), b.CreateSub(result.start, end));
  llvm::Value* size = b.CreateSelect(up, by, b.CreateNeg(by));
  llvm::Value* count = result.dense ? distance : b.CreateSDiv(b.CreateSub(b.CreateAdd(distance, size), e.i64(1)), size);
  result.count = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, zero);
  return result;
}

bool is_index(const Value& v) {
  return v.type->is_integral() || (v.type->is(TypeKind::enumeration) && v.type->is_int_enum);
}

// One entry of an index tuple each.
std::vector<Value> index_parts(Evaluator& e, const Value& index) {
  if (!index.type->is(TypeKind::tuple)) return {index};
  std::vector<Value> parts;
  for (std::size_t i = 0; i < index.type->items.size(); ++i) parts.push_back(e.tuple_item(index, i));
  return parts;
}

// The element that an index names, or the view.
struct Selected {
  llvm::Value* address = nullptr;  // one element
  Value view;
};

Selected select(Evaluator& e, const Node* node, const Value& array, const Value& index) {
  auto& b = e.b;
  const Type* type = array.type;
  std::vector<Value> parts = index_parts(e, index);
  std::size_t used = 0;
  std::size_t ellipses = 0;
  for (Value& part : parts) {
    part = e.plain(part, node);
    // NumPy's unsigned scalars, 0-d arrays and booleans index as integers.
    if (part.type->is(TypeKind::array) && part.type->ndim == 0) part = e.load(e.array_data(part), part.type->element);
    if (part.type->is(TypeKind::ellipsis))
      ++ellipses;
    else if (!part.type->is(TypeKind::none))
      ++used;
    if (!is_index(part) && !part.type->is(TypeKind::slice) && !part.type->is(TypeKind::ellipsis) &&
        !part.type->is(TypeKind::none))
      e.fail(node, fmt::format("unsupported array index type {} in {}: use integers and slices", e.describe(part),
                               e.describe(index)));
  }
  if (used > type->ndim)
    e.fail(node, fmt::format("cannot index {} with {} indices: {}", display(type), used, e.describe(index)));
  if (ellipses > 1) e.fail(node, "at most one ellipsis in an index");
  bool all_integers = ellipses == 0 && used == type->ndim;
  for (const Value& part : parts) all_integers &= is_index(part);
  if (all_integers) return {e.element_address(node, array, parts), {}};

  std::vector<llvm::Value*> shape, strides;
  llvm::Value* data = e.array_data(array);
  unsigned dim = 0;
  bool leading = true, contiguous = type->layout == 'C';
  bool sliced = false;
  const auto keep = [&](unsigned d) {
    shape.push_back(e.array_shape(array, d));
    strides.push_back(e.array_stride(array, d));
    leading = false;
  };
  for (const Value& part : parts) {
    if (part.type->is(TypeKind::ellipsis)) {
      const unsigned skipped = type->ndim - static_cast<unsigned>(used);
      for (unsigned i = 0; i < skipped; ++i) keep(dim++);
    } else if (part.type->is(TypeKind::none)) {
      shape.push_back(e.i64(1));
      strides.push_back(e.i64(0));
      contiguous = false;
    } else if (part.type->is(TypeKind::slice)) {
      const Slice one = resolve_slice(e, node, part, e.array_shape(array, dim));
      llvm::Value* stride = e.array_stride(array, dim);
      data = b.CreateGEP(b.getInt8Ty(), data, b.CreateMul(one.start, stride));
      shape.push_back(one.count);
      strides.push_back(one.dense ? stride : b.CreateMul(stride, one.step));
      if (!one.whole) {
        contiguous &= leading && one.dense;
        sliced = true;
      }
      leading = false;
      ++dim;
    } else {
      contiguous &= leading;
      Type flat = *type;
      flat.ndim = 1;
      // Address of one index along this dimension, by the rule for elements.
      llvm::Value* extent = e.array_shape(array, dim);
      llvm::Value* stride = e.array_stride(array, dim);
      const Value line = e.make_array(array_type(type->element, 1, 'A'), data, {extent}, {stride});
      data = e.element_address(node, line, {part}, false);
      ++dim;
    }
  }
  while (dim < type->ndim) keep(dim++);
  (void)sliced;
  char layout = contiguous ? 'C' : 'A';
  if (type->layout == 'F' && parts.size() == 1 && parts[0].type->is(TypeKind::ellipsis)) layout = 'F';
  const Type* view = array_type(type->element, static_cast<unsigned>(shape.size()), layout, type->read_only);
  if (type->name == "packed") view = packed_array(view);
  return {nullptr, e.make_array(view, data, shape, strides)};
}

// What an access to an element may rely on: 0 stands for the element's own alignment.
unsigned element_align(const Value& array) { return array.type->name == "packed" ? 1 : 0; }

Value load_element(Evaluator& e, const Value& array, llvm::Value* address) {
  const Type* element = array.type->element;
  if (element_align(array) != 0 && element->is(TypeKind::record)) {
    Type packed = *element;
    packed.name = "packed";
    element = intern(std::move(packed));
  }
  return e.load(address, element, element_align(array));
}

// Emits nested loops over `shape` and calls body with the indices.
void for_each(Evaluator& e, const std::vector<llvm::Value*>& shape,
              const std::function<void(const std::vector<Value>&)>& body) {
  auto& b = e.b;
  std::vector<Value> indices;
  std::function<void(std::size_t)> level = [&](std::size_t dim) {
    if (dim == shape.size()) return body(indices);
    llvm::AllocaInst* counter = e.entry_alloca(b.getInt64Ty(), "each");
    b.CreateStore(e.i64(0), counter);
    llvm::BasicBlock *head = e.new_block("each"), *inside = e.new_block("body"), *done = e.new_block("done");
    b.CreateBr(head);
    b.SetInsertPoint(head);
    llvm::Value* now = b.CreateLoad(b.getInt64Ty(), counter);
    b.CreateCondBr(b.CreateICmpSLT(now, shape[dim]), inside, done);
    b.SetInsertPoint(inside);
    indices.push_back({int_type(64), now, nullptr, true});
    level(dim + 1);
    indices.pop_back();
    b.CreateStore(b.CreateAdd(now, e.i64(1), "", true, true), counter);
    b.CreateBr(head);
    b.SetInsertPoint(done);
  };
  level(0);
}

}  // namespace

Value Evaluator::subscript(const Node* node, const Value& base, const Value& index) {
  switch (base.type->kind) {
    case TypeKind::array: {
      if (base.type->element->is(TypeKind::record) && index.constant() &&
          index.constant()->kind == Constant::Kind::string)
        return array_attribute(node, base, index.constant()->text);
      if (base.type->ndim == 0 && index.type->is(TypeKind::tuple) && index.type->items.empty())
        return load(array_data(base), base.type->element);
      const Selected selected = select(*this, node, base, index);
      if (!selected.address) return selected.view;
      return load_element(*this, base, selected.address);
    }
    case TypeKind::tuple: {
      const std::int64_t count = static_cast<std::int64_t>(base.type->items.size());
      const Value plain_index = plain(index, node);
      if (const Constant* known = plain_index.constant(); known && known->kind == Constant::Kind::integer) {
        const std::int64_t at = known->integer < 0 ? known->integer + count : known->integer;
        if (at < 0 || at >= count)
          fail(node, fmt::format("tuple index {} is out of range for {} elements", known->integer, count));
        return tuple_item(base, static_cast<std::size_t>(at));
      }
      if (index.type->is(TypeKind::slice)) {
        std::vector<std::optional<std::int64_t>> parts;
        for (unsigned i = 0; i < 3; ++i) {
          if (index.type->items[i]->is(TypeKind::none)) {
            parts.emplace_back();
            continue;
          }
          const LiteralPtr& literal = index.literal->items[i];
          if (!literal) fail(node, "a slice of a tuple needs constant bounds: its length is part of its type");
          parts.emplace_back(literal->value.integer);
        }
        const std::int64_t step = parts[2].value_or(1);
        if (step == 0) fail(node, "slice step cannot be zero");
        const auto place = [&](std::optional<std::int64_t> v, std::int64_t otherwise) {
          if (!v) return otherwise;
          const std::int64_t wrapped = *v < 0 ? *v + count : *v;
          return std::clamp(wrapped, step > 0 ? std::int64_t{0} : std::int64_t{-1}, step > 0 ? count : count - 1);
        };
        std::vector<Value> items;
        const std::int64_t stop = place(parts[1], step > 0 ? count : -1);
        for (std::int64_t i = place(parts[0], step > 0 ? 0 : count - 1); step > 0 ? i < stop : i > stop; i += step)
          items.push_back(tuple_item(base, static_cast<std::size_t>(i)));
        return make_tuple(items);
      }
      if (!is_index(plain_index))
        fail(node, fmt::format("tuple indices must be integers or slices, not {}", describe(index)));
      for (const Type* item : base.type->items)
        if (item != base.type->items.front())
          fail(node, fmt::format("{} is indexed by a value that is not known when the kernel is compiled, and its "
                                 "elements differ in type",
                                 display(base.type)));
      if (count == 0) fail(node, "an empty tuple has no elements");
      // Equal types: in memory, an array.
      llvm::Type* item = llvm_type(base.type->items.front());
      if (auto* none_struct = llvm::dyn_cast<llvm::StructType>(item); none_struct && none_struct->getNumElements() == 0)
        fail(node, "this tuple has no run-time data to index");
      llvm::Type* storage = llvm::ArrayType::get(item, static_cast<std::uint64_t>(count));
      llvm::AllocaInst* place = entry_alloca(storage, "tuple");
      for (std::int64_t i = 0; i < count; ++i)
        b.CreateStore(tuple_item(base, static_cast<std::size_t>(i)).ir,
                      b.CreateConstInBoundsGEP2_64(storage, place, 0, static_cast<std::uint64_t>(i)));
      llvm::Value* at = convert(plain_index, int_type(64), node).ir;
      at = b.CreateSelect(b.CreateICmpSLT(at, i64(0)), b.CreateAdd(at, i64(count)), at);
      if (c.options.debug || c.options.bounds_check) {
        llvm::BasicBlock *bad = new_block("outside"), *good = new_block("inside");
        b.CreateCondBr(b.CreateICmpULT(at, i64(count)), good, bad);
        b.SetInsertPoint(bad);
        raise(node, "IndexError", 0, {{Constant::Kind::string, 0, 0, 0, "tuple index out of range"}});
        b.SetInsertPoint(good);
      }
      return {base.type->items.front(), b.CreateLoad(item, b.CreateInBoundsGEP(storage, place, {i64(0), at})), nullptr,
              false};
    }
    case TypeKind::record: {
      const Constant* known = index.constant();
      if (known && known->kind == Constant::Kind::string) return record_attribute(node, base, known->text);
      if (known && known->kind == Constant::Kind::integer && known->integer >= 0 &&
          known->integer < static_cast<std::int64_t>(base.type->names.size()))
        return record_attribute(node, base, base.type->names[static_cast<std::size_t>(known->integer)]);
      fail(node, fmt::format("a record is indexed by the name of a field, a constant: not {}", describe(index)));
    }
    case TypeKind::pointer: {
      llvm::Value* at = convert(plain(index, node), int_type(64), node).ir;
      return load(b.CreateGEP(b.getInt8Ty(), base.ir, b.CreateMul(at, i64(memory_size(base.type->element)))),
                  base.type->element);
    }
    case TypeKind::charseq: {
      llvm::Value* at = convert(plain(index, node), int_type(64), node).ir;
      const Type* unit = base.type->wide ? int_type(32, false) : int_type(8, false);
      return load(b.CreateGEP(b.getInt8Ty(), base.ir, b.CreateMul(at, i64(memory_size(unit)))), unit);
    }
    case TypeKind::string: {
      const Constant* known = index.constant();
      if (base.constant() && known && known->kind == Constant::Kind::integer) {
        const std::string& text = base.constant()->text;
        const std::int64_t size = static_cast<std::int64_t>(text.size());
        const std::int64_t at = known->integer < 0 ? known->integer + size : known->integer;
        if (at >= 0 && at < size)
          return constant({Constant::Kind::string, 0, 0, 0, text.substr(static_cast<std::size_t>(at), 1)});
      }
      break;
    }
    case TypeKind::optional: return subscript(node, convert(base, base.type->element, node), index);
    case TypeKind::object: {
      const ObjectInfo& info = c.world.describe(base.type->object);
      if (info.kind == ObjectInfo::Kind::enum_class && index.constant() &&
          index.constant()->kind == Constant::Kind::string)
        if (const ObjectId member = c.world.attribute(base.type->object, index.constant()->text))
          return object_value(node, member);
      break;
    }
    default: break;
  }
  Call site{node, "operator.getitem", {base, index}, {}};
  no_match(site, fmt::format("{} cannot be indexed by {}", describe(base), describe(index)));
}

void Evaluator::store_subscript(const Node* node, const Value& base, const Value& index, const Value& value) {
  const auto refuse = [&](const std::string& why) {
    Call site{node, "operator.setitem", {base, index, value}, {}};
    no_match(site, why);
  };
  switch (base.type->kind) {
    case TypeKind::array: {
      if (base.type->read_only)
        fail(node, fmt::format("Cannot modify readonly array of type: {}", display(base.type)), "NumbaTypeError");
      if (base.type->element->is(TypeKind::record) && index.constant() &&
          index.constant()->kind == Constant::Kind::string)
        return store_subscript(node, array_attribute(node, base, index.constant()->text),
                               constant({Constant::Kind::ellipsis, 0, 0, 0, {}}), value);
      if (base.type->ndim == 0) {
        store(node, array_data(base), value, base.type->element);
        return;
      }
      const Selected selected = select(*this, node, base, index);
      if (selected.address) {
        store(node, selected.address, value, base.type->element, element_align(base));
        return;
      }
      const Value& view = selected.view;
      std::vector<llvm::Value*> shape;
      for (unsigned i = 0; i < view.type->ndim; ++i) shape.push_back(array_shape(view, i));
      if (value.type->is(TypeKind::array) && value.type->ndim > 0) {
        if (value.type->ndim > view.type->ndim)
          refuse(fmt::format("a {}-dimensional value does not fit a {}-dimensional slice", value.type->ndim,
                             view.type->ndim));
        for_each(*this, shape, [&](const std::vector<Value>& at) {
          // The value's dimensions are the last ones; one of extent 1 is repeated.
          std::vector<Value> from(at.end() - value.type->ndim, at.end());
          for (unsigned d = 0; d < value.type->ndim; ++d)
            from[d].ir = b.CreateSelect(b.CreateICmpEQ(array_shape(value, d), i64(1)), i64(0), from[d].ir);
          store(node, element_address(node, view, at), load_element(*this, value, element_address(node, value, from)),
                view.type->element, element_align(view));
        });
        return;
      }
      if (value.type->is(TypeKind::tuple)) {
        if (view.type->ndim != 1) refuse("a tuple is assigned to one dimension");
        for (std::size_t i = 0; i < value.type->items.size(); ++i)
          store(node, element_address(node, view, {integer(static_cast<std::int64_t>(i))}), tuple_item(value, i),
                view.type->element, element_align(view));
        return;
      }
      for_each(*this, shape, [&](const std::vector<Value>& at) {
        store(node, element_address(node, view, at), value, view.type->element, element_align(view));
      });
      return;
    }
    case TypeKind::record:
      if (index.constant() && index.constant()->kind == Constant::Kind::string)
        return store_attribute(node, base, index.constant()->text, value);
      if (index.constant() && index.constant()->kind == Constant::Kind::integer && index.constant()->integer >= 0 &&
          index.constant()->integer < static_cast<std::int64_t>(base.type->names.size()))
        return store_attribute(node, base, base.type->names[static_cast<std::size_t>(index.constant()->integer)],
                               value);
      break;
    case TypeKind::pointer: {
      llvm::Value* at = convert(plain(index, node), int_type(64), node).ir;
      store(node, b.CreateGEP(b.getInt8Ty(), base.ir, b.CreateMul(at, i64(memory_size(base.type->element)))), value,
            base.type->element);
      return;
    }
    case TypeKind::tuple: fail(node, "tuples cannot be changed: make a new one, or use cuda.local.array");
    default: break;
  }
  refuse(fmt::format("elements of {} cannot be assigned", describe(base)));
}

void Evaluator::store_attribute(const Node* node, const Value& base, const std::string& name, const Value& value) {
  const Type* type = base.type;
  if (type->is(TypeKind::array) && type->ndim == 0)
    return store_attribute(node, load(array_data(base), type->element), name, value);
  if (type->is(TypeKind::array)) {
    const Value view = array_attribute(node, base, name);
    return store_subscript(node, view, constant({Constant::Kind::ellipsis, 0, 0, 0, {}}), value);
  }
  if (!type->is(TypeKind::record))
    fail(node, fmt::format("attribute '{}' of {} cannot be assigned", name, describe(base)));
  for (std::size_t i = 0; i < type->names.size(); ++i) {
    if (type->names[i] != name) continue;
    store(node, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base.ir, type->offsets[i]), value, type->items[i],
          field_align(type, i));
    return;
  }
  fail(node, fmt::format("Unknown attribute '{}' of type {}", name, display(type)));
}

}  // namespace warploom::frontend::python
