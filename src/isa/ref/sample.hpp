// What one lane's texture or surface access computes; see texture.hpp for the words it takes.
#pragma once

#include "isa/ref/texture.hpp"

namespace warploom::isa::ref {

// --- where

// Normalised coordinates keep so many bits behind the point, others all of a float.
inline constexpr int kPlaceBits = 21;

// A coordinate in units of 2^-kPlaceBits of the axis, rounded down. Subnormal ones are zero and NaN is; 2^24 and more
// are even numbers.
[[nodiscard]] inline std::int64_t place_of(float x) {
  if (!(std::fabs(x) >= 0x1p-126F)) return 0;
  return static_cast<std::int64_t>(
      std::floor(static_cast<double>(std::clamp(x, -0x1p24F, 0x1p24F)) * (1 << kPlaceBits)));
}

// In 1/256 of a texel, rounded half up, and in whole texels, rounded down.
[[nodiscard]] inline std::int64_t fine_place(float x, std::int32_t n, bool normalized) {
  if (normalized) return (place_of(x) * n + (1 << (kPlaceBits - 9))) >> (kPlaceBits - 8);
  if (!(std::fabs(x) >= 0x1p-126F)) return 0;
  return static_cast<std::int64_t>(std::floor(static_cast<double>(std::clamp(x, -0x1p31F, 0x1p31F)) * 256 + 0.5));
}
[[nodiscard]] inline std::int64_t whole_place(float x, std::int32_t n, bool normalized) {
  if (normalized) return (place_of(x) * n) >> kPlaceBits;
  if (!(std::fabs(x) >= 0x1p-126F)) return 0;
  return static_cast<std::int64_t>(std::floor(std::clamp(x, -0x1p31F, 0x1p31F)));
}

// The two texels of a linear filter and the weight of the second, in 1/256.
struct AxisTaps {
  std::int32_t first = 0, second = 0;
  std::uint32_t weight = 0;
};

[[nodiscard]] inline std::int32_t point_tap(float x, std::int32_t n, AddressMode mode, bool normalized,
                                            std::int32_t offset = 0) {
  return texel_index(whole_place(x, n, normalized) + offset, n, mode);
}

[[nodiscard]] inline AxisTaps linear_taps(float x, std::int32_t n, AddressMode mode, bool normalized,
                                          std::int32_t offset = 0) {
  const std::int64_t fixed = fine_place(x, n, normalized) - 128;
  const std::int64_t i = (fixed >> 8) + offset;
  return {texel_index(i, n, mode), texel_index(i + 1, n, mode), static_cast<std::uint32_t>(fixed & 255)};
}

// Weights of the four texels of a plane, in 1/256, that make up `whole`; the lowest bit of a texel's number is the
// second one of the first axis. A weight is split into two that make it up again, and which half rounds up is as on
// hardware. Two planes, of a volume or of two levels, share 256. `met`: texels whose weight only rounds to zero.
inline void plane_weights(std::uint32_t a, std::uint32_t b, std::uint32_t whole, std::uint32_t* w, bool* met) {
  const auto up = [](std::uint32_t x) { return (x + 128) >> 8; };
  const auto down = [](std::uint32_t x) { return (x + 127) >> 8; };
  const std::uint32_t left = down((256 - a) * whole), right = up(a * whole);
  w[2] = down(left * b);
  w[0] = left - w[2];
  w[3] = up(right * b);
  w[1] = right - w[3];
  for (unsigned k = 0; k < 4; ++k) met[k] = whole != 0 && ((k & 1U) == 0 || a != 0) && ((k & 2U) == 0 || b != 0);
}

// --- the blend

// A number rounded to `fraction` bits behind the leading one, half away from zero.
[[nodiscard]] inline double round_away(double v, int fraction) {
  const std::uint64_t half = std::uint64_t{1} << (51 - fraction);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(v) + half) & ~(2 * half - 1));
}

// One channel of a plane's four texels by their weights: all are cut to 28 bits (15 for halves) below the leading one
// of the largest, then added exactly. Subnormal numbers count as zero; a NaN gives NaN, and so do infinities of both
// signs.
[[nodiscard]] inline double weighted_sum(const float* t, const std::uint32_t* w, const bool* met, bool halves) {
  std::uint32_t largest = 0;
  for (unsigned k = 0; k < 4; ++k)
    if (met[k]) largest = std::max(largest, std::bit_cast<std::uint32_t>(t[k]) & 0x7FFFFFFFU);
  double sum = 0;
  if (largest >= 0x7F800000U) {
    for (unsigned k = 0; k < 4; ++k)
      if (met[k]) sum += static_cast<double>(t[k]) * w[k];
    return sum;
  }
  largest = 0;
  for (unsigned k = 0; k < 4; ++k)
    if (w[k] != 0) largest = std::max(largest, std::bit_cast<std::uint32_t>(t[k]) & 0x7FFFFFFFU);
  const int exponent = static_cast<int>(largest >> 23);
  if (exponent == 0) return 0;
  const int bits = halves ? 15 : 28;
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + 127 + bits - 1 - exponent) << 52);
  for (unsigned k = 0; k < 4; ++k) {
    if (w[k] == 0) continue;
    const double x = std::fabs(t[k]) < 0x1p-126F ? 0.0 : static_cast<double>(t[k]);
    sum += std::trunc(x * scale) * w[k];
  }
  return sum / (256 * scale);
}

// The sum of all planes as a number of the texture's format.
[[nodiscard]] inline float rounded_sum(double v, bool halves) {
  if (v != v) return std::bit_cast<float>(halves ? 0x7FFFE000U : 0x7FFFFFFFU);
  if (std::isinf(v)) return static_cast<float>(v);
  if (halves) {
    if (std::fabs(v) >= 0x1p-14) return static_cast<float>(round_away(v, 10));
    return static_cast<float>(std::copysign(std::floor(std::fabs(v) * 0x1p24 + 0.5) * 0x1p-24, v));
  }
  return std::fabs(v) < 0x1p-126 ? 0.0F : static_cast<float>(round_away(v, 23));
}

// Integers by their weights in 1/256, as a fraction of 16 bits.
[[nodiscard]] inline float fraction_of_sum(std::int32_t sum, ChannelFormat f) {
  switch (f) {
    case ChannelFormat::u8: return static_cast<float>(((sum * 257 + 128) >> 8) / 65535.0);
    case ChannelFormat::u16: return static_cast<float>(((sum + 128) >> 8) / 65535.0);
    case ChannelFormat::s8:
      return std::max(-1.0F, static_cast<float>(((sum * 129 + 64 + (sum >> 12) * 16) >> 7) / 32767.0));
    default: return std::max(-1.0F, static_cast<float>(((sum + 128) >> 8) / 32767.0));
  }
}

// Direction to face and place on it, as the tables of cube maps have it: +x, -x, +y, -y, +z, -z.
struct CubePlace {
  std::uint32_t face = 0;
  float s = 0, t = 0;  // normalised
};
[[nodiscard]] inline CubePlace cube_place(float x, float y, float z) {
  // What is not finite counts as zero.
  x = std::isfinite(x) ? x : 0;
  y = std::isfinite(y) ? y : 0;
  z = std::isfinite(z) ? z : 0;
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  float sc = 0, tc = 0, ma = 0;
  CubePlace p{4, 0.5F, 0.5F};
  if (ax + ay + az == 0) return p;
  if (az >= ax && az >= ay) {
    p.face = z < 0 ? 5 : 4;
    sc = z < 0 ? -x : x;
    tc = -y;
    ma = az;
  } else if (ay >= ax) {
    p.face = y < 0 ? 3 : 2;
    sc = x;
    tc = y < 0 ? -z : z;
    ma = ay;
  } else {
    p.face = x < 0 ? 1 : 0;
    sc = x < 0 ? z : -z;
    tc = -y;
    ma = ax;
  }
  p.s = (sc / ma + 1) * 0.5F;
  p.t = (tc / ma + 1) * 0.5F;
  return p;
}

// The texel of another face that lies behind the edge of `face` at place (i, j) of n.
struct CubeTexel {
  std::uint32_t face = 0;
  std::int32_t i = 0, j = 0;
};
[[nodiscard]] inline CubeTexel across_edge(std::uint32_t face, std::int32_t i, std::int32_t j, std::int32_t n) {
  const float s = (static_cast<float>(i) + 0.5F) / static_cast<float>(n) * 2 - 1;
  const float t = (static_cast<float>(j) + 0.5F) / static_cast<float>(n) * 2 - 1;
  const float ways[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
  const CubePlace p = cube_place(ways[face][0], ways[face][1], ways[face][2]);
  const auto texel = [&](float x) {
    return std::clamp(static_cast<std::int32_t>(x * static_cast<float>(n)), 0, n - 1);
  };
  return {p.face, texel(p.s), texel(p.t)};
}

// --- what

// Four channels, as numbers and as they are kept; those that the format does not have are zero.
struct Texel {
  float number[4] = {};
  std::uint32_t bits[4] = {};
};

// Reads, and tells `seen` what it read: level, slice, row, first byte in the row.
template <class Seen>
class Sampling {
 public:
  Sampling(const TextureOp& op, const Image& image, const Sampler& sampler, Seen& seen)
      : op_(op), image_(image), sampler_(sampler), seen_(seen), numbers_(is_float(image.format) || !sampler.integers) {}

  // tex and tld4.
  void lookup(const std::uint32_t* w, std::uint32_t* r) {
    const Geometry g = op_.geometry;
    unsigned at = 0;
    std::uint32_t layer = 0;
    if (is_layered(g)) layer = std::min(w[at++], image_.layers - 1);
    std::uint32_t slice = layer;
    axes_ = axes_of(g);
    std::int32_t offset[3] = {};
    if (op_.has(TextureOp::kOffsets))
      for (unsigned k = 0; k < 3; ++k) offset[k] = static_cast<std::int32_t>(w[kTextureOffsets + k]);
    // Lines of an array are read by floats alone, linear memory by integers alone; hardware gives zeros otherwise.
    if (g == Geometry::d1 && image_.linear_memory == op_.has(TextureOp::kFloatCoordinates)) return finish({}, r);
    if (!op_.has(TextureOp::kFloatCoordinates)) {
      // Integers are not moved inside by any address mode: outside, and past the last layer, there are zeros.
      std::int32_t place[3] = {};
      const TextureLevel& level = image_.levels[0];
      bool outside = is_layered(g) && w[0] >= image_.layers;
      for (unsigned k = 0; k < axes_; ++k) {
        const std::int64_t i = static_cast<std::int64_t>(static_cast<std::int32_t>(w[at + k])) + offset[k];
        outside = outside || i < 0 || i >= level.size[k];
        place[k] = static_cast<std::int32_t>(i);
      }
      if (outside) return finish({}, r);
      return finish(texel(level, place, slice), r);
    }
    float x[3] = {};
    for (unsigned k = 0; k < axes_; ++k) x[k] = std::bit_cast<float>(w[at + k]);
    if (is_cube(g)) {
      const CubePlace p = cube_place(x[0], x[1], x[2]);
      x[0] = p.s;
      x[1] = p.t;
      axes_ = 2;
      slice = layer * 6 + p.face;
    }
    if (op_.kind == TextureOp::Kind::tld4) return gather(x, offset, slice, r);
    // In 1/256 of a level.
    const std::int32_t fine = level_of_detail(w), last = static_cast<std::int32_t>(image_.level_count - 1);
    if (!sampler_.mip_linear) return finish(filtered(std::min((fine + 128) >> 8, last), 0, x, offset, slice), r);
    const std::int32_t level = std::min(fine >> 8, last);
    finish(filtered(level, level == last ? 0 : static_cast<std::uint32_t>(fine & 255), x, offset, slice), r);
  }

 private:
  // In 1/256, rounded toward zero; NaN is 0.
  static std::int32_t fixed_level(float x) {
    return x == x ? static_cast<std::int32_t>(std::clamp(x, -64.0F, 64.0F) * 256) : 0;
  }

  // Level of slopes, in 1/256: hardware takes the largest of both, their sum and their difference, and the length of a
  // vector as its longest side and a part of the others. An H200 is within 2/256 of this.
  [[nodiscard]] std::int32_t level_of_slopes(const std::uint32_t* w) const {
    double dx[3] = {}, dy[3] = {};
    for (unsigned k = 0; k < axes_; ++k) {
      const double scale = sampler_.normalized || is_cube(op_.geometry) ? image_.levels[0].size[k] : 1;
      const auto slope = [&](unsigned at) {
        const float x = std::bit_cast<float>(w[at]);
        return x == x ? static_cast<double>(std::clamp(x, -0x1p100F, 0x1p100F)) * scale : 0;
      };
      dx[k] = slope(kTextureSlopes + k);
      dy[k] = slope(kTextureSlopes + 3 + k);
    }
    const auto length = [](double x, double y, double z) {
      const double sides[3] = {std::fabs(x), std::fabs(y), std::fabs(z)};
      const double most = std::max({sides[0], sides[1], sides[2]});
      return most + (sides[0] + sides[1] + sides[2] - most) * (11.0 / 32);
    };
    const double both = std::max(length(dx[0] + dy[0], dx[1] + dy[1], dx[2] + dy[2]),
                                 length(dx[0] - dy[0], dx[1] - dy[1], dx[2] - dy[2]));
    const double most = std::max({length(dx[0], dx[1], dx[2]), length(dy[0], dy[1], dy[2]), both * (11.0 / 16)});
    if (!(most > 1)) return 0;
    return static_cast<std::int32_t>(std::floor(std::min(std::log2(most), 64.0) * 256 + 0.5));
  }

  // In 1/256 of a level. Lookups that name no level take the first.
  [[nodiscard]] std::int32_t level_of_detail(const std::uint32_t* w) const {
    std::int32_t lod = 0;
    if (op_.level() == TextureOp::Level::level) lod = fixed_level(std::bit_cast<float>(w[kTextureLevel]));
    if (op_.level() == TextureOp::Level::grad) lod = level_of_slopes(w);
    if (op_.level() == TextureOp::Level::level || op_.level() == TextureOp::Level::grad)
      lod += fixed_level(sampler_.bias);
    const std::int32_t least = fixed_level(sampler_.least_level);
    lod = std::clamp(lod, least, std::max(least, fixed_level(sampler_.most_level)));
    return std::clamp(lod, 0, static_cast<std::int32_t>(image_.level_count - 1) * 256);
  }

  [[nodiscard]] Texel decoded(Texel t) const {
    for (unsigned c = 0; c < image_.channels; ++c)
      t.number[c] = sampler_.srgb && c < 3 ? srgb_to_linear(t.bits[c]) : channel_number(t.bits[c], image_.format);
    return t;
  }

  // The border has the texels' format.
  [[nodiscard]] Texel border() const {
    Texel t;
    for (unsigned c = 0; c < image_.channels; ++c)
      t.bits[c] = channel_of_border(sampler_.border[c], image_.format, sampler_.integers);
    t = decoded(t);
    for (unsigned c = 0; c < 3 && sampler_.srgb; ++c) t.number[c] = std::clamp(sampler_.border[c], 0.0F, 1.0F);
    return t;
  }

  Texel texel(const TextureLevel& level, const std::int32_t* place, std::uint32_t slice) const {
    for (unsigned k = 0; k < axes_; ++k)
      if (place[k] == kBorder) return border();
    Texel t;
    const std::uint32_t y = axes_ > 1 ? static_cast<std::uint32_t>(place[1]) : 0;
    const std::uint32_t z = axes_ > 2 ? static_cast<std::uint32_t>(place[2]) : slice;
    const std::uint64_t at = static_cast<std::uint64_t>(static_cast<std::uint32_t>(place[0])) * image_.texel_bytes();
    seen_(level, z, y, at);
    const std::byte* p = level.data + level.slice * z + level.pitch * y + at;
    const unsigned step = channel_bytes(image_.format);
    for (unsigned c = 0; c < image_.channels; ++c) t.bits[c] = channel_bits(p + std::size_t{c} * step, image_.format);
    return decoded(t);
  }

  [[nodiscard]] bool normalized() const { return sampler_.normalized || is_cube(op_.geometry); }
  [[nodiscard]] std::int32_t size(const TextureLevel& level, unsigned axis) const {
    return static_cast<std::int32_t>(level.size[axis]);
  }

  // Of a level, blended with `weight` / 256 of the next.
  Texel filtered(std::int32_t number, std::uint32_t weight, const float* x, const std::int32_t* offset,
                 std::uint32_t slice) const {
    const TextureLevel& level = image_.levels[number];
    if (!sampler_.linear || !numbers_) {
      const auto nearest = [&](const TextureLevel& l) {
        std::int32_t place[3] = {};
        for (unsigned k = 0; k < axes_; ++k)
          place[k] = point_tap(x[k], size(l, k), mode_of(sampler_, k), normalized(), offset[k]);
        return texel(l, place, slice);
      };
      if (weight == 0 || !numbers_) return nearest(level);
      Sum sum;
      sum.add(*this, nearest(level), 256 - weight);
      sum.add(*this, nearest(image_.levels[number + 1]), weight);
      return sum.texel(*this);
    }
    Sum sum;
    add_level(sum, level, 256 - weight, x, offset, slice);
    if (weight != 0) add_level(sum, image_.levels[number + 1], weight, x, offset, slice);
    return sum.texel(*this);
  }

  // What is blended, by channel.
  struct Sum {
    double numbers[4] = {};
    std::int32_t integers[4] = {};

    void add(const Sampling& s, const Texel* t, const std::uint32_t* w, const bool* met) {
      for (unsigned c = 0; c < s.image_.channels; ++c) {
        if (s.blends_integers(c)) {
          for (unsigned k = 0; k < 4; ++k)
            integers[c] += static_cast<std::int32_t>(t[k].bits[c]) * static_cast<std::int32_t>(w[k]);
          continue;
        }
        const float values[4] = {t[0].number[c], t[1].number[c], t[2].number[c], t[3].number[c]};
        numbers[c] += weighted_sum(values, w, met, s.image_.format != ChannelFormat::f32);
      }
    }
    void add(const Sampling& s, const Texel& t, std::uint32_t weight) {
      const Texel four[4] = {t, {}, {}, {}};
      const std::uint32_t w[4] = {weight, 0, 0, 0};
      const bool met[4] = {true, false, false, false};
      add(s, four, w, met);
    }
    [[nodiscard]] Texel texel(const Sampling& s) const {
      Texel t;
      for (unsigned c = 0; c < s.image_.channels; ++c)
        t.number[c] = s.blends_integers(c) ? fraction_of_sum(integers[c], s.image_.format)
                                           : rounded_sum(numbers[c], s.image_.format != ChannelFormat::f32);
      return t;
    }
  };
  [[nodiscard]] bool blends_integers(unsigned c) const { return !is_float(image_.format) && !(sampler_.srgb && c < 3); }

  void add_level(Sum& sum, const TextureLevel& level, std::uint32_t whole, const float* x, const std::int32_t* offset,
                 std::uint32_t slice) const {
    AxisTaps taps[3];
    for (unsigned k = 0; k < axes_; ++k) {
      if (joins_faces()) {
        const std::int64_t fixed = fine_place(x[k], size(level, k), true) - 128;
        taps[k].first = static_cast<std::int32_t>(fixed >> 8);
        taps[k].second = taps[k].first + 1;
        taps[k].weight = static_cast<std::uint32_t>(fixed & 255);
        continue;
      }
      taps[k] = linear_taps(x[k], size(level, k), mode_of(sampler_, k), normalized(), offset[k]);
      // Past the edge both texels are one, and the axis does not split weights.
      if (taps[k].first == taps[k].second && mode_of(sampler_, k) == AddressMode::clamp) taps[k].weight = 0;
    }
    // A line is one row of a plane, met at its edge: half of a border.
    if (axes_ == 1 && sampler_.mode[1] == AddressMode::border) taps[1] = {kBorder, 0, 128};
    const std::uint32_t second = axes_ == 3 ? (whole * taps[2].weight + 128) >> 8 : 0;
    add_plane(sum, level, taps, taps[2].first, whole - second, slice);
    if (second != 0) add_plane(sum, level, taps, taps[2].second, second, slice);
  }

  [[nodiscard]] bool joins_faces() const { return sampler_.seamless && is_cube(op_.geometry); }

  // Three faces meet at a corner: the texel that is not there gives its weight to the others.
  static void share_corner(const AxisTaps* taps, std::int32_t n, std::uint32_t* weights, bool* met) {
    const auto outside = [&](std::int32_t i) { return i < 0 || i >= n; };
    for (unsigned k = 0; k < 4; ++k) {
      if (!outside((k & 1U) != 0 ? taps[0].second : taps[0].first) ||
          !outside((k & 2U) != 0 ? taps[1].second : taps[1].first))
        continue;
      const std::uint32_t third = weights[k] / 3;
      weights[k ^ 3U] += weights[k] - 2 * third;
      weights[k ^ 1U] += third;
      weights[k ^ 2U] += third;
      weights[k] = 0;
      met[k] = false;
      return;
    }
  }

  Texel joined_texel(const TextureLevel& level, const std::int32_t* place, std::uint32_t slice) const {
    const std::int32_t n = size(level, 0);
    const auto inside = [&](std::int32_t i) { return i >= 0 && i < n; };
    if (inside(place[0]) && inside(place[1])) return texel(level, place, slice);
    const CubeTexel t = across_edge(slice % 6, place[0], place[1], n);
    const std::int32_t there[3] = {t.i, t.j, 0};
    return texel(level, there, slice / 6 * 6 + t.face);
  }

  void add_plane(Sum& sum, const TextureLevel& level, const AxisTaps* taps, std::int32_t z, std::uint32_t whole,
                 std::uint32_t slice) const {
    Texel texels[4];
    std::uint32_t weights[4];
    bool met[4];
    plane_weights(taps[0].weight, taps[1].weight, whole, weights, met);
    if (joins_faces()) share_corner(taps, size(level, 0), weights, met);
    for (unsigned k = 0; k < 4; ++k) {
      if (!met[k]) continue;
      const std::int32_t place[3] = {(k & 1U) != 0 ? taps[0].second : taps[0].first,
                                     (k & 2U) != 0 ? taps[1].second : taps[1].first, z};
      texels[k] = joins_faces()                       ? joined_texel(level, place, slice)
                  : axes_ == 1 && place[1] == kBorder ? border()
                                                      : texel(level, place, slice);
    }
    sum.add(*this, texels, weights, met);
  }

  // One channel of the four texels that a linear filter would read, counter-clockwise from the lower left.
  void gather(const float* x, const std::int32_t* offset, std::uint32_t slice, std::uint32_t* r) const {
    const TextureLevel& level = image_.levels[0];
    AxisTaps taps[2];
    for (unsigned k = 0; k < 2; ++k)
      taps[k] = linear_taps(x[k], static_cast<std::int32_t>(level.size[k]), mode_of(sampler_, k),
                            sampler_.normalized || is_cube(op_.geometry), offset[k]);
    constexpr unsigned kCorners[4] = {2, 3, 1, 0};
    for (unsigned c = 0; c < 4; ++c) {
      std::int32_t place[3] = {(kCorners[c] & 1U) != 0 ? taps[0].second : taps[0].first,
                               (kCorners[c] & 2U) != 0 ? taps[1].second : taps[1].first, 0};
      const Texel t = texel(level, place, slice);
      r[c] = numbers_ && op_.result == TextureOp::Result::f32 ? std::bit_cast<std::uint32_t>(t.number[op_.select])
                                                              : t.bits[op_.select];
    }
  }

  void finish(const Texel& t, std::uint32_t* r) const {
    std::uint32_t bits[4];
    for (unsigned c = 0; c < 4; ++c) bits[c] = numbers_ ? std::bit_cast<std::uint32_t>(t.number[c]) : t.bits[c];
    if (op_.result == TextureOp::Result::f32 || op_.result == TextureOp::Result::integer) {
      std::copy_n(bits, 4, r);
      return;
    }
    std::uint32_t half[4];
    for (unsigned c = 0; c < 4; ++c) half[c] = static_cast<std::uint32_t>(convert(kF32, kF16, Round::rn, bits[c]));
    if (op_.result == TextureOp::Result::f16) {
      std::copy_n(half, 4, r);
    } else {
      r[0] = half[0] | half[1] << 16;
      r[1] = half[2] | half[3] << 16;
    }
  }

  const TextureOp& op_;
  const Image& image_;
  const Sampler& sampler_;
  Seen& seen_;
  unsigned axes_ = 1;
  bool numbers_;  // of this read: floats, or integers as fractions
};

}  // namespace warploom::isa::ref
