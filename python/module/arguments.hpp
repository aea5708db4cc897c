// Kernel arguments by canonical type: interned type names, arrays, and the packing of Python values into parameters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "binding.hpp"

namespace warploom::python {

// A small number for each canonical type name; equal names have equal numbers. Needs the GIL.
std::uint32_t intern_type(std::string_view name);

// What arrays of one shape, element and order have in common. Needs the GIL where it ends.
struct ArrayLayout {
  std::uint32_t type = 0;  // interned
  std::uint32_t ndim = 0;
  std::unique_ptr<std::int64_t[]> extents;  // shape, then strides in bytes
  std::uint64_t elements = 0, bytes = 0;    // bytes: of a new array
  bool c_order = false, f_order = false;
  nb::object shape_tuple, stride_tuple, type_name, dtype;
};

// What DeviceNDArray inherits: where an array lies. Immutable once made, but for its stream.
struct ArrayBase {
  std::uint64_t address = 0;
  std::uint32_t type = 0;  // interned; 0 until it is made
  std::uint32_t ndim = 0;
  const std::int64_t* extents = nullptr;  // of the layout
  std::shared_ptr<const ArrayLayout> layout;
  nb::object owner, stream;
  nb::object native;  // native_pointer_of(owner)
};

// The array of a Python object; null when it is none.
ArrayBase* array_of(PyObject* object);

// A canonical type, parsed for packing.
struct TypePlan {
  enum class Kind : std::uint8_t {
    boolean,
    signed_int,
    unsigned_int,
    half,
    bfloat,
    single,
    real,
    complex_single,
    complex_real,
    array,
    pointer,
    tuple,
    enumeration,
    time,
    optional,
    nothing
  };
  Kind kind = Kind::nothing;
  std::uint32_t bytes = 0;
  std::uint32_t ndim = 0;
  std::vector<TypePlan> children;

  // Throws ValueError for a type that no kernel takes as an argument.
  static TypePlan parse(std::string_view type);
  // PTX parameters that an argument of this type becomes.
  [[nodiscard]] std::size_t parameters() const;
};

// Parameters of one launch on a device: each in a slot of 8 bytes that a launch reads.
class Packed {
 public:
  Packed(std::size_t parameters, const OpenDevice& device);
  void add(std::uint64_t bits, std::uint32_t bytes) {
    slots_[count_] = bits;
    new (&arguments_[count_]) Argument{&slots_[count_], bytes, nullptr};
    ++count_;
  }
  [[nodiscard]] std::span<const Argument> arguments() const { return {arguments_, count_}; }
  [[nodiscard]] const OpenDevice& device() const { return device_; }
  [[nodiscard]] std::uint64_t bits(std::size_t parameter) const { return slots_[parameter]; }

 private:
  static constexpr std::size_t kInline = 48;
  std::array<std::uint64_t, kInline> few_slots_;
  static_assert(std::is_trivially_destructible_v<Argument>);
  alignas(Argument) std::array<std::byte, kInline * sizeof(Argument)> few_arguments_;  // not cleared for each launch
  std::vector<std::uint64_t> many_slots_;
  std::vector<Argument> many_arguments_;
  std::uint64_t* slots_;
  Argument* arguments_;
  std::size_t count_ = 0;
  const OpenDevice& device_;
};

// Appends the parameters of one value, cast to the type as Numba casts; raises TypeError when it cannot be, and throws
// for arrays that kernels of the device cannot use.
void pack(Packed& out, const TypePlan& type, PyObject* value);
void pack_array(Packed& out, const ArrayBase& array);

}  // namespace warploom::python
