// Arrays, tuples and memory: layout of array values, element addresses, loads and stores, array attributes.
#include <fmt/format.h>

#include <numeric>

#include "frontend/python/evaluator.hpp"

namespace warploom::frontend::python {

llvm::Value* Evaluator::member(llvm::Value* aggregate, unsigned index) {
  while (auto* insert = llvm::dyn_cast<llvm::InsertValueInst>(aggregate)) {
    if (insert->getNumIndices() != 1) break;
    if (insert->getIndices()[0] == index) return insert->getInsertedValueOperand();
    aggregate = insert->getAggregateOperand();
  }
  return b.CreateExtractValue(aggregate, index);
}

Value Evaluator::make_array(const Type* type, llvm::Value* data, const std::vector<llvm::Value*>& shape,
                            const std::vector<llvm::Value*>& strides) {
  llvm::Value* ir = b.CreateInsertValue(llvm::UndefValue::get(llvm_type(type)), data, 0);
  for (unsigned i = 0; i < type->ndim; ++i) ir = b.CreateInsertValue(ir, shape[i], 1 + i);
  for (unsigned i = 0; i < type->ndim; ++i) ir = b.CreateInsertValue(ir, strides[i], 1 + type->ndim + i);
  return {type, ir, nullptr, false};
}

Value Evaluator::fixed_array(const Type* element, const std::vector<std::int64_t>& extents, llvm::Value* data,
                             bool read_only) {
  std::vector<llvm::Value*> shape(extents.size()), strides(extents.size());
  std::int64_t stride = memory_size(element);
  for (std::size_t i = extents.size(); i-- > 0;) {
    shape[i] = i64(extents[i]);
    strides[i] = i64(stride);
    stride *= extents[i];
  }
  return make_array(array_type(element, static_cast<unsigned>(extents.size()), 'C', read_only), data, shape, strides);
}

llvm::Value* Evaluator::array_stride(const Value& array, unsigned dim) {
  const Type* type = array.type;
  // The innermost stride of a contiguous array is known, which is what coalescing is seen by.
  if ((type->layout == 'C' && dim + 1 == type->ndim) || (type->layout == 'F' && dim == 0))
    return i64(memory_size(type->element));
  return member(array.ir, 1 + type->ndim + dim);
}

static unsigned known_align(const Type* type, unsigned align) { return align ? align : memory_align(type); }

Value Evaluator::load(llvm::Value* address, const Type* type, unsigned align) {
  const llvm::MaybeAlign at(known_align(type, align));
  switch (type->kind) {
    case TypeKind::record:
    case TypeKind::charseq: return {type, address, nullptr, false};
    case TypeKind::nested: {
      Value array = fixed_array(type->element, type->dims, address);
      if (align != 0 && align < memory_align(type->element)) array.type = packed_array(array.type);
      return array;
    }
    case TypeKind::boolean:
      return boolean(b.CreateICmpNE(b.CreateAlignedLoad(b.getInt8Ty(), address, at), b.getInt8(0)));
    case TypeKind::complex: {
      llvm::Type* part = llvm_type(float_type(type->bits));
      llvm::Value* real = b.CreateAlignedLoad(part, address, at);
      llvm::Value* imag =
          b.CreateAlignedLoad(part, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), address, type->bits / 8), at);
      llvm::Value* ir = b.CreateInsertValue(llvm::UndefValue::get(llvm_type(type)), real, 0);
      return {type, b.CreateInsertValue(ir, imag, 1), nullptr, false};
    }
    case TypeKind::pointer:
      return convert({int_type(64, false), b.CreateAlignedLoad(b.getInt64Ty(), address, at), nullptr, false}, type,
                     nullptr);
    default:
      return {type, b.CreateAlignedLoad(llvm_type(type), address, at), nullptr,
              type->is(TypeKind::integer) && !type->is_signed};
  }
}

void Evaluator::store(const Node* node, llvm::Value* address, const Value& value, const Type* type, unsigned align) {
  const llvm::MaybeAlign at(known_align(type, align));
  const auto refuse = [&]() {
    fail(node, fmt::format(
                   "No implementation of function Function(<built-in function setitem>) found for signature:\n \n >>> "
                   "setitem({}, ..., {})\n\ncannot store {} as {}",
                   display(type), describe(value), describe(value), display(type)));
  };
  switch (type->kind) {
    case TypeKind::record:
      if (value.type->is(TypeKind::record) && value.type->size == type->size) {
        b.CreateMemCpy(address, llvm::MaybeAlign(align ? align : 1), value.ir, llvm::MaybeAlign(1), type->size);
        return;
      }
      refuse();
      return;
    case TypeKind::charseq: {
      if (value.type->is(TypeKind::charseq) && value.type->wide == type->wide) {
        const unsigned unit = type->wide ? 4 : 1;
        const std::uint32_t copied = std::min(type->size, value.type->size) * unit;
        b.CreateMemCpy(address, llvm::MaybeAlign(unit), value.ir, llvm::MaybeAlign(unit), copied);
        if (copied < memory_size(type))
          b.CreateMemSet(b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), address, copied), b.getInt8(0),
                         memory_size(type) - copied, llvm::MaybeAlign(unit));
        return;
      }
      if (value.type->is(TypeKind::string) && value.constant()) {
        const std::string& text = value.constant()->text;
        for (std::uint32_t i = 0; i < type->size; ++i) {
          const std::uint32_t code = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
          llvm::Value* place = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), address, i * (type->wide ? 4U : 1U));
          if (type->wide)
            b.CreateAlignedStore(b.getInt32(code), place, llvm::MaybeAlign(4));
          else
            b.CreateAlignedStore(b.getInt8(static_cast<std::uint8_t>(code)), place, llvm::MaybeAlign(1));
        }
        return;
      }
      refuse();
      return;
    }
    case TypeKind::nested: {
      const Value target = load(address, type);
      store_subscript(node, target, constant({Constant::Kind::ellipsis, 0, 0, 0, {}}), value);
      return;
    }
    default: break;
  }
  if (value.type->is(TypeKind::array) && value.type->ndim == 0)
    return store(node, address, load(array_data(value), value.type->element), type, align);
  if (!can_convert(value.type, type)) refuse();
  const Value stored = convert(value, type, node);
  switch (type->kind) {
    case TypeKind::boolean: b.CreateAlignedStore(b.CreateZExt(stored.ir, b.getInt8Ty()), address, at); return;
    case TypeKind::complex:
      b.CreateAlignedStore(b.CreateExtractValue(stored.ir, 0), address, at);
      b.CreateAlignedStore(b.CreateExtractValue(stored.ir, 1),
                           b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), address, type->bits / 8), at);
      return;
    case TypeKind::pointer: b.CreateAlignedStore(b.CreatePtrToInt(stored.ir, b.getInt64Ty()), address, at); return;
    default: b.CreateAlignedStore(stored.ir, address, at); return;
  }
}

llvm::Value* Evaluator::element_address(const Node* node, const Value& array, const std::vector<Value>& index,
                                        bool accessed) {
  llvm::Value* address = array_data(array);
  for (unsigned dim = 0; dim < index.size(); ++dim) {
    const Value& i = index[dim];
    const bool is_signed = i.type->is(TypeKind::integer) && i.type->is_signed;
    llvm::Value* wide = b.CreateIntCast(i.ir, b.getInt64Ty(), is_signed);
    llvm::Value* extent = array_shape(array, dim);
    if (is_signed && !i.non_negative) {
      const auto* fixed = llvm::dyn_cast<llvm::ConstantInt>(wide);
      if (fixed) {
        if (fixed->isNegative()) wide = b.CreateAdd(wide, extent);
      } else {
        // What is accessed has elements: min(i, a.shape[0] - 1) needs no wrap-around if i needs none.
        if (accessed && !c.options.bounds_check && !c.options.debug && !array.type->element->is(TypeKind::record))
          b.CreateAssumption(b.CreateICmpSGT(extent, i64(0)));
        // A branch that is almost never taken keeps the index a plain pattern over the lanes; see choose_wraps().
        llvm::BasicBlock* from = b.GetInsertBlock();
        llvm::BasicBlock* wrap = new_block("wrap");
        llvm::BasicBlock* go_on = new_block("index");
        llvm::Value* negative = b.CreateICmpSLT(wide, i64(0));
        llvm::BranchInst* test =
            b.CreateCondBr(negative, wrap, go_on, llvm::MDBuilder(c.context).createBranchWeights(1, 1 << 20));
        test->setMetadata(wrap_mark, llvm::MDNode::get(c.context, {}));
        b.SetInsertPoint(wrap);
        llvm::Value* wrapped = b.CreateAdd(wide, extent);
        b.CreateBr(go_on);
        b.SetInsertPoint(go_on);
        llvm::PHINode* phi = b.CreatePHI(b.getInt64Ty(), 2);
        phi->addIncoming(wide, from);
        phi->addIncoming(wrapped, wrap);
        wide = phi;
      }
    }
    if (c.options.bounds_check) {
      llvm::BasicBlock* bad = new_block("bounds");
      llvm::BasicBlock* good = new_block("inside");
      b.CreateCondBr(b.CreateICmpUGE(wide, extent), bad, good,
                     llvm::MDBuilder(c.context).createBranchWeights(1, 1 << 20));
      b.SetInsertPoint(bad);
      raise(node, "IndexError", 0,
            {{Constant::Kind::string, 0, 0, 0, fmt::format("index is out of bounds for axis {}", dim)}});
      b.SetInsertPoint(good);
    }
    llvm::Value* stride = array_stride(array, dim);
    const auto* fixed = llvm::dyn_cast<llvm::ConstantInt>(stride);
    llvm::Type* step = b.getInt8Ty();
    if (fixed && fixed->getSExtValue() == memory_size(array.type->element) &&
        (array.type->element->is(TypeKind::integer) || array.type->element->is(TypeKind::floating)))
      step = c.memory_type(array.type->element);
    else
      wide = b.CreateMul(wide, stride);
    address = b.CreateInBoundsGEP(step, address, wide);
  }
  return address;
}

Value Evaluator::make_tuple(const std::vector<Value>& items) {
  std::vector<const Type*> types;
  for (const Value& item : items) types.push_back(item.type);
  return make_tuple(tuple_type(std::move(types)), items);
}

Value Evaluator::make_tuple(const Type* type, const std::vector<Value>& items) {
  llvm::Value* ir = llvm::UndefValue::get(llvm_type(type));
  auto literal = std::make_shared<Literal>();
  literal->is_tuple = true;
  bool known = false;
  for (unsigned i = 0; i < items.size(); ++i) {
    ir = b.CreateInsertValue(ir, items[i].ir, i);
    LiteralPtr item = items[i].literal;
    if (!item && items[i].non_negative) {
      auto sign = std::make_shared<Literal>();
      sign->only_sign = true;
      item = sign;
    }
    known |= item != nullptr;
    literal->items.push_back(std::move(item));
  }
  return {type, ir, known ? literal : nullptr, false};
}

Value Evaluator::tuple_item(const Value& tuple, std::size_t index) {
  const Type* type = tuple.type->items[index];
  Value item{type, member(tuple.ir, static_cast<unsigned>(index)),
             tuple.literal ? tuple.literal->items[index] : nullptr, false};
  if (item.literal && item.literal->only_sign) {
    item.literal = nullptr;
    item.non_negative = true;
  }
  if (const Constant* known = item.constant(); known && known->kind == Constant::Kind::integer)
    item.non_negative = known->integer >= 0;
  if (type->is(TypeKind::integer) && !type->is_signed) item.non_negative = true;
  return item;
}

Value Evaluator::type_value(const Type* type) {
  Type object;
  object.kind = TypeKind::method;
  object.name = "type";
  object.element = type;
  return {intern(std::move(object)), llvm::UndefValue::get(llvm::StructType::get(c.context)), nullptr, false};
}

Value Evaluator::array_attribute(const Node* node, const Value& array, const std::string& name) {
  const Type* type = array.type;
  if (name == "shape" || name == "strides") {
    std::vector<Value> items;
    for (unsigned i = 0; i < type->ndim; ++i) {
      llvm::Value* ir = name == "shape" ? array_shape(array, i) : array_stride(array, i);
      Value item{int_type(64), ir, nullptr, name == "shape"};
      if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(ir)) item = integer(known->getSExtValue());
      items.push_back(item);
    }
    return make_tuple(items);
  }
  if (name == "ndim") return integer(type->ndim);
  if (name == "itemsize") return integer(memory_size(type->element));
  if (name == "size" || name == "nbytes") {
    llvm::Value* count = i64(name == "size" ? 1 : memory_size(type->element));
    for (unsigned i = 0; i < type->ndim; ++i) count = b.CreateMul(count, array_shape(array, i));
    return {int_type(64), count, nullptr, true};
  }
  if (name == "dtype") return type_value(type->element);
  if (name == "T") {
    std::vector<llvm::Value*> shape, strides;
    for (unsigned i = type->ndim; i-- > 0;) {
      shape.push_back(array_shape(array, i));
      strides.push_back(array_stride(array, i));
    }
    const char layout = type->ndim <= 1 ? type->layout : type->layout == 'C' ? 'F' : type->layout == 'F' ? 'C' : 'A';
    return make_array(array_type(type->element, type->ndim, layout, type->read_only), array_data(array), shape,
                      strides);
  }
  if ((name == "real" || name == "imag") && type->element->is(TypeKind::complex)) {
    std::vector<llvm::Value*> shape, strides;
    for (unsigned i = 0; i < type->ndim; ++i) {
      shape.push_back(array_shape(array, i));
      strides.push_back(array_stride(array, i));
    }
    llvm::Value* data =
        b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), array_data(array), name == "imag" ? type->element->bits / 8 : 0);
    return make_array(array_type(float_type(type->element->bits), type->ndim, 'A', type->read_only), data, shape,
                      strides);
  }
  if (type->element->is(TypeKind::record)) {
    const auto& names = type->element->names;
    // A field of every record, as a strided view.
    if (std::find(names.begin(), names.end(), name) != names.end() && type->ndim > 0) {
      const std::size_t k = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
      std::vector<llvm::Value*> shape, strides;
      for (unsigned i = 0; i < type->ndim; ++i) {
        shape.push_back(array_shape(array, i));
        strides.push_back(array_stride(array, i));
      }
      llvm::Value* data = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), array_data(array), type->element->offsets[k]);
      const Type* field = type->element->items[k];
      const Type* view = array_type(field, type->ndim, 'A', type->read_only);
      const std::uint32_t align = std::gcd(type->element->offsets[k], type->element->size);
      if (type->name == "packed" || type->element->name == "packed" || align % memory_align(field) != 0)
        view = packed_array(view);
      return make_array(view, data, shape, strides);
    }
    if (type->ndim == 0) return record_attribute(node, load(array_data(array), type->element), name);
  }
  if (find_builtin("method.array." + name)) return method("array." + name, array);
  if (find_builtin("method." + name)) return method(name, array);
  fail(node, fmt::format("Unknown attribute '{}' of type {}", name, display(type)));
}

Value Evaluator::record_attribute(const Node* node, const Value& record, const std::string& name) {
  const Type* type = record.type;
  for (std::size_t i = 0; i < type->names.size(); ++i) {
    if (type->names[i] != name) continue;
    const Type* field = type->items[i];
    const std::uint32_t align = field_align(type, i);
    llvm::Value* address = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), record.ir, type->offsets[i]);
    if (field->is(TypeKind::record)) {
      const std::uint32_t wanted = field->size & (~field->size + 1U);
      if (type->name == "packed" || std::gcd(type->offsets[i], type->size) % std::max(1U, std::min(8U, wanted)) != 0) {
        Type packed = *field;
        packed.name = "packed";
        field = intern(std::move(packed));
      }
    }
    return load(address, field, align);
  }
  fail(node, fmt::format("Unknown attribute '{}' of type {}", name, display(type)));
}

}  // namespace warploom::frontend::python
