// Parses an instruction of a function body: guard, mnemonic and operands.
#include <algorithm>

#include "ptx/body_parser.hpp"

namespace warploom::ptx {

bool BodyParser::instruction() {
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
  refused_ = mnemonic;
  auto [it, fresh] = decoded_.try_emplace(mnemonic);
  Decoded& decoded = it->second;
  Complaint why;
  if (fresh && !decode(mnemonic, decoded, why)) {
    decoded_.erase(it);
    // The caret stands below the part at fault; a mnemonic with blanks in it is marked as a whole.
    std::size_t at = why.part.empty() ? std::string_view::npos : mnemonic.find("." + why.part);
    if (at == std::string_view::npos || text_.substr(offset, mnemonic.size()) != mnemonic) at = 0;
    return fail(why.id, std::move(why.what), offset + at, std::move(why.remedy));
  }
  op_ = instr.op = decoded.row->op;
  instr.mods = decoded.mods;
  std::copy(std::begin(decoded.types), std::end(decoded.types), instr.types);
  instr.type_count = decoded.type_count;
  operand_offsets_.clear();
  if (instr.op == isa::Op::call ? !call_operands(instr) : !plain_operands(instr)) return false;
  if (!expect(';')) return false;
  if (!select_form(decoded, instr, body_.registers, why)) {
    const auto at = static_cast<std::size_t>(why.operand);
    if (why.id == ErrorId::ptx_undefined_name && at < operand_offsets_.size() &&
        instr.operands[at].kind == Operand::Kind::label)
      return unknown_name(instr.operands[at].symbol, operand_offsets_[at], "name");
    return fail(why.id, std::move(why.what), at < operand_offsets_.size() ? operand_offsets_[at] : offset,
                std::move(why.remedy));
  }
  if (used_bytes_ != 0 && instr.form->flow == isa::Flow::load) instr.used_bytes = std::exchange(used_bytes_, 0);
  body_.instrs.push_back(std::move(instr));
  return true;
}

bool BodyParser::read_mnemonic(std::string_view& out) {
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

bool BodyParser::plain_operands(Instr& instr) {
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

bool BodyParser::list(Operand& out) {
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

bool BodyParser::call_operands(Instr& instr) {
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
  if (!body_.prototypes.contains(last.symbol) && !body_.branch_targets.contains(last.symbol)) {
    last.symbol = module_.resolve(function_.unit, word);
    if (module_.find_variable(last.symbol) == nullptr) return unknown_name(word, operand_offsets_.back(), "prototype");
  }
  instr.operands.push_back(std::move(last));
  return true;
}

bool BodyParser::operand(Operand& out, std::uint32_t index) {
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
    case '-': {
      Cursor ahead = cursor_;
      ahead.advance(1);
      if (!starts_word(ahead.peek())) return literal(out);
      cursor_ = ahead;
      out.minus = true;
      return named(out, index);
    }
    default:
      if (starts_word(c)) return named(out, index);
      if (starts_constant(c)) return literal(out);
      return syntax("an operand is due");
  }
}

bool BodyParser::literal(Operand& out) {
  Constant value;
  if (!constant(value)) return false;
  out.imm = value.bits;
  out.kind = value.kind == Constant::Kind::integer ? Operand::Kind::imm
             : value.kind == Constant::Kind::f32   ? Operand::Kind::imm_f32
                                                   : Operand::Kind::imm_f64;
  return true;
}

bool BodyParser::vector(Operand& out) {
  out.kind = Operand::Kind::vector;
  cursor_.advance(1);
  do {
    Operand element;
    if (!operand(element, kInside)) return false;
    out.elements.push_back(std::move(element));
  } while (cursor_.accept(','));
  return expect('}') && pair(out);
}

bool BodyParser::address(Operand& out) {
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
  if (!expect(']')) return false;
  // "[a].unified": the address is one on the host too, as all are here.
  Cursor ahead = cursor_;
  if (op_ == isa::Op::ld && ahead.peek() == '.' && ahead.dotted() == "unified") cursor_ = ahead;
  return true;
}

bool BodyParser::named(Operand& out, std::uint32_t index) {
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
        return selector(out) && pair(out) && (index == kInside || cursor_.peek() != '+' || integer(out.imm));
      case Symbol::Kind::vector: return vector_register(out, *symbol);
      case Symbol::Kind::variable:
        out.kind = Operand::Kind::symbol;
        out.symbol = body_.variables[static_cast<std::size_t>(symbol->first)].name;
        return symbol_offset(out, index, body_.variables[static_cast<std::size_t>(symbol->first)].type);
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
  if (parameter_named(word)) {
    out.kind = Operand::Kind::symbol;
    out.symbol = word;
    return symbol_offset(out, index, isa::Type::none);
  }
  if (const std::string_view known = module_.resolve(function_.unit, word);
      module_.find_variable(known) != nullptr || module_.find_function(known) != nullptr) {
    out.kind = Operand::Kind::symbol;
    out.symbol = known;
    const Variable* variable = module_.find_variable(known);
    return symbol_offset(out, index, variable == nullptr ? isa::Type::none : variable->type);
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

bool BodyParser::symbol_offset(Operand& out, std::uint32_t index, isa::Type element) {
  const char next = index == kInside ? '\0' : cursor_.peek();
  if (next == '+' || next == '-') return integer(out.imm);
  if (next != '[' || element == isa::Type::none) return true;
  cursor_.advance(1);
  std::uint64_t at = 0;
  if (starts_word(cursor_.peek())) {
    std::string_view word;
    const std::size_t offset = cursor_.offset();
    if (!name(word, "the index")) return false;
    const Symbol* symbol = find(word);
    if (symbol == nullptr || symbol->kind != Symbol::Kind::reg) return unknown_name(word, offset, "register");
    const isa::Type type = body_.registers[static_cast<std::size_t>(symbol->first)].type;
    if (isa::is_float(type) || isa::bits(type) < 16 || isa::bits(type) > 64)
      return fail(ErrorId::ptx_invalid, "'" + std::string(word) + "' is no integer of 16, 32 or 64 bits", offset);
    out.reg = symbol->first;
    out.scale = isa::bytes(element);
  }
  if ((out.scale == 0 || cursor_.peek() == '+') && !integer(at)) return false;
  if (!expect(']')) return false;
  out.imm = at * isa::bytes(element);
  if (op_ != isa::Op::mov && op_ != isa::Op::cvta) out.kind = Operand::Kind::address;
  return true;
}

bool BodyParser::pair(Operand& out) {
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

bool BodyParser::selector(Operand& out) {
  if (cursor_.raw() != '.') return true;
  const std::size_t offset = cursor_.offset();
  const std::string_view word = cursor_.dotted();
  out.select.halves = word.starts_with('h');
  const char most = out.select.halves ? '3' : '7';
  bool good = word.size() > 1 && word.size() < 6 && (out.select.halves || word.starts_with('b'));
  for (const char c : word.substr(std::min<std::size_t>(word.size(), 1))) {
    good = good && c >= '0' && c <= most;
    out.select.digits = static_cast<std::uint16_t>(out.select.digits << 4 | (c - '0'));
  }
  out.select.count = static_cast<std::uint8_t>(word.empty() ? 0 : word.size() - 1);
  return good || fail(ErrorId::ptx_invalid, "unknown part '." + std::string(word) + "' of a register", offset,
                      "parts are bytes such as .b0 or .b3210, and halves such as .h1 or .h10, of video instructions");
}

bool BodyParser::vector_register(Operand& out, const Symbol& symbol) {
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

}  // namespace warploom::ptx
