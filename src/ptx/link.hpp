// Linking of modules that were compiled with -rdc=true: declarations of one meet definitions of another.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.hpp"

namespace warploom::ptx {

// One module of several (PTX ISA section 5.1.10 and 10, "Linking Directives"): a visible definition takes the place of
// weak and common ones, internal names stay apart, a common variable is as large as its largest definition. Bodies are
// not parsed. `provided` says which functions need no definition, because the device has them. duplicate_symbol,
// symbol_mismatch and unresolved_symbol name the symbol and its modules.
Result<std::shared_ptr<Module>> link(const std::vector<std::shared_ptr<const Module>>& modules, std::string name,
                                     const std::function<bool(std::string_view)>& provided);

}  // namespace warploom::ptx
