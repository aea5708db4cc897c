// The table of measured kernels.
#include "cases.hpp"

#include "loops.hpp"

namespace warploom::bench {
namespace {

using Kind = CaseArgument::Kind;

CaseArgument buffer(Kind kind, std::size_t count) { return {kind, count}; }
CaseArgument number(int value) { return {Kind::integer, 0, value}; }
CaseArgument number(float value) { return {Kind::real, 0, 0, value}; }

float* floats(const Pointers& p, std::size_t i) { return static_cast<float*>(p[i]); }
unsigned* words(const Pointers& p, std::size_t i) { return static_cast<unsigned*>(p[i]); }

constexpr int kWords = 1 << 25, kMatrix = 1024, kImage = 4096, kSet = 1024, kSteps = 256, kBlocks = 1 << 15,
              kRows = 8192, kCols = 1024, kBodies = 8192;
constexpr std::size_t kPixels = std::size_t{kImage} * kImage;

Case matmul(const char* name, int tile, Dim3 block) {
  constexpr std::size_t count = std::size_t{kMatrix} * kMatrix;
  return {.name = name,
          .twin = name,
          .grid = {kMatrix / tile, kMatrix / tile},
          .block = block,
          .one_block = tile,
          .arguments = {buffer(Kind::input_floats, count), buffer(Kind::input_floats, count),
                        buffer(Kind::output_floats, count), number(kMatrix)},
          .loop = [](const Pointers& p) { loops::matmul(floats(p, 0), floats(p, 1), floats(p, 2), kMatrix); },
          .sgemm = true,
          .tolerance = 1e-5,
          .operations = static_cast<double>(count) * kMatrix,
          .bytes = 12.0 * count,
          .traffic = Traffic::add};
}

Case reduction(const char* name) {
  return {.name = name,
          .twin = "reduce_tree",
          .grid = kBlocks,
          .block = 256,
          .arguments = {buffer(Kind::input_floats, std::size_t{kBlocks} * 512), buffer(Kind::output_floats, kBlocks)},
          .loop = [](const Pointers& p) { loops::reduce(floats(p, 0), floats(p, 1), kBlocks); },
          .tolerance = 1e-5,
          .operations = kBlocks * 511.0,
          .bytes = kBlocks * 2052.0,
          .traffic = Traffic::read};
}

std::vector<Case> table() {
  constexpr std::size_t many = kWords;
  return {
      {.name = "vector_add",
       .twin = "vector_add",
       .grid = kWords / 256,
       .block = 256,
       .one_block = 256,
       .arguments = {buffer(Kind::input_floats, many), buffer(Kind::input_floats, many),
                     buffer(Kind::output_floats, many), number(kWords)},
       .loop = [](const Pointers& p) { loops::vector_add(floats(p, 0), floats(p, 1), floats(p, 2), kWords); },
       .operations = kWords,
       .bytes = 12.0 * kWords,
       .traffic = Traffic::add},
      {.name = "saxpy",
       .twin = "saxpy",
       .grid = 512,
       .block = 256,
       .one_block = 256,
       .arguments = {number(0.5f), buffer(Kind::input_floats, many), buffer(Kind::in_out_floats, many), number(kWords)},
       .loop = [](const Pointers& p) { loops::saxpy(0.5f, floats(p, 1), floats(p, 2), kWords); },
       .tolerance = 1e-6,
       .operations = kWords,
       .bytes = 12.0 * kWords,
       .traffic = Traffic::add},
      matmul("matmul_naive", 16, {16, 16}),
      matmul("matmul_tiled16", 16, {16, 16}),
      matmul("matmul_tiled32", 32, {32, 32}),
      matmul("matmul_registers", 64, {16, 16}),
      reduction("reduce_tree"),
      reduction("reduce_shuffle"),
      {.name = "transpose",
       .twin = "transpose",
       .grid = {kImage / 32, kImage / 32},
       .block = {32, 8},
       .one_block = 32,
       .arguments = {buffer(Kind::input_floats, kPixels), buffer(Kind::output_floats, kPixels), number(kImage)},
       .loop = [](const Pointers& p) { loops::transpose(floats(p, 0), floats(p, 1), kImage); },
       .bytes = 8.0 * kPixels,
       .traffic = Traffic::copy},
      {.name = "blur",
       .twin = "blur",
       .grid = {kImage / 16, kImage / 16},
       .block = {16, 16},
       .one_block = 16,
       .arguments = {buffer(Kind::input_floats, kPixels), buffer(Kind::output_floats, kPixels), number(kImage)},
       .loop = [](const Pointers& p) { loops::blur(floats(p, 0), floats(p, 1), kImage); },
       .tolerance = 1e-5,
       .operations = 9.0 * kPixels,
       .bytes = 8.0 * kPixels,
       .traffic = Traffic::copy},
      // Whether a point at the border escapes depends on roundings, which fast rules for floats change.
      {.name = "mandelbrot",
       .twin = "mandelbrot",
       .grid = {kSet / 16, kSet / 16},
       .block = {16, 16},
       .one_block = 16,
       .arguments = {buffer(Kind::output_words, std::size_t{kSet} * kSet), number(kSet), number(kSteps)},
       .loop = [](const Pointers& p) { loops::mandelbrot(static_cast<int*>(p[0]), kSet, kSteps); },
       .tolerance = 0.005,
       .per_result = 7},
      {.name = "histogram",
       .twin = "histogram",
       .grid = 256,
       .block = 256,
       .one_block = 256,
       .arguments = {buffer(Kind::input_words, many), buffer(Kind::output_words, 256), number(kWords)},
       .loop = [](const Pointers& p) { loops::histogram(words(p, 0), words(p, 1), kWords); },
       .bytes = 4.0 * kWords,
       .traffic = Traffic::read},
      {.name = "scan",
       .twin = "scan",
       .grid = kBlocks,
       .block = 256,
       .arguments = {buffer(Kind::input_floats, std::size_t{kBlocks} * 256),
                     buffer(Kind::output_floats, std::size_t{kBlocks} * 256), buffer(Kind::output_floats, kBlocks)},
       .loop = [](const Pointers& p) { loops::scan(floats(p, 0), floats(p, 1), floats(p, 2), kBlocks); },
       .tolerance = 1e-5,
       .operations = kBlocks * 256.0,
       .bytes = kBlocks * 2052.0,
       .traffic = Traffic::copy},
      {.name = "softmax",
       .twin = "softmax",
       .grid = kRows,
       .block = 256,
       .one_block = 256,
       .arguments = {buffer(Kind::input_floats, std::size_t{kRows} * kCols),
                     buffer(Kind::output_floats, std::size_t{kRows} * kCols), number(kCols)},
       .loop = [](const Pointers& p) { loops::softmax(floats(p, 0), floats(p, 1), kRows, kCols); },
       .tolerance = 1e-5,
       .bytes = 8.0 * kRows * kCols,
       .traffic = Traffic::copy},
      {.name = "nbody",
       .twin = "nbody",
       .grid = kBodies / 256,
       .block = 256,
       .one_block = 256,
       .arguments = {buffer(Kind::input_floats, 4 * kBodies), buffer(Kind::output_floats, 4 * kBodies),
                     number(kBodies)},
       .loop = [](const Pointers& p) { loops::nbody(floats(p, 0), floats(p, 1), kBodies); },
       .tolerance = 1e-3,
       .operations = 13.0 * kBodies * kBodies},
  };
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> all = table();
  return all;
}

}  // namespace warploom::bench
