// Textures and surfaces in kernels, compared with what the host computes from the same texels.
#include "device_test.hpp"

#include <algorithm>
#include <cstring>

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Textures, "textures.cu");

struct Float4 {
  float x, y, z, w;
  bool operator==(const Float4&) const = default;
};
struct Uchar4 {
  unsigned char x, y, z, w;
  bool operator==(const Uchar4&) const = default;
};

std::vector<float> ramp(std::size_t count, float first = 0) {
  std::vector<float> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

template <class T>
TexelArray texels(const Device& device, const std::vector<T>& values, const TexelFormat& format,
                  const TexelExtent& extent, const TexelOptions& options = {}) {
  TexelArray array(device, format, extent, options);
  array.copy_from(std::span<const T>(values));
  return array;
}

TEST_P(Textures, PointFetchesOfFourFloats) {
  constexpr int kWidth = 70, kHeight = 5;
  const auto array =
      texels(device, ramp(std::size_t{kWidth} * kHeight * 4), TexelFormat::of<float>(4), {kWidth, kHeight});
  const Texture texture(array);
  DeviceArray<Float4> out(device, std::size_t{kWidth} * kHeight);
  kernel("read_rows").launch({{2, kHeight}, 64}, texture, kWidth, kHeight, out);
  EXPECT_EQ(out.to_vector(), expected<Float4>(kWidth * kHeight, [](int i) {
              const auto f = static_cast<float>(4 * i);
              return Float4{f, f + 1, f + 2, f + 3};
            }));
}

TEST_P(Textures, BytesAsTheyAreAndAsFractions) {
  constexpr int kWidth = 33, kHeight = 3;
  const std::vector<std::uint32_t> words = random_words(std::size_t{kWidth} * kHeight);
  std::vector<Uchar4> bytes(words.size());
  std::memcpy(bytes.data(), words.data(), words.size() * 4);
  const auto array = texels(device, bytes, TexelFormat::of<unsigned char>(4), {kWidth, kHeight});
  const Texture as_is(array);
  DeviceArray<Uchar4> out(device, bytes.size());
  kernel("read_bytes").launch({{2, kHeight}, 32}, as_is, kWidth, kHeight, out);
  EXPECT_EQ(out.to_vector(), bytes);
  const Texture fractions(array, {.read = TextureOptions::Read::normalized_float});
  DeviceArray<Float4> floats(device, bytes.size());
  kernel("read_rows").launch({{2, kHeight}, 32}, fractions, kWidth, kHeight, floats);
  EXPECT_EQ(floats.to_vector(), expected<Float4>(static_cast<int>(bytes.size()), [&](int i) {
              const Uchar4& b = bytes[static_cast<std::size_t>(i)];
              const auto part = [](unsigned char c) { return static_cast<float>(c / 255.0); };
              return Float4{part(b.x), part(b.y), part(b.z), part(b.w)};
            }));
}

TEST_P(Textures, LanesThatPartAndUseTwoTextures) {
  const auto a = array(ramp(64)), b = array(ramp(64, 1000));
  const Texture of_a(device, a.data(), TexelFormat::of<float>(), 64),
      of_b(device, b.data(), TexelFormat::of<float>(), 64);
  DeviceArray<float> out(device, 64);
  kernel("read_apart").launch({1, 64}, of_a, of_b, out);
  EXPECT_EQ(out.to_vector(), expected<float>(64, [](int i) {
              float v = -1;
              if (i % 3 == 0) v = static_cast<float>(i % 2 == 0 ? i : 1000 + i);
              if (i % 3 == 1) v = static_cast<float>(i % 4 < 2 ? i / 2 : 1000 + i / 2);
              for (int k = 0; k < i % 5; ++k) v += static_cast<float>(1000 + k);
              return v;
            }));
}

TEST_P(Textures, LayersAndVolumes) {
  const auto layers = texels(device, ramp(64), TexelFormat::of<float>(), {4, 4, 4}, {.layered = true});
  const auto volume = texels(device, ramp(64, 100), TexelFormat::of<float>(), {4, 4, 4});
  DeviceArray<float> out(device, 128);
  kernel("read_layers").launch({1, 64}, Texture(layers), Texture(volume), out);
  EXPECT_EQ(out.to_vector(),
            expected<float>(128, [](int i) { return static_cast<float>(i / 2 + (i % 2 == 0 ? 0 : 100)); }));
}

// An image filter through a texture whose edges repeat, against plain C++.
TEST_P(Textures, BoxFilter) {
  constexpr int kWidth = 45, kHeight = 19, kRadius = 2;
  const std::vector<float> image = ramp(std::size_t{kWidth} * kHeight);
  const auto array = texels(device, image, TexelFormat::of<float>(), {kWidth, kHeight});
  DeviceArray<float> out(device, image.size());
  kernel("box").launch({{3, 3}, {16, 8}}, Texture(array), kWidth, kHeight, kRadius, out);
  EXPECT_EQ(out.to_vector(), expected<float>(kWidth * kHeight, [&](int i) {
              float sum = 0;
              for (int dy = -kRadius; dy <= kRadius; ++dy)
                for (int dx = -kRadius; dx <= kRadius; ++dx) {
                  const int x = std::clamp(i % kWidth + dx, 0, kWidth - 1),
                            y = std::clamp(i / kWidth + dy, 0, kHeight - 1);
                  sum += image[static_cast<std::size_t>(y * kWidth + x)];
                }
              return sum / 25;
            }));
}

TEST_P(Textures, SurfacesOfBytes) {
  constexpr int kWidth = 40, kHeight = 6;
  const std::vector<std::uint32_t> words = random_words(std::size_t{kWidth} * kHeight);
  const auto from = texels(device, words, TexelFormat::of<unsigned char>(4), {kWidth, kHeight});
  auto to = texels(device, words, TexelFormat::of<unsigned char>(4), {kWidth, kHeight});
  // More threads than there are texels: loads stay inside, stores outside go nowhere.
  kernel("surface_invert").launch({{2, kHeight + 1}, 32}, Surface(from), Surface(to), kWidth, kHeight);
  std::vector<std::uint32_t> got(words.size());
  to.copy_to(std::span<std::uint32_t>(got));
  EXPECT_EQ(got, expected<std::uint32_t>(kWidth * kHeight,
                                         [&](int i) { return words[static_cast<std::size_t>(i)] ^ 0x00FFFFFF; }));
}

TEST_P(Textures, SurfacesOfAllSizes) {
  const auto line = texels(device, std::vector<float>(64), TexelFormat::of<float>(4), {16});
  const auto volume = texels(device, std::vector<std::uint16_t>(24), TexelFormat::of<std::uint16_t>(), {4, 3, 2});
  const auto layers =
      texels(device, std::vector<std::uint8_t>(24), TexelFormat::of<std::uint8_t>(), {4, 3, 2}, {.layered = true});
  kernel("surface_sizes").launch({1, 32}, Surface(line), Surface(volume), Surface(layers));
  std::vector<float> floats(64);
  line.copy_to(std::span<float>(floats));
  EXPECT_EQ(floats, expected<float>(64, [](int i) {
              constexpr float kParts[4] = {0, 0.25F, 0.75F, 0.5F};
              return static_cast<float>(i / 4) + kParts[i % 4];
            }));
  std::vector<std::uint16_t> shorts(24);
  volume.copy_to(std::span<std::uint16_t>(shorts));
  EXPECT_EQ(shorts, expected<std::uint16_t>(24, [](int i) { return i * 7; }));
  std::vector<std::uint8_t> chars(24);
  layers.copy_to(std::span<std::uint8_t>(chars));
  EXPECT_EQ(chars, expected<std::uint8_t>(24, [](int i) { return i * 7 + 1; }));
}

TEST_P(Textures, CopiesOfRegions) {
  auto array = texels(device, ramp(48), TexelFormat::of<float>(), {8, 6});
  const std::vector<float> patch{-1, -2, 0, -3, -4, 0};
  array.copy_from(std::span<const float>(patch), {.x = 3, .y = 1, .width = 2, .height = 2}, 12);
  std::vector<float> got(48), part(4);
  array.copy_to(std::span<float>(got));
  auto want = ramp(48);
  want[11] = -1, want[12] = -2, want[19] = -3, want[20] = -4;
  EXPECT_EQ(got, want);
  array.copy_to(std::span<float>(part), {.x = 4, .y = 2, .width = 2, .height = 2});
  EXPECT_EQ(part, (std::vector<float>{-4, 21, 28, 29}));
}

TEST_P(Textures, Queries) {
  const auto array = texels(device, ramp(48), TexelFormat::of<float>(), {8, 6});
  DeviceArray<int> out(device, 2);
  kernel("queries").launch({1, 32}, Texture(array), out);
  EXPECT_EQ(out.to_vector(), (std::vector<int>{8, 6}));
}

// The error of a launch names the kernel's line, and after a reset the device works again.
#define EXPECT_KERNEL_ERROR(launch, error_name, text)                                              \
  do {                                                                                             \
    launch;                                                                                        \
    try {                                                                                          \
      device.synchronize();                                                                        \
      ADD_FAILURE() << "no error";                                                                 \
    } catch (const Error& error) {                                                                 \
      EXPECT_EQ(error.id(), error_id::error_name) << error.what();                                 \
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();          \
      EXPECT_NE(std::string(error.what()).find("textures.cu"), std::string::npos) << error.what(); \
    }                                                                                              \
    device.reset();                                                                                \
    reload();                                                                                      \
  } while (false)

TEST_P(Textures, BadHandles) {
  for (const std::uint64_t handle :
       {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{0x7E000001FFFFF}}) {
    DeviceArray<float> out(device, 32);
    EXPECT_KERNEL_ERROR(kernel("look_up").launch({1, 32}, handle, out), invalid_texture, "no handle");
  }
  std::uint64_t gone = 0;
  {
    const auto array = texels(device, ramp(64), TexelFormat::of<float>(), {64});
    const Texture texture(array);
    gone = texture.handle();
    DeviceArray<float> out(device, 32);
    EXPECT_KERNEL_ERROR(kernel("look_up").launch({1, 32}, texture, out), invalid_texture, "1d texture");
  }
  {
    DeviceArray<float> out(device, 32);
    EXPECT_KERNEL_ERROR(kernel("look_up").launch({1, 32}, gone, out), invalid_texture, "no handle");
  }
  const auto array = texels(device, ramp(64), TexelFormat::of<float>(), {8, 8});
  const Surface surface(array);
  DeviceArray<float> out(device, 32);
  EXPECT_KERNEL_ERROR(kernel("look_up").launch({1, 32}, surface, out), invalid_texture, "surface object");
}

TEST_P(Textures, SurfaceFaults) {
  for (const int x : {8, -1}) {
    const auto array = texels(device, ramp(64), TexelFormat::of<float>(), {8, 8});
    EXPECT_KERNEL_ERROR(kernel("surface_outside").launch({1, 32}, Surface(array), x), surface_bounds, "thread (5,0,0)");
  }
  const auto array = texels(device, ramp(64), TexelFormat::of<float>(), {8, 8});
  EXPECT_KERNEL_ERROR(kernel("surface_unaligned").launch({1, 32}, Surface(array)), misaligned_address, "4 bytes");
}

TEST_P(Textures, MemoryThatIsGone) {
  auto memory = std::make_unique<DeviceArray<float>>(device, std::size_t{1} << 24);
  const Texture texture(device, memory->data(), TexelFormat::of<float>(), 1 << 12, 1 << 12, 1 << 14);
  memory.reset();
  device.synchronize();
  DeviceArray<float> out(device, 32);
  kernel("look_up").launch({1, 32}, texture, out);
  // Memory that was freed may still be there; if not, the error is the kernel's.
  try {
    device.synchronize();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), error_id::illegal_address) << error.what();
    EXPECT_NE(std::string(error.what()).find("textures.cu"), std::string::npos) << error.what();
  }
}

TEST_P(Textures, BadDescriptions) {
  const auto bad = [&](auto&& make) {
    try {
      make();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), error_id::invalid_value) << error.what();
    }
  };
  bad([&] { TexelArray(device, {TexelFormat::Kind::floating, 8, 1}, {8, 8}); });
  bad([&] { TexelArray(device, TexelFormat::of<float>(3), {8, 8}); });
  bad([&] { TexelArray(device, TexelFormat::of<float>(), {0, 8}); });
  bad([&] { TexelArray(device, TexelFormat::of<float>(), {8, 8, 5}, {.cube = true}); });
  bad([&] { TexelArray(device, TexelFormat::of<float>(), {8, 8}, {.levels = 5}); });
  const auto array = texels(device, std::vector<int>(64), TexelFormat::of<int>(), {8, 8});
  bad([&] { Texture(array, {.filter = TextureOptions::Filter::linear}); });
  bad([&] { Texture(array, {.read = TextureOptions::Read::normalized_float}); });
  bad([&] { Surface(array, 1); });
  bad([&] { Texture(device, nullptr, TexelFormat::of<float>(), 10); });
  std::vector<int> few(10);
  bad([&] { array.copy_to(std::span<int>(few)); });
  bad([&] { array.copy_to(std::span<int>(few), {.x = 7, .width = 2, .height = 1}); });
}

}  // namespace
