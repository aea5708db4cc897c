// Attention forward in float32 and, on the matrix units, in float16, beside a reference in double precision.
#include <bit>

#include "common/lesson.hpp"

using namespace warploom;

static constexpr int kWidth = 64;
// What attention_f32 lays out: queries, keys, values and weights, with their padding.
static constexpr unsigned kSharedBytes = (kWidth * 132 + kWidth * 68 + 64 * kWidth + 64 * 132) * 4;

static std::uint16_t half_of(float value) { return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)); }
static float float_of(std::uint16_t half) { return static_cast<float>(std::bit_cast<_Float16>(half)); }

struct Reference {
  std::vector<double> result, magnitude;  // and the sum of |weight value|, by which errors are bounded
};

static Reference attention(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                           std::size_t heads, std::size_t length) {
  Reference out{std::vector<double>(q.size()), std::vector<double>(q.size())};
  std::vector<double> weight(length);
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t row = (h * length + i) * kWidth;
      double largest = -INFINITY, total = 0;
      for (std::size_t j = 0; j < length; ++j) {
        double score = 0;
        for (std::size_t d = 0; d < kWidth; ++d) score += double{q[row + d]} * k[(h * length + j) * kWidth + d];
        weight[j] = score / 8;
        largest = std::max(largest, weight[j]);
      }
      for (double& w : weight) total += w = std::exp(w - largest);
      for (std::size_t j = 0; j < length; ++j)
        for (std::size_t d = 0; d < kWidth; ++d) {
          const double term = weight[j] / total * v[(h * length + j) * kWidth + d];
          out.result[row + d] += term;
          out.magnitude[row + d] += std::abs(term);
        }
    }
  return out;
}

static int attention_lesson(int argc, char** argv) {
  const int length = lesson::size_argument(argc, argv, 1, 150), heads = lesson::size_argument(argc, argv, 2, 2);
  const std::size_t count = static_cast<std::size_t>(length) * static_cast<std::size_t>(heads) * kWidth;
  lesson::Random random;
  std::vector<std::uint16_t> half[3];
  std::vector<float> single[3];
  for (int i = 0; i < 3; ++i)
    for (const float value : random.floats(count)) {
      half[i].push_back(half_of(value));
      single[i].push_back(float_of(half[i].back()));  // both kernels get the same numbers
    }
  const Reference expected =
      attention(single[0], single[1], single[2], static_cast<std::size_t>(heads), static_cast<std::size_t>(length));

  const Device device = Device::open();
  const Module module = device.compile_file(KERNELS);
  const Dim3 grid((length + 127) / 128, heads);
  const double flops = 4.0 * heads * length * length * kWidth;
  lesson::Checks checks;
  std::printf("%d heads, %d queries and keys, %d elements\n", heads, length, kWidth);
  char note[64];

  // A score is a sum of 64 products below 1, so it errs by less than 64 (64 + 2) u / 8, and exp2 and the shrinking by a
  // few u for each tile; a weight then errs by that much relatively, a result by twice that (numerator and sum) and by
  // its own additions.
  const auto bound = [&](double unit, double rounding) {
    const double weights = (64.0 * 66 / 8 + 8.0 * (length + 63) / 64) * unit + rounding;
    std::vector<double> out(expected.magnitude);
    for (double& value : out) value = value * (2 * weights + length * unit) + rounding;
    return out;
  };
  {
    DeviceArray<float> q(device, single[0]), k(device, single[1]), v(device, single[2]), out(device, count);
    const Kernel kernel = module.kernel("attention_f32");
    const double ms = lesson::timed(device, [&] {
      kernel.launch({.grid = grid, .block = 256, .shared_bytes = kSharedBytes}, q, k, v, out, length);
    });
    std::snprintf(note, sizeof note, "%8.2f ms  %8.2f GFLOP/s", ms, flops / ms * 1e-6);
    checks.close("attention_f32", out.to_vector(), expected.result, bound(0x1p-24, 0), note);
  }
  {
    DeviceArray<std::uint16_t> q(device, half[0]), k(device, half[1]), v(device, half[2]), out(device, count);
    const Kernel kernel = module.kernel("attention_f16");
    const double ms = lesson::timed(device, [&] { kernel.launch({.grid = grid, .block = 128}, q, k, v, out, length); });
    std::snprintf(note, sizeof note, "%8.2f ms  %8.2f GFLOP/s", ms, flops / ms * 1e-6);
    std::vector<float> got;
    for (const std::uint16_t value : out.to_vector()) got.push_back(float_of(value));
    // Weights and results are rounded to 11 bits.
    checks.close("attention_f16", got, expected.result, bound(0x1p-24, 0x1p-11), note);
  }
  return checks.finish();
}

int main(int argc, char** argv) {
  return lesson::run([&] { return attention_lesson(argc, argv); });
}
