// Host tool: reads the instruction tables (*.isa) and writes the C++ data of isa.hpp and the reference page.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Strings = std::vector<std::string>;

struct Group {
  Strings choices;
  bool required = false;
};

struct Operand {
  std::string name, kinds, fixed = "none";
  std::string role = "src";
  int type_slot = 0;
  bool optional = false;
};

struct Form {
  std::string text;
  std::vector<Group> groups;
  std::vector<Strings> types;
  std::vector<Operand> operands;
  std::size_t groups_before_types = 0;
  bool seen_type = false;
  int ptx_major = 1, ptx_minor = 0, sm = 10;
  std::string flow, emit, reason;
};

struct Row {
  std::string name, title, section, flow = "pure", emit = "pure", reason, ref, cost, edge;
  std::vector<Form> forms;
};

const Strings kTypes = {"pred",   "b1",     "b8",      "b16",    "b32",    "b64",    "b128",   "u4",
                        "u8",     "u16",    "u32",     "u64",    "s4",     "s8",     "s16",    "s32",
                        "s64",    "f16",    "f16x2",   "bf16",   "bf16x2", "tf32",   "f32",    "f64",
                        "f32x2",  "u16x2",  "s16x2",   "e4m3",   "e5m2",   "e4m3x2", "e5m2x2", "e2m1x2",
                        "e2m3x2", "e3m2x2", "ue8m0x2", "e2m1x4", "e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4"};
const Strings kFlows = {"pure",   "load", "store", "atomic", "barrier", "warp_sync", "fence",
                        "branch", "call", "exit",  "trap",   "hint",    "clock",     "native"};

std::string g_where;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", g_where.c_str(), what.c_str());
  std::exit(1);
}

bool contains(const Strings& list, const std::string& s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

Strings split(const std::string& text, char at) {
  Strings parts;
  std::string part;
  std::istringstream in(text);
  while (std::getline(in, part, at)) parts.push_back(part);
  return parts;
}

Strings words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string trim(std::string s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.pop_back();
  std::size_t i = 0;
  while (i < s.size() && std::isspace(static_cast<unsigned char>(s[i]))) ++i;
  return s.substr(i);
}

std::string quoted(const std::string& text) {
  const auto a = text.find('"'), b = text.rfind('"');
  if (a == std::string::npos || a == b) fail("a text in double quotes is due");
  return text.substr(a + 1, b - a - 1);
}

class Table {
 public:
  // Sets may be used before the line that defines them, so they are read from all files first.
  void read_sets(const std::string& path) {
    each_line(path, [&](const std::string& key, const std::string& rest) {
      if (key != "set" && key != "types") return;
      const auto equal = rest.find('=');
      if (equal == std::string::npos) fail("'=' is due");
      const std::string set_name = trim(rest.substr(0, equal));
      auto& target = key == "set" ? sets_ : type_sets_;
      if (!target.emplace(set_name, words(rest.substr(equal + 1))).second) fail("set '" + set_name + "' stands twice");
    });
  }

  void read_rows(const std::string& path) {
    each_line(path, [&](const std::string& key, const std::string& rest) {
      if (key == "set" || key == "types") return;
      if (key == "insn") {
        rows.emplace_back();
        Row& row = rows.back();
        row.name = words(rest).at(0);
        row.title = quoted(rest);
        row.section = trim(rest.substr(rest.rfind('"') + 1));
        return;
      }
      if (rows.empty()) fail("'insn' is due first");
      Row& row = rows.back();
      if (key == "form") {
        row.forms.push_back(read_form(rest));
      } else if (key == "flow") {
        row.flow = rest;
        if (!contains(kFlows, rest)) fail("unknown flow '" + rest + "'");
      } else if (key == "emit") {
        row.emit = words(rest).at(0);
        if (row.emit == "unsupported") row.reason = quoted(rest);
      } else if (key == "ref") {
        row.ref = rest;
      } else if (key == "cost") {
        row.cost = rest;
      } else if (key == "edge") {
        row.edge = rest;
      } else {
        fail("unknown key '" + key + "'");
      }
    });
  }

  void finish() {
    for (Row& row : rows)
      for (Form& form : row.forms) {
        if (form.flow.empty()) form.flow = row.flow;
        if (form.emit.empty()) {
          form.emit = row.emit;
          form.reason = row.reason;
        }
        for (const Group& group : form.groups) mods.insert(group.choices.begin(), group.choices.end());
      }
  }

  std::vector<Row> rows;
  std::set<std::string> mods;
  // Sets of modifiers and of types that forms name, with their members.
  [[nodiscard]] std::map<std::string, Strings> named_sets() const {
    std::map<std::string, Strings> all = sets_;
    all.insert(type_sets_.begin(), type_sets_.end());
    return all;
  }

 private:
  std::map<std::string, Strings> sets_, type_sets_;

  template <class Fn>
  void each_line(const std::string& path, Fn fn) {
    std::ifstream in(path);
    if (!in) {
      g_where = path;
      fail("cannot open");
    }
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      g_where = path + ":" + std::to_string(number);
      if (const auto hash = line.find('#'); hash != std::string::npos && line.find('"') > hash) line.resize(hash);
      line = trim(line);
      if (line.empty()) continue;
      const auto space = line.find(' ');
      fn(line.substr(0, space), space == std::string::npos ? "" : trim(line.substr(space)));
    }
  }

  Form read_form(std::string rest) {
    Form form;
    if (const auto at = rest.find(" unsupported "); at != std::string::npos) {
      form.emit = "unsupported";
      form.reason = quoted(rest.substr(at));
      rest.resize(at);
    }
    if (const auto at = rest.find(" emit "); at != std::string::npos) {
      form.emit = trim(rest.substr(at + 6));
      rest.resize(at);
    }
    if (const auto at = rest.find(" flow "); at != std::string::npos) {
      form.flow = trim(rest.substr(at + 6));
      if (!contains(kFlows, form.flow)) fail("unknown flow '" + form.flow + "'");
      rest.resize(at);
    }
    if (const auto at = rest.find(" since "); at != std::string::npos) {
      if (std::sscanf(rest.c_str() + at, " since ptx%d.%d sm%d", &form.ptx_major, &form.ptx_minor, &form.sm) != 3)
        fail("'since ptxA.B smN' is due");
      rest.resize(at);
    }
    rest = trim(rest);
    const auto space = rest.find(' ');
    const std::string head = rest.substr(0, space);
    const std::string operands = space == std::string::npos ? "" : trim(rest.substr(space));
    form.text = operands.empty() ? head : head + " " + operands;
    read_head(head, form);
    if (!operands.empty())
      for (const std::string& part : split(operands, ',')) form.operands.push_back(read_operand(trim(part)));
    check_disjoint(form);
    return form;
  }

  void read_head(const std::string& head, Form& form) {
    std::size_t i = head.find_first_of(".{");
    while (i < head.size()) {
      if (head[i] == '{') {
        const auto close = head.find('}', i);
        if (close == std::string::npos || head[i + 1] != '.') fail("'{.name}' is due in '" + head + "'");
        add_position(head.substr(i + 2, close - i - 2), false, form);
        i = close + 1;
      } else {
        auto end = head.find_first_of(".{", i + 1);
        if (end == std::string::npos) end = head.size();
        add_position(head.substr(i + 1, end - i - 1), true, form);
        i = end;
      }
    }
    if (!form.seen_type) form.groups_before_types = form.groups.size();
  }

  void add_position(const std::string& text, bool required, Form& form) {
    Strings all;
    bool any_type = false, any_mod = false;
    for (const std::string& part : split(text, '|')) {
      if (const auto it = type_sets_.find(part); it != type_sets_.end()) {
        any_type = true;
        all.insert(all.end(), it->second.begin(), it->second.end());
      } else if (contains(kTypes, part)) {
        any_type = true;
        all.push_back(part);
      } else if (const auto set = sets_.find(part); set != sets_.end()) {
        any_mod = true;
        all.insert(all.end(), set->second.begin(), set->second.end());
      } else {
        any_mod = true;
        all.push_back(part);
      }
    }
    if (any_type && any_mod) fail("a position mixes types and modifiers: '" + text + "'");
    if (any_type) {
      if (!required) fail("a type cannot be optional: '" + text + "'");
      if (!form.seen_type) form.groups_before_types = form.groups.size();
      form.seen_type = true;
      form.types.push_back(all);
    } else {
      form.groups.push_back({all, required});
    }
  }

  static void check_disjoint(const Form& form) {
    std::set<std::string> seen;
    for (const Group& group : form.groups)
      for (const std::string& mod : group.choices)
        if (!seen.insert(mod).second) fail("modifier '" + mod + "' stands in two positions of '" + form.text + "'");
  }

  static Operand read_operand(std::string text) {
    Operand op;
    if (text.starts_with('?')) {
      op.optional = true;
      text.erase(0, 1);
    }
    if (const auto colon = text.rfind(':'); colon != std::string::npos) {
      const std::string type = text.substr(colon + 1);
      text.resize(colon);
      if (type == "wide") {
        op.type_slot = -2;
      } else if (std::isdigit(static_cast<unsigned char>(type[0]))) {
        op.type_slot = std::stoi(type);
      } else {
        if (!contains(kTypes, type)) fail("unknown type '" + type + "'");
        op.type_slot = -1;
        op.fixed = type;
      }
    }
    std::string kinds;
    if (const auto paren = text.find('('); paren != std::string::npos) {
      const std::map<std::string, std::string> names = {
          {"reg", "kReg"},       {"imm", "kImm"},       {"address", "kAddress"},  {"label", "kLabel"},
          {"symbol", "kSymbol"}, {"vector", "kVector"}, {"sreg", "kSreg"},        {"sink", "kSink"},
          {"pair", "kPredPair"}, {"func", "kFunc"},     {"params", "kParamList"}, {"targets", "kTargets"},
          {"select", "kSelect"}, {"minus", "kMinus"}};
      for (const std::string& word : words(text.substr(paren + 1, text.find(')') - paren - 1))) {
        if (!names.contains(word)) fail("unknown operand kind '" + word + "'");
        kinds += (kinds.empty() ? "" : " | ") + names.at(word);
      }
      text.resize(paren);
    }
    auto strip = [&](std::string_view open, std::string_view close) {
      if (!text.starts_with(open) || !text.ends_with(close)) return false;
      text = text.substr(open.size(), text.size() - open.size() - close.size());
      return true;
    };
    std::string shape;
    if (strip("[", "]")) {
      shape = "kAddress";
      if (op.type_slot == 0) op.type_slot = -1;
    } else if (strip("{{", "}}")) {
      shape = "kReg | kVector";
    } else if (strip("<", ">")) {
      shape = "kImm";
    } else if (text.starts_with('!')) {
      text.erase(0, 1);
      shape = "kReg | kImm | kNegPred";
    } else if (const auto bar = text.find('|'); bar != std::string::npos) {
      shape = "kReg | kSink | kPredPair";
      if (text[bar + 1] == '|') shape += " | kPairDue";
      text.resize(bar);
    }
    op.name = text;
    if (text.starts_with('d') && shape != "kAddress") op.role = "dst";
    if (op.role == "src" && shape == "kReg | kVector") shape += " | kImm";
    if (kinds.empty()) kinds = shape;
    if (kinds.empty()) kinds = op.role == "dst" ? "kReg" : "kReg | kImm";
    op.kinds = kinds;
    return op;
  }
};

std::string enumerator(const std::string& spelling) {
  static const std::set<std::string> keywords = {
      "and",   "or",    "xor",     "not",    "const",    "volatile", "auto",   "break",  "case",
      "char",  "class", "default", "do",     "else",     "float",    "for",    "if",     "int",
      "long",  "new",   "private", "public", "register", "short",    "static", "switch", "this",
      "union", "using", "void",    "while",  "bool",     "double",   "export", "extern", "inline"};
  std::string out;
  for (const char c : spelling) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (std::isdigit(static_cast<unsigned char>(out[0]))) out = "m_" + out;
  if (keywords.contains(out)) out += '_';
  return out;
}

void write_if_different(const std::string& path, const std::string& text) {
  std::ifstream in(path);
  if (in && std::string(std::istreambuf_iterator<char>(in), {}) == text) return;
  std::ofstream(path) << text;
}

std::string write_enums(const Table& table) {
  std::ostringstream out;
  out << "// Generated by isagen from src/isa/*.isa; do not edit.\n#include <cstddef>\n#include <cstdint>\n\n"
         "namespace warploom::isa {\n\nenum class Op : std::uint16_t {\n";
  for (const Row& row : table.rows) out << "  " << enumerator(row.name) << ",\n";
  out << "};\ninline constexpr std::size_t kOpCount = " << table.rows.size()
      << ";\n\nenum class Mod : std::uint16_t {\n";
  for (const std::string& mod : table.mods) out << "  " << enumerator(mod) << ",\n";
  out << "};\ninline constexpr std::size_t kModCount = " << table.mods.size() << ";\n\n}  // namespace warploom::isa\n";
  return out.str();
}

// Arrays with equal contents are written once.
class Arrays {
 public:
  std::string add(const std::string& element_type, const std::string& prefix, const Strings& elements) {
    if (elements.empty()) return "{}";
    std::string body;
    for (const std::string& e : elements) body += (body.empty() ? "" : ", ") + e;
    auto [it, fresh] = known_.try_emplace(element_type + "=" + body, prefix + std::to_string(known_.size()));
    if (fresh) text_ += "constexpr " + element_type + " " + it->second + "[] = {" + body + "};\n";
    return it->second;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::map<std::string, std::string> known_;
  std::string text_;
};

std::string literal(const std::string& s) { return "\"" + s + "\""; }

std::string joined(const Strings& list) {
  std::string out;
  for (const std::string& s : list) out += (out.empty() ? "" : " ") + s;
  return out;
}

std::string write_table(const Table& table) {
  Arrays arrays;
  std::string rows_text, names;
  for (const Row& row : table.rows) {
    Strings forms;
    for (const Form& form : row.forms) {
      Strings groups, types, operands;
      for (const Group& group : form.groups) {
        Strings choices;
        for (const std::string& mod : group.choices) choices.push_back("Mod::" + enumerator(mod));
        groups.push_back("{" + arrays.add("Mod", "kM", choices) + (group.required ? ", true}" : ", false}"));
      }
      for (const Strings& position : form.types) {
        Strings list;
        for (const std::string& type : position) list.push_back("Type::" + type);
        types.push_back(arrays.add("Type", "kT", list));
      }
      for (const Operand& op : form.operands)
        operands.push_back("{" + literal(op.name) + ", Role::" + op.role + ", " + op.kinds + ", " +
                           std::to_string(op.type_slot) + ", Type::" + op.fixed +
                           (op.optional ? ", true}" : ", false}"));
      forms.push_back("{" + literal(form.text) + ", " + arrays.add("ModGroup", "kG", groups) + ", " +
                      arrays.add("std::span<const Type>", "kS", types) + ", " +
                      arrays.add("OperandSpec", "kO", operands) + ", " + std::to_string(form.groups_before_types) +
                      ", {" + std::to_string(form.ptx_major) + ", " + std::to_string(form.ptx_minor) + ", " +
                      std::to_string(form.sm) + "}, Flow::" + form.flow + ", " + literal(form.emit) + ", " +
                      literal(form.reason) + "}");
    }
    rows_text += "  {Op::" + enumerator(row.name) + ", " + literal(row.name) + ", " + literal(row.title) + ", " +
                 literal(row.section) + ", " + arrays.add("Form", "kF", forms) + ", Flow::" + row.flow + ", " +
                 literal(row.emit) + ", " + literal(row.reason) + ", " + literal(row.ref) + ", " + literal(row.cost) +
                 ", " + literal(row.edge) + "},\n";
  }
  for (const std::string& mod : table.mods) names += "  " + literal(mod) + ",\n";
  std::string sets;
  for (const auto& [name, members] : table.named_sets())
    sets += "  {" + literal(name) + ", " + literal(joined(members)) + "},\n";
  return "// Generated by isagen from src/isa/*.isa; do not edit.\n" + arrays.text() + "constexpr Row kRows[] = {\n" +
         rows_text + "};\nconstexpr std::string_view kModNames[] = {\n" + names +
         "};\nconstexpr NamedSet kNamedSets[] = {\n" + sets + "};\n";
}

std::string write_page(const Table& table) {
  std::ostringstream out;
  std::size_t forms = 0, refused = 0;
  for (const Row& row : table.rows)
    for (const Form& form : row.forms) {
      ++forms;
      refused += form.emit == "unsupported";
    }
  out << "# PTX instructions\n\nGenerated from `src/isa/*.isa` by `isagen`; do not edit. " << table.rows.size()
      << " instructions, " << forms << " forms, of which the CPU device refuses " << refused
      << ".\n\nNotation: `.name` is required, `{.name}` optional, `a|b` one of them; modifiers may stand in any order, "
         "types keep theirs. Operands: `d` result, `d|p` with an optional predicate result (`d||p`: required), `[a]` "
         "address, "
         "`{{a}}` register or vector, `<a>` constant only, `!p` predicate that may be negated, `?a` may be left out; "
         "`a:u32` has that type, `a:1` the second type of the instruction, others the first.\n\n"
         "Numbers behind titles are sections of the PTX ISA manual. Names such as `.rnd` stand for the sets at the "
         "end.\n";
  for (const Row& row : table.rows) {
    out << "\n## " << row.name << "\n" << row.title << " (" << row.section << ")";
    if (!row.reason.empty()) out << "; **refused by the CPU device**: " << row.reason;
    out << "\n\n| form | since | flow | CPU device |\n|---|---|---|---|\n";
    for (const Form& form : row.forms) {
      std::string text;
      for (const char c : form.text) text += c == '|' ? std::string("\\|") : std::string(1, c);
      out << "| `" << text << "` | PTX " << form.ptx_major << "." << form.ptx_minor << ", sm_" << form.sm << " | "
          << form.flow << " | " << (form.reason.empty() ? form.emit : "refused: " + form.reason) << " |\n";
    }
  }
  out << "\n## Named sets\n\n| name | one of |\n|---|---|\n";
  for (const auto& [name, members] : table.named_sets()) out << "| `." << name << "` | `" << joined(members) << "` |\n";
  return out.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || (std::string_view(argv[1]) != "code" && std::string_view(argv[1]) != "page")) {
    std::fprintf(stderr, "usage: isagen code OUTPUT_FOLDER FILE.isa...\n       isagen page OUTPUT.md FILE.isa...\n");
    return 2;
  }
  Table table;
  for (int i = 3; i < argc; ++i) table.read_sets(argv[i]);
  for (int i = 3; i < argc; ++i) table.read_rows(argv[i]);
  table.finish();
  if (std::string_view(argv[1]) == "page") {
    write_if_different(argv[2], write_page(table));
  } else {
    const std::string folder = argv[2];
    write_if_different(folder + "/isa_enums.inc", write_enums(table));
    write_if_different(folder + "/isa_table.inc", write_table(table));
  }
  return 0;
}
