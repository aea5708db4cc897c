// Row and column access, and a transpose without shared memory, with a tile, and with a padded tile.
#include "common/lesson.hpp"

using namespace warploom;

static int rows_and_columns(int argc, char** argv) {
  const int n = lesson::size_argument(argc, argv, 1, 512);
  if (n % 32 != 0) {
    std::fprintf(stderr, "the size must be a multiple of 32, the side of a tile\n");
    return 2;
  }
  const std::size_t side = static_cast<std::size_t>(n), count = side * side;
  lesson::Random random;
  const std::vector<float> matrix = random.floats(count);
  // Sums of n floats in any order are within n 2^-24 of the sum of the magnitudes; transposes move bits unchanged.
  std::vector<double> rows(side), row_bound(side), columns(side), column_bound(side);
  std::vector<float> transposed(count);
  for (std::size_t r = 0; r < side; ++r)
    for (std::size_t c = 0; c < side; ++c) {
      const double value = matrix[r * side + c], bound = std::abs(value) * n * 0x1p-24;
      rows[r] += value;
      row_bound[r] += bound;
      columns[c] += value;
      column_bound[c] += bound;
      transposed[c * side + r] = matrix[r * side + c];
    }

  const Device device = Device::open();
  const Module module = device.compile_file(KERNELS);
  const DeviceArray<float> in(device, matrix);
  lesson::Checks checks;
  {
    DeviceArray<float> sums(device, side);
    const LaunchConfig shape{blocks_for(side, 128), 128};
    const Kernel by_row = module.kernel("row_sum_bad"), by_column = module.kernel("col_sum_good");
    double ms = lesson::timed(device, [&] { by_row.launch(shape, in, sums, n, n); });
    checks.close("row_sum_bad", sums.to_vector(), rows, row_bound, lesson::milliseconds(ms));
    sums.zero();
    ms = lesson::timed(device, [&] { by_column.launch(shape, in, sums, n, n); });
    checks.close("col_sum_good", sums.to_vector(), columns, column_bound, lesson::milliseconds(ms));
  }
  DeviceArray<float> out(device, count);
  for (const char* name : {"transpose_naive", "transpose_tile<0>", "transpose_tile<1>"}) {
    const Kernel kernel = module.kernel(name);
    out.zero();
    const double ms = lesson::timed(device, [&] { kernel.launch({{n / 32, n / 32}, {32, 8}}, in, out, n); });
    checks.equal<float>(name, out.to_vector(), transposed, lesson::milliseconds(ms));
  }
  return checks.finish();
}

int main(int argc, char** argv) {
  return lesson::run([&] { return rows_and_columns(argc, argv); });
}
