// Positions of threads, barriers, fences and grid synchronisation.
#include <fmt/format.h>

#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

// A special register, with the range that CUDA guarantees.
template <llvm::Intrinsic::ID id, std::uint64_t low, std::uint64_t high>
Value special(Evaluator& e, Call&) {
  llvm::CallInst* read = e.b.CreateIntrinsic(id, {});
  read->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, low), llvm::APInt(32, high)));
  return {int_type(32), read, nullptr, true};
}

namespace I = llvm::Intrinsic;
constexpr std::uint64_t two_31 = std::uint64_t{1} << 31;

Value position(Evaluator& e, char axis, bool size) {
  static constexpr I::ID tid[] = {I::nvvm_read_ptx_sreg_tid_x, I::nvvm_read_ptx_sreg_tid_y,
                                  I::nvvm_read_ptx_sreg_tid_z};
  static constexpr I::ID ntid[] = {I::nvvm_read_ptx_sreg_ntid_x, I::nvvm_read_ptx_sreg_ntid_y,
                                   I::nvvm_read_ptx_sreg_ntid_z};
  static constexpr I::ID ctaid[] = {I::nvvm_read_ptx_sreg_ctaid_x, I::nvvm_read_ptx_sreg_ctaid_y,
                                    I::nvvm_read_ptx_sreg_ctaid_z};
  static constexpr I::ID nctaid[] = {I::nvvm_read_ptx_sreg_nctaid_x, I::nvvm_read_ptx_sreg_nctaid_y,
                                     I::nvvm_read_ptx_sreg_nctaid_z};
  const int at = axis - 'x';
  const auto read = [&](I::ID id, std::uint64_t low, std::uint64_t high) -> llvm::Value* {
    llvm::CallInst* call = e.b.CreateIntrinsic(id, {});
    call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, low), llvm::APInt(32, high)));
    return call;
  };
  const std::uint64_t threads = at == 2 ? 64 : 1024;
  const std::uint64_t blocks = at == 0 ? two_31 - 1 : 65535;
  llvm::Value* block_size = read(ntid[at], 1, threads + 1);
  llvm::Value* other = size ? read(nctaid[at], 1, blocks + 1) : read(ctaid[at], 0, blocks);
  if (e.c.options.narrow) {
    llvm::Value* product = e.b.CreateMul(other, block_size, "", false, true);
    return {int_type(32), size ? product : e.b.CreateAdd(product, read(tid[at], 0, threads), "", false, true), nullptr,
            true};
  }
  llvm::Type* wide = e.b.getInt64Ty();
  llvm::Value* product = e.b.CreateMul(e.b.CreateZExt(other, wide), e.b.CreateZExt(block_size, wide), "", true, true);
  if (!size) product = e.b.CreateAdd(product, e.b.CreateZExt(read(tid[at], 0, threads), wide), "", true, true);
  return {int_type(64), product, nullptr, true};
}

Value grid(Evaluator& e, Call& call, bool size) {
  call.bind(e, {"ndim"}, 1);
  const Constant* known = call.args[0].constant();
  if (!known || known->kind != Constant::Kind::integer)
    e.fail(call.node,
           fmt::format("RequireLiteralValue: {}(ndim) needs a literal 1, 2 or 3, not {}", size ? "gridsize" : "grid",
                       e.describe(call.args[0])),
           "RequireLiteralValue");
  switch (known->integer) {
    case 1: return position(e, 'x', size);
    case 2: return e.make_tuple({position(e, 'x', size), position(e, 'y', size)});
    case 3: return e.make_tuple({position(e, 'x', size), position(e, 'y', size), position(e, 'z', size)});
    default: e.fail(call.node, "argument can only be 1, 2, 3", "NumbaValueError");
  }
}

Value barrier(Evaluator& e, Call& call) {
  call.bind(e, {}, 0);
  e.b.CreateIntrinsic(I::nvvm_barrier_cta_sync_aligned_all, {e.b.getInt32(0)});
  return e.none();
}

template <I::ID id>
Value barrier_vote(Evaluator& e, Call& call) {
  call.bind(e, {"predicate"}, 1);
  const Value value = e.plain(call.args[0], call.node);
  if (!value.type->is_integral()) e.no_match(call, "the predicate is an integer");
  llvm::Value* result = e.b.CreateIntrinsic(id, {e.b.getInt32(0), e.truth(value, call.node).ir});
  return {int_type(32), e.b.CreateZExtOrTrunc(result, e.b.getInt32Ty()), nullptr, true};
}

template <I::ID id>
Value fence(Evaluator& e, Call& call) {
  call.bind(e, {}, 0);
  e.b.CreateIntrinsic(id, {});
  return e.none();
}

Value nanosleep(Evaluator& e, Call& call) {
  call.bind(e, {"ns"}, 1);
  e.b.CreateIntrinsic(I::nvvm_nanosleep,
                      {e.convert(e.plain(call.args[0], call.node), int_type(32, false), call.node).ir});
  return e.none();
}

Value breakpoint(Evaluator& e, Call& call) {
  call.bind(e, {}, 0);
  e.b.CreateIntrinsic(I::debugtrap, {});
  return e.none();
}

// The grid of a cooperative launch: an object without data.
Value this_grid(Evaluator& e, Call& call) {
  call.bind(e, {}, 0);
  e.c.result.cooperative = true;
  Type type;
  type.kind = TypeKind::method;
  type.name = "grid_group";
  type.element = none_type();
  const Type* interned = intern(std::move(type));
  return {interned, llvm::UndefValue::get(e.llvm_type(interned)), nullptr, false};
}

// A barrier of all blocks (CUDA Programming Guide, "Grid Synchronization"): the first thread of each block counts its
// block in; the last block to arrive flips the phase that the others wait for.
Value grid_sync(Evaluator& e, Call& call) {
  if (call.args.size() != 1 || !call.args[0].type->is(TypeKind::method) || call.args[0].type->name != "grid_group")
    e.no_match(call);
  e.c.result.cooperative = true;
  auto& b = e.b;
  llvm::GlobalVariable*& state = e.c.constants["grid_barrier"];
  if (!state) {
    state =
        new llvm::GlobalVariable(*e.c.module, b.getInt32Ty(), false, llvm::GlobalValue::InternalLinkage, b.getInt32(0),
                                 "warploom_grid_barrier", nullptr, llvm::GlobalValue::NotThreadLocal, 1);
    state->setAlignment(llvm::Align(4));
  }
  const auto read = [&](I::ID id) -> llvm::Value* { return b.CreateIntrinsic(id, {}); };
  b.CreateIntrinsic(I::nvvm_barrier_cta_sync_aligned_all, {b.getInt32(0)});
  llvm::Value* thread = b.CreateOr(read(I::nvvm_read_ptx_sreg_tid_x),
                                   b.CreateOr(read(I::nvvm_read_ptx_sreg_tid_y), read(I::nvvm_read_ptx_sreg_tid_z)));
  llvm::BasicBlock *first = e.new_block("grid_sync"), *wait = e.new_block("grid_wait"),
                   *passed = e.new_block("grid_passed"), *done = e.new_block("grid_done");
  b.CreateCondBr(b.CreateICmpEQ(thread, b.getInt32(0)), first, done);
  b.SetInsertPoint(first);
  b.CreateIntrinsic(I::nvvm_membar_gl, {});
  llvm::Value* block = b.CreateOr(read(I::nvvm_read_ptx_sreg_ctaid_x),
                                  b.CreateOr(read(I::nvvm_read_ptx_sreg_ctaid_y), read(I::nvvm_read_ptx_sreg_ctaid_z)));
  llvm::Value* blocks =
      b.CreateMul(read(I::nvvm_read_ptx_sreg_nctaid_x),
                  b.CreateMul(read(I::nvvm_read_ptx_sreg_nctaid_y), read(I::nvvm_read_ptx_sreg_nctaid_z)));
  // All add 1 but block 0, which adds what makes the sum 2^31: the top bit flips when the last one comes.
  llvm::Value* top = b.getInt32(0x80000000U);
  llvm::Value* add = b.CreateSelect(b.CreateICmpEQ(block, b.getInt32(0)),
                                    b.CreateSub(top, b.CreateSub(blocks, b.getInt32(1))), b.getInt32(1));
  llvm::Value* before = b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, state, add, llvm::MaybeAlign(4),
                                          llvm::AtomicOrdering::Monotonic, e.c.device_scope);
  b.CreateBr(wait);
  b.SetInsertPoint(wait);
  llvm::LoadInst* now = b.CreateAlignedLoad(b.getInt32Ty(), state, llvm::MaybeAlign(4), true);
  llvm::Value* flipped = b.CreateICmpSLT(b.CreateXor(before, now), b.getInt32(0));
  b.CreateCondBr(flipped, passed, wait);
  b.SetInsertPoint(passed);
  b.CreateIntrinsic(I::nvvm_membar_gl, {});
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateIntrinsic(I::nvvm_barrier_cta_sync_aligned_all, {b.getInt32(0)});
  return e.integer(0, int_type(32));
}

constexpr BuiltinRow rows[] = {
    {"cuda.threadIdx.x", special<I::nvvm_read_ptx_sreg_tid_x, 0, 1024>},
    {"cuda.threadIdx.y", special<I::nvvm_read_ptx_sreg_tid_y, 0, 1024>},
    {"cuda.threadIdx.z", special<I::nvvm_read_ptx_sreg_tid_z, 0, 64>},
    {"cuda.blockIdx.x", special<I::nvvm_read_ptx_sreg_ctaid_x, 0, two_31 - 1>},
    {"cuda.blockIdx.y", special<I::nvvm_read_ptx_sreg_ctaid_y, 0, 65535>},
    {"cuda.blockIdx.z", special<I::nvvm_read_ptx_sreg_ctaid_z, 0, 65535>},
    {"cuda.blockDim.x", special<I::nvvm_read_ptx_sreg_ntid_x, 1, 1025>},
    {"cuda.blockDim.y", special<I::nvvm_read_ptx_sreg_ntid_y, 1, 1025>},
    {"cuda.blockDim.z", special<I::nvvm_read_ptx_sreg_ntid_z, 1, 65>},
    {"cuda.gridDim.x", special<I::nvvm_read_ptx_sreg_nctaid_x, 1, two_31>},
    {"cuda.gridDim.y", special<I::nvvm_read_ptx_sreg_nctaid_y, 1, 65536>},
    {"cuda.gridDim.z", special<I::nvvm_read_ptx_sreg_nctaid_z, 1, 65536>},
    {"value.cuda.laneid", special<I::nvvm_read_ptx_sreg_laneid, 0, 32>},
    {"value.cuda.warpsize", [](Evaluator& e, Call&) { return e.integer(32, int_type(32)); }},
    {"cuda.grid", [](Evaluator& e, Call& call) { return grid(e, call, false); }},
    {"cuda.gridsize", [](Evaluator& e, Call& call) { return grid(e, call, true); }},
    {"cuda.syncthreads", barrier},
    {"cuda.syncthreads_count", barrier_vote<I::nvvm_barrier_cta_red_popc_aligned_all>},
    {"cuda.syncthreads_and", barrier_vote<I::nvvm_barrier_cta_red_and_aligned_all>},
    {"cuda.syncthreads_or", barrier_vote<I::nvvm_barrier_cta_red_or_aligned_all>},
    {"cuda.threadfence", fence<I::nvvm_membar_gl>},
    {"cuda.threadfence_block", fence<I::nvvm_membar_cta>},
    {"cuda.threadfence_system", fence<I::nvvm_membar_sys>},
    {"cuda.nanosleep", nanosleep},
    {"cuda.breakpoint", breakpoint},
    {"builtins.breakpoint", breakpoint},
    {"cuda.cg.this_grid", this_grid},
    {"method.sync", grid_sync},
};

}  // namespace

std::span<const BuiltinRow> thread_builtins() { return rows; }

}  // namespace warploom::frontend::python
