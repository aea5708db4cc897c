// The measured kernels as data: how to launch them, what the arguments are, which plain loop does the same.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

namespace warploom::bench {

/// A kernel argument: a buffer of 4-byte elements, an int or a float.
struct CaseArgument {
  enum class Kind {
    input_floats,
    input_words,
    output_floats,
    output_words,
    in_out_floats,
    in_out_words,
    image,  // floats, width x width, that the kernel reads as a texture with linear filtering
    integer,
    real
  };
  Kind kind{};
  std::size_t count = 0;  // elements of a buffer
  int integer = 0;
  float real = 0;

  [[nodiscard]] bool is_buffer() const { return kind != Kind::integer && kind != Kind::real; }
  [[nodiscard]] bool is_result() const {
    return is_buffer() && kind != Kind::input_floats && kind != Kind::input_words && kind != Kind::image;
  }
  [[nodiscard]] bool has_floats() const {
    return kind == Kind::input_floats || kind == Kind::output_floats || kind == Kind::in_out_floats ||
           kind == Kind::image;
  }
};

/// Addresses of a case's buffers, one for each argument.
using Pointers = std::vector<void*>;

/// The memory traffic that bounds a kernel, if memory does: as STREAM names its loops.
enum class Traffic { read, copy, add };

struct Case {
  std::string name{};  // in the CUDA source, whose path counts from the project's folder
  std::string source = "benchmarks/cpu/kernels.cu";
  std::string twin{};  // the kernel in OpenCL C, if there is one
  std::string twins = "benchmarks/cpu/kernels.cl";
  Dim3 grid{}, block{};
  int one_block = 0;  // value of the first integer argument for a problem of one block
  std::vector<CaseArgument> arguments{};
  void (*loop)(const Pointers& buffers) = nullptr;  // a plain loop for the same task; the lessons have none
  bool sgemm = false;                               // a matrix product of OpenBLAS does the same
  double tolerance = 0;                             // of differences(), see memory.hpp
  double operations = 0;                            // floating-point instructions (a fused multiply-add is one)
  double per_result = 0;  // the same for each unit of the sum of the results, where work depends on data
  double bytes = 0;       // what has to cross the memory bus
  Traffic traffic = Traffic::read;
};

/// The kernels of the published table.
const std::vector<Case>& cases();
/// Kernels with matrix instructions and textures, which OpenCL C does not have.
const std::vector<Case>& units();
/// The kernels of the examples that OpenCL C can express.
const std::vector<Case>& lessons();

}  // namespace warploom::bench
