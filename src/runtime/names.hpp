// Finding a kernel or variable by its mangled name or by what a C++ programmer calls it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace warploom::runtime {

// The one of `names` that `wanted` means: equal to it, or its demangled form with or without namespace, template
// arguments and parameter list ("scale", "detail::scale", "scale<float, 16>", "scale(float*, int)"). `kind` stands in
// messages.
Result<std::string> find_name(const std::vector<std::string>& names, std::string_view wanted, std::string_view kind,
                              std::string_view module);

}  // namespace warploom::runtime
