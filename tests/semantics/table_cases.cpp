// Expands the instruction table to cases, picks their operands and writes their kernels.
#include "table_cases.hpp"

#include <fmt/format.h>

#include <map>
#include <random>
#include <set>

#include "collective_cases.hpp"

namespace warploom::semantics {
namespace {

using isa::Mod;
using isa::Op;

u64 hash(const std::string& text) {
  u64 h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

// Amounts of shifts and bit fields around every width.
const std::vector<u64> kAmounts = {
    0,  1,  2,   5,   7,   8,   15,  16,  17,  23,  24,  30,  31,  32,    33,    47,         48,         63,        64,
    65, 96, 127, 128, 254, 255, 256, 257, 287, 288, 320, 511, 512, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff};
const std::vector<u64> kBases = {0, 1, 5, 16, 30, 31, 32, 33, 0x80000000, 0xffffffff};
const std::vector<u64> kCounts = {0,  1,  2,          3,          4,          16,         31,
                                  32, 33, 0xffffffff, 0xfffffffe, 0xfffffffd, 0xffffffe0, 0x80000000};

const std::vector<u64> kLanes = {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 30, 31, 32, 33, 63, 0xffffffff};
const std::vector<u64> kSegments = {0,      0x1f,   0x0f,   7,      0x1c1f, 0x181f,    0x1e1f,
                                    0x101f, 0x1f00, 0x1c00, 0x1000, 0x1f1f, 0xffffffff};

Type half_of(Type t) {
  switch (t) {
    case Type::f16x2: return Type::f16;
    case Type::bf16x2: return Type::bf16;
    case Type::u16x2: return Type::u16;
    case Type::s16x2: return Type::s16;
    default: return Type::none;
  }
}

class Operands {
 public:
  Operands(const std::vector<Type>& types, const std::string& kind)
      : types_(types), kind_(kind), random_(hash(kind + std::to_string(types.size()))) {
    // Recordings were made before f32x2 came before the types that follow it.
    for (const Type t : types) random_.discard(static_cast<unsigned>(t) - (t > Type::f32x2 ? 1 : 0));
  }

  // kTableSets words of each source.
  std::vector<u64> sets() {
    std::vector<std::vector<u64>> sets;
    std::vector<u64> set(types_.size());
    if (types_.size() == 1) {
      for (const u64 v : edges(0)) sets.push_back({v});
    } else {
      for (int n = 0; n < 224; ++n) {
        for (std::size_t k = 0; k < set.size(); ++k) set[k] = k < 2 ? edge(k) : any(k);
        sets.push_back(set);
      }
    }
    const auto extra = tiny_sets(types_);
    for (std::size_t i = 0; i < extra.size() && i < 96; ++i)
      sets.push_back(extra[i * extra.size() / std::min<std::size_t>(extra.size(), 96)]);
    while (sets.size() < kTableSets) {
      for (std::size_t k = 0; k < set.size(); ++k) set[k] = any(k);
      sets.push_back(set);
    }
    sets.resize(kTableSets);
    for (std::size_t n = 0; n < kTableSets && (kind_ == "warp.vote" || kind_ == "warp.match"); ++n) {
      // By warp: all alike, but for one, and mixed.
      const std::size_t warp = n / 32, lane = n % 32;
      const u64 one =
          kind_ == "warp.vote" ? 1 : 0x8000000000000001 & (isa::bits(types_[0]) == 64 ? ~u64(0) : 0xffffffff);
      const u64 other = warp % 2 == 0 ? 0 : one;
      const bool alike = warp < 2 || (warp < 8 && lane != (warp * 7) % 32);
      sets[n][0] = alike ? other : warp < 8 ? one - other : random_() % 2 == 0 ? one : 0;
      if (kind_ == "warp.match" && warp >= 12) sets[n][0] = random_() % 5;
    }
    std::vector<u64> words;
    for (std::size_t k = 0; k < types_.size(); ++k)
      for (const auto& s : sets) words.push_back(s[k]);
    return words;
  }

 private:
  const std::vector<Type>& types_;
  const std::string& kind_;
  std::mt19937_64 random_;

  [[nodiscard]] std::vector<u64> edges(std::size_t k) const {
    if (kind_ == "fns" && k > 0) return k == 1 ? kBases : kCounts;
    if (kind_ == "amounts" && types_[k] == Type::u32 && (k > 0 || types_.size() == 2)) return kAmounts;
    if (kind_ == "warp.shfl" && k > 0) return k == 1 ? kLanes : kSegments;
    const Type half = half_of(types_[k]);
    std::vector<u64> all = edge_values(half == Type::none ? types_[k] : half);
    if (kind_ == "oob") all.insert(all.end(), {0x7ff7, 0xfff7, 0x7ff6, 0x7ff7, 0xfff7});
    return all;
  }
  // The type of the parts of the words of "scratch.f16".
  [[nodiscard]] Type part() const {
    const std::size_t dot = kind_.find('.');
    return kind_.starts_with("scratch.") ? isa::type_from_name(kind_.substr(dot + 1)) : Type::none;
  }
  u64 edge(std::size_t k) {
    if (part() != Type::none) return any(k);
    const std::vector<u64> all = edges(k);
    u64 v = all[random_() % all.size()];
    if (half_of(types_[k]) != Type::none) v |= all[random_() % all.size()] << 16;
    return v;
  }
  u64 scalar(Type t) {
    const unsigned width = isa::bits(t);
    const u64 mask = width == 64 ? ~u64(0) : (u64(1) << width) - 1;
    u64 v = random_() & mask;
    if (isa::is_float(t) && random_() % 2 == 0) {
      // Near 1, and often with few significant bits: sums cancel, halves occur.
      const unsigned fraction = t == Type::f64 ? 52 : t == Type::f32 ? 23 : t == Type::f16 ? 10 : 7;
      const u64 one = (u64(1) << (width - 2)) - (u64(1) << fraction);
      v = (v & ((u64(1) << fraction) - 1)) + one + ((random_() % 24) << fraction) - (u64(12) << fraction);
      if (random_() % 2 == 0) v &= ~u64(0) << (random_() % fraction);
      if (random_() % 2 == 0) v |= u64(1) << (width - 1);
      return v & mask;
    }
    if (!isa::is_float(t) && random_() % 4 == 0) v >>= random_() % width;
    return v;
  }
  u64 any(std::size_t k) {
    if (const Type t = part(); t != Type::none) {
      const std::vector<u64> all = edge_values(t);
      u64 word = 0;
      for (unsigned at = 0; at < 64; at += isa::bits(t))
        word |= (random_() % 2 == 0 ? scalar(t) : all[random_() % all.size()]) << at;
      return word;
    }
    if (random_() % 3 == 0 || ((kind_ == "amounts" || kind_ == "fns") && k > 0 && random_() % 2 == 0) ||
        (kind_ == "warp.shfl" && k > 0))
      return edge(k);
    const Type half = half_of(types_[k]);
    return half == Type::none ? scalar(types_[k]) : scalar(half) | scalar(half) << 16;
  }
};

Type operand_type(const isa::OperandSpec& spec, const std::vector<Type>& types) {
  if (spec.type_slot >= 0) return types.at(static_cast<std::size_t>(spec.type_slot));
  if (spec.type_slot == -1) return spec.fixed;
  if (isa::bits(types[0]) == 16) return isa::is_signed(types[0]) ? Type::s32 : Type::u32;
  return isa::is_signed(types[0]) ? Type::s64 : Type::u64;
}

std::string operand_kind(Op op) {
  switch (op) {
    case Op::fns: return "fns";
    case Op::shl:
    case Op::shr:
    case Op::shf:
    case Op::bfe:
    case Op::bfi:
    case Op::bmsk:
    case Op::vshl:
    case Op::vshr:
    case Op::szext: return "amounts";
    default: return "";
  }
}

std::string part(const ptx::Selector& s) {
  std::string text = s.count == 0 ? "" : s.halves ? ".h" : ".b";
  for (unsigned i = s.count; i-- > 0;) text += std::to_string(s.digits >> 4 * i & 15);
  return text;
}

class Builder {
 public:
  TableSuite suite;

  void form(const isa::Row& row, const isa::Form& form) {
    std::vector<std::size_t> radix;
    for (const isa::ModGroup& g : form.groups) radix.push_back(g.choices.size() + (g.required ? 0 : 1));
    for (const auto& t : form.types) radix.push_back(t.size());
    std::size_t total = 1, made = 0;
    for (const std::size_t r : radix) total *= r;
    for (std::size_t code = 0; code < total; ++code) {
      std::vector<std::size_t> digits;
      for (std::size_t rest = code, i = 0; i < radix.size(); rest /= radix[i++]) digits.push_back(rest % radix[i]);
      made += instruction(row, form, digits);
    }
    if (made < total)
      suite.left_out.push_back(fmt::format("{} | {} of {} without a reference", form.text, total - made, total));
  }

  template <typename F>
  void collective(F fill) {
    std::vector<TableCase> all;
    fill(all);
    for (TableCase& c : all)
      if (seen_.insert(c.name).second) suite.cases.push_back(std::move(c));
  }

  void finish() {
    std::map<std::string, std::size_t> open, signatures;
    for (std::size_t i = 0; i < suite.cases.size(); ++i) {
      TableCase& c = suite.cases[i];
      std::string key = c.kind;
      for (const Type t : c.in) key += "." + std::string(isa::name(t));
      const auto [sets, fresh] = signatures.emplace(key, suite.operands.size());
      if (fresh) suite.operands.push_back(Operands(c.in, c.kind).sets());
      const auto [at, first] = open.emplace(key, suite.batches.size());
      if (first || suite.batches[at->second].cases.size() == kBatch) {
        at->second = suite.batches.size();
        suite.batches.push_back({{}, sets->second});
      }
      c.batch = at->second;
      suite.batches[c.batch].cases.push_back(i);
    }
  }

 private:
  std::set<std::string> seen_;

  bool instruction(const isa::Row& row, const isa::Form& form, const std::vector<std::size_t>& digits) {
    std::vector<std::string> spelled;
    isa::ModSet mods;
    std::vector<Type> types;
    for (std::size_t i = 0; i < form.groups.size(); ++i) {
      const isa::ModGroup& g = form.groups[i];
      const std::size_t choice = g.required ? digits[i] : digits[i] - 1;  // digit 0: absent
      spelled.emplace_back(choice < g.choices.size() ? isa::name(g.choices[choice]) : "");
      if (choice < g.choices.size()) mods.set(static_cast<std::size_t>(g.choices[choice]));
    }
    for (std::size_t i = 0; i < form.types.size(); ++i) types.push_back(form.types[i][digits[form.groups.size() + i]]);
    std::string text(row.name);
    for (std::size_t i = 0; i < spelled.size(); ++i) {
      if (i == form.groups_before_types)
        for (const Type t : types) text += "." + std::string(isa::name(t));
      if (!spelled[i].empty()) text += "." + spelled[i];
    }
    if (form.groups_before_types == spelled.size())
      for (const Type t : types) text += "." + std::string(isa::name(t));
    if (row.op == Op::lop3) {
      for (u64 lut = 0; lut < 256; lut += spelled.size() > 0 && !spelled[0].empty() ? 37 : 1)
        add(row, form, text, mods, types, lut);
      return true;
    }
    if (ptx::video_lanes(row.op) != 0) return video(row, form, text, mods, types);
    return add(row, form, text, mods, types, 0);
  }

  // Whole registers, and a choice of parts and signs that differs from form to form.
  bool video(const isa::Row& row, const isa::Form& form, const std::string& text, const isa::ModSet& mods,
             const std::vector<Type>& types) {
    const unsigned lanes = ptx::video_lanes(row.op);
    std::mt19937_64 random(hash(text + " " + std::to_string(form.operands.size())));
    const auto pick = [&](u64 n) { return static_cast<unsigned>(random() % n); };
    VideoOperands v;
    // A result that is a part has its own form.
    const bool part_due = lanes == 1 && form.operands.size() == 4 && (form.operands[0].kinds & isa::kSelect) != 0;
    if (!part_due && !add(row, form, text, mods, types, 0, v)) return false;
    for (int turn = 0; turn < (row.op == Op::vmad ? 4 : 2); ++turn) {
      v = {};
      for (std::size_t k = 0; k < form.operands.size(); ++k) {
        const isa::OperandSpec& spec = form.operands[k];
        if ((spec.kinds & isa::kSelect) == 0) continue;
        ptx::Selector& s = v.select[k];
        s.halves = lanes == 2 || (lanes == 1 && pick(2) == 0);
        if (lanes == 1) {
          // Sources are whole now and then.
          s.count = spec.role == isa::Role::dst || pick(4) != 0 ? 1 : 0;
          s.digits = static_cast<std::uint16_t>(pick(s.halves ? 2 : 4));
        } else if (spec.role == isa::Role::dst) {
          for (unsigned mask = 1 + pick((1U << lanes) - 1), lane = lanes; lane-- > 0;)
            if ((mask >> lane & 1) != 0) s.digits = static_cast<std::uint16_t>(s.digits << 4 | lane), ++s.count;
        } else {
          s.count = static_cast<std::uint8_t>(lanes);
          for (unsigned i = 0; i < lanes; ++i) s.digits |= static_cast<std::uint16_t>(pick(2ULL * lanes) << 4 * i);
          if (s.digits == 0x1024) s.digits = 0x1025;  // ptxas takes .b1024 for a type
        }
      }
      if (row.op == Op::vmad && !mods.test(static_cast<std::size_t>(Mod::po)) && turn < 3) v.minus[1 + turn] = true;
      add(row, form, text, mods, types, 0, v);
    }
    return true;
  }

  bool add(const isa::Row& row, const isa::Form& form, const std::string& text, const isa::ModSet& mods,
           std::vector<Type> types, u64 lut, const VideoOperands& video = {}) {
    TableCase c;
    const auto has = [&](Mod m) { return mods.test(static_cast<std::size_t>(m)); };
    types.resize(4);
    std::string operands;
    std::size_t inverted = 9;
    for (const isa::OperandSpec& spec : form.operands) {
      const Type t = operand_type(spec, types);
      if (isa::bits(t) > 64) return false;
      if (spec.role == isa::Role::src && spec.kinds == isa::kVector) return false;
      operands += operands.empty() ? "" : ", ";
      if (spec.role == isa::Role::dst) {
        operands += "%d0";
        c.out.push_back(t);
        operands += part(video.select[0]);
        if ((spec.kinds & isa::kPredPair) != 0) {
          operands += "|%d1";
          c.out.push_back(Type::pred);
        }
      } else if ((spec.kinds & (isa::kReg | isa::kAddress)) == 0) {
        operands += std::to_string(lut);
      } else {
        if ((spec.kinds & isa::kNegPred) != 0 && hash(text) % 2 == 1) {
          inverted = c.in.size();
          operands += "!";
        }
        const std::size_t k = c.out.size() + c.in.size();
        if (k < 4 && video.minus[k]) operands += "-";
        operands += "%a" + std::to_string(c.in.size());
        if (k < 4) operands += part(video.select[k]);
        c.in.push_back(t);
      }
    }
    c.name = text + " " + operands;
    if (!seen_.insert(c.name).second) return true;
    c.ref = reference(row.op, mods, types.data(), lut, video);
    c.deviating = deviating_reference(row.op, mods, types.data(), video);
    if ((row.op == Op::min || row.op == Op::max) && c.in.size() == 3) c.ref = of_three(row.op, mods, types);
    const bool approximate = has(Mod::approx) || has(Mod::full);
    if (!c.ref && !approximate) return false;
    if (inverted < 9) {
      c.ref = [inner = std::move(c.ref), inverted](const u64* a, u64* d) {
        u64 copy[kMostSources];
        std::copy(a, a + kMostSources, copy);
        copy[inverted] ^= 1;
        inner(copy, d);
      };
    }
    carry(row.op, has(Mod::cc), c);
    for (const Type t : c.out) c.any_nan = c.any_nan || t == Type::f64;
    c.any_nan = c.any_nan && row.op != Op::mov && row.op != Op::selp && row.op != Op::slct && row.op != Op::copysign;
    // Conversions of bfloat16 and of 4-bit formats take no larger registers.
    c.narrow = types[0] == Type::bf16 || types[1] == Type::bf16 || types[0] == Type::e2m1x2 || types[1] == Type::e2m1x2;
    c.kind = c.narrow ? "narrow" : has(Mod::oob) ? "oob" : operand_kind(row.op);
    suite.cases.push_back(std::move(c));
    return true;
  }

  // The minimum of the minimum of two and the third, of absolute values with .abs.
  static Reference of_three(Op op, isa::ModSet mods, const std::vector<Type>& types) {
    const bool absolute = mods.test(static_cast<std::size_t>(Mod::abs));
    mods.reset(static_cast<std::size_t>(Mod::abs));
    return [absolute, two = reference(op, mods, types.data(), 0)](const u64* a, u64* d) {
      u64 x[3];
      for (int k = 0; k < 3; ++k) x[k] = absolute ? a[k] & 0x7fffffff : a[k];
      u64 first[2] = {};
      two(x, first);
      const u64 rest[3] = {first[0], x[2], 0};
      two(rest, d);
    };
  }

  // The carry flag comes and goes through predicates.
  static void carry(Op op, bool writes, TableCase& c) {
    const bool borrow = op == Op::sub || op == Op::subc;
    if (op == Op::addc || op == Op::subc || op == Op::madc) {
      c.before = fmt::format("  selp.u32 %t, 1, 0, %a{};\n", c.in.size());
      c.before += borrow ? "  sub.cc.u32 %t, 0, %t;\n" : "  add.cc.u32 %t, %t, 0xffffffff;\n";
      c.in.push_back(Type::pred);
    }
    if (writes) {
      c.after = borrow ? "  subc.u32 %t, 0, 0;\n" : "  addc.u32 %t, 0, 0;\n";
      c.after += "  setp.ne.u32 %d1, %t, 0;\n";
      c.out.push_back(Type::pred);
    }
  }
};

// Bits of the register of an operand: 8-bit integers live in larger ones.
unsigned register_bits(const TableCase& c, Type t) { return isa::bits(t) != 8 ? isa::bits(t) : c.narrow ? 8 : 32; }
std::string register_type(unsigned bits) { return bits == 1 ? "pred" : "b" + std::to_string(bits); }
std::string load(const std::string& to, unsigned bits) {
  switch (bits) {
    case 1: return fmt::format("  setp.ne.u64 {}, %rd9, 0;\n", to);
    case 16: return fmt::format("  cvt.u16.u64 {}, %rd9;\n", to);
    case 32: return fmt::format("  cvt.u32.u64 {}, %rd9;\n", to);
    default: return fmt::format("  mov.b64 {}, %rd9;\n", to);
  }
}
std::string store(const std::string& from, unsigned bits, bool byte) {
  if (byte) return store(from, bits, false) + "  and.b64 %rd9, %rd9, 255;\n";
  switch (bits) {
    case 1: return fmt::format("  selp.u64 %rd9, 1, 0, {};\n", from);
    case 16: return fmt::format("  cvt.u64.u16 %rd9, {};\n", from);
    case 32: return fmt::format("  cvt.u64.u32 %rd9, {};\n", from);
    default: return fmt::format("  mov.b64 %rd9, {};\n", from);
  }
}

// Why an instruction that only computes registers has no case.
const char* elsewhere(Op op) {
  switch (op) {
    case Op::cvta:
    case Op::isspacep:
    case Op::mapa:
    case Op::getctarank: return "its operand or result is an address";
    case Op::createpolicy: return "its result is a cache policy, which nothing looks into";
    case Op::alloca:
    case Op::stacksave:
    case Op::stackrestore: return "it works on the stack";
    case Op::txq:
    case Op::suq:
    case Op::istypep: return "it asks about a texture or surface";
    default: return nullptr;
  }
}

}  // namespace

const TableSuite& table_suite() {
  static const TableSuite suite = [] {
    Builder builder;
    for (const isa::Row& row : isa::rows()) {
      for (const isa::Form& form : row.forms) {
        if (row.op == Op::atom || row.op == Op::red)
          builder.collective([&](auto& all) { add_atomic_cases(row, form, all); });
        if (form.flow != isa::Flow::pure) continue;
        if (form.emit == "unsupported") {
          builder.suite.left_out.push_back(fmt::format("{} | {}", form.text, form.reason));
        } else if (row.op == Op::mov && (form.operands[0].kinds & isa::kReg) == 0) {
          builder.suite.left_out.push_back(fmt::format("{} | tests/device moves vectors", form.text));
        } else if (const char* reason = elsewhere(row.op); reason != nullptr) {
          builder.suite.left_out.push_back(fmt::format("{} | {}", form.text, reason));
        } else {
          builder.form(row, form);
        }
      }
    }
    builder.collective(add_warp_cases);
    builder.finish();
    return std::move(builder.suite);
  }();
  return suite;
}

std::string table_kernel(const TableSuite& suite, std::size_t index, bool masked) {
  const TableBatch& batch = suite.batches[index];
  const TableCase& first = suite.cases[batch.cases[0]];
  masked = masked || is_warp(suite, batch);
  const bool memory = first.kind.starts_with("scratch") || first.kind == "warp";
  std::string text = fmt::format(".visible .entry batch{}(.param .u64 in, .param .u64 out{})\n{{\n", index,
                                 masked ? ", .param .u32 lanes" : "");
  text += "  .reg .b64 %rd<10>, %rg, %rs, %rgc, %rsc;\n  .reg .b32 %r, %t, %m, %mm, %rw, %rwc;\n  .reg .pred %p;\n";
  if (memory) text += "  .shared .align 16 .b8 cells[8192];\n";
  for (std::size_t i = 0; i < first.in.size(); ++i)
    text += fmt::format("  .reg .{} %a{};\n", register_type(register_bits(first, first.in[i])), i);
  text +=
      "  ld.param.u64 %rd1, [in];\n  ld.param.u64 %rd2, [out];\n  mov.u32 %r, %tid.x;\n"
      "  mad.wide.u32 %rd1, %r, 8, %rd1;\n";
  if (memory) {
    // A cell of 16 bytes for each thread, in both spaces; those of a warp's first thread are the warp's.
    text += fmt::format(
        "  mul.lo.u32 %t, %r, 16;\n  cvt.u64.u32 %rg, %t;\n  add.u64 %rg, %rg, %rd2;\n  add.u64 %rg, %rg, {};\n"
        "  mov.u32 %rw, cells;\n  add.u32 %rw, %rw, %t;\n  cvt.u64.u32 %rs, %rw;\n  cvta.shared.u64 %rs, %rs;\n"
        "  and.b32 %m, %r, 31;\n  mul.lo.u32 %m, %m, 16;\n  sub.u32 %rwc, %rw, %m;\n  cvt.u64.u32 %rgc, %m;\n"
        "  sub.u64 %rsc, %rs, %rgc;\n  sub.u64 %rgc, %rg, %rgc;\n",
        8 * kTableSets * table_slots(suite, batch).back());
  }
  text += "  mad.wide.u32 %rd2, %r, 8, %rd2;\n";
  for (std::size_t i = 0; i < first.in.size(); ++i) {
    const bool byte = register_bits(first, first.in[i]) == 8;
    text +=
        fmt::format("  ld.global.{}, [%rd1+{}];\n", byte ? fmt::format("b8 %a{}", i) : "u64 %rd9", 8 * kTableSets * i);
    if (!byte) text += load(fmt::format("%a{}", i), register_bits(first, first.in[i]));
  }
  if (masked) {
    text +=
        "  ld.param.u32 %mm, [lanes];\n  mov.b32 %m, %mm;\n  mov.u32 %t, %laneid;\n  shr.u32 %m, %m, %t;\n  and.b32 "
        "%m, %m, 1;\n"
        "  setp.eq.u32 %p, %m, 0;\n  @%p bra DONE;\n";
  }
  std::size_t slot = 0;
  for (const std::size_t at : batch.cases) {
    const TableCase& c = suite.cases[at];
    text += "  {// " + c.name + "\n";
    for (std::size_t k = 0; k < c.out.size(); ++k)
      text += fmt::format("  .reg .{} %d{};\n", register_type(register_bits(c, c.out[k])), k);
    text += c.before + (c.body.empty() ? "  " + c.name + ";\n" : c.body) + c.after;
    for (std::size_t k = 0; k < c.out.size(); ++k) {
      const bool byte = register_bits(c, c.out[k]) == 8;
      if (!byte) text += store(fmt::format("%d{}", k), register_bits(c, c.out[k]), isa::bits(c.out[k]) == 8);
      text += fmt::format("  st.global.{1} [%rd2+{0}], {2};\n", 8 * kTableSets * slot++, byte ? "b8" : "u64",
                          byte ? fmt::format("%d{}", k) : "%rd9");
    }
    text += "  }\n";
  }
  return text + (masked ? "DONE:\n" : "") + "  ret;\n}\n\n";
}

std::vector<std::size_t> table_slots(const TableSuite& suite, const TableBatch& batch) {
  std::vector<std::size_t> slots;
  std::size_t next = 0;
  for (const std::size_t at : batch.cases) {
    slots.push_back(next);
    next += suite.cases[at].out.size();
  }
  slots.push_back(next);
  return slots;
}

bool is_warp(const TableSuite& suite, const TableBatch& batch) {
  return suite.cases[batch.cases[0]].kind.starts_with("warp");
}

std::size_t table_words(const TableSuite& suite, const TableBatch& batch) {
  return (table_slots(suite, batch).back() + 2) * kTableSets;
}

bool table_expect(const TableCase& c, const u64* words, std::uint32_t lanes, u64* const* results, bool* valid) {
  std::fill(valid, valid + kTableSets, true);
  if (c.group) {
    c.group(words, lanes, results, valid);
  } else if (c.ref) {
    for (std::size_t n = 0; n < kTableSets; ++n) {
      u64 a[kMostSources] = {}, d[kMostResults] = {};
      for (std::size_t k = 0; k < c.in.size(); ++k) a[k] = words[k * kTableSets + n];
      c.ref(a, d);
      for (std::size_t k = 0; k < c.out.size(); ++k) results[k][n] = d[k];
    }
  } else {
    return false;
  }
  for (std::size_t n = 0; n < kTableSets; ++n) {
    if ((lanes >> (n & 31) & 1) != 0) continue;
    for (std::size_t k = 0; k < c.out.size(); ++k) results[k][n] = 0;
    valid[n] = true;
  }
  return true;
}

std::string table_key(const TableCase& c, std::uint32_t lanes) {
  std::string key;
  for (std::size_t at = 0; at < c.name.size();) {
    const std::size_t end = std::min(c.name.find(' ', at), c.name.size());
    const std::string word = c.name.substr(at, end - at);
    const bool plain = word[0] == '%' && word.find('.') == std::string::npos;
    if (!plain) key += (key.empty() ? "" : " ") + (word[0] == '!' ? "!" : word);
    at = end + 1;
  }
  if (key.ends_with(',')) key.pop_back();
  if (c.in.size() == 3 && (key.starts_with("min.") || key.starts_with("max."))) key += " of three";
  return lanes == 0 ? key : key + fmt::format(" @{:08x}", lanes);
}

u64 table_digest(const TableCase& c, const u64* const* results, const bool* valid) {
  u64 h = 0xcbf29ce484222325;
  for (std::size_t n = 0; n < kTableSets; ++n) {
    if (!valid[n]) continue;
    for (std::size_t k = 0; k < c.out.size(); ++k) {
      u64 v = results[k][n];
      if (c.any_nan && is_nan_bits(c.out[k], v)) v = ~u64(0);
      for (int i = 0; i < 64; i += 8) h = (h ^ (v >> i & 0xff)) * 0x100000001b3;
    }
  }
  return h;
}

}  // namespace warploom::semantics
