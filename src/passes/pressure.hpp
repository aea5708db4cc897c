// Register pressure of a kernel, as an estimate of what ptxas would allocate.
#pragma once

#include "ir/ir.hpp"

namespace warploom::passes {

// 32-bit registers a thread needs: the most that are live at any instruction, plus a few the ABI takes.
std::uint32_t register_estimate(const ir::Function& function);

}  // namespace warploom::passes
