// A 3 x 3 blur: straight from global memory, and through an 18 x 18 tile with its halo in shared memory.
#include "common/lesson.hpp"

using namespace warploom;

static int gaussian_blur(int argc, char** argv) {
  // Not multiples of 16, so that the last blocks hang over the edge.
  const int w = lesson::size_argument(argc, argv, 1, 500), h = lesson::size_argument(argc, argv, 2, 300);
  const std::size_t width = static_cast<std::size_t>(w), height = static_cast<std::size_t>(h), count = width * height;
  lesson::Random random;
  const std::vector<float> image = random.floats(count, 0, 1);

  // Nine products of a pixel and a power of two are exact; their additions lose at most 9 2^-24 of the sum. A wrong
  // weight is off by 1/16 of a pixel.
  std::vector<double> expected(count, 0), bound(count, 0);
  const double weight[3] = {1, 2, 1};
  for (std::size_t y = 1; y + 1 < height; ++y)
    for (std::size_t x = 1; x + 1 < width; ++x) {
      double sum = 0;
      for (std::size_t dy = 0; dy < 3; ++dy)
        for (std::size_t dx = 0; dx < 3; ++dx)
          sum += image[(y + dy - 1) * width + x + dx - 1] * weight[dy] * weight[dx] / 16;
      expected[y * width + x] = sum;
      bound[y * width + x] = 9 * 0x1p-24 * sum;
    }

  const Device device = Device::open();
  const Module module = device.compile_file(KERNELS);
  const DeviceArray<float> in(device, image);
  DeviceArray<float> out(device, count);
  lesson::Checks checks;
  for (const char* name : {"blur_global", "blur_halo"}) {
    const Kernel kernel = module.kernel(name);
    out.zero();  // the border is not written
    const double ms = lesson::timed(
        device, [&] { kernel.launch({{blocks_for(width, 16), blocks_for(height, 16)}, {16, 16}}, in, out, w, h); });
    checks.close(name, out.to_vector(), expected, bound, lesson::milliseconds(ms));
  }
  return checks.finish();
}

int main(int argc, char** argv) {
  return lesson::run([&] { return gaussian_blur(argc, argv); });
}
