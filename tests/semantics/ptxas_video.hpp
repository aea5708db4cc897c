// What ptxas 13.0 makes of scalar video instructions, which are sequences of others since sm_50: the reference but for
// named deviations. The recordings of an H200 that differ from the reference are this, bit for bit.
#pragma once

#include <string_view>
#include <utility>

#include "isa/ref/video.hpp"

namespace warploom::semantics {

enum Deviation : unsigned {
  kUpperMerge = 1,     // a part .h1 of the result gets the upper half of the intermediate result
  kUnsignedClamp = 2,  // .sat to .u32 clamps at 0 and not at the other end
  kPartClamp = 4,  // .sat to a part has everything outside its range become its largest value; shifts clamp to 32 bits
  kSumSign = 8,    // .min and .max take a sum or difference of .u32 as signed
  kSetSign = 16,   // .min and .max of vset take the third operand in the type of a, not as .u32
  kSignedProduct = 32,  // vmad takes whole sources of .u32, and every addend, as signed, and keeps 64 bits
};
// The names that the ledger uses.
constexpr std::pair<std::string_view, Deviation> kDeviations[] = {
    {"upper_merge", kUpperMerge}, {"unsigned_clamp", kUnsignedClamp},
    {"part_clamp", kPartClamp},   {"sum_sign", kSumSign},
    {"set_sign", kSetSign},       {"signed_product", kSignedProduct}};

constexpr std::uint32_t ptxas_multiply(const isa::ref::ScalarVideo& v, std::uint32_t a, std::uint32_t b,
                                       std::uint32_t c) {
  using namespace isa::ref;
  const bool is_signed = v.a_signed || v.b_signed || v.negate_product || v.negate_addend;
  s128 r = video_low(video_part(a, v.a, v.a_signed), 32, true) * video_low(video_part(b, v.b, v.b_signed), 32, true);
  r = (v.negate_product ? -r : r) + video_part(v.negate_addend ? ~c : c, {}, true);
  r = video_low(r + (v.negate_addend || v.plus_one ? 1 : 0), 64, is_signed) >> v.scale;
  return std::uint32_t(v.sat ? video_clamp(video_low(r, 64, true), 32, is_signed) : r);
}

constexpr std::uint32_t ptxas_video(const isa::ref::ScalarVideo& v, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                    unsigned deviations) {
  using namespace isa::ref;
  using Op = ScalarVideo::Op;
  using Second = ScalarVideo::Second;
  if (v.op == Op::mad) return (deviations & kSignedProduct) != 0 ? ptxas_multiply(v, a, b, c) : video(v, a, b, c);
  const bool is_shift = v.op == Op::shl || v.op == Op::shr;
  s128 r = video_intermediate(v, a, b);
  if (v.sat && v.op == Op::shl) r = video_low(r, 34, true);
  const bool part = v.d.bits < 32;
  if (v.sat && part && !is_shift && (deviations & kPartClamp) != 0) {
    const s128 high = video_clamp(s128(1) << 64, v.d.bits, v.d_signed);
    r = r < 0 || r > high ? high : r;
  } else if (v.sat && !is_shift && !v.d_signed && (deviations & kUnsignedClamp) != 0) {
    r = r < 0 ? 0 : r;
  } else if (v.sat) {
    r = video_clamp(r, part && (deviations & kPartClamp) == 0 ? v.d.bits : 32, v.d_signed);
  }
  if (v.second == Second::min || v.second == Second::max) {
    ScalarVideo w = v;
    if (v.op == Op::set && (deviations & kSetSign) != 0) w.d_signed = v.a_signed;
    if ((v.op == Op::add || v.op == Op::sub || (is_shift && v.sat)) && (deviations & kSumSign) != 0) {
      r = video_low(r, 32, true);
      w.sat = true;  // compare as it is
    }
    return video_less(w, r, c) == (v.second == Second::min) ? std::uint32_t(r) : c;
  }
  const auto t = std::uint32_t(r);
  if (v.second == Second::add) return t + c;
  if (!part) return t;
  const std::uint32_t mask = ((std::uint32_t(1) << v.d.bits) - 1) << v.d.at;
  const bool upper = (deviations & kUpperMerge) != 0 && v.d.at == 16 && v.d.bits == 16;
  return (c & ~mask) | ((upper ? t : t << v.d.at) & mask);
}

}  // namespace warploom::semantics
