// Links modules: decides which definition of a symbol stands, renames internal ones, and joins texts and tables.
#include "ptx/link.hpp"

#include <algorithm>
#include <unordered_map>

namespace warploom::ptx {
namespace {

// The stronger definition of two stands.
enum class Strength : std::uint8_t { declared, weak, common, strong };

struct Symbol {
  std::size_t unit = 0;
  const Variable* variable = nullptr;  // or a function
  const Function* function = nullptr;
  Strength strength = Strength::declared;
};

Strength strength_of(const Variable& v) {
  switch (v.linkage) {
    case Linkage::external: return Strength::declared;
    case Linkage::weak: return Strength::weak;
    case Linkage::common: return Strength::common;
    default: return Strength::strong;
  }
}

Strength strength_of(const Function& f) {
  if (!f.has_body && f.alias_of.empty()) return Strength::declared;
  return f.linkage == Linkage::weak ? Strength::weak : Strength::strong;
}

// Kernels are found by their names whatever their linkage.
bool is_internal(const Function& f) { return f.linkage == Linkage::internal && !f.is_entry; }
bool is_internal(const Variable& v) { return v.linkage == Linkage::internal; }

class Linker {
 public:
  Linker(const std::vector<std::shared_ptr<const Module>>& modules, std::string name,
         const std::function<bool(std::string_view)>& provided)
      : modules_(modules), provided_(provided), out_(std::make_shared<Module>()) {
    out_->name = std::move(name);
  }

  Result<std::shared_ptr<Module>> run() {
    WL_TRY(join_headers());
    for (std::size_t u = 0; u < modules_.size(); ++u) {
      for (const Variable& v : modules_[u]->variables)
        if (!is_internal(v)) WL_TRY(offer(v.name, {u, &v, nullptr, strength_of(v)}));
      for (const Function& f : modules_[u]->functions)
        if (!is_internal(f)) WL_TRY(offer(f.name, {u, nullptr, &f, strength_of(f)}));
    }
    for (std::size_t u = 0; u < modules_.size(); ++u) name_symbols(u);
    for (std::size_t u = 0; u < modules_.size(); ++u) {
      WL_TRY(take_variables(u));
      WL_TRY(take_functions(u));
    }
    return out_;
  }

 private:
  const std::vector<std::shared_ptr<const Module>>& modules_;
  const std::function<bool(std::string_view)>& provided_;
  std::shared_ptr<Module> out_;
  std::unordered_map<std::string_view, Symbol> symbols_;  // that other modules see

  Diag error(ErrorId id, std::string what, std::size_t unit, std::uint32_t line, std::string remedy) const {
    Diag d;
    d.id = id;
    d.what = std::move(what);
    d.loc = {modules_[unit]->name, line, 0};
    d.remedy = std::move(remedy);
    return d;
  }

  static std::uint32_t line_of(const Symbol& s) { return s.variable != nullptr ? s.variable->line : s.function->line; }
  [[nodiscard]] std::string place_of(const Symbol& s) const {
    return modules_[s.unit]->name + ":" + std::to_string(line_of(s));
  }

  Result<void> join_headers() {
    const Module& first = *modules_.front();
    out_->address_bits = first.address_bits;
    for (std::size_t u = 0; u < modules_.size(); ++u) {
      const Module& m = *modules_[u];
      if (m.address_bits != first.address_bits)
        return error(ErrorId::symbol_mismatch,
                     "addresses of " + std::to_string(m.address_bits) + " bits do not go with " +
                         std::to_string(first.address_bits) + " bits of " + first.name,
                     u, 1, "compile all modules for 64-bit addresses");
      if (std::pair(m.version_major, m.version_minor) > std::pair(out_->version_major, out_->version_minor)) {
        out_->version_major = m.version_major;
        out_->version_minor = m.version_minor;
      }
      // "sm_90" and "sm_100" compare by their length first.
      if (std::pair(m.target.size(), m.target) > std::pair(out_->target.size(), out_->target)) out_->target = m.target;
      out_->debug |= m.debug;

      Unit unit;
      unit.name = m.name;
      unit.text_begin = out_->text.size();
      unit.first_line = static_cast<std::uint32_t>(std::count(out_->text.begin(), out_->text.end(), '\n')) + 1;
      unit.first_file = out_->files.empty() ? 0 : out_->files.rbegin()->first + 1;
      out_->text += m.text;
      if (!out_->text.ends_with('\n')) out_->text += '\n';
      for (const auto& [index, path] : m.files) out_->files[unit.first_file + index] = path;
      for (const auto& [label, text] : m.debug_strings) {
        std::string fresh = label;
        while (out_->debug_strings.contains(fresh)) fresh += "$unit" + std::to_string(u);
        out_->debug_strings[fresh] = text;
        unit.debug_labels[label] = fresh;
      }
      out_->units.push_back(std::move(unit));
    }
    return {};
  }

  // Enters a symbol that other modules see; of two definitions the stronger one stands.
  Result<void> offer(std::string_view name, const Symbol& fresh) {
    const auto [it, first] = symbols_.try_emplace(name, fresh);
    if (first) return {};
    Symbol& known = it->second;
    WL_TRY(compare(name, known, fresh));
    if (known.strength == Strength::strong && fresh.strength == Strength::strong)
      return error(ErrorId::duplicate_symbol,
                   "'" + std::string(name) + "' is defined twice, here and in " + place_of(known), fresh.unit,
                   line_of(fresh), "make one of them static, or declare one .weak");
    const bool larger = fresh.strength == Strength::common && known.strength == Strength::common &&
                        fresh.variable->bytes > known.variable->bytes;
    if (fresh.strength > known.strength || larger) known = fresh;
    return {};
  }

  Result<void> compare(std::string_view name, const Symbol& a, const Symbol& b) const {
    const auto differ = [&](const std::string& how) {
      return error(ErrorId::symbol_mismatch, "'" + std::string(name) + "' " + how + " " + place_of(a), b.unit,
                   line_of(b), "make the declaration and the definition agree");
    };
    if ((a.variable != nullptr) != (b.variable != nullptr))
      return differ(a.variable != nullptr ? "is a function here and a variable in"
                                          : "is a variable here and a function in");
    if (a.variable != nullptr) {
      const Variable &x = *a.variable, &y = *b.variable;
      if (x.space != y.space) return differ("is in another state space than in");
      const bool open = x.unsized_array || y.unsized_array || x.bytes == 0 || y.bytes == 0 ||
                        a.strength == Strength::common || b.strength == Strength::common;
      if (!open && x.bytes != y.bytes)
        return differ("has " + std::to_string(y.bytes) + " bytes here and " + std::to_string(x.bytes) + " in");
      return {};
    }
    const Function &x = *a.function, &y = *b.function;
    if (x.is_entry != y.is_entry)
      return differ(x.is_entry ? "is no kernel here and one in" : "is a kernel here and none in");
    const auto same = [](const std::vector<Param>& p, const std::vector<Param>& q) {
      return std::equal(p.begin(), p.end(), q.begin(), q.end(), [](const Param& l, const Param& r) {
        return l.bytes == r.bytes || l.bytes == 0 || r.bytes == 0;
      });
    };
    // A kernel is declared without parameters where another module takes its address.
    if (!same(x.params, y.params) || !same(x.returns, y.returns)) {
      if (x.is_entry && (x.params.empty() || y.params.empty())) return {};
      return differ("has other parameters or results than in");
    }
    return {};
  }

  // Names of one module as they are after linking: internal ones are changed where another symbol has the name.
  void name_symbols(std::size_t u) {
    Unit& unit = out_->units[u];
    const auto enter = [&](const std::string& name, bool internal) {
      std::string fresh = name;
      while (internal && (symbols_.contains(fresh) || taken_.contains(fresh))) fresh += "$unit" + std::to_string(u);
      if (internal) taken_.emplace(fresh, u);
      unit.names.emplace(name, std::move(fresh));
    };
    for (const Variable& v : modules_[u]->variables) enter(v.name, is_internal(v));
    for (const Function& f : modules_[u]->functions) enter(f.name, is_internal(f));
  }
  std::unordered_map<std::string, std::size_t> taken_;  // internal names after linking

  // Does this declaration or definition stand for its symbol?
  [[nodiscard]] bool stands(std::string_view name, const void* declared) const {
    const Symbol& s = symbols_.at(name);
    return declared == (s.variable != nullptr ? static_cast<const void*>(s.variable) : s.function);
  }

  Result<void> take_variables(std::size_t u) {
    const Unit& unit = out_->units[u];
    for (const Variable& v : modules_[u]->variables) {
      if (!is_internal(v)) {
        if (!stands(v.name, &v)) continue;
        // Dynamic shared memory is an external array that nothing defines.
        if (v.linkage == Linkage::external && v.space != isa::Space::shared)
          return error(ErrorId::unresolved_symbol, "variable '" + v.name + "' is declared, and no module defines it", u,
                       v.line, "link the module that defines it");
      }
      Variable copy = v;
      copy.name = unit.names.find(v.name)->second;
      copy.line += unit.first_line - 1;
      for (Relocation& r : copy.relocations)
        if (const auto it = unit.names.find(r.symbol); it != unit.names.end()) r.symbol = it->second;
      if (v.linkage == Linkage::external) widen_shared(copy);
      out_->variable_index.emplace(copy.name, static_cast<std::uint32_t>(out_->variables.size()));
      out_->variables.push_back(std::move(copy));
    }
    return {};
  }

  // Modules may ask for different alignments of the block's dynamic shared memory.
  void widen_shared(Variable& shared) const {
    for (const auto& module : modules_)
      if (const Variable* other = module->find_variable(shared.name);
          other != nullptr && other->linkage == Linkage::external)
        shared.align = std::max(shared.align, other->align);
  }

  Result<void> take_functions(std::size_t u) {
    const Unit& unit = out_->units[u];
    for (const Function& f : modules_[u]->functions) {
      if (!is_internal(f)) {
        if (!stands(f.name, &f)) continue;
        if (strength_of(f) == Strength::declared && !provided_(f.name))
          return error(ErrorId::unresolved_symbol, "function '" + f.name + "' is declared, and no module defines it", u,
                       f.line, "link the module that defines it");
      }
      Function copy = f;
      copy.name = unit.names.find(f.name)->second;
      if (const auto it = unit.names.find(f.alias_of); it != unit.names.end()) copy.alias_of = it->second;
      copy.unit = static_cast<std::uint32_t>(u);
      for (auto& [inner, global] : copy.globals) global = unit.names.find(global)->second;
      copy.line += unit.first_line - 1;
      copy.body_line += unit.first_line - 1;
      copy.body_begin += unit.text_begin;
      copy.body_end += unit.text_begin;
      out_->function_index.emplace(copy.name, static_cast<std::uint32_t>(out_->functions.size()));
      out_->functions.push_back(std::move(copy));
    }
    return {};
  }
};

}  // namespace

Result<std::shared_ptr<Module>> link(const std::vector<std::shared_ptr<const Module>>& modules, std::string name,
                                     const std::function<bool(std::string_view)>& provided) {
  if (modules.empty()) {
    Diag d;
    d.id = ErrorId::invalid_value;
    d.what = "there is nothing to link";
    d.where = std::move(name);
    d.remedy = "add at least one module";
    return d;
  }
  return Linker(modules, std::move(name), provided).run();
}

}  // namespace warploom::ptx
