// Turns a function that calls itself into a loop over frames in local memory, which every device runs.
#pragma once

#include "backend/llvm.hpp"

namespace warploom::frontend::python {

class Compilation;

// Does nothing for a function without a call of itself. Too deep a recursion raises RecursionError in the kernel.
void lower_recursion(Compilation& compilation, llvm::Function& function);

}  // namespace warploom::frontend::python
