// Control flow: blocks from linear code, their order, post-dominators.
#pragma once

#include "ir/flatten.hpp"

namespace warploom::ir {

// Cuts linear code into blocks, drops unreachable ones and orders the rest: reverse post-order, each loop contiguous.
void make_blocks(Function& function, FlatCode code);

// Splits block `b` before instruction `index`; returns the second half, which directly follows in the order.
BlockId split_block(Function& function, BlockId b, std::size_t index);

// Recomputes Block::preds.
void link_preds(Function& function);

// By block: can it be reached from `start` without passing one of `stops`? A start among them reaches nothing.
std::vector<char> reachable(const Function& function, BlockId start, std::initializer_list<BlockId> stops);

// Immediate post-dominators; the number of blocks stands for the common end.
std::vector<BlockId> post_dominators(const Function& function);

// Instructions that wait for other lanes of the warp, so that lanes must meet before them.
bool waits_for_warp(const ptx::Instr& instr);
// A barrier at which threads of a block wait; arriving alone does not.
bool is_block_barrier(const ptx::Instr& instr);
// Whether all lanes of a warp must come to the barrier together.
bool waits_aligned(const ptx::Instr& instr);

}  // namespace warploom::ir
