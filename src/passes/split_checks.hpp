// Puts every widening of a 32-bit lane pattern at the start of a block.
#pragma once

#include "passes/shapes.hpp"

namespace warploom::passes {

// Afterwards each instruction of Shapes::widenings begins its block, so that a failed check can leave there.
void split_checks(ir::Function& function, Shapes& shapes);

// Adds the factors of live linear values to every live set.
void close_liveness(ir::Function& function, const Shapes& shapes);

}  // namespace warploom::passes
