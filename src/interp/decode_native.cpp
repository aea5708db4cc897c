// Instructions that a function of the host does, in the interpreter: rows of 64-bit lanes to it and back.
#include <bit>

#include "interp/decoder.hpp"
#include "interp/moves.hpp"
#include "interp/warp.hpp"

namespace warploom::interp {

namespace {

using Word = std::uint64_t;
constexpr std::size_t kMaxRows = kMaxRefs;

// Step::ref: results, then sources, all but predicates 64 bits a lane. Step::imm: which of Program::native_steps.
void run_native(State* st, const Step* s) {
  st->current = s;
  const Program::NativeStep& native = st->program->native_steps[s->imm];
  alignas(64) Word rows[kMaxRows][32];
  for (std::size_t r = s->results; r < native.rows; ++r) {
    const Word* from = lanes_of<Word>(st, s->ref[r]);
    std::copy(from, from + 32, rows[r]);
  }
  const Word place = static_cast<Word>(static_cast<std::uint32_t>(s->block)) << 32 | s->index;
  if (native.function(st->ctx, rows[0], st->lanes, native.what, place) == 0) {
    st->stopped = true;
    return;
  }
  for (std::size_t r = 0; r < s->results; ++r) {
    if (s->bytes[r] == 0) {
      std::uint32_t mask = 0;
      for (unsigned l = 0; l < 32; ++l) mask |= static_cast<std::uint32_t>(rows[r][l] & 1) << l;
      *lanes_of<std::uint32_t>(st, s->ref[r]) = mask;
    } else {
      std::copy(rows[r], rows[r] + 32, lanes_of<Word>(st, s->ref[r]));
    }
  }
}

}  // namespace

Ref Decoder::as_word(Ref from, unsigned bits) {
  if (bits == 64) return from;
  Step s = make(resize_handler(bits, false, 64));
  s.ref[0] = temporary(64);
  s.ref[1] = from;
  add_plain(s);
  return s.ref[0];
}

void Decoder::native(const ir::Inst& inst) {
  const codegen::NativeCall call = codegen::native_call(inst.p);
  if (call.function == nullptr) return;
  if (call.operands.size() > kMaxRows) return fail();
  Program::NativeStep native;
  for (const codegen::HostSymbol& symbol : symbols_)
    if (symbol.name == call.function) native.function = reinterpret_cast<codegen::NativeFunction>(symbol.address);
  if (native.function == nullptr) return fail();
  native.what = call.what;
  native.rows = static_cast<std::uint8_t>(call.operands.size());
  Step s = make(run_native);
  std::vector<Result> results;
  std::vector<Ref> sources;
  for (const codegen::NativeOperand& o : call.operands) {
    using Kind = codegen::NativeOperand::Kind;
    switch (o.kind) {
      case Kind::result: results.push_back(result(*o.operand, o.type == Type::pred ? Type::pred : Type::b64)); break;
      case Kind::constant: sources.push_back(constant(64, o.value)); break;
      case Kind::address: {
        Address a;
        if (!address(inst, o.index, o.space, a)) return;
        sources.push_back(address_lanes(a));
        break;
      }
      case Kind::source: {
        const bool whole = o.operand == &inst.p.operands[o.index];
        const std::int32_t variable = whole && o.index < inst.variable.size() ? inst.variable[o.index] : -1;
        if (o.type == Type::pred) {
          sources.push_back(as_word(source(inst, *o.operand, variable, Type::pred), 1));
        } else {
          sources.push_back(as_word(source(inst, *o.operand, variable, o.type), isa::bits(o.type)));
        }
        break;
      }
    }
  }
  if (failed_) return;
  s.imm = out_->native_steps.size();
  out_->native_steps.push_back(native);
  for (std::size_t k = 0; k < sources.size(); ++k) s.ref[results.size() + k] = sources[k];
  if (results.empty()) return add_active(inst, s);
  add(inst, s, results);
}

}  // namespace warploom::interp
