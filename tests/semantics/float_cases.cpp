// Cases of floating-point arithmetic, conversions and the approximate functions, and the edge values of every type.
#include <bit>
#include <cmath>

#include "isa/ref/compare.hpp"
#include "isa/ref/convert.hpp"
#include "isa/ref/format.hpp"
#include "isa/ref/math.hpp"
#include "lowering.hpp"

namespace warploom::semantics {
namespace {

namespace ref = isa::ref;
using ref::Format;
using ref::Round;
using u32 = std::uint32_t;
using Cases = std::vector<Case>;
using Words = const u64*;

constexpr Type kTypes[] = {Type::f32, Type::f64, Type::f16, Type::bf16};
constexpr const char* kRound[] = {"rn", "rz", "rm", "rp"};

std::string text_of(Type t) { return std::string(isa::name(t)); }

void put(Cases& all, std::string text, std::vector<Type> in, std::vector<Type> out,
         std::function<void(Words, u64*)> f) {
  Case c;
  c.text = std::move(text);
  c.in = std::move(in);
  c.out = std::move(out);
  c.ref = std::move(f);
  for (const Type t : c.out) c.any_nan = c.any_nan || t == Type::f64;
  all.push_back(std::move(c));
}
// Applies f to the halves of packed operands.
template <typename F>
u64 halves(F f) {
  return f(0) | f(16) << 16;
}
u64 half(u64 v, int at) { return v >> at & 0xffff; }

// Factors whose product is just below the least normal number, and sums that are.
void add_tiny(std::vector<std::vector<u64>>& sets, Format f, bool third) {
  const u64 hidden = f.hidden(), two = 2 * hidden;
  const int low = 1 - f.bias();  // exponent of the least normal number
  const auto value = [&](u64 man, int exponent, bool negative) {
    return ref::pack(f, Round::rn, negative, man, exponent);
  };
  int found = 0;
  for (u64 x = hidden + 1; x < two && found < 24; x += hidden / 57 + 1, ++found) {
    const u64 y = (hidden * two - 1) / x;  // x * y is just below 2^(2 * fraction + 1)
    const int half = low / 2 - f.fraction, rest = low - 2 * f.fraction - 1 - half;
    std::vector<u64> set = {value(x, half, (found & 1) != 0), value(y, rest, (found & 2) != 0)};
    if (third) set.push_back(0);
    sets.push_back(set);
  }
  if (!third) return;
  for (int below = 1; below < 2 * f.fraction && below < -low / 2; below += 3) {
    for (const bool negative : {false, true}) {  // +-(2^low - 2^(low - below))
      const int half = (low - below) / 2;
      sets.push_back({value(1, half, !negative), value(1, low - below - half, false), value(1, low, negative)});
    }
  }
}

void arithmetic(Cases& all, Type t, ref::FloatMods m, bool rounded) {
  const Format f = ref::format_of(t);
  std::string mods = rounded ? std::string(".") + kRound[int(m.round)] : "";
  mods += m.ftz ? ".ftz" : "";
  mods += m.sat ? ".sat" : "";
  const std::string n = mods + "." + text_of(t);
  put(all, "add" + n, {t, t}, {t}, [=](Words a, u64* d) { d[0] = ref::add(f, m, a[0], a[1]); });
  put(all, "sub" + n, {t, t}, {t}, [=](Words a, u64* d) { d[0] = ref::sub(f, m, a[0], a[1]); });
  put(all, "mul" + n, {t, t}, {t}, [=](Words a, u64* d) { d[0] = ref::mul(f, m, a[0], a[1]); });
  if (t != Type::f64) add_tiny(all.back().extra, f, false);
  if (!rounded) return;
  put(all, "fma" + n, {t, t, t}, {t}, [=](Words a, u64* d) { d[0] = ref::fma(f, m, a[0], a[1], a[2]); });
  if (t != Type::f64) add_tiny(all.back().extra, f, true);
  if (t == Type::f16 || t == Type::bf16 || m.sat) return;
  put(all, "div" + n, {t, t}, {t}, [=](Words a, u64* d) { d[0] = ref::div(f, m, a[0], a[1]); });
  if (t == Type::f32) {
    for (const u64 x : {0x7fffffull, 0x7ffffeull, 0x7fff00ull}) {  // quotients just below 2^-126
      all.back().extra.push_back({0x00800000 + x, 0x40000000});
      all.back().extra.push_back({0x01000000 + x, 0x40800000});
      all.back().extra.push_back({0x20800000 + x, 0x60000000});
    }
  }
  put(all, "rcp" + n, {t}, {t}, [=](Words a, u64* d) { d[0] = ref::div(f, m, f.one(), a[0]); });
  put(all, "sqrt" + n, {t}, {t}, [=](Words a, u64* d) { d[0] = ref::sqrt(f, m, a[0]); });
}
void packed(Cases& all, Type pair, Type t) {
  const Format f = ref::format_of(t);
  const ref::FloatMods m;
  const std::string n = "." + text_of(pair);
  put(all, "add" + n, {pair, pair}, {pair},
      [=](Words a, u64* d) { d[0] = halves([&](int i) { return ref::add(f, m, half(a[0], i), half(a[1], i)); }); });
  put(all, "fma.rn.relu" + n, {pair, pair, pair}, {pair}, [=](Words a, u64* d) {
    d[0] = halves([&](int i) {
      const u64 r = ref::fma(f, m, half(a[0], i), half(a[1], i), half(a[2], i));
      return ref::is_negative(f, r) ? 0 : r;
    });
  });
  put(all, "max.NaN" + n, {pair, pair}, {pair}, [=](Words a, u64* d) {
    d[0] = halves([&](int i) { return ref::min_max(f, {.max = true, .nan = true}, half(a[0], i), half(a[1], i)); });
  });
  put(all, "neg" + n, {pair}, {pair},
      [=](Words a, u64* d) { d[0] = halves([&](int i) { return ref::negative(f, half(a[0], i)); }); });
  put(all, "abs" + n, {pair}, {pair},
      [=](Words a, u64* d) { d[0] = halves([&](int i) { return ref::absolute(f, half(a[0], i)); }); });
  put(all, "setp.lt.and" + n, {pair, pair, Type::pred}, {Type::pred, Type::pred}, [=](Words a, u64* d) {
    for (int i = 0; i < 2; ++i) {
      d[i] = ref::compare(f, ref::Cmp::lt, false, half(a[0], 16 * i), half(a[1], 16 * i)) && a[2] != 0;
    }
  });
  all.back().pair = true;
  put(all, "set.gtu" + n + n, {pair, pair}, {pair}, [=](Words a, u64* d) {
    d[0] = halves(
        [&](int i) { return ref::compare(f, ref::Cmp::gtu, false, half(a[0], i), half(a[1], i)) ? f.one() : 0; });
  });
  put(all, "set.le.u32" + n, {pair, pair}, {Type::u32}, [=](Words a, u64* d) {
    d[0] = halves(
        [&](int i) -> u64 { return ref::compare(f, ref::Cmp::le, false, half(a[0], i), half(a[1], i)) ? 0xffff : 0; });
  });
}

void others(Cases& all, Type t) {
  const Format f = ref::format_of(t);
  const std::string n = "." + text_of(t);
  for (const bool ftz : {false, true}) {
    if (ftz && (t == Type::f64 || t == Type::bf16)) continue;
    const std::string z = ftz ? ".ftz" : "";
    for (const bool max : {false, true}) {
      const std::string op = max ? "max" : "min";
      put(all, op + z + n, {t, t}, {t},
          [=](Words a, u64* d) { d[0] = ref::min_max(f, {.max = max, .ftz = ftz}, a[0], a[1]); });
      if (t == Type::f64) continue;
      put(all, op + z + ".NaN" + n, {t, t}, {t},
          [=](Words a, u64* d) { d[0] = ref::min_max(f, {.max = max, .ftz = ftz, .nan = true}, a[0], a[1]); });
      put(all, op + z + ".xorsign.abs" + n, {t, t}, {t},
          [=](Words a, u64* d) { d[0] = ref::min_max(f, {.max = max, .ftz = ftz, .xorsign_abs = true}, a[0], a[1]); });
    }
    const ref::FloatMods m{.ftz = ftz};
    put(all, "neg" + z + n, {t}, {t}, [=](Words a, u64* d) { d[0] = ref::negative(f, ref::operand(f, m, a[0])); });
    put(all, "abs" + z + n, {t}, {t}, [=](Words a, u64* d) { d[0] = ref::absolute(f, ref::operand(f, m, a[0])); });
    constexpr const char* kCmp[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                    "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    for (int c = 0; c < 14; ++c) {
      put(all, std::string("setp.") + kCmp[c] + z + n, {t, t}, {Type::pred},
          [=](Words a, u64* d) { d[0] = ref::compare(f, ref::Cmp(c), ftz, a[0], a[1]); });
    }
  }
  put(all, "selp" + n, {t, t, Type::pred}, {t}, [](Words a, u64* d) { d[0] = a[2] != 0 ? a[0] : a[1]; });
  all.back().any_nan = false;
  if (t == Type::f16 || t == Type::bf16) all.pop_back();
  put(all, "set.neu.u32" + n, {t, t}, {Type::u32},
      [=](Words a, u64* d) { d[0] = ref::compare(f, ref::Cmp::neu, false, a[0], a[1]) ? 0xffffffff : 0; });
  if (t == Type::f32 || t == Type::f64) {
    put(all, "set.lt.f32" + n, {t, t}, {Type::f32},
        [=](Words a, u64* d) { d[0] = ref::compare(f, ref::Cmp::lt, false, a[0], a[1]) ? 0x3f800000 : 0; });
    put(all, "copysign" + n, {t, t}, {t}, [=](Words a, u64* d) { d[0] = ref::copysign(f, a[0], a[1]); });
    constexpr const char* kTest[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    for (int i = 0; i < 6; ++i) {
      put(all, std::string("testp.") + kTest[i] + n, {t}, {Type::pred},
          [=](Words a, u64* d) { d[0] = ref::testp(f, ref::TestP(i), a[0]); });
    }
  }
}

u64 extended(Type t, u64 v) {
  const unsigned unused = 64 - isa::bits(t);
  return isa::is_signed(t) ? u64(std::int64_t(v << unused) >> unused) : v;
}

void with_integers(Cases& all, Type t) {
  const Format f = ref::format_of(t);
  constexpr Type kIntegers[] = {Type::u8, Type::s8, Type::u16, Type::s16, Type::u32, Type::s32, Type::u64, Type::s64};
  for (const Type i : kIntegers) {
    for (int r = 0; r < 4; ++r) {
      const auto mode = Round(r);
      const bool s = isa::is_signed(i);
      put(all, std::string("cvt.") + kRound[r] + "i." + text_of(i) + "." + text_of(t), {t}, {i},
          [=](Words a, u64* d) { d[0] = ref::to_integer(f, mode, a[0], isa::bits(i), s); });
      put(all, std::string("cvt.") + kRound[r] + "." + text_of(t) + "." + text_of(i), {i}, {t}, [=](Words a, u64* d) {
        const u64 v = extended(i, a[0]);
        d[0] = ref::from_integer(f, mode, s ? ref::s128(std::int64_t(v)) : ref::s128(v));
      });
    }
  }
  for (int r = 0; r < 4; ++r) {
    put(all, std::string("cvt.") + kRound[r] + "i." + text_of(t) + "." + text_of(t), {t}, {t},
        [=](Words a, u64* d) { d[0] = ref::round_integral(f, Round(r), a[0]); });
  }
}
void between_floats(Cases& all) {
  for (const Type from : kTypes) {
    for (const Type to : kTypes) {
      if (from == to) continue;
      const Format f = ref::format_of(from), g = ref::format_of(to);
      const bool exact = to == Type::f64 || (to == Type::f32 && from != Type::f64);
      for (int r = 0; r < (exact ? 1 : 4); ++r) {
        const auto mode = Round(r);
        const std::string n = "." + text_of(to) + "." + text_of(from);
        const std::string round = exact ? "" : std::string(".") + kRound[r];
        put(all, "cvt" + round + n, {from}, {to}, [=](Words a, u64* d) { d[0] = ref::convert(f, g, mode, a[0]); });
        put(all, "cvt" + round + ".sat" + n, {from}, {to},
            [=](Words a, u64* d) { d[0] = ref::saturate(g, ref::convert(f, g, mode, a[0])); });
      }
    }
  }
  for (const bool sat : {false, true}) {
    const ref::FloatMods m{.ftz = true, .sat = sat};
    put(all, sat ? "cvt.ftz.sat.f32.f32" : "cvt.ftz.f32.f32", {Type::f32}, {Type::f32}, [=](Words a, u64* d) {
      d[0] = ref::finish(ref::kF32, m, ref::convert(ref::kF32, ref::result(ref::kF32, m), Round::rn, a[0]));
    });
  }
  put(all, "cvt.rn.ftz.f32.f64", {Type::f64}, {Type::f32},
      [](Words a, u64* d) { d[0] = ref::convert(ref::kF64, {8, 23, true}, Round::rn, a[0]); });
  for (int i = 20; i < 34; ++i) {  // 2^-126 less 2^(-126 - i)
    all.back().extra.push_back({0x3810000000000000 - (u64(1) << (53 - i))});
    all.back().extra.push_back({0xb810000000000000 - (u64(1) << (53 - i))});
  }
  put(all, "cvt.rzi.ftz.s32.f32", {Type::f32}, {Type::s32},
      [](Words a, u64* d) { d[0] = ref::to_integer(ref::kF32, Round::rz, ref::flush(ref::kF32, a[0]), 32, true); });
  put(all, "cvt.rni.sat.s8.f32", {Type::f32}, {Type::s8},
      [](Words a, u64* d) { d[0] = ref::to_integer(ref::kF32, Round::rn, a[0], 8, true); });
  for (const bool relu : {false, true}) {
    const std::string x = relu ? ".relu" : "";
    const auto word = [relu](Format to, Round mode, u64 v) {
      const u64 r = ref::convert(ref::kF32, to, mode, v);
      return relu && ref::is_negative(to, r) && !ref::is_nan(to, r) ? 0 : r;
    };
    put(all, "cvt.rn" + x + ".f16x2.f32", {Type::f32, Type::f32}, {Type::f16x2},
        [=](Words a, u64* d) { d[0] = word(ref::kF16, Round::rn, a[0]) << 16 | word(ref::kF16, Round::rn, a[1]); });
    put(all, "cvt.rz" + x + ".bf16x2.f32", {Type::f32, Type::f32}, {Type::bf16x2},
        [=](Words a, u64* d) { d[0] = word(ref::kBf16, Round::rz, a[0]) << 16 | word(ref::kBf16, Round::rz, a[1]); });
    for (const bool e4m3 : {false, true}) {
      const Type to = e4m3 ? Type::e4m3x2 : Type::e5m2x2;
      const auto narrow = [=](Format f, u64 v) {
        return u64(e4m3 ? ref::to_e4m3(f, v, relu) : ref::to_e5m2(f, v, relu));
      };
      put(all, "cvt.rn.satfinite" + x + "." + text_of(to) + ".f32", {Type::f32, Type::f32}, {to},
          [=](Words a, u64* d) { d[0] = narrow(ref::kF32, a[0]) << 8 | narrow(ref::kF32, a[1]); });
      put(all, "cvt.rn.satfinite" + x + "." + text_of(to) + ".f16x2", {Type::f16x2}, {to},
          [=](Words a, u64* d) { d[0] = narrow(ref::kF16, half(a[0], 16)) << 8 | narrow(ref::kF16, half(a[0], 0)); });
      put(all, "cvt.rn" + x + ".f16x2." + text_of(to), {to}, {Type::f16x2}, [=](Words a, u64* d) {
        const auto wide = [&](u64 v) {
          const auto byte = std::uint8_t(v);
          const u64 r = e4m3 ? ref::from_e4m3(ref::kF16, byte) : ref::from_e5m2(ref::kF16, byte);
          return relu && ref::is_negative(ref::kF16, r) && !ref::is_nan(ref::kF16, r) ? 0 : r;
        };
        d[0] = wide(a[0] >> 8) << 16 | wide(a[0]);
      });
    }
  }
  // .relu and .satfinite on single values: negative results become 0, infinities the largest finite value.
  const auto limited = [&](const std::string& text, Type to, Round mode, bool relu, bool finite) {
    put(all, text + "." + text_of(to) + ".f32", {Type::f32}, {to}, [=](Words a, u64* d) {
      const Format g = ref::format_of(to);
      u64 r = ref::convert(ref::kF32, g, mode, a[0]);
      if (finite && ref::is_inf(g, r)) --r;
      d[0] = relu && ref::is_negative(g, r) && !ref::is_nan(g, r) ? 0 : r;
    });
  };
  limited("cvt.rn.relu", Type::f16, Round::rn, true, false);
  limited("cvt.rz.relu", Type::bf16, Round::rz, true, false);
  limited("cvt.rn.satfinite", Type::f16, Round::rn, false, true);
  limited("cvt.rn.relu.satfinite", Type::bf16, Round::rn, true, true);
  put(all, "cvt.ftz.f32.f16", {Type::f16}, {Type::f32},
      [](Words a, u64* d) { d[0] = ref::convert(ref::kF16, ref::kF32, Round::rn, a[0]); });
  put(all, "cvt.rn.ftz.f16.f32", {Type::f32}, {Type::f16},
      [](Words a, u64* d) { d[0] = ref::convert(ref::kF32, ref::kF16, Round::rn, ref::flush(ref::kF32, a[0])); });
  put(all, "cvt.rn.relu.tf32.f32", {Type::f32}, {Type::tf32},
      [](Words a, u64* d) { d[0] = ref::to_tf32(Round::rn, true, u32(a[0])); });
  constexpr std::pair<const char*, Round> kTf32[] = {{"rna", Round::rna}, {"rn", Round::rn}, {"rz", Round::rz}};
  for (const auto& [text, mode] : kTf32) {
    put(all, std::string("cvt.") + text + ".tf32.f32", {Type::f32}, {Type::tf32},
        [mode = mode](Words a, u64* d) { d[0] = ref::to_tf32(mode, false, u32(a[0])); });
  }
  put(all, "cvt.pack.sat.s16.s32", {Type::s32, Type::s32}, {Type::u32},
      [](Words a, u64* d) { d[0] = ref::cvt_pack(std::int32_t(a[0]), std::int32_t(a[1]), 0, 16, true); });
  put(all, "cvt.pack.sat.u8.s32.b32", {Type::s32, Type::s32, Type::b32}, {Type::u32},
      [](Words a, u64* d) { d[0] = ref::cvt_pack(std::int32_t(a[0]), std::int32_t(a[1]), u32(a[2]), 8, false); });
}

// Near enough to `want`: within `relative` of it or `absolute`, with equal infinities and NaNs.
bool near(double want, double got, double relative, double absolute) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(got)) return want == got || std::fabs(want) > 0x1.fffffep127 * (1 - relative);
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want);
  return std::fabs(got - want) <= std::fabs(want) * relative || std::fabs(got - want) <= absolute;
}
void approximate(Cases& all, const std::string& op, ref::Approx which, double relative, double absolute,
                 std::vector<u64> edges = {}) {
  for (const bool ftz : {false, true}) {
    if (ftz && which == ref::Approx::tanh) continue;
    Case c;
    c.text = op + ".approx" + (ftz ? ".ftz" : "") + ".f32";
    c.in = {Type::f32};
    c.out = {Type::f32};
    c.near = [=](Words a, u64 got) {
      const auto x = std::bit_cast<float>(u32(a[0]));
      // Trigonometric results are bounded only in the range that the manual names.
      const bool far =
          (which == ref::Approx::sin || which == ref::Approx::cos) && std::isfinite(x) && std::fabs(x) > 0x1p20f;
      if (far) return std::fabs(std::bit_cast<float>(u32(got))) <= 1;
      const double want = ref::approx_f32(which, x, ftz);
      // A result below the least normal number may be flushed under .ftz, or off by its last bit.
      const double floor = ftz ? (std::fabs(want) < 0x1.00001p-126 ? 0x1.00001p-126 : 0) : 0x1p-149;
      // lg2 is bounded absolutely around 1 and relatively elsewhere.
      const bool loose = which == ref::Approx::lg2 && !(x > 0.5f && x < 2);
      const double allowed = std::max(loose ? 0 : absolute, want == 0 ? 0 : floor);
      return near(want, std::bit_cast<float>(u32(got)), relative, allowed);
    };
    c.edges = {edges};
    all.push_back(std::move(c));
  }
}

void half_approximate(Cases& all, const std::string& op, ref::Approx which, Type t, bool ftz, double relative) {
  const Format f = ref::format_of(t);
  Case c;
  c.text = op + ".approx" + (ftz ? ".ftz." : ".") + text_of(t);
  c.in = {t};
  c.out = {t};
  c.near = [=](Words a, u64 got) {
    const auto value = [&](u64 v) { return std::bit_cast<double>(ref::convert(f, ref::kF64, Round::rn, v)); };
    const double want = ref::approx_value(which, value(ftz ? ref::flush(f, a[0]) : a[0]));
    if (std::fabs(want) > value(f.infinity() - 1)) return std::fabs(value(got)) >= value(f.infinity() - 1);
    return near(want, value(got), relative, value(ftz ? f.hidden() : 1));
  };
  all.push_back(std::move(c));
}

}  // namespace

std::vector<u64> edge_values(Type t) {
  const unsigned width = isa::bits(t);
  const u64 mask = width == 64 ? ~u64(0) : (u64(1) << width) - 1;
  std::vector<u64> v;
  if (t == Type::pred) return {0, 1};
  if (isa::is_float(t)) {
    const Format f = ref::format_of(t);
    const u64 one = f.one(), inf = f.infinity();
    v = {0,
         1,
         2,
         f.hidden() - 1,
         f.hidden(),
         f.hidden() + 1,
         f.hidden() * 2,
         one,
         one + 1,
         one - 1,
         inf - 1,
         inf,
         inf + 1,
         f.nan(),
         inf | f.hidden() >> 1,
         one - f.hidden(),
         one + f.hidden(),
         one + f.hidden() / 2};
    for (const double x :
         {2.5,          3.5,          126.5,    127.5,    128.5,   254.5,         255.5,         256.0,
          32767.5,      32768.5,      65504.0,  65519.0,  65520.0, 65535.5,       2147483647.0,  2147483648.0,
          4294967295.0, 4294967296.0, 0x1p62,   0x1p63,   0x1p64,  0x1p63 - 1024, 0x1p64 - 2048, 0x1p23 + 1,
          0x1p24 + 2,   448.0,        464.0,    57344.0,  61440.0, 0.49999999,    0x1p-14,       0x1p-24,
          0x1p-25,      0x1.8p-25,    0x1p-133, 0x1p-134, 1e-40}) {
      v.push_back(ref::convert(ref::kF64, f, Round::rz, std::bit_cast<u64>(x)));
    }
    if (t == Type::f64) v.insert(v.end(), {0x7ff5555555555555, 0x7ffaaaaaaaaaaaaa, 0x7ff8000000000001});
    const std::size_t n = v.size();
    for (std::size_t i = 0; i < n; ++i) v.push_back(v[i] | f.sign_bit());
    return v;
  }
  for (const u64 x : {u64(0),
                      u64(1),
                      u64(2),
                      u64(3),
                      u64(7),
                      u64(8),
                      u64(15),
                      u64(16),
                      u64(24),
                      u64(31),
                      u64(32),
                      u64(33),
                      u64(63),
                      u64(64),
                      u64(65),
                      u64(127),
                      u64(128),
                      u64(255),
                      u64(256),
                      u64(32767),
                      u64(32768),
                      u64(65535),
                      u64(65536),
                      u64(0x7fffffff),
                      u64(0x80000000),
                      u64(0x1000001),
                      u64(0x5555555555555555),
                      u64(0x7fffffffffffffff),
                      u64(0x8000000000000000),
                      u64(1) << 32}) {
    v.push_back(x & mask);
    v.push_back(~x & mask);
    v.push_back((u64(0) - x) & mask);
  }
  return v;
}

std::vector<std::vector<u64>> tiny_sets(const std::vector<Type>& types) {
  std::vector<std::vector<u64>> sets;
  for (const Type t : types) {
    if (!isa::is_float(t) || t != types[0]) return {};
  }
  if (types.size() == 2 || types.size() == 3) add_tiny(sets, ref::format_of(types[0]), types.size() == 3);
  if (types[0] == Type::f32 && types.size() == 2) {
    for (const u64 x : {0x7fffffull, 0x7ffffeull, 0x7fff00ull}) {  // quotients just below 2^-126
      sets.push_back({0x00800000 + x, 0x40000000});
      sets.push_back({0x01000000 + x, 0x40800000});
      sets.push_back({0x20800000 + x, 0x60000000});
    }
  }
  for (int i = 20; types.size() == 1 && types[0] == Type::f64 && i < 34; ++i) {  // 2^-126 less 2^(-126 - i)
    sets.push_back({0x3810000000000000 - (u64(1) << (53 - i))});
    sets.push_back({0xb810000000000000 - (u64(1) << (53 - i))});
  }
  return sets;
}

std::vector<Case> float_cases() {
  Cases all;
  for (int r = 0; r < 4; ++r) {
    for (const bool ftz : {false, true}) {
      arithmetic(all, Type::f32, {Round(r), ftz, false}, true);
      arithmetic(all, Type::f32, {Round(r), ftz, true}, true);
    }
    arithmetic(all, Type::f64, {Round(r)}, true);
  }
  arithmetic(all, Type::f32, {}, false);
  for (const bool ftz : {false, true}) {
    arithmetic(all, Type::f16, {Round::rn, ftz, false}, true);
    arithmetic(all, Type::f16, {Round::rn, ftz, true}, true);
  }
  arithmetic(all, Type::bf16, {}, true);
  for (const Type t : kTypes) others(all, t);
  packed(all, Type::f16x2, Type::f16);
  packed(all, Type::bf16x2, Type::bf16);
  return all;
}

std::vector<Case> convert_cases() {
  Cases all;
  for (const Type t : kTypes) with_integers(all, t);
  between_floats(all);
  return all;
}

std::vector<Case> approx_cases() {
  Cases all;
  std::vector<u64> exponents;
  for (int i = -1512; i <= 1300; i += 3) exponents.push_back(std::bit_cast<u32>(float(i) / 10));
  approximate(all, "ex2", ref::Approx::ex2, 0x1p-22, 0, exponents);
  approximate(all, "lg2", ref::Approx::lg2, 0x1p-22, 0x1p-22);
  approximate(all, "sin", ref::Approx::sin, 0, 0x1p-20);
  approximate(all, "cos", ref::Approx::cos, 0, 0x1p-20);
  approximate(all, "tanh", ref::Approx::tanh, 0x1p-11, 0);
  approximate(all, "rcp", ref::Approx::rcp, 0x1p-23, 0);
  approximate(all, "rsqrt", ref::Approx::rsqrt, 0x1.1p-23, 0);
  approximate(all, "sqrt", ref::Approx::sqrt, 0x1p-23, 0);
  half_approximate(all, "ex2", ref::Approx::ex2, Type::f16, false, 0x1p-9);
  half_approximate(all, "ex2", ref::Approx::ex2, Type::bf16, true, 0x1p-7);
  half_approximate(all, "tanh", ref::Approx::tanh, Type::f16, false, 0x1p-10);
  half_approximate(all, "tanh", ref::Approx::tanh, Type::bf16, false, 0x1p-7);
  for (const char* kind : {"approx", "full"}) {
    for (const bool ftz : {false, true}) {
      Case c;
      c.text = std::string("div.") + kind + (ftz ? ".ftz" : "") + ".f32";
      c.in = {Type::f32, Type::f32};
      c.out = {Type::f32};
      const bool full = kind[0] == 'f';
      c.near = [=](Words a, u64 got) {
        auto x = std::bit_cast<float>(u32(a[0])), y = std::bit_cast<float>(u32(a[1]));
        if (ftz) x = ref::flush(x), y = ref::flush(y);
        const double want = full ? double(x) / y : ref::div_approx(x, y, false);
        const double tiny = ftz ? 0x1p-126 : 0x1p-149;
        const auto result = std::bit_cast<float>(u32(got));
        if (ftz && std::fabs(want) < 0x1p-126 && result != 0) return false;
        return near(want, result, 0x1p-22, want == 0 ? 0 : tiny);
      };
      all.push_back(std::move(c));
    }
  }
  {
    Case c;
    c.text = "rcp.approx.ftz.f64";
    c.in = {Type::f64};
    c.out = {Type::f64};
    c.near = [](Words a, u64 got) {
      const double want = std::bit_cast<double>(ref::rcp_approx_ftz_f64(a[0]));
      return (got & 0xffffffff) == 0 && near(want, std::bit_cast<double>(got), 0x1p-20, 0);
    };
    all.push_back(std::move(c));
  }
  Case c;
  c.text = "rsqrt.approx.f64";
  c.in = {Type::f64};
  c.out = {Type::f64};
  c.near = [](Words a, u64 got) {
    return near(1 / std::sqrt(std::bit_cast<double>(a[0])), std::bit_cast<double>(got), 0x1p-22, 0);
  };
  all.push_back(std::move(c));
  return all;
}

}  // namespace warploom::semantics
