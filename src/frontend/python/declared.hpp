// Calls of jitted functions that were given signatures: arguments are converted to the signature that fits best.
#pragma once

#include "frontend/python/evaluator.hpp"

namespace warploom::frontend::python {

// Calls a jitted function that was given signatures; TypingError when none accepts the arguments.
Value call_declared(Evaluator& e, const Node* node, const ObjectInfo& info, std::vector<Value> args,
                    std::vector<std::pair<std::string, Value>> keywords);

}  // namespace warploom::frontend::python
