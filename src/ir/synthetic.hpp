// Instructions that the IR adds to what a PTX body holds.
#pragma once

#include "ptx/module.hpp"

namespace warploom::ir {

inline void set(ptx::Instr& instr, isa::Mod mod) { instr.mods.set(static_cast<std::size_t>(mod)); }
inline void clear(ptx::Instr& instr, isa::Mod mod) { instr.mods.reset(static_cast<std::size_t>(mod)); }

// Finds the form of an instruction whose operation, types and operands are set; the parser does it for those in a body.
void set_form(ptx::Instr& instr);

}  // namespace warploom::ir
