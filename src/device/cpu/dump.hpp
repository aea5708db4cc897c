// Writes what becomes of a kernel on its way to machine code, for people who look inside.
#pragma once

#include <memory>
#include <string>

#include "device/device.hpp"
#include "ir/ir.hpp"
#include "passes/shapes.hpp"

namespace warploom::device {

// One folder below options.folder for the kernel and block shape: its PTX, the IR after each pass, and for each version
// the LLVM IR before and after optimisation and the assembly. `counting`: the code of an observed launch. What cannot
// be written is said on standard error.
void dump_kernel(const DumpOptions& options, const ir::Function& function, const passes::BlockShape& block,
                 bool counting);

}  // namespace warploom::device
