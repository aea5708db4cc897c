// Textures and surfaces against the answers of an H200, bit for bit: all by the interpreter, and each instruction by
// compiled code of every kind.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include <warploom/warploom.hpp>

#include "recording.hpp"

namespace {

using namespace warploom;
using namespace textures;

const Recording& recording() {
  static const Recording all = read_recording(std::string(WARPLOOM_TEST_DATA) + "/h200.bin.gz");
  return all;
}

TexelFormat format_of(const Array& a) {
  using Kind = TexelFormat::Kind;
  const Kind kind = a.format[0] == 'f'   ? Kind::floating
                    : a.format[0] == 's' ? Kind::signed_integer
                                         : Kind::unsigned_integer;
  return {kind, static_cast<unsigned>(std::stoul(a.format.substr(1))), a.channels};
}

TextureOptions options_of(const Case& c, bool floats, bool wide) {
  using O = TextureOptions;
  const std::map<std::string, O::Address> modes = {{"wrap", O::Address::wrap},
                                                   {"clamp", O::Address::clamp},
                                                   {"mirror", O::Address::mirror},
                                                   {"border", O::Address::border}};
  O o;
  for (std::size_t k = 0; k < 3; ++k) o.address[k] = modes.at(c.address[k]);
  o.read = c.integers != 0 || floats || wide ? O::Read::element : O::Read::normalized_float;
  o.filter = c.linear != 0 && (floats || o.read == O::Read::normalized_float) ? O::Filter::linear : O::Filter::point;
  o.normalized_coordinates = c.normalized != 0;
  o.srgb = c.srgb != 0;
  o.seamless_cube = c.seamless != 0;
  o.mip_filter = c.mip != 0 ? O::Filter::linear : O::Filter::point;
  o.level_bias = c.numbers[0];
  o.min_level = c.numbers[1];
  o.max_level = c.numbers[2];
  std::memcpy(o.border_color.data(), c.numbers + 3, 16);
  return o;
}

// Runs one case; what came out in `out`.
Bytes run(const Device& device, const Module& module, const std::string& kernel, const Case& c) {
  const Array& a = recording().arrays.at(c.array);
  const Coordinates& at = recording().coordinates.at(c.coordinates);
  const TexelFormat format = format_of(a);
  const bool floats = a.format[0] == 'f', wide = a.format.ends_with("32");
  std::optional<TexelArray> array;
  std::optional<DeviceArray<unsigned char>> memory;
  std::optional<Texture> texture;
  std::optional<Surface> surface;
  if (a.geometry == "linear" || a.geometry == "pitch") {
    constexpr std::size_t kPitch = 512;
    Bytes rows = a.data;
    const std::size_t row = a.size[0] * format.bytes();
    if (a.geometry == "pitch") {
      rows.assign(kPitch * a.size[1], 0xCD);
      for (std::size_t y = 0; y < a.size[1]; ++y) std::memcpy(rows.data() + y * kPitch, a.data.data() + y * row, row);
    }
    memory.emplace(device, rows);
    if (a.geometry == "linear")
      texture.emplace(device, memory->data(), format, a.size[0], options_of(c, floats, wide));
    else
      texture.emplace(device, memory->data(), format, a.size[0], a.size[1], kPitch, options_of(c, floats, wide));
  } else {
    const std::string& g = a.geometry;
    const TexelExtent extent{a.size[0], g == "1d" || g == "a1d" ? 0 : a.size[1],
                             g == "1d" || g == "2d" ? 0 : a.size[2]};
    array.emplace(device, format, extent, TexelOptions{g[0] == 'a', g.ends_with("cube"), a.levels});
    std::size_t offset = 0;
    for (unsigned k = 0; k < a.levels; ++k) {
      const TexelExtent e = array->extent(k);
      const std::size_t bytes =
          e.width * std::max<std::size_t>(e.height, 1) * std::max<std::size_t>(e.depth, 1) * format.bytes();
      array->copy_from(std::span<const unsigned char>(a.data.data() + offset, bytes), {.level = k});
      offset += bytes;
    }
    if (c.kind == "texture")
      texture.emplace(*array, options_of(c, floats, wide));
    else
      surface.emplace(*array);
  }
  const DeviceArray<unsigned char> from(device, at.data);
  const std::size_t bytes = std::size_t{4} * c.results * at.count;
  DeviceArray<unsigned char> to(device, Bytes(std::max<std::size_t>(bytes, 4), 0xEE));
  const std::uint64_t handle = texture ? texture->handle() : surface->handle();
  module.kernel(kernel).launch({1, c.kind == "writes" ? 1U : 128U}, handle, from, to, at.count);
  Bytes out = to.to_vector();
  out.resize(bytes);
  if (c.kind == "writes") {
    out.resize(a.data.size());
    array->copy_to(std::span<unsigned char>(out));
  }
  return out;
}

// Where bits are not reached: at most this share of samples differs, and by no more than `distance`.
struct Bound {
  const char *group, *array, *part;  // beginnings of names, and a part of the PTX
  int linear, mip, seamless;         // -1: either
  double share, distance;
};
constexpr double kAny = 1e300;
constexpr Bound kBounds[] = {
    // Levels of slopes are within 2/256.
    {"slopes", "mip2d.near", "", -1, 1, -1, 0.5, 0.02},
    {"slopes", "mip", "", -1, 1, -1, 0.5, 4},
    {"slopes", "mip", "", -1, 0, -1, 0.01, 256},
    // Planes that differ by many binary orders, and what no two numbers of one exponent have.
    {"blend", "f32.wild.3d", "", 1, -1, -1, 0.005, 0.01},
    {"blend", "f16.wild.3d", "", 1, -1, -1, 0.01, 0.05},
    {"blend", "f32.special.3d", "", 1, -1, -1, 0.02, kAny},
    {"blend", "f16.special.3d", "", 1, -1, -1, 0.02, kAny},
    {"levels", "mip3d", "", 1, 1, -1, 0.05, 0.5},
    // The corners of cube maps.
    {"cubes", "cube.ramp", "", 1, -1, 1, 0.05, 2},
    {"cubes", "acube", "", 1, -1, 1, 0.05, 2},
    {"cubes", "cube", "", 1, -1, 1, 0.05, 3},
    // sRGB is decoded otherwise for filters than for points.
    {"conversions", "u8x4", "", 1, -1, -1, 1, 0.006},
};

const Bound* bound_of(const Case& c) {
  for (const Bound& b : kBounds)
    if (c.group == b.group && c.array.starts_with(b.array) && c.ptx.find(b.part) != std::string::npos &&
        (b.linear < 0 || b.linear == c.linear) && (b.mip < 0 || b.mip == c.mip) &&
        (b.seamless < 0 || b.seamless == c.seamless))
      return &b;
  return nullptr;
}

float float_at(const Bytes& b, std::size_t word) {
  float f = 0;
  std::memcpy(&f, b.data() + 4 * word, 4);
  return f;
}

// Directions of cube maps with NaN or infinite parts are not compared.
bool compared(const Case& c, std::size_t sample) {
  if (c.ptx.find("cube.") == std::string::npos) return true;
  const Coordinates& at = recording().coordinates.at(c.coordinates);
  const unsigned first = c.ptx.find("acube.") == std::string::npos ? 0 : 1;
  for (unsigned k = first; k < first + 3; ++k)
    if (!std::isfinite(float_at(at.data, sample * at.words + k))) return false;
  return true;
}

// What is wrong with the results of a case; empty when they are right.
std::string judge(const Case& c, const Bytes& got) {
  if (got == c.data) return {};
  const Coordinates& at = recording().coordinates.at(c.coordinates);
  const std::size_t step = c.kind == "writes" ? 4 : std::size_t{4} * c.results;
  const Bound* bound = bound_of(c);
  std::ostringstream out;
  std::size_t different = 0, wrong = 0;
  for (std::size_t i = 0; i * step < got.size(); ++i) {
    const std::size_t n = std::min(step, got.size() - i * step);
    if (std::memcmp(got.data() + i * step, c.data.data() + i * step, n) == 0) continue;
    if (c.kind == "texture" && !compared(c, i)) continue;
    ++different;
    bool near = bound != nullptr;
    for (std::size_t k = 0; near && k < n / 4; ++k) {
      const double a = float_at(got, (i * step) / 4 + k), b = float_at(c.data, (i * step) / 4 + k);
      near = bound->distance == kAny || std::fabs(a - b) <= bound->distance;
    }
    if (near || ++wrong > 3) continue;
    out << "\n  sample " << i << " at" << std::hex;
    for (unsigned k = 0; k < at.words && c.kind != "writes"; ++k) {
      std::uint32_t w = 0;
      std::memcpy(&w, at.data.data() + (i * at.words + k) * 4, 4);
      out << ' ' << w << '(' << float_at(at.data, i * at.words + k) << ')';
    }
    for (const Bytes* b : {&got, &c.data}) {
      out << (b == &got ? " gave" : " and not");
      for (std::size_t k = 0; k + 4 <= n; k += 4) {
        std::uint32_t w = 0;
        std::memcpy(&w, b->data() + i * step + k, 4);
        out << ' ' << w << '(' << float_at(*b, (i * step + k) / 4) << ')';
      }
    }
    out << std::dec;
  }
  const auto samples = static_cast<double>(got.size() / step);
  if (wrong == 0 && static_cast<double>(different) <= (bound == nullptr ? 0 : bound->share * samples)) return {};
  out << "\n  " << different << " of " << samples << " differ";
  return out.str();
}

struct Kind {
  const char* name;
  const char* tier;
  bool unoptimised, all;
};

class Recorded : public testing::TestWithParam<Kind> {};

TEST_P(Recorded, AsTheH200) {
  const Kind kind = GetParam();
  setenv("WARPLOOM_TIER", kind.tier, 1);
  setenv("WARPLOOM_CACHE", "0", 1);
  const Device device = Device::open("cpu", {.threads = 1, .unoptimised = kind.unoptimised});
  std::map<std::string, std::string> names;
  std::string text = kHead;
  std::vector<const Case*> cases;
  for (const Case& c : recording().cases) {
    // Linear filters of integers: refused by our API as by CUDA's manual, and what a driver gives is nobody's business.
    if (c.linear != 0 && c.integers != 0 && c.group == "formats") continue;
    const std::string key = kernel_text("", c.ptx, recording().coordinates.at(c.coordinates).words, c.results);
    const auto [it, is_new] = names.try_emplace(key, "k" + std::to_string(names.size()));
    if (is_new) text += kernel_text(it->second, c.ptx, recording().coordinates.at(c.coordinates).words, c.results);
    if (is_new || kind.all) cases.push_back(&c);
  }
  const Module module = device.load_ptx(text);
  std::map<std::string, std::pair<int, int>> groups;
  for (const Case* c : cases) {
    const std::string& name =
        names.at(kernel_text("", c->ptx, recording().coordinates.at(c->coordinates).words, c->results));
    const Bytes got = run(device, module, name, *c);
    auto& [ran, same] = groups[c->group];
    ++ran;
    same += got == c->data;
    const std::string wrong = judge(*c, got);
    EXPECT_TRUE(wrong.empty()) << c->group << ' ' << c->array << ' ' << c->coordinates << " linear " << c->linear
                               << " norm " << c->normalized << ' ' << c->address[0] << " mip " << c->mip << " seamless "
                               << c->seamless << ' ' << c->ptx << wrong;
  }
  for (const auto& [group, counts] : groups)
    std::printf("%-12s %d cases, %d with all bits\n", group.c_str(), counts.first, counts.second);
}

INSTANTIATE_TEST_SUITE_P(Textures, Recorded,
                         testing::Values(Kind{"interpreted", "interpreter", false, true},
                                         Kind{"optimised", "compiled", false, false},
                                         Kind{"unoptimised", "compiled", true, false}),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
