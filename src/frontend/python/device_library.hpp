// Links what a module uses of the device math library into it.
#pragma once

#include "backend/llvm.hpp"

namespace warploom::frontend::python {

void link_device_library(llvm::Module& module);

}  // namespace warploom::frontend::python
