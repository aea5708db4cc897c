// A kernel decoded for the interpreter, and the state of the thread that runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/jit.hpp"
#include "codegen/native.hpp"
#include "interp/handlers.hpp"
#include "isa/matrix.hpp"
#include "isa/ref/texture.hpp"

namespace warploom::interp {

using codegen::Exit;
using codegen::WarpContext;

// A basic block: its steps, and where its lanes go then.
struct BlockCode {
  enum class End : std::uint8_t { jump, branch, table, barrier, exit };
  std::uint32_t begin = 0, end = 0;  // in Program::steps
  End ends = End::jump;
  bool continues = false;  // the next block goes on from this one, same lanes
  bool starts_with_sync = false, spin_loop = false, returns_to_uniform = false, heads_loop = false;
  bool reduces = false, counted = false;  // of a barrier
  bool guard_negated = false, has_guard = false;
  Ref operand[3] = {kNoRef, kNoRef, kNoRef};  // guard or index of a branch; number, count and predicate of a barrier
  Ref guard = kNoRef;
  Ref members = kNoRef;  // of the meeting at the start
  std::vector<ir::BlockId> succs;
  std::vector<ir::BlockId> loops_ending;  // loops whose last block this is, innermost first
};

// Functions of the host that the device ABI and rare operations need.
struct Natives {
  std::int32_t (*dispatch)(WarpContext*, std::int32_t, std::int32_t) = nullptr;
  void (*match)(const std::uint64_t*, const std::uint32_t*, std::uint32_t, std::uint32_t, std::uint32_t*,
                std::uint32_t*) = nullptr;
  void (*redux)(const std::uint64_t*, const std::uint32_t*, std::uint32_t, std::uint32_t, std::uint32_t,
                std::uint32_t*) = nullptr;
  std::uint64_t (*globaltimer)() = nullptr;
  void (*trap)(WarpContext*, std::uint32_t, std::int32_t, std::int32_t) = nullptr;
  void (*partial)(WarpContext*, std::uint32_t, std::int32_t, std::int32_t) = nullptr;
  void (*misaligned)(WarpContext*, const std::uint64_t*, std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t,
                     std::int32_t) = nullptr;
  void (*assertfail)(WarpContext*, std::uint32_t, std::int32_t, std::int32_t, const std::uint64_t*,
                     const std::uint64_t*, const std::uint32_t*, const std::uint64_t*) = nullptr;
  void (*arrive)(WarpContext*, std::int32_t, std::int32_t, std::uint32_t) = nullptr;
  std::uint32_t (*cluster_ready)(WarpContext*) = nullptr;
  std::uint32_t (*texture)(WarpContext*, std::uint64_t, const std::uint64_t*, const std::uint32_t*, std::uint32_t*,
                           std::uint32_t, std::int32_t, std::int32_t, std::uint64_t*) = nullptr;
};

// A texture or surface instruction; Step::ref has the results.
struct TextureStep {
  std::uint64_t op = 0;
  Ref object = kNoRef;
  Ref words[isa::ref::kTextureWords] = {};
};

// Operands of a matrix instruction.
struct MatrixStep {
  isa::MatrixForm form;
  std::uint64_t packed = 0;
  std::vector<Ref> d, a, b, c;  // registers of the fragments
  Ref metadata = kNoRef, address = kNoRef, stride = kNoRef;
};

struct Program {
  std::uint64_t id = 0;  // never reused within a process
  std::shared_ptr<const codegen::KernelPlan> plan;
  Natives natives;
  std::vector<Step> steps;
  // Steps whose results are blended afterwards, see Step::blended.
  std::vector<Step> aside;
  std::vector<BlockCode> blocks;
  std::vector<std::byte> constants;        // the start of a frame
  std::uint32_t frame_bytes = 0;           // constants, and values that live in one block
  std::vector<ir::ValueId> zero_at_entry;  // may be read before they are written
  std::uint32_t local_bytes = 0;
  std::vector<TextureStep> textures;
  std::vector<void*> callees;  // of calls kept in the IR
  struct NativeStep {
    codegen::NativeFunction function = nullptr;
    std::uint64_t what = 0;
    std::uint8_t rows = 0;
  };
  std::vector<NativeStep> native_steps;
  std::vector<MatrixStep> matrices;
};

// nullptr when the kernel needs something that the interpreter does not have.
std::shared_ptr<const Program> decode(std::shared_ptr<const codegen::KernelPlan> plan,
                                      std::span<const codegen::HostSymbol> symbols,
                                      const codegen::GlobalResolver& globals);

struct State : StateBases {
  WarpContext* ctx = nullptr;
  std::uint32_t mask = 0;   // lanes that run
  std::uint32_t lanes = 0;  // those that take part in the instruction at hand
  const Program* program = nullptr;
  const Step* current = nullptr;  // last one that may fault
  bool stopped = false;           // an error is set
};

// Runs warps of one block after the other on one thread.
class Interpreter {
 public:
  // Prepares for a program, which must outlive the runs.
  void bind(const Program& program);
  // How a warp may go on in compiled code. To the uniform version, once it is there and all lanes stand together at an
  // entry of it: the values then move to its save area, and the answer is Exit::to_uniform. Where that
  // way is not found for many rounds of loops, to code that can be entered at loops, or, when not all lanes stand
  // together, to the conservative version, which takes lanes from anywhere: Exit::to_conservative.
  struct Ways {
    codegen::KernelCode* code = nullptr;
    bool uniform = false, leaves_loops = false;
    std::uint32_t rounds = 256;  // between looks
    codegen::KernelCode* (*loop_code)(void* owner) = nullptr;
    void* owner = nullptr;
  };
  // Runs a warp from where its lanes are pending, in the conservative save area, until it ends, must wait or goes on
  // in compiled code.
  Exit run(WarpContext& c, const Ways& ways);
  // After Exit::to_uniform: the entry is one of Ways::loop_code.
  [[nodiscard]] bool left_a_loop() const { return left_a_loop_; }
  // Of a warp that starts its block.
  void start(WarpContext& c) const;
  // The instruction at which a fault happened.
  [[nodiscard]] bool locate(codegen::CodePlace& place) const;

 private:
  void run_block(const BlockCode& block);

  State state_;
  const Program* program_ = nullptr;
  bool left_a_loop_ = false;
  std::uint64_t bound_ = 0;  // its id
  std::vector<std::byte> storage_;
};

// Moves values from the conservative save area to the uniform one, for entry `b`. False, with nothing harmed, when a
// value is not what its shape promises.
bool convert_to_uniform(const codegen::KernelPlan& plan, WarpContext& c, ir::BlockId b);

// Puts the results of a step, run aside, into its own results for the given lanes.
void blend(State* st, const Step* to, const Step* from, std::uint32_t lanes);
void run_guarded(State* st, const Step* s);

// Access to lanes.
template <typename T>
inline T* lanes_of(const State* st, Ref ref) {
  return reinterpret_cast<T*>(st->base[ref & 1] + (ref & ~1U));
}

}  // namespace warploom::interp
