// Sum reduction five ways: one atomic word, three trees in shared memory, and warp shuffles.
#include "common/lesson.hpp"

using namespace warploom;

static int sum_reduction(int argc, char** argv) {
  const int n = lesson::size_argument(argc, argv, 1, 200000);
  const std::size_t count = static_cast<std::size_t>(n), blocks = blocks_for(count, 256);
  // Small whole numbers, whose sum stays below 2^24: then a float sum is exact in every order, and one lost or doubled
  // element shows.
  lesson::Random random;
  std::vector<float> values(count);
  double sum = 0;
  for (float& value : values) {
    value = static_cast<float>(1 + random.next() % (count < 4000000 ? 4 : 1));
    sum += value;
  }
  const std::vector<double> expected{sum};

  const Device device = Device::open();
  const Module module = device.compile_file(KERNELS);
  const DeviceArray<float> in(device, values);
  lesson::Checks checks;
  struct Step {
    const char* name;
    std::size_t grid, partial_sums;
  };
  const Step steps[] = {{"reduce_atomic", blocks, 1},
                        {"reduce_interleaved", blocks, blocks},
                        {"reduce_bankconflict", blocks, blocks},
                        {"reduce_sequential", blocks, blocks},
                        {"reduce_shuffle", std::min<std::size_t>(blocks, 64), 1}};
  for (const Step& step : steps) {
    const Kernel kernel = module.kernel(step.name);
    DeviceArray<float> out(device, step.partial_sums);
    const double ms = lesson::timed(device, [&] {
      out.zero();
      kernel.launch({step.grid, 256}, in, out, n);
    });
    double total = 0;
    for (const float partial : out.to_vector()) total += partial;
    checks.equal<double>(step.name, std::vector<double>{total}, expected, lesson::milliseconds(ms));
  }
  return checks.finish();
}

int main(int argc, char** argv) {
  return lesson::run([&] { return sum_reduction(argc, argv); });
}
