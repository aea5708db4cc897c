// The code that a kernel runs when it raises: the record of who raised what, and the end of the thread.
#pragma once

#include "backend/llvm.hpp"

namespace warploom::frontend::python {

class Compilation;

// Ends the current block; `line` is that of the statement, 0 when unknown.
void emit_raise(llvm::IRBuilder<>& builder, Compilation& compilation, std::uint32_t code, std::int32_t line);

}  // namespace warploom::frontend::python
