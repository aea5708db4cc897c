// The matmul ladder: the same product five times, from global memory to tiles to registers.
#include "common/lesson.hpp"

using namespace warploom;

static int matmul_ladder(int argc, char** argv) {
  const int n = lesson::size_argument(argc, argv, 1, 256);
  if (n % 128 != 0) {
    std::fprintf(stderr, "the size must be a multiple of 128, the largest tile\n");
    return 2;
  }
  const std::size_t side = static_cast<std::size_t>(n), count = side * side;
  lesson::Random random;
  const std::vector<float> a = random.floats(count), b = random.floats(count);

  // The reference in double, and with it a bound that holds for any order of the additions: n 2^-24 times the sum of
  // |a b|. A kernel that forgets one of the n products is off by much more than that almost everywhere.
  std::vector<double> expected(count), bound(count);
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t k = 0; k < side; ++k) {
      const double x = a[i * side + k];
      for (std::size_t j = 0; j < side; ++j) {
        const double product = x * b[k * side + j];
        expected[i * side + j] += product;
        bound[i * side + j] += std::abs(product) * n * 0x1p-24;
      }
    }

  const Device device = Device::open();
  const Module module = device.compile_file(KERNELS);
  const DeviceArray<float> device_a(device, a), device_b(device, b);
  DeviceArray<float> device_c(device, count);

  struct Step {
    const char* name;
    Dim3 grid, block;
  };
  const Step steps[] = {
      {"matmul_naive", {n / 16, n / 16}, {16, 16}},
      {"matmul_tiled<16>", {n / 16, n / 16}, {16, 16}},
      {"matmul_tiled_unroll4", {n / 16, n / 16}, {16, 16}},
      {"matmul_regtile", {n / 64, n / 64}, 256},
      {"matmul_best", {n / 128, n / 128}, 128},
      {"matmul_best_small", {n / 128, n / 64}, 256},
  };
  lesson::Checks checks;
  std::printf("%d x %d matrices\n", n, n);
  for (const Step& step : steps) {
    const Kernel kernel = module.kernel(step.name);
    device_c.fill(-1000.0f);
    const double ms =
        lesson::timed(device, [&] { kernel.launch({step.grid, step.block}, device_a, device_b, device_c, n); });
    char note[64];
    std::snprintf(note, sizeof note, "%8.2f ms  %6.2f GFMA/s", ms, static_cast<double>(count) * n / ms * 1e-6);
    checks.close(step.name, device_c.to_vector(), expected, bound, note);
  }
  return checks.finish();
}

int main(int argc, char** argv) {
  return lesson::run([&] { return matmul_ladder(argc, argv); });
}
