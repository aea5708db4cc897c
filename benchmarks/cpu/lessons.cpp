// The kernels of the examples: how each is launched.
#include "cases.hpp"

namespace warploom::bench {
namespace {

using Kind = CaseArgument::Kind;

CaseArgument floats(std::size_t count) { return {Kind::input_floats, count}; }
CaseArgument output(std::size_t count) { return {Kind::output_floats, count}; }
CaseArgument number(int value) { return {Kind::integer, 0, value}; }
CaseArgument number(float value) { return {Kind::real, 0, 0, value}; }

// Sums of up to a million numbers of both signs, in another order.
constexpr double kTolerance = 1e-3;

Case lesson(const char* folder, const char* kernel, const char* twin, Dim3 grid, Dim3 block,
            std::vector<CaseArgument> arguments) {
  return {.name = kernel,
          .source = std::string("examples/") + folder + "/kernels.cu",
          .twin = twin,
          .twins = "benchmarks/cpu/lessons.cl",
          .grid = grid,
          .block = block,
          .arguments = std::move(arguments),
          .tolerance = kTolerance};
}

Case matmul(const char* kernel, const char* twin, int n, int tile, Dim3 block) {
  const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  return lesson("02_matmul_ladder", kernel, twin, {n / tile, n / tile}, block,
                {floats(count), floats(count), output(count), number(n)});
}

Case blur(const char* kernel, int w, int h) {
  const auto count = static_cast<std::size_t>(w) * static_cast<std::size_t>(h);
  return lesson("03_gaussian_blur", kernel, kernel, {(w + 15) / 16, (h + 15) / 16}, {16, 16},
                {floats(count), output(count), number(w), number(h)});
}

Case reduction(const char* kernel, int n, int grid, std::size_t sums) {
  return lesson("04_sum_reduction", kernel, kernel, grid, 256,
                {floats(static_cast<std::size_t>(n)), output(sums), number(n)});
}

Case matrix(const char* kernel, const char* twin, int n, Dim3 grid, Dim3 block, bool sums) {
  const auto side = static_cast<std::size_t>(n);
  Case result = lesson("05_rows_columns_transpose", kernel, twin, grid, block,
                       {floats(side * side), output(sums ? side : side * side), number(n)});
  if (sums) result.arguments.push_back(number(n));
  return result;
}

Case divergence(const char* kernel, int n) {
  return lesson("07_divergence", kernel, kernel, (n + 255) / 256, 256,
                {{Kind::in_out_words, static_cast<std::size_t>(n)}, number(n), number(64)});
}

std::vector<Case> table() {
  constexpr int words = 1 << 22;
  constexpr std::size_t many = words;
  return {
      lesson("01_vector_add", "vector_add", "vector_add", words / 256, 256,
             {floats(many), floats(many), output(many), number(words)}),
      matmul("matmul_naive", "matmul_naive", 512, 16, {16, 16}),
      matmul("matmul_tiled<16>", "matmul_tiled", 512, 16, {16, 16}),
      matmul("matmul_tiled_unroll4", "matmul_tiled_unroll4", 512, 16, {16, 16}),
      matmul("matmul_regtile", "matmul_regtile", 512, 64, 256),
      blur("blur_global", 2000, 1500),
      blur("blur_halo", 2000, 1500),
      reduction("reduce_atomic", words / 4, words / 4 / 256, 1),
      reduction("reduce_interleaved", words, words / 256, words / 256),
      reduction("reduce_bankconflict", words, words / 256, words / 256),
      reduction("reduce_sequential", words, words / 256, words / 256),
      reduction("reduce_shuffle", words, 64, 1),
      matrix("row_sum_bad", "row_sum_bad", 2048, 2048 / 128, 128, true),
      matrix("col_sum_good", "col_sum_good", 2048, 2048 / 128, 128, true),
      matrix("transpose_naive", "transpose_naive", 2048, {64, 64}, {32, 8}, false),
      matrix("transpose_tile<0>", "transpose_tile0", 2048, {64, 64}, {32, 8}, false),
      matrix("transpose_tile<1>", "transpose_tile1", 2048, {64, 64}, {32, 8}, false),
      lesson("06_block_sizes", "saxpy", "saxpy", (words + 99) / 100, 100,
             {number(2.5f), floats(many), {Kind::in_out_floats, many}, number(words)}),
      divergence("diverge_even_odd", words / 4),
      divergence("diverge_by_warp", words / 4),
  };
}

}  // namespace

const std::vector<Case>& lessons() {
  static const std::vector<Case> all = table();
  return all;
}

}  // namespace warploom::bench
