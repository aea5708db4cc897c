// Cases of integer, logic, bit-field, comparison and video instructions.
#include "isa/ref/bits.hpp"
#include "isa/ref/compare.hpp"
#include "isa/ref/convert.hpp"
#include "isa/ref/video.hpp"
#include "lowering.hpp"

namespace warploom::semantics {
namespace {

namespace ref = isa::ref;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

template <typename T>
constexpr Type type_of() {
  if constexpr (sizeof(T) == 2)
    return std::is_signed_v<T> ? Type::s16 : Type::u16;
  else if constexpr (sizeof(T) == 4)
    return std::is_signed_v<T> ? Type::s32 : Type::u32;
  else
    return std::is_signed_v<T> ? Type::s64 : Type::u64;
}
template <typename T>
constexpr Type bits_of() {
  return sizeof(T) == 2 ? Type::b16 : sizeof(T) == 4 ? Type::b32 : Type::b64;
}
template <typename T>
u64 bits(T v) {
  return u64(std::make_unsigned_t<T>(v));
}
template <typename T>
std::string name() {
  return std::string(isa::name(type_of<T>()));
}
template <typename T>
std::string bits_name() {
  return std::string(isa::name(bits_of<T>()));
}

using Cases = std::vector<Case>;
using Words = const u64*;

void put(Cases& all, std::string text, std::vector<Type> in, std::vector<Type> out,
         std::function<void(Words, u64*)> f) {
  Case c;
  c.text = std::move(text);
  c.in = std::move(in);
  c.out = std::move(out);
  c.ref = std::move(f);
  all.push_back(std::move(c));
}
template <typename T>
void binary(Cases& all, const std::string& op, T (*f)(T, T)) {
  put(all, op + "." + name<T>(), {type_of<T>(), type_of<T>()}, {type_of<T>()},
      [f](Words a, u64* d) { d[0] = bits(f(T(a[0]), T(a[1]))); });
}
template <typename T>
void ternary(Cases& all, const std::string& op, T (*f)(T, T, T)) {
  put(all, op + "." + name<T>(), {type_of<T>(), type_of<T>(), type_of<T>()}, {type_of<T>()},
      [f](Words a, u64* d) { d[0] = bits(f(T(a[0]), T(a[1]), T(a[2]))); });
}

template <typename T>
void any_integer(Cases& all) {
  binary<T>(all, "add", ref::add<T>);
  binary<T>(all, "sub", ref::sub<T>);
  binary<T>(all, "mul.lo", ref::mul_lo<T>);
  binary<T>(all, "mul.hi", ref::mul_hi<T>);
  binary<T>(all, "div", ref::div<T>);
  binary<T>(all, "rem", ref::rem<T>);
  binary<T>(all, "min", ref::min<T>);
  binary<T>(all, "max", ref::max<T>);
  ternary<T>(all, "mad.lo", ref::mad_lo<T>);
  ternary<T>(all, "mad.hi", ref::mad_hi<T>);
  ternary<T>(all, "sad", ref::sad<T>);
  constexpr Type t = type_of<T>();
  put(all, "shr." + name<T>(), {t, Type::u32}, {t}, [](Words a, u64* d) { d[0] = bits(ref::shr(T(a[0]), u32(a[1]))); });
  if constexpr (std::is_signed_v<T>) {
    put(all, "abs." + name<T>(), {t}, {t}, [](Words a, u64* d) { d[0] = bits(ref::abs(T(a[0]))); });
    put(all, "neg." + name<T>(), {t}, {t}, [](Words a, u64* d) { d[0] = bits(ref::neg(T(a[0]))); });
  }
  constexpr const char* kCmp[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  for (int c = 0; c < 6; ++c) {
    const auto cmp = ref::Cmp(c);
    const std::string text = kCmp[c];
    put(all, "setp." + text + "." + name<T>(), {t, t}, {Type::pred},
        [cmp](Words a, u64* d) { d[0] = ref::compare(cmp, T(a[0]), T(a[1])); });
    if (c < 2) continue;
    put(all, "setp." + text + ".and." + name<T>(), {t, t, Type::pred}, {Type::pred, Type::pred},
        [cmp](Words a, u64* d) {
          const bool r = ref::compare(cmp, T(a[0]), T(a[1]));
          d[0] = ref::combine(ref::BoolOp::and_, r, a[2] != 0);
          d[1] = ref::combine(ref::BoolOp::and_, !r, a[2] != 0);
        });
    all.back().pair = true;
  }
  put(all, "set.lt.xor.u32." + name<T>(), {t, t, Type::pred}, {Type::u32},
      [](Words a, u64* d) { d[0] = ref::combine(ref::BoolOp::xor_, T(a[0]) < T(a[1]), a[2] != 0) ? 0xffffffff : 0; });
  put(all, "selp." + name<T>(), {t, t, Type::pred}, {t}, [](Words a, u64* d) { d[0] = a[2] != 0 ? a[0] : a[1]; });
  put(all, "slct." + name<T>() + ".s32", {t, t, Type::s32}, {t},
      [](Words a, u64* d) { d[0] = bits(ref::slct(T(a[0]), T(a[1]), s32(a[2]))); });
  put(all, "slct.ftz." + name<T>() + ".f32", {t, t, Type::f32}, {t},
      [](Words a, u64* d) { d[0] = bits(ref::slct_f32(T(a[0]), T(a[1]), u32(a[2]), true)); });
}

template <typename T>
void wide_integer(Cases& all) {  // 16 and 32 bits
  constexpr Type t = type_of<T>();
  constexpr Type w = type_of<ref::wider_t<T>>();
  put(all, "mul.wide." + name<T>(), {t, t}, {w}, [](Words a, u64* d) { d[0] = bits(ref::mul_wide(T(a[0]), T(a[1]))); });
  put(all, "mad.wide." + name<T>(), {t, t, w}, {w},
      [](Words a, u64* d) { d[0] = bits(ref::mad_wide(T(a[0]), T(a[1]), ref::wider_t<T>(a[2]))); });
}

template <typename T>
void carry_integer(Cases& all) {  // 32 and 64 bits
  constexpr Type t = type_of<T>(), p = Type::pred;
  const auto save = [](ref::Carry<T> r, u64* d) { d[0] = bits(r.value), d[1] = r.carry; };
  put(all, "add.cc." + name<T>(), {t, t}, {t, p},
      [save](Words a, u64* d) { save(ref::add_carry(T(a[0]), T(a[1]), false), d); });
  put(all, "addc.cc." + name<T>(), {t, t, p}, {t, p},
      [save](Words a, u64* d) { save(ref::add_carry(T(a[0]), T(a[1]), a[2] != 0), d); });
  put(all, "addc." + name<T>(), {t, t, p}, {t},
      [](Words a, u64* d) { d[0] = bits(ref::add_carry(T(a[0]), T(a[1]), a[2] != 0).value); });
  put(all, "sub.cc." + name<T>(), {t, t}, {t, p},
      [save](Words a, u64* d) { save(ref::sub_borrow(T(a[0]), T(a[1]), false), d); });
  put(all, "subc.cc." + name<T>(), {t, t, p}, {t, p},
      [save](Words a, u64* d) { save(ref::sub_borrow(T(a[0]), T(a[1]), a[2] != 0), d); });
  put(all, "mad.lo.cc." + name<T>(), {t, t, t}, {t, p},
      [save](Words a, u64* d) { save(ref::add_carry(ref::mul_lo(T(a[0]), T(a[1])), T(a[2]), false), d); });
  put(all, "madc.hi.cc." + name<T>(), {t, t, t, p}, {t, p},
      [save](Words a, u64* d) { save(ref::add_carry(ref::mul_hi(T(a[0]), T(a[1])), T(a[2]), a[3] != 0), d); });
  put(all, "bfe." + name<T>(), {t, Type::u32, Type::u32}, {t},
      [](Words a, u64* d) { d[0] = bits(ref::bfe(T(a[0]), u32(a[1]), u32(a[2]))); });
  for (const bool shiftamt : {false, true}) {
    put(all, std::string("bfind.") + (shiftamt ? "shiftamt." : "") + name<T>(), {t}, {Type::u32},
        [shiftamt](Words a, u64* d) { d[0] = ref::bfind(T(a[0]), shiftamt); });
  }
}

template <typename T>
void any_bits(Cases& all) {  // T unsigned
  constexpr Type t = bits_of<T>();
  const std::string n = "." + bits_name<T>();
  put(all, "and" + n, {t, t}, {t}, [](Words a, u64* d) { d[0] = a[0] & a[1]; });
  put(all, "or" + n, {t, t}, {t}, [](Words a, u64* d) { d[0] = a[0] | a[1]; });
  put(all, "xor" + n, {t, t}, {t}, [](Words a, u64* d) { d[0] = a[0] ^ a[1]; });
  put(all, "not" + n, {t}, {t}, [](Words a, u64* d) { d[0] = bits(T(~a[0])); });
  put(all, "cnot" + n, {t}, {t}, [](Words a, u64* d) { d[0] = bits(ref::cnot(T(a[0]))); });
  put(all, "mov" + n, {t}, {t}, [](Words a, u64* d) { d[0] = a[0]; });
  put(all, "shl" + n, {t, Type::u32}, {t}, [](Words a, u64* d) { d[0] = bits(ref::shl(T(a[0]), u32(a[1]))); });
  put(all, "shr" + n, {t, Type::u32}, {t}, [](Words a, u64* d) { d[0] = bits(ref::shr(T(a[0]), u32(a[1]))); });
  if constexpr (sizeof(T) > 2) {
    put(all, "popc" + n, {t}, {Type::u32}, [](Words a, u64* d) { d[0] = ref::popc(T(a[0])); });
    put(all, "clz" + n, {t}, {Type::u32}, [](Words a, u64* d) { d[0] = ref::clz(T(a[0])); });
    put(all, "brev" + n, {t}, {t}, [](Words a, u64* d) { d[0] = ref::brev(T(a[0])); });
    put(all, "bfi" + n, {t, t, Type::u32, Type::u32}, {t},
        [](Words a, u64* d) { d[0] = ref::bfi(T(a[0]), T(a[1]), u32(a[2]), u32(a[3])); });
  }
}

void words(Cases& all) {
  constexpr Type b = Type::b32, u = Type::u32, s = Type::s32;
  binary<s32>(all, "add.sat", ref::add_sat<s32>);
  binary<s32>(all, "sub.sat", ref::sub_sat<s32>);
  binary<s32>(all, "min.relu", ref::min_relu<s32>);
  binary<s32>(all, "max.relu", ref::max_relu<s32>);
  ternary<s32>(all, "mad.hi.sat", ref::mad_hi_sat<s32>);
  binary<u32>(all, "mul24.lo", ref::mul24_lo<u32>);
  binary<s32>(all, "mul24.lo", ref::mul24_lo<s32>);
  binary<u32>(all, "mul24.hi", ref::mul24_hi<u32>);
  binary<s32>(all, "mul24.hi", ref::mul24_hi<s32>);
  ternary<s32>(all, "mad24.lo", [](s32 x, s32 y, s32 z) { return ref::add(ref::mul24_lo(x, y), z); });
  ternary<s32>(all, "mad24.hi.sat", [](s32 x, s32 y, s32 z) { return ref::add_sat(ref::mul24_hi(x, y), z); });
  put(all, "fns.b32", {b, b, s}, {b}, [](Words a, u64* d) { d[0] = ref::fns(u32(a[0]), u32(a[1]), s32(a[2])); });
  all.back().edges = {{}, {0, 1, 5, 31, 32, ~u32(0)}, {0, 1, 2, 3, 31, 32, u32(-1), u32(-2), 0x80000000}};
  for (const bool clamp : {false, true}) {
    const std::string mode = clamp ? "clamp" : "wrap";
    put(all, "bmsk." + mode + ".b32", {b, b}, {b},
        [clamp](Words a, u64* d) { d[0] = ref::bmsk(u32(a[0]), u32(a[1]), clamp); });
    put(all, "szext." + mode + ".u32", {u, u}, {u},
        [clamp](Words a, u64* d) { d[0] = ref::szext(u32(a[0]), u32(a[1]), clamp); });
    put(all, "szext." + mode + ".s32", {s, u}, {s},
        [clamp](Words a, u64* d) { d[0] = bits(ref::szext(s32(a[0]), u32(a[1]), clamp)); });
    put(all, "shf.l." + mode + ".b32", {b, b, u}, {b},
        [clamp](Words a, u64* d) { d[0] = ref::shf_l(u32(a[0]), u32(a[1]), u32(a[2]), !clamp); });
    put(all, "shf.r." + mode + ".b32", {b, b, u}, {b},
        [clamp](Words a, u64* d) { d[0] = ref::shf_r(u32(a[0]), u32(a[1]), u32(a[2]), !clamp); });
    for (Case* c : {&all[all.size() - 1], &all[all.size() - 2]}) c->edges = {{}, {}, edge_values(Type::u32)};
  }
  constexpr const char* kPrmt[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
  for (int i = 0; i < 7; ++i) {
    put(all, std::string("prmt.b32") + kPrmt[i], {b, b, b}, {b},
        [i](Words a, u64* d) { d[0] = ref::prmt(u32(a[0]), u32(a[1]), u32(a[2]), ref::Prmt(i)); });
  }
  for (const u32 lut : {0x00u, 0xffu, 0x80u, 0xfeu, 0x96u, 0xcau, 0xe8u, 0x1bu, 0x6cu, 0x27u}) {
    put(all, "lop3.b32", {b, b, b}, {b},
        [lut](Words a, u64* d) { d[0] = ref::lop3(u32(a[0]), u32(a[1]), u32(a[2]), lut); });
    all.back().has_immediate = true;
    all.back().immediate = lut;
  }
  put(all, "dp4a.u32.u32", {b, b, b}, {b},
      [](Words a, u64* d) { d[0] = ref::dp4a<std::uint8_t, std::uint8_t>(u32(a[0]), u32(a[1]), u32(a[2])); });
  put(all, "dp4a.s32.s32", {b, b, b}, {b},
      [](Words a, u64* d) { d[0] = ref::dp4a<std::int8_t, std::int8_t>(u32(a[0]), u32(a[1]), u32(a[2])); });
  put(all, "dp4a.u32.s32", {b, b, b}, {b},
      [](Words a, u64* d) { d[0] = ref::dp4a<std::uint8_t, std::int8_t>(u32(a[0]), u32(a[1]), u32(a[2])); });
  put(all, "dp2a.lo.s32.u32", {b, b, b}, {b},
      [](Words a, u64* d) { d[0] = ref::dp2a<s16, std::uint8_t>(u32(a[0]), u32(a[1]), u32(a[2]), false); });
  put(all, "dp2a.hi.u32.s32", {b, b, b}, {b},
      [](Words a, u64* d) { d[0] = ref::dp2a<u16, std::int8_t>(u32(a[0]), u32(a[1]), u32(a[2]), true); });
  for (const char* text : {"lo", "ls", "hi", "hs"}) {
    const ref::Cmp cmp = text[0] == 'l' ? (text[1] == 'o' ? ref::Cmp::lt : ref::Cmp::le)
                                        : (text[1] == 'i' ? ref::Cmp::gt : ref::Cmp::ge);
    put(all, std::string("setp.") + text + ".u32", {u, u}, {Type::pred},
        [cmp](Words a, u64* d) { d[0] = ref::compare(cmp, u32(a[0]), u32(a[1])); });
  }
  constexpr Type p = Type::pred;
  put(all, "and.pred", {p, p}, {p}, [](Words a, u64* d) { d[0] = a[0] & a[1]; });
  put(all, "xor.pred", {p, p}, {p}, [](Words a, u64* d) { d[0] = a[0] ^ a[1]; });
  put(all, "not.pred", {p}, {p}, [](Words a, u64* d) { d[0] = a[0] ^ 1; });
}

// Two 16-bit integers in a word.
void pairs(Cases& all) {
  const auto pair = [&](const std::string& text, Type t, u64 (*f)(u64, u64)) {
    put(all, text, {t, t}, {t}, [f](Words a, u64* d) {
      d[0] = (f(a[0] & 0xffff, a[1] & 0xffff) & 0xffff) | (f(a[0] >> 16, a[1] >> 16) & 0xffff) << 16;
    });
  };
  pair("add.u16x2", Type::u16x2, [](u64 a, u64 b) { return a + b; });
  pair("min.u16x2", Type::u16x2, [](u64 a, u64 b) { return std::min(a, b); });
  pair("max.s16x2", Type::s16x2, [](u64 a, u64 b) { return u64(std::max(s16(a), s16(b))); });
  pair("min.relu.s16x2", Type::s16x2, [](u64 a, u64 b) { return u64(ref::min_relu(s16(a), s16(b))); });
}

void video(Cases& all) {
  using Op = ref::VideoOp;
  constexpr std::pair<const char*, Op> kOps[] = {{"vadd", Op::add},         {"vsub", Op::sub}, {"vavrg", Op::avrg},
                                                 {"vabsdiff", Op::absdiff}, {"vmin", Op::min}, {"vmax", Op::max}};
  for (const auto& [op, code] : kOps) {
    for (const unsigned lanes : {2u, 4u}) {
      for (const unsigned signs : {0u, 3u, 5u, 7u}) {
        for (const std::string& mod : {std::string(), std::string(".sat"), std::string(".add")}) {
          ref::Video v;
          v.op = code;
          v.lanes = lanes;
          v.mask = lanes == 2 ? 3 : 15;
          if (lanes == 2) v.a_select = 0x10, v.b_select = 0x32;
          v.d_signed = (signs & 1) != 0, v.a_signed = (signs & 2) != 0, v.b_signed = (signs & 4) != 0;
          v.sat = mod == ".sat", v.accumulate = mod == ".add";
          const auto t = [](bool s) { return s ? Type::s32 : Type::u32; };
          std::string text = op + std::to_string(lanes);
          for (const bool s : {v.d_signed, v.a_signed, v.b_signed}) text += s ? ".s32" : ".u32";
          put(all, text + mod, {t(v.a_signed), t(v.b_signed), t(v.d_signed)}, {t(v.d_signed)},
              [v](Words a, u64* d) { d[0] = ref::video(v, u32(a[0]), u32(a[1]), u32(a[2])); });
        }
      }
    }
  }
}

template <typename To, typename From>
void integer_conversion(Cases& all) {
  constexpr auto type = []<typename T>(T) {
    if constexpr (sizeof(T) == 1)
      return std::is_signed_v<T> ? Type::s8 : Type::u8;
    else
      return type_of<T>();
  };
  const Type to = type(To{}), from = type(From{});
  for (const bool sat : {false, true}) {
    put(all, std::string(sat ? "cvt.sat." : "cvt.") + std::string(isa::name(to)) + "." + std::string(isa::name(from)),
        {from}, {to},
        [sat](Words a, u64* d) { d[0] = ref::convert_integer(From(a[0]), ref::kBits<To>, std::is_signed_v<To>, sat); });
  }
}
template <typename From>
void integer_conversions(Cases& all) {
  integer_conversion<std::int8_t, From>(all);
  integer_conversion<std::uint8_t, From>(all);
  integer_conversion<s16, From>(all);
  integer_conversion<u16, From>(all);
  integer_conversion<s32, From>(all);
  integer_conversion<u32, From>(all);
  integer_conversion<s64, From>(all);
  integer_conversion<u64, From>(all);
}

}  // namespace

std::vector<Case> integer_cases() {
  Cases all;
  any_integer<u16>(all);
  any_integer<s16>(all);
  any_integer<u32>(all);
  any_integer<s32>(all);
  any_integer<u64>(all);
  any_integer<s64>(all);
  wide_integer<u16>(all);
  wide_integer<s16>(all);
  wide_integer<u32>(all);
  wide_integer<s32>(all);
  carry_integer<u32>(all);
  carry_integer<s32>(all);
  carry_integer<u64>(all);
  carry_integer<s64>(all);
  any_bits<u16>(all);
  any_bits<u32>(all);
  any_bits<u64>(all);
  words(all);
  pairs(all);
  video(all);
  integer_conversions<std::int8_t>(all);
  integer_conversions<std::uint8_t>(all);
  integer_conversions<s16>(all);
  integer_conversions<u32>(all);
  integer_conversions<s32>(all);
  integer_conversions<s64>(all);
  integer_conversions<u64>(all);
  return all;
}

}  // namespace warploom::semantics
