// Parses declarations of variables with their initialisers, and of parameters.
#include <algorithm>
#include <array>
#include <bit>

#include "ptx/parser.hpp"
#include "ptx/vocabulary.hpp"

namespace warploom::ptx {

bool variable_space(std::string_view directive, isa::Space& out) {
  if (directive == "global")
    out = isa::Space::global;
  else if (directive == "const")
    out = isa::Space::constant;
  else if (directive == "shared")
    out = isa::Space::shared;
  else if (directive == "local")
    out = isa::Space::local;
  else if (directive == "param")
    out = isa::Space::param;
  else
    return false;
  return true;
}

bool ParserBase::fail(ErrorId id, std::string what, std::size_t offset, std::string remedy) {
  if (const std::string note = source_.version_note(); !note.empty()) remedy += (remedy.empty() ? "" : "; ") + note;
  if (!error_) error_ = make_diag(id, std::move(what), text_, offset, file_, std::move(remedy), mark_);
  return false;
}

bool ParserBase::unknown_directive(std::string_view word, std::size_t offset, std::span<const std::string_view> known,
                                   const char* where) {
  met_unknown_ = true;
  return fail(ErrorId::ptx_syntax, "unknown directive '." + std::string(word) + "'" + where, offset,
              directive_hint(known, word));
}

bool ParserBase::expect(char c) {
  if (cursor_.accept(c)) return true;
  std::string found = "the end of the text";
  if (const char next = cursor_.peek(); next != '\0') {
    const std::string_view rest = cursor_.rest();
    std::size_t n = 1;
    while (n < rest.size() && n < 24 && in_word(rest[n]) && in_word(rest[n - 1])) ++n;
    found = "'" + std::string(rest.substr(0, n)) + "'";
  }
  return syntax(std::string("'") + c + "' is due before " + found);
}

bool ParserBase::name(std::string_view& out, const char* of_what) {
  out = cursor_.word();
  return !out.empty() || syntax(std::string("name of ") + of_what + " is due");
}

bool ParserBase::constant(Constant& out) {
  cursor_.peek();
  const std::size_t begin = cursor_.offset();
  const char* why = "a constant is due";
  return read_constant(cursor_, out, why) || fail(ErrorId::ptx_syntax, why, begin);
}

bool ParserBase::integer(std::uint64_t& out) {
  Constant c;
  cursor_.peek();
  const std::size_t begin = cursor_.offset();
  if (!constant(c)) return false;
  if (c.kind != Constant::Kind::integer) return fail(ErrorId::ptx_syntax, "an integer is due", begin);
  out = c.bits;
  return true;
}

bool ParserBase::u32(std::uint32_t& out) {
  std::uint64_t value = 0;
  cursor_.peek();
  const std::size_t begin = cursor_.offset();
  if (!integer(value)) return false;
  if (value > 0xffffffffu) return fail(ErrorId::ptx_syntax, "number does not fit into 32 bits", begin);
  out = static_cast<std::uint32_t>(value);
  return true;
}

bool ParserBase::align(std::uint32_t& out) {
  cursor_.peek();
  const std::size_t begin = cursor_.offset();
  if (!u32(out)) return false;
  return std::has_single_bit(out) || fail(ErrorId::ptx_invalid, "an alignment is a power of two", begin);
}

bool ParserBase::attribute(bool& managed) {
  if (!expect('(')) return false;
  do {
    cursor_.peek();
    const std::size_t begin = cursor_.offset();
    const std::string_view item = cursor_.dotted();
    if (item == "managed") managed = true;
    if (!contains(attributes(), item) && source_.version_note().empty())
      return fail(ErrorId::ptx_syntax, "unknown attribute '." + std::string(item) + "'", begin,
                  directive_hint(attributes(), item));
    // .unified(uuid, uuid) and what later versions add carry nothing the devices need.
    if (cursor_.accept('(')) {
      while (!cursor_.at_end() && !cursor_.accept(')')) cursor_.advance(1);
    }
  } while (cursor_.accept(','));
  return expect(')');
}

bool ParserBase::variables(isa::Space space, Linkage linkage, std::vector<Variable>& out) {
  Variable common;
  common.space = space;
  common.linkage = linkage;
  unsigned vector = 1;
  std::uint32_t alignment = 0;
  bool opaque = false;
  while (cursor_.peek() == '.') {
    const std::size_t begin = cursor_.offset();
    const std::string_view word = cursor_.dotted();
    if (word == "align") {
      if (!align(alignment)) return false;
    } else if (word == "attribute") {
      if (!attribute(common.managed)) return false;
    } else if (word == "v2" || word == "v4" || word == "v8") {
      vector = static_cast<unsigned>(word[1] - '0');
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      common.type = isa::Type::b64;
      opaque = true;
    } else if (word == "ptr") {
      continue;
    } else if (isa::type_from_name(word) != isa::Type::none) {
      common.type = isa::type_from_name(word);
    } else if (isa::Space ignored; variable_space(word, ignored)) {
      continue;  // ".ptr .global"
    } else {
      return unknown_directive(word, begin, declaration_words(), " in a declaration");
    }
  }
  if (common.type == isa::Type::none || common.type == isa::Type::pred) return syntax("type of the variable is due");
  do {
    Variable variable = common;
    std::string_view word;
    cursor_.peek();
    variable.line = cursor_.line();
    const std::size_t begin = cursor_.offset();
    if (!name(word, "the variable")) return false;
    variable.name = word;
    const std::uint64_t element = std::uint64_t{isa::bytes(common.type)} * vector;
    std::vector<std::uint64_t> dims;
    bool array = false;
    while (cursor_.accept('[')) {
      array = true;
      if (cursor_.accept(']')) {
        if (!dims.empty()) return syntax("only the first dimension may be left open");
        variable.unsized_array = true;
        dims.push_back(0);
        continue;
      }
      std::uint64_t extent = 0;
      if (!integer(extent) || !expect(']')) return false;
      dims.push_back(extent);
    }
    variable.bytes = element;
    for (const std::uint64_t extent : dims) {
      if (extent != 0 && variable.bytes > kLargestVariable / extent)
        return fail(ErrorId::ptx_invalid, "variable '" + variable.name + "' is too large", begin);
      variable.bytes *= extent;
    }
    variable.align = alignment != 0 ? alignment : static_cast<std::uint32_t>(std::max<std::uint64_t>(element, 1));
    if (vector > 1) dims.push_back(vector);
    if (opaque && cursor_.peek() == '=') {
      // "= { filter_mode = nearest, ... }": nothing can use the variable (section 5.3).
      while (!cursor_.at_end() && cursor_.peek() != '}' && cursor_.peek() != ';') cursor_.advance(1);
      if (!expect('}')) return false;
    } else if (cursor_.accept('=')) {
      if (variable.unsized_array) {
        // The extent of an open dimension follows from its initialiser.
        Cursor ahead = cursor_;
        std::uint64_t count = 0;
        if (ahead.accept('{')) {
          unsigned depth = 0;
          bool any = false;
          for (; !ahead.at_end(); ahead.advance(1)) {
            const char c = ahead.peek();
            if (c == '}' && depth == 0) break;
            any = true;
            if (c == '{' || c == '(') ++depth;
            if (c == '}' || c == ')') --depth;
            if (c == ',' && depth == 0) ++count;
          }
          count += any;
        }
        dims[0] = count;
        variable.bytes = element;
        for (std::size_t i = 0; i < dims.size() - (vector > 1); ++i) variable.bytes *= dims[i];
        variable.unsized_array = false;
      }
      if (!initialiser(variable, array || vector > 1 ? dims : std::vector<std::uint64_t>{})) return false;
    } else if (variable.unsized_array && linkage != Linkage::external && space != isa::Space::shared &&
               space != isa::Space::param) {
      return fail(ErrorId::ptx_invalid, "array '" + variable.name + "' has neither a size nor an initialiser", begin);
    }
    out.push_back(std::move(variable));
  } while (cursor_.accept(','));
  return expect(';');
}

bool ParserBase::initialiser(Variable& variable, const std::vector<std::uint64_t>& dims) {
  if (variable.space != isa::Space::global && variable.space != isa::Space::constant)
    return syntax("only .global and .const variables have initialisers");
  // What is not written stays out: a variable of gigabytes may begin with one number.
  variable.init.clear();
  return initialiser_level(variable, dims, 0, 0);
}

bool ParserBase::initialiser_level(Variable& variable, const std::vector<std::uint64_t>& dims, std::size_t level,
                                   std::uint64_t begin) {
  if (level == dims.size()) {
    const bool braced = cursor_.accept('{');
    return initialiser_value(variable, begin) && (!braced || expect('}'));
  }
  std::uint64_t stride = isa::bytes(variable.type);
  for (std::size_t i = level + 1; i < dims.size(); ++i) stride *= dims[i];
  if (!expect('{')) return false;
  if (cursor_.accept('}')) return true;
  std::uint64_t index = 0;
  do {
    if (index >= dims[level]) return syntax("too many initialisers for '" + variable.name + "'");
    if (!initialiser_level(variable, dims, level + 1, begin + index * stride)) return false;
    ++index;
  } while (cursor_.accept(','));
  return expect('}');
}

bool ParserBase::put(Variable& variable, std::uint64_t offset, std::uint64_t value, unsigned count) {
  if (offset + count > variable.bytes) return true;
  if (offset + count > kLargestInitialiser) return syntax("the initialiser of '" + variable.name + "' reaches too far");
  if (variable.init.size() < offset + count) variable.init.resize(offset + count);
  for (unsigned i = 0; i < count; ++i)
    variable.init[offset + i] = static_cast<std::uint8_t>(i < 8 ? value >> (8 * i) : 0);
  return true;
}

bool ParserBase::initialiser_value(Variable& variable, std::uint64_t offset) {
  const unsigned count = isa::bytes(variable.type);
  if (starts_word(cursor_.peek())) {
    Relocation relocation;
    relocation.offset = offset;
    std::string_view word = cursor_.word();
    relocation.generic = word == "generic" && cursor_.accept('(');
    if (relocation.generic && (!name(word, "a variable") || !expect(')'))) return false;
    relocation.symbol = word;
    if (cursor_.peek() == '+' || cursor_.peek() == '-') {
      std::uint64_t addend = 0;
      if (!integer(addend)) return false;
      relocation.addend = static_cast<std::int64_t>(addend);
    }
    if (count < 4) return syntax("an address needs 4 or 8 bytes");
    variable.relocations.push_back(std::move(relocation));
    return put(variable, offset, 0, count);
  }
  const std::size_t begin = cursor_.offset();
  Constant value;
  if (!constant(value)) return false;
  if (cursor_.peek() == '(')
    return fail(ErrorId::ptx_syntax, "initialisers with a byte mask of an address are not supported", begin);
  switch (variable.type) {
    case isa::Type::f32: value.bits = as_f32_bits(value); break;
    case isa::Type::f64: value.bits = as_f64_bits(value); break;
    default:
      if (value.kind == Constant::Kind::integer || isa::is_untyped(variable.type)) break;
      return fail(ErrorId::ptx_invalid, "an integer is due in the initialiser of '" + variable.name + "'", begin);
  }
  return put(variable, offset, value.bits, count);
}

bool ParserBase::parameter(Param& out, bool named) {
  unsigned vector = 1;
  out.align = 0;
  while (cursor_.peek() == '.') {
    const std::size_t begin = cursor_.offset();
    const std::string_view word = cursor_.dotted();
    isa::Space ignored;
    if (word == "align") {
      // ".ptr .align N" speaks of the memory pointed to, ".align N" before the type of the parameter itself.
      std::uint32_t value = 0;
      if (!align(value)) return false;
      if (out.type == isa::Type::none) out.align = value;
    } else if (word == "ptr" || variable_space(word, ignored)) {
      continue;
    } else if (word == "v2" || word == "v4" || word == "v8") {
      vector = static_cast<unsigned>(word[1] - '0');
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      out.type = isa::Type::b64;
    } else if (isa::type_from_name(word) != isa::Type::none) {
      out.type = isa::type_from_name(word);
    } else {
      return unknown_directive(word, begin, declaration_words(), " in a parameter");
    }
  }
  if (out.type == isa::Type::none) return syntax("type of the parameter is due");
  std::string_view word = cursor_.word();
  if (word.empty() && named) return syntax("name of the parameter is due");
  out.name = word;
  std::uint64_t bytes = std::uint64_t{isa::bytes(out.type)} * vector;
  if (out.align == 0) out.align = static_cast<std::uint32_t>(bytes);
  while (cursor_.accept('[')) {
    out.is_array = true;
    std::uint64_t extent = 0;  // "[]" takes whatever the call passes
    if (!cursor_.accept(']') && (!integer(extent) || !expect(']'))) return false;
    if (extent != 0 && bytes > (1u << 30) / extent) return syntax("parameter is too large");
    bytes *= extent;
  }
  out.bytes = static_cast<std::uint32_t>(bytes);
  return true;
}

bool ParserBase::parameters(std::vector<Param>& out) {
  if (!expect('(')) return false;
  if (cursor_.accept(')')) return true;
  do {
    const std::size_t begin = cursor_.offset();
    const std::string_view space = cursor_.dotted();
    if (space != "param" && space != "reg")
      return fail(ErrorId::ptx_syntax, "'.param' or '.reg' is due", begin,
                  directive_hint(std::array<std::string_view, 2>{"param", "reg"}, space));
    Param param;
    param.in_register = space == "reg";
    if (!parameter(param, false)) return false;
    out.push_back(std::move(param));
  } while (cursor_.accept(','));
  return expect(')');
}

}  // namespace warploom::ptx
