// Reads a texture or surface instruction: its modifiers, and which operand is what.
#include "codegen/texture_op.hpp"

namespace warploom::codegen {

namespace {

using isa::Mod;
using isa::Op;
using isa::Type;
using isa::ref::Geometry;
using isa::ref::TextureOp;
using ptx::Operand;

Geometry geometry_of(const ptx::Instr& p) {
  if (p.has(Mod::m_1d)) return Geometry::d1;
  if (p.has(Mod::m_3d)) return Geometry::d3;
  if (p.has(Mod::a1d)) return Geometry::a1d;
  if (p.has(Mod::a2d)) return Geometry::a2d;
  if (p.has(Mod::cube)) return Geometry::cube;
  if (p.has(Mod::acube)) return Geometry::acube;
  return Geometry::d2;
}

TextureOp::Outside outside_of(const ptx::Instr& p) {
  if (p.has(Mod::trap)) return TextureOp::Outside::trap;
  return p.has(Mod::zero) ? TextureOp::Outside::zero : TextureOp::Outside::clamp;
}

std::uint8_t query_of(const ptx::Instr& p) {
  constexpr std::pair<Mod, TextureOp::Query> kQueries[] = {
      {Mod::width, TextureOp::Query::width},
      {Mod::height, TextureOp::Query::height},
      {Mod::depth, TextureOp::Query::depth},
      {Mod::channel_data_type, TextureOp::Query::channel_data_type},
      {Mod::channel_order, TextureOp::Query::channel_order},
      {Mod::normalized_coords, TextureOp::Query::normalized_coords},
      {Mod::array_size, TextureOp::Query::array_size},
      {Mod::num_mipmap_levels, TextureOp::Query::num_mipmap_levels},
      {Mod::num_samples, TextureOp::Query::num_samples},
      {Mod::filter_mode, TextureOp::Query::filter_mode},
      {Mod::addr_mode_0, TextureOp::Query::addr_mode_0},
      {Mod::addr_mode_1, TextureOp::Query::addr_mode_1},
      {Mod::addr_mode_2, TextureOp::Query::addr_mode_2},
      {Mod::memory_layout, TextureOp::Query::memory_layout}};
  for (const auto& [mod, query] : kQueries)
    if (p.has(mod)) return static_cast<std::uint8_t>(query);
  return 0;
}

std::uint8_t reduction_of(const ptx::Instr& p) {
  using Reduction = TextureOp::Reduction;
  const Reduction r = p.has(Mod::min)    ? Reduction::min
                      : p.has(Mod::max)  ? Reduction::max
                      : p.has(Mod::and_) ? Reduction::and_
                      : p.has(Mod::or_)  ? Reduction::or_
                                         : Reduction::add;
  return static_cast<std::uint8_t>(r);
}

class Reader {
 public:
  explicit Reader(const ptx::Instr& p) : p_(p) {}

  TextureCall read() {
    TextureOp& op = call_.op;
    op.geometry = geometry_of(p_);
    switch (p_.op) {
      case Op::tex: lookup(TextureOp::Kind::tex); break;
      case Op::tld4:
        lookup(TextureOp::Kind::tld4);
        op.select = p_.has(Mod::g) ? 1 : p_.has(Mod::b) ? 2 : p_.has(Mod::a) ? 3 : 0;
        break;
      case Op::txq:
      case Op::suq:
        op.kind = p_.op == Op::txq ? TextureOp::Kind::txq : TextureOp::Kind::suq;
        op.select = query_of(p_);
        call_.object = 1;
        results(0, Type::b32);
        if (p_.operands.size() > 2) {
          op.flags |= TextureOp::kQueryLevel;
          word(isa::ref::kTextureLevel, p_.operands[2], Type::b32);
        }
        break;
      case Op::suld:
        surface(TextureOp::Kind::suld);
        call_.object = 1;
        results(0, p_.type());
        break;
      case Op::sust:
        surface(TextureOp::Kind::sust);
        data(p_.operands[1]);
        break;
      default:
        surface(TextureOp::Kind::sured);
        op.select = reduction_of(p_);
        if (isa::is_signed(p_.type())) op.flags |= TextureOp::kSigned;
        data(p_.operands[1]);
    }
    coordinates(p_.operands[call_.object]);
    return std::move(call_);
  }

 private:
  void word(unsigned place, const Operand& o, Type type) { call_.words.push_back({place, &o, type}); }

  void words(unsigned place, const Operand& o, unsigned most, Type type) {
    const auto elements = ptx::elements_of(o);
    for (std::size_t e = 0; e < elements.size() && e < most; ++e)
      word(place + static_cast<unsigned>(e), *elements[e], type);
  }

  void results(std::size_t k, Type type) {
    call_.results = ptx::elements_of(p_.operands[k]);
    call_.result_type = type;
  }

  void data(const Operand& o) {
    const unsigned step = call_.op.bytes == 8 ? 2 : 1;
    const auto elements = ptx::elements_of(o);
    for (std::size_t e = 0; e < elements.size() && e < 4; ++e)
      word(isa::ref::kTextureData + static_cast<unsigned>(e) * step, *elements[e], p_.type());
  }

  void coordinates(const Operand& o) {
    if (o.reg < 0) {
      call_.reason = "texture references are gone since CUDA 12: use a texture object's handle in a register";
      return;
    }
    for (std::size_t e = 0; e < o.elements.size(); ++e) {
      // [a, {x, y}], or [a, x].
      const auto inner = ptx::elements_of(o.elements[e]);
      if (inner.size() > 4 || (e != 0 && !inner.empty())) {
        call_.reason = "samplers apart from textures are not modelled";
        return;
      }
      for (std::size_t i = 0; i < inner.size(); ++i) word(static_cast<unsigned>(i), *inner[i], Type::b32);
    }
    const unsigned axes = isa::ref::axes_of(call_.op.geometry) + (isa::ref::is_layered(call_.op.geometry) ? 1 : 0);
    const bool asks = call_.op.kind == TextureOp::Kind::txq || call_.op.kind == TextureOp::Kind::suq;
    if (!asks && call_.coordinates() < axes) call_.reason = "coordinates are missing";
  }

  void lookup(TextureOp::Kind kind) {
    TextureOp& op = call_.op;
    op.kind = kind;
    call_.object = 1;
    const Type type = p_.type(0);
    results(0, type);
    op.width = static_cast<std::uint8_t>(call_.results.size());
    op.result = type == Type::f32     ? TextureOp::Result::f32
                : type == Type::f16   ? TextureOp::Result::f16
                : type == Type::f16x2 ? TextureOp::Result::f16x2
                                      : TextureOp::Result::integer;
    if (p_.type(1) == Type::f32) op.flags |= TextureOp::kFloatCoordinates;
    TextureOp::Level level = TextureOp::Level::none;
    std::size_t next = 2;
    if (p_.has(Mod::base)) level = TextureOp::Level::base;
    if (p_.has(Mod::level)) {
      level = TextureOp::Level::level;
      word(isa::ref::kTextureLevel, p_.operands[next++], Type::f32);
    }
    if (p_.has(Mod::grad)) {
      level = TextureOp::Level::grad;
      words(isa::ref::kTextureSlopes, p_.operands[next], 3, Type::f32);
      words(isa::ref::kTextureSlopes + 3, p_.operands[next + 1], 3, Type::f32);
      next += 2;
    }
    op.how = static_cast<std::uint8_t>(level);
    if (next < p_.operands.size()) {
      const Operand& o = p_.operands[next++];
      if (o.kind == Operand::Kind::vector) {
        op.flags |= TextureOp::kOffsets;
        words(isa::ref::kTextureOffsets, o, 3, Type::b32);
      }
      // The value to compare with is for depth textures, which only graphics makes; for others an H200 ignores it.
    }
  }

  void surface(TextureOp::Kind kind) {
    TextureOp& op = call_.op;
    op.kind = kind;
    op.bytes = static_cast<std::uint8_t>(isa::bytes(p_.type()));
    op.width = static_cast<std::uint8_t>(ptx::vector_width(p_));
    op.how = static_cast<std::uint8_t>(outside_of(p_));
    if (p_.has(Mod::p)) op.flags |= TextureOp::kFormatted;
  }

  const ptx::Instr& p_;
  TextureCall call_;
};

}  // namespace

TextureCall texture_call(const ptx::Instr& p) { return Reader(p).read(); }

}  // namespace warploom::codegen
