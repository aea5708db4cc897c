// Canonical types to packing plans, and Python values to kernel parameters.
#include "arguments.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>

#include "pointer.hpp"

namespace warploom::python {
namespace {

using Kind = TypePlan::Kind;

[[noreturn]] void refuse(std::string_view type) {
  throw nb::value_error(("a kernel argument cannot have the type " + std::string(type)).c_str());
}

struct Scalar {
  Kind kind;
  std::uint32_t bytes;
};

const std::map<std::string_view, Scalar>& scalars() {
  static const std::map<std::string_view, Scalar> table{
      {"bool", {Kind::boolean, 1}},
      {"int8", {Kind::signed_int, 1}},
      {"int16", {Kind::signed_int, 2}},
      {"int32", {Kind::signed_int, 4}},
      {"int64", {Kind::signed_int, 8}},
      {"uint8", {Kind::unsigned_int, 1}},
      {"uint16", {Kind::unsigned_int, 2}},
      {"uint32", {Kind::unsigned_int, 4}},
      {"uint64", {Kind::unsigned_int, 8}},
      {"float16", {Kind::half, 2}},
      {"bfloat16", {Kind::bfloat, 2}},
      {"float32", {Kind::single, 4}},
      {"float64", {Kind::real, 8}},
      {"complex64", {Kind::complex_single, 4}},
      {"complex128", {Kind::complex_real, 8}},
      {"none", {Kind::nothing, 0}},
  };
  return table;
}

// The parts of "a,b(c,d),e" between the commas that are outside all parentheses.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  if (list.empty()) return parts;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '(') ++depth;
    if (list[i] == ')') --depth;
    if (list[i] != ',' || depth != 0) continue;
    parts.push_back(list.substr(start, i - start));
    start = i + 1;
  }
  parts.push_back(list.substr(start));
  return parts;
}

// The bits of a half with `mantissa` bits, from a double, to nearest even.
std::uint16_t narrow(double value, int mantissa, int exponent_bits) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | 1 << (mantissa - 1));
  const double size = std::fabs(value);
  if (size == 0) return sign;
  int exponent = 0;
  if (!std::isinf(value)) std::frexp(size, &exponent);
  if (std::isinf(value) || exponent - 1 > bias) return static_cast<std::uint16_t>(sign | infinity);
  const int lowest = std::max(exponent - 1, 1 - bias);  // below: subnormal
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, mantissa - lowest)));
  // A carry out of the mantissa runs into the exponent, as it must.
  const auto bits = units + (static_cast<std::uint32_t>(lowest + bias - 1) << mantissa);
  return static_cast<std::uint16_t>(sign | std::min<std::uint32_t>(bits, infinity));
}

[[noreturn]] void raise_pending() { throw nb::python_error(); }

// NumPy would turn a complex number into its real part with a warning.
void refuse_complex(PyObject* value, const char* target) {
  bool complex = PyComplex_Check(value);
  if (!complex && !PyFloat_Check(value) && !PyIndex_Check(value)) {
    const nb::object dtype = nb::getattr(nb::handle(value), "dtype", nb::none());
    complex = !dtype.is_none() && nb::cast<std::string>(nb::getattr(dtype, "kind", nb::str(""))) == "c";
  }
  if (!complex) return;
  PyErr_Format(PyExc_TypeError, "a complex argument cannot become %s", target);
  raise_pending();
}

std::uint64_t integer(PyObject* value) {
  nb::object number;
  if (PyLong_CheckExact(value)) {
    number = nb::borrow(value);
  } else {
    refuse_complex(value, "an integer");
    number = nb::steal(PyIndex_Check(value) ? PyNumber_Index(value) : PyNumber_Long(value));
    if (!number.is_valid()) raise_pending();
  }
  const std::uint64_t bits = PyLong_AsUnsignedLongLongMask(number.ptr());
  if (bits == ~std::uint64_t{0} && PyErr_Occurred() != nullptr) raise_pending();
  return bits;
}

double real(PyObject* value) {
  if (PyFloat_CheckExact(value)) return PyFloat_AS_DOUBLE(value);
  refuse_complex(value, "a real number");
  const double out = PyFloat_AsDouble(value);
  if (out == -1.0 && PyErr_Occurred() != nullptr) raise_pending();
  return out;
}

std::uint64_t address(PyObject* value) {
  if (const ArrayBase* array = array_of(value)) return array->address;
  if (value == Py_None) return 0;
  return integer(value);
}

void pack_extents(Packed& out, PyObject* tuple, std::uint32_t ndim) {
  const nb::object fast = nb::steal(PySequence_Tuple(tuple));
  if (!fast.is_valid()) raise_pending();
  if (PyTuple_GET_SIZE(fast.ptr()) != static_cast<Py_ssize_t>(ndim))
    throw nb::type_error("the array has another number of dimensions than the kernel's parameter");
  for (Py_ssize_t i = 0; i < static_cast<Py_ssize_t>(ndim); ++i) out.add(integer(PyTuple_GET_ITEM(fast.ptr(), i)), 8);
}

void pack_array_value(Packed& out, std::uint32_t ndim, PyObject* value) {
  if (const ArrayBase* array = array_of(value)) {
    if (array->ndim != ndim)
      throw nb::type_error("the array has another number of dimensions than the kernel's parameter");
    pack_array(out, *array);
    return;
  }
  if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != 3)
    throw nb::type_error("an array argument is an ArrayBase or a tuple (address, shape, strides)");
  out.add(integer(PyTuple_GET_ITEM(value, 0)), 8);
  pack_extents(out, PyTuple_GET_ITEM(value, 1), ndim);
  pack_extents(out, PyTuple_GET_ITEM(value, 2), ndim);
}

void pack_complex(Packed& out, const TypePlan& type, PyObject* value) {
  const Py_complex number = PyComplex_AsCComplex(value);
  if (number.real == -1.0 && PyErr_Occurred() != nullptr) raise_pending();
  for (const double part : {number.real, number.imag}) {
    if (type.kind == Kind::complex_single)
      out.add(std::bit_cast<std::uint32_t>(static_cast<float>(part)), 4);
    else
      out.add(std::bit_cast<std::uint64_t>(part), 8);
  }
}

void pack_zero(Packed& out, const TypePlan& type) {
  switch (type.kind) {
    case Kind::nothing: return;
    case Kind::complex_single:
    case Kind::complex_real:
      out.add(0, type.bytes);
      out.add(0, type.bytes);
      return;
    case Kind::array:
      for (std::size_t i = 0; i < type.parameters(); ++i) out.add(0, 8);
      return;
    case Kind::tuple:
      for (const TypePlan& child : type.children) pack_zero(out, child);
      return;
    case Kind::optional:
      out.add(0, 1);
      pack_zero(out, type.children[0]);
      return;
    case Kind::enumeration: pack_zero(out, type.children[0]); return;
    default: out.add(0, type.bytes); return;
  }
}

void pack_tuple(Packed& out, const TypePlan& type, PyObject* value) {
  const nb::object items = nb::steal(PySequence_Tuple(value));
  if (!items.is_valid()) raise_pending();
  if (PyTuple_GET_SIZE(items.ptr()) != static_cast<Py_ssize_t>(type.children.size()))
    throw nb::type_error("the tuple has another length than the kernel's parameter");
  for (std::size_t i = 0; i < type.children.size(); ++i)
    pack(out, type.children[i], PyTuple_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)));
}

}  // namespace

TypePlan TypePlan::parse(std::string_view type) {
  TypePlan out;
  if (const auto scalar = scalars().find(type); scalar != scalars().end()) {
    out.kind = scalar->second.kind;
    out.bytes = scalar->second.bytes;
    return out;
  }
  const std::size_t open = type.find('(');
  if (open == std::string_view::npos || type.back() != ')') refuse(type);
  const std::string_view head = type.substr(0, open);
  const std::vector<std::string_view> parts = split(type.substr(open + 1, type.size() - open - 2));
  out.bytes = 8;
  if (head == "array") {
    if (parts.size() < 3) refuse(type);
    out.kind = Kind::array;
    const auto [end, error] = std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), out.ndim);
    if (error != std::errc() || end != parts[1].data() + parts[1].size()) refuse(type);
  } else if (head == "ptr" || head == "record") {
    out.kind = Kind::pointer;
  } else if (head == "datetime" || head == "timedelta") {
    out.kind = Kind::time;
  } else if (head == "tuple" || head == "namedtuple") {
    out.kind = Kind::tuple;
    for (std::size_t i = head == "tuple" ? 0 : 1; i < parts.size(); ++i)
      out.children.push_back(parse(head == "tuple" ? parts[i] : parts[i].substr(parts[i].find(':') + 1)));
  } else if (head == "enum" || head == "intenum") {
    if (parts.size() != 2) refuse(type);
    out.kind = Kind::enumeration;
    out.children.push_back(parse(parts[1]));
  } else if (head == "optional") {
    if (parts.size() != 1) refuse(type);
    out.kind = Kind::optional;
    out.children.push_back(parse(parts[0]));
  } else if (head == "function" || head == "omitted") {
    out.kind = Kind::nothing;
  } else {
    refuse(type);
  }
  return out;
}

std::size_t TypePlan::parameters() const {
  switch (kind) {
    case Kind::nothing: return 0;
    case Kind::complex_single:
    case Kind::complex_real: return 2;
    case Kind::array: return 1 + 2 * std::size_t{ndim};
    default: break;
  }
  if (children.empty()) return kind == Kind::tuple ? 0 : 1;
  std::size_t sum = kind == Kind::optional ? 1 : 0;
  for (const TypePlan& child : children) sum += child.parameters();
  return sum;
}

Packed::Packed(std::size_t parameters, const OpenDevice& device) : device_(device) {
  slots_ = few_slots_.data();
  arguments_ = reinterpret_cast<Argument*>(few_arguments_.data());
  if (parameters <= kInline) return;
  many_slots_.resize(parameters);
  many_arguments_.resize(parameters);
  slots_ = many_slots_.data();
  arguments_ = many_arguments_.data();
}

void pack_array(Packed& out, const ArrayBase& array) {
  if (array.native.is_valid()) check_for_launch(array.native.ptr(), out.device());
  out.add(array.address, 8);
  for (std::size_t i = 0; i < 2 * std::size_t{array.ndim}; ++i)
    out.add(static_cast<std::uint64_t>(array.extents[i]), 8);
}

void pack(Packed& out, const TypePlan& type, PyObject* value) {
  switch (type.kind) {
    case Kind::nothing: return;
    case Kind::boolean: {
      const int truth = PyObject_IsTrue(value);
      if (truth < 0) raise_pending();
      out.add(static_cast<std::uint64_t>(truth), 1);
      return;
    }
    case Kind::signed_int:
    case Kind::unsigned_int: out.add(integer(value), type.bytes); return;
    case Kind::half: out.add(narrow(real(value), 10, 5), 2); return;
    case Kind::bfloat: out.add(narrow(real(value), 7, 8), 2); return;
    case Kind::single: out.add(std::bit_cast<std::uint32_t>(static_cast<float>(real(value))), 4); return;
    case Kind::real: out.add(std::bit_cast<std::uint64_t>(real(value)), 8); return;
    case Kind::complex_single:
    case Kind::complex_real: pack_complex(out, type, value); return;
    case Kind::array: pack_array_value(out, type.ndim, value); return;
    case Kind::pointer: out.add(address(value), 8); return;
    case Kind::time: {
      if (PyLong_Check(value)) {
        out.add(integer(value), 8);
        return;
      }
      const nb::object number = nb::handle(value).attr("astype")("int64");
      out.add(integer(number.ptr()), 8);
      return;
    }
    case Kind::tuple: pack_tuple(out, type, value); return;
    case Kind::enumeration: {
      const nb::object number = nb::getattr(nb::handle(value), "value", nb::borrow(value));
      pack(out, type.children[0], number.ptr());
      return;
    }
    case Kind::optional:
      if (value == Py_None) {
        pack_zero(out, type);
        return;
      }
      out.add(1, 1);
      pack(out, type.children[0], value);
      return;
  }
}

}  // namespace warploom::python
