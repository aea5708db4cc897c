// SIMD-in-a-word video instructions: two or four elements of a register.
#include "codegen/ops_emit.hpp"

namespace warploom::codegen {

using isa::Mod;
using isa::Op;
namespace intrinsic = llvm::Intrinsic;

namespace {

unsigned elements(Op op) {
  switch (op) {
    case Op::vadd2:
    case Op::vsub2:
    case Op::vavrg2:
    case Op::vabsdiff2:
    case Op::vmin2:
    case Op::vmax2: return 2;
    default: return 4;
  }
}

// On 32-bit extensions of the elements, so nothing overflows.
Value* combine(Emit& e, Value* a, Value* c) {
  switch (e.instr.op) {
    case Op::vadd2:
    case Op::vadd4: return e.b.CreateAdd(a, c);
    case Op::vsub2:
    case Op::vsub4: return e.b.CreateSub(a, c);
    case Op::vavrg2:
    case Op::vavrg4: {
      Value* sum = e.b.CreateAdd(a, c);
      Value* up = e.b.CreateAdd(e.b.CreateAShr(sum, 31), Emit::num(sum, 1));
      return e.b.CreateAShr(e.b.CreateAdd(sum, up), 1);
    }
    case Op::vmin2:
    case Op::vmin4: return e.call(intrinsic::smin, {a, c});
    case Op::vmax2:
    case Op::vmax4: return e.call(intrinsic::smax, {a, c});
    default: return e.b.CreateSub(e.call(intrinsic::smax, {a, c}), e.call(intrinsic::smin, {a, c}));
  }
}

}  // namespace

bool emit_video(Emit& e) {
  const unsigned count = elements(e.instr.op), width = 32 / count;
  const bool d_signed = isa::is_signed(e.type(0));
  const std::uint64_t mask = (std::uint64_t(1) << width) - 1;
  const auto part = [&](Value* word, unsigned i, bool is_signed) {
    Value* top = e.b.CreateShl(word, 32 - width * (i + 1));
    return is_signed ? e.b.CreateAShr(top, 32 - width) : e.b.CreateLShr(top, 32 - width);
  };
  Value* d = e.has(Mod::add) ? e.in[2] : Emit::num(e.in[0], 0);
  for (unsigned i = 0; i < count; ++i) {
    Value* r = combine(e, part(e.in[0], i, isa::is_signed(e.type(1))), part(e.in[1], i, isa::is_signed(e.type(2))));
    if (e.has(Mod::sat)) {
      const std::uint64_t high = d_signed ? mask >> 1 : mask;
      Value* low = d_signed ? e.b.CreateNot(Emit::num(r, high)) : Emit::num(r, 0);
      r = e.call(intrinsic::smin, {e.call(intrinsic::smax, {r, low}), Emit::num(r, high)});
    }
    d = e.has(Mod::add) ? e.b.CreateAdd(d, r) : e.b.CreateOr(d, e.b.CreateShl(e.b.CreateAnd(r, mask), width * i));
  }
  return e.done(d);
}

}  // namespace warploom::codegen
