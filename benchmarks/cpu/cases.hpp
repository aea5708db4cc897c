// The examples' kernels as benchmark cases: where the source is, how to launch it, what the arguments are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

namespace warploom::bench {

/// A kernel argument: a buffer of 4-byte words, an int or a float.
struct CaseArgument {
  enum class Kind { floats, integers, output, integer, real };
  Kind kind{};
  std::size_t count = 0;  // of a buffer
  int integer = 0;
  float real = 0;

  [[nodiscard]] bool is_buffer() const { return kind != Kind::integer && kind != Kind::real; }
};

struct Case {
  std::string lesson;  // folder in examples/
  std::string kernel;  // C++ name
  std::string twin;    // name in kernels.cl
  Dim3 grid, block;
  std::vector<CaseArgument> arguments;
  double fma = 0;    // fused multiply-adds of a launch, for a rate
  double bytes = 0;  // bytes that a launch has to move, for a rate
};

/// Every kernel of the lessons, except count_lanes, whose point (a vote) OpenCL C cannot express.
const std::vector<Case>& cases();

}  // namespace warploom::bench
