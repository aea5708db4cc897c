// Parses the directives and declarations of a module and finds where each body begins and ends.
#include <algorithm>

#include "ptx/decode.hpp"
#include "ptx/parser.hpp"
#include "ptx/vocabulary.hpp"

namespace warploom::ptx {
namespace {

class ModuleParser : ParserBase {
 public:
  explicit ModuleParser(Module& module)
      : ParserBase(module, Cursor(module.text, 0, module.text.size(), 1)), module_(module) {}

  std::optional<Diag> run() {
    while (!error_ && !cursor_.at_end()) statement();
    for (const Alias& a : aliases_)
      if (!error_) resolve(a);
    if (!error_) take_globals();
    if (!error_ && module_.version_major == 0) fail(ErrorId::ptx_syntax, "'.version' is missing", 0);
    return std::move(error_);
  }

 private:
  struct Alias {
    std::string_view from;
    std::size_t from_at;
    std::string_view to;
    std::size_t to_at;
  };

  Module& module_;
  std::vector<Alias> aliases_;

  bool statement() {
    if (cursor_.accept(';')) return true;
    if (cursor_.peek() == '@') {  // "@@DWARF" lines of old compilers
      cursor_.skip_line();
      return true;
    }
    const std::size_t begin = cursor_.offset();
    const std::string_view word = cursor_.dotted();
    if (word.empty()) return syntax("a directive is due");
    if (word == "version") return version();
    if (word == "target") return target();
    if (word == "address_size") return address_size();
    if (word == "file") return file();
    if (word == "section") return section();
    if (word == "loc") {
      cursor_.skip_line();
      return true;
    }
    if (word == "pragma") return pragma();
    if (word == "alias") return alias();
    if (is_later() && !contains(module_directives(), word)) return skip(word, begin);
    const Cursor before = cursor_;
    if (declaration(word, begin)) return true;
    // What a later version added to declarations takes one with it, not the module.
    if (!is_later() || !met_unknown_) return false;
    error_.reset();
    met_unknown_ = false;
    cursor_ = before;
    return skip(word, begin);
  }

  [[nodiscard]] bool is_later() const { return is_newer(module_.version_major, module_.version_minor); }

  // Leaves out a directive of a later version: up to its semicolon or closing brace, or to a line that begins with a
  // directive that is known.
  bool skip(std::string_view word, std::size_t begin) {
    module_.skipped.push_back({std::string(word), cursor_.line()});
    unsigned depth = 0;
    for (char c = cursor_.peek(); c != '\0'; c = cursor_.peek()) {
      if (c == '.' && depth == 0 && cursor_.offset() != begin) {
        Cursor ahead = cursor_;
        if (const std::string_view next = ahead.dotted(); contains(module_directives(), next)) return true;
      }
      cursor_.advance(1);
      if (c == '{' || c == '(') ++depth;
      if ((c == '}' || c == ')') && depth > 0) --depth;
      if (depth == 0 && (c == ';' || c == '}')) return true;
    }
    return true;
  }

  bool version() {
    std::uint32_t major = 0, minor = 0;
    cursor_.peek();
    const std::size_t begin = cursor_.offset();
    while (is_digit(cursor_.raw()) && major < 1000) {
      major = major * 10 + static_cast<std::uint32_t>(cursor_.raw() - '0');
      cursor_.advance(1);
    }
    if (cursor_.raw() != '.' || !is_digit(cursor_.raw(1))) return syntax("a version such as 8.0 is due");
    cursor_.advance(1);
    while (is_digit(cursor_.raw()) && minor < 1000) {
      minor = minor * 10 + static_cast<std::uint32_t>(cursor_.raw() - '0');
      cursor_.advance(1);
    }
    module_.version_major = major;
    module_.version_minor = minor;
    if (major == 0 || major >= 100 || minor >= 100)
      return fail(ErrorId::ptx_version,
                  "there is no PTX version " + std::to_string(major) + "." + std::to_string(minor), begin,
                  "versions are 1.0 to " + std::to_string(kKnownMajor) + "." + std::to_string(kKnownMinor) +
                      ", and later ones as far as what they add is not used");
    return true;
  }

  bool target() {
    do {
      std::string_view word;
      cursor_.peek();
      const std::size_t begin = cursor_.offset();
      if (!name(word, "the target")) return false;
      if (const TargetWord kind = target_word(word);
          kind == TargetWord::unknown || (kind == TargetWord::later && !is_later()))
        return fail(ErrorId::ptx_syntax, "unknown target '" + std::string(word) + "'", begin, target_hint(word));
      if (word.starts_with("sm_") || word.starts_with("compute_")) module_.target = word;
      if (word == "debug") module_.debug = true;
    } while (cursor_.accept(','));
    return true;
  }

  bool address_size() {
    cursor_.peek();
    const std::size_t begin = cursor_.offset();
    if (!u32(module_.address_bits)) return false;
    return module_.address_bits == 64 || module_.address_bits == 32 ||
           fail(ErrorId::ptx_invalid, "address size is 32 or 64", begin);
  }

  bool file() {
    std::uint32_t index = 0;
    std::string_view path;
    if (!u32(index)) return false;
    if (!cursor_.quoted(path)) return syntax("a file name in double quotes is due");
    module_.files[index] = path;
    std::uint64_t ignored = 0;
    while (cursor_.accept(','))
      if (!integer(ignored)) return false;
    return true;
  }

  bool pragma() {
    std::string_view ignored;
    do {
      if (!cursor_.quoted(ignored)) return syntax("a text in double quotes is due");
    } while (cursor_.accept(','));
    return expect(';');
  }

  bool alias() {
    std::string_view from, to;
    cursor_.peek();
    const std::size_t from_at = cursor_.offset();
    if (!name(from, "the alias") || !expect(',')) return false;
    cursor_.peek();
    const std::size_t to_at = cursor_.offset();
    if (!name(to, "a function") || !expect(';')) return false;
    aliases_.push_back({from, from_at, to, to_at});
    return true;
  }

  // At the end: the functions may be declared below.
  bool resolve(const Alias& a) {
    const auto [from, from_at, to, to_at] = a;
    const auto find = [this](std::string_view word) {
      const auto it = module_.function_index.find(word);
      return it == module_.function_index.end() ? nullptr : &module_.functions[it->second];
    };
    Function* alias = find(from);
    const Function* target = find(to);
    if (alias == nullptr) return undeclared_function(from, from_at);
    if (target == nullptr) return undeclared_function(to, to_at);
    if (alias->is_entry || alias->has_body)
      return fail(ErrorId::ptx_invalid, "an alias is a .func without a body, and '" + alias->name + "' is not",
                  from_at);
    if (target->is_entry || !target->has_body)
      return fail(ErrorId::ptx_invalid, "an alias stands for a .func with a body, and '" + target->name + "' is not",
                  to_at);
    alias->alias_of = to;
    return true;
  }

  bool undeclared_function(std::string_view word, std::size_t offset) {
    Nearest nearest(word);
    for (const Function& f : module_.functions) nearest.offer(f.name);
    return fail(ErrorId::ptx_undefined_name, "function '" + std::string(word) + "' is not declared", offset,
                nearest.hint());
  }

  // Only .debug_str matters: .loc names inlined functions by its labels.
  bool section() {
    if (cursor_.dotted().empty() && cursor_.word().empty()) return syntax("name of the section is due");
    const std::string_view section_name = text_.substr(0, cursor_.offset());
    if (!section_name.ends_with("debug_str")) {
      if (!cursor_.skip_braces()) return syntax("'{...}' is due");
      return true;
    }
    if (!expect('{')) return false;
    std::vector<std::pair<std::string, std::size_t>> labels;
    std::string bytes;
    while (!cursor_.accept('}')) {
      if (cursor_.peek() == '.') {
        if (cursor_.dotted() != "b8") return syntax("'.b8' is due");
        do {
          std::uint64_t byte = 0;
          if (!integer(byte)) return false;
          bytes += static_cast<char>(byte);
        } while (cursor_.accept(','));
        continue;
      }
      std::string_view label;
      if (!name(label, "a label") || !expect(':')) return false;
      labels.emplace_back(label, bytes.size());
    }
    for (const auto& [label, at] : labels) module_.debug_strings[label] = bytes.substr(at, bytes.find('\0', at) - at);
    return true;
  }

  bool declaration(std::string_view word, std::size_t begin) {
    Linkage linkage = Linkage::internal;
    bool managed = false;
    for (;;) {
      isa::Space space;
      if (word == "extern")
        linkage = Linkage::external;
      else if (word == "visible")
        linkage = Linkage::visible;
      else if (word == "weak")
        linkage = Linkage::weak;
      else if (word == "common")
        linkage = Linkage::common;
      else if (word == "attribute") {
        if (!attribute(managed)) return false;
      } else if (word == "entry" || word == "func") {
        return function(word == "entry", linkage);
      } else if (variable_space(word, space) && space != isa::Space::param) {
        std::vector<Variable> declared;
        return variables(space, linkage, declared) && add(std::move(declared), managed);
      } else {
        return unknown_directive(word, begin, module_directives(), "");
      }
      cursor_.peek();
      begin = cursor_.offset();
      word = cursor_.dotted();
      if (word.empty()) return syntax("a declaration is due");
    }
  }

  bool function(bool is_entry, Linkage linkage) {
    Function f;
    f.is_entry = is_entry;
    f.linkage = linkage;
    cursor_.peek();
    if (cursor_.accept_dotted("attribute")) {
      bool ignored = false;
      if (!attribute(ignored)) return false;
    }
    if (!is_entry && cursor_.peek() == '(' && !parameters(f.returns)) return false;
    cursor_.peek();
    f.line = cursor_.line();
    std::string_view word;
    if (!name(word, is_entry ? "the kernel" : "the function")) return false;
    f.name = word;
    if (cursor_.peek() == '(' && !parameters(f.params)) return false;
    if (!function_directives(f)) return false;
    layout(f.params, f.param_bytes);
    std::uint32_t ignored = 0;
    layout(f.returns, ignored);
    if (cursor_.peek() == '{') {
      f.has_body = true;
      f.body_begin = cursor_.offset();
      f.body_line = cursor_.line();
      if (!cursor_.skip_braces(&f.declares_globals))
        return fail(ErrorId::ptx_syntax, "body of '" + f.name + "' does not end", f.body_begin);
      f.body_end = cursor_.offset();
    } else if (cursor_.peek() != '.' && !expect(';')) {
      return false;
    }
    add(std::move(f));
    return true;
  }

  bool function_directives(Function& f) {
    while (cursor_.peek() == '.') {
      const Cursor before = cursor_;
      const std::size_t begin = cursor_.offset();
      const std::uint32_t line = cursor_.line();
      const std::string_view word = cursor_.dotted();
      if (word.empty()) return syntax("a directive's name is due");
      if (!contains(::warploom::ptx::function_directives(), word)) {
        if (!f.is_entry && contains(module_directives(), word)) {  // a prototype may lack its semicolon
          cursor_ = before;
          return true;
        }
        if (!is_later())
          return unknown_directive(word, begin, ::warploom::ptx::function_directives(), " of a function");
        module_.skipped.push_back({std::string(word), line});
      }
      if (word == "maxntid" || word == "reqntid" || word == "reqnctapercluster") {
        Dim3 dims{1, 1, 1};
        if (!u32(dims.x)) return false;
        if (cursor_.accept(',') && !u32(dims.y)) return false;
        if (cursor_.accept(',') && !u32(dims.z)) return false;
        if (word == "maxntid") f.maxntid = dims;
        if (word == "reqntid") f.reqntid = dims;
        if (word == "reqnctapercluster") f.reqnctapercluster = dims;
      } else if (word == "minnctapersm") {
        if (!u32(f.minnctapersm)) return false;
      } else if (word == "maxnreg") {
        if (!u32(f.maxnreg)) return false;
      } else if (word == "maxclusterrank") {
        if (!u32(f.maxclusterrank)) return false;
      } else if (word == "explicitcluster") {
        f.explicit_cluster = true;
      } else if (word == "noreturn") {
        f.noreturn_ = true;
      } else if (word == "pragma") {
        if (!pragma()) return false;
      } else if (word == "attribute") {
        bool ignored = false;
        if (!attribute(ignored)) return false;
      } else {
        // Directives of clusters and of later versions: numbers or a list in parentheses.
        if (cursor_.accept('(')) {
          while (!cursor_.at_end() && !cursor_.accept(')')) cursor_.advance(1);
        }
        std::uint32_t ignored = 0;
        while (is_digit(cursor_.peek())) {
          if (!u32(ignored)) return false;
          cursor_.accept(',');
        }
      }
    }
    return true;
  }

  static void layout(std::vector<Param>& params, std::uint32_t& total) {
    total = 0;
    for (Param& p : params) {
      total = (total + p.align - 1) / p.align * p.align;
      p.offset = total;
      total += p.bytes;
    }
  }

  // A definition takes the place of an earlier declaration; a later declaration adds nothing.
  void add(Function f) {
    const auto [it, fresh] =
        module_.function_index.try_emplace(f.name, static_cast<std::uint32_t>(module_.functions.size()));
    if (fresh) {
      module_.functions.push_back(std::move(f));
      return;
    }
    Function& known = module_.functions[it->second];
    if (f.has_body && known.has_body)
      fail(ErrorId::ptx_invalid, "function '" + f.name + "' is defined twice", f.body_begin);
    else if (f.has_body)
      known = std::move(f);
  }

  // Variables that live as long as the module, whichever function declares them. Last, since a body may name anything
  // of the module; what is wrong with the body is reported when it is used.
  void take_globals() {
    for (Function& f : module_.functions) {
      if (!f.declares_globals) continue;
      const Survey survey = survey_body(module_, f);
      const auto is_global = [](const Variable& v) {
        return (v.space == isa::Space::global || v.space == isa::Space::constant) && v.linkage != Linkage::external;
      };
      for (const Variable& v : survey.body->variables) {
        if (!is_global(v)) continue;
        std::string fresh = f.name + "$" + v.name;
        while (module_.variable_index.contains(fresh) || module_.function_index.contains(fresh)) fresh += "$";
        module_.variable_index.emplace(fresh, static_cast<std::uint32_t>(module_.variables.size()));
        f.globals.emplace(v.name, fresh);
        module_.variables.push_back(v);
        module_.variables.back().name = std::move(fresh);
        module_.variables.back().linkage = Linkage::internal;
        module_.variables.back().in_body = true;
      }
      for (const auto& [inner, name] : f.globals)
        for (Relocation& r : module_.variables[module_.variable_index.at(name)].relocations)
          if (const auto it = f.globals.find(r.symbol); it != f.globals.end()) r.symbol = it->second;
    }
  }

  bool add(std::vector<Variable> fresh_variables, bool managed) {
    for (Variable& v : fresh_variables) {
      v.managed |= managed;
      const auto [it, fresh] =
          module_.variable_index.try_emplace(v.name, static_cast<std::uint32_t>(module_.variables.size()));
      if (fresh) {
        module_.variables.push_back(std::move(v));
        continue;
      }
      Variable& known = module_.variables[it->second];
      if (v.linkage == Linkage::external) continue;
      if (known.linkage != Linkage::external && known.linkage != Linkage::common)
        return syntax("variable '" + v.name + "' is defined twice");
      known = std::move(v);
    }
    return true;
  }
};

}  // namespace

const Function* Module::find_function(std::string_view wanted) const {
  const auto it = function_index.find(wanted);
  if (it == function_index.end()) return nullptr;
  const Function* function = &functions[it->second];
  if (function->alias_of.empty()) return function;
  // An alias stands for a function with a body, which the parser has checked.
  const auto aliased = function_index.find(function->alias_of);
  return aliased == function_index.end() ? function : &functions[aliased->second];
}

std::string Module::version_note() const {
  if (!is_newer(version_major, version_minor)) return {};
  return "the text is PTX " + std::to_string(version_major) + "." + std::to_string(version_minor) + ", and what " +
         std::to_string(kKnownMajor) + "." + std::to_string(kKnownMinor) +
         " does not have fails where it is used; all else works";
}

SourceLoc Module::place(std::uint32_t line, std::uint32_t column) const {
  const Unit* unit = nullptr;
  for (const Unit& u : units)
    if (u.first_line <= line) unit = &u;
  if (unit == nullptr) return {name, line, column};
  return {unit->name, line - unit->first_line + 1, column};
}

std::string_view Module::resolve(std::uint32_t unit, std::string_view word) const {
  if (units.empty()) return word;
  const auto& names = units[unit].names;
  const auto it = names.find(word);
  return it == names.end() ? std::string_view() : std::string_view(it->second);
}

const Variable* Module::find_variable(std::string_view wanted) const {
  const auto it = variable_index.find(wanted);
  return it == variable_index.end() ? nullptr : &variables[it->second];
}

Result<std::shared_ptr<Module>> parse(std::string text, std::string name) {
  auto module = std::make_shared<Module>();
  // Driver images end in zero bytes.
  while (!text.empty() && text.back() == '\0') text.pop_back();
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte order mark
  module->text = std::move(text);
  module->name = std::move(name);
  if (auto error = ModuleParser(*module).run()) return std::move(*error);
  return module;
}

}  // namespace warploom::ptx
