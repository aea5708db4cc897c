// Expands the forms of the instruction table to text.
#include "expand.hpp"

#include <algorithm>
#include <numeric>

#include "isa/matrix.hpp"

namespace warploom::test {
namespace {

using isa::Type;

// A choice for each group (size = absent) and each type position.
struct Selection {
  std::vector<std::size_t> groups, types;
};

std::string register_of(Type type, int n) {
  const std::string i = std::to_string(n);
  switch (type) {
    case Type::pred: return "%p" + i;
    case Type::f32: return "%f" + i;
    case Type::f64: return "%fd" + i;
    default: break;
  }
  switch (isa::bits(type)) {
    case 8: return "%rb" + i;
    case 16: return "%rs" + i;
    case 64: return "%rd" + i;
    case 128: return "%rq" + i;
    default: return "%r" + i;
  }
}

class Writer {
 public:
  Writer(const isa::Row& row, const isa::Form& form, const Selection& s) : row_(row), form_(form) {
    for (std::size_t i = 0; i < form.groups.size(); ++i)
      mods_.push_back(s.groups[i] < form.groups[i].choices.size()
                          ? std::string(isa::name(form.groups[i].choices[s.groups[i]]))
                          : "");
    for (std::size_t i = 0; i < form.types.size(); ++i) types_.push_back(form.types[i][s.types[i]]);
  }

  std::vector<std::string> mods_;
  std::vector<Type> types_;
  std::string extra_;          // foreign modifier
  std::size_t replaced_ = 99;  // operand that is `replacement_` instead
  std::string replacement_;

  [[nodiscard]] bool has(std::string_view mod) const {
    return std::find(mods_.begin(), mods_.end(), mod) != mods_.end();
  }

  [[nodiscard]] std::string text() const {
    std::string out(row_.name);
    for (std::size_t i = 0; i < form_.groups_before_types; ++i)
      if (!mods_[i].empty()) out += "." + mods_[i];
    if (!extra_.empty()) out += "." + extra_;
    for (const Type t : types_) out += "." + std::string(isa::name(t));
    for (std::size_t i = form_.groups_before_types; i < mods_.size(); ++i)
      if (!mods_[i].empty()) out += "." + mods_[i];
    if (row_.name == "call") return out + " callee;";
    bool first = true;
    for (std::size_t i = 0; i < form_.operands.size(); ++i) {
      const isa::OperandSpec& spec = form_.operands[i];
      if (spec.optional && !wanted(spec)) continue;
      out += (first ? " " : ", ") + (i == replaced_ ? replacement_ : operand(spec, static_cast<int>(i) + 1));
      first = false;
    }
    return out + ";";
  }

 private:
  const isa::Row& row_;
  const isa::Form& form_;

  // A cache policy stands exactly where its modifier does.
  [[nodiscard]] bool wanted(const isa::OperandSpec& spec) const {
    return spec.name == "policy" && (has("L2::cache_hint") || extra_ == "L2::cache_hint");
  }

  [[nodiscard]] Type type_of(const isa::OperandSpec& spec) const {
    if (spec.type_slot >= 0)
      return static_cast<std::size_t>(spec.type_slot) < types_.size() ? types_[static_cast<std::size_t>(spec.type_slot)]
                                                                      : Type::none;
    if (spec.type_slot == -1) return spec.fixed;
    return isa::bits(types_[0]) == 16 ? Type::u32 : Type::u64;
  }

  [[nodiscard]] int dimensions() const {
    for (int d = 1; d < 5; ++d)
      if (has(std::to_string(d) + "d")) return d;
    return 5;
  }

  [[nodiscard]] std::string address() const {
    if (has("param") || has("param::entry")) return row_.name == "st" ? "[outgoing]" : "[incoming]";
    if (has("param::func")) return row_.name == "st" ? "[outgoing]" : "[outgoing]";
    if (has("tensor")) {
      std::string out = "[%rd9, {%r1";
      for (int d = 2; d <= 5; ++d)
        if (dimensions() >= d) out += ", %r" + std::to_string(d);
      return out + "}]";
    }
    const bool lookup = row_.name == "tex" || row_.name == "tld4";
    if (lookup || row_.name == "suld" || row_.name == "sust" || row_.name == "sured") {
      const bool floats = lookup && types_[1] == Type::f32;
      const bool layered = has("a1d") || has("a2d") || has("acube");
      const int count = has("1d") ? 1 : has("2d") || has("a1d") ? 2 : 4;
      std::string out = "[%rd9, {";
      for (int k = 0; k < count; ++k)
        out += (k == 0 ? "" : ", ") + register_of(floats && !(layered && k == 0) ? Type::f32 : Type::b32, k + 1);
      return out + "}]";
    }
    return "[%rd9]";
  }

  // Registers of operand `index` of a matrix instruction.
  [[nodiscard]] unsigned matrix_width(int index) const {
    isa::ModSet mods;
    for (const std::string& name : mods_)
      if (isa::Mod m{}; !name.empty() && isa::find_mod(name, m)) mods.set(static_cast<std::size_t>(m));
    const auto form = isa::matrix_form(row_.op, mods, types_.data(), static_cast<unsigned>(types_.size()));
    return form ? isa::matrix_registers(*form, static_cast<std::size_t>(index)) : 1;
  }

  [[nodiscard]] std::string operand(const isa::OperandSpec& spec, int n) const {
    using namespace isa;
    if ((spec.kinds & kAddress) != 0) return address();
    if ((spec.kinds & kLabel) != 0) return "END";
    if ((spec.kinds & kTargets) != 0) return "table";
    const Type type = type_of(spec);
    unsigned width = matrix_width(n - 1);
    for (const auto& [name, w] : {std::pair{"v2", 2u}, {"v4", 4u}, {"v8", 8u}})
      if (has(name)) width = w;
    if (row_.name == "cvt" && spec.kinds == kVector) width = 4;
    // Slopes of a lookup: as many as there are axes.
    if (row_.name == "tex" && n > 2) width = has("1d") || has("a1d") ? 1 : has("2d") || has("a2d") ? 2 : 4;
    if (row_.name == "tex" && n > 2 && width == 1 && (spec.kinds & kVector) != 0)
      return "{" + register_of(type, n) + "}";
    if ((spec.kinds & kVector) != 0 && width > 1) {
      std::string out = "{";
      for (unsigned i = 0; i < width; ++i)
        out += (i == 0 ? "" : ", ") + register_of(type, (n + static_cast<int>(i)) % 20);
      return out + "}";
    }
    if ((spec.kinds & kReg) != 0) {
      std::string out = register_of(type, n);
      if ((spec.kinds & kPredPair) != 0 && (row_.name == "setp" || row_.name == "lop3" || row_.name == "elect"))
        out += "|%p7";
      return out;
    }
    if (spec.kinds == kSink) return "_";
    if (row_.name == "setmaxnreg") return "24";
    if (row_.name == "cp" && spec.name == "size") return "16";
    if (row_.name == "st" && spec.name == "zero") return "0";
    return row_.name == "applypriority" || row_.name == "discard" || row_.name == "fence" ? "128" : "1";
  }
};

std::vector<std::size_t> radices(const isa::Form& form) {
  std::vector<std::size_t> r;
  for (const isa::ModGroup& g : form.groups) r.push_back(g.choices.size() + (g.required ? 0 : 1));
  for (const auto& t : form.types) r.push_back(t.size());
  return r;
}

Selection decode_selection(const isa::Form& form, std::size_t code) {
  Selection s;
  const auto r = radices(form);
  for (std::size_t i = 0; i < r.size(); ++i) {
    std::size_t digit = code % r[i];
    code /= r[i];
    if (i < form.groups.size()) {
      // Digit 0 of an optional group is "absent".
      const bool required = form.groups[i].required;
      s.groups.push_back(required ? digit : digit == 0 ? form.groups[i].choices.size() : digit - 1);
    } else {
      s.types.push_back(digit);
    }
  }
  return s;
}

}  // namespace

std::vector<std::string> expand(const isa::Row& row, const isa::Form& form, std::size_t cap) {
  std::size_t total = 1;
  for (const std::size_t r : radices(form)) total *= r;
  std::size_t step = 1;
  if (total > cap) {
    step = total / cap;
    while (std::gcd(step, total) != 1) ++step;  // visits every digit of every position
  }
  std::vector<std::string> out;
  std::size_t code = 0;
  for (std::size_t i = 0; i < std::min(total, cap); ++i, code = (code + step) % total)
    out.push_back(Writer(row, form, decode_selection(form, code)).text());
  return out;
}

std::string instruction_of(const isa::Row& row, const isa::Form& form, const isa::ModSet& mods,
                           std::span<const Type> types) {
  Selection s;
  for (const isa::ModGroup& g : form.groups) {
    std::size_t choice = g.choices.size();
    for (std::size_t i = 0; i < g.choices.size(); ++i)
      if (mods.test(static_cast<std::size_t>(g.choices[i]))) choice = i;
    s.groups.push_back(choice);
  }
  for (std::size_t i = 0; i < form.types.size(); ++i) {
    const auto at = std::find(form.types[i].begin(), form.types[i].end(), types[i]);
    s.types.push_back(static_cast<std::size_t>(at - form.types[i].begin()));
  }
  return Writer(row, form, s).text();
}

std::vector<std::string> near_misses(const isa::Row& row, const isa::Form& form) {
  std::vector<std::string> out;
  const Selection base = decode_selection(form, 0);
  std::vector<std::string> own;
  for (const isa::ModGroup& g : form.groups)
    for (const isa::Mod m : g.choices) own.emplace_back(isa::name(m));
  std::vector<std::string> foreign = {"sat",    "ftz",  "rn",      "lo",   "cc",    "v2",
                                      "global", "sync", "relaxed", "wide", "approx"};
  for (const isa::Form& other : row.forms)
    for (const isa::ModGroup& g : other.groups) foreign.emplace_back(isa::name(g.choices[0]));
  // A second choice of a required group is a near miss too.
  for (const isa::ModGroup& g : form.groups)
    if (g.required && g.choices.size() > 1) {
      const std::string second(isa::name(g.choices[1]));
      Writer w(row, form, base);
      w.extra_ = second;
      out.push_back(w.text());
    }
  std::sort(foreign.begin(), foreign.end());
  foreign.erase(std::unique(foreign.begin(), foreign.end()), foreign.end());
  for (const std::string& mod : foreign) {
    if (std::find(own.begin(), own.end(), mod) != own.end()) continue;
    Writer w(row, form, base);
    w.extra_ = mod;
    out.push_back(w.text());
  }
  for (std::size_t i = 0; i < form.types.size(); ++i)
    for (const Type t :
         {Type::b16, Type::b32, Type::b64, Type::u8, Type::u16, Type::u32, Type::u64, Type::s16, Type::s32, Type::s64,
          Type::f16, Type::f16x2, Type::bf16, Type::bf16x2, Type::f32, Type::f64, Type::pred}) {
      if (std::find(form.types[i].begin(), form.types[i].end(), t) != form.types[i].end()) continue;
      Writer w(row, form, base);
      w.types_[i] = t;
      out.push_back(w.text());
    }
  return out;
}

std::vector<std::string> register_misfits(const isa::Row& row, const isa::Form& form) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < form.operands.size(); ++i) {
    const isa::OperandSpec& spec = form.operands[i];
    if (spec.optional || (spec.kinds & isa::kReg) == 0 || (spec.kinds & isa::kFunc) != 0) continue;
    // One selection for each type of the operand's position.
    const std::size_t types = spec.type_slot >= 0 ? form.types[static_cast<std::size_t>(spec.type_slot)].size() : 1;
    for (std::size_t t = 0; t < types; ++t) {
      Selection s = decode_selection(form, 0);
      if (spec.type_slot >= 0) s.types[static_cast<std::size_t>(spec.type_slot)] = t;
      for (const char* other :
           {"%p9", "%rb9",   "%rs9",     "%r9",    "%rd9",      "%f9", "%fd9", "h16",        "u16",
            "s16", "u32",    "s32",      "u64",    "s64",       "5",   "-7",   "0f3F800000", "0d3FF0000000000000",
            "1.5", "%tid.x", "%clock64", "global", "{%r1, %r2}"}) {
        Writer w(row, form, s);
        w.replaced_ = i;
        w.replacement_ = other;
        out.push_back(w.text());
      }
    }
  }
  return out;
}

std::string module_of(const std::vector<std::string>& instructions) {
  std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n"
      ".func callee() { ret; }\n.global .align 8 .b8 global[64];\n"
      ".entry kernel(.param .align 16 .b8 incoming[64])\n{\n"
      ".reg .pred %p<20>;\n.reg .b8 %rb<20>;\n.reg .b16 %rs<20>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .b128 "
      "%rq<20>;\n"
      ".reg .f32 %f<20>;\n.reg .f64 %fd<20>;\n.reg .f16 h16;\n.reg .u16 u16;\n.reg .s16 s16;\n.reg .u32 u32;\n"
      ".reg .s32 s32;\n.reg .u64 u64;\n.reg .s64 s64;\n.reg .f16x2 h32;\n.param .align 16 .b8 outgoing[64];\ntable: "
      ".branchtargets END;\n";
  for (auto lines = std::count(text.begin(), text.end(), '\n'); lines + 1 < kFirstLine; ++lines) text += "\n";
  for (const std::string& instruction : instructions) text += instruction + "\n";
  return text + "END:\nret;\n}\n";
}

}  // namespace warploom::test
