// Textures and surfaces in the interpreter: operands are gathered for the native function that compiled code calls too.
#include <cstring>

#include "codegen/texture_op.hpp"
#include "interp/decoder.hpp"
#include "interp/moves.hpp"

namespace warploom::interp {

using isa::Type;
using ptx::Operand;

namespace {

void access(State* st, const Step* s) {
  st->current = s;
  const TextureStep& t = st->program->textures[s->imm];
  alignas(64) std::uint32_t in[isa::ref::kTextureWords][32];
  alignas(64) std::uint32_t out[isa::ref::kTextureResults][32];
  for (unsigned k = 0; k < isa::ref::kTextureWords; ++k)
    if (t.words[k] != kNoRef) std::memcpy(in[k], lanes_of<std::uint32_t>(st, t.words[k]), sizeof in[k]);
  const auto block = static_cast<std::int32_t>(s->block), index = static_cast<std::int32_t>(s->index);
  if (st->program->natives.texture(st->ctx, t.op, lanes_of<std::uint64_t>(st, t.object), in[0], out[0], st->lanes,
                                   block, index, nullptr) == 0) {
    st->stopped = true;
    return;
  }
  for (unsigned e = 0; e < s->width; ++e) {
    if (s->ref[e] == kNoRef) continue;
    for (std::uint32_t rest = st->lanes; rest != 0; rest &= rest - 1) {
      const int l = __builtin_ctz(rest);
      switch (s->what) {
        case 8: lanes_of<std::uint8_t>(st, s->ref[e])[l] = static_cast<std::uint8_t>(out[e][l]); break;
        case 16: lanes_of<std::uint16_t>(st, s->ref[e])[l] = static_cast<std::uint16_t>(out[e][l]); break;
        case 64:
          lanes_of<std::uint64_t>(st, s->ref[e])[l] = out[2 * e][l] | std::uint64_t{out[2 * e + 1][l]} << 32;
          break;
        default: lanes_of<std::uint32_t>(st, s->ref[e])[l] = out[e][l];
      }
    }
  }
}

}  // namespace

void Decoder::texture(const ir::Inst& inst) {
  const codegen::TextureCall call = codegen::texture_call(inst.p);
  if (call.reason != nullptr || call.results.size() > 4) return fail();
  TextureStep t;
  t.op = call.op.word();
  for (Ref& r : t.words) r = kNoRef;
  const auto resized = [&](Ref from, unsigned from_bits, unsigned shift) {
    Step s = make(shift != 0 ? unpack_handler(32) : resize_handler(from_bits, false, 32));
    s.ref[0] = temporary(32);
    if (shift == 0) {
      s.ref[1] = from;
      add_plain(s);
      return s.ref[0];
    }
    s.width = 2;
    s.ref[1] = temporary(32);
    s.ref[2] = from;
    add_plain(s);
    return s.ref[1];
  };
  for (const codegen::TextureCall::Word& w : call.words) {
    const bool literal = w.operand->kind == Operand::Kind::imm_f32 || w.operand->kind == Operand::Kind::imm_f64;
    const Type type = literal && w.type == Type::b32 ? Type::f32 : w.type;
    const unsigned bits = isa::bits(type);
    const Ref r = source(inst, *w.operand, -1, type);
    if (failed_) return;
    t.words[w.place] = bits == 32 ? r : resized(r, bits, 0);
    if (bits == 64) t.words[w.place + 1] = resized(r, bits, 32);
  }
  Operand object;
  object.reg = inst.p.operands[call.object].reg;
  t.object = source(inst, object, -1, Type::b64);
  Step s = make(access);
  s.width = static_cast<std::uint8_t>(call.results.size());
  s.what = call.results.empty() ? 0 : static_cast<std::uint16_t>(isa::bits(call.result_type));
  s.imm = out_->textures.size();
  out_->textures.push_back(t);
  std::vector<Result> results;
  for (std::size_t e = 0; e < call.results.size(); ++e) {
    if (call.results[e]->kind != Operand::Kind::reg) continue;
    results.push_back(result(call.results[e]->reg, call.result_type));
    s.ref[e] = results.back().ref;
  }
  add_active(inst, s);
  resize_after(inst, results);
}

}  // namespace warploom::interp
