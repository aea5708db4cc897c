// Parses one function body: scopes, declarations, labels, operands and debug locations.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ptx/decode.hpp"
#include "ptx/parser.hpp"

namespace warploom::ptx {
namespace {

struct Symbol {
  enum class Kind : std::uint8_t { reg, vector, variable } kind;
  std::int32_t first = 0;  // register, or index of the variable
  std::uint8_t width = 1;  // of a vector register
};

// "%r<100>": %r0 to %r99 without a hash entry for each.
struct RegisterRange {
  std::string_view prefix;
  std::uint32_t count;
  std::int32_t first;
  std::uint8_t width = 1;  // of vector registers
};

// A use of a label that may be defined further down.
struct LabelUse {
  std::uint32_t instr;
  std::uint32_t operand;
  std::string_view name;
  std::size_t offset;
};

struct TargetList {  // .branchtargets waits for the labels too
  std::string name;
  std::vector<std::pair<std::string_view, std::size_t>> labels;
};

struct Scope {
  std::unordered_map<std::string_view, Symbol> names;
  std::vector<RegisterRange> ranges;
  std::unordered_map<std::string_view, std::pair<std::string, std::uint32_t>> labels;
  std::vector<LabelUse> uses;
  std::vector<TargetList> targets;
};

constexpr std::size_t kDeepestScope = 256;
constexpr std::size_t kMostRegisters = 1u << 20;

class BodyParser : ParserBase {
 public:
  BodyParser(const Module& module, const Function& function, Body& body)
      : ParserBase(module, Cursor(module.text, function.body_begin, function.body_end, function.body_line)),
        module_(module),
        function_(function),
        body_(body) {}

  std::optional<Diag> run() {
    scopes_.emplace_back();
    for (const auto* list : {&function_.params, &function_.returns})
      for (const Param& p : *list)
        if (p.in_register && !p.name.empty()) register_parameter(p);
    if (expect('{')) {
      while (!error_ && !cursor_.accept('}')) statement();
      if (!error_) close_scope();
    }
    if (error_) error_->where = (function_.is_entry ? "kernel '" : "function '") + function_.name + "'";
    return std::move(error_);
  }

 private:
  const Module& module_;
  const Function& function_;
  Body& body_;
  std::vector<Scope> scopes_;
  std::unordered_set<std::string> inner_names_;  // made unique in inner scopes
  std::unordered_map<std::string_view, Decoded> decoded_;
  std::string mnemonic_;  // only when blanks stand inside it
  std::unordered_set<std::string> long_mnemonics_;
  std::vector<std::size_t> operand_offsets_;
  std::int32_t loc_ = -1;
  std::uint64_t used_bytes_ = 0;
  unsigned renamed_ = 0;

  Scope& scope() { return scopes_.back(); }

  bool statement() {
    const char c = cursor_.peek();
    if (c == '{') return open_scope();
    if (c == ';') {
      cursor_.advance(1);
      return true;
    }
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

  bool open_scope() {
    cursor_.advance(1);
    if (scopes_.size() >= kDeepestScope) return syntax("scopes are nested too deeply");
    scopes_.emplace_back();
    while (!error_ && !cursor_.accept('}'))
      if (!statement()) return false;
    return !error_ && close_scope();
  }

  bool close_scope() {
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
        return undefined("label", use.name, use.offset, closing);
      }
    }
    for (TargetList& list : closing.targets) {
      std::vector<std::string>& out = body_.branch_targets[list.name];
      bool complete = true;
      for (const auto& [name, offset] : list.labels) {
        const auto it = closing.labels.find(name);
        if (it == closing.labels.end()) {
          if (scopes_.empty()) return undefined("label", name, offset, closing);
          complete = false;
          break;
        }
        out.push_back(it->second.first);
      }
      if (!complete) {
        out.clear();
        scope().targets.push_back(std::move(list));
      }
    }
    return true;
  }

  bool undefined(const char* kind, std::string_view name, std::size_t offset, const Scope& closing) {
    Nearest nearest(name);
    for (const auto& [label, position] : closing.labels) nearest.offer(label);
    return fail(ErrorId::ptx_undefined_name, std::string(kind) + " '" + std::string(name) + "' is not defined", offset,
                nearest.hint());
  }

  bool label(std::string_view word, std::size_t offset) {
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

  bool prototype(std::string_view word) {
    Prototype p;
    if (cursor_.peek() == '(' && !parameters(p.returns)) return false;
    std::string_view name_word;  // "_"
    if (!name(name_word, "the prototype")) return false;
    if (cursor_.peek() == '(' && !parameters(p.params)) return false;
    while (cursor_.peek() == '.') {  // .noreturn
      cursor_.dotted();
    }
    body_.prototypes.insert_or_assign(std::string(word), std::move(p));
    return expect(';');
  }

  bool targets(std::string_view word, bool of_call) {
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
      for (const auto& [target, offset] : list.labels) out.emplace_back(target);
    }
    return expect(';');
  }

  bool directive() {
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
    return fail(ErrorId::ptx_syntax, "unknown directive '." + std::string(word) + "'", begin);
  }

  bool pragma() {
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

  // .loc FILE LINE COLUMN [, function_name LABEL [+ OFFSET], inlined_at FILE LINE COLUMN]
  bool location() {
    Loc loc;
    if (!u32(loc.file) || !u32(loc.line) || !u32(loc.column)) return false;
    while (cursor_.accept(',')) {
      std::string_view word;
      if (!name(word, "a part of .loc")) return false;
      if (word == "function_name") {
        if (!name(word, "the function")) return false;
        const auto it = module_.debug_strings.find(std::string(word));
        loc.function = it == module_.debug_strings.end() ? std::string(word) : it->second;
        std::uint64_t offset = 0;
        if (cursor_.accept('+') && !integer(offset)) return false;
        if (offset < loc.function.size()) loc.function.erase(0, offset);
      } else if (word == "inlined_at") {
        Loc site;
        if (!u32(site.file) || !u32(site.line) || !u32(site.column)) return false;
        loc.inlined_at = call_site(site);
      } else {
        return syntax("'function_name' or 'inlined_at' is due");
      }
    }
    loc_ = static_cast<std::int32_t>(body_.locs.size());
    body_.locs.push_back(std::move(loc));
    return true;
  }

  // The latest location with these coordinates: the call site was mentioned before, itself perhaps inlined.
  std::int32_t call_site(const Loc& site) {
    for (std::size_t i = body_.locs.size(); i-- > 0;) {
      const Loc& l = body_.locs[i];
      if (l.file == site.file && l.line == site.line && l.column == site.column) return static_cast<std::int32_t>(i);
    }
    body_.locs.push_back(site);
    return static_cast<std::int32_t>(body_.locs.size()) - 1;
  }

  std::int32_t add_register(std::string name, isa::Type type) {
    body_.registers.push_back({std::move(name), type});
    return static_cast<std::int32_t>(body_.registers.size()) - 1;
  }

  void add_components(std::string_view word, isa::Type type, unsigned width) {
    for (unsigned i = 0; i < width; ++i) add_register(unique_name(std::string(word) + "$" + "xyzw"[i]), type);
  }

  void register_parameter(const Param& p) {
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

  // A name that no other register or variable of the body has.
  std::string unique_name(std::string_view word) {
    std::string unique(word);
    if (scopes_.size() > 1) {
      while (find(unique) != nullptr || !inner_names_.insert(unique).second)
        unique = std::string(word) + "$" + std::to_string(++renamed_);
    } else {
      while (inner_names_.contains(unique)) unique = std::string(word) + "$" + std::to_string(++renamed_);
    }
    return unique;
  }

  bool define(std::string_view word, Symbol symbol, std::size_t offset) {
    if (scope().names.emplace(word, symbol).second) return true;
    return fail(ErrorId::ptx_invalid, "'" + std::string(word) + "' is declared twice", offset);
  }

  bool registers() {
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
        return fail(ErrorId::ptx_syntax, "unknown type '." + std::string(word) + "'", begin);
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

  bool body_variables(isa::Space space, Linkage linkage) {
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
    return true;
  }

  // The innermost declaration of a name in the body; nullptr when there is none.
  const Symbol* find(std::string_view word) {
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

  Symbol found_{Symbol::Kind::reg};
  const Symbol* found(const RegisterRange& range, std::uint32_t number) {
    found_ = {range.width > 1 ? Symbol::Kind::vector : Symbol::Kind::reg,
              range.first + static_cast<std::int32_t>(number * range.width), range.width};
    return &found_;
  }

  // 0xffffffff when the digits are no plain number ("", "007", too long).
  static std::uint32_t parse_number(std::string_view digits) {
    if (digits.empty() || digits.size() > 9 || (digits.size() > 1 && digits[0] == '0')) return 0xffffffffu;
    std::uint32_t value = 0;
    for (const char c : digits) {
      if (!is_digit(c)) return 0xffffffffu;
      value = value * 10 + static_cast<std::uint32_t>(c - '0');
    }
    return value;
  }

  bool instruction() {
    Instr instr;
    cursor_.peek();
    instr.line = cursor_.line();
    instr.loc = loc_;
    if (cursor_.accept('@')) {
      instr.guard_negated = cursor_.accept('!');
      std::string_view word;
      cursor_.peek();
      const std::size_t offset = cursor_.offset();
      if (!name(word, "the predicate")) return false;
      const Symbol* symbol = find(word);
      if (symbol == nullptr || symbol->kind != Symbol::Kind::reg) return unknown_name(word, offset, "register");
      instr.guard = symbol->first;
      if (body_.registers[static_cast<std::size_t>(instr.guard)].type != isa::Type::pred)
        return fail(ErrorId::ptx_invalid, "'" + std::string(word) + "' is not a predicate", offset);
    }
    if (!starts_word(cursor_.peek())) return syntax("an instruction is due");
    const std::size_t offset = cursor_.offset();
    std::string_view mnemonic;
    if (!read_mnemonic(mnemonic)) return false;
    auto [it, fresh] = decoded_.try_emplace(mnemonic);
    Decoded& decoded = it->second;
    Complaint why;
    if (fresh && !decode(mnemonic, decoded, why)) {
      decoded_.erase(it);
      return fail(why.id, std::move(why.what), offset, std::move(why.remedy));
    }
    instr.op = decoded.row->op;
    instr.mods = decoded.mods;
    std::copy(std::begin(decoded.types), std::end(decoded.types), instr.types);
    instr.type_count = decoded.type_count;
    operand_offsets_.clear();
    if (instr.op == isa::Op::call ? !call_operands(instr) : !plain_operands(instr)) return false;
    if (!expect(';')) return false;
    if (!select_form(decoded, instr, body_.registers, why)) {
      const auto at = static_cast<std::size_t>(why.operand);
      return fail(why.id, std::move(why.what), at < operand_offsets_.size() ? operand_offsets_[at] : offset,
                  std::move(why.remedy));
    }
    if (used_bytes_ != 0 && instr.form->flow == isa::Flow::load) instr.used_bytes = std::exchange(used_bytes_, 0);
    body_.instrs.push_back(std::move(instr));
    return true;
  }

  // The base and all modifiers; a view into the text unless blanks stand between them.
  bool read_mnemonic(std::string_view& out) {
    const std::size_t begin = cursor_.offset();
    std::string_view base = cursor_.word();
    std::size_t end = cursor_.offset();
    bool contiguous = true;
    mnemonic_ = base;
    while (cursor_.peek() == '.') {
      contiguous &= cursor_.offset() == end;
      const std::string_view mod = cursor_.dotted();
      if (mod.empty()) return syntax("a modifier is due");
      mnemonic_ += '.';
      mnemonic_ += mod;
      end = cursor_.offset();
    }
    out = contiguous ? text_.substr(begin, end - begin) : std::string_view(*long_mnemonics_.insert(mnemonic_).first);
    return true;
  }

  bool plain_operands(Instr& instr) {
    if (cursor_.peek() == ';') return true;
    instr.operands.reserve(4);
    do {
      Operand operand;
      cursor_.peek();
      operand_offsets_.push_back(cursor_.offset());
      if (!this->operand(operand, static_cast<std::uint32_t>(instr.operands.size()))) return false;
      instr.operands.push_back(std::move(operand));
    } while (cursor_.accept(','));
    return true;
  }

  bool list(Operand& out) {
    out.kind = Operand::Kind::list;
    if (!expect('(')) return false;
    if (cursor_.accept(')')) return true;
    do {
      Operand element;
      if (!operand(element, kInside)) return false;
      out.elements.push_back(std::move(element));
    } while (cursor_.accept(','));
    return expect(')');
  }

  // call (results), callee, (arguments), prototype: with empty lists where the text leaves them out.
  bool call_operands(Instr& instr) {
    Operand results, callee, arguments;
    results.kind = arguments.kind = Operand::Kind::list;
    cursor_.peek();
    operand_offsets_.push_back(cursor_.offset());
    if (cursor_.peek() == '(' && (!list(results) || !expect(','))) return false;
    cursor_.peek();
    operand_offsets_.push_back(cursor_.offset());
    if (!operand(callee, kInside)) return false;
    bool more = cursor_.accept(',');
    cursor_.peek();
    operand_offsets_.push_back(cursor_.offset());
    if (more && cursor_.peek() == '(') {
      if (!list(arguments)) return false;
      more = cursor_.accept(',');
    }
    instr.operands.push_back(std::move(results));
    instr.operands.push_back(std::move(callee));
    instr.operands.push_back(std::move(arguments));
    if (!more) return true;
    Operand last;
    std::string_view word;
    cursor_.peek();
    operand_offsets_.push_back(cursor_.offset());
    if (!name(word, "the prototype")) return false;
    last.kind = Operand::Kind::symbol;
    last.symbol = word;
    if (!body_.prototypes.contains(last.symbol) && !body_.branch_targets.contains(last.symbol) &&
        module_.find_variable(word) == nullptr)
      return unknown_name(word, operand_offsets_.back(), "prototype");
    instr.operands.push_back(std::move(last));
    return true;
  }

  static constexpr std::uint32_t kInside = 0xffffffffu;  // not an operand of its own, so no label

  bool operand(Operand& out, std::uint32_t index) {
    switch (const char c = cursor_.peek()) {
      case '[': return address(out);
      case '{': return vector(out);
      case '!':
        cursor_.advance(1);
        if (starts_word(cursor_.peek())) {
          out.negated = true;
          return named(out, index);
        }
        return fail(ErrorId::ptx_syntax, "a predicate is due behind '!'", cursor_.offset());
      default:
        if (starts_word(c)) return named(out, index);
        if (starts_constant(c)) return literal(out);
        return syntax("an operand is due");
    }
  }

  bool literal(Operand& out) {
    Constant value;
    if (!constant(value)) return false;
    out.imm = value.bits;
    out.kind = value.kind == Constant::Kind::integer ? Operand::Kind::imm
               : value.kind == Constant::Kind::f32   ? Operand::Kind::imm_f32
                                                     : Operand::Kind::imm_f64;
    return true;
  }

  bool vector(Operand& out) {
    out.kind = Operand::Kind::vector;
    cursor_.advance(1);
    do {
      Operand element;
      if (!operand(element, kInside)) return false;
      out.elements.push_back(std::move(element));
    } while (cursor_.accept(','));
    return expect('}');
  }

  bool address(Operand& out) {
    out.kind = Operand::Kind::address;
    cursor_.advance(1);
    if (starts_word(cursor_.peek())) {
      const std::size_t offset = cursor_.offset();
      Operand base;
      if (!named(base, kInside)) return false;
      if (base.kind == Operand::Kind::reg)
        out.reg = base.reg;
      else if (base.kind == Operand::Kind::symbol)
        out.symbol = std::move(base.symbol);
      else
        return fail(ErrorId::ptx_invalid, "an address starts with a register, a symbol or a number", offset);
      out.imm = base.imm;
    }
    if (starts_constant(cursor_.peek())) {
      std::uint64_t value = 0;
      if (!integer(value)) return false;
      out.imm += value;
    }
    while (cursor_.accept(',')) {
      Operand element;
      if (!operand(element, kInside)) return false;
      out.elements.push_back(std::move(element));
    }
    return expect(']');
  }

  // A register with an optional "|p", a special register, a sink, a symbol or a label.
  bool named(Operand& out, std::uint32_t index) {
    cursor_.peek();
    const std::size_t offset = cursor_.offset();
    const std::string_view word = cursor_.word();
    if (word == "_") {
      out.kind = Operand::Kind::sink;
      return pair(out);
    }
    if (const Symbol* symbol = find(word)) {
      switch (symbol->kind) {
        case Symbol::Kind::reg:
          out.kind = Operand::Kind::reg;
          out.reg = symbol->first;
          return pair(out);
        case Symbol::Kind::vector: return vector_register(out, *symbol);
        case Symbol::Kind::variable:
          out.kind = Operand::Kind::symbol;
          out.symbol = body_.variables[static_cast<std::size_t>(symbol->first)].name;
          return symbol_offset(out, index);
      }
    }
    if (word == "WARP_SZ") {
      out.kind = Operand::Kind::imm;
      out.imm = 32;
      return true;
    }
    if (word[0] == '%') {
      std::string full(word);
      if (cursor_.raw() == '.') {
        full += '.';
        full += cursor_.dotted();
      }
      if (special_register(full) != isa::Type::none) {
        out.kind = Operand::Kind::sreg;
        out.symbol = std::move(full);
        return true;
      }
      return unknown_name(full, offset, "register");
    }
    if (parameter_named(word) || module_.find_variable(word) != nullptr || module_.find_function(word) != nullptr) {
      out.kind = Operand::Kind::symbol;
      out.symbol = word;
      return symbol_offset(out, index);
    }
    if (body_.branch_targets.contains(std::string(word)) || body_.prototypes.contains(std::string(word))) {
      out.kind = Operand::Kind::symbol;
      out.symbol = word;
      return true;
    }
    if (index == kInside) return unknown_name(word, offset, "name");
    out.kind = Operand::Kind::label;
    out.symbol = word;
    scope().uses.push_back({static_cast<std::uint32_t>(body_.instrs.size()), index, word, offset});
    return true;
  }

  // "symbol+8" as an operand of its own; inside an address the caller reads the offset.
  bool symbol_offset(Operand& out, std::uint32_t index) {
    if (index == kInside || (cursor_.peek() != '+' && cursor_.peek() != '-')) return true;
    return integer(out.imm);
  }

  bool parameter_named(std::string_view word) const {
    for (const auto* list : {&function_.params, &function_.returns})
      for (const Param& p : *list)
        if (p.name == word) return true;
    return false;
  }

  bool pair(Operand& out) {
    if (cursor_.peek() != '|') return true;
    cursor_.advance(1);
    cursor_.peek();
    const std::size_t offset = cursor_.offset();
    std::string_view word;
    if (!name(word, "the second result")) return false;
    if (word == "_") {
      out.pair = -2;
      return true;
    }
    const Symbol* symbol = find(word);
    if (symbol == nullptr || symbol->kind != Symbol::Kind::reg) return unknown_name(word, offset, "register");
    if (body_.registers[static_cast<std::size_t>(symbol->first)].type != isa::Type::pred)
      return fail(ErrorId::ptx_invalid, "'" + std::string(word) + "' is not a predicate", offset);
    out.pair = symbol->first;
    return true;
  }

  bool vector_register(Operand& out, const Symbol& symbol) {
    if (cursor_.raw() == '.') {
      cursor_.advance(1);
      const char component = cursor_.raw();
      constexpr std::string_view kPosition = "xyzw", kColour = "rgba";
      std::size_t at = kPosition.find(component);
      if (at == std::string_view::npos) at = kColour.find(component);
      if (at >= symbol.width || in_word(cursor_.raw(1))) return syntax("component .x, .y, .z or .w is due");
      cursor_.advance(1);
      out.kind = Operand::Kind::reg;
      out.reg = symbol.first + static_cast<std::int32_t>(at);
      return true;
    }
    out.kind = Operand::Kind::vector;
    for (std::int32_t i = 0; i < symbol.width; ++i) {
      Operand element;
      element.reg = symbol.first + i;
      out.elements.push_back(std::move(element));
    }
    return true;
  }

  // "%r0 to %r9" when the name has the prefix of declared registers but a number outside their range.
  std::string range_hint(std::string_view word) const {
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

  bool unknown_name(std::string_view word, std::size_t offset, const char* kind) {
    Nearest nearest(word);
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
    std::string hint = range_hint(word);
    return fail(ErrorId::ptx_undefined_name, std::string(kind) + " '" + std::string(word) + "' is not declared", offset,
                hint.empty() ? nearest.hint() : hint);
  }
};

}  // namespace

Result<std::shared_ptr<Body>> parse_body(const Module& module, const Function& function) {
  auto body = std::make_shared<Body>();
  if (!function.has_body) {
    Diag diag;
    diag.id = ErrorId::unresolved_symbol;
    diag.what = "function '" + function.name + "' is declared but has no body";
    diag.loc = {module.name, function.line, 0};
    return diag;
  }
  if (auto error = BodyParser(module, function, *body).run()) return std::move(*error);
  return body;
}

}  // namespace warploom::ptx
