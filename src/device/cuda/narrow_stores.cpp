// Finds narrow stores of registers that hold floating-point numbers, and writes a copy before each.
#include "device/cuda/narrow_stores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace warploom::device::cuda {
namespace {

// The text with comments blanked, so that positions stay.
std::string without_comments(std::string text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '/' || (text[i + 1] != '/' && text[i + 1] != '*')) continue;
    const bool line = text[i + 1] == '/';
    const std::size_t end = line ? text.find('\n', i) : text.find("*/", i + 2);
    const std::size_t stop = end == std::string::npos ? text.size() : line ? end : end + 2;
    for (; i < stop; ++i)
      if (text[i] != '\n') text[i] = ' ';
    --i;
  }
  return text;
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%'; }

bool holds_floats(isa::Type type) {
  return isa::is_float(type) || type == isa::Type::f16x2 || type == isa::Type::bf16x2 || type == isa::Type::f32x2;
}

// Per stored element: the bits of the register where it must be copied, else 0.
using Wanted = std::vector<unsigned>;

// Of the stores of a body, by line and order.
std::map<std::uint32_t, std::vector<Wanted>> stores_of(const ptx::Body& body, bool& any) {
  std::vector<bool> floats(body.registers.size());
  for (const ptx::Instr& instr : body.instrs) {
    for (std::size_t i = 0; i < instr.operands.size(); ++i) {
      if (instr.operands[i].kind == ptx::Operand::Kind::address) continue;
      if (!holds_floats(ptx::operand_type(instr, i))) continue;
      for (const ptx::Operand* element : ptx::elements_of(instr.operands[i]))
        if (element->kind == ptx::Operand::Kind::reg && element->reg >= 0)
          floats[static_cast<std::size_t>(element->reg)] = true;
    }
  }
  std::map<std::uint32_t, std::vector<Wanted>> stores;
  for (const ptx::Instr& instr : body.instrs) {
    if (instr.op != isa::Op::st || instr.operands.size() < 2) continue;
    Wanted wanted;
    for (const ptx::Operand* element : ptx::elements_of(instr.operands[1])) {
      unsigned bits = 0;
      if (element->kind == ptx::Operand::Kind::reg && element->reg >= 0) {
        const auto reg = static_cast<std::size_t>(element->reg);
        const unsigned width = isa::bits(body.registers[reg].type);
        if (floats[reg] && isa::bits(instr.type()) < width) bits = width;
      }
      wanted.push_back(bits);
      any = any || bits != 0;
    }
    stores[instr.line].push_back(std::move(wanted));
  }
  return stores;
}

// Where the guard of the instruction at `at` begins, or the instruction.
std::size_t guarded_begin(const std::string& text, std::size_t at) {
  std::size_t i = at;
  while (i > 0 && (in_name(text[i - 1]) || text[i - 1] == '!' || std::isspace(static_cast<unsigned char>(text[i - 1]))))
    --i;
  return i > 0 && text[i - 1] == '@' ? i - 1 : at;
}

struct Edit {
  std::size_t begin, end;
  std::string text;
};

// The statement in [begin, end) with copies; empty when it is not what the body says.
std::string copied(std::string_view statement, const Wanted& wanted) {
  std::size_t at = statement.rfind(']');
  if (at == std::string_view::npos) return {};
  std::string out(statement.substr(0, ++at)), before = "{ ";
  for (std::size_t element = 0; at < statement.size();) {
    if (!in_name(statement[at])) {
      out += statement[at++];
      continue;
    }
    std::size_t end = at;
    while (end < statement.size() && (in_name(statement[end]) || statement[end] == '.')) ++end;
    const std::string_view name = statement.substr(at, end - at);
    at = end;
    const unsigned bits = element < wanted.size() ? wanted[element] : 0;
    if (bits == 0) {
      out += name;
    } else {
      before += fmt::format(".reg .b{0} %wl_stored{1}; mov.b{0} %wl_stored{1}, {2}; ", bits, element, name);
      out += fmt::format("%wl_stored{}", element);
    }
    ++element;
  }
  return before + out + " }";
}

}  // namespace

std::string with_narrow_stores_kept(const ptx::Module& module) {
  const std::string& text = module.text;
  std::vector<Edit> edits;
  std::string plain;
  std::vector<std::size_t> lines;
  for (const ptx::Function& function : module.functions) {
    if (!function.has_body) continue;
    const auto body = ptx::parse_body(module, function);
    if (!body) continue;  // the driver may know what it says
    bool any = false;
    const auto stores = stores_of(**body, any);
    if (!any) continue;
    if (plain.empty()) {
      plain = without_comments(text);
      lines = {0, 0};
      for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n') lines.push_back(i + 1);
    }
    for (const auto& [line, wanted] : stores) {
      if (line >= lines.size()) continue;
      const std::size_t stop = line + 1 < lines.size() ? lines[line + 1] : plain.size();
      std::size_t at = lines[line], known = 0;
      while (known < wanted.size() && (at = plain.find("st.", at)) < stop) {
        const bool starts = at == 0 || (!in_name(plain[at - 1]) && plain[at - 1] != '.');
        const std::size_t end = plain.find(';', at);
        if (!starts || end == std::string::npos) {
          ++at;
          continue;
        }
        const Wanted& here = wanted[known++];
        if (std::any_of(here.begin(), here.end(), [](unsigned bits) { return bits != 0; })) {
          const std::size_t begin = guarded_begin(plain, at);
          if (std::string made = copied(std::string_view(plain).substr(begin, end + 1 - begin), here); !made.empty())
            edits.push_back({begin, end + 1, std::move(made)});
        }
        at = end;
      }
    }
  }
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string out;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < at) continue;
    out.append(text, at, edit.begin - at);
    out += edit.text;
    at = edit.end;
  }
  return out.append(text, at);
}

}  // namespace warploom::device::cuda
