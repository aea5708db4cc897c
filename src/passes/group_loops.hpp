// Finds loops that may run for one group of a warp's lanes after the other, instead of for all 32 together.
#pragma once

#include <vector>

#include "passes/shapes.hpp"

namespace warploom::passes {

// A loop without effects outside its lanes' registers.
struct GroupLoop {
  ir::BlockId exit = -1;               // the one place it leaves for; -1: not such a loop
  std::vector<ir::BlockId> leaves_to;  // the blocks it leaves for: the exit, or empty ones that lead there
  std::uint32_t live_bytes = 0;  // most bytes of lanes' own values, of one lane, that live at one place in the loop
  std::uint32_t widest = 4;      // bytes of the widest of them
  std::vector<char> touched;     // by value: read or written in the loop
  std::vector<char> defs;        // by value: written in the loop
};

// By block: of the loop whose header it is.
std::vector<GroupLoop> find_group_loops(const ir::Function& function, const Shapes& shapes);

}  // namespace warploom::passes
