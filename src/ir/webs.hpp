// Data flow over values: webs and liveness.
#pragma once

#include "ir/ir.hpp"

namespace warploom::ir {

// Is operand k read, written? Calls kept in the IR and carry chains count as the table says.
bool is_source(const ptx::Instr& instr, std::size_t k);
bool is_result(const ptx::Instr& instr, std::size_t k);

// Gives each web of definitions and uses a value of its own and counts definitions.
void split_webs(Function& function);

// Fills Function::live_in.
void compute_liveness(Function& function);

}  // namespace warploom::ir
