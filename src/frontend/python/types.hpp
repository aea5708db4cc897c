// Types of values in a Python kernel: interned, so that equal types are the same pointer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/python/world.hpp"

namespace warploom::frontend::python {

enum class TypeKind : std::uint8_t {
  none,
  boolean,
  integer,
  floating,
  complex,
  string,
  tuple,
  array,
  record,
  nested,
  charseq,
  datetime,
  timedelta,
  enumeration,
  pointer,
  optional,
  vector,
  // without run-time data
  object,   // a Python object: function, module, class, built-in
  closure,  // a function defined in the kernel
  ellipsis,
  // short-lived
  range,
  slice,
  method,
  iterator,
};

struct Type {
  TypeKind kind = TypeKind::none;
  std::uint16_t bits = 0;    // integer, floating; of one part for complex
  bool is_signed = false;    // integer
  bool bfloat = false;       // floating
  bool read_only = false;    // array
  bool aligned = false;      // record: NumPy's align=True
  bool is_int_enum = false;  // enumeration
  bool wide = false;         // charseq: four bytes a character
  char layout = 'C';         // array: 'C', 'F' or 'A'
  std::uint32_t ndim = 0;    // array; lanes of a vector
  std::uint32_t size = 0;    // record: itemsize; charseq: length
  const Type* element = nullptr;
  std::vector<const Type*> items;      // tuple, iterator; record: fields
  std::vector<std::string> names;      // named tuple, record
  std::vector<std::uint32_t> offsets;  // record
  std::vector<std::int64_t> dims;      // nested
  std::string name;                    // class of a named tuple; unit; kind of iterator; method
  ObjectId object = 0;                 // object, enumeration, named tuple
  std::uint32_t closure = 0;           // closure: index in the compilation

  [[nodiscard]] bool is(TypeKind k) const { return kind == k; }
  [[nodiscard]] bool is_number() const {
    return kind == TypeKind::boolean || kind == TypeKind::integer || kind == TypeKind::floating ||
           kind == TypeKind::complex;
  }
  [[nodiscard]] bool is_integral() const { return kind == TypeKind::integer || kind == TypeKind::boolean; }
};

const Type* none_type();
const Type* bool_type();
const Type* int_type(unsigned bits, bool is_signed = true);
const Type* float_type(unsigned bits);
const Type* bfloat_type();
const Type* complex_type(unsigned part_bits);
const Type* string_type();
const Type* tuple_type(std::vector<const Type*> items);
const Type* named_tuple_type(std::string name, std::vector<std::string> names, std::vector<const Type*> items);
const Type* array_type(const Type* element, unsigned ndim, char layout, bool read_only = false);
// The array type for elements that may lie at any address.
const Type* packed_array(const Type* array);
const Type* pointer_type(const Type* element);
const Type* optional_type(const Type* element);
const Type* vector_type(const Type* element, unsigned lanes);
const Type* object_type(ObjectId object);
const Type* intern(Type type);

// From a canonical string, see docs/design/python.md; null when it is none.
const Type* parse_type(std::string_view text, World& world);
// The canonical string.
std::string canonical(const Type* type);
// As Numba prints it: "array(float32, 1d, C)".
std::string display(const Type* type);

// Bytes and alignment of one element in memory.
std::uint32_t memory_size(const Type* type);
std::uint32_t memory_align(const Type* type);
// Of a record's field: what offset and record size guarantee, never more than the field wants.
std::uint32_t field_align(const Type* record, std::size_t field);

// The type that both convert to without losing kind, or null.
const Type* unify(const Type* a, const Type* b);

}  // namespace warploom::frontend::python
