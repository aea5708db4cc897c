// Shapes through instructions: moves, sums, products by uniform factors, widening, masks of thread indices.
#include "passes/shape_ops.hpp"

#include <algorithm>
#include <bit>

#include "ir/webs.hpp"

namespace warploom::passes {

using ir::Inst;
using ir::Shape;
using ir::Term;
using ir::ValueId;
using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Operand;

namespace {

Shape uniform() { return Shape{Shape::Kind::uniform, {}, 1, 0}; }
Shape varying() { return Shape{Shape::Kind::varying, {}, 1, 0}; }

// A uniform value known to be zero: a multiple of 2^31 that is at most 1.
Shape zero() { return Shape{Shape::Kind::uniform, {}, 1U << 31, 1}; }
bool is_zero(const Shape& s) { return s.uniform() && s.base_align == 1U << 31 && s.bound == 1; }

Shape constant(std::uint64_t x) {
  if (x == 0) return zero();
  if (x >= 1U << 30) return uniform();
  return Shape{Shape::Kind::uniform, {}, 1U << std::countr_zero(x), static_cast<std::uint32_t>(x)};
}

Shape from_pattern(const std::array<std::int64_t, 32>& pattern, std::uint32_t align, std::uint32_t bound) {
  Shape s{Shape::Kind::linear, {Term{-1, 0, pattern}}, align, bound};
  if (std::all_of(pattern.begin(), pattern.end(), [](std::int64_t x) { return x == 0; })) {
    s.kind = Shape::Kind::uniform;
    s.terms.clear();
  }
  return s;
}

// Drops empty terms and orders the rest, so that equal shapes compare equal.
void normalise(Shape& s) {
  std::erase_if(s.terms, [](const Term& t) {
    return std::all_of(t.pattern.begin(), t.pattern.end(), [](std::int64_t x) { return x == 0; });
  });
  std::sort(s.terms.begin(), s.terms.end(),
            [](const Term& a, const Term& b) { return std::pair(a.mult, a.widen) < std::pair(b.mult, b.widen); });
  if (s.kind == Shape::Kind::linear && s.terms.empty()) s.kind = Shape::Kind::uniform;
}

Shape sum(const Shape& a, const Shape& b, int sign) {
  Shape out = a;
  out.kind = Shape::Kind::linear;
  out.base_align = 1;
  out.bound = 0;
  if (is_zero(b)) return a;
  if (sign > 0 && a.bound != 0 && b.bound != 0 && a.bound + b.bound < 1U << 30) {
    out.base_align = std::min(a.base_align, b.base_align);
    out.bound = a.bound + b.bound;
  }
  for (const Term& t : b.terms) {
    auto it = std::find_if(out.terms.begin(), out.terms.end(),
                           [&](const Term& o) { return o.mult == t.mult && o.widen == t.widen; });
    if (it == out.terms.end()) {
      out.terms.push_back(Term{t.mult, t.widen, {}});
      it = out.terms.end() - 1;
    }
    for (std::size_t l = 0; l < 32; ++l) it->pattern[l] += sign * t.pattern[l];
  }
  normalise(out);
  return out;
}

Shape scaled(const Shape& a, std::int64_t by) {
  Shape out = a;
  for (Term& t : out.terms)
    for (std::int64_t& x : t.pattern)  // wraps, as addresses do
      x = static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(by));
  out.base_align = 1;
  out.bound = 0;
  if (by > 0 && by < 65536) {
    const auto low = std::uint64_t{1} << std::countr_zero(static_cast<std::uint64_t>(by));
    out.base_align = static_cast<std::uint32_t>(std::min<std::uint64_t>(1U << 20, a.base_align * low));
    if (a.bound != 0 && std::uint64_t{a.bound} * static_cast<std::uint64_t>(by) < (1U << 30))
      out.bound = a.bound * static_cast<std::uint32_t>(by);
  }
  normalise(out);
  return out;
}

// Small and never negative, base and pattern alike.
bool bounded_pattern(const Shape& s) {
  return s.constant_pattern() && s.bound != 0 &&
         std::all_of(s.terms[0].pattern.begin(), s.terms[0].pattern.end(), [](std::int64_t x) { return x >= 0; });
}
bool within(const Shape& s, std::uint32_t limit) {
  return std::all_of(s.terms[0].pattern.begin(), s.terms[0].pattern.end(),
                     [&](std::int64_t x) { return x < static_cast<std::int64_t>(limit); });
}

// The largest power of two that divides every lane's value.
std::uint64_t multiple_of(const Shape& s) {
  std::uint64_t all = s.base_align;
  for (const Term& t : s.terms) {
    if (t.mult >= 0) return 1;
    for (std::int64_t x : t.pattern) all |= static_cast<std::uint64_t>(x);
  }
  return all == 0 ? 1 : std::uint64_t{1} << std::countr_zero(all);
}

bool whole_int(Type t) { return !isa::is_float(t) && t != Type::pred && (isa::bits(t) == 32 || isa::bits(t) == 64); }

bool narrow_int(Type t) { return !isa::is_float(t) && isa::bits(t) == 16; }
// Sums and multiples keep a pattern in 16 bits too.
bool sum_int(Type t) { return whole_int(t) || narrow_int(t); }

// A bound that the type can hold, else none.
Shape limited(Shape s, Type t) {
  if (narrow_int(t) && s.bound > UINT16_MAX) s.bound = 0;
  return s;
}

}  // namespace

bool widens_safely(const Shape& s, Type from) {
  const std::uint32_t most = !narrow_int(from) ? UINT32_MAX : isa::is_signed(from) ? INT16_MAX : UINT16_MAX;
  return s.bound != 0 && s.bound <= most;
}

bool is_widening(const ptx::Instr& p, bool& is_signed) {
  if (p.op == Op::cvt && p.type_count == 2 && whole_int(p.type(0)) &&
      (p.type(1) == Type::s16 || p.type(1) == Type::u16)) {
    is_signed = p.type(1) == Type::s16;
    return true;
  }
  if (p.op == Op::cvt && p.type_count == 2 && !isa::is_float(p.type(0)) && isa::bits(p.type(0)) == 64 &&
      (p.type(1) == Type::s32 || p.type(1) == Type::u32)) {
    is_signed = p.type(1) == Type::s32;
    return true;
  }
  if ((p.op == Op::mul || p.op == Op::mad) && p.has(Mod::wide) && (p.type() == Type::s32 || p.type() == Type::u32)) {
    is_signed = p.type() == Type::s32;
    return true;
  }
  return false;
}

Shape BlockShape::tid(int axis) const {
  if (x == 0 || (y == 1 && z == 1)) {
    if (axis != 0) return uniform();
    std::array<std::int64_t, 32> lane{};
    for (int l = 0; l < 32; ++l) lane[static_cast<std::size_t>(l)] = l;
    return from_pattern(lane, 32, 1023);
  }
  std::array<std::int64_t, 32> p{};
  if (x % 32 == 0) {
    if (axis != 0) return uniform();
    for (int l = 0; l < 32; ++l) p[static_cast<std::size_t>(l)] = l;
    return from_pattern(p, 32, x - 1);
  }
  if (32 % x != 0) return varying();
  const std::uint32_t rows = 32 / x;
  if (axis == 0) {
    for (std::uint32_t l = 0; l < 32; ++l) p[l] = l % x;
    return from_pattern(p, 1U << 16, x - 1);
  }
  if (y % rows == 0) {
    if (axis == 2) return uniform();
    for (std::uint32_t l = 0; l < 32; ++l) p[l] = l / x;
    return from_pattern(p, rows, y - 1);
  }
  if (rows % y != 0) return varying();
  for (std::uint32_t l = 0; l < 32; ++l) p[l] = axis == 1 ? l / x % y : l / (x * y);
  return axis == 1 ? from_pattern(p, 1U << 16, y - 1) : from_pattern(p, rows / y, z - 1);
}

Shape sreg_shape(std::string_view name, const BlockShape& block, bool linear) {
  const auto degrade = [&](Shape s) { return s.linear() && !linear ? varying() : s; };
  if (name == "%tid.x" || name == "%tid") return degrade(block.tid(0));
  if (name == "%tid.y") return degrade(block.tid(1));
  if (name == "%tid.z") return degrade(block.tid(2));
  if (name == "%laneid") {
    std::array<std::int64_t, 32> lane{};
    for (int l = 0; l < 32; ++l) lane[static_cast<std::size_t>(l)] = l;
    return degrade(from_pattern(lane, 1U << 16, 31));
  }
  if (name.starts_with("%lanemask") || name == ir::kClusterReady) return varying();
  return uniform();
}

bool keeps_invariance(const ir::Function& f, const Inst& inst) {
  const ptx::Instr& p = inst.p;
  const isa::Flow flow = isa::row(p.op).flow;
  if (p.op == Op::ld && p.has(Mod::param)) return !p.has(Mod::volatile_);
  if (flow != isa::Flow::pure || p.has(Mod::cc)) return false;
  if (p.op == Op::addc || p.op == Op::subc || p.op == Op::madc) return false;
  for (const Operand& o : p.operands) {
    if (o.kind == Operand::Kind::vector) return false;
    if (o.kind != Operand::Kind::sreg) continue;
    const std::string& s = o.symbol;
    if (!(s.starts_with("%ntid") || s.starts_with("%nctaid") || s.starts_with("%ctaid") ||
          s.starts_with("%dynamic_smem") || s.starts_with("%envreg") || s == "%warpid" || s == "%nwarpid"))
      return false;
  }
  // A pointer into the thread's own memory differs between lanes.
  for (std::int32_t v : inst.variable)
    if (v >= 0 && f.variables[static_cast<std::size_t>(v)].place == ir::Variable::Place::local) return false;
  if (p.op == Op::cvta)
    return ptx::space_of(p) == isa::Space::shared || p.has(Mod::global) || p.has(Mod::param) || p.has(Mod::const_);
  return true;
}

Shape OperandShapes::operand(const Inst& inst, std::size_t k) const {
  const Operand& o = inst.p.operands[k];
  switch (o.kind) {
    case Operand::Kind::reg: return shapes[o.reg];
    case Operand::Kind::sreg: return sreg_shape(o.symbol, block, linear);
    case Operand::Kind::vector: {
      for (const Operand& e : o.elements)
        if (e.kind == Operand::Kind::reg) {
          if (shapes[e.reg].kind == Shape::Kind::unknown) return {};
          if (!shapes[e.reg].uniform()) return varying();
        }
      return uniform();
    }
    case Operand::Kind::imm: return constant(o.imm);
    default: return uniform();
  }
}

// Product of operands a and b. A factor that is no constant must be invariant: it is looked up later, by name.
Shape OperandShapes::product(const Inst& inst, std::size_t a, std::size_t b, std::uint8_t widen) const {
  const Shape x = operand(inst, a), y = operand(inst, b);
  if (x.uniform() && y.uniform()) return uniform();
  if (y.linear() && x.uniform()) return product(inst, b, a, widen);
  if (!x.linear() || !y.uniform()) return varying();
  const Operand& factor = inst.p.operands[b];
  if (factor.kind == Operand::Kind::imm) {
    std::int64_t by = static_cast<std::int64_t>(factor.imm);
    if (isa::bits(inst.p.type()) == 32)
      by = widen == 2 ? static_cast<std::int64_t>(static_cast<std::uint32_t>(by)) : static_cast<std::int32_t>(by);
    return scaled(x, by);
  }
  if (narrow_int(inst.p.type()) || factor.kind != Operand::Kind::reg ||
      !f.values[static_cast<std::size_t>(factor.reg)].invariant || !x.constant_pattern())
    return varying();
  Shape out{Shape::Kind::linear, {Term{factor.reg, widen, x.terms[0].pattern}}, 1, 0};
  return out;
}

namespace {

// Terms of a widened value: factors that were 32 bits wide are extended too.
Shape widened(Shape s, bool is_signed) {
  for (Term& t : s.terms)
    if (t.mult >= 0 && t.widen == 0) t.widen = is_signed ? 1 : 2;
  return s;
}

}  // namespace

Shape OperandShapes::pure(const Inst& inst) const {
  const ptx::Instr& p = inst.p;
  bool all_uniform = true;
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    if (!ir::is_source(p, k)) continue;
    const Shape s = operand(inst, k);
    if (s.kind == Shape::Kind::unknown) return {};
    all_uniform = all_uniform && s.uniform();
  }
  const bool carries = p.has(Mod::cc) || p.op == Op::addc || p.op == Op::subc || p.op == Op::madc;
  if (carries) return varying();
  // Memory of the thread itself lies at another place for each lane.
  if (p.op == Op::cvta && p.has(Mod::local) && !p.has(Mod::to)) {
    if (!linear) return varying();
    std::array<std::int64_t, 32> stride{};
    for (std::size_t l = 0; l < 32; ++l) stride[l] = static_cast<std::int64_t>(l) * f.local_bytes;
    const Shape a = operand(inst, 1);
    if (!a.uniform() && !a.linear()) return varying();
    return sum(a, from_pattern(stride, 1, 0), 1);
  }
  if (p.op == Op::cvta && p.has(Mod::local)) return varying();
  if (all_uniform) {
    const bool keeps_zero =
        p.op == Op::shr || p.op == Op::shl || p.op == Op::and_ || p.op == Op::mul || p.op == Op::mov || p.op == Op::cvt;
    if (keeps_zero && whole_int(p.type()) && is_zero(operand(inst, 1))) return zero();
    return p.op == Op::mov && whole_int(p.type()) ? operand(inst, 1) : uniform();
  }
  if (!linear || p.has(Mod::sat)) return varying();

  switch (p.op) {
    case Op::mov:
      // The pieces of a split value do not have its pattern.
      if (p.operands[0].kind == Operand::Kind::vector) return varying();
      [[fallthrough]];
    case Op::cvta:
      return sum_int(p.type()) && p.operands[0].kind != Operand::Kind::vector &&
                     p.operands[1].kind != Operand::Kind::vector
                 ? operand(inst, 1)
                 : varying();
    case Op::add:
    case Op::sub: {
      if (!sum_int(p.type()) || p.has(Mod::sat)) return varying();
      const Shape a = operand(inst, 1), b = operand(inst, 2);
      if (a.varying() || b.varying()) return varying();
      return limited(sum(a, b, p.op == Op::add ? 1 : -1), p.type());
    }
    case Op::mul:
      if (narrow_int(p.type()) && p.has(Mod::lo)) return limited(product(inst, 1, 2, 0), p.type());
      if (!whole_int(p.type()) || p.has(Mod::hi)) return varying();
      if (p.has(Mod::wide)) {
        const bool is_signed = p.type() == Type::s32;
        const Shape s = product(inst, 1, 2, is_signed ? 1 : 2);
        return s.linear() ? widened(s, is_signed) : s;
      }
      return product(inst, 1, 2, 0);
    case Op::mad: {
      if (!whole_int(p.type()) || p.has(Mod::hi)) return varying();
      const bool is_signed = p.type() == Type::s32;
      Shape s = product(inst, 1, 2, p.has(Mod::wide) ? (is_signed ? 1 : 2) : 0);
      const Shape c = operand(inst, 3);
      if (s.varying() || c.varying()) return varying();
      if (p.has(Mod::wide)) s = widened(s, is_signed);
      return sum(s, c, 1);
    }
    case Op::shl: {
      const Operand& by = p.operands[2];
      if (!sum_int(p.type()) || by.kind != Operand::Kind::imm || by.imm >= (narrow_int(p.type()) ? 15U : 31U))
        return varying();
      const Shape a = operand(inst, 1);
      return a.linear() ? limited(scaled(a, std::int64_t{1} << by.imm), p.type()) : varying();
    }
    case Op::cvt: {
      const Type to = p.type(0), from = p.type(1);
      if (!sum_int(to) || !sum_int(from)) return varying();
      const Shape a = operand(inst, 1);
      if (!a.linear()) return a;
      if (p.has(Mod::sat)) return varying();
      if (narrow_int(from) && !narrow_int(to)) return a.constant_pattern() ? a : varying();
      if (narrow_int(to)) return limited(a, to);
      if (isa::bits(to) == 64 && isa::bits(from) == 32) return widened(a, isa::is_signed(from));
      return a;
    }
    case Op::and_: {
      const Shape a = operand(inst, 1);
      const Operand& m = p.operands[2];
      if (!whole_int(p.type()) || m.kind != Operand::Kind::imm || !bounded_pattern(a)) return varying();
      std::uint64_t mask = isa::bits(p.type()) == 32 ? static_cast<std::uint32_t>(m.imm) : m.imm;
      auto pattern = a.terms[0].pattern;
      if (mask != 0 && mask < (1U << 30) && std::has_single_bit(mask + 1)) {  // the low bits
        const auto low = static_cast<std::uint32_t>(mask);
        if (low + 1 > a.base_align)
          return within(a, a.base_align) ? from_pattern(pattern, a.base_align, low) : varying();
        for (std::int64_t& x : pattern) x &= low;
        return from_pattern(pattern, 1U << 16, low);
      }
      // All but the low bits; bits above the bound do not matter.
      mask |= ~(std::bit_ceil(std::uint64_t{a.bound} + 1) - 1);
      const std::uint64_t step = ~mask + 1;
      if (!std::has_single_bit(step) || step >= (1U << 30)) return varying();
      const auto align = static_cast<std::uint32_t>(std::max<std::uint64_t>(step, 1));
      if (step > a.base_align)
        return within(a, a.base_align) ? Shape{Shape::Kind::uniform, {}, align, a.bound} : varying();
      for (std::int64_t& x : pattern) x &= ~static_cast<std::int64_t>(step - 1);
      return from_pattern(pattern, a.base_align, a.bound);
    }
    case Op::shr: {
      const Shape a = operand(inst, 1);
      const Operand& by = p.operands[2];
      if (!whole_int(p.type()) || by.kind != Operand::Kind::imm || by.imm > 31 || !bounded_pattern(a)) return varying();
      if ((a.bound >> by.imm) == 0) return zero();
      const std::uint32_t bound = a.bound >> by.imm;
      // A warp that lies inside one such stretch has one quotient.
      if ((1U << by.imm) > a.base_align)
        return within(a, a.base_align) ? Shape{Shape::Kind::uniform, {}, 1, bound} : varying();
      auto pattern = a.terms[0].pattern;
      for (std::int64_t& x : pattern) x >>= by.imm;
      return from_pattern(pattern, std::max(1U, a.base_align >> by.imm), bound);
    }
    case Op::or_: {
      // An or that cannot carry is a sum.
      const Shape a = operand(inst, 1), b = operand(inst, 2);
      if (!whole_int(p.type()) || a.varying() || b.varying()) return varying();
      const bool apart = (b.bound != 0 && multiple_of(a) > b.bound) || (a.bound != 0 && multiple_of(b) > a.bound);
      return apart ? sum(a, b, 1) : varying();
    }
    case Op::selp: {
      const Shape a = operand(inst, 1), b = operand(inst, 2);
      if (!operand(inst, 3).uniform() || !(a == b) || !whole_int(p.type())) return varying();
      // The same pattern, on either base.
      Shape either = a;
      either.base_align = std::min(a.base_align, b.base_align);
      either.bound = a.bound == 0 || b.bound == 0 ? 0 : std::max(a.bound, b.bound);
      return either;
    }
    default: return varying();
  }
}

Shape OperandShapes::load(const Inst& inst) const {
  const ptx::Instr& p = inst.p;
  const Operand& a = p.operands[1];
  if (p.has(Mod::local)) return varying();
  const std::int32_t variable = inst.variable.size() > 1 ? inst.variable[1] : -1;
  if (variable >= 0 && f.variables[static_cast<std::size_t>(variable)].place == ir::Variable::Place::local)
    return varying();
  if (a.reg < 0) return uniform();
  const Shape s = shapes[a.reg];
  if (s.kind == Shape::Kind::unknown) return {};
  return s.uniform() ? uniform() : varying();
}

Shape OperandShapes::result(const Inst& inst, std::size_t which) const {
  const ptx::Instr& p = inst.p;
  const auto all_of = [&](std::size_t first) {
    for (std::size_t k = first; k < p.operands.size(); ++k) {
      const Shape s = operand(inst, k);
      if (s.kind == Shape::Kind::unknown) return Shape{};
      if (!s.uniform()) return varying();
    }
    return uniform();
  };
  switch (p.op) {
    case Op::ld:
    case Op::ldu: return load(inst);
    case Op::shfl: {
      if (which == 1) return varying();
      const Shape s = operand(inst, 1);
      return s.linear() ? varying() : s;
    }
    case Op::vote:
    case Op::redux: {
      // Each group of lanes that names its own mask has its own result.
      if (!p.has(Mod::sync)) return uniform();
      const Shape mask = operand(inst, p.operands.size() - 1);
      if (mask.kind == Shape::Kind::unknown) return {};
      return mask.uniform() ? uniform() : varying();
    }
    case Op::activemask: return uniform();
    default: break;
  }
  const isa::Flow flow = isa::row(p.op).flow;
  if (flow == isa::Flow::pure) return pure(inst);
  if (flow == isa::Flow::clock) return uniform();
  if (flow == isa::Flow::hint) return all_of(1);
  return varying();
}

}  // namespace warploom::passes
