// Textures and surfaces: an image filter compared with plain C++, an enlargement, a negative in place.
#include "common/lesson.hpp"

using namespace warploom;

// A texel of the image, whose edge repeats.
static float at(const std::vector<float>& image, int width, int height, int x, int y) {
  x = std::clamp(x, 0, width - 1);
  y = std::clamp(y, 0, height - 1);
  return image[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
}

static std::vector<float> blurred(const std::vector<float>& image, int width, int height) {
  std::vector<float> out;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      float sum = 0;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          sum += at(image, width, height, x + dx, y + dy) * static_cast<float>((2 - std::abs(dx)) * (2 - std::abs(dy)));
      out.push_back(sum / 16);
    }
  return out;
}

static int textures(int argc, char** argv) {
  const int width = lesson::size_argument(argc, argv, 1, 301), height = lesson::size_argument(argc, argv, 2, 203);
  const std::size_t texels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  lesson::Random random;
  std::vector<float> image(texels);
  for (float& value : image) value = static_cast<float>(random.next() % 256);

  const Device device = Device::open();
  const Module module = device.compile_file(KERNELS);
  const Dim3 block{16, 16};
  const auto grid = [&](int w, int h) {
    return Dim3{static_cast<unsigned>((w + 15) / 16), static_cast<unsigned>((h + 15) / 16)};
  };
  lesson::Checks checks;

  // [make]
  TexelArray array(device, TexelFormat::of<float>(),
                   {static_cast<std::size_t>(width), static_cast<std::size_t>(height)});
  array.copy_from(std::span<const float>(image));
  const Texture points(array);  // the edge repeats, the nearest texel is taken
  const Texture blends(array, {.filter = TextureOptions::Filter::linear, .normalized_coordinates = true});
  DeviceArray<float> out(device, texels);
  module.kernel("blur_texture").launch({grid(width, height), block}, points, out, width, height);
  // [/make]
  checks.equal<float>("blur_texture", out.to_vector(), blurred(image, width, height), "the same as plain C++");

  // Weights of the filter have 8 bits behind the point: each axis is off by half of 1/256 of a difference at most.
  const int large_width = 3 * width, large_height = 2 * height;
  DeviceArray<float> large(device, 6 * texels);
  module.kernel("enlarge").launch({grid(large_width, large_height), block}, blends, large, large_width, large_height);
  std::vector<double> want, bound;
  for (int y = 0; y < large_height; ++y)
    for (int x = 0; x < large_width; ++x) {
      const double u = (x + 0.5) / 3 - 0.5, v = (y + 0.5) / 2 - 0.5;
      const int i = static_cast<int>(std::floor(u)), j = static_cast<int>(std::floor(v));
      const double a = u - i, b = v - j;
      const auto texel = [&](int dx, int dy) { return static_cast<double>(at(image, width, height, i + dx, j + dy)); };
      want.push_back((texel(0, 0) * (1 - a) + texel(1, 0) * a) * (1 - b) +
                     (texel(0, 1) * (1 - a) + texel(1, 1) * a) * b);
      bound.push_back(1.5);  // of 255
    }
  checks.close("enlarge", large.to_vector(), want, bound, "a blend of four texels in one fetch");

  module.kernel("negative").launch({grid(width, height), block}, Surface(array), width, height);
  std::vector<float> inverse(texels), expected(image);
  for (float& value : expected) value = 255 - value;
  array.copy_to(std::span<float>(inverse));
  checks.equal<float>("negative", inverse, expected, "a surface, in place");
  return checks.finish();
}

int main(int argc, char** argv) {
  return lesson::run([&] { return textures(argc, argv); });
}
