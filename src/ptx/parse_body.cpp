// Parses the statements of a function body: scopes, labels and directives.
#include "ptx/body_parser.hpp"
#include "ptx/vocabulary.hpp"

namespace warploom::ptx {

std::optional<Diag> BodyParser::run() {
  scopes_.emplace_back();
  for (const auto* list : {&function_.params, &function_.returns})
    for (const Param& p : *list)
      if (p.in_register && !p.name.empty()) register_parameter(p);
  if (expect('{')) {
    while (!error_ && !cursor_.accept('}')) statement();
    if (!error_) close_scope();
  }
  if (error_) place(*error_);
  return std::move(error_);
}

bool BodyParser::statement() {
  const char c = cursor_.peek();
  if (c == '{') return open_scope();
  if (c == ';') {
    cursor_.advance(1);
    return true;
  }
  mark();
  if (refusals_ == nullptr) return simple_statement(c);
  const Cursor begin = cursor_;
  refused_ = {};
  return simple_statement(c) || recover(begin);
}

void BodyParser::place(Diag& diag) const {
  diag.where = (function_.is_entry ? "kernel '" : "function '") + function_.name + "'";
  diag.loc = module_.place(diag.loc.line, diag.loc.column);
}

void BodyParser::refuse() {
  place(*error_);
  refusals_->push_back({std::move(*error_), std::string(refused_)});
  error_.reset();
}

bool BodyParser::recover(const Cursor& begin) {
  const auto unfinished = static_cast<std::uint32_t>(body_.instrs.size());
  std::erase_if(scope().uses, [&](const LabelUse& use) { return use.instr == unfinished; });
  cursor_ = begin;
  unsigned depth = 0;
  for (char c = cursor_.peek(); c != '\0'; c = cursor_.peek()) {
    if (c == '}' && depth == 0) break;
    cursor_.advance(1);
    if (c == ';' && depth == 0) break;
    if (c == '{') ++depth;
    if (c == '}') --depth;
  }
  if (cursor_.offset() == begin.offset() || cursor_.at_end()) return false;
  refuse();
  return true;
}

bool BodyParser::simple_statement(char c) {
  if (c == '.') return directive();
  if (c == '@') return instruction();
  if (!starts_word(c)) return syntax("an instruction is due");
  Cursor ahead = cursor_;
  const std::size_t offset = ahead.offset();
  const std::string_view word = ahead.word();
  if (ahead.peek() == ':' && ahead.raw(1) != ':') {
    ahead.advance(1);
    cursor_ = ahead;
    return label(word, offset);
  }
  return instruction();
}

bool BodyParser::open_scope() {
  cursor_.advance(1);
  if (scopes_.size() >= kDeepestScope) return syntax("scopes are nested too deeply");
  scopes_.emplace_back();
  while (!error_ && !cursor_.accept('}'))
    if (!statement()) return false;
  return !error_ && close_scope();
}

bool BodyParser::close_scope() {
  Scope closing = std::move(scopes_.back());
  scopes_.pop_back();
  for (const LabelUse& use : closing.uses) {
    const auto it = closing.labels.find(use.name);
    if (it != closing.labels.end()) {
      Operand& operand = body_.instrs[use.instr].operands[use.operand];
      operand.symbol = it->second.first;
      operand.reg = static_cast<std::int32_t>(it->second.second);
    } else if (!scopes_.empty()) {
      scope().uses.push_back(use);
    } else {
      undefined("label", use.name, use.offset, closing);
      if (refusals_ == nullptr) return false;
      refuse();
    }
  }
  for (TargetList& list : closing.targets) {
    std::vector<std::string>& out = body_.branch_targets[list.name];
    bool complete = true;
    for (const auto& [name, offset] : list.labels) {
      const auto it = closing.labels.find(name);
      if (it == closing.labels.end()) {
        complete = false;
        if (!scopes_.empty()) break;
        undefined("label", name, offset, closing);
        if (refusals_ == nullptr) return false;
        refuse();
        break;
      }
      out.push_back(it->second.first);
    }
    if (!complete) {
      out.clear();
      if (scopes_.empty()) continue;
      scope().targets.push_back(std::move(list));
    }
  }
  return true;
}

bool BodyParser::label(std::string_view word, std::size_t offset) {
  if (scope().labels.contains(word) || scope().names.contains(word))
    return fail(ErrorId::ptx_invalid, "'" + std::string(word) + "' is defined twice", offset);
  // "prototype_0 : .callprototype ..." and "targets: .branchtargets ..." name what follows, not a position.
  if (cursor_.peek() == '.') {
    const Cursor saved = cursor_;
    const std::string_view next = cursor_.dotted();
    if (next == "callprototype") return prototype(word);
    if (next == "branchtargets" || next == "calltargets") return targets(word, next == "calltargets");
    cursor_ = saved;
  }
  std::string unique(word);
  while (body_.labels.contains(unique) || inner_names_.contains(unique) || find(unique) != nullptr)
    unique = std::string(word) + "$" + std::to_string(++renamed_);
  const auto position = static_cast<std::uint32_t>(body_.instrs.size());
  body_.labels.emplace(unique, position);
  inner_names_.insert(unique);
  scope().labels.emplace(word, std::pair{std::move(unique), position});
  return true;
}

bool BodyParser::prototype(std::string_view word) {
  Prototype p;
  if (cursor_.peek() == '(' && !parameters(p.returns)) return false;
  std::string_view name_word;  // "_"
  if (!name(name_word, "the prototype")) return false;
  if (cursor_.peek() == '(' && !parameters(p.params)) return false;
  while (cursor_.peek() == '.') {  // .noreturn
    if (cursor_.dotted().empty()) return syntax("a directive's name is due");
  }
  body_.prototypes.insert_or_assign(std::string(word), std::move(p));
  return expect(';');
}

bool BodyParser::targets(std::string_view word, bool of_call) {
  TargetList list;
  list.name = word;
  do {
    std::string_view target;
    cursor_.peek();
    const std::size_t offset = cursor_.offset();
    if (!name(target, "a target")) return false;
    list.labels.emplace_back(target, offset);
  } while (cursor_.accept(','));
  if (!of_call) {
    body_.branch_targets.try_emplace(list.name);
    scope().targets.push_back(std::move(list));
  } else {
    std::vector<std::string>& out = body_.branch_targets[list.name];
    for (const auto& [target, offset] : list.labels) {
      const std::string_view known = module_.resolve(function_.unit, target);
      if (module_.find_function(known) == nullptr) return unknown_name(target, offset, "function");
      out.emplace_back(known);
    }
  }
  return expect(';');
}

bool BodyParser::directive() {
  const std::size_t begin = cursor_.offset();
  const std::string_view word = cursor_.dotted();
  if (word == "loc") return location();
  if (word == "reg") return registers();
  if (word == "pragma") return pragma();
  isa::Space space;
  if (variable_space(word, space)) return body_variables(space, Linkage::internal);
  if (word == "extern" || word == "weak" || word == "visible") {
    if (!variable_space(cursor_.dotted(), space)) return syntax("a state space is due");
    return body_variables(space, word == "extern" ? Linkage::external : Linkage::weak);
  }
  if (word == "callprototype" || word == "branchtargets") return syntax("." + std::string(word) + " needs a label");
  return unknown_directive(word, begin, body_directives(), "");
}

bool BodyParser::pragma() {
  std::string_view text;
  do {
    if (!cursor_.quoted(text)) return syntax("a text in double quotes is due");
    if (constexpr std::string_view key = "used_bytes_mask"; text.starts_with(key)) {
      Cursor inside(text, key.size(), text.size(), 1);
      Constant mask;
      const char* why = nullptr;
      inside.peek();
      if (read_constant(inside, mask, why)) used_bytes_ = mask.bits;
    }
  } while (cursor_.accept(','));
  return expect(';');
}

bool BodyParser::location() {
  Loc loc;
  if (!u32(loc.file) || !u32(loc.line) || !u32(loc.column)) return false;
  while (cursor_.accept(',')) {
    std::string_view word;
    if (!name(word, "a part of .loc")) return false;
    if (word == "function_name") {
      if (!name(word, "the function")) return false;
      std::string label(word);
      if (const Unit* unit = this->unit())
        if (const auto renamed = unit->debug_labels.find(word); renamed != unit->debug_labels.end())
          label = renamed->second;
      const auto it = module_.debug_strings.find(label);
      loc.function = it == module_.debug_strings.end() ? std::string(word) : it->second;
      std::uint64_t offset = 0;
      if (cursor_.accept('+') && !integer(offset)) return false;
      if (offset < loc.function.size()) loc.function.erase(0, offset);
    } else if (word == "inlined_at") {
      Loc site;
      if (!u32(site.file) || !u32(site.line) || !u32(site.column)) return false;
      if (const Unit* unit = this->unit()) site.file += unit->first_file;
      loc.inlined_at = call_site(site);
    } else {
      return syntax("'function_name' or 'inlined_at' is due");
    }
  }
  if (const Unit* unit = this->unit()) loc.file += unit->first_file;
  loc_ = static_cast<std::int32_t>(body_.locs.size());
  body_.locs.push_back(std::move(loc));
  return true;
}

std::int32_t BodyParser::call_site(const Loc& site) {
  for (std::size_t i = body_.locs.size(); i-- > 0;) {
    const Loc& l = body_.locs[i];
    if (l.file == site.file && l.line == site.line && l.column == site.column) return static_cast<std::int32_t>(i);
  }
  body_.locs.push_back(site);
  return static_cast<std::int32_t>(body_.locs.size()) - 1;
}

Result<std::shared_ptr<Body>> parse_body(const Module& module, const Function& function) {
  auto body = std::make_shared<Body>();
  if (!function.has_body) {
    Diag diag;
    diag.id = ErrorId::unresolved_symbol;
    diag.what = "function '" + function.name + "' is declared but has no body";
    diag.loc = module.place(function.line);
    return diag;
  }
  if (auto error = BodyParser(module, function, *body).run()) return std::move(*error);
  return body;
}

Survey survey_body(const Module& module, const Function& function) {
  Survey out;
  out.body = std::make_shared<Body>();
  if (!function.has_body) return out;
  if (auto error = BodyParser(module, function, *out.body).run(out.refusals))
    out.refusals.push_back({std::move(*error), {}});
  return out;
}

}  // namespace warploom::ptx
