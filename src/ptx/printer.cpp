// Prints instructions, bodies and modules back as PTX, modifiers in the order of the table.
#include <algorithm>
#include <cstdio>
#include <map>

#include "ptx/decode.hpp"
#include "ptx/module.hpp"

namespace warploom::ptx {
namespace {

std::string hex(const char* prefix, std::uint64_t bits, int digits) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%s%0*llX", prefix, digits, static_cast<unsigned long long>(bits));
  return buffer;
}

std::string signed_offset(std::uint64_t imm) {
  const auto value = static_cast<std::int64_t>(imm);
  return value < 0 ? "+-" + std::to_string(0 - imm) : "+" + std::to_string(value);
}

std::string print_operand(const Body& body, const Operand& o);

std::string print_elements(const Body& body, const std::vector<Operand>& elements) {
  std::string out;
  for (const Operand& e : elements) out += (out.empty() ? "" : ", ") + print_operand(body, e);
  return out;
}

std::string register_name(const Body& body, std::int32_t reg) {
  return body.registers[static_cast<std::size_t>(reg)].name;
}

// "array[%r1+2]"
std::string indexed(const Body& body, const Operand& o) {
  const auto at = static_cast<std::int64_t>(o.imm) / static_cast<std::int64_t>(o.scale);
  return o.symbol + "[" + register_name(body, o.reg) + (at != 0 ? signed_offset(static_cast<std::uint64_t>(at)) : "") +
         "]";
}

std::string print_operand(const Body& body, const Operand& o) {
  std::string out = o.negated ? "!" : o.minus ? "-" : "";
  switch (o.kind) {
    case Operand::Kind::reg:
      out += register_name(body, o.reg);
      if (o.select.count != 0) out += o.select.halves ? ".h" : ".b";
      for (unsigned i = o.select.count; i-- > 0;) out += static_cast<char>('0' + (o.select.digits >> 4 * i & 15));
      if (o.imm != 0 && o.pair == -1) out += signed_offset(o.imm);
      break;
    case Operand::Kind::imm: out += std::to_string(static_cast<std::int64_t>(o.imm)); break;
    case Operand::Kind::imm_f32: out += hex("0f", o.imm & 0xffffffffu, 8); break;
    case Operand::Kind::imm_f64: out += hex("0d", o.imm, 16); break;
    case Operand::Kind::sreg:
    case Operand::Kind::label: out += o.symbol; break;
    case Operand::Kind::symbol:
      out += o.scale != 0 ? indexed(body, o) : o.symbol + (o.imm != 0 ? signed_offset(o.imm) : "");
      break;
    case Operand::Kind::address: {
      if (o.scale != 0) {
        out += indexed(body, o);
        break;
      }
      out += "[";
      const bool based = o.reg >= 0 || !o.symbol.empty();
      out += o.reg >= 0 ? register_name(body, o.reg) : o.symbol;
      if (based)
        out += o.imm != 0 ? signed_offset(o.imm) : "";
      else
        out += std::to_string(static_cast<std::int64_t>(o.imm));
      if (!o.elements.empty()) out += ", " + print_elements(body, o.elements);
      out += "]";
      break;
    }
    case Operand::Kind::vector: out += "{" + print_elements(body, o.elements) + "}"; break;
    case Operand::Kind::sink: out += "_"; break;
    case Operand::Kind::list: out += "(" + print_elements(body, o.elements) + ")"; break;
  }
  if (o.pair != -1) out += "|" + (o.pair < 0 ? "_" : register_name(body, o.pair));
  return out;
}

void print_mnemonic(const Instr& instr, std::string& out) {
  out += isa::name(instr.op);
  const auto groups = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      for (const isa::Mod mod : instr.form->groups[i].choices)
        if (instr.has(mod)) (out += '.') += isa::name(mod);
  };
  groups(0, instr.form->groups_before_types);
  for (std::size_t i = 0; i < instr.type_count; ++i) (out += '.') += isa::name(instr.types[i]);
  groups(instr.form->groups_before_types, instr.form->groups.size());
}

const char* linkage_prefix(Linkage linkage) {
  switch (linkage) {
    case Linkage::internal: return "";
    case Linkage::visible: return ".visible ";
    case Linkage::external: return ".extern ";
    case Linkage::weak: return ".weak ";
    case Linkage::common: return ".common ";
  }
  return "";
}

const char* space_name(isa::Space space) {
  switch (space) {
    case isa::Space::global: return ".global";
    case isa::Space::constant: return ".const";
    case isa::Space::shared: return ".shared";
    case isa::Space::local: return ".local";
    case isa::Space::param: return ".param";
    default: return "";
  }
}

// Each element of an initialiser: plain bytes, or an address where a relocation stands.
std::string print_initialiser(const Variable& v) {
  const unsigned step = isa::bytes(v.type);
  std::string out;
  for (std::uint64_t offset = 0; offset + step <= v.init.size(); offset += step) {
    if (offset != 0) out += ", ";
    const auto it = std::find_if(v.relocations.begin(), v.relocations.end(),
                                 [&](const Relocation& r) { return r.offset == offset; });
    if (it != v.relocations.end()) {
      out += it->generic ? "generic(" + it->symbol + ")" : it->symbol;
      if (it->addend != 0) out += (it->addend < 0 ? "" : "+") + std::to_string(it->addend);
      continue;
    }
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < step && i < 8; ++i) bits |= std::uint64_t{v.init[offset + i]} << (8 * i);
    if (v.type == isa::Type::f32)
      out += hex("0f", bits, 8);
    else if (v.type == isa::Type::f64)
      out += hex("0d", bits, 16);
    else
      out += std::to_string(bits);
  }
  return out;
}

std::string print_variable(const Variable& v) {
  std::string out = linkage_prefix(v.linkage);
  out += space_name(v.space);
  if (v.managed) out += " .attribute(.managed)";
  out += " .align " + std::to_string(v.align) + " ." + std::string(isa::name(v.type)) + " " + v.name;
  const std::uint64_t element = isa::bytes(v.type);
  const bool array = v.unsized_array || v.bytes != element;
  if (array) out += v.unsized_array ? "[]" : "[" + std::to_string(v.bytes / std::max<std::uint64_t>(element, 1)) + "]";
  if (!v.init.empty()) out += array ? " = {" + print_initialiser(v) + "}" : " = " + print_initialiser(v);
  return out + ";\n";
}

std::string print_params(const std::vector<Param>& params) {
  std::string out = "(";
  for (const Param& p : params) {
    if (out.size() > 1) out += ", ";
    out += p.in_register ? ".reg" : ".param";
    const unsigned element = isa::bytes(p.type);
    const bool array = !p.in_register && (p.is_array || p.bytes != element);
    if (p.in_register && p.bytes > element) out += " .v" + std::to_string(p.bytes / std::max(element, 1u));
    if (!p.in_register && (array || p.align != element)) out += " .align " + std::to_string(p.align);
    out += " ." + std::string(isa::name(p.type)) + " " + (p.name.empty() ? "_" : p.name);
    if (array) out += p.bytes == 0 ? "[]" : "[" + std::to_string(p.bytes / std::max(element, 1u)) + "]";
  }
  return out + ")";
}

std::string print_header(const Function& f) {
  std::string out = linkage_prefix(f.linkage);
  out += f.is_entry ? ".entry " : ".func ";
  if (!f.returns.empty()) out += print_params(f.returns) + " ";
  out += f.name;
  if (!f.params.empty() || !f.is_entry) out += print_params(f.params);
  const auto dims = [&](const char* name, const Dim3& d) {
    if (d.x != 0)
      out += std::string("\n.") + name + " " + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " +
             std::to_string(d.z);
  };
  dims("maxntid", f.maxntid);
  dims("reqntid", f.reqntid);
  if (f.minnctapersm != 0) out += "\n.minnctapersm " + std::to_string(f.minnctapersm);
  if (f.maxnreg != 0) out += "\n.maxnreg " + std::to_string(f.maxnreg);
  if (f.noreturn_) out += "\n.noreturn";
  return out;
}

std::string print_registers(const Function& function, const Body& body) {
  std::string out;
  std::size_t own = 0;  // register parameters come first and are declared by the header
  for (const auto* list : {&function.params, &function.returns})
    for (const Param& p : *list) {
      const unsigned width = p.bytes / std::max(1u, isa::bytes(p.type));
      if (p.in_register && !p.name.empty()) own += width == 2 || width == 4 ? width : 1;
    }
  for (std::size_t i = own; i < body.registers.size();) {
    // A run such as %r0, %r1, ... is declared as %r<n>.
    const Register& first = body.registers[i];
    std::size_t n = 1;
    if (first.name.size() > 1 && first.name.back() == '0') {
      const std::string prefix = first.name.substr(0, first.name.size() - 1);
      while (i + n < body.registers.size() && body.registers[i + n].type == first.type &&
             body.registers[i + n].name == prefix + std::to_string(n))
        ++n;
      if (n > 1)
        out += "\t.reg ." + std::string(isa::name(first.type)) + " " + prefix + "<" + std::to_string(n) + ">;\n";
    }
    if (n == 1) out += "\t.reg ." + std::string(isa::name(first.type)) + " " + first.name + ";\n";
    i += n;
  }
  return out;
}

// A .loc names its function by a label of .debug_str.
std::string print_loc(const Module& module, const Body& body, const Loc& loc) {
  std::string out =
      "\t.loc " + std::to_string(loc.file) + " " + std::to_string(loc.line) + " " + std::to_string(loc.column);
  if (!loc.function.empty()) {
    const auto it = std::find_if(module.debug_strings.begin(), module.debug_strings.end(),
                                 [&](const auto& entry) { return entry.second == loc.function; });
    out += ", function_name " + (it == module.debug_strings.end() ? loc.function : it->first);
  }
  if (loc.inlined_at >= 0) {
    const Loc& site = body.locs[static_cast<std::size_t>(loc.inlined_at)];
    out += ", inlined_at " + std::to_string(site.file) + " " + std::to_string(site.line) + " " +
           std::to_string(site.column);
  }
  return out + "\n";
}

}  // namespace

std::string print(const Module&, const Body& body, const Instr& instr) {
  std::string out;
  if (instr.guard >= 0)
    out += std::string("@") + (instr.guard_negated ? "!" : "") + register_name(body, instr.guard) + " ";
  print_mnemonic(instr, out);
  bool first = true;
  const bool call = instr.op == isa::Op::call;
  for (std::size_t i = 0; i < instr.operands.size(); ++i) {
    const Operand& o = instr.operands[i];
    if (call && o.kind == Operand::Kind::list && o.elements.empty() && (i == 0 || instr.operands.size() == 3)) continue;
    out += first ? " " : ", ";
    first = false;
    out += print_operand(body, o);
  }
  return out + ";";
}

std::string print(const Module& module, const Function& function, const Body& body) {
  std::string out = print_header(function) + "\n{\n" + print_registers(function, body);
  for (const Variable& v : body.variables) out += "\t" + print_variable(v);
  for (const auto& [name, p] : body.prototypes) {
    out += name + ": .callprototype ";
    if (!p.returns.empty()) out += print_params(p.returns) + " ";
    out += "_ " + print_params(p.params) + ";\n";
  }
  std::multimap<std::uint32_t, std::string> labels;
  for (const auto& [name, position] : body.labels) labels.emplace(position, name);
  auto label = labels.begin();
  std::size_t next_loc = 0;
  for (std::uint32_t i = 0; i <= body.instrs.size(); ++i) {
    for (; label != labels.end() && label->first == i; ++label) out += label->second + ":\n";
    if (i == body.instrs.size()) break;
    const Instr& instr = body.instrs[i];
    // All locations in order: a call site may have no instruction of its own.
    for (; instr.loc >= 0 && next_loc <= static_cast<std::size_t>(instr.loc); ++next_loc)
      out += print_loc(module, body, body.locs[next_loc]);
    if (instr.used_bytes != 0) out += "\t.pragma \"used_bytes_mask " + std::to_string(instr.used_bytes) + "\";\n";
    if (instr.op == isa::Op::brx)
      for (const Operand& o : instr.operands)
        if (const auto it = body.branch_targets.find(o.symbol); it != body.branch_targets.end() && !o.symbol.empty()) {
          std::string list;
          for (const std::string& target : it->second) list += (list.empty() ? "" : ", ") + target;
          out += o.symbol + ": .branchtargets " + list + ";\n";
        }
    out += "\t" + print(module, body, instr) + "\n";
  }
  return out + "}\n";
}

Result<std::string> print(const Module& module) {
  std::string out = ".version " + std::to_string(module.version_major) + "." + std::to_string(module.version_minor) +
                    "\n.target " + module.target + (module.debug ? ", debug" : "") + "\n.address_size " +
                    std::to_string(module.address_bits) + "\n\n";
  for (const auto& [index, path] : module.files) out += ".file " + std::to_string(index) + " \"" + path + "\"\n";
  // Declarations of functions first: initialisers and calls may name any of them.
  for (const Function& f : module.functions)
    if (!f.is_entry) out += print_header(f) + ";\n";
  for (const Variable& v : module.variables)
    if (!v.in_body) out += print_variable(v);
  for (const bool entries : {false, true})
    for (const Function& f : module.functions) {
      if (!f.has_body || f.is_entry != entries) continue;
      auto body = parse_body(module, f);
      if (!body) return std::move(body.error());
      out += "\n" + print(module, f, **body);
    }
  for (const Function& f : module.functions)
    if (!f.alias_of.empty()) out += ".alias " + f.name + ", " + f.alias_of + ";\n";
  if (!module.debug_strings.empty()) {
    out += ".section .debug_str\n{\n";
    for (const auto& [label, text] : module.debug_strings) {
      out += label + ":\n.b8 ";
      for (const char c : text) out += std::to_string(static_cast<unsigned char>(c)) + ",";
      out += "0\n";
    }
    out += "}\n";
  }
  return out;
}

}  // namespace warploom::ptx
