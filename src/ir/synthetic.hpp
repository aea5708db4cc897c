// Instructions that the IR adds to what a PTX body holds.
#pragma once

#include "ptx/module.hpp"

namespace warploom::ir {

// Finds the form of an instruction whose operation, types and operands are set; the parser does it for those in a body.
void set_form(ptx::Instr& instr);

}  // namespace warploom::ir
