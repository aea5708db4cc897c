// Decisions that the versions of a kernel share: storage and save slots of values, entries, joins, probe counters.
#pragma once

#include <algorithm>

#include "codegen/context.hpp"
#include "observe/facts.hpp"
#include "passes/group_loops.hpp"
#include "passes/memory_streams.hpp"
#include "passes/pipeline.hpp"

namespace warploom::codegen {

struct Slot {
  std::uint32_t offset = 0, bytes = 0;
};

// What a warp of a block runs between two barriers.
struct Region {
  ir::BlockId entry = 0;
  std::vector<char> blocks;         // by block: can be reached without a barrier
  std::vector<ir::BlockId> exits;   // blocks behind the barriers it ends with
  std::vector<std::uint64_t> defs;  // bit set of values that it may write
};

// What lies between a divergent branch and the place where its lanes meet, where that is short and simple.
struct Arms {
  std::vector<ir::BlockId> blocks;  // in order; empty: not short
  ir::BlockId join = 0;
};

struct KernelPlan {
  passes::Prepared prepared;
  passes::BlockShape block;
  bool counting = false;  // probes are compiled in
  bool checking = false;  // every access calls the memory checker (conservative version only)

  std::vector<isa::Type> storage;  // by value: the type it is kept in
  std::vector<char> computed_nan;  // by value: a float whose NaN may carry the host's bits instead of PTX's
  std::vector<char> crosses;       // by value: lives across a block boundary
  std::vector<Slot> slots;         // opt layout
  std::vector<Slot> wide_slots;    // conservative layout
  std::uint32_t slot_bytes = 0, wide_slot_bytes = 0;
  std::vector<char>
      returns_to_uniform;       // by block: the masked version goes back to the uniform one here when all are there
  bool enters_loops = false;    // the uniform version can also be entered at the start of every loop
  std::vector<char> continues;  // by block: simply goes on from the block before it, same lanes
  std::vector<char> continues_wide;  // the same in the conservative version, which is entered at checked widenings
  passes::MemoryStreams streams;
  std::vector<Arms> arms;  // by block: of the branch at its end
  // By block: of a loop header. Such a loop is entered at its header only.
  std::vector<passes::GroupLoop> group_loops;
  bool spins = false;  // some loop may wait for other threads
  bool parts = false;  // lanes are likely to part: a branch that is no mere bounds guard may part them

  // Regions of the block version, the kernel's start first; empty when there is no such version.
  std::vector<Region> regions;
  // By block: of a loop header, through how many iterations the block version takes a warp before the next warp's turn;
  // 0: through all. Such loops walk memory with long strides: a block's warps read side by side or the same, one warp
  // reads far apart.
  std::vector<std::uint32_t> lockstep;
  std::vector<char> block_uniform;  // by value: the same in all warps of a block
  std::vector<Slot> block_slots;    // of those that cross blocks, in WarpContext::block_in and block_out
  std::uint32_t block_slot_bytes = 0;

  // Every barrier is `bar.sync 0` of the whole block: warps that all stop there need no bookkeeping.
  bool plain_barriers = false;

  // Counter layout: see counters.hpp.
  std::vector<observe::Site> sites;
  std::vector<std::string> global_names;  // module variables the code refers to

  [[nodiscard]] const ir::Function& f() const { return *prepared.function; }
  [[nodiscard]] bool has_block_version() const { return !regions.empty(); }
  // Does the edge lead to the next region of the block version?
  [[nodiscard]] bool ends_region(ir::BlockId from, ir::BlockId to) const {
    return f().blocks[static_cast<std::size_t>(from)].ends_with_barrier ||
           (to <= from && lockstep[static_cast<std::size_t>(to)]);
  }
  // Must a float value have the NaN that PTX gives it where the instruction reads it as `type`?
  [[nodiscard]] bool needs_nan_bits(const ir::Inst& inst, ir::ValueId value, isa::Type type) const;
  // Does the block version count the iterations of some loop?
  [[nodiscard]] bool takes_turns() const {
    return std::any_of(lockstep.begin(), lockstep.end(), [](std::uint32_t turn) { return turn > 1; });
  }
  // Is the block in a loop that warps go through in lockstep?
  [[nodiscard]] bool lockstep_around(ir::BlockId b) const {
    for (ir::BlockId h = b; h >= 0; --h)
      if (f().blocks[static_cast<std::size_t>(h)].loop_last >= b) return lockstep[static_cast<std::size_t>(h)] != 0;
    return false;
  }
  // The version that full warps begin in.
  [[nodiscard]] Mode main_mode() const { return has_block_version() ? Mode::block : Mode::uniform; }
};

std::shared_ptr<KernelPlan> make_plan(const ir::Function& function, const passes::BlockShape& block, bool counting,
                                      bool checking);

// Bytes a value takes in a save area: one scalar, 32 lanes, or a bit mask for 32 predicates.
std::uint32_t slot_size(isa::Type storage, bool wide);

}  // namespace warploom::codegen
