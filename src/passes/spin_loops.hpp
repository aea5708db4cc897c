// Marks loops that may wait for other threads, so that their back edges let others run.
#pragma once

#include "ir/ir.hpp"

namespace warploom::passes {

// A loop spins when the condition of one of its exits depends on an atomic or a volatile, relaxed or acquiring load in
// it.
void find_spin_loops(ir::Function& function);

}  // namespace warploom::passes
