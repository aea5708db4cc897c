// Asynchronous copies as loads and stores.
#pragma once

#include "ir/flatten.hpp"

namespace warploom::ir {

// A cp.async that copies all of its source becomes a load and a store, which are made where it is issued: that is as
// early as any hardware may be. Appends them to `code`; false for other instructions.
bool split_copy(Function& function, const FlatInst& flat, FlatCode& code);

}  // namespace warploom::ir
