// Textures and surfaces: what they look like in memory, and what one lane's access computes (PTX ISA sections 9.7.10
// and 9.7.11; CUDA C++ Programming Guide, "Texture Fetching").
//
// The rounding of weights and of the blend is what an H200 does: tests/textures holds its answers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isa/ref/convert.hpp"
#include "isa/ref/srgb.hpp"

namespace warploom::isa::ref {

// --- what is there

enum class Geometry : std::uint8_t { d1, d2, d3, a1d, a2d, cube, acube };
enum class ChannelFormat : std::uint8_t { u8, u16, u32, s8, s16, s32, f16, f32 };
enum class AddressMode : std::uint8_t { wrap, clamp, mirror, border };

[[nodiscard]] constexpr unsigned channel_bytes(ChannelFormat f) {
  switch (f) {
    case ChannelFormat::u8:
    case ChannelFormat::s8: return 1;
    case ChannelFormat::u16:
    case ChannelFormat::s16:
    case ChannelFormat::f16: return 2;
    default: return 4;
  }
}
[[nodiscard]] constexpr bool is_float(ChannelFormat f) { return f == ChannelFormat::f16 || f == ChannelFormat::f32; }
[[nodiscard]] constexpr bool is_signed(ChannelFormat f) {
  return f == ChannelFormat::s8 || f == ChannelFormat::s16 || f == ChannelFormat::s32;
}
[[nodiscard]] constexpr bool is_layered(Geometry g) {
  return g == Geometry::a1d || g == Geometry::a2d || g == Geometry::acube;
}
[[nodiscard]] constexpr bool is_cube(Geometry g) { return g == Geometry::cube || g == Geometry::acube; }
// Coordinates without the layer.
[[nodiscard]] constexpr unsigned axes_of(Geometry g) {
  switch (g) {
    case Geometry::d1:
    case Geometry::a1d: return 1;
    case Geometry::d2:
    case Geometry::a2d: return 2;
    default: return 3;
  }
}

inline constexpr unsigned kMaxLevels = 16;

// One mip level: rows of texels, slices of rows. A slice is a layer or a face where there are such.
struct TextureLevel {
  std::byte* data = nullptr;
  std::uint32_t size[3] = {1, 1, 1};   // in texels
  std::uint64_t pitch = 0, slice = 0;  // in bytes
};

struct Image {
  TextureLevel levels[kMaxLevels];
  std::uint32_t level_count = 1;
  std::uint32_t layers = 1;  // of layered ones; faces are not counted
  Geometry geometry{};
  ChannelFormat format{};
  std::uint8_t channels = 1;
  bool linear_memory = false;  // a range of plain memory, fetched by integers

  [[nodiscard]] unsigned texel_bytes() const { return channel_bytes(format) * channels; }
};

struct Sampler {
  AddressMode mode[3] = {AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
  bool linear = false;      // filter
  bool normalized = false;  // coordinates
  bool integers = false;    // 8- and 16-bit integers are read as they are
  bool srgb = false;
  bool seamless = false;    // cube maps filter over the edges of faces
  bool mip_linear = false;  // blends levels
  float bias = 0, least_level = 0, most_level = 0;
  float border[4] = {};
};

// --- what is asked for

// An instruction without its operands; fits in 64 bits.
struct TextureOp {
  enum class Kind : std::uint8_t { tex, tld4, txq, suld, sust, sured, suq, istypep };
  enum class Level : std::uint8_t { none, base, level, grad };
  enum class Outside : std::uint8_t { trap, clamp, zero };
  enum class Query : std::uint8_t {
    width,
    height,
    depth,
    channel_data_type,
    channel_order,
    normalized_coords,
    array_size,
    num_mipmap_levels,
    num_samples,
    filter_mode,
    addr_mode_0,
    addr_mode_1,
    addr_mode_2,
    memory_layout
  };
  enum class Reduction : std::uint8_t { add, min, max, and_, or_ };
  enum : std::uint8_t { kFloatCoordinates = 1, kOffsets = 2, kFormatted = 4, kSigned = 8, kQueryLevel = 16 };
  enum class Result : std::uint8_t { f32, integer, f16, f16x2 };

  Kind kind{};
  Geometry geometry{};
  Result result{};
  std::uint8_t flags = 0;
  std::uint8_t select = 0;  // component of tld4, Query, Reduction, what istypep asks for
  std::uint8_t width = 1;   // elements of suld and sust
  std::uint8_t bytes = 4;   // of an element
  std::uint8_t how = 0;     // Level or Outside

  [[nodiscard]] bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  [[nodiscard]] Level level() const { return static_cast<Level>(how); }
  [[nodiscard]] Outside outside() const { return static_cast<Outside>(how); }
  [[nodiscard]] std::uint64_t word() const { return std::bit_cast<std::uint64_t>(*this); }
  static TextureOp of(std::uint64_t word) { return std::bit_cast<TextureOp>(word); }
};
static_assert(sizeof(TextureOp) == 8);

// Operands of one lane are words in these places.
inline constexpr unsigned kTextureCoordinates = 0;  // as in the instruction: a layer first
inline constexpr unsigned kTextureLevel = 4;
inline constexpr unsigned kTextureSlopes = 4;  // d/dx from here, d/dy three further
inline constexpr unsigned kTextureOffsets = 10;
inline constexpr unsigned kTextureData = 4;  // of stores; 64-bit elements take two words
inline constexpr unsigned kTextureWords = 13;
inline constexpr unsigned kTextureResults = 4;

// --- texels

[[nodiscard]] inline float half_to_float(std::uint32_t h) {
  const std::uint32_t sign = (h & 0x8000U) << 16, rest = h & 0x7FFFU;
  if (rest >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | (rest & 0x3FFU) << 13);
  if (rest < 0x400U)
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(rest) * 0x1p-24F));
  return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000U));
}

// A channel as it lies in memory, sign-extended if it has a sign.
[[nodiscard]] inline std::uint32_t channel_bits(const std::byte* p, ChannelFormat f) {
  switch (f) {
    case ChannelFormat::u8: return static_cast<std::uint8_t>(*p);
    case ChannelFormat::s8: return static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int8_t>(*p)));
    case ChannelFormat::s16: {
      std::int16_t x;
      std::memcpy(&x, p, 2);
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(x));
    }
    case ChannelFormat::u16:
    case ChannelFormat::f16: {
      std::uint16_t x;
      std::memcpy(&x, p, 2);
      return x;
    }
    default: {
      std::uint32_t x;
      std::memcpy(&x, p, 4);
      return x;
    }
  }
}

[[nodiscard]] inline float srgb_to_linear(std::uint32_t byte) {
  return static_cast<float>(kLinearOfSrgb[byte & 0xFFU]) * 0x1p-14F;
}

// A channel as a number: floats as they are, integers over their largest value.
[[nodiscard]] inline float channel_number(std::uint32_t bits, ChannelFormat f) {
  switch (f) {
    case ChannelFormat::f32: return std::bit_cast<float>(bits);
    case ChannelFormat::f16: return half_to_float(bits);
    case ChannelFormat::u8: return static_cast<float>(static_cast<double>(bits) / 255);
    case ChannelFormat::u16: return static_cast<float>(static_cast<double>(bits) / 65535);
    case ChannelFormat::s8: return std::max(-1.0F, static_cast<float>(static_cast<std::int32_t>(bits) / 127.0));
    case ChannelFormat::s16: return std::max(-1.0F, static_cast<float>(static_cast<std::int32_t>(bits) / 32767.0));
    default: return std::bit_cast<float>(bits);
  }
}

// A border's channel in a texture's format: rounded for fractions, cut for halves, the low bits of the float for
// integers.
[[nodiscard]] inline std::uint32_t channel_of_border(float x, ChannelFormat f, bool integers) {
  const auto word = std::bit_cast<std::uint32_t>(x);
  const auto fraction = [&](float low, float scale) {
    const float inside = x == x ? std::clamp(x, low, 1.0F) : 0;
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::nearbyint(inside * scale)));
  };
  switch (f) {
    case ChannelFormat::u8: return integers ? word & 0xFFU : fraction(0, 255);
    case ChannelFormat::u16: return integers ? word & 0xFFFFU : fraction(0, 65535);
    case ChannelFormat::s8:
      return integers ? static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int8_t>(word)))
                      : fraction(-1, 127);
    case ChannelFormat::s16:
      return integers ? static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int16_t>(word)))
                      : fraction(-1, 32767);
    case ChannelFormat::f16: return static_cast<std::uint32_t>(convert(kF32, kF16, Round::rz, word));
    default: return word;
  }
}

// --- places along an axis

// A texel outside a texture whose border is asked for.
inline constexpr std::int32_t kBorder = -1;

// Texel i of an axis of n texels, or kBorder.
[[nodiscard]] inline std::int32_t texel_index(std::int64_t i, std::int32_t n, AddressMode mode) {
  switch (mode) {
    case AddressMode::wrap: {
      const std::int64_t r = i % n;
      return static_cast<std::int32_t>(r < 0 ? r + n : r);
    }
    case AddressMode::mirror: {
      std::int64_t r = i % (2 * std::int64_t{n});
      if (r < 0) r += 2 * std::int64_t{n};
      return static_cast<std::int32_t>(r < n ? r : 2 * std::int64_t{n} - 1 - r);
    }
    case AddressMode::border: return i < 0 || i >= n ? kBorder : static_cast<std::int32_t>(i);
    default: return static_cast<std::int32_t>(std::clamp<std::int64_t>(i, 0, n - 1));
  }
}

// Wrapping and mirroring need normalised coordinates.
[[nodiscard]] inline AddressMode mode_of(const Sampler& s, unsigned axis) {
  const AddressMode m = s.mode[axis];
  return !s.normalized && (m == AddressMode::wrap || m == AddressMode::mirror) ? AddressMode::clamp : m;
}

}  // namespace warploom::isa::ref
