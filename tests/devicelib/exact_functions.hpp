// Functions of the device math library whose results are exact or defined bit by bit, computed by the host.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace warploom::test {

// Results from arguments; both are 8-byte slots, results first the function's value and then its `out` arguments.
using ExactFunction = std::function<void(const std::uint64_t* arguments, std::uint64_t* results)>;
const std::map<std::string, ExactFunction>& exact_functions();

}  // namespace warploom::test
