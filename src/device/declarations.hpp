// What every device says of a module's kernels from its PTX alone.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "ptx/module.hpp"

namespace warploom::device {

std::vector<std::string> kernel_names(const ptx::Module& module);
// not_found names the kernels there are.
Result<const ptx::Function*> find_kernel(const ptx::Module& module, const std::string& name);
std::vector<ParamInfo> params_of(const ptx::Function& kernel);

}  // namespace warploom::device
