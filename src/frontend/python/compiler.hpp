// Python function to PTX text: the entry point of this front end.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/python/world.hpp"

namespace warploom::frontend::python {

struct Options {
  bool device = false;  // a device function with the C calling convention instead of a kernel
  bool debug = false;   // Python's error model: division by zero, bounds; raise is checked
  bool line_info = true;
  bool optimize = true;
  bool fast_math = false;
  bool narrow = false;  // 32-bit operands stay in 32 bits
  bool bounds_check = false;
  bool force_inline = false;
  bool gpu = true;        // for a GPU rather than for the CPU device
  bool disjoint = false;  // a second entry may be made for array arguments that overlap, see Compiled::overlapping
  std::string name;       // of the PTX entry; empty: derived from the function's name and types
  unsigned max_registers = 0;
  std::array<unsigned, 3> launch_bounds{};  // threads, blocks on a multiprocessor, blocks in a cluster; 0: none
  unsigned cc_major = 9, cc_minor = 0;
  std::string cc_suffix;  // "a" or "f": features of one architecture, or of its family
};

struct Request {
  const FunctionAst* function = nullptr;
  std::vector<ObjectId> defaults;           // of the last parameters
  std::vector<std::string> argument_types;  // canonical
  std::string return_type;                  // canonical; empty: inferred (device functions)
  Options options;
};

// What went wrong, with the Python class to raise.
struct Failure {
  std::string category;  // "TypingError", "UnsupportedError", ...
  std::string message;   // several lines, with file, line and caret
  std::string file;
  std::int32_t line = 0, column = 0;
};

struct Warning {
  std::string category, message;
};

// An exception that the kernel may raise; its code in the error record is its index + 1.
struct RaisedException {
  std::string class_name;
  ObjectId class_object = 0;  // 0: the built-in class of that name
  std::vector<Constant> arguments;
  std::string file, function;
  std::int32_t line = 0;
};

// An array argument of a kernel: parameters from `parameter` on are its address, shape and strides.
struct ArrayParameter {
  unsigned parameter = 0, ndim = 0;
  std::uint32_t element = 0;  // bytes
  bool written = false;
};

struct Compiled {
  std::string ptx, llvm, entry;
  // The entry for launches in which an array that is written overlaps another of `arrays`; empty: `entry` serves all.
  std::string overlapping;
  std::vector<ArrayParameter> arrays;
  std::string return_type;  // canonical
  std::string types;        // for inspect_types
  bool cooperative = false;
  bool has_error_record = false;
  std::vector<Warning> warnings;
  std::vector<RaisedException> exceptions;
  std::vector<ObjectId> captured;  // what must outlive the code: arrays captured by pointer, foreign functions
};

// Never throws; `failure` is set, and the result empty, when the function cannot be compiled.
Compiled compile_python(const Request& request, World& world, Failure& failure);

}  // namespace warploom::frontend::python
