// The scalar reference of any instruction of the table, put together from isa/ref.
#include <optional>

#include "isa/ref/bits.hpp"
#include "isa/ref/compare.hpp"
#include "isa/ref/convert.hpp"
#include "isa/ref/format.hpp"
#include "isa/ref/video.hpp"
#include "ptxas_video.hpp"
#include "table_cases.hpp"

namespace warploom::semantics {
namespace {

namespace ref = isa::ref;
using isa::Mod;
using isa::ModSet;
using isa::Op;
using ref::Format;
using ref::Round;
using s32 = std::int32_t;
using u32 = std::uint32_t;
using Words = const u64*;
using Scalar = std::function<u64(u64, u64, u64)>;  // of one element

struct Insn {
  Op op;
  const ModSet& mods;
  const Type* types;
  u64 immediate;
  VideoOperands video = {};

  [[nodiscard]] bool has(Mod m) const { return mods.test(static_cast<std::size_t>(m)); }
  [[nodiscard]] Type type(std::size_t i = 0) const { return types[i]; }
};

Type element(Type t) {
  switch (t) {
    case Type::f16x2: return Type::f16;
    case Type::bf16x2: return Type::bf16;
    case Type::u16x2: return Type::u16;
    case Type::s16x2: return Type::s16;
    default: return t;
  }
}
bool is_packed(Type t) { return element(t) != t; }

// Calls f with a zero of the C++ type of an integer.
template <typename F>
auto with_integer(Type t, F f) {
  switch (t) {
    case Type::s8: return f(std::int8_t(0));
    case Type::u8:
    case Type::b8: return f(std::uint8_t(0));
    case Type::s16: return f(std::int16_t(0));
    case Type::u16:
    case Type::b16: return f(std::uint16_t(0));
    case Type::s32: return f(s32(0));
    case Type::s64: return f(std::int64_t(0));
    case Type::u64:
    case Type::b64: return f(u64(0));
    default: return f(u32(0));
  }
}
template <typename T>
u64 bits(T v) {
  return u64(std::make_unsigned_t<T>(v));
}

Round rounding(const Insn& i) {
  if (i.has(Mod::rz) || i.has(Mod::rzi)) return Round::rz;
  if (i.has(Mod::rm) || i.has(Mod::rmi)) return Round::rm;
  if (i.has(Mod::rp) || i.has(Mod::rpi)) return Round::rp;
  if (i.has(Mod::rna)) return Round::rna;
  return Round::rn;
}

// Applies f to the element or to both halves.
Reference lift(Type t, const Scalar& f) {
  if (!is_packed(t)) return [f](Words a, u64* d) { d[0] = f(a[0], a[1], a[2]); };
  return [f](Words a, u64* d) {
    d[0] = 0;
    for (int at = 0; at < 32; at += 16) {
      const auto half = [&](int k) { return a[k] >> at & 0xffff; };
      d[0] |= (f(half(0), half(1), half(2)) & 0xffff) << at;
    }
  };
}

u64 relu(Format f, u64 r) { return ref::is_negative(f, r) && !ref::is_nan(f, r) ? 0 : r; }

Scalar float_scalar(const Insn& i, Type e) {
  const Format f = ref::format_of(e);
  const ref::FloatMods m{rounding(i), i.has(Mod::ftz), i.has(Mod::sat)};
  const bool clamp = i.has(Mod::relu);
  const ref::MinMax mm{i.op == Op::max, m.ftz, i.has(Mod::NaN), i.has(Mod::xorsign_abs), clamp};
  if (i.has(Mod::approx) || i.has(Mod::full)) return {};
  switch (i.op) {
    case Op::add: return [=](u64 a, u64 b, u64) { return ref::add(f, m, a, b); };
    case Op::sub: return [=](u64 a, u64 b, u64) { return ref::sub(f, m, a, b); };
    case Op::mul: return [=](u64 a, u64 b, u64) { return ref::mul(f, m, a, b); };
    case Op::mad:
    case Op::fma:
      return [=, oob = i.has(Mod::oob)](u64 a, u64 b, u64 c) {
        if (oob && ((a & 0x7fff) == ref::kOutOfBounds || (b & 0x7fff) == ref::kOutOfBounds)) return u64(0);
        const u64 r = ref::fma(f, m, a, b, c);
        return clamp ? relu(f, r) : r;
      };
    case Op::div: return [=](u64 a, u64 b, u64) { return ref::div(f, m, a, b); };
    case Op::rcp: return [=](u64 a, u64, u64) { return ref::div(f, m, f.one(), a); };
    case Op::sqrt: return [=](u64 a, u64, u64) { return ref::sqrt(f, m, a); };
    case Op::abs: return [=](u64 a, u64, u64) { return ref::absolute(f, ref::operand(f, m, a)); };
    case Op::neg: return [=](u64 a, u64, u64) { return ref::negative(f, ref::operand(f, m, a)); };
    case Op::min:
    case Op::max: return [=](u64 a, u64 b, u64) { return ref::min_max(f, mm, a, b); };
    case Op::copysign: return [=](u64 a, u64 b, u64) { return ref::copysign(f, a, b); };
    default: return {};
  }
}

template <typename T>
Scalar integer_scalar(const Insn& i) {
  const bool sat = i.has(Mod::sat), hi = i.has(Mod::hi), clamp = i.has(Mod::relu);
  constexpr bool kWord = sizeof(T) == 4;
  switch (i.op) {
    case Op::add: return [=](u64 a, u64 b, u64) { return bits(sat ? ref::add_sat(T(a), T(b)) : ref::add(T(a), T(b))); };
    case Op::sub: return [=](u64 a, u64 b, u64) { return bits(sat ? ref::sub_sat(T(a), T(b)) : ref::sub(T(a), T(b))); };
    case Op::mul:
      return [=](u64 a, u64 b, u64) { return bits(hi ? ref::mul_hi(T(a), T(b)) : ref::mul_lo(T(a), T(b))); };
    case Op::mad:
      return [=](u64 a, u64 b, u64 c) {
        if (sat) return bits(ref::mad_hi_sat(T(a), T(b), T(c)));
        return bits(hi ? ref::mad_hi(T(a), T(b), T(c)) : ref::mad_lo(T(a), T(b), T(c)));
      };
    case Op::mul24:
    case Op::mad24:
      if constexpr (kWord) {
        const bool mad = i.op == Op::mad24;
        return [=](u64 a, u64 b, u64 c) {
          const T product = hi ? ref::mul24_hi(T(a), T(b)) : ref::mul24_lo(T(a), T(b));
          if (!mad) return bits(product);
          return bits(sat ? ref::add_sat(product, T(c)) : ref::add(product, T(c)));
        };
      }
      return {};
    case Op::sad: return [](u64 a, u64 b, u64 c) { return bits(ref::sad(T(a), T(b), T(c))); };
    case Op::div: return [](u64 a, u64 b, u64) { return bits(ref::div(T(a), T(b))); };
    case Op::rem: return [](u64 a, u64 b, u64) { return bits(ref::rem(T(a), T(b))); };
    case Op::abs: return [](u64 a, u64, u64) { return bits(ref::abs(T(a))); };
    case Op::neg: return [](u64 a, u64, u64) { return bits(ref::neg(T(a))); };
    case Op::min:
      return [=](u64 a, u64 b, u64) { return bits(clamp ? ref::min_relu(T(a), T(b)) : ref::min(T(a), T(b))); };
    case Op::max:
      return [=](u64 a, u64 b, u64) { return bits(clamp ? ref::max_relu(T(a), T(b)) : ref::max(T(a), T(b))); };
    case Op::shl: return [](u64 a, u64 b, u64) { return bits(ref::shl(T(a), u32(b))); };
    case Op::shr: return [](u64 a, u64 b, u64) { return bits(ref::shr(T(a), u32(b))); };
    case Op::cnot: return [](u64 a, u64, u64) { return bits(ref::cnot(T(a))); };
    case Op::not_: return [](u64 a, u64, u64) { return bits(T(~T(a))); };
    case Op::brev: return [](u64 a, u64, u64) { return bits(ref::brev(T(a))); };
    case Op::clz: return [](u64 a, u64, u64) { return u64(ref::clz(T(a))); };
    case Op::popc: return [](u64 a, u64, u64) { return u64(ref::popc(T(a))); };
    case Op::bfind: return [shift = i.has(Mod::shiftamt)](u64 a, u64, u64) { return u64(ref::bfind(T(a), shift)); };
    case Op::bfe: return [](u64 a, u64 b, u64 c) { return bits(ref::bfe(T(a), u32(b), u32(c))); };
    default: return {};
  }
}

template <typename T>
Reference wide(const Insn& i) {
  if constexpr (sizeof(T) == 2 || sizeof(T) == 4) {
    using W = ref::wider_t<T>;
    if (i.op == Op::mul) return [](Words a, u64* d) { d[0] = bits(W(ref::mul_wide(T(a[0]), T(a[1])))); };
    return [](Words a, u64* d) { d[0] = bits(ref::mad_wide(T(a[0]), T(a[1]), W(a[2]))); };
  }
  return {};
}

template <typename T>
Reference carry(const Insn& i) {
  const Op op = i.op;
  const bool reads = op == Op::addc || op == Op::subc || op == Op::madc, hi = i.has(Mod::hi), out = i.has(Mod::cc);
  const bool product = op == Op::mad || op == Op::madc, borrow = op == Op::sub || op == Op::subc;
  return [=](Words a, u64* d) {
    const T first = !product ? T(a[0]) : hi ? ref::mul_hi(T(a[0]), T(a[1])) : ref::mul_lo(T(a[0]), T(a[1]));
    const T second = T(a[product ? 2 : 1]);
    const bool in = reads && a[product ? 3 : 2] != 0;
    const ref::Carry<T> r = borrow ? ref::sub_borrow(first, second, in) : ref::add_carry(first, second, in);
    d[0] = bits(r.value);
    if (out) d[1] = r.carry;
  };
}

// Comparison of one element.
std::function<bool(u64, u64)> comparison(const Insn& i, Type t) {
  constexpr Mod kFloat[] = {Mod::eq,  Mod::ne,  Mod::lt,  Mod::le,  Mod::gt,  Mod::ge,  Mod::equ,
                            Mod::neu, Mod::ltu, Mod::leu, Mod::gtu, Mod::geu, Mod::num, Mod::nan};
  ref::Cmp cmp = ref::Cmp::eq;
  for (int k = 0; k < 14; ++k)
    if (i.has(kFloat[k])) cmp = ref::Cmp(k);
  if (i.has(Mod::lo)) cmp = ref::Cmp::lt;
  if (i.has(Mod::ls)) cmp = ref::Cmp::le;
  if (i.has(Mod::hi)) cmp = ref::Cmp::gt;
  if (i.has(Mod::hs)) cmp = ref::Cmp::ge;
  if (isa::is_float(t)) {
    const Format f = ref::format_of(t);
    return [=, ftz = i.has(Mod::ftz)](u64 a, u64 b) { return ref::compare(f, cmp, ftz, a, b); };
  }
  return with_integer(t, [cmp](auto zero) -> std::function<bool(u64, u64)> {
    using T = decltype(zero);
    return [cmp](u64 a, u64 b) { return ref::compare(cmp, T(a), T(b)); };
  });
}
ref::BoolOp bool_op(const Insn& i) {
  if (i.has(Mod::and_)) return ref::BoolOp::and_;
  if (i.has(Mod::or_)) return ref::BoolOp::or_;
  return i.has(Mod::xor_) ? ref::BoolOp::xor_ : ref::BoolOp::none;
}
Reference compare(const Insn& i) {
  const bool set = i.op == Op::set;
  const Type t = i.type(set ? 1 : 0);
  const auto holds = comparison(i, element(t));
  const ref::BoolOp op = bool_op(i);
  const bool packed = is_packed(t);
  if (!set) {
    return [=](Words a, u64* d) {
      for (int k = 0; k < 2; ++k) {
        const bool r = packed ? holds(a[0] >> (16 * k) & 0xffff, a[1] >> (16 * k) & 0xffff) : holds(a[0], a[1]);
        d[k] = ref::combine(op, packed || k == 0 ? r : !r, a[2] != 0);
      }
    };
  }
  const Type to = i.type(0);
  const u64 yes = isa::is_float(element(to))      ? ref::format_of(element(to)).one()
                  : packed || isa::bits(to) == 16 ? 0xffff
                                                  : ~u32(0);
  return [=](Words a, u64* d) {
    d[0] = 0;
    for (int k = 0; k < (packed ? 2 : 1); ++k) {
      const bool r = packed ? holds(a[0] >> (16 * k) & 0xffff, a[1] >> (16 * k) & 0xffff) : holds(a[0], a[1]);
      if (ref::combine(op, r, a[2] != 0)) d[0] |= yes << (16 * k);
    }
  };
}

u64 extended(Type t, u64 v) {
  const unsigned unused = 64 - isa::bits(t);
  return isa::is_signed(t) ? u64(std::int64_t(v << unused) >> unused) : v;
}
bool is_integer(Type t) { return isa::is_signed(t) || isa::is_unsigned(t); }

// Between floating-point formats, with what the modifiers add.
u64 convert_float(const Insn& i, Type from, Type to, u64 a) {
  const Format f = ref::format_of(from), g = ref::format_of(to);
  const bool ftz = i.has(Mod::ftz);
  // A subnormal f32 rounds to f16 as the tiny number that it is.
  if (ftz && from == Type::f32 && g.width() != 16) a = ref::flush(f, a);
  if (from == Type::f32 && to == Type::f32 && i.mods.none()) return a;  // a move
  u64 r = 0;
  if (from == to) {
    const bool integral = i.has(Mod::rni) || i.has(Mod::rzi) || i.has(Mod::rmi) || i.has(Mod::rpi);
    r = integral ? ref::round_integral(f, rounding(i), a) : ref::convert(f, g, Round::rn, a);
  } else {
    r = ref::convert(f, Format{g.exponent, g.fraction, ftz && to == Type::f32 && from == Type::f64}, rounding(i), a);
  }
  if (ftz && from == Type::bf16) r = ref::is_nan(g, r) ? g.nan() : ref::flush(g, r);
  if (i.has(Mod::satfinite) && ref::is_inf(g, r)) --r;
  if (i.has(Mod::relu)) r = relu(g, r);
  return i.has(Mod::sat) ? ref::saturate(g, r) : r;
}

const ref::Narrow* narrow_of(Type t) {
  switch (t) {
    case Type::e2m1x2: return &ref::kE2m1;
    case Type::e2m3x2: return &ref::kE2m3;
    case Type::e3m2x2: return &ref::kE3m2;
    default: return nullptr;
  }
}

// Formats of 4 and 6 bits, powers of two, and stochastic rounding of pairs; four at once are in tests/device.
Reference convert_rare(const Insn& i) {
  const Type to = i.type(0), from = i.type(1);
  const bool clamp = i.has(Mod::relu), finite = i.has(Mod::satfinite), up = i.has(Mod::rp);
  if (i.has(Mod::rs)) {
    if (to != Type::f16x2 && to != Type::bf16x2) return {};
    const Format f = ref::format_of(element(to));
    const int bits = to == Type::f16x2 ? 13 : 16;
    return [=](Words a, u64* d) {
      const auto one = [&](u64 x, u64 random) {
        return ref::stochastic(f, {u32(random), bits}, clamp, finite, u32(x));
      };
      d[0] = one(a[0], a[2] >> 16) << 16 | one(a[1], a[2]);
    };
  }
  if (to == Type::ue8m0x2) {
    const Format f = from == Type::f32 ? ref::kF32 : ref::kBf16;
    return [=](Words a, u64* d) {
      const u64 x = from == Type::f32 ? a[0] : a[0] >> 16 & 0xffff, y = from == Type::f32 ? a[1] : a[0] & 0xffff;
      d[0] = u64(ref::to_ue8m0(f, x, up, finite)) << 8 | ref::to_ue8m0(f, y, up, finite);
    };
  }
  if (from == Type::ue8m0x2)
    return [](Words a, u64* d) {
      d[0] = u64(ref::bf16_of_ue8m0(std::uint8_t(a[0] >> 8))) << 16 | ref::bf16_of_ue8m0(std::uint8_t(a[0]));
    };
  if (const ref::Narrow* n = narrow_of(to)) {
    const unsigned field = to == Type::e2m1x2 ? 4 : 8;
    return [=](Words a, u64* d) {
      d[0] = u64(ref::to_narrow(*n, ref::kF32, a[0], clamp)) << field | ref::to_narrow(*n, ref::kF32, a[1], clamp);
    };
  }
  if (const ref::Narrow* n = narrow_of(from)) {
    const unsigned field = from == Type::e2m1x2 ? 4 : 8;
    return [=](Words a, u64* d) {
      const auto widen = [&](u64 v) {
        const u64 r = ref::from_narrow(*n, ref::kF16, std::uint8_t(v & ((1U << field) - 1)));
        return clamp ? relu(ref::kF16, r) : r;
      };
      d[0] = widen(a[0] >> field) << 16 | widen(a[0]);
    };
  }
  return {};
}

Reference convert(const Insn& i) {
  if (Reference rare = convert_rare(i)) return rare;
  const Type to = i.type(0), from = i.type(1);
  const bool clamp = i.has(Mod::relu), sat = i.has(Mod::sat);
  const Round mode = rounding(i);
  if (i.has(Mod::pack)) {
    const unsigned width = isa::bits(to);
    const bool s = isa::is_signed(to), c = width < 16;
    return [=](Words a, u64* d) { d[0] = ref::cvt_pack(s32(a[0]), s32(a[1]), c ? u32(a[2]) : 0, width, s); };
  }
  if (is_integer(to) && is_integer(from)) {
    return [=](Words a, u64* d) {
      const u64 v = extended(from, a[0]);
      d[0] = ref::convert_integer(isa::is_signed(from) ? ref::s128(std::int64_t(v)) : ref::s128(v), isa::bits(to),
                                  isa::is_signed(to), sat);
    };
  }
  if (is_integer(to)) {
    const Format f = ref::format_of(from);
    const bool ftz = i.has(Mod::ftz);
    return [=](Words a, u64* d) {
      d[0] = ref::to_integer(f, mode, ftz ? ref::flush(f, a[0]) : a[0], isa::bits(to), isa::is_signed(to));
    };
  }
  if (is_integer(from)) {
    const Format f = ref::format_of(to);
    return [=](Words a, u64* d) {
      const u64 v = extended(from, a[0]);
      const u64 r = ref::from_integer(f, mode, isa::is_signed(from) ? ref::s128(std::int64_t(v)) : ref::s128(v));
      d[0] = sat ? ref::saturate(f, r) : r;
    };
  }
  if (to == Type::tf32) {
    const bool finite = i.has(Mod::satfinite);
    return [=](Words a, u64* d) {
      const u32 r = ref::to_tf32(mode, clamp, u32(a[0]));
      // .rna has the GPU take a step down from NaNs too.
      const u32 looked_at = mode == Round::rna ? 0x7f800000 : 0x7fffffff;
      d[0] = finite && (r & looked_at) == 0x7f800000 ? r - 0x2000 : r;
    };
  }
  const ModSet mods = i.mods;
  const Op op = i.op;
  const auto one = [=](Type x, Type y, u64 a) {
    const Type types[] = {y, x};
    return convert_float({op, mods, types, 0}, x, y, a);
  };
  const bool e4m3 = to == Type::e4m3x2 || from == Type::e4m3x2;
  if (to == Type::e4m3x2 || to == Type::e5m2x2) {
    const auto narrow = [=](Format f, u64 v) {
      return u64(e4m3 ? ref::to_e4m3(f, v, clamp) : ref::to_e5m2(f, v, clamp));
    };
    if (from == Type::f32)
      return [=](Words a, u64* d) { d[0] = narrow(ref::kF32, a[0]) << 8 | narrow(ref::kF32, a[1]); };
    return
        [=](Words a, u64* d) { d[0] = narrow(ref::kF16, a[0] >> 16 & 0xffff) << 8 | narrow(ref::kF16, a[0] & 0xffff); };
  }
  if (from == Type::e4m3x2 || from == Type::e5m2x2) {
    return [=](Words a, u64* d) {
      const auto widen = [&](u64 v) {
        const auto byte = std::uint8_t(v);
        const u64 r = e4m3 ? ref::from_e4m3(ref::kF16, byte) : ref::from_e5m2(ref::kF16, byte);
        return clamp ? relu(ref::kF16, r) : r;
      };
      d[0] = widen(a[0] >> 8) << 16 | widen(a[0]);
    };
  }
  if (is_packed(to))
    return [=](Words a, u64* d) { d[0] = one(from, element(to), a[0]) << 16 | one(from, element(to), a[1]); };
  return [=](Words a, u64* d) { d[0] = one(from, to, a[0]); };
}

Reference dot(const Insn& i) {
  const bool four = i.op == Op::dp4a, hi = i.has(Mod::hi);
  const bool a_signed = isa::is_signed(i.type(0)), b_signed = isa::is_signed(i.type(1));
  return [=](Words a, u64* d) {
    const int n = four ? 4 : 2, width = four ? 8 : 16;
    auto sum = u32(a[2]);
    for (int k = 0; k < n; ++k) {
      u64 x = a[0] >> (width * k) & ((1u << width) - 1), y = a[1] >> (8 * (hi ? k + 2 : k)) & 0xff;
      if (a_signed && (x >> (width - 1)) != 0) x -= u64(1) << width;
      if (b_signed && (y >> 7) != 0) y -= 0x100;
      sum += u32(x * y);
    }
    d[0] = sum;
  };
}

ref::Cmp video_comparison(const Insn& i) {
  using ref::Cmp;
  constexpr std::pair<Mod, Cmp> kAll[] = {{Mod::eq, Cmp::eq}, {Mod::ne, Cmp::ne}, {Mod::lt, Cmp::lt},
                                          {Mod::le, Cmp::le}, {Mod::gt, Cmp::gt}, {Mod::ge, Cmp::ge}};
  for (const auto& [mod, code] : kAll)
    if (i.has(mod)) return code;
  return Cmp::eq;
}

Reference packed_video(const Insn& i, const VideoOperands& operands) {
  constexpr std::pair<Op, ref::VideoOp> kOps[] = {
      {Op::vadd2, ref::VideoOp::add},         {Op::vadd4, ref::VideoOp::add},         {Op::vsub2, ref::VideoOp::sub},
      {Op::vsub4, ref::VideoOp::sub},         {Op::vavrg2, ref::VideoOp::avrg},       {Op::vavrg4, ref::VideoOp::avrg},
      {Op::vabsdiff2, ref::VideoOp::absdiff}, {Op::vabsdiff4, ref::VideoOp::absdiff}, {Op::vmin2, ref::VideoOp::min},
      {Op::vmin4, ref::VideoOp::min},         {Op::vmax2, ref::VideoOp::max},         {Op::vmax4, ref::VideoOp::max},
      {Op::vset2, ref::VideoOp::set},         {Op::vset4, ref::VideoOp::set}};
  for (const auto& [op, code] : kOps) {
    if (op != i.op) continue;
    const std::size_t first = code == ref::VideoOp::set ? 0 : 1;
    ref::Video v;
    v.op = code;
    v.cmp = video_comparison(i);
    v.lanes = ptx::video_lanes(op);
    v.mask = v.lanes == 2 ? 3 : 15;
    if (v.lanes == 2) v.a_select = 0x10, v.b_select = 0x32;
    if (operands.select[1].count != 0) v.a_select = operands.select[1].digits;
    if (operands.select[2].count != 0) v.b_select = operands.select[2].digits;
    if (const ptx::Selector& s = operands.select[0]; s.count != 0) {
      v.mask = 0;
      for (unsigned k = 0; k < s.count; ++k) v.mask |= 1U << (s.digits >> 4 * k & 15);
    }
    v.d_signed = first == 1 && isa::is_signed(i.type(0));
    v.a_signed = isa::is_signed(i.type(first));
    v.b_signed = isa::is_signed(i.type(first + 1));
    v.sat = i.has(Mod::sat);
    v.accumulate = i.has(Mod::add);
    return [v](Words a, u64* d) { d[0] = ref::video(v, u32(a[0]), u32(a[1]), u32(a[2])); };
  }
  return {};
}

std::optional<ref::ScalarVideo> scalar_video(const Insn& i, const VideoOperands& operands) {
  using S = ref::ScalarVideo;
  constexpr std::pair<Op, S::Op> kOps[] = {
      {Op::vadd, S::Op::add},         {Op::vsub, S::Op::sub}, {Op::vshl, S::Op::shl},
      {Op::vabsdiff, S::Op::absdiff}, {Op::vmin, S::Op::min}, {Op::vshr, S::Op::shr},
      {Op::vset, S::Op::set},         {Op::vmax, S::Op::max}, {Op::vmad, S::Op::mad}};
  for (const auto& [op, code] : kOps) {
    if (op != i.op) continue;
    const std::size_t first = code == S::Op::set ? 0 : 1;
    S v;
    v.op = code;
    v.cmp = video_comparison(i);
    if (i.has(Mod::add)) v.second = S::Second::add;
    if (i.has(Mod::min)) v.second = S::Second::min;
    if (i.has(Mod::max)) v.second = S::Second::max;
    v.d_signed = first == 1 && isa::is_signed(i.type(0));
    v.a_signed = isa::is_signed(i.type(first));
    v.b_signed = code != S::Op::shl && code != S::Op::shr && isa::is_signed(i.type(first + 1));
    v.sat = i.has(Mod::sat);
    v.wrap = i.has(Mod::wrap);
    v.plus_one = i.has(Mod::po);
    v.negate_product = operands.minus[1] != operands.minus[2];
    v.negate_addend = operands.minus[3];
    v.scale = i.has(Mod::shr7) ? 7 : i.has(Mod::shr15) ? 15 : 0;
    const auto part = [](const ptx::Selector& s) {
      const unsigned bits = s.count == 0 ? 32 : s.halves ? 16 : 8;
      return ref::VideoPart{bits, s.count == 0 ? 0 : s.digits * bits};
    };
    v.d = part(operands.select[0]);
    v.a = part(operands.select[1]);
    v.b = part(operands.select[2]);
    return v;
  }
  return std::nullopt;
}

Reference video(const Insn& i, const VideoOperands& operands) {
  if (const auto v = scalar_video(i, operands))
    return [v = *v](Words a, u64* d) { d[0] = ref::video(v, u32(a[0]), u32(a[1]), u32(a[2])); };
  return packed_video(i, operands);
}

Reference special(const Insn& i) {
  const Type t = i.type(0);
  const bool clamp = i.has(Mod::clamp);
  switch (i.op) {
    case Op::setp:
    case Op::set: return compare(i);
    case Op::cvt: return convert(i);
    case Op::dp4a:
    case Op::dp2a: return dot(i);
    case Op::mov: return [](Words a, u64* d) { d[0] = a[0]; };
    case Op::selp: return [](Words a, u64* d) { d[0] = a[2] != 0 ? a[0] : a[1]; };
    case Op::slct:
      if (i.type(1) == Type::s32) return [](Words a, u64* d) { d[0] = ref::slct(a[0], a[1], s32(a[2])); };
      return [ftz = i.has(Mod::ftz)](Words a, u64* d) { d[0] = ref::slct_f32(a[0], a[1], u32(a[2]), ftz); };
    case Op::testp: {
      constexpr Mod kTests[] = {Mod::finite, Mod::infinite, Mod::number, Mod::notanumber, Mod::normal, Mod::subnormal};
      for (int k = 0; k < 6; ++k)
        if (i.has(kTests[k]))
          return [f = ref::format_of(t), k](Words a, u64* d) { d[0] = ref::testp(f, ref::TestP(k), a[0]); };
      return {};
    }
    case Op::and_: return [](Words a, u64* d) { d[0] = a[0] & a[1]; };
    case Op::or_: return [](Words a, u64* d) { d[0] = a[0] | a[1]; };
    case Op::xor_: return [](Words a, u64* d) { d[0] = a[0] ^ a[1]; };
    case Op::not_:
      if (t == Type::pred) return [](Words a, u64* d) { d[0] = a[0] ^ 1; };
      return {};
    case Op::lop3: {
      const ref::BoolOp op = bool_op(i);
      return [op, lut = u32(i.immediate)](Words a, u64* d) {
        d[0] = ref::lop3(u32(a[0]), u32(a[1]), u32(a[2]), lut);
        d[1] = ref::combine(op, d[0] != 0, a[3] != 0);
      };
    }
    case Op::shf: {
      const bool left = i.has(Mod::l);
      return [=](Words a, u64* d) {
        const auto f = left ? ref::shf_l : ref::shf_r;
        d[0] = f(u32(a[0]), u32(a[1]), u32(a[2]), !clamp);
      };
    }
    case Op::bfi:
      if (t == Type::b64) return [](Words a, u64* d) { d[0] = ref::bfi(a[0], a[1], u32(a[2]), u32(a[3])); };
      return [](Words a, u64* d) { d[0] = ref::bfi(u32(a[0]), u32(a[1]), u32(a[2]), u32(a[3])); };
    case Op::bmsk: return [=](Words a, u64* d) { d[0] = ref::bmsk(u32(a[0]), u32(a[1]), clamp); };
    case Op::szext:
      if (t == Type::s32) return [=](Words a, u64* d) { d[0] = bits(ref::szext(s32(a[0]), u32(a[1]), clamp)); };
      return [=](Words a, u64* d) { d[0] = ref::szext(u32(a[0]), u32(a[1]), clamp); };
    case Op::fns: return [](Words a, u64* d) { d[0] = ref::fns(u32(a[0]), u32(a[1]), s32(a[2])); };
    case Op::prmt: {
      constexpr Mod kModes[] = {Mod::f4e, Mod::b4e, Mod::rc8, Mod::ecl, Mod::ecr, Mod::rc16};
      auto mode = ref::Prmt::index;
      for (int k = 0; k < 6; ++k)
        if (i.has(kModes[k])) mode = ref::Prmt(k + 1);
      return [mode](Words a, u64* d) { d[0] = ref::prmt(u32(a[0]), u32(a[1]), u32(a[2]), mode); };
    }
    default: return video(i, i.video);
  }
}

}  // namespace

Deviating deviating_reference(Op op, const ModSet& mods, const Type* types, const VideoOperands& video) {
  const auto v = scalar_video({op, mods, types, 0, video}, video);
  if (!v) return {};
  return [v = *v](unsigned deviations, const u64* a, u64* d) {
    d[0] = ptxas_video(v, u32(a[0]), u32(a[1]), u32(a[2]), deviations);
  };
}

Reference reference(Op op, const ModSet& mods, const Type* types, u64 immediate, const VideoOperands& video) {
  const Insn i{op, mods, types, immediate, video};
  const Type t = types[0], e = element(t);
  if (t == Type::f32x2) {
    const Scalar f = float_scalar(i, Type::f32);
    return [f](Words a, u64* d) {
      const auto half = [&](int at) {
        return f(a[0] >> at & 0xffffffff, a[1] >> at & 0xffffffff, a[2] >> at & 0xffffffff);
      };
      d[0] = half(32) << 32 | half(0);
    };
  }
  if (t == Type::f32 && (types[1] == Type::f16 || types[1] == Type::bf16) &&
      (op == Op::add || op == Op::sub || op == Op::fma)) {
    // The halves, as f32, and the last source.
    const Type conversion[4] = {Type::f32, types[1]};
    const Reference widen = reference(Op::cvt, {}, conversion, 0);
    const Scalar f = float_scalar(i, Type::f32);
    return [widen, f, op](Words a, u64* d) {
      u64 x[3] = {a[0], a[1], a[2]};
      for (int k = 0; k < (op == Op::fma ? 2 : 1); ++k) widen(&a[k], &x[k]);
      d[0] = f(x[0], x[1], x[2]);
    };
  }
  if (Reference r = special(i)) return r;
  if (isa::is_float(e)) {
    const Scalar f = float_scalar(i, e);
    return f ? lift(t, f) : Reference{};
  }
  return with_integer(e, [&](auto zero) -> Reference {
    using T = decltype(zero);
    if constexpr (sizeof(T) == 1) {
      return {};
    } else {
      if (i.has(Mod::wide)) return wide<T>(i);
      if (i.has(Mod::cc) || op == Op::addc || op == Op::subc || op == Op::madc) return carry<T>(i);
      const Scalar f = integer_scalar<T>(i);
      return f ? lift(t, f) : Reference{};
    }
  });
}

}  // namespace warploom::semantics
