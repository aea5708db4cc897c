// Finds arithmetic in double precision in a kernel, for reports.
#pragma once

#include "ir/ir.hpp"
#include "observe/facts.hpp"

namespace warploom::device {

// Fills the facts on instructions and double precision.
void add_double_arithmetic(const ir::Function& function, observe::KernelFacts& facts);

}  // namespace warploom::device
