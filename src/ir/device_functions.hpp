// Functions of the device that are PTX themselves, for modules that only declare them.
#pragma once

#include "ptx/module.hpp"

namespace warploom::ir {

// One module with all of them.
const ptx::Module& device_functions();

}  // namespace warploom::ir
