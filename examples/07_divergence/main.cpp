// Divergence: a branch that splits every warp, and the same branch between warps.
#include "common/lesson.hpp"

using namespace warploom;

// One side of the branch, as the device computes it: 32-bit arithmetic that wraps.
static int expected_value(int value, bool even, int reps) {
  for (int r = 0; r < reps; ++r)
    value = even ? static_cast<int>(static_cast<std::uint32_t>(value) * 3u + static_cast<std::uint32_t>(r))
                 : static_cast<int>(static_cast<std::uint32_t>(value ^ r) + static_cast<std::uint32_t>(value >> 3));
  return value;
}

static int divergence(int argc, char** argv) {
  // Not a multiple of the block, so that the last warps also lose lanes to the bounds check.
  const int n = lesson::size_argument(argc, argv, 1, 100003), reps = lesson::size_argument(argc, argv, 2, 64);
  const std::size_t count = static_cast<std::size_t>(n);
  lesson::Random random;
  std::vector<int> data(count);
  for (int& value : data) value = static_cast<int>(random.next());

  const Device device = Device::open();
  const Module module = device.compile_file(KERNELS);
  lesson::Checks checks;
  for (const int lanes : {1, 32}) {
    const char* name = lanes == 1 ? "diverge_even_odd" : "diverge_by_warp";
    const Kernel kernel = module.kernel(name);
    DeviceArray<int> d(device, count);
    const double ms = lesson::timed(device, [&] {
      d.copy_from(data);
      kernel.launch({blocks_for(count, 256), 256}, d, n, reps);
    });
    std::vector<int> expected(count);
    for (int i = 0; i < n; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      expected[at] = expected_value(data[at], (i / lanes) % 2 == 0, reps);
    }
    checks.equal<int>(name, d.to_vector(), expected, lesson::milliseconds(ms));
  }
  return checks.finish();
}

int main(int argc, char** argv) {
  return lesson::run([&] { return divergence(argc, argv); });
}
