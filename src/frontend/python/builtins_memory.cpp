// Arrays in shared, local and constant memory, vectors of four, and the methods of arrays.
#include <fmt/format.h>

#include <bit>

#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

// A shape that is known when the kernel is compiled: an integer or a tuple of integers.
std::vector<std::int64_t> constant_shape(Evaluator& e, const Call& call, const Value& shape) {
  const auto one = [&](const Value& v) -> std::int64_t {
    const Constant* known = v.constant();
    if (!known || known->kind != Constant::Kind::integer || !v.type->is_integral())
      e.no_match(
          call,
          fmt::format(
              "the shape must be known when the kernel is compiled: a literal, a global or a tuple of those, not {}.\n"
              "Use a module-level constant, or dynamic shared memory (shape 0 and the fourth launch parameter)",
              e.describe(v)));
    return known->integer;
  };
  std::vector<std::int64_t> result;
  if (shape.type->is(TypeKind::tuple) && shape.type->name != "list") {
    for (std::size_t i = 0; i < shape.type->items.size(); ++i) result.push_back(one(e.tuple_item(shape, i)));
    if (result.empty()) e.no_match(call, "the shape is empty");
  } else {
    result.push_back(one(e.plain(shape, call.node)));
  }
  return result;
}

const Type* element_type(Evaluator& e, const Call& call, const Value& dtype) {
  const Type* type = type_argument(e, dtype);
  if (!type) {
    if (const Constant* known = dtype.constant(); known && known->kind == Constant::Kind::string)
      e.fail(call.node, fmt::format("Invalid NumPy dtype specified: '{}'", known->text));
    e.no_match(call, fmt::format("{} is not a dtype", e.describe(dtype)));
  }
  if (memory_size(type) == 0) e.no_match(call, fmt::format("{} has no size in memory", display(type)));
  return type;
}

unsigned alignment_of(Evaluator& e, const Call& call, std::size_t index, const Type* element) {
  // Vector loads of neighbours need more than an element's own alignment.
  const unsigned natural = std::max(16U, memory_align(element));
  if (!call.has(index) || call.args[index].type->is(TypeKind::none)) return natural;
  const Constant* known = call.args[index].constant();
  if (!known || known->kind != Constant::Kind::integer)
    e.fail(call.node, "RequireLiteralValue: alignment must be a constant integer", "RequireLiteralValue");
  if (known->integer <= 0) e.fail(call.node, "Alignment must be positive", "ValueError");
  if (!std::has_single_bit(static_cast<std::uint64_t>(known->integer)))
    e.fail(call.node, "Alignment must be a power of 2", "ValueError");
  if (known->integer > (1 << 20)) e.fail(call.node, "Alignment is too large", "ValueError");
  return std::max(static_cast<unsigned>(known->integer), memory_align(element));
}

llvm::Type* storage(Evaluator& e, const Type* element, const std::vector<std::int64_t>& extents) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : extents) count *= static_cast<std::uint64_t>(extent);
  const bool plain_number = element->is(TypeKind::integer) || element->is(TypeKind::floating);
  if (plain_number) return llvm::ArrayType::get(e.llvm_type(element), count);
  return llvm::ArrayType::get(e.b.getInt8Ty(), count * memory_size(element));
}

// All dynamic shared arrays start at the same address (CUDA Programming Guide, "__shared__").
llvm::Value* dynamic_shared(Evaluator& e) {
  llvm::GlobalVariable*& base = e.c.constants["dynamic_shared"];
  if (!base) {
    base = new llvm::GlobalVariable(*e.c.module, llvm::ArrayType::get(e.b.getInt8Ty(), 0), false,
                                    llvm::GlobalValue::ExternalLinkage, nullptr, "warploom_dynamic_shared", nullptr,
                                    llvm::GlobalValue::NotThreadLocal, 3);
    base->setAlignment(llvm::Align(16));
  }
  return e.b.CreateAddrSpaceCast(base, e.b.getPtrTy());
}

llvm::Value* dynamic_shared_size(Evaluator& e) {
  return e.b.CreateZExt(e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_dynamic_smem_size, {}),
                        e.b.getInt64Ty());
}

Value shared_array(Evaluator& e, Call& call) {
  call.bind(e, {"shape", "dtype", "alignment"}, 2);
  const auto extents = constant_shape(e, call, call.args[0]);
  const Type* element = element_type(e, call, call.args[1]);
  const unsigned align = alignment_of(e, call, 2, element);
  if (extents.size() == 1 && extents[0] == 0) {
    llvm::Value* count = e.b.CreateUDiv(dynamic_shared_size(e), e.i64(memory_size(element)));
    return e.make_array(array_type(element, 1, 'C'), dynamic_shared(e), {count}, {e.i64(memory_size(element))});
  }
  for (const std::int64_t extent : extents)
    if (extent <= 0) e.fail(call.node, "array length <= 0", "NumbaValueError");
  llvm::Type* type = storage(e, element, extents);
  auto* global =
      new llvm::GlobalVariable(*e.c.module, type, false, llvm::GlobalValue::InternalLinkage,
                               llvm::PoisonValue::get(type), "shared", nullptr, llvm::GlobalValue::NotThreadLocal, 3);
  global->setAlignment(llvm::Align(align));
  return e.fixed_array(element, extents, e.b.CreateAddrSpaceCast(global, e.b.getPtrTy()));
}

// Windows of dynamic shared memory that do not overlap, in the order of the calls.
Value shared_dynamic(Evaluator& e, Call& call) {
  call.bind(e, {"shape", "dtype"}, 2);
  const Type* element = element_type(e, call, call.args[1]);
  std::vector<Value> extents;
  if (call.args[0].type->is(TypeKind::tuple))
    for (std::size_t i = 0; i < call.args[0].type->items.size(); ++i) extents.push_back(e.tuple_item(call.args[0], i));
  else
    extents.push_back(call.args[0]);
  std::vector<llvm::Value*> shape;
  for (const Value& extent : extents)
    shape.push_back(e.convert(e.plain(extent, call.node), int_type(64), call.node).ir);
  std::vector<llvm::Value*> strides(shape.size());
  llvm::Value* bytes = e.i64(memory_size(element));
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = bytes;
    bytes = e.b.CreateMul(bytes, shape[i], "", true, true);
  }
  if (!e.c.dynamic_offset || e.c.dynamic_offset->getFunction() != e.llvm_function) {
    if (e.c.dynamic_offset)
      e.fail(call.node, "cuda.shared.dynamic cannot be used in a recursive function", "UnsupportedError");
    e.c.dynamic_offset = e.entry_alloca(e.b.getInt64Ty(), "dynamic_offset");
    llvm::IRBuilder<> at(e.c.dynamic_offset->getParent(), std::next(e.c.dynamic_offset->getIterator()));
    at.CreateStore(e.i64(0), e.c.dynamic_offset);
  }
  llvm::Value* offset = e.b.CreateLoad(e.b.getInt64Ty(), e.c.dynamic_offset);
  constexpr std::int64_t align = 16;
  llvm::Value* end = e.b.CreateAnd(e.b.CreateAdd(e.b.CreateAdd(offset, bytes), e.i64(align - 1)), e.i64(-align));
  e.b.CreateStore(end, e.c.dynamic_offset);
  return e.make_array(array_type(element, static_cast<unsigned>(shape.size()), 'C'),
                      e.b.CreateInBoundsGEP(e.b.getInt8Ty(), dynamic_shared(e), offset), shape, strides);
}

Value local_array(Evaluator& e, Call& call) {
  call.bind(e, {"shape", "dtype", "alignment"}, 2);
  const auto extents = constant_shape(e, call, call.args[0]);
  const Type* element = element_type(e, call, call.args[1]);
  const unsigned align = alignment_of(e, call, 2, element);
  for (const std::int64_t extent : extents)
    if (extent <= 0) e.fail(call.node, "array length <= 0", "NumbaValueError");
  llvm::AllocaInst* place = e.entry_alloca(storage(e, element, extents), "local");
  place->setAlignment(llvm::Align(align));
  return e.fixed_array(element, extents, place);
}

// array.copy(): local memory of its own, for which the shape must be known.
Value copy(Evaluator& e, Call& call) {
  call.bind(e, {"self"}, 1);
  const Value& from = call.args[0];
  std::vector<std::int64_t> extents;
  std::int64_t bytes = memory_size(from.type->element);
  for (unsigned i = 0; i < from.type->ndim; ++i) {
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(e.array_shape(from, i));
    if (!known)
      e.no_match(call, "an array is copied into local memory, so its shape must be known when the kernel is compiled");
    extents.push_back(known->getSExtValue());
    bytes *= std::max<std::int64_t>(1, extents.back());
  }
  constexpr std::int64_t most = 1 << 16;
  if (bytes > most) e.no_match(call, fmt::format("a copy in local memory has at most {} bytes, not {}", most, bytes));
  llvm::AllocaInst* place = e.entry_alloca(storage(e, from.type->element, extents), "copy");
  place->setAlignment(llvm::Align(std::max(16U, memory_align(from.type->element))));
  const Value made = e.fixed_array(from.type->element, extents, place);
  e.store_subscript(call.node, made, e.constant({Constant::Kind::ellipsis, 0, 0, 0, {}}), from);
  return made;
}

Value constant_array(Evaluator& e, Call& call) {
  call.bind(e, {"ndarray"}, 1);
  const ObjectId object = call.args[0].object;
  if (!object) e.no_match(call, "const.array_like takes an array that is a global or captured variable");
  const ObjectInfo info = e.c.world.describe(object);
  llvm::GlobalVariable*& global = e.c.constants[fmt::format("const{}", object)];
  if (!global) {
    llvm::Constant* data =
        llvm::ConstantDataArray::getRaw(llvm::StringRef(info.bytes), info.bytes.size(), e.b.getInt8Ty());
    global = new llvm::GlobalVariable(*e.c.module, data->getType(), true, llvm::GlobalValue::InternalLinkage, data,
                                      fmt::format("constant{}", object), nullptr, llvm::GlobalValue::NotThreadLocal, 4);
    global->setAlignment(llvm::Align(16));
  }
  const Type* type = parse_type(info.type, e.c.world);
  Value array = e.fixed_array(type->element, info.shape, e.b.CreateAddrSpaceCast(global, e.b.getPtrTy()));
  return {array_type(type->element, type->ndim, 'C', true), array.ir, nullptr, false};
}

// cffi's FFI.from_buffer(): a pointer to an array's first element.
Value buffer_pointer(Evaluator& e, Call& call) {
  call.bind(e, {"array"}, 1);
  const Value& array = call.args[0];
  if (!array.type->is(TypeKind::array)) e.no_match(call, "from_buffer takes an array");
  if (array.type->layout == 'A') e.no_match(call, "from_buffer takes a contiguous array");
  return {pointer_type(array.type->element), e.array_data(array), nullptr, false};
}

Value view(Evaluator& e, Call& call) {
  call.bind(e, {"self", "dtype"}, 2);
  const Value& array = call.args[0];
  const Type* element = element_type(e, call, call.args[1]);
  const std::int64_t from = memory_size(array.type->element), to = memory_size(element);
  std::vector<llvm::Value*> shape, strides;
  for (unsigned i = 0; i < array.type->ndim; ++i) {
    shape.push_back(e.array_shape(array, i));
    strides.push_back(e.array_stride(array, i));
  }
  if (from != to) {
    if (array.type->ndim == 0) e.no_match(call, "a 0-d array is viewed as a type of the same size only");
    if (array.type->layout != 'C')
      e.no_match(call, "an array that is not C contiguous is viewed as a type of the same size only");
    shape.back() = e.b.CreateUDiv(e.b.CreateMul(shape.back(), e.i64(from)), e.i64(to));
    strides.back() = e.i64(to);
  }
  return e.make_array(array_type(element, array.type->ndim, array.type->layout, array.type->read_only),
                      e.array_data(array), shape, strides);
}

Value reshape(Evaluator& e, Call& call) {
  const Value array = call.args[0];
  if (!array.type->is(TypeKind::array)) e.no_match(call);
  if (array.type->layout != 'C') e.no_match(call, "reshape() supports contiguous array only");
  std::vector<Value> extents(call.args.begin() + 1, call.args.end());
  if (extents.size() == 1 && extents[0].type->is(TypeKind::tuple)) {
    const Value tuple = extents[0];
    extents.clear();
    for (std::size_t i = 0; i < tuple.type->items.size(); ++i) extents.push_back(e.tuple_item(tuple, i));
  }
  if (extents.empty()) e.no_match(call);
  llvm::Value* total = e.i64(1);
  for (unsigned i = 0; i < array.type->ndim; ++i) total = e.b.CreateMul(total, e.array_shape(array, i));
  std::vector<llvm::Value*> shape;
  llvm::Value* known = e.i64(1);
  for (const Value& extent : extents) {
    shape.push_back(e.convert(e.plain(extent, call.node), int_type(64), call.node).ir);
    known = e.b.CreateMul(known, e.b.CreateSelect(e.b.CreateICmpSLT(shape.back(), e.i64(0)), e.i64(1), shape.back()));
  }
  // -1 stands for what is left.
  llvm::Value* rest = e.b.CreateUDiv(total, e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, known, e.i64(1)));
  std::vector<llvm::Value*> strides(shape.size());
  llvm::Value* stride = e.i64(memory_size(array.type->element));
  for (std::size_t i = shape.size(); i-- > 0;) {
    shape[i] = e.b.CreateSelect(e.b.CreateICmpSLT(shape[i], e.i64(0)), rest, shape[i]);
    strides[i] = stride;
    stride = e.b.CreateMul(stride, shape[i]);
  }
  return e.make_array(array_type(array.type->element, static_cast<unsigned>(shape.size()), 'C', array.type->read_only),
                      e.array_data(array), shape, strides);
}

Value ravel(Evaluator& e, Call& call) {
  call.bind(e, {"self"}, 1);
  const Value array = call.args[0];
  if (array.type->layout != 'C') e.no_match(call, "ravel() supports contiguous array only");
  llvm::Value* total = e.i64(1);
  for (unsigned i = 0; i < array.type->ndim; ++i) total = e.b.CreateMul(total, e.array_shape(array, i));
  return e.make_array(array_type(array.type->element, 1, 'C', array.type->read_only), e.array_data(array), {total},
                      {e.i64(memory_size(array.type->element))});
}

Value item(Evaluator& e, Call& call) {
  call.bind(e, {"self"}, 1);
  const Value array = call.args[0];
  return e.load(e.array_data(array), array.type->element);
}

// array(…) of a pointer, C or Fortran order: carray(pointer, shape, dtype).
Value array_of_pointer(Evaluator& e, Call& call, bool fortran) {
  call.bind(e, {"ptr", "shape", "dtype"}, 2);
  Value pointer = call.args[0];
  const Type* element =
      call.has(2) && !call.args[2].type->is(TypeKind::none) ? element_type(e, call, call.args[2]) : nullptr;
  if (!pointer.type->is(TypeKind::pointer)) e.no_match(call, "the first argument is a pointer");
  if (!element) element = pointer.type->element;
  std::vector<Value> extents;
  if (call.args[1].type->is(TypeKind::tuple))
    for (std::size_t i = 0; i < call.args[1].type->items.size(); ++i) extents.push_back(e.tuple_item(call.args[1], i));
  else
    extents.push_back(call.args[1]);
  std::vector<llvm::Value*> shape, strides(extents.size());
  for (const Value& extent : extents)
    shape.push_back(e.convert(e.plain(extent, call.node), int_type(64), call.node).ir);
  llvm::Value* stride = e.i64(memory_size(element));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t at = fortran ? i : shape.size() - 1 - i;
    strides[at] = stride;
    stride = e.b.CreateMul(stride, shape[at]);
  }
  return e.make_array(array_type(element, static_cast<unsigned>(shape.size()), fortran ? 'F' : 'C'), pointer.ir, shape,
                      strides);
}

// Four neighbours of an array in one access; the first one's index must be a multiple of four.
const Type* four(Evaluator& e, Call& call, const Value& array) {
  if (!array.type->is(TypeKind::array) || array.type->element != float_type(32))
    e.no_match(call, "it takes an array of float32");
  if (array.type->layout != 'C') e.no_match(call, "four neighbours are taken from a C contiguous array");
  return vector_type(float_type(32), 4);
}

llvm::Value* four_address(Evaluator& e, Call& call, const Value& array, const Value& index) {
  std::vector<Value> parts;
  if (index.type->is(TypeKind::tuple))
    for (std::size_t i = 0; i < index.type->items.size(); ++i)
      parts.push_back(e.plain(e.tuple_item(index, i), call.node));
  else
    parts.push_back(e.plain(index, call.node));
  if (parts.size() != array.type->ndim) e.no_match(call, "one index for each dimension");
  for (const Value& part : parts)
    if (!part.type->is_integral()) e.no_match(call, "indices are integers");
  return e.element_address(call.node, array, parts);
}

Value load_four(Evaluator& e, Call& call) {
  call.bind(e, {"array", "index"}, 2);
  const Type* type = four(e, call, call.args[0]);
  return {
      type,
      e.b.CreateAlignedLoad(e.llvm_type(type), four_address(e, call, call.args[0], call.args[1]), llvm::MaybeAlign(16)),
      nullptr, false};
}

Value store_four(Evaluator& e, Call& call) {
  call.bind(e, {"array", "index", "value"}, 3);
  const Type* type = four(e, call, call.args[0]);
  Value value = call.args[2];
  if (value.type != type) e.no_match(call, "the value is a float4");
  e.b.CreateAlignedStore(value.ir, four_address(e, call, call.args[0], call.args[1]), llvm::MaybeAlign(16));
  return e.none();
}

// ldca … stwt: cache hints, given to the hardware by the PTX instruction.
Value hinted(Evaluator& e, Call& call) {
  const std::string op = call.name.substr(call.name.rfind('.') + 1);
  const bool is_store = op[0] == 's';
  if (is_store)
    call.bind(e, {"array", "index", "value"}, 3);
  else
    call.bind(e, {"array", "index"}, 2);
  const Value array = call.args[0];
  const Type* element = array.type->element;
  llvm::Value* address = nullptr;
  if (array.type->is(TypeKind::pointer)) {
    llvm::Value* at = e.convert(e.plain(call.args[1], call.node), int_type(64), call.node).ir;
    address = e.b.CreateGEP(e.b.getInt8Ty(), array.ir, e.b.CreateMul(at, e.i64(memory_size(element))));
  } else if (array.type->is(TypeKind::array)) {
    std::vector<Value> parts;
    if (call.args[1].type->is(TypeKind::tuple))
      for (std::size_t i = 0; i < call.args[1].type->items.size(); ++i)
        parts.push_back(e.plain(e.tuple_item(call.args[1], i), call.node));
    else
      parts.push_back(e.plain(call.args[1], call.node));
    if (parts.size() != array.type->ndim) {
      const bool scalar = !call.args[1].type->is(TypeKind::tuple);
      e.fail(call.node,
             fmt::format("Expected {} indices, got {}", array.type->ndim,
                         scalar ? "a scalar" : std::to_string(parts.size())),
             "NumbaTypeError");
    }
    for (const Value& part : parts)
      if (!part.type->is_integral())
        e.fail(call.node, fmt::format("{} is not a valid index", display(part.type)), "NumbaTypeError");
    address = e.element_address(call.node, array, parts);
  } else {
    e.fail(call.node, fmt::format("{} operates on arrays or pointers, not {}", op, e.describe(array)),
           "NumbaTypeError");
  }
  if (!(element->is(TypeKind::integer) || element->is(TypeKind::floating)))
    e.fail(call.node, fmt::format("{} requires array of integer or float type, not {}", op, display(array.type)),
           "NumbaTypeError");
  const unsigned bits = element->bits;
  llvm::Type* integer = e.b.getIntNTy(std::max(16U, bits));
  const char* reg = bits == 64 ? "l" : bits == 32 ? "r" : "h";
  llvm::Value* global = e.b.CreateAddrSpaceCast(address, e.b.getPtrTy(1));
  const std::string hint = op.substr(2);
  if (is_store) {
    llvm::Value* value = e.b.CreateBitCast(e.convert(call.args[2], element, call.node).ir, e.b.getIntNTy(bits));
    value = e.b.CreateZExt(value, integer);
    auto* type = llvm::FunctionType::get(e.b.getVoidTy(), {global->getType(), integer}, false);
    e.b.CreateCall(llvm::InlineAsm::get(type, fmt::format("st.global.{}.b{} [$0], $1;", hint, bits),
                                        fmt::format("l,{},~{{memory}}", reg), true),
                   {global, value});
    return e.none();
  }
  auto* type = llvm::FunctionType::get(integer, {global->getType()}, false);
  llvm::Value* value = e.b.CreateCall(llvm::InlineAsm::get(type, fmt::format("ld.global.{}.b{} $0, [$1];", hint, bits),
                                                           fmt::format("={},l,~{{memory}}", reg), true),
                                      {global});
  value = e.b.CreateBitCast(e.b.CreateTrunc(value, e.b.getIntNTy(bits)), e.llvm_type(element));
  return {element, value, nullptr, false};
}

// float32x4(…): scalars and vectors, until the lanes are full.
template <unsigned lanes>
Value make_vector(Evaluator& e, Call& call) {
  const std::string name = call.name.substr(call.name.find('.') + 1);
  const Type* element = parse_type(name.substr(0, name.rfind('x')), e.c.world);
  const Type* type = vector_type(element, lanes);
  std::vector<Value> parts;
  for (const Value& argument : call.args) {
    if (argument.type->is(TypeKind::vector))
      for (unsigned i = 0; i < argument.type->ndim; ++i)
        parts.push_back({argument.type->element, e.b.CreateExtractElement(argument.ir, i), nullptr, false});
    else
      parts.push_back(e.plain(argument, call.node));
  }
  if (parts.size() == 1 && lanes > 1 && call.args[0].type->is_number()) parts.resize(lanes, parts[0]);
  if (parts.size() != lanes || !call.keywords.empty())
    e.no_match(call, fmt::format("{} needs {} elements, {} were given", name, lanes, parts.size()));
  llvm::Value* ir = llvm::PoisonValue::get(e.llvm_type(type));
  for (unsigned i = 0; i < lanes; ++i) ir = e.b.CreateInsertElement(ir, e.convert(parts[i], element, call.node).ir, i);
  return {type, ir, nullptr, false};
}

#define VECTOR_ROWS(element)                                                                                           \
  {"vec." element "x1", make_vector<1>}, {"vec." element "x2", make_vector<2>}, {"vec." element "x3", make_vector<3>}, \
  {                                                                                                                    \
    "vec." element "x4", make_vector<4>                                                                                \
  }

constexpr BuiltinRow rows[] = {
    {"cffi.from_buffer", buffer_pointer},
    {"cuda.shared.array", shared_array},
    {"cuda.shared_memory", shared_array},
    {"cuda.shared.dynamic", shared_dynamic},
    {"cuda.local.array", local_array},
    {"cuda.const.array_like", constant_array},
    {"method.array.view", view},
    {"method.array.reshape", reshape},
    {"method.array.ravel", ravel},
    {"method.array.flatten", ravel},
    {"method.array.copy", copy},
    {"method.array.item", item},
    {"cuda.carray", [](Evaluator& e, Call& call) { return array_of_pointer(e, call, false); }},
    {"cuda.farray", [](Evaluator& e, Call& call) { return array_of_pointer(e, call, true); }},
    {"cuda.load_float4", load_four},
    {"cuda.store_float4", store_four},
    {"cuda.ldca", hinted},
    {"cuda.ldcg", hinted},
    {"cuda.ldcs", hinted},
    {"cuda.ldlu", hinted},
    {"cuda.ldcv", hinted},
    {"cuda.stcg", hinted},
    {"cuda.stcs", hinted},
    {"cuda.stwb", hinted},
    {"cuda.stwt", hinted},
    VECTOR_ROWS("int8"),
    VECTOR_ROWS("int16"),
    VECTOR_ROWS("int32"),
    VECTOR_ROWS("int64"),
    VECTOR_ROWS("uint8"),
    VECTOR_ROWS("uint16"),
    VECTOR_ROWS("uint32"),
    VECTOR_ROWS("uint64"),
    VECTOR_ROWS("float32"),
    VECTOR_ROWS("float64"),
};

}  // namespace

std::span<const BuiltinRow> memory_builtins() { return rows; }

}  // namespace warploom::frontend::python
