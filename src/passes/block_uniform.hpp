// Which uniform values are the same in every warp of a block.
#pragma once

#include <vector>

#include "passes/shapes.hpp"

namespace warploom::passes {

// By value: whether all warps of a block that stand at one place of the program hold the same number in it.
std::vector<char> find_block_uniform(const ir::Function& function, const Shapes& shapes);

}  // namespace warploom::passes
