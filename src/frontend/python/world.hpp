// World: what a compiled function may ask about the Python objects that its names stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/python/ast.hpp"

namespace warploom::frontend::python {

// A Python object kept alive by the World; 0 is no object.
using ObjectId = std::uint32_t;

struct ObjectInfo {
  enum class Kind : std::uint8_t {
    constant,      // constant; `type` when it is a NumPy scalar or an enum member with a type of its own
    tuple,         // items; also a list, which is frozen; `type_name` and `fields` for a named tuple
    builtin,       // name: an entry of the table of built-ins, for instance "cuda.grid"
    type,          // type: canonical string of a type object; calling it is a cast
    function,      // function: source and id; signatures if it was given any
    named_tuple,   // a named tuple class: name, fields
    enum_class,    // members through attribute()
    exception,     // an exception class: name
    array,         // host array, frozen: type, shape, bytes in C order
    device_array,  // captured by pointer: type, shape, strides, address
    record,        // a NumPy record scalar: type, bytes
    foreign,       // a function that other code provides: name in PTX, type: what it returns, fields: its arguments'
                   // types, type_name: "numba" or "c", the way it is called
    module,        // attributes only
    other,         // name: what Python prints of it, type_name: its class
  };
  Kind kind = Kind::other;
  Constant constant;
  std::string name, type, type_name;
  std::vector<ObjectId> items;
  std::vector<std::string> fields;
  const FunctionAst* function = nullptr;
  std::vector<ObjectId> defaults;  // of the last parameters of `function`
  bool never_inline = false;
  struct Signature {
    std::vector<std::string> arguments;  // canonical
    std::string result;                  // canonical; empty: what the function returns
  };
  std::vector<Signature> signatures;  // of a jitted device function
  bool cooperative = false;           // foreign: it synchronises the grid
  std::vector<std::int64_t> shape, strides;
  std::string bytes;
  std::uint64_t address = 0;
};

class World {
 public:
  virtual ~World() = default;
  virtual const ObjectInfo& describe(ObjectId object) = 0;
  // The object of a global, closure or built-in name of the function; 0 when there is none.
  virtual ObjectId global(const FunctionAst& function, const std::string& name) = 0;
  // getattr(object, name); 0 when there is none.
  virtual ObjectId attribute(ObjectId object, const std::string& name) = 0;
  // The canonical type string that a literal string names ("float32", "f4"), or nothing.
  virtual std::optional<std::string> type_of_name(const std::string& name) = 0;
  // The k-th object of the request, which types as enum(k,…) refer to.
  virtual ObjectId request_object(std::size_t k) = 0;
  // A type's canonical string for a value that is an enum member: "enum(k,int64)", with k a request object.
};

}  // namespace warploom::frontend::python
