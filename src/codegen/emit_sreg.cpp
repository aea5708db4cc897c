// Special registers, clocks, hints, traps and calls of the device ABI.
#include <cstddef>
#include <map>

#include "codegen/block_registers.hpp"
#include "codegen/emitter.hpp"
#include "ir/cfg.hpp"

namespace warploom::codegen {

using ir::Inst;
using isa::Type;

llvm::Value* Emitter::special_register(const std::string& name, Type type, bool want_wide) {
  const auto widen = [&](Value* v, Type from) {
    v = convert(v, from, type);
    return want_wide && !v->getType()->isVectorTy() ? splat(v) : v;
  };
  const auto axis_of = [&](std::string_view n) -> std::size_t { return n.back() == 'y' ? 1 : n.back() == 'z' ? 2 : 0; };
  const auto u32_field = [&](std::size_t at) { return widen(block_field(at, b_.getInt32Ty()), Type::u32); };
  const auto lane_values = [&](auto f) {
    std::vector<std::uint32_t> lanes;
    for (std::uint32_t l = 0; l < 32; ++l) lanes.push_back(f(l));
    return convert(llvm::ConstantDataVector::get(context_, lanes), Type::u32, type);
  };

  if (name == "%tid" || name.starts_with("%tid.")) {
    const std::size_t axis = axis_of(name);
    const ir::Shape s = passes::sreg_shape(name, plan_.block, mode_ != Mode::conservative);
    if (s.varying()) {
      Value* all = field(offsetof(WarpContext, tid) + axis * sizeof(WarpContext::tid[0]), wide(b_.getInt32Ty()), true);
      return convert(all, Type::u32, type);
    }
    Value* base = field(offsetof(WarpContext, tid_base) + axis * 4, b_.getInt32Ty(), true);
    if (!want_wide) return convert(base, Type::u32, type);
    if (s.linear()) return convert(b_.CreateAdd(splat(base), pattern(s, b_.getInt32Ty())), Type::u32, type);
    return widen(base, Type::u32);
  }
  if (name == "%laneid") {
    if (!want_wide) return convert(b_.getInt32(0), Type::u32, type);
    return lane_values([](std::uint32_t l) { return l; });
  }
  if (name == "%lanemask_eq") return lane_values([](std::uint32_t l) { return 1U << l; });
  if (name == "%lanemask_lt") return lane_values([](std::uint32_t l) { return (1U << l) - 1; });
  if (name == "%lanemask_le") return lane_values([](std::uint32_t l) { return (2U << l) - 1; });
  if (name == "%lanemask_gt") return lane_values([](std::uint32_t l) { return ~((2U << l) - 1); });
  if (name == "%lanemask_ge") return lane_values([](std::uint32_t l) { return ~((1U << l) - 1); });
  if (name.starts_with("%ntid")) return u32_field(offsetof(WarpContext, ntid) + axis_of(name) * 4);
  if (name.starts_with("%nctaid")) return u32_field(offsetof(WarpContext, nctaid) + axis_of(name) * 4);
  if (name.starts_with("%ctaid")) return u32_field(offsetof(WarpContext, ctaid) + axis_of(name) * 4);
  if (name == "%warpid") return widen(field(offsetof(WarpContext, warp), b_.getInt32Ty(), true), Type::u32);
  if (name == "%smid") return u32_field(offsetof(WarpContext, smid));
  if (name == "%dynamic_smem_size") return u32_field(offsetof(WarpContext, dynamic_shared_bytes));
  if (name == "%gridid") return widen(block_field(offsetof(WarpContext, grid_id), b_.getInt64Ty()), Type::u64);
  if (name == ir::kBarrierPopc) return widen(field(offsetof(WarpContext, barrier_popc), b_.getInt32Ty()), Type::u32);
  if (name == ir::kBarrierAnd || name == ir::kBarrierOr) {
    const std::size_t at =
        name == ir::kBarrierAnd ? offsetof(WarpContext, barrier_and) : offsetof(WarpContext, barrier_or);
    return widen(b_.CreateICmpNE(field(at, b_.getInt32Ty()), b_.getInt32(0)), Type::pred);
  }
  if (name == "WARP_SZ") return widen(b_.getInt32(32), Type::u32);
  if (name == "%clock64" || name == "%clock" || name == "%clock_hi") {
    Value* t =
        b_.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, llvm::ArrayRef<llvm::Type*>{}, llvm::ArrayRef<Value*>{});
    if (name == "%clock_hi") t = b_.CreateLShr(t, 32);
    return widen(t, Type::u64);
  }
  if (name.starts_with("%globaltimer")) {
    Value* t = call_host("warploom_globaltimer", b_.getInt64Ty(), {});
    if (name == "%globaltimer_hi") t = b_.CreateLShr(t, 32);
    return widen(t, Type::u64);
  }
  if (name == ir::kClusterReady) {
    Value* ready = to_lane_bits(call_host("warploom_cluster_ready", b_.getInt32Ty(), {ctx_}));
    return convert(ready, Type::pred, type);
  }
  if (const auto at = block_register(name)) {
    if (name == "%is_explicit_cluster")
      return widen(b_.CreateICmpNE(block_field(*at, b_.getInt32Ty()), b_.getInt32(0)), Type::pred);
    return u32_field(*at);
  }
  return widen(b_.getInt32(0), Type::u32);  // %envreg, %pm: nothing sets them
}

Result<void> Emitter::emit_call(const Inst& inst) {
  using isa::Op;
  const ptx::Instr& p = inst.p;
  switch (p.op) {
    case Op::nanosleep:
    case Op::pmevent:
    case Op::prefetch:
    case Op::prefetchu: return {};
    case Op::trap:
    case Op::brkpt:
      with_guard(inst, [&](const Lanes& lanes) {
        call_host("warploom_trap", b_.getVoidTy(),
                  {ctx_, mask_or_all(lanes), b_.getInt32(static_cast<std::uint32_t>(block_)),
                   b_.getInt32(static_cast<std::uint32_t>(index_))});
        leave(Exit::error);
        b_.SetInsertPoint(new_block("never"));
      });
      return {};
    case Op::bar:
    case Op::barrier: {
      with_guard(inst, [&](const Lanes& lanes) {
        const auto scalar = [&](std::size_t k) {
          if (operand_is_uniform(inst.p.operands[k])) return operand(inst, k, Type::u32, false);
          Value* lane =
              b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {mask_or_all(lanes), b_.getInt1(true)});
          return b_.CreateExtractElement(operand(inst, k, Type::u32, true), lane);
        };
        Value* id = scalar(0);
        Value* threads = scalar(1);
        call_host("warploom_arrive", b_.getVoidTy(), {ctx_, id, threads, mask_or_all(lanes)});
      });
      return {};
    }
    case Op::call: break;
    default: {
      const isa::Row& row = isa::row(p.op);
      if (row.flow == isa::Flow::hint && p.operands.empty()) return {};
      if (row.flow == isa::Flow::hint && row.emit == "hint") {
        // A hint that gives a value (createpolicy) gives an opaque one.
        ir::for_each_def(inst, [&](ir::ValueId v) { write(inst, v, b_.getInt64(0), Type::b64); });
        return {};
      }
      return unsupported(inst, std::string(row.reason));
    }
  }

  // Calls of the device ABI go to native functions, one lane at a time; arguments lie in local memory.
  const std::string name = p.operands[0].symbol;
  with_guard(inst, [&](const Lanes& lanes) {
    std::vector<Value*> argument_at;
    for (std::size_t k = 1; k < p.operands.size(); ++k)
      argument_at.push_back(spill(address_lanes(address(inst, k, isa::Space::local)), "argument"));
    if (name == "__assertfail") {
      Value* lane =
          b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {mask_or_all(lanes), b_.getInt1(true)});
      std::vector<Value*> args{ctx_, lane, b_.getInt32(static_cast<std::uint32_t>(block_)),
                               b_.getInt32(static_cast<std::uint32_t>(index_))};
      for (std::size_t k = 0; k < 4; ++k)
        args.push_back(b_.CreateLoad(b_.getInt64Ty(), element(argument_at[k], b_.getInt64Ty(), lane)));
      call_host("warploom_assertfail", b_.getVoidTy(), args);
      leave(Exit::error);
      b_.SetInsertPoint(new_block("never"));
      return;
    }
    lane_loop(mask_or_all(lanes), [&](Value* lane) {
      std::vector<Value*> args{ctx_};
      for (Value* at : argument_at) args.push_back(b_.CreateLoad(b_.getInt64Ty(), element(at, b_.getInt64Ty(), lane)));
      call_host(("warploom_" + name).c_str(), b_.getVoidTy(), args);
    });
  });
  return {};
}

}  // namespace warploom::codegen
