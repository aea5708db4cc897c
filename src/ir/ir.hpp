// SIMT IR: a kernel with its calls inlined, as basic blocks over values.
//
// A value is a web: the definitions of a PTX register that reach common uses, and those uses. It is not SSA: masked
// execution blends each definition of a variable into the lanes that are active, and LLVM builds SSA from that.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ptx/module.hpp"

namespace warploom::ir {

using ValueId = std::int32_t;
using BlockId = std::int32_t;

// How a value differs between the lanes of a warp.
struct Term {
  ValueId mult = -1;       // launch-invariant uniform factor; -1: one
  std::uint8_t widen = 0;  // the factor is 0: as it is, 1: sign-extended, 2: zero-extended to the value's width
  std::array<std::int64_t, 32> pattern{};
  bool operator==(const Term&) const = default;
};

struct Shape {
  enum class Kind : std::uint8_t { unknown, uniform, linear, varying };
  Kind kind = Kind::unknown;
  // linear: value(lane) = base + sum over terms of mult * pattern[lane], modulo 2^width; the base is what is stored.
  std::vector<Term> terms;
  // The base is a multiple of this power of two; with a bound other than 0, 0 <= value <= bound in every lane.
  // Together they let and, shr act on patterns.
  std::uint32_t base_align = 1;
  std::uint32_t bound = 0;
  bool operator==(const Shape& o) const { return kind == o.kind && terms == o.terms; }

  [[nodiscard]] bool uniform() const { return kind == Kind::uniform; }
  [[nodiscard]] bool linear() const { return kind == Kind::linear; }
  [[nodiscard]] bool varying() const { return kind == Kind::varying; }
  // A linear shape whose terms all have constant factors has one term.
  [[nodiscard]] bool constant_pattern() const { return linear() && terms.size() == 1 && terms[0].mult < 0; }
};

struct Value {
  isa::Type type{};        // type of the register: decides width and storage
  std::string name;        // of the PTX register
  std::int32_t defs = 0;   // number of defining instructions
  bool invariant = false;  // uniform and the same at any time of a block's life
};

struct Inst {
  ptx::Instr p;                              // register numbers are value ids
  std::int32_t site = -1, second_site = -1;  // of an instruction that reads and writes memory: the read, the write
  // Of a symbol or address operand: which variable, -1 otherwise. See Function::variables.
  std::vector<std::int32_t> variable;
  std::int32_t source = -1;  // index into Function::sources
  enum class Reason : std::uint8_t { none, stack_overflow, no_function };
  Reason reason = Reason::none;  // of a trap that stands for an error
  bool async = false;            // part of a copy that is made at once here, and behind the thread's back by hardware
};

// Where an instruction comes from, outermost last.
struct Source {
  SourceLoc loc;
  std::vector<SourceLoc> inlined_at;
};

struct Block {
  std::vector<Inst> insts;     // a branch is last
  std::vector<BlockId> succs;  // bra: taken first, then fall-through; brx: targets in order
  std::vector<BlockId> preds;
  // The block begins with an instruction that waits for other lanes of the warp.
  bool starts_with_sync = false;
  // The block ends with a barrier of the thread block; execution goes on in succs[0].
  bool ends_with_barrier = false;
  bool ends = false;  // exit or ret: no successors
  std::int32_t loop_depth = 0;
  BlockId loop_last = -1;  // of a loop header: the last block of the loop, which lies contiguously
  bool spin_loop = false;  // of a loop header: the loop may wait for other threads
};

struct Variable {
  // frame: of a function that is not inlined; no instruction names it any more.
  enum class Place : std::uint8_t { global, shared, dynamic_shared, local, kernel_param, function, frame };
  std::string name;
  Place place{};
  std::uint64_t offset =
      0;  // in the shared window, the thread's local memory or the parameter buffer; id of a function
  std::uint64_t bytes = 0;

  // State space of an access to it that names `named`.
  [[nodiscard]] isa::Space space(isa::Space named) const {
    if (place == Place::local) return isa::Space::local;
    const bool is_shared = place == Place::shared || place == Place::dynamic_shared;
    return named == isa::Space::generic && is_shared ? isa::Space::shared : named;
  }
};

struct Function {
  std::string name;
  std::shared_ptr<const ptx::Module> module;
  const ptx::Function* entry = nullptr;
  std::vector<Value> values;
  std::vector<Block> blocks;  // reverse post-order, loops contiguous; blocks[0] is the entry
  std::vector<Variable> variables;
  std::vector<Source> sources;
  std::uint32_t shared_bytes = 0;  // static
  std::uint32_t dynamic_shared_align = 16;
  // Where dynamic shared memory begins in the window.
  [[nodiscard]] std::uint32_t dynamic_shared_offset() const {
    return (shared_bytes + dynamic_shared_align - 1) / dynamic_shared_align * dynamic_shared_align;
  }
  std::uint32_t local_bytes = 0;  // per thread, the stack included
  std::uint32_t stack_bytes = 0;  // of calls that are not inlined, and for alloca
  std::uint32_t barriers = 0;

  // Filled by passes.
  std::vector<std::vector<std::uint64_t>> live_in;  // bit set of values for each block
  // Is the value read anywhere?
  [[nodiscard]] bool is_read(ValueId v) const {
    return v < static_cast<ValueId>(read.size()) && read[static_cast<std::size_t>(v)];
  }
  std::vector<char> read;
  [[nodiscard]] bool is_live_in(BlockId b, ValueId v) const {
    return (live_in[static_cast<std::size_t>(b)][static_cast<std::size_t>(v) / 64] >> (v % 64)) & 1U;
  }
};

// Special registers of the IR: what a reducing barrier found, read in the block after it.
inline constexpr const char* kBarrierPopc = "%barrier_popc";
inline constexpr const char* kBarrierAnd = "%barrier_and";
inline constexpr const char* kBarrierOr = "%barrier_or";
// Whether the phase of the cluster's barrier in which the lane arrived is over.
inline constexpr const char* kClusterReady = "%cluster_ready";

// Values an instruction reads and writes. A guarded write is also a read: lanes that skip it keep the old value.
void for_each_use(const Inst& inst, const std::function<void(ValueId)>& f);
void for_each_def(const Inst& inst, const std::function<void(ValueId)>& f);

// Told the name of each pass that has run, and what it left.
using BuildLog = std::function<void(const char* pass, const Function& function)>;

// Builds the IR of a kernel: parses bodies, inlines calls, splits blocks. Errors: whatever the bodies hold.
Result<std::shared_ptr<Function>> build(std::shared_ptr<const ptx::Module> module, const ptx::Function& kernel,
                                        const BuildLog& log = {});

// Blocks with their instructions in PTX's notation; `note` may add a comment to each.
std::string print(const Function& function, const std::function<std::string(const Inst&)>& note = {});

// A function's address as a value: recognisable, and never a valid memory address.
std::uint64_t function_address(const ptx::Module& module, const ptx::Function& function);

}  // namespace warploom::ir
