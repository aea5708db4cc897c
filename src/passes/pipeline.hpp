// Runs the passes that prepare a kernel for code generation; pipeline.cpp lists them in order.
#pragma once

#include "passes/shapes.hpp"

namespace warploom::passes {

// A kernel ready for code generation, for one class of block shapes.
struct Prepared {
  std::shared_ptr<ir::Function> function;
  Shapes shapes;        // with lane patterns
  Shapes conservative;  // without: right whatever wraps
};

// Told the name of each pass that has run, and what it left; shapes are empty until they have been found.
using PassLog = std::function<void(const char* pass, const ir::Function& function, const Shapes& shapes)>;

Prepared prepare(const ir::Function& function, const BlockShape& block, const PassLog& log = {});

}  // namespace warploom::passes
