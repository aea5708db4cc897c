// The common lookups for a whole warp at once: lines and planes without levels, point and linear filters, texels of
// floats and bytes. Gives the bits of isa/ref/sample.hpp, which does everything else.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "device/cpu/texture_warp.hpp"
#include "isa/ref/sample.hpp"

namespace warploom::device {

namespace {

namespace ref = isa::ref;
using ref::AddressMode;
using ref::ChannelFormat;
using ref::TextureOp;
using u32 = std::uint32_t;
using s32 = std::int32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;

constexpr unsigned kLanes = 32;
#define WARPLOOM_INLINE inline __attribute__((always_inline))

struct Axis {
  s32 size;
  AddressMode mode;
  bool normalized;
};

// In 2^-21 of the axis, rounded down; the ends of what an axis can tell apart are even numbers.
WARPLOOM_INLINE double place_of(float coordinate, bool wraps) {
  const double x = std::fabs(coordinate) < 0x1p-126F ? 0.0 : static_cast<double>(coordinate);
  double place = std::floor((x > -0x1p24 ? x < 0x1p24 ? x : 0x1p24 : x <= -0x1p24 ? -0x1p24 : 0) * 0x1p21);
  if (wraps) return place - std::floor(place * 0x1p-21) * 0x1p21;
  place = place > -0x1p21 ? place : -0x1p21;
  return place < 0x1p22 ? place : 0x1p22;
}

WARPLOOM_INLINE void nearest(const Axis& a, const u32* words, s32* index) {
  const s32 last = a.size - 1;
  if (!a.normalized) {
    const auto most = static_cast<float>(last);
    for (unsigned l = 0; l < kLanes; ++l) {
      const float x = std::bit_cast<float>(words[l]);
      index[l] = static_cast<s32>(x > 0 ? x < most ? x : most : 0);
    }
    return;
  }
  const bool wraps = a.mode == AddressMode::wrap;
  for (unsigned l = 0; l < kLanes; ++l) {
    const double place = place_of(std::bit_cast<float>(words[l]), wraps);
    const auto i = static_cast<s32>((place > 0 ? place : 0) * a.size * 0x1p-21);
    index[l] = i < last ? i : last;
  }
}

// Texels on both sides, and the weight of the second in 1/256.
WARPLOOM_INLINE void between(const Axis& a, const u32* words, s32* first, s32* second, s32* weight) {
  const s32 last = a.size - 1;
  const bool wraps = a.normalized && a.mode == AddressMode::wrap;
  for (unsigned l = 0; l < kLanes; ++l) {
    const double x = static_cast<double>(std::bit_cast<float>(words[l]));
    double fine = 0;
    if (!a.normalized) {
      const double end = a.size + 1.0;
      fine = std::floor((x > -1 ? x < end ? x : end : x <= -1 ? -1 : 0) * 256 + 0.5);
    } else {
      fine = std::floor((place_of(std::bit_cast<float>(words[l]), wraps) * a.size + 0x1p12) * 0x1p-13);
    }
    const s32 fixed = static_cast<s32>(fine) - 128;
    s32 i = fixed >> 8, j = i + 1;
    if (wraps) {
      i = i < 0 ? last : i > last ? i - a.size : i;
      j = j > last ? j - a.size : j;
    } else {
      i = i < 0 ? 0 : i > last ? last : i;
      j = j < 0 ? 0 : j > last ? last : j;
    }
    first[l] = i;
    second[l] = j;
    weight[l] = fixed & 255;
  }
}

// Reads one channel of 32 texels.
template <class T>
WARPLOOM_INLINE void read(const ref::TextureLevel& level, unsigned texel, unsigned at, const s32* x, const s32* y,
                          T* to) {
  const std::byte* base = level.data + at;
  for (unsigned l = 0; l < kLanes; ++l)
    std::memcpy(to + l, base + static_cast<u64>(static_cast<u32>(y[l])) * level.pitch + static_cast<u32>(x[l]) * texel,
                sizeof(T));
}

struct Weights {
  s32 w[4][kLanes];
};

// As ref::plane_weights of a whole plane.
WARPLOOM_INLINE void weigh(const s32* a, const s32* b, Weights& out) {
  for (unsigned l = 0; l < kLanes; ++l) {
    const s32 both = (a[l] * b[l] + 128) >> 8;
    out.w[3][l] = both;
    out.w[2][l] = b[l] - both;
    out.w[1][l] = a[l] - both;
    out.w[0][l] = 256 - a[l] - b[l] + both;
  }
}

// As ref::weighted_sum and ref::rounded_sum; false when a texel is not finite.
WARPLOOM_INLINE bool blend_floats(const float (*t)[kLanes], const Weights& w, u32* out) {
  u32 extreme = 0;
  for (unsigned k = 0; k < 4; ++k)
    for (unsigned l = 0; l < kLanes; ++l) {
      const u32 b = std::bit_cast<u32>(t[k][l]) & 0x7F800000U;
      extreme = b > extreme ? b : extreme;
    }
  if (extreme == 0x7F800000U) return false;
  u64 scale_bits[kLanes], back_bits[kLanes];
  for (unsigned l = 0; l < kLanes; ++l) {
    u32 largest = 0;
    for (unsigned k = 0; k < 4; ++k) {
      const u32 b = w.w[k][l] != 0 ? std::bit_cast<u32>(t[k][l]) & 0x7F800000U : 0U;
      largest = b > largest ? b : largest;
    }
    scale_bits[l] = static_cast<u64>(1023 + 154 - (largest >> 23)) << 52;
    back_bits[l] = static_cast<u64>(1023 - 154 - 8 + (largest >> 23)) << 52;
  }
  double sum[kLanes] = {};
  for (unsigned k = 0; k < 4; ++k)
    for (unsigned l = 0; l < kLanes; ++l) {
      const u32 b = std::bit_cast<u32>(t[k][l]);
      const float x = std::bit_cast<float>((b & 0x7F800000U) != 0 ? b : 0U);
      const double scaled = static_cast<double>(x) * std::bit_cast<double>(scale_bits[l]);
      sum[l] += std::trunc(scaled) * w.w[k][l];
    }
  for (unsigned l = 0; l < kLanes; ++l) {
    const u64 v = std::bit_cast<u64>(sum[l] * std::bit_cast<double>(back_bits[l]));
    const double rounded = std::bit_cast<double>((v + (u64{1} << 28)) & ~((u64{1} << 29) - 1));
    const u32 bits = std::bit_cast<u32>(static_cast<float>(rounded));
    out[l] = (v & 0x7FF0000000000000ULL) >= (static_cast<u64>(1023 - 126) << 52) ? bits : 0U;
  }
  return true;
}

WARPLOOM_INLINE bool look_up(const TextureOp& op, const TextureSetup& setup, const u32* words, u32 (*out)[kLanes]) {
  const ref::Image& image = setup.image;
  const ref::Sampler& s = setup.sampler;
  const ref::TextureLevel& level = image.levels[0];
  const unsigned texel = image.texel_bytes();
  const bool plane = image.geometry == ref::Geometry::d2;
  const Axis ax{static_cast<s32>(level.size[0]), s.mode[0], s.normalized};
  const Axis ay{static_cast<s32>(level.size[1]), s.mode[1], s.normalized};
  alignas(64) s32 x0[kLanes], x1[kLanes], y0[kLanes] = {}, y1[kLanes] = {};
  const bool bytes = image.format == ChannelFormat::u8;
  for (unsigned c = image.channels; c < 4; ++c) std::fill_n(out[c], kLanes, 0U);
  if (!s.linear || (bytes && s.integers)) {
    nearest(ax, words, x0);
    if (plane) nearest(ay, words + kLanes, y0);
    for (unsigned c = 0; c < image.channels; ++c) {
      if (!bytes) {
        read(level, texel, 4 * c, x0, y0, out[c]);
        continue;
      }
      std::uint8_t raw[kLanes];
      read(level, texel, c, x0, y0, raw);
      for (unsigned l = 0; l < kLanes; ++l)
        out[c][l] = s.integers ? raw[l] : std::bit_cast<u32>(static_cast<float>(raw[l] / 255.0));
    }
    return true;
  }
  alignas(64) s32 a[kLanes], b[kLanes] = {};
  between(ax, words, x0, x1, a);
  if (plane) between(ay, words + kLanes, y0, y1, b);
  Weights w;
  weigh(a, b, w);
  const s32* const xs[4] = {x0, x1, x0, x1};
  const s32* const ys[4] = {y0, y0, y1, y1};
  for (unsigned c = 0; c < image.channels; ++c) {
    if (!bytes) {
      alignas(64) float t[4][kLanes];
      for (unsigned k = 0; k < 4; ++k) read(level, texel, 4 * c, xs[k], ys[k], t[k]);
      if (!blend_floats(t, w, out[c])) return false;
      continue;
    }
    s32 sum[kLanes] = {};
    for (unsigned k = 0; k < 4; ++k) {
      std::uint8_t raw[kLanes];
      read(level, texel, c, xs[k], ys[k], raw);
      for (unsigned l = 0; l < kLanes; ++l) sum[l] += w.w[k][l] * raw[l];
    }
    for (unsigned l = 0; l < kLanes; ++l)
      out[c][l] = std::bit_cast<u32>(static_cast<float>(((sum[l] * 257 + 128) >> 8) / 65535.0));
  }
  (void)op;
  return true;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) bool look_up_wide(const TextureOp& op, const TextureSetup& setup, const u32* words,
                                                  u32 (*out)[kLanes]) {
  return look_up(op, setup, words, out);
}
#endif
bool look_up_plain(const TextureOp& op, const TextureSetup& setup, const u32* words, u32 (*out)[kLanes]) {
  return look_up(op, setup, words, out);
}

}  // namespace

bool access_common_texture(const TextureOp& op, const TextureSetup& setup, const u32* words, u32* results, u32 lanes) {
  const ref::Image& image = setup.image;
  const ref::Sampler& s = setup.sampler;
  using Level = TextureOp::Level;
  const bool simple = op.kind == TextureOp::Kind::tex && op.has(TextureOp::kFloatCoordinates) &&
                      !op.has(TextureOp::kOffsets) && image.level_count == 1 &&
                      (op.level() == Level::none || op.level() == Level::base) &&
                      (op.result == TextureOp::Result::f32 || op.result == TextureOp::Result::integer) && !s.srgb;
  if (!simple) return false;
  if (image.geometry != ref::Geometry::d2 && (image.geometry != ref::Geometry::d1 || image.linear_memory)) return false;
  if (image.format != ChannelFormat::f32 && image.format != ChannelFormat::u8) return false;
  for (unsigned k = 0; k < 2; ++k) {
    if (s.mode[k] == AddressMode::border) return false;
    if (s.normalized && s.mode[k] == AddressMode::mirror) return false;
  }
  alignas(64) u32 out[4][kLanes];
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2") != 0;
  const bool done = wide ? look_up_wide(op, setup, words, out) : look_up_plain(op, setup, words, out);
#else
  const bool done = look_up_plain(op, setup, words, out);
#endif
  if (!done) return false;
  for (unsigned c = 0; c < 4; ++c) {
    if (lanes == ~0U) {
      std::memcpy(results + c * kLanes, out[c], sizeof out[c]);
      continue;
    }
    for (unsigned l = 0; l < kLanes; ++l)
      if ((lanes >> l & 1U) != 0) results[c * kLanes + l] = out[c][l];
  }
  return true;
}

}  // namespace warploom::device
