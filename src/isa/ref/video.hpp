// Scalar reference semantics of the video instructions: on parts of registers (vadd, vset, ...) and on two or four
// elements of a word (vadd2, vabsdiff4, ...).
#pragma once

#include "isa/ref/compare.hpp"
#include "isa/ref/int.hpp"

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

// A byte, a half or all of a register.
struct VideoPart {
  unsigned bits = 32, at = 0;
};

struct ScalarVideo {
  enum class Op : std::uint8_t { add, sub, absdiff, min, max, shl, shr, set, mad };
  enum class Second : std::uint8_t { none, add, min, max };
  Op op = Op::add;
  Second second = Second::none;
  Cmp cmp = Cmp::eq;
  bool a_signed = false, b_signed = false, d_signed = false;
  bool sat = false;
  bool wrap = false;  // of a shift: the amount modulo 32, else at most 32
  VideoPart a, b, d;
  bool plus_one = false, negate_product = false, negate_addend = false;  // of mad
  unsigned scale = 0;                                                    // of mad: bits that are shifted out
};

constexpr s128 video_part(std::uint32_t word, VideoPart p, bool is_signed) {
  const std::uint64_t mask = (std::uint64_t(1) << p.bits) - 1, v = word >> p.at & mask;
  return is_signed && (v >> (p.bits - 1)) != 0 ? s128(v) - (s128(1) << p.bits) : s128(v);
}

constexpr s128 video_clamp(s128 v, unsigned bits, bool is_signed) {
  const s128 high = (s128(1) << (is_signed ? bits - 1 : bits)) - 1, low = is_signed ? -high - 1 : 0;
  return v < low ? low : v > high ? high : v;
}

constexpr s128 video_low(s128 v, unsigned bits, bool is_signed) {
  const s128 mask = (s128(1) << bits) - 1;
  return is_signed && (v >> (bits - 1) & 1) != 0 ? (v & mask) - mask - 1 : v & mask;
}

// The result of the operation, before anything is cut or clamped; not of mad.
constexpr s128 video_intermediate(const ScalarVideo& v, std::uint32_t a, std::uint32_t b) {
  using Op = ScalarVideo::Op;
  const s128 x = video_part(a, v.a, v.a_signed), y = video_part(b, v.b, v.b_signed);
  const unsigned by = unsigned(v.wrap ? y & 31 : y > 32 ? 32 : y);
  switch (v.op) {
    case Op::add: return x + y;
    case Op::sub: return x - y;
    case Op::absdiff: return x < y ? y - x : x - y;
    case Op::min: return x < y ? x : y;
    case Op::max: return x < y ? y : x;
    case Op::shl: return x * (s128(1) << by);
    case Op::shr: return x >> by;
    default: return compare(v.cmp, x, y) ? 1 : 0;
  }
}

constexpr std::uint32_t video_multiply(const ScalarVideo& v, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const bool is_signed = v.a_signed || v.b_signed || v.negate_product || v.negate_addend;
  const s128 product = video_part(a, v.a, v.a_signed) * video_part(b, v.b, v.b_signed);
  s128 r = v.negate_product ? -product : product;
  r += video_part(v.negate_addend ? ~c : c, {}, is_signed);
  r += v.negate_addend || v.plus_one ? 1 : 0;
  r >>= v.scale;
  return std::uint32_t(v.sat ? video_clamp(r, 32, is_signed) : r);
}

// Of .min and .max: the type of the result says how both sides are taken, "the sign of the intermediate result depends
// on dtype" and "the sign of the third operand is based on dtype" (9.7.17.1). Sums and differences that are not clamped
// are of 32 bits; other intermediate results are compared before they are cut to that.
constexpr bool video_less(const ScalarVideo& v, s128 r, std::uint32_t c) {
  const bool sum = v.op == ScalarVideo::Op::add || v.op == ScalarVideo::Op::sub;
  return video_low(r, sum && !v.sat ? 32 : 64, v.d_signed) < video_part(c, {}, v.d_signed);
}

constexpr std::uint32_t video(const ScalarVideo& v, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  using Second = ScalarVideo::Second;
  if (v.op == ScalarVideo::Op::mad) return video_multiply(v, a, b, c);
  s128 r = video_intermediate(v, a, b);
  if (v.sat) {
    // A shift to the left gives 34 bits, as section 9.7.17.1 says of every intermediate result.
    if (v.op == ScalarVideo::Op::shl) r = video_low(r, 34, true);
    r = video_clamp(r, v.d.bits, v.d_signed);
  }
  const auto t = std::uint32_t(r);
  switch (v.second) {
    case Second::add: return t + c;
    case Second::min: return video_less(v, r, c) ? t : c;
    case Second::max: return video_less(v, r, c) ? c : t;
    case Second::none: break;
  }
  if (v.d.bits == 32) return t;
  const std::uint32_t mask = ((std::uint32_t(1) << v.d.bits) - 1) << v.d.at;
  return (c & ~mask) | (t << v.d.at & mask);
}

}  // namespace warploom::isa::ref
