// Random structured kernels: CUDA C++ text and an interpreter that says what the kernel must compute.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace random_kernels {

inline constexpr std::uint32_t in_words = 256;  // elements of the input
inline constexpr int vars = 6;                  // 32-bit variables; then uniform ones, then 64-bit ones
inline constexpr int uniform_vars = 2;
inline constexpr int wide_vars = 2;
inline constexpr int scratch_words = 4;  // words of global memory that belong to one thread
inline constexpr int results = vars + uniform_vars + 2 * wide_vars;
inline constexpr int sums = 8;

struct Block {
  std::uint32_t x, y, z;
  [[nodiscard]] std::uint32_t count() const { return x * y * z; }
};

struct Memory {
  std::vector<std::uint32_t> in;       // in_words
  std::vector<std::uint32_t> out;      // results for each thread
  std::vector<std::uint32_t> scratch;  // scratch_words for each thread
  std::vector<std::uint32_t> sum;      // sums
};

struct Expr;
struct Stmt;
using ExprPtr = std::shared_ptr<Expr>;
using Body = std::vector<std::shared_ptr<Stmt>>;

struct Kernel {
  std::string name;
  int counters = 0;
  bool transposed = false;  // results lie by variable and not by thread
  std::vector<ExprPtr> first;
  Body body;
};

// The same seed gives the same kernel. `whole_warps`: it will run with blocks of whole warps only.
// `statements` bounds its size.
Kernel generate(std::uint64_t seed, bool whole_warps, int statements = 24);
// extern "C" __global__ void name(const unsigned* in, unsigned* out, unsigned* scratch, unsigned* sum, unsigned p0,
// unsigned p1)
std::string cuda_text(const Kernel& kernel);
// What goes before the kernels of a file.
std::string cuda_prelude();
void interpret(const Kernel& kernel, std::uint32_t grid, Block block, std::uint32_t p0, std::uint32_t p1,
               Memory& memory);

}  // namespace random_kernels
