// Interning, names, sizes and unification of the types of Python kernels.
#include "frontend/python/types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

namespace warploom::frontend::python {
namespace {

Type scalar(TypeKind kind, unsigned bits, bool is_signed) {
  Type type;
  type.kind = kind;
  type.bits = static_cast<std::uint16_t>(bits);
  type.is_signed = is_signed;
  return type;
}

std::string join(const std::vector<const Type*>& items, std::string (*name)(const Type*), std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    text += name(items[i]);
  }
  return text;
}

// Recursive descent over a canonical string.
class Parser {
 public:
  Parser(std::string_view text, World& world) : text_(text), world_(world) {}

  const Type* whole() {
    const Type* type = parse();
    return position_ == text_.size() ? type : nullptr;
  }

 private:
  bool eat(char c) {
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  std::string_view word(std::string_view stops = "(),@:") {
    const std::size_t end = std::min(text_.find_first_of(stops, position_), text_.size());
    const std::string_view found = text_.substr(position_, end - position_);
    position_ = end;
    return found;
  }
  template <class Number>
  bool number(Number& value) {
    const char* first = text_.data() + position_;
    const auto [last, error] = std::from_chars(first, text_.data() + text_.size(), value);
    position_ += static_cast<std::size_t>(last - first);
    return error == std::errc();
  }

  const Type* parse() {
    if (++depth_ > 64) return nullptr;
    const Type* type = parse_one();
    --depth_;
    return type;
  }

  const Type* parse_one() {
    const std::string_view head = word();
    if (!eat('(')) return named(head);
    const Type* type = applied(head);
    return type && eat(')') ? type : nullptr;
  }

  static const Type* named(std::string_view head) {
    static const std::map<std::string_view, const Type*> names{
        {"none", none_type()},           {"bool", bool_type()},
        {"int8", int_type(8)},           {"int16", int_type(16)},
        {"int32", int_type(32)},         {"int64", int_type(64)},
        {"uint8", int_type(8, false)},   {"uint16", int_type(16, false)},
        {"uint32", int_type(32, false)}, {"uint64", int_type(64, false)},
        {"float16", float_type(16)},     {"float32", float_type(32)},
        {"float64", float_type(64)},     {"bfloat16", bfloat_type()},
        {"complex64", complex_type(32)}, {"complex128", complex_type(64)},
        {"string", string_type()},
    };
    const auto found = names.find(head);
    return found == names.end() ? nullptr : found->second;
  }

  const Type* applied(std::string_view head) {
    Type type;
    if (head == "array") {
      type.kind = TypeKind::array;
      type.element = parse();
      if (!type.element || !eat(',') || !number(type.ndim) || !eat(',')) return nullptr;
      const std::string_view layout = word();
      if (layout != "C" && layout != "F" && layout != "A") return nullptr;
      type.layout = layout[0];
      if (eat(',')) {
        if (word() != "ro") return nullptr;
        type.read_only = true;
      }
      return intern(std::move(type));
    }
    if (head == "ptr" || head == "optional") {
      const Type* element = parse();
      if (!element) return nullptr;
      return head == "ptr" ? pointer_type(element) : optional_type(element);
    }
    if (head == "tuple") {
      while (position_ < text_.size() && text_[position_] != ')') {
        type.items.push_back(parse());
        if (!type.items.back()) return nullptr;
        if (!eat(',')) break;
      }
      return tuple_type(std::move(type.items));
    }
    if (head == "namedtuple") {
      std::string name(word());
      while (eat(',')) {
        type.names.emplace_back(word());
        if (!eat(':')) return nullptr;
        type.items.push_back(parse());
        if (!type.items.back()) return nullptr;
      }
      return named_tuple_type(std::move(name), std::move(type.names), std::move(type.items));
    }
    if (head == "record") return record();
    if (head == "nested") {
      type.kind = TypeKind::nested;
      type.element = parse();
      if (!type.element || !eat(',')) return nullptr;
      do {
        std::int64_t extent = 0;
        if (!number(extent)) return nullptr;
        type.dims.push_back(extent);
      } while (eat('x'));
      return intern(std::move(type));
    }
    if (head == "char" || head == "unichar") {
      type.kind = TypeKind::charseq;
      type.wide = head == "unichar";
      return number(type.size) ? intern(std::move(type)) : nullptr;
    }
    if (head == "datetime" || head == "timedelta") {
      type.kind = head == "datetime" ? TypeKind::datetime : TypeKind::timedelta;
      type.name = word(")");
      return intern(std::move(type));
    }
    if (head == "enum" || head == "intenum") {
      std::size_t index = 0;
      if (!number(index) || !eat(',')) return nullptr;
      type.kind = TypeKind::enumeration;
      type.is_int_enum = head == "intenum";
      type.element = parse();
      type.object = world_.request_object(index);
      return type.element && type.object ? intern(std::move(type)) : nullptr;
    }
    if (head == "function") {
      std::size_t index = 0;
      if (!number(index)) return nullptr;
      const ObjectId object = world_.request_object(index);
      return object ? object_type(object) : nullptr;
    }
    if (head == "vec") {
      const Type* element = parse();
      unsigned lanes = 0;
      if (!element || !eat(',') || !number(lanes) || lanes < 1 || lanes > 4) return nullptr;
      return vector_type(element, lanes);
    }
    return nullptr;
  }

  const Type* record() {
    Type type;
    type.kind = TypeKind::record;
    unsigned aligned = 0;
    if (!number(type.size) || !eat(',') || !number(aligned)) return nullptr;
    type.aligned = aligned != 0;
    while (eat(',')) {
      type.names.emplace_back(word("@"));
      std::uint32_t offset = 0;
      if (!eat('@') || !number(offset) || !eat(':')) return nullptr;
      type.offsets.push_back(offset);
      type.items.push_back(parse());
      if (!type.items.back()) return nullptr;
    }
    return intern(std::move(type));
  }

  std::string_view text_;
  World& world_;
  std::size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

const Type* intern(Type type) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Type>> known;
  std::string key = canonical(&type);
  const std::lock_guard lock(mutex);
  auto& slot = known[std::move(key)];
  if (!slot) slot = std::make_unique<Type>(std::move(type));
  return slot.get();
}

const Type* none_type() {
  static const Type* type = intern(scalar(TypeKind::none, 0, false));
  return type;
}
const Type* bool_type() {
  static const Type* type = intern(scalar(TypeKind::boolean, 1, false));
  return type;
}
const Type* string_type() {
  static const Type* type = intern(scalar(TypeKind::string, 0, false));
  return type;
}
const Type* int_type(unsigned bits, bool is_signed) { return intern(scalar(TypeKind::integer, bits, is_signed)); }
const Type* float_type(unsigned bits) { return intern(scalar(TypeKind::floating, bits, true)); }
const Type* bfloat_type() {
  Type type = scalar(TypeKind::floating, 16, true);
  type.bfloat = true;
  return intern(std::move(type));
}
const Type* complex_type(unsigned part_bits) { return intern(scalar(TypeKind::complex, part_bits, true)); }

const Type* tuple_type(std::vector<const Type*> items) {
  Type type;
  type.kind = TypeKind::tuple;
  type.items = std::move(items);
  return intern(std::move(type));
}
const Type* named_tuple_type(std::string name, std::vector<std::string> names, std::vector<const Type*> items) {
  Type type;
  type.kind = TypeKind::tuple;
  type.name = std::move(name);
  type.names = std::move(names);
  type.items = std::move(items);
  return intern(std::move(type));
}
const Type* array_type(const Type* element, unsigned ndim, char layout, bool read_only) {
  Type type;
  type.kind = TypeKind::array;
  type.element = element;
  type.ndim = ndim;
  type.layout = layout;
  type.read_only = read_only;
  return intern(std::move(type));
}
const Type* packed_array(const Type* array) {
  Type type = *array;
  type.name = "packed";
  return intern(std::move(type));
}
const Type* pointer_type(const Type* element) {
  Type type;
  type.kind = TypeKind::pointer;
  type.element = element;
  return intern(std::move(type));
}
const Type* optional_type(const Type* element) {
  if (element->is(TypeKind::optional) || element->is(TypeKind::none)) return element;
  Type type;
  type.kind = TypeKind::optional;
  type.element = element;
  return intern(std::move(type));
}
const Type* vector_type(const Type* element, unsigned lanes) {
  Type type;
  type.kind = TypeKind::vector;
  type.element = element;
  type.ndim = lanes;
  return intern(std::move(type));
}
const Type* object_type(ObjectId object) {
  Type type;
  type.kind = TypeKind::object;
  type.object = object;
  return intern(std::move(type));
}

const Type* parse_type(std::string_view text, World& world) { return Parser(text, world).whole(); }

std::string canonical(const Type* type) {
  switch (type->kind) {
    case TypeKind::none: return "none";
    case TypeKind::boolean: return "bool";
    case TypeKind::string: return "string";
    case TypeKind::integer: return fmt::format("{}int{}", type->is_signed ? "" : "u", type->bits);
    case TypeKind::floating: return type->bfloat ? "bfloat16" : fmt::format("float{}", type->bits);
    case TypeKind::complex: return fmt::format("complex{}", 2 * type->bits);
    case TypeKind::tuple: {
      if (type->names.empty())
        return fmt::format("{}({})", type->name == "list" ? "list" : "tuple", join(type->items, canonical, ","));
      std::string text = "namedtuple(" + type->name;
      for (std::size_t i = 0; i < type->items.size(); ++i)
        text += fmt::format(",{}:{}", type->names[i], canonical(type->items[i]));
      return text + ")";
    }
    case TypeKind::array:
      return fmt::format("array({},{},{}{}{})", canonical(type->element), type->ndim, type->layout,
                         type->read_only ? ",ro" : "", type->name == "packed" ? ",packed" : "");
    case TypeKind::record: {
      std::string text = fmt::format("record({},{}", type->size, type->aligned ? 1 : 0);
      for (std::size_t i = 0; i < type->items.size(); ++i)
        text += fmt::format(",{}@{}:{}", type->names[i], type->offsets[i], canonical(type->items[i]));
      return text + (type->name == "packed" ? ",packed)" : ")");
    }
    case TypeKind::nested: {
      std::string text = fmt::format("nested({},", canonical(type->element));
      for (std::size_t i = 0; i < type->dims.size(); ++i) text += fmt::format("{}{}", i ? "x" : "", type->dims[i]);
      return text + ")";
    }
    case TypeKind::charseq: return fmt::format("{}({})", type->wide ? "unichar" : "char", type->size);
    case TypeKind::datetime: return fmt::format("datetime({})", type->name);
    case TypeKind::timedelta: return fmt::format("timedelta({})", type->name);
    case TypeKind::enumeration:
      return fmt::format("{}(#{},{})", type->is_int_enum ? "intenum" : "enum", type->object, canonical(type->element));
    case TypeKind::pointer: return fmt::format("ptr({})", canonical(type->element));
    case TypeKind::optional: return fmt::format("optional({})", canonical(type->element));
    case TypeKind::vector: return fmt::format("vec({},{})", canonical(type->element), type->ndim);
    case TypeKind::object: return fmt::format("object(#{})", type->object);
    case TypeKind::closure: return fmt::format("closure(#{})", type->closure);
    case TypeKind::ellipsis: return "ellipsis";
    case TypeKind::range: return fmt::format("range({})", canonical(type->element));
    case TypeKind::slice: return fmt::format("slice({})", join(type->items, canonical, ","));
    case TypeKind::method: return fmt::format("method({},{})", type->name, canonical(type->element));
    case TypeKind::iterator: return fmt::format("{}({})", type->name, join(type->items, canonical, ","));
  }
  return "?";
}

std::string display(const Type* type) {
  switch (type->kind) {
    case TypeKind::string: return "unicode_type";
    case TypeKind::tuple: {
      if (type->name == "list")
        return fmt::format("list({})", type->items.empty() ? "undefined" : display(type->items[0]));
      if (type->items.empty()) return "Tuple()";
      const bool uniform = std::all_of(type->items.begin(), type->items.end(),
                                       [&](const Type* item) { return item == type->items.front(); });
      if (!type->names.empty()) return fmt::format("{}({})", type->name, join(type->items, display, ", "));
      if (uniform) return fmt::format("UniTuple({} x {})", display(type->items.front()), type->items.size());
      return fmt::format("Tuple({})", join(type->items, display, ", "));
    }
    case TypeKind::array:
      return fmt::format("{}array({}, {}d, {})", type->read_only ? "readonly " : "", display(type->element), type->ndim,
                         type->layout);
    case TypeKind::record: {
      std::string text = "Record(";
      for (std::size_t i = 0; i < type->items.size(); ++i)
        text += fmt::format("{}[type={};offset={}],", type->names[i], display(type->items[i]), type->offsets[i]);
      return text + fmt::format("{};{})", type->size, type->aligned ? "True" : "False");
    }
    case TypeKind::nested: return fmt::format("nestedarray({}, {})", display(type->element), type->dims.size());
    case TypeKind::charseq: return fmt::format("[{} x {}]", type->wide ? "unichr" : "char", type->size);
    case TypeKind::datetime: return fmt::format("datetime64[{}]", type->name);
    case TypeKind::timedelta: return fmt::format("timedelta64[{}]", type->name);
    case TypeKind::enumeration: return fmt::format("Enum<{}>", display(type->element));
    case TypeKind::pointer: return fmt::format("{}*", display(type->element));
    case TypeKind::optional: return fmt::format("OptionalType({})", display(type->element));
    case TypeKind::vector: return fmt::format("{}x{}", display(type->element), type->ndim);
    case TypeKind::object: return "object";
    case TypeKind::closure: return "function";
    case TypeKind::range: return fmt::format("range_state_{}", display(type->element));
    case TypeKind::slice: return "slice";
    case TypeKind::method: return fmt::format("BoundFunction({}.{})", display(type->element), type->name);
    default: return canonical(type);
  }
}

std::uint32_t memory_size(const Type* type) {
  switch (type->kind) {
    case TypeKind::boolean: return 1;
    case TypeKind::integer:
    case TypeKind::floating: return type->bits / 8U;
    case TypeKind::complex: return type->bits / 4U;
    case TypeKind::record: return type->size;
    case TypeKind::nested: {
      std::uint32_t size = memory_size(type->element);
      for (const std::int64_t extent : type->dims) size *= static_cast<std::uint32_t>(extent);
      return size;
    }
    case TypeKind::charseq: return type->size * (type->wide ? 4U : 1U);
    case TypeKind::datetime:
    case TypeKind::timedelta:
    case TypeKind::pointer: return 8;
    case TypeKind::enumeration: return memory_size(type->element);
    case TypeKind::vector: return memory_size(type->element) * (type->ndim == 3 ? 3 : type->ndim);
    default: return 0;
  }
}

std::uint32_t memory_align(const Type* type) {
  switch (type->kind) {
    case TypeKind::complex: return type->bits / 8U;
    case TypeKind::record: {
      if (!type->aligned) return 1;
      std::uint32_t align = 1;
      for (const Type* item : type->items) align = std::max(align, memory_align(item));
      return align;
    }
    case TypeKind::nested: return memory_align(type->element);
    case TypeKind::charseq: return type->wide ? 4 : 1;
    case TypeKind::vector: return memory_align(type->element) * (type->ndim == 3 ? 1 : type->ndim);
    default: return std::max(1U, memory_size(type));
  }
}

std::uint32_t field_align(const Type* record, std::size_t field) {
  const std::uint32_t step = std::gcd(record->offsets[field], record->name == "packed" ? 1U : record->size);
  return std::min(memory_align(record->items[field]), step == 0 ? 16U : step & (~step + 1U));
}

namespace {

const Type* unify_numbers(const Type* a, const Type* b) {
  if (a->is(TypeKind::complex) || b->is(TypeKind::complex)) {
    const auto part = [](const Type* type) -> unsigned {
      if (type->is(TypeKind::complex)) return type->bits;
      if (type->is(TypeKind::floating)) return std::max<unsigned>(32, type->bits);
      return type->bits <= 16 ? 32 : 64;
    };
    return complex_type(std::max(part(a), part(b)));
  }
  if (a->is(TypeKind::floating) || b->is(TypeKind::floating)) {
    if (a->is(TypeKind::floating) && b->is(TypeKind::floating))
      return a->bfloat != b->bfloat ? float_type(std::max<unsigned>(32, std::max(a->bits, b->bits)))
                                    : (a->bits >= b->bits ? a : b);
    const Type* real = a->is(TypeKind::floating) ? a : b;
    const Type* integer = a->is(TypeKind::floating) ? b : a;
    if (integer->bits > 16 && real->bits < 64) return float_type(64);
    if (integer->bits > 8 && real->bits < 32) return float_type(32);
    return real;
  }
  if (a->is(TypeKind::boolean)) return b;
  if (b->is(TypeKind::boolean)) return a;
  if (a->is_signed == b->is_signed) return a->bits >= b->bits ? a : b;
  const Type* with_sign = a->is_signed ? a : b;
  const Type* without = a->is_signed ? b : a;
  if (with_sign->bits > without->bits) return with_sign;
  // Numba: int64 with uint64 is float64.
  return without->bits == 64 ? float_type(64) : int_type(2 * without->bits);
}

}  // namespace

const Type* unify(const Type* a, const Type* b) {
  if (a == b) return a;
  if (a->is_number() && b->is_number()) return unify_numbers(a, b);
  if (a->is(TypeKind::none)) return b->is(TypeKind::object) || b->is(TypeKind::string) ? nullptr : optional_type(b);
  if (b->is(TypeKind::none)) return unify(b, a);
  if (a->is(TypeKind::optional) || b->is(TypeKind::optional)) {
    const Type* element = unify(a->is(TypeKind::optional) ? a->element : a, b->is(TypeKind::optional) ? b->element : b);
    return element ? optional_type(element) : nullptr;
  }
  if (a->is(TypeKind::array) && b->is(TypeKind::array)) {
    if (a->element != b->element || a->ndim != b->ndim) return nullptr;
    return array_type(a->element, a->ndim, a->layout == b->layout ? a->layout : 'A', a->read_only || b->read_only);
  }
  if (a->is(TypeKind::tuple) && b->is(TypeKind::tuple)) {
    if (a->items.size() != b->items.size() || a->names != b->names || a->name != b->name) return nullptr;
    std::vector<const Type*> items;
    for (std::size_t i = 0; i < a->items.size(); ++i) {
      items.push_back(unify(a->items[i], b->items[i]));
      if (!items.back()) return nullptr;
    }
    return a->names.empty() ? tuple_type(std::move(items)) : named_tuple_type(a->name, a->names, std::move(items));
  }
  if (a->is(TypeKind::enumeration) && a->is_int_enum && b->is_number()) return unify(a->element, b);
  if (b->is(TypeKind::enumeration) && b->is_int_enum && a->is_number()) return unify(b, a);
  return nullptr;
}

}  // namespace warploom::frontend::python
