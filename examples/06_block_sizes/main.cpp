// Block sizes that are not multiples of 32: still correct, but the last warp of every block is not full.
#include "common/lesson.hpp"

using namespace warploom;

static int block_sizes(int argc, char** argv) {
  const int n = lesson::size_argument(argc, argv, 1, 100000);
  const std::size_t count = static_cast<std::size_t>(n);
  lesson::Random random;
  const std::vector<float> x = random.floats(count), y = random.floats(count);
  // fma rounds once; whether the compiler used it is its own business, so two roundings are allowed for.
  std::vector<double> expected(count), bound(count);
  for (std::size_t i = 0; i < count; ++i) {
    expected[i] = 2.5 * x[i] + y[i];
    bound[i] = 0x1p-23 * (std::abs(2.5 * x[i]) + std::abs(y[i]));
  }

  const Device device = Device::open();
  const Module module = device.compile_file(KERNELS);
  const Kernel saxpy = module.kernel("saxpy"), count_lanes = module.kernel("count_lanes");
  const DeviceArray<float> device_x(device, x);
  DeviceArray<float> device_y(device, count);
  lesson::Checks checks;
  for (const int threads : {1, 20, 32, 33, 48, 100, 256, 1000, 1023, 1024}) {
    const std::string name = std::to_string(threads) + " threads in a block";
    device_y.copy_from(y);
    saxpy.launch({blocks_for(count, static_cast<std::size_t>(threads)), threads}, 2.5f, device_x, device_y, n);
    checks.close(name + ": saxpy", device_y.to_vector(), expected, bound, "");

    const int blocks = 3, warps = (threads + 31) / 32;
    DeviceArray<int> lanes(device, static_cast<std::size_t>(blocks * warps));
    count_lanes.launch({blocks, threads}, lanes, warps);
    std::vector<int> full;
    for (int block = 0; block < blocks; ++block)
      for (int warp = 0; warp < warps; ++warp) full.push_back(std::min(32, threads - 32 * warp));
    char note[80];
    std::snprintf(note, sizeof note, "%d warps, %.1f %% of their lanes in use", warps, 100.0 * threads / (32 * warps));
    checks.equal<int>(name + ": lanes", lanes.to_vector(), full, note);
  }
  return checks.finish();
}

int main(int argc, char** argv) {
  return lesson::run([&] { return block_sizes(argc, argv); });
}
