// Keeps the driver's compiler from converting floating-point values in narrow stores.
#pragma once

#include <string>

#include "ptx/module.hpp"

namespace warploom::device::cuda {

// A text for the driver. `st` of a type narrower than its register stores the low bits (PTX ISA section 9.4.1), but
// where an instruction uses the register as a floating-point number the driver's compiler stores the number converted
// to an integer: 3.0 as 3 (seen with driver 580.159.04). Here such a register is copied first, which ends that.
std::string with_narrow_stores_kept(const ptx::Module& module);

}  // namespace warploom::device::cuda
