// Checks the operands of an instruction against the forms that fit its mnemonic (PTX ISA sections 9.3 and 9.4).
#include <algorithm>
#include <bit>

#include "isa/matrix.hpp"
#include "ptx/constant.hpp"
#include "ptx/decode.hpp"

namespace warploom::ptx {
namespace {

using isa::Type;
using Kind = Operand::Kind;

std::string dotted(Type type) { return "." + std::string(isa::name(type)); }

Type spec_type(const isa::OperandSpec& spec, const Type* types) {
  if (spec.type_slot >= 0) return types[spec.type_slot];
  if (spec.type_slot == -1) return spec.fixed;
  switch (types[0]) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    case Type::s32: return Type::s64;
    default: return Type::none;
  }
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::reg: return "a register";
    case Kind::imm: return "an integer constant";
    case Kind::imm_f32:
    case Kind::imm_f64: return "a floating-point constant";
    case Kind::sreg: return "a special register";
    case Kind::symbol: return "a symbol";
    case Kind::address: return "an address";
    case Kind::vector: return "a vector";
    case Kind::label: return "a label";
    case Kind::sink: return "'_'";
    case Kind::list: return "a list";
  }
  return "";
}

// Bit sizes and float types whose registers are declared with a plain type of the same width.
bool is_packed(Type t) {
  switch (t) {
    case Type::f16x2:
    case Type::f32x2:
    case Type::bf16x2:
    case Type::u16x2:
    case Type::s16x2:
    case Type::tf32:
    case Type::bf16:
    case Type::e4m3:
    case Type::e5m2:
    case Type::e4m3x2:
    case Type::e5m2x2:
    case Type::e2m1x2:
    case Type::e2m3x2:
    case Type::e3m2x2:
    case Type::ue8m0x2:
    case Type::e2m1x4:
    case Type::e4m3x4:
    case Type::e5m2x4:
    case Type::e2m3x4:
    case Type::e3m2x4: return true;
    default: return false;
  }
}

// Whether a register of type `r` may stand where the instruction says `t`. `relaxed` is for ld, st and cvt, which take
// wider registers too.
bool register_fits(Type r, Type t, bool relaxed) {
  if (t == Type::none) return true;
  if (t == Type::pred || r == Type::pred) return t == r;
  const unsigned rb = isa::bits(r), tb = isa::bits(t);
  if (relaxed ? rb < tb : rb != tb) return false;
  if (r == t || isa::is_untyped(r)) return true;
  const bool r_float = isa::is_float(r) || is_packed(r), t_float = isa::is_float(t) || is_packed(t);
  if (isa::is_untyped(t)) return true;
  return !r_float && !t_float;
}

struct Match {
  const Decoded& decoded;
  const Instr& instr;
  std::span<const Register> registers;
  Complaint& why;

  bool counted = false;  // the complaint is about the number of operands

  bool complain(std::size_t operand, std::string what, ErrorId id = ErrorId::ptx_invalid, bool count = false) {
    // The complaint about the latest operand is of the form that fits best; the number of operands comes first.
    if (why.what.empty() || (count == counted ? static_cast<int>(operand) > why.operand : counted)) {
      why = {id, std::string(decoded.row->name) + ": " + std::move(what), {}, static_cast<int>(operand), {}};
      counted = count;
    }
    return false;
  }

  bool relaxed() const {
    if (instr.op == isa::Op::cvt) return !std::any_of(std::begin(instr.types), std::end(instr.types), is_packed);
    if (instr.has(isa::Mod::mbarrier__complete_tx__bytes)) return false;
    return instr.op == isa::Op::ld || instr.op == isa::Op::st || instr.op == isa::Op::ldu ||
           instr.op == isa::Op::suld || instr.op == isa::Op::sust;
  }

  // Limits of constants, once a form fits: copies are of 4, 8 or 16 bytes, past L1 of 16 only; counts have 20 bits.
  bool limits_ok(const isa::Form& form) {
    using isa::Mod;
    if (form.flow != isa::Flow::native) return true;
    const bool bulk = instr.has(Mod::bulk);
    for (std::size_t i = 0; i < instr.operands.size(); ++i) {
      const Operand& o = instr.operands[i];
      if (o.kind != Kind::imm) continue;
      const isa::OperandSpec& spec =
          form.operands[static_cast<std::size_t>(spec_index(form, i, instr.operands.size()))];
      why = {};
      if (instr.op == isa::Op::cp && spec.name == "size") {
        if (bulk && o.imm % 16 != 0) return complain(i, "bulk copies are of a multiple of 16 bytes");
        if (!bulk && instr.has(Mod::cg) && o.imm != 16) return complain(i, "with .cg copies are of 16 bytes");
        if (!bulk && o.imm != 4 && o.imm != 8 && o.imm != 16) return complain(i, "copies are of 4, 8 or 16 bytes");
      }
      if (instr.op == isa::Op::cp && spec.name == "n" && instr.operands.size() > 3 && !bulk &&
          o.imm > instr.operands[2].imm)
        return complain(i, "the source is no longer than the copy");
      if (instr.op == isa::Op::st && spec.name == "size" && (o.imm % 8 != 0 || o.imm > 1U << 24))
        return complain(i, "bulk stores are of a multiple of 8 bytes");
      if (instr.op == isa::Op::st && spec.name == "zero" && o.imm != 0) return complain(i, "only zeros are stored");
      const bool bytes = instr.has(Mod::expect_tx) || instr.has(Mod::complete_tx);
      if (instr.op == isa::Op::mbarrier && spec.name == "n" && o.imm >> 63 == 0 &&
          (o.imm >> 20 != 0 || (o.imm == 0 && !bytes)))
        return complain(i, "an mbarrier counts from 1 to 1048575");
      if (instr.op == isa::Op::mbarrier && spec.name == "s" && instr.has(Mod::parity) && o.imm > 1)
        return complain(i, "the parity of a phase is 0 or 1");
    }
    return true;
  }

  // Slopes and offsets have as many elements as there are coordinates, whatever the width of the result.
  bool has_own_width(std::size_t i) const { return (instr.op == isa::Op::tex || instr.op == isa::Op::tld4) && i > 1; }

  // Barriers have numbers 0 to 15 and are met by whole warps.
  bool barrier_ok(std::size_t i, const Operand& o, const isa::OperandSpec& spec) {
    if (decoded.row->flow != isa::Flow::barrier || o.kind != Kind::imm) return true;
    if (spec.name == "a" && o.imm > 15) return complain(i, "barriers have the numbers 0 to 15");
    if (spec.name == "b" && o.imm % 32 != 0) return complain(i, "the number of threads is a multiple of 32");
    return true;
  }

  bool fits(const isa::Form& form) {
    const std::size_t count = instr.operands.size();
    const auto optional = static_cast<std::size_t>(
        std::count_if(form.operands.begin(), form.operands.end(), [](const auto& spec) { return spec.optional; }));
    if (count > form.operands.size() || count + optional < form.operands.size()) {
      const std::size_t least = form.operands.size() - optional;
      return complain(std::min(count, least),
                      "needs " +
                          (optional == 0 ? std::to_string(least)
                                         : std::to_string(least) + " to " + std::to_string(form.operands.size())) +
                          " operands and has " + std::to_string(count),
                      ErrorId::ptx_invalid, true);
    }
    const bool hinted = instr.has(isa::Mod::L2__cache_hint);
    const bool policy = std::any_of(form.operands.begin(), form.operands.end(),
                                    [](const auto& spec) { return spec.optional && spec.name == "policy"; });
    if (policy && optional == 1 && hinted != (count == form.operands.size()))
      return complain(count, hinted ? ".L2::cache_hint needs a cache policy" : "a cache policy needs .L2::cache_hint");
    for (std::size_t i = 0; i < count; ++i) {
      const isa::OperandSpec& spec = form.operands[static_cast<std::size_t>(spec_index(form, i, count))];
      if (!operand_fits(i, instr.operands[i], spec)) return false;
    }
    return true;
  }

  bool kind_allowed(const Operand& o, std::uint16_t kinds) const {
    switch (o.kind) {
      case Kind::reg: return (kinds & (isa::kReg | isa::kFunc)) != 0;
      case Kind::imm:
      case Kind::imm_f32:
      case Kind::imm_f64: return (kinds & isa::kImm) != 0;
      case Kind::sreg: return (kinds & isa::kSreg) != 0;
      case Kind::symbol: return (kinds & (isa::kSymbol | isa::kFunc | isa::kTargets)) != 0;
      case Kind::address: return (kinds & isa::kAddress) != 0;
      case Kind::vector: return (kinds & isa::kVector) != 0;
      case Kind::label: return (kinds & isa::kLabel) != 0;
      case Kind::sink: return (kinds & isa::kSink) != 0;
      case Kind::list: return (kinds & isa::kParamList) != 0;
    }
    return false;
  }

  bool operand_fits(std::size_t i, const Operand& o, const isa::OperandSpec& spec) {
    const std::string name = "operand '" + std::string(spec.name) + "'";
    // The offsets of a lookup may be left out before the value to compare with.
    const bool compared = (instr.op == isa::Op::tex || instr.op == isa::Op::tld4) && spec.name == "e" &&
                          (o.kind == Kind::imm_f32 || o.kind == Kind::imm_f64);
    if (!compared && !kind_allowed(o, spec.kinds)) {
      if (o.kind == Kind::label) return complain(i, "'" + o.symbol + "' is not declared", ErrorId::ptx_undefined_name);
      return complain(i, name + " cannot be " + kind_name(o.kind));
    }
    if (o.pair == -1 && (spec.kinds & isa::kPairDue) != 0) return complain(i, name + " needs a second result, '|p'");
    if (o.pair != -1 && (spec.kinds & isa::kPredPair) == 0) return complain(i, name + " takes no '|'");
    if (o.negated && (spec.kinds & isa::kNegPred) == 0) return complain(i, name + " takes no '!'");
    if (o.kind == Kind::reg && o.imm != 0 && (spec.role != isa::Role::src || !can_add(o)))
      return complain(i, name + " takes no '+'");
    if (o.minus && (spec.kinds & isa::kMinus) == 0) return complain(i, name + " takes no '-'");
    if (o.select.count != 0 && (spec.kinds & isa::kSelect) == 0) return complain(i, name + " is a whole register");
    if (o.select.count != 0 && !part_ok(o.select, spec.role)) return complain(i, name + " " + parts_due(spec.role));
    // What nothing executes yet is described only as far as parsing needs: no types.
    const bool described = decoded.row->emit != "unsupported";
    const Type type = described ? spec_type(spec, instr.types) : Type::none;
    switch (o.kind) {
      case Kind::reg: return scalar_due(i, spec, name) && register_ok(i, o, type, name);
      case Kind::imm:
        if (isa::is_float(type) || is_packed(type))
          return complain(i, name + " of type " + dotted(type) + " cannot be an integer");
        return barrier_ok(i, o, spec) && scalar_due(i, spec, name);
      case Kind::imm_f32:
      case Kind::imm_f64:
        if (!scalar_due(i, spec, name)) return false;
        if (type == Type::f32 || type == Type::f64 || type == Type::none) return true;
        if (o.kind == Kind::imm_f32 ? type == Type::b32 : type == Type::b64) return true;
        return complain(i, name + " of type " + dotted(type) + " cannot be this floating-point constant");
      case Kind::vector: return vector_ok(i, o, type, name);
      case Kind::sreg: return sreg_ok(i, o, type, name);
      case Kind::symbol:
        return !isa::is_float(type) || complain(i, name + " of type " + dotted(type) + " cannot be an address");
      default: return true;
    }
  }

  // A constant is added to whole integers of 16 to 64 bits.
  bool can_add(const Operand& o) const {
    const Type type = registers[static_cast<std::size_t>(o.reg)].type;
    return !isa::is_float(type) && isa::bits(type) >= 16 && isa::bits(type) <= 64 && o.select.count == 0 && !o.minus &&
           o.pair == -1;
  }

  // Does the part fit the instruction: one of the register, one for each lane of the sources, or a mask of lanes?
  bool part_ok(const Selector& s, isa::Role role) const {
    const unsigned lanes = video_lanes(instr.op);
    const auto digit = [&](unsigned i) { return s.digits >> 4 * i & 15U; };
    if (lanes == 1) return s.count == 1 && digit(0) < (s.halves ? 2U : 4U);
    if (s.halves != (lanes == 2)) return false;
    if (role == isa::Role::src) return s.count == lanes;
    for (unsigned i = 0; i < s.count; ++i)
      if (digit(i) >= lanes || (i > 0 && digit(i) <= digit(i - 1))) return false;
    return true;
  }
  std::string parts_due(isa::Role role) const {
    switch (video_lanes(instr.op)) {
      case 1: return "has the parts .b0 to .b3, .h0 and .h1";
      case 2: return role == isa::Role::dst ? "has the parts .h0, .h1 and .h10" : "takes two halves, .h00 to .h33";
      default:
        return role == isa::Role::dst ? "takes a mask such as .b3 or .b210" : "takes four bytes, .b0000 to .b7777";
    }
  }

  // vmad negates either the product or the addend, and neither beside .po.
  bool signs_ok() {
    const auto& o = instr.operands;
    if (instr.op != isa::Op::vmad || o.size() < 4) return true;
    const bool product = o[1].minus != o[2].minus;
    why = {};
    if (instr.has(isa::Mod::po) && (o[1].minus || o[2].minus || o[3].minus))
      return complain(1, "with .po no operand is negated");
    return !(product && o[3].minus) || complain(3, "either the product or the addend is negated");
  }

  // Registers that operand `i` consists of.
  unsigned registers_due(std::size_t i) const {
    const auto matrix = isa::matrix_form(instr.op, instr.mods, instr.types, instr.type_count);
    return matrix ? isa::matrix_registers(*matrix, i) : vector_width(instr);
  }

  bool scalar_due(std::size_t i, const isa::OperandSpec& spec, const std::string& name) {
    const unsigned width = registers_due(i);
    if ((spec.kinds & isa::kVector) == 0 || width == 1 || decoded.row->emit == "unsupported" || has_own_width(i))
      return true;
    return complain(i, name + " is a vector of " + std::to_string(width));
  }

  bool register_ok(std::size_t i, const Operand& o, Type type, const std::string& name) {
    const Register& r = registers[static_cast<std::size_t>(o.reg)];
    if (register_fits(r.type, type, relaxed())) return true;
    return complain(i, name + " of type " + dotted(type) + " cannot be the " + dotted(r.type) + " register " + r.name);
  }

  bool sreg_ok(std::size_t i, const Operand& o, Type type, const std::string& name) {
    const Type actual = special_register(o.symbol);
    bool same = actual == type || (actual != Type::pred && type != Type::pred && !isa::is_float(type));
    if (instr.op == isa::Op::mov)
      same = same && (isa::bits(actual) == 64) == (isa::bits(type) == 64);
    else
      same = same && isa::bits(actual) >= isa::bits(type);
    return same || complain(i, name + " of type " + dotted(type) + " cannot be " + o.symbol);
  }

  bool vector_ok(std::size_t i, const Operand& o, Type type, const std::string& name) {
    Type element = type;
    if (instr.op == isa::Op::mov && vector_width(instr) == 1) {
      // Packing and unpacking: the elements share the bits of the other side.
      const unsigned n = static_cast<unsigned>(o.elements.size());
      if (n < 2 || n > 8 || isa::bits(type) % n != 0 || isa::bits(type) / n < 8)
        return complain(i, name + " cannot be split into " + std::to_string(n) + " parts");
      switch (isa::bits(type) / n) {
        case 8: element = Type::b8; break;
        case 16: element = Type::b16; break;
        case 32: element = Type::b32; break;
        default: element = Type::b64; break;
      }
    } else if (instr.op == isa::Op::cvt) {
      if (o.elements.size() != 4) return complain(i, name + " is a vector of 4");
    } else if (const unsigned width = registers_due(i); decoded.row->flow != isa::Flow::pure || width > 1) {
      if (element != Type::none && o.elements.size() != width && !has_own_width(i))
        return complain(i, name + " has " + std::to_string(o.elements.size()) + " elements where " +
                               std::to_string(width) + " are due");
    }
    for (const Operand& e : o.elements) {
      if (e.kind == Kind::sink || e.kind == Kind::imm || e.kind == Kind::imm_f32 || e.kind == Kind::imm_f64) continue;
      if (e.kind != Kind::reg) return complain(i, std::string("a vector cannot hold ") + kind_name(e.kind));
      if (!register_ok(i, e, element, name)) return false;
    }
    return true;
  }
};

void convert_literal(Operand& o, Type type) {
  const Constant c{o.kind == Kind::imm_f32 ? Constant::Kind::f32 : Constant::Kind::f64, false, o.imm};
  if (o.kind != Kind::imm_f32 && o.kind != Kind::imm_f64) return;
  if (type == Type::f32 || (type == Type::b32 && o.kind == Kind::imm_f64)) {
    o.imm = as_f32_bits(c);
    o.kind = Kind::imm_f32;
  } else if (type == Type::f64 || (type == Type::b64 && o.kind == Kind::imm_f32)) {
    o.imm = as_f64_bits(c);
    o.kind = Kind::imm_f64;
  }
}

}  // namespace

int spec_index(const isa::Form& form, std::size_t index, std::size_t count) {
  if (count > form.operands.size()) return -1;
  // The first optional positions are the ones that are filled.
  std::size_t skip = form.operands.size() - count;
  std::size_t spare = static_cast<std::size_t>(
      std::count_if(form.operands.begin(), form.operands.end(), [](const auto& spec) { return spec.optional; }));
  if (spare < skip) return -1;
  std::size_t filled = spare - skip, at = 0;
  for (std::size_t spec = 0; spec < form.operands.size(); ++spec) {
    if (form.operands[spec].optional) {
      if (filled == 0) continue;
      --filled;
    }
    if (at++ == index) return static_cast<int>(spec);
  }
  return -1;
}

bool select_form(const Decoded& decoded, Instr& instr, std::span<const Register> registers, Complaint& why) {
  why = {};
  Match match{decoded, instr, registers, why};
  for (const isa::Form* form : decoded.forms) {
    if (!match.fits(*form)) continue;
    if (!match.limits_ok(*form) || !match.signs_ok()) return false;
    instr.form = form;
    for (std::size_t i = 0; i < instr.operands.size(); ++i) {
      const Type type = operand_type(instr, i);
      convert_literal(instr.operands[i], type);
      for (Operand& element : instr.operands[i].elements) convert_literal(element, type);
    }
    return true;
  }
  return false;
}

Type operand_type(const Instr& instr, std::size_t index) {
  if (instr.form == nullptr) return Type::none;
  const int spec = spec_index(*instr.form, index, instr.operands.size());
  return spec < 0 ? Type::none : spec_type(instr.form->operands[static_cast<std::size_t>(spec)], instr.types);
}

isa::Role operand_role(const Instr& instr, std::size_t index) {
  if (instr.form == nullptr) return isa::Role::src;
  const int spec = spec_index(*instr.form, index, instr.operands.size());
  return spec < 0 ? isa::Role::src : instr.form->operands[static_cast<std::size_t>(spec)].role;
}

unsigned video_lanes(isa::Op op) {
  using isa::Op;
  switch (op) {
    case Op::vadd:
    case Op::vsub:
    case Op::vabsdiff:
    case Op::vmin:
    case Op::vmax:
    case Op::vshl:
    case Op::vshr:
    case Op::vmad:
    case Op::vset: return 1;
    case Op::vadd2:
    case Op::vsub2:
    case Op::vavrg2:
    case Op::vabsdiff2:
    case Op::vmin2:
    case Op::vmax2:
    case Op::vset2: return 2;
    case Op::vadd4:
    case Op::vsub4:
    case Op::vavrg4:
    case Op::vabsdiff4:
    case Op::vmin4:
    case Op::vmax4:
    case Op::vset4: return 4;
    default: return 0;
  }
}

std::uint32_t redux_kind(const Instr& instr) {
  using isa::Mod;
  std::uint32_t kind = 5;
  constexpr Mod kOps[] = {Mod::add, Mod::min, Mod::max, Mod::and_, Mod::or_};
  for (std::uint32_t k = 0; k < 5; ++k)
    if (instr.has(kOps[k])) kind = k;
  const std::uint32_t flags = (isa::is_signed(instr.type()) ? kReduxSigned : 0) |
                              (isa::is_float(instr.type()) ? kReduxFloat : 0) | (instr.has(Mod::abs) ? kReduxAbs : 0) |
                              (instr.has(Mod::NaN) ? kReduxNan : 0);
  return kind | flags << 8;
}

isa::Flow flow_of(const Instr& instr) { return instr.form != nullptr ? instr.form->flow : isa::row(instr.op).flow; }

isa::Space space_of(const Instr& instr) {
  using isa::Mod;
  if (instr.has(Mod::global)) return isa::Space::global;
  if (instr.has(Mod::shared) || instr.has(Mod::shared__cta) || instr.has(Mod::shared__cluster))
    return isa::Space::shared;
  if (instr.has(Mod::local)) return isa::Space::local;
  if (instr.has(Mod::const_)) return isa::Space::constant;
  if (instr.has(Mod::param) || instr.has(Mod::param__entry) || instr.has(Mod::param__func)) return isa::Space::param;
  return isa::Space::generic;
}

unsigned vector_width(const Instr& instr) {
  if (instr.has(isa::Mod::v8)) return 8;
  if (instr.has(isa::Mod::v4)) return 4;
  if (instr.has(isa::Mod::v2)) return 2;
  return 1;
}

bool is_ordered(const Instr& instr) {
  using isa::Mod;
  return instr.has(Mod::volatile_) || instr.has(Mod::relaxed) || instr.has(Mod::acquire) || instr.has(Mod::release) ||
         instr.has(Mod::mmio) || instr.has(Mod::cv);
}

std::vector<const Operand*> elements_of(const Operand& operand) {
  if (operand.kind != Operand::Kind::vector) return {&operand};
  std::vector<const Operand*> out;
  out.reserve(operand.elements.size());
  for (const Operand& e : operand.elements) out.push_back(&e);
  return out;
}

}  // namespace warploom::ptx
