// The measured kernels as data: how to launch them, what the arguments are, which plain loop does the same.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

namespace warploom::bench {

/// A kernel argument: a buffer of 4-byte elements, an int or a float.
struct CaseArgument {
  enum class Kind { input_floats, input_words, output_floats, output_words, in_out_floats, integer, real };
  Kind kind{};
  std::size_t count = 0;  // elements of a buffer
  int integer = 0;
  float real = 0;

  [[nodiscard]] bool is_buffer() const { return kind != Kind::integer && kind != Kind::real; }
  [[nodiscard]] bool is_result() const {
    return kind == Kind::output_floats || kind == Kind::output_words || kind == Kind::in_out_floats;
  }
  [[nodiscard]] bool has_floats() const { return kind != Kind::input_words && kind != Kind::output_words; }
};

/// Addresses of a case's buffers, one for each argument.
using Pointers = std::vector<void*>;

/// The memory traffic that bounds a kernel, if memory does: as STREAM names its loops.
enum class Traffic { read, copy, add };

struct Case {
  std::string name;  // in kernels.cu
  std::string twin;  // in kernels.cl
  Dim3 grid, block;
  std::vector<CaseArgument> arguments;
  void (*loop)(const Pointers& buffers) = nullptr;
  bool sgemm = false;     // a matrix product of OpenBLAS does the same
  double tolerance = 0;   // of floats, relative to the element plus the buffer's root mean square
  double differing = 0;   // share of elements of other types that may differ
  double operations = 0;  // floating-point instructions of all threads (a fused multiply-add is one)
  double per_result = 0;  // the same for each unit of the sum of the results, where work depends on data
  double bytes = 0;       // what has to cross the memory bus
  Traffic traffic = Traffic::read;
};

const std::vector<Case>& cases();

}  // namespace warploom::bench
