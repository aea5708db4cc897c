// Video instructions as whole-register instructions.
#pragma once

#include "ir/flatten.hpp"

namespace warploom::ir {

// A video instruction that names parts of registers, a mask or a secondary operation becomes one without them, between
// instructions that take and join the parts. Appends them to `code`; false for an instruction that stays as it is.
bool expand_video(Function& function, const FlatInst& flat, FlatCode& code);

}  // namespace warploom::ir
