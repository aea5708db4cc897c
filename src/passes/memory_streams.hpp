// Which accesses of a kernel walk memory in ways that caches do not foresee or cannot use.
#pragma once

#include <vector>

#include "ir/ir.hpp"

namespace warploom::passes {

struct MemoryStreams {
  // By block and instruction: a load in a loop over the grid, whose next address is far away.
  std::vector<std::vector<char>> far_load;
  // By block and instruction: a load in a loop, whose next address is so far away that it is in another cache line.
  std::vector<std::vector<char>> strided_load;
  // By block and instruction: a store to an array that the kernel only writes, as far as its parameters tell.
  std::vector<std::vector<char>> write_only;
};

MemoryStreams find_memory_streams(const ir::Function& function);

}  // namespace warploom::passes
