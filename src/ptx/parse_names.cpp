// Declares the registers and variables of a function body, and finds what a name stands for.
#include <algorithm>

#include "ptx/body_parser.hpp"
#include "ptx/vocabulary.hpp"

namespace warploom::ptx {

bool BodyParser::undefined(const char* kind, std::string_view name, std::size_t offset, const Scope& closing) {
  Nearest nearest(name);
  for (const auto& [label, position] : closing.labels) nearest.offer(label);
  return fail(ErrorId::ptx_undefined_name, std::string(kind) + " '" + std::string(name) + "' is not defined", offset,
              nearest.hint());
}

std::int32_t BodyParser::add_register(std::string name, isa::Type type) {
  body_.registers.push_back({std::move(name), type});
  return static_cast<std::int32_t>(body_.registers.size()) - 1;
}

void BodyParser::add_components(std::string_view word, isa::Type type, unsigned width) {
  for (unsigned i = 0; i < width; ++i) add_register(unique_name(std::string(word) + "$" + "xyzw"[i]), type);
}

void BodyParser::register_parameter(const Param& p) {
  const auto first = static_cast<std::int32_t>(body_.registers.size());
  const unsigned width = p.bytes / std::max(1u, isa::bytes(p.type));
  if (width == 2 || width == 4) {
    // The header that declares it is printed as it was, so its parts keep the names that PTX gives them.
    for (unsigned i = 0; i < width; ++i) add_register(p.name + "." + "xyzw"[i], p.type);
    scope().names[p.name] = {Symbol::Kind::vector, first, static_cast<std::uint8_t>(width)};
  } else {
    scope().names[p.name] = {Symbol::Kind::reg, add_register(p.name, p.type)};
  }
}

std::string BodyParser::unique_name(std::string_view word) {
  std::string unique(word);
  if (scopes_.size() > 1) {
    while (find(unique) != nullptr || !inner_names_.insert(unique).second)
      unique = std::string(word) + "$" + std::to_string(++renamed_);
  } else {
    while (inner_names_.contains(unique)) unique = std::string(word) + "$" + std::to_string(++renamed_);
  }
  return unique;
}

bool BodyParser::define(std::string_view word, Symbol symbol, std::size_t offset) {
  if (scope().names.emplace(word, symbol).second) return true;
  return fail(ErrorId::ptx_invalid, "'" + std::string(word) + "' is declared twice", offset);
}

bool BodyParser::registers() {
  isa::Type type = isa::Type::none;
  std::uint8_t width = 1;
  while (cursor_.peek() == '.') {
    const std::size_t begin = cursor_.offset();
    const std::string_view word = cursor_.dotted();
    if (word == "v2" || word == "v4")
      width = static_cast<std::uint8_t>(word[1] - '0');
    else if (isa::type_from_name(word) != isa::Type::none)
      type = isa::type_from_name(word);
    else
      return fail(ErrorId::ptx_syntax, "unknown type '." + std::string(word) + "'", begin,
                  directive_hint(register_words(), word));
  }
  if (type == isa::Type::none) return syntax("type of the registers is due");
  do {
    std::string_view word;
    cursor_.peek();
    const std::size_t offset = cursor_.offset();
    if (!name(word, "a register")) return false;
    const auto first = static_cast<std::int32_t>(body_.registers.size());
    if (cursor_.accept('<')) {
      std::uint64_t count = 0;
      // Digits only: a full expression would read the closing > as a comparison.
      if (!is_digit(cursor_.peek())) return syntax("number of registers is due");
      while (is_digit(cursor_.raw())) {
        count =
            std::min<std::uint64_t>(count * 10 + static_cast<std::uint64_t>(cursor_.raw() - '0'), kMostRegisters + 1);
        cursor_.advance(1);
      }
      if (!expect('>')) return false;
      if (body_.registers.size() + count * width > kMostRegisters)
        return fail(ErrorId::ptx_invalid, "too many registers", offset);
      const bool inner = scopes_.size() > 1 || !inner_names_.empty();
      std::string text(word);
      for (std::uint64_t i = 0; i < count; ++i) {
        text.resize(word.size());
        text += std::to_string(i);
        if (width > 1)
          add_components(text, type, width);
        else
          add_register(inner ? unique_name(text) : text, type);
      }
      scope().ranges.push_back({word, static_cast<std::uint32_t>(count), first, width});
    } else if (width > 1) {
      add_components(word, type, width);
      if (!define(word, {Symbol::Kind::vector, first, width}, offset)) return false;
    } else {
      add_register(unique_name(word), type);
      if (!define(word, {Symbol::Kind::reg, first}, offset)) return false;
    }
    if (body_.registers.size() > kMostRegisters) return fail(ErrorId::ptx_invalid, "too many registers", offset);
  } while (cursor_.accept(','));
  return expect(';');
}

bool BodyParser::body_variables(isa::Space space, Linkage linkage) {
  const std::size_t first = body_.variables.size();
  cursor_.peek();
  const std::size_t offset = cursor_.offset();
  if (!variables(space, linkage, body_.variables)) return false;
  for (std::size_t i = first; i < body_.variables.size(); ++i) {
    // The key must outlive the scope: the name stands in the text between `offset` and here.
    const std::string& written = body_.variables[i].name;
    const std::size_t at = text_.find(written, offset);
    const std::string_view key = text_.substr(at, written.size());
    body_.variables[i].name = unique_name(key);
    if (!define(key, {Symbol::Kind::variable, static_cast<std::int32_t>(i)}, at)) return false;
  }
  for (std::size_t i = first; i < body_.variables.size(); ++i)
    for (Relocation& r : body_.variables[i].relocations)
      if (const Symbol* symbol = find(r.symbol); symbol != nullptr && symbol->kind == Symbol::Kind::variable)
        r.symbol = body_.variables[static_cast<std::size_t>(symbol->first)].name;
  return true;
}

const Symbol* BodyParser::find(std::string_view word) {
  std::string_view prefix = word;
  std::uint32_t number = 0;
  bool numbered = false;
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    const Scope& s = scopes_[i];
    if (!s.names.empty())
      if (const auto it = s.names.find(word); it != s.names.end()) return &it->second;
    if (s.ranges.empty()) continue;
    if (!numbered) {
      numbered = true;
      while (!prefix.empty() && is_digit(prefix.back())) prefix.remove_suffix(1);
      // A prefix may itself end in digits ("%r1<4>" declares %r10 to %r13): those are looked up the slow way below.
      number = parse_number(word.substr(prefix.size()));
    }
    for (const RegisterRange& range : s.ranges) {
      if (range.prefix == prefix && number < range.count) return found(range, number);
      if (range.prefix.size() > prefix.size() && word.starts_with(range.prefix)) {
        const std::uint32_t n = parse_number(word.substr(range.prefix.size()));
        if (n < range.count) return found(range, n);
      }
    }
  }
  return nullptr;
}

const Symbol* BodyParser::found(const RegisterRange& range, std::uint32_t number) {
  found_ = {range.width > 1 ? Symbol::Kind::vector : Symbol::Kind::reg,
            range.first + static_cast<std::int32_t>(number * range.width), range.width};
  return &found_;
}

std::uint32_t BodyParser::parse_number(std::string_view digits) {
  if (digits.empty() || digits.size() > 9 || (digits.size() > 1 && digits[0] == '0')) return 0xffffffffu;
  std::uint32_t value = 0;
  for (const char c : digits) {
    if (!is_digit(c)) return 0xffffffffu;
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return value;
}

bool BodyParser::parameter_named(std::string_view word) const {
  for (const auto* list : {&function_.params, &function_.returns})
    for (const Param& p : *list)
      if (p.name == word) return true;
  return false;
}

std::string BodyParser::range_hint(std::string_view word) const {
  for (const Scope& s : scopes_)
    for (const RegisterRange& range : s.ranges) {
      const bool same =
          word.starts_with(range.prefix) && word.size() > range.prefix.size() &&
          std::all_of(word.begin() + static_cast<std::ptrdiff_t>(range.prefix.size()), word.end(), is_digit);
      if (same && range.count != 0)
        return "declared are " + std::string(range.prefix) + "0 to " + std::string(range.prefix) +
               std::to_string(range.count - 1);
    }
  return "";
}

bool BodyParser::unknown_name(std::string_view word, std::size_t offset, const char* kind) {
  Nearest nearest(word);
  // A survey of a body with very many mistakes would spend minutes on hints.
  constexpr std::size_t kMostHints = 100;
  if (refusals_ != nullptr && refusals_->size() > kMostHints)
    return fail(ErrorId::ptx_undefined_name, std::string(kind) + " '" + std::string(word) + "' is not declared",
                offset);
  for (const Scope& s : scopes_)
    for (const auto& [known, symbol] : s.names) nearest.offer(known);
  if (body_.registers.size() < 4096)
    for (const Register& r : body_.registers) nearest.offer(r.name);
  if (word.starts_with('%'))
    for (const std::string_view known : special_register_names()) nearest.offer(known);
  if (module_.variables.size() + module_.functions.size() < 4096) {
    for (const Variable& v : module_.variables) nearest.offer(v.name);
    for (const Function& f : module_.functions) nearest.offer(f.name);
  }
  for (const auto* list : {&function_.params, &function_.returns})
    for (const Param& p : *list) nearest.offer(p.name);
  for (const auto& [known, targets] : body_.branch_targets) nearest.offer(known);
  for (const auto& [known, prototype] : body_.prototypes) nearest.offer(known);
  std::string hint = range_hint(word);
  return fail(ErrorId::ptx_undefined_name, std::string(kind) + " '" + std::string(word) + "' is not declared", offset,
              hint.empty() ? nearest.hint() : hint);
}

}  // namespace warploom::ptx
