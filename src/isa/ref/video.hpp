// Scalar reference semantics of the SIMD-in-a-word video instructions (vadd2, vabsdiff4, ...).
#pragma once

#include "isa/ref/compare.hpp"

namespace warploom::isa::ref {

enum class VideoOp : std::uint8_t { add, sub, avrg, absdiff, min, max, set };

// Which source byte or half each lane takes, which lanes are written, and what happens to the result.
struct Video {
  VideoOp op = VideoOp::add;
  Cmp cmp = Cmp::eq;
  unsigned lanes = 4;  // 2 or 4
  bool a_signed = false, b_signed = false, d_signed = false;
  bool sat = false;                               // clamp each lane to the result's range
  bool accumulate = false;                        // .add: d = c + sum of the selected lanes
  unsigned mask = 15;                             // lanes that are written or summed
  unsigned a_select = 0x3210, b_select = 0x7654;  // a nibble for each lane: 0-3 from a, 4-7 from b (0-1, 2-3 of two)
};

constexpr std::int32_t video_lane(std::uint32_t a, std::uint32_t b, unsigned select, unsigned lanes, bool is_signed) {
  const unsigned width = 32 / lanes, at = select % (2 * lanes);
  const std::uint32_t word = at < lanes ? a : b;
  const std::uint32_t v = word >> (width * (at % lanes)) & ((1u << width) - 1);
  return is_signed && (v >> (width - 1)) != 0 ? std::int32_t(v) - (1 << width) : std::int32_t(v);
}

constexpr std::uint32_t video(const Video& v, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const unsigned width = 32 / v.lanes;
  const std::uint32_t lane_mask = (1u << width) - 1;
  std::uint32_t d = c;
  for (unsigned i = 0; i < v.lanes; ++i) {
    if ((v.mask >> i & 1) == 0) continue;
    const std::int32_t x = video_lane(a, b, v.a_select >> (4 * i) & 15, v.lanes, v.a_signed);
    const std::int32_t y = video_lane(a, b, v.b_select >> (4 * i) & 15, v.lanes, v.b_signed);
    std::int32_t r = 0;
    switch (v.op) {
      case VideoOp::add: r = x + y; break;
      case VideoOp::sub: r = x - y; break;
      // A sum that is not negative rounds up, a negative one down.
      case VideoOp::avrg: r = (x + y + (x + y >= 0 ? 1 : 0)) >> 1; break;
      case VideoOp::absdiff: r = x < y ? y - x : x - y; break;
      case VideoOp::min: r = x < y ? x : y; break;
      case VideoOp::max: r = x < y ? y : x; break;
      case VideoOp::set: r = compare(v.cmp, x, y) ? 1 : 0; break;
    }
    if (v.sat && v.op != VideoOp::set) {
      const std::int32_t low = v.d_signed ? -(1 << (width - 1)) : 0;
      const std::int32_t high = v.d_signed ? (1 << (width - 1)) - 1 : std::int32_t(lane_mask);
      r = r < low ? low : r > high ? high : r;
    }
    if (v.accumulate) {
      d += std::uint32_t(r);
    } else {
      d = (d & ~(lane_mask << (width * i))) | (std::uint32_t(r) & lane_mask) << (width * i);
    }
  }
  return d;
}

}  // namespace warploom::isa::ref
