// The table of kernels with matrix instructions and textures.
#include "cases.hpp"

#include "loops.hpp"

namespace warploom::bench {
namespace {

using Kind = CaseArgument::Kind;

constexpr int kMatrix = 1024, kFrom = 2048, kWidth = 4096;
constexpr float kScale = static_cast<float>(kFrom) / kWidth;

// Factors are rounded to halves, so results agree to 11 bits of the largest.
Case matmul(const char* name) {
  constexpr std::size_t count = std::size_t{kMatrix} * kMatrix;
  return {.name = name,
          .source = "benchmarks/cpu/units.cu",
          .grid = {kMatrix / 64, kMatrix / 64},
          .block = 128,
          .arguments = {{Kind::input_floats, count},
                        {Kind::input_floats, count},
                        {Kind::output_floats, count},
                        {Kind::integer, 0, kMatrix}},
          .loop =
              [](const Pointers& p) {
                loops::matmul(static_cast<float*>(p[0]), static_cast<float*>(p[1]), static_cast<float*>(p[2]), kMatrix);
              },
          .sgemm = true,
          .tolerance = 3e-3,
          .operations = static_cast<double>(count) * kMatrix,
          .bytes = 12.0 * count,
          .traffic = Traffic::add};
}

std::vector<Case> table() {
  constexpr std::size_t texels = std::size_t{kFrom} * kFrom, pixels = std::size_t{kWidth} * kWidth;
  return {matmul("matmul_wmma"),
          matmul("matmul_mma"),
          // The texture unit's weights have 8 bits behind the point.
          {.name = "resize",
           .source = "benchmarks/cpu/units.cu",
           .grid = {kWidth / 32, kWidth / 8},
           .block = {32, 8},
           .arguments = {{Kind::image, texels},
                         {Kind::output_floats, pixels},
                         {Kind::integer, 0, kWidth},
                         {Kind::real, 0, 0, kScale}},
           .loop =
               [](const Pointers& p) {
                 loops::resize(static_cast<float*>(p[0]), static_cast<float*>(p[1]), kFrom, kWidth, kScale);
               },
           .tolerance = 0.02,
           .operations = 3.0 * pixels,
           .bytes = 4.0 * (texels + pixels),
           .traffic = Traffic::copy}};
}

}  // namespace

const std::vector<Case>& units() {
  static const std::vector<Case> all = table();
  return all;
}

}  // namespace warploom::bench
