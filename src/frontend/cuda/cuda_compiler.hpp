// CUDA C++ source to PTX text: clang with Warploom's own device header, or nvcc when the user asks for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace warploom::frontend {

struct CudaOptions {
  std::string arch = "sm_90";
  std::vector<std::string> defines{};  // "NAME" or "NAME=VALUE"
  std::vector<std::string> include_dirs{};
  std::vector<std::string> extra_flags{};  // passed to the compiler as they are
  bool lineinfo = true;                    // .loc directives, which reports need
  bool debug = false;                      // full debug information, no optimisation
  bool fast_math = false;
  bool use_nvcc = false;
  unsigned optimisation = 3;
};

// `name` is what messages and line information call the source.
Result<std::string> compile_cuda_source(std::string source, std::string name, const CudaOptions& options = {});
// #include "..." in the file is resolved from the file's folder.
Result<std::string> compile_cuda_file(const std::string& path, const CudaOptions& options = {});

// The first error of clang's or nvcc's output as a Diag that lists all of them. Exposed for tests.
Diag parse_compiler_errors(std::string_view output, std::string_view compiler);

}  // namespace warploom::frontend
