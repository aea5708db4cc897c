// The table of built-ins: each family's file lists its rows, find_builtin() looks them up.
#pragma once

#include <span>

#include "frontend/python/evaluator.hpp"

namespace warploom::frontend::python {

std::span<const BuiltinRow> core_builtins();      // Python's own: range, len, min, …
std::span<const BuiltinRow> operator_builtins();  // operator.add, …
std::span<const BuiltinRow> thread_builtins();    // threadIdx, grid, barriers, fences
std::span<const BuiltinRow> memory_builtins();    // shared, local, const arrays, array methods
std::span<const BuiltinRow> atomic_builtins();
std::span<const BuiltinRow> warp_builtins();
std::span<const BuiltinRow> math_builtins();
std::span<const BuiltinRow> print_builtins();
std::span<const BuiltinRow> libdevice_builtins();
std::span<const BuiltinRow> complex_builtins();
std::span<const BuiltinRow> half_builtins();
std::span<const BuiltinRow> numpy_builtins();      // universal functions
std::span<const BuiltinRow> scalar_builtins();     // math.gcd, numpy.where, …
std::span<const BuiltinRow> reduction_builtins();  // numpy.sum, array.sum, …

// The type that a type object, a dtype string or `int` stands for; null when the value is none of those.
const Type* type_argument(Evaluator& e, const Value& value);
// A call of the device library, for instance device_call(e, "sin", float32, {x}).
Value device_call(Evaluator& e, const std::string& base, const Type* type, std::vector<Value> args, const Node* node);
// Emits loops over the elements of an array in C order: body(index).
void for_each_element(Evaluator& e, const Value& array, const std::function<void(const std::vector<Value>&)>& body);

// The hardware's approximation of a single precision function, as nvcc's --use_fast_math takes it; nothing without
// fastmath, or when there is none.
std::optional<Value> fast_call(Evaluator& e, const std::string& name, const Type* type, const std::vector<Value>& args,
                               const Node* node);

// Complex numbers: from parts, a part, a function of the device library ("exp", "pow"), and the logarithm to another
// base.
Value make_complex(Evaluator& e, const Type* type, llvm::Value* real, llvm::Value* imag);
Value complex_part(Evaluator& e, const Value& value, unsigned part);
Value complex_call(Evaluator& e, const std::string& name, const std::vector<Value>& args, const Node* node);
Value complex_log_in(Evaluator& e, const Value& z, double log_of_base, const Node* node);

// left == right (or !=) of character sequences and literal strings; zeros at the end do not count.
Value compare_text(Evaluator& e, const Value& left, const Value& right, bool equal);

}  // namespace warploom::frontend::python
