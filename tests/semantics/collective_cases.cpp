// Cases of atomic operations and of instructions between the lanes of a warp: what they do to memory and to all lanes.
#include "collective_cases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "isa/ref/compare.hpp"

namespace warploom::semantics {
namespace {

namespace ref = isa::ref;
using isa::Mod;
using isa::Op;
using ref::Format;
using u32 = std::uint32_t;

u64 low_bits(unsigned bits) { return bits == 64 ? ~u64(0) : (u64(1) << bits) - 1; }

// One element of an atomic operation: the new value of memory.
struct Update {
  Mod op;
  Type type;           // of an element
  bool flush = false;  // f32 in global memory sees subnormal numbers as zeros

  [[nodiscard]] u64 operator()(u64 old, u64 b, u64 c) const {
    const u64 mask = low_bits(isa::bits(type));
    old &= mask, b &= mask, c &= mask;
    if (isa::is_float(type)) return real(old, b);
    const bool less = isa::is_signed(type) ? signed_value(old) < signed_value(b) : old < b;
    switch (op) {
      case Mod::and_: return old & b;
      case Mod::or_: return old | b;
      case Mod::xor_: return old ^ b;
      case Mod::exch: return b;
      case Mod::cas: return old == b ? c : old;
      case Mod::add: return (old + b) & mask;
      case Mod::inc: return old >= b ? 0 : old + 1;
      case Mod::dec: return old == 0 || old > b ? b : old - 1;
      case Mod::min: return less ? old : b;
      default: return less ? b : old;
    }
  }

 private:
  [[nodiscard]] std::int64_t signed_value(u64 v) const {
    const unsigned unused = 64 - isa::bits(type);
    return std::int64_t(v << unused) >> unused;
  }
  [[nodiscard]] u64 real(u64 old, u64 b) const {
    const Format f = type == Type::f16    ? ref::kF16
                     : type == Type::bf16 ? ref::kBf16
                     : type == Type::f32  ? ref::kF32
                                          : ref::kF64;
    if (op != Mod::add) return ref::min_max(f, {.max = op == Mod::max}, old, b);
    return ref::add(f, ref::FloatMods{.ftz = flush && type == Type::f32}, old, b);
  }
};

Type element_of(Type t) {
  if (t == Type::f16x2) return Type::f16;
  return t == Type::bf16x2 ? Type::bf16 : t;
}

struct Atomic {
  std::string text;   // with modifiers
  std::string space;  // of the loads and stores around it
  bool shared = false, returns = false;
  Mod op{};
  Type type{};
  unsigned vector = 1;
};

constexpr u64 kFill = 0x1122334455667788;

void scalar(const Atomic& a, const std::string& name, std::vector<TableCase>& all) {
  TableCase c;
  c.name = name;
  const bool swap = a.op == Mod::cas;
  const unsigned bits = isa::bits(a.type);
  c.in.assign(swap ? 3 : 2, a.type);
  if (a.returns) c.out.push_back(a.type);
  c.out.push_back(a.type == Type::f64 ? Type::f64 : Type::u64);  // the whole cell
  const std::string address = !a.shared ? "%rg" : a.space.empty() ? "%rs" : "%rw";
  const std::string word = a.returns ? "%d1" : "%d0";
  c.body = fmt::format(
      "  mov.b64 {4}, {5};\n  st{0}.b64 [{1}], {4};\n  st{0}.b{2} [{1}], %a0;\n  {3} {6}[{1}], %a1{7};\n"
      "  ld{0}.b64 {4}, [{1}];\n",
      a.space, address, bits, a.text, word, kFill, a.returns ? "%d0, " : "", swap ? ", %a2" : "");
  const Type element = element_of(a.type);
  const bool packed = element != a.type;
  c.ref = [=, update = Update{a.op, element, !a.shared}, returns = a.returns](const u64* in, u64* d) {
    const u64 value = packed ? update(in[0], in[1], 0) | update(in[0] >> 16, in[1] >> 16, 0) << 16
                             : update(in[0], in[1], swap ? in[2] : 0);
    if (returns) *d++ = in[0];
    *d = (kFill & ~low_bits(bits)) | value;
  };
  c.any_nan = a.type == Type::f64;
  c.kind = "scratch";
  all.push_back(std::move(c));
}

// Sixteen bytes as two words, in one piece (b128) or as a vector.
void wide(const Atomic& a, const std::string& name, std::vector<TableCase>& all) {
  TableCase c;
  c.name = name;
  const bool swap = a.op == Mod::cas, whole = isa::bits(a.type) == 128;
  const unsigned bits = isa::bits(a.type);
  c.in.assign(swap ? 6 : 4, Type::b64);
  c.out.assign(a.returns ? 4 : 2, Type::b64);
  const std::string address = !a.shared ? "%rg" : a.space.empty() ? "%rs" : "%rw";
  std::string pack, sources, results, unpack;
  const auto list = [](const std::string& stem, unsigned count, unsigned from, unsigned zeros = 0) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + stem + std::to_string(from + i);
    for (unsigned i = 0; i < zeros; ++i) text += ", %z";
    return text + "}";
  };
  if (whole) {
    pack = "  .reg .b128 %q<4>;\n  mov.b128 %q1, {%a2, %a3};\n";
    if (swap) pack += "  mov.b128 %q2, {%a4, %a5};\n";
    sources = swap ? "%q1, %q2" : "%q1";
    results = "%q0";
    unpack = "  mov.b128 {%d0, %d1}, %q0;\n";
  } else {
    const unsigned each = 64 / bits;  // elements of a word
    pack = fmt::format("  .reg .b{0} %e<8>, %o<8>, %z;\n  mov.b{0} %z, 0;\n", bits);
    for (unsigned w = 0; w < 2; ++w) {
      pack += fmt::format("  mov.b64 {}, %a{};\n", list("%e", each, w * each), w + 2);
      const unsigned used = a.vector <= w * each ? 0 : std::min(each, a.vector - w * each);
      if (used == 0)
        unpack += "  mov.b64 %d1, 0;\n";
      else
        unpack += fmt::format("  mov.b64 %d{}, {};\n", w, list("%o", used, w * each, each - used));
    }
    sources = list("%e", a.vector, 0);
    results = list("%o", a.vector, 0);
  }
  c.body = pack + fmt::format("  st{0}.v2.b64 [{1}], {{%a0, %a1}};\n  {2} {3}[{1}], {4};\n", a.space, address, a.text,
                              a.returns ? results + ", " : "", sources);
  if (a.returns) c.body += unpack;
  c.body +=
      fmt::format("  ld{}.v2.b64 {{%d{}, %d{}}}, [{}];\n", a.space, a.returns ? 2 : 0, a.returns ? 3 : 1, address);
  c.ref = [=, elements = a.vector, returns = a.returns, update = Update{a.op, element_of(a.type), !a.shared},
           element = isa::bits(element_of(a.type))](const u64* in, u64* d) {
    u64 fresh[2] = {in[0], in[1]}, old[2] = {};
    if (whole) {
      old[0] = in[0], old[1] = in[1];
      const bool same = in[0] == in[2] && in[1] == in[3];
      for (int w = 0; w < 2; ++w) fresh[w] = !swap ? in[2 + w] : same ? in[4 + w] : in[w];
    } else {
      const unsigned count = elements * (bits / element);
      for (unsigned i = 0; i < count; ++i) {
        const unsigned w = i * element / 64, at = i * element % 64;
        const u64 mask = low_bits(element) << at;
        old[w] |= in[w] & mask;
        fresh[w] = (fresh[w] & ~mask) | update(in[w] >> at, in[2 + w] >> at, 0) << at;
      }
    }
    if (returns) *d++ = old[0], *d++ = old[1];
    d[0] = fresh[0], d[1] = fresh[1];
  };
  c.kind = whole ? "scratch" : "scratch." + std::string(isa::name(element_of(a.type)));
  all.push_back(std::move(c));
}

// All lanes of a warp on one cell, with operations whose order does not matter.
void contended(const Atomic& a, const std::string& name, std::vector<TableCase>& all) {
  const bool counts = a.op == Mod::inc || a.op == Mod::dec;
  if (isa::is_float(element_of(a.type)) || a.op == Mod::exch || a.op == Mod::cas || a.vector > 1) return;
  TableCase c;
  c.name = name + " by all lanes";
  const unsigned bits = isa::bits(a.type);
  c.in = {a.type};
  c.out = {a.type};
  const std::string address = a.shared ? a.space.empty() ? "%rsc" : "%rwc" : "%rgc";
  const u64 start = (a.op == Mod::and_ || a.op == Mod::min ? ~u64(0) >> 1 : 7) & low_bits(bits);
  c.body = fmt::format(
      "  mov.b{0} %d0, {1};\n  bar.warp.sync %mm;\n  st{2}.b{0} [{3}], %d0;\n  bar.warp.sync %mm;\n  {4} {5}[{3}], "
      "{6};\n"
      "  bar.warp.sync %mm;\n  ld{2}.b{0} %d0, [{3}];\n",
      bits, start, a.space, address, a.text, a.returns ? "_, " : "", counts ? "20" : "%a0");
  c.group = [=, update = Update{a.op, a.type}](const u64* words, u32 lanes, u64* const* results, bool*) {
    for (std::size_t w = 0; w < kTableSets; w += 32) {
      u64 value = start;
      for (std::size_t l = 0; l < 32; ++l)
        if ((lanes >> l & 1) != 0) value = update(value, counts ? 20 : words[w + l], 0);
      for (std::size_t l = 0; l < 32; ++l) results[0][w + l] = value;
    }
  };
  c.kind = "warp";
  all.push_back(std::move(c));
}

void put(TableCase c, std::vector<TableCase>& all) {
  c.kind = c.kind.empty() ? "warp" : c.kind;
  all.push_back(std::move(c));
}

bool part(u32 lanes, std::size_t lane) { return (lanes >> (lane & 31) & 1) != 0; }

// Value of each lane from those of its warp: f(words of the warp, lanes, lane).
template <typename F>
std::function<void(const u64*, u32, u64* const*, bool*)> each_lane(F f) {
  return [f](const u64* words, u32 lanes, u64* const* results, bool*) {
    for (std::size_t n = 0; n < kTableSets; ++n) f(words + n / 32 * 32, lanes, n & 31, results, n);
  };
}

void shuffle(const std::string& text, int mode, std::vector<TableCase>& all) {
  TableCase c;
  c.name = text + " %d0|%d1, %a0, %a1, %a2" + (text.find(".sync") == std::string::npos ? "" : ", %mm");
  c.in = {Type::b32, Type::b32, Type::b32};
  c.out = {Type::b32, Type::pred};
  c.kind = "warp.shfl";
  c.group = [mode](const u64* words, u32 lanes, u64* const* results, bool* valid) {
    for (std::size_t n = 0; n < kTableSets; ++n) {
      const int lane = int(n & 31), b = int(words[kTableSets + n] & 31), clamp = int(words[2 * kTableSets + n] & 31);
      const int segment = int(words[2 * kTableSets + n] >> 8 & 31);
      const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
      int from = mode == 0 ? lane - b : mode == 1 ? lane + b : mode == 2 ? lane ^ b : least | (b & ~segment);
      const bool inside = mode == 0 ? from >= most : from <= most;
      if (!inside) from = lane;
      results[0][n] = words[n / 32 * 32 + std::size_t(from)];
      results[1][n] = inside;
      valid[n] = part(lanes, std::size_t(from));  // a lane that takes no part has no defined value
    }
  };
  put(std::move(c), all);
}

void vote(const std::string& text, bool negated, std::vector<TableCase>& all) {
  TableCase c;
  const bool ballot = text.find("ballot") != std::string::npos;
  const char mode = ballot                                   ? 'b'
                    : text.find(".all") != std::string::npos ? 'a'
                    : text.find(".any") != std::string::npos ? 'y'
                                                             : 'u';
  c.name = text + " %d0, " + (negated ? "!" : "") + "%a0" + (text.find(".sync") == std::string::npos ? "" : ", %mm");
  c.in = {Type::pred};
  c.out = {ballot ? Type::b32 : Type::pred};
  c.kind = "warp.vote";
  c.group = each_lane([=](const u64* warp, u32 lanes, std::size_t, u64* const* results, std::size_t n) {
    u32 yes = 0;
    for (std::size_t l = 0; l < 32; ++l)
      if (part(lanes, l) && (warp[l] != 0) != negated) yes |= 1u << l;
    results[0][n] = mode == 'b' ? yes : mode == 'a' ? yes == lanes : mode == 'y' ? yes != 0 : yes == 0 || yes == lanes;
  });
  put(std::move(c), all);
}

void match(bool every, Type t, std::vector<TableCase>& all) {
  TableCase c;
  c.name = fmt::format("match.{}.sync.{} %d0{}, %a0, %mm", every ? "all" : "any", isa::name(t), every ? "|%d1" : "");
  c.in = {t};
  c.out = {Type::u32};
  if (every) c.out.push_back(Type::pred);
  c.kind = "warp.match";
  c.group = each_lane([=](const u64* warp, u32 lanes, std::size_t lane, u64* const* results, std::size_t n) {
    u32 same = 0;
    for (std::size_t l = 0; l < 32; ++l)
      if (part(lanes, l) && warp[l] == warp[lane]) same |= 1u << l;
    results[0][n] = every && same != lanes ? 0 : same;
    if (every) results[1][n] = same == lanes;
  });
  put(std::move(c), all);
}

void reduce(const std::string& text, Mod op, Type t, std::vector<TableCase>& all) {
  TableCase c;
  c.name = text + " %d0, %a0, %mm";
  c.in = {t};
  c.out = {t};
  c.group = each_lane([=](const u64* warp, u32 lanes, std::size_t, u64* const* results, std::size_t n) {
    const Update update{op, t};
    bool first = true;
    u64 value = 0;
    for (std::size_t l = 0; l < 32; ++l) {
      if (!part(lanes, l)) continue;
      value = first ? warp[l] : update(value, warp[l], 0);
      first = false;
    }
    results[0][n] = value;
  });
  put(std::move(c), all);
}

// Of f32 the smallest or largest, of absolute values; .NaN hands on any NaN, else only NaNs make one.
void reduce_float(bool max, bool abs, bool nan, std::vector<TableCase>& all) {
  TableCase c;
  c.name =
      fmt::format("redux.sync.{}{}{}.f32 %d0, %a0, %mm", max ? "max" : "min", abs ? ".abs" : "", nan ? ".NaN" : "");
  c.in = {Type::f32};
  c.out = {Type::f32};
  c.group = each_lane([=](const u64* warp, u32 lanes, std::size_t, u64* const* results, std::size_t n) {
    std::vector<u64> values;
    bool any_nan = false;
    for (std::size_t l = 0; l < 32; ++l) {
      if (!part(lanes, l)) continue;
      const u64 x = abs ? warp[l] & 0x7fffffff : warp[l];
      any_nan = any_nan || is_nan_bits(Type::f32, x);
      if (!is_nan_bits(Type::f32, x)) values.push_back(x);
    }
    results[0][n] = 0x7fffffff;
    if (values.empty() || (any_nan && nan)) return;
    // -0 below +0, as the signed magnitudes are.
    const auto key = [](u64 x) { return (x >> 31) != 0 ? -std::int64_t(x & 0x7fffffff) - 1 : std::int64_t(x); };
    const auto less = [&](u64 a, u64 b) { return key(a) < key(b); };
    results[0][n] = max ? *std::max_element(values.begin(), values.end(), less)
                        : *std::min_element(values.begin(), values.end(), less);
  });
  put(std::move(c), all);
}

}  // namespace

void add_atomic_cases(const isa::Row& row, const isa::Form& form, std::vector<TableCase>& all) {
  if (form.emit == "unsupported" || form.text.starts_with("red.async")) return;
  std::size_t turn = form.text.size() + form.groups.size();  // memory orders and scopes take turns
  std::vector<std::size_t> radix;
  const auto kind = [&](std::size_t i) { return std::string(isa::name(form.groups[i].choices[0])); };
  const auto turns = [&](std::size_t i) {
    return kind(i) == "relaxed" || kind(i) == "cta" || kind(i) == "L2::cache_hint";
  };
  std::size_t total = 1;
  for (std::size_t i = 0; i < form.groups.size(); ++i) {
    radix.push_back(turns(i) ? 1 : form.groups[i].choices.size() + (form.groups[i].required ? 0 : 1));
    total *= radix.back();
  }
  radix.push_back(form.types[0].size());
  total *= radix.back();
  for (std::size_t code = 0; code < total; ++code, ++turn) {
    Atomic a;
    a.returns = row.op == Op::atom;
    a.text = row.name;
    std::size_t rest = code;
    for (std::size_t i = 0; i < form.groups.size(); ++i) {
      const isa::ModGroup& g = form.groups[i];
      std::size_t digit = rest % radix[i];
      rest /= radix[i];
      if (kind(i) == "L2::cache_hint") continue;
      if (turns(i)) digit = (kind(i) == "cta" ? turn : turn / 3) % (g.choices.size() + 1);
      if (!g.required && digit-- == 0) continue;
      const Mod m = g.choices[digit];
      const std::string name(isa::name(m));
      a.text += "." + name;
      if (kind(i) == "global" || kind(i) == "shared") {
        a.shared = name != "global";
        a.space = a.shared ? ".shared" : ".global";
      } else if (name[0] == 'v' && name.size() == 2) {
        a.vector = unsigned(name[1] - '0');
      } else if (!turns(i) && name != "noftz") {
        a.op = m;
      }
    }
    a.type = form.types[0][rest];
    a.text += "." + std::string(isa::name(a.type));
    if (isa::bits(a.type) * a.vector > 128) continue;
    const auto add = [&](const Atomic& one, const std::string& name) {
      if (one.vector > 1 || isa::bits(one.type) == 128) {
        wide(one, name, all);
      } else {
        scalar(one, name, all);
        contended(one, name, all);
      }
    };
    add(a, a.text);
    if (a.space.empty() && a.vector == 1) {  // a generic address of shared memory
      a.shared = true;
      add(a, a.text + " in shared memory");
    }
  }
}

void add_warp_cases(std::vector<TableCase>& all) {
  constexpr const char* kModes[] = {"up", "down", "bfly", "idx"};
  for (const std::string sync : {".sync", ""}) {
    for (int m = 0; m < 4; ++m) shuffle("shfl" + sync + "." + kModes[m] + ".b32", m, all);
    for (const bool negated : {false, true}) {
      for (const char* mode : {"all.pred", "any.pred", "uni.pred", "ballot.b32"})
        vote("vote" + sync + "." + mode, negated, all);
    }
  }
  for (const Type t : {Type::b32, Type::b64}) match(false, t, all), match(true, t, all);
  for (const Type t : {Type::u32, Type::s32}) {
    for (const auto& [name, op] : {std::pair{"add", Mod::add}, {"min", Mod::min}, {"max", Mod::max}})
      reduce(fmt::format("redux.sync.{}.{}", name, isa::name(t)), op, t, all);
  }
  for (const auto& [name, op] : {std::pair{"and", Mod::and_}, {"or", Mod::or_}, {"xor", Mod::xor_}})
    reduce(fmt::format("redux.sync.{}.b32", name), op, Type::b32, all);
  for (unsigned k = 0; k < 8; ++k) reduce_float((k & 1) != 0, (k & 2) != 0, (k & 4) != 0, all);
  TableCase c;
  c.name = "activemask.b32 %d0";
  c.in = {Type::b32};
  c.out = {Type::b32};
  c.group = each_lane([](const u64*, u32 lanes, std::size_t, u64* const* r, std::size_t n) { r[0][n] = lanes; });
  put(c, all);
  c.name = "elect.sync %d0|%d1, %mm";
  c.out.push_back(Type::pred);
  c.group = each_lane([](const u64*, u32 lanes, std::size_t lane, u64* const* r, std::size_t n) {
    r[0][n] = u64(std::countr_zero(lanes));
    r[1][n] = r[0][n] == lane;
  });
  put(c, all);
}

}  // namespace warploom::semantics
