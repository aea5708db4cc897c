// What one lane's surface access and a query of a texture or surface compute; see texture.hpp for the words they take.
#pragma once

#include "isa/ref/texture.hpp"

namespace warploom::isa::ref {

// Where a surface access of some bytes falls.
struct SurfacePlace {
  enum class Kind : std::uint8_t { inside, outside, misaligned } kind = Kind::inside;
  std::uint32_t slice = 0, row = 0;
  std::uint64_t byte = 0;  // in the row

  [[nodiscard]] std::byte* address(const TextureLevel& level) const {
    return level.data + level.slice * slice + level.pitch * row + byte;
  }
};

// `bytes`: of the whole access. With .clamp every coordinate stays inside; else outside is told.
[[nodiscard]] inline SurfacePlace surface_place(const TextureOp& op, const Image& image, const std::uint32_t* w,
                                                unsigned bytes) {
  const TextureLevel& level = image.levels[0];
  SurfacePlace p;
  unsigned at = 0;
  bool outside = false;
  const bool clamps = op.outside() == TextureOp::Outside::clamp;
  const auto within = [&](std::int64_t i, std::int64_t n) {
    if (i >= 0 && i < n) return i;
    outside = outside || !clamps;
    return std::clamp<std::int64_t>(i, 0, n - 1);
  };
  // A layer's number has 16 bits.
  if (is_layered(op.geometry))
    p.slice = static_cast<std::uint32_t>(within(w[at++] & 0xFFFFU, image.layers * (is_cube(image.geometry) ? 6 : 1)));
  const std::int64_t scale = op.has(TextureOp::kFormatted) ? image.texel_bytes() : 1;
  const std::int64_t x = static_cast<std::int64_t>(static_cast<std::int32_t>(w[at])) * scale;
  const std::int64_t row = static_cast<std::int64_t>(level.size[0]) * image.texel_bytes();
  // In steps of the access, as it must be aligned.
  std::int64_t step = x >= 0 ? x / bytes : -1;
  step = within(step, row / bytes);
  p.byte = static_cast<std::uint64_t>(step * bytes);
  const unsigned axes = axes_of(op.geometry);
  if (axes > 1) p.row = static_cast<std::uint32_t>(within(static_cast<std::int32_t>(w[at + 1]), level.size[1]));
  if (axes > 2) p.slice = static_cast<std::uint32_t>(within(static_cast<std::int32_t>(w[at + 2]), level.size[2]));
  if (outside) p.kind = SurfacePlace::Kind::outside;
  if (x % bytes != 0) p.kind = SurfacePlace::Kind::misaligned;
  return p;
}

// A value of sust.p in the surface's format.
[[nodiscard]] inline std::uint32_t channel_from_word(std::uint32_t word, ChannelFormat f) {
  switch (f) {
    case ChannelFormat::u8: return std::min(word, 255U);
    case ChannelFormat::u16: return std::min(word, 65535U);
    case ChannelFormat::s8: return static_cast<std::uint32_t>(std::clamp(static_cast<std::int32_t>(word), -128, 127));
    case ChannelFormat::s16:
      return static_cast<std::uint32_t>(std::clamp(static_cast<std::int32_t>(word), -32768, 32767));
    case ChannelFormat::f16: return static_cast<std::uint32_t>(convert(kF32, kF16, Round::rz, word));
    default: return word;
  }
}

[[nodiscard]] inline std::uint64_t reduce(const TextureOp& op, std::uint64_t old, std::uint64_t x) {
  const bool wide = op.bytes == 8, is_signed = op.has(TextureOp::kSigned);
  const auto less = [&](std::uint64_t a, std::uint64_t b) {
    if (!is_signed) return a < b;
    return wide ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b)
                : static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
  };
  switch (static_cast<TextureOp::Reduction>(op.select)) {
    case TextureOp::Reduction::min: return less(x, old) ? x : old;
    case TextureOp::Reduction::max: return less(old, x) ? x : old;
    case TextureOp::Reduction::and_: return old & x;
    case TextureOp::Reduction::or_: return old | x;
    default: return old + x;
  }
}

// txq and suq. Types and orders of channels have the numbers of OpenCL's image formats.
[[nodiscard]] inline std::uint32_t query(const TextureOp& op, const Image& image, const Sampler& sampler,
                                         std::uint32_t level_number) {
  using Query = TextureOp::Query;
  if (level_number >= image.level_count) return 0;
  const TextureLevel& level = image.levels[level_number];
  switch (static_cast<Query>(op.select)) {
    case Query::width: return level.size[0];
    case Query::height: {
      if (axes_of(image.geometry) > 1) return level.size[1];
      return op.kind == TextureOp::Kind::suq || image.linear_memory ? 0 : 1;
    }
    case Query::depth: {
      if (image.geometry == Geometry::d3) return level.size[2];
      if (is_cube(image.geometry) && op.kind == TextureOp::Kind::suq) return image.layers * 6;
      return is_layered(image.geometry) ? image.layers : 0;
    }
    case Query::channel_data_type: {
      switch (image.format) {
        case ChannelFormat::s8: return 0x10D7;
        case ChannelFormat::s16: return 0x10D8;
        case ChannelFormat::s32: return 0x10D9;
        case ChannelFormat::u8: return 0x10DA;
        case ChannelFormat::u16: return 0x10DB;
        case ChannelFormat::u32: return 0x10DC;
        case ChannelFormat::f16: return 0x10DD;
        default: return 0x10DE;
      }
    }
    case Query::channel_order: return image.channels == 1 ? 0x10B0 : image.channels == 2 ? 0x10B2 : 0x10B5;
    case Query::normalized_coords: return sampler.normalized ? 1 : 0;
    case Query::array_size: return image.layers;
    case Query::num_mipmap_levels: return image.level_count;
    case Query::num_samples: return 1;
    case Query::filter_mode: return sampler.linear ? 1 : 0;
    case Query::addr_mode_0: return static_cast<std::uint32_t>(sampler.mode[0]);
    case Query::addr_mode_1: return static_cast<std::uint32_t>(sampler.mode[1]);
    case Query::addr_mode_2: return static_cast<std::uint32_t>(sampler.mode[2]);
    default: return 0;
  }
}

}  // namespace warploom::isa::ref
