// Turns a kernel and everything it calls into one linear list of instructions with numbered labels.
#pragma once

#include "ir/ir.hpp"

namespace warploom::ir {

struct FlatInst {
  Inst inst;
  std::vector<std::int32_t> targets;  // label ids of a branch
};

struct FlatCode {
  std::vector<FlatInst> insts;
  std::vector<std::uint32_t> labels;  // label id -> index of the next instruction
};

// Fills values, variables, sources and the memory sizes of `function`.
Result<FlatCode> flatten(Function& function);

// Is this an external function that the device has itself (vprintf, malloc, ...)?
[[nodiscard]] bool is_provided(std::string_view name);

// Replaces parameter scratch variables of inlined calls by values where every access is a whole, fixed piece.
void promote_call_scratch(Function& function, FlatCode& code);

}  // namespace warploom::ir
